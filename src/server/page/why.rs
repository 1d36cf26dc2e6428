//! Explains why text stayed text. Each passage that looks like a call is read once more, alone. If it is a call then, its
//! position was the reason to reject it; if not, the passage itself has a fault. The rules are those of "What counts as a
//! call" in ARCHITECTURE.md.

use serde::Serialize;
use serde_json::Value;

use super::{detail::Split, kept::Reader};
use crate::{
    event::{FinishReason, Tool, ToolChoice},
    fix::View,
};

/// Why something is not a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Note {
    /// The number of the rule.
    pub(super) rule: u8,
    pub(super) text: String,
    /// How the place begins.
    pub(super) quote: String,
}

/// A place that looks like a call.
struct Suspect<'t> {
    /// The place with what is around it (a fence), and the call alone.
    whole: &'t str,
    body: &'t str,
    kind: Kind,
    before: &'t str,
    after: &'t str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fence,
    Json,
    Element,
}

/// Maximum number of places that are explained.
const NOTES: usize = 8;
/// How many beginnings are tried, and in how many bytes of text.
const TRIES: usize = 60;
const TEXT_BYTES: usize = 64 * 1024;
const QUOTE_CHARS: usize = 60;

/// Why what is left of an answer (`said`: text, and whether it is reasoning) holds no call. `calls`: how many were found.
pub(super) fn notes(reader: &Reader, said: &[(&str, bool)], end: Option<FinishReason>, calls: usize) -> Vec<Note> {
    let suspicious = said.iter().any(|(text, _)| text.contains('{') || text.contains('<'));
    let nothing_offered = match (reader.tools.is_empty(), &reader.tools.choice) {
        (true, _) => Some("the request offers no tools, so nothing was looked for"),
        (_, ToolChoice::None) => Some("the request forbids calls (`tool_choice` is `none`), so nothing was looked for"),
        _ => None,
    };
    if let Some(why) = nothing_offered {
        return if suspicious { vec![Note { rule: 1, text: why.into(), quote: String::new() }] } else { Vec::new() };
    }
    let mut notes = Vec::new();
    // Adjacent pieces are one text.
    let mut texts: Vec<(String, bool)> = Vec::new();
    for (text, thought) in said {
        match texts.last_mut() {
            Some((last, same)) if same == thought => last.push_str(text),
            _ => texts.push(((*text).to_owned(), *thought)),
        }
    }
    for (text, thought) in &texts {
        let text = text.get(..text.floor_char_boundary(TEXT_BYTES)).unwrap_or_default();
        for suspect in suspects(reader, text) {
            let Some((rule, why)) = reason(reader, &suspect, *thought, end, calls) else { continue };
            notes.push(Note { rule, text: why, quote: quote(suspect.body) });
            if notes.len() == NOTES {
                return notes;
            }
        }
    }
    notes
}

/// Why this is no call; `None`: it does not even look like one of these tools.
fn reason(
    reader: &Reader,
    suspect: &Suspect<'_>,
    thought: bool,
    end: Option<FinishReason>,
    calls: usize,
) -> Option<(u8, String)> {
    let counts = |text: &str| Split::of(reader, text, Some(FinishReason::Stop)).calls.iter().any(|call| call.closed);
    let by_itself = counts(suspect.whole);
    if thought && (by_itself || counts(suspect.body)) {
        return Some((4, "it is in the model's reasoning: a draft".into()));
    }
    if by_itself {
        let (before, after) = (!suspect.before.trim().is_empty(), !suspect.after.trim().is_empty());
        return Some(match (before, after, end) {
            _ if suspect.before.ends_with('`') => (2, "it is in inline code".into()),
            (true, true, _) => (3, "it has no marker, and text comes before and after it: an example".into()),
            (_, false, Some(FinishReason::Length)) => {
                (3, "it has no marker, and the answer was cut off: its end is not known".into())
            }
            _ if calls > 0 => (6, "the answer has calls in another form: this is what leaked of them".into()),
            _ => (3, "it has no marker and is neither at the beginning nor at the end of the answer".into()),
        });
    }
    if suspect.kind == Kind::Fence && counts(suspect.body) {
        return Some((2, "it is in a code fence".into()));
    }
    fault(reader, suspect)
}

/// What is wrong with it wherever it is.
fn fault(reader: &Reader, suspect: &Suspect<'_>) -> Option<(u8, String)> {
    if suspect.kind == Kind::Element {
        return Some((8, "the element is named after a tool, but lacks a required parameter or its end".into()));
    }
    let value: Value = serde_json::from_str(suspect.body.trim()).ok()?;
    let object = value.as_object().or_else(|| value.get(0)?.as_object())?;
    let inner = object.get("function").and_then(Value::as_object).unwrap_or(object);
    let name = ["name", "tool", "tool_name", "function", "action"].iter().find_map(|key| inner.get(*key)?.as_str())?;
    let arguments = ["arguments", "parameters", "args", "input", "action_input"].iter().find_map(|key| inner.get(*key));
    match reader.tools.by_wire_name(name) {
        None => {
            let names: Vec<&str> = reader.tools.iter().map(|tool| tool.name.as_str()).take(8).collect();
            Some((5, format!("no offered tool is called `{name}`; there are: {}", names.join(", "))))
        }
        Some(tool) => {
            let missing = missing(tool, arguments.unwrap_or(&Value::Null));
            let keys = || format!("required parameters are missing: {}", missing.join(", "));
            (!missing.is_empty()).then(|| (2, keys()))
        }
    }
}

fn missing(tool: &Tool, given: &Value) -> Vec<String> {
    View::of(Some(tool)).root().required().filter(|key| given.get(*key).is_none()).map(str::to_owned).collect()
}

/// Code fences, JSON, and elements named after a tool, in their order.
fn suspects<'t>(reader: &Reader, text: &'t str) -> Vec<Suspect<'t>> {
    let mut out = Vec::new();
    let mut add = |whole: std::ops::Range<usize>, body: std::ops::Range<usize>, kind: Kind| {
        if let (Some(before), Some(all), Some(body), Some(after)) =
            (text.get(..whole.start), text.get(whole.clone()), text.get(body), text.get(whole.end..))
        {
            out.push(Suspect { whole: all, body, kind, before, after });
        }
    };
    let (mut at, mut tries) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['`', '{', '[', '<'])) {
        let start = at + found;
        let rest = text.get(start..).unwrap_or_default();
        tries += 1;
        if tries > TRIES {
            break;
        }
        at = start + 1;
        if rest.starts_with("```") {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let fence = rest.get(..ticks).unwrap_or_default();
            let open = rest.find('\n').map_or(rest.len(), |line| line + 1);
            let close = rest.get(open..).and_then(|body| body.find(fence)).map_or(rest.len(), |close| open + close);
            let end = (close + ticks).min(rest.len());
            add(start..start + end, start + open..start + close, Kind::Fence);
            at = start + end;
        } else if rest.starts_with(['{', '[']) {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(_)) = values.next() {
                let end = start + values.byte_offset();
                add(start..end, start..end, Kind::Json);
                at = end;
            }
        } else if let Some(tool) = reader.tools.iter().find(|tool| {
            rest.strip_prefix('<')
                .and_then(|rest| rest.strip_prefix(tool.name.as_str()))
                .is_some_and(|rest| rest.starts_with(['>', ' ']))
        }) {
            let close = format!("</{}>", tool.name);
            let end = rest.find(&close).map_or(text.len(), |end| start + end + close.len());
            add(start..end, start..end, Kind::Element);
            at = end;
        }
    }
    out
}

fn quote(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTE_CHARS) {
        Some((at, _)) => format!("{}...", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
