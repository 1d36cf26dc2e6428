//! A tag named after the tool: `<read_file><uri>src/main.rs</uri></read_file>`, or JSON inside of it. Values are raw text;
//! a value ends at its closing tag only where another parameter, the tool's closing tag or the end follows.

use serde_json::{Map, Value};

use super::{Context, Parsed, Step};
use crate::{adapter::syntax::typing, event::Tool};

/// Reads one call; the body begins at the tag.
#[derive(Debug, Default)]
pub(crate) struct ElementReader {
    /// Up to where a closing tag was searched.
    seen: usize,
}

// === impl ElementReader ===

impl ElementReader {
    pub(crate) fn read(&mut self, text: &str, context: Context<'_>) -> Step {
        let Some(close) = text.find('>') else {
            let possible =
                text.len() < 128 && context.tools.iter().any(|tool| format!("<{}>", tool.name).starts_with(text.trim_end()));
            return if possible && !context.end { Step::More } else { Step::Reject };
        };
        let name = &text[1..close];
        let Some(tool) = context.tools.get(name) else { return Step::Reject };
        let body = close + 1;
        let end_tag = format!("</{name}>");
        let from = self.seen.max(body);
        if let Some(at) = text[from..].find(&end_tag).map(|at| from + at) {
            let Some(arguments) = arguments(&text[body..at], tool) else { return Step::Reject };
            let parsed = Parsed { name: name.to_owned(), id: None, arguments };
            return Step::Done { calls: vec![parsed], end: at + end_tag.len() };
        }
        self.seen = text.len().saturating_sub(end_tag.len()).max(body);
        while !text.is_char_boundary(self.seen) {
            self.seen -= 1;
        }
        if !context.end {
            return if begins(&text[body..], tool) { Step::More } else { Step::Reject };
        }
        match text[body..].trim_start().starts_with(['<', '{']) {
            true => {
                Step::Cut { whole: Vec::new(), cut: Parsed { name: name.to_owned(), id: None, arguments: String::from("{\"") } }
            }
            false => Step::Reject,
        }
    }
}

/// Whether the body may still become arguments: JSON, or a tag of one of the parameters, or nothing.
fn begins(body: &str, tool: &Tool) -> bool {
    let body = body.trim_start();
    body.is_empty()
        || body.starts_with('{')
        || "</".starts_with(body)
        || typing::properties(tool).iter().any(|key| {
            let tag = format!("<{key}>");
            body.starts_with(&tag) || tag.starts_with(body)
        })
        || format!("</{}>", tool.name).starts_with(body)
}

/// The arguments of a whole body; `None` if it is neither JSON nor made of parameters.
fn arguments(body: &str, tool: &Tool) -> Option<String> {
    let trimmed = body.trim();
    if trimmed.starts_with('{') {
        return Some(trimmed.to_owned());
    }
    let keys = typing::properties(tool);
    let mut out = Map::new();
    let mut rest = trimmed;
    while !rest.is_empty() {
        let key = keys.iter().find(|key| {
            rest.strip_prefix('<').and_then(|rest| rest.strip_prefix(key.as_str())).is_some_and(|rest| rest.starts_with('>'))
        })?;
        let value = &rest[key.len() + 2..];
        let close = format!("</{key}>");
        let end = value.match_indices(&close).map(|(at, _)| at).find(|at| {
            let follows = value[at + close.len()..].trim_start();
            follows.is_empty() || keys.iter().any(|key| follows.starts_with(&format!("<{key}>")))
        })?;
        out.insert(key.clone(), typing::value(tool, key, trim(&value[..end])));
        rest = value[end + close.len()..].trim_start();
    }
    Some(Value::Object(out).to_string())
}

fn trim(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}
