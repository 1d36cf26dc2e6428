//! A tag named after the tool: `<read_file><uri>src/main.rs</uri></read_file>`, or JSON inside of it.

use super::{
    Context, Parsed, Start, Step,
    arguments::{Arguments, Between, Form, Outcome, Seen, Tag},
    blank, starts_with_any,
    tagged::one_each,
    typing::{Hint, Types},
};
use crate::event::Tools;

/// Reads one call; the body begins at the tag.
#[derive(Debug, Default)]
pub(crate) struct ElementReader {
    name: Option<String>,
    types: Types,
    arguments: Arguments,
}

/// The markers of one tool's element, or of the elements in another call that is named already.
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    pub(super) types: &'a Types,
    pub(super) context: Context<'a>,
}

// === impl ElementReader ===

impl ElementReader {
    pub(crate) fn read(&mut self, text: &str, context: Context<'_>) -> Step {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => {
                let at = blank(text);
                let Some(tool) =
                    context.tools.iter().find(|tool| matches!(tag(&text[at..], "<", &tool.name, true), Start::Yes(_)))
                else {
                    return if !context.end && opens(&text[at..], context.tools) == Start::Maybe {
                        Step::More
                    } else {
                        Step::Reject
                    };
                };
                self.types = Types::new(Some(tool));
                let form = Element { name: &tool.name, types: &self.types, context };
                self.arguments = Arguments::new(at + tool.name.len() + 2, None, &form);
                self.name.insert(tool.name.clone()).clone()
            }
        };
        let form = Element { name: &name, types: &self.types, context };
        let parsed = |arguments: String| Parsed { name: name.clone(), id: None, arguments };
        match self.arguments.read(text, &form, &self.types, context.marked, context.end) {
            Outcome::More => Step::More,
            Outcome::Reject => Step::Reject,
            Outcome::Done { arguments, end } => Step::Done { calls: vec![parsed(arguments)], end },
            Outcome::Cut { arguments } => Step::Cut { whole: Vec::new(), cut: parsed(arguments) },
        }
    }

    /// The name, if it was seen.
    pub(crate) fn name(&self) -> Option<String> {
        self.name.clone()
    }
}

// === impl Element ===

impl Form for Element<'_> {
    fn argument_begins(&self, text: &str, end: bool) -> Start {
        best(self.types.keys().map(|key| tag(text, "<", key, end)))
    }

    fn argument(&self, text: &str, end: bool) -> Seen<Tag> {
        let key = self.types.keys().find(|key| matches!(tag(text, "<", key, end), Start::Yes(_)));
        key.map_or(Seen::No, |key| Seen::Yes(Tag { key: key.to_owned(), hint: Hint::None, length: key.len() + 2, empty: false }))
    }

    fn value_open(&self) -> &[String] {
        &[]
    }

    fn type_tag(&self) -> Option<&[String; 2]> {
        None
    }

    fn value_close(&self, text: &str, key: &str, end: bool) -> Start {
        tag(text, "</", key, end)
    }

    fn close(&self, text: &str, end: bool) -> Start {
        tag(text, "</", self.name, end)
    }

    fn outer(&self, text: &str, end: bool) -> Start {
        starts_with_any(text, self.context.close.iter().chain(&self.context.call.section_close), end)
    }

    fn call(&self, text: &str, end: bool) -> Start {
        let open = self.context.call.open.iter().chain(&self.context.call.stripped);
        match best([opens(text, self.context.tools), starts_with_any(text, open, end)].into_iter()) {
            Start::Maybe if end => Start::No,
            start => start,
        }
    }

    fn nested(&self, text: &str, end: bool) -> Seen<usize> {
        let length = match tag(text, "<", self.name, end) {
            Start::Yes(length) => length,
            Start::Maybe => return Seen::Maybe,
            Start::No => return Seen::No,
        };
        let rest = text[length..].trim_start();
        match best([self.argument_begins(rest, end), self.close(rest, end)].into_iter()) {
            Start::Yes(_) => Seen::Yes(length),
            Start::Maybe => Seen::Maybe,
            Start::No => Seen::No,
        }
    }

    fn cdata(&self) -> bool {
        true
    }

    fn value(&self, text: &str, _between: Between) -> String {
        let inner = text.trim().strip_prefix("<![CDATA[").and_then(|inner| inner.strip_suffix("]]>"));
        inner.unwrap_or_else(|| one_each(text, &["\r\n", "\n"])).to_owned()
    }

    fn leads(&self) -> Vec<u8> {
        vec![b'<']
    }
}

/// Whether `text` begins with the tag of this name.
fn tag(text: &str, open: &str, name: &str, end: bool) -> Start {
    let mut rest = text;
    for part in [open, name, ">"] {
        match rest.strip_prefix(part) {
            Some(behind) => rest = behind,
            None if part.starts_with(rest) && !end => return Start::Maybe,
            None => return Start::No,
        }
    }
    Start::Yes(text.len() - rest.len())
}

/// Whether `text` begins with the tag of some tool.
fn opens(text: &str, tools: &Tools) -> Start {
    best(tools.iter().map(|tool| tag(text, "<", &tool.name, false)))
}

fn best(starts: impl Iterator<Item = Start>) -> Start {
    starts.fold(Start::No, |best, start| match (best, start) {
        (Start::Yes(length), _) | (_, Start::Yes(length)) => Start::Yes(length),
        (Start::Maybe, _) | (_, Start::Maybe) => Start::Maybe,
        _ => Start::No,
    })
}
