//! The markers of an element named after a tool, as [`Form`] asks for them.

use super::{
    super::{
        Start,
        field::{in_cdata, without_layout},
        starts_with_any,
        tagged::markers::{Markers, closes_name, named_closers},
    },
    Element,
};
use crate::{
    event::Tools,
    fix::{fold, name::known_tool},
    reader::tags::{Between, Form, Tag},
};

/// The tags that close a call whose arguments are in tags, whatever opened it.
const CLOSERS: [&str; 2] = ["</function>", "</invoke>"];

impl Element<'_> {
    /// Other spellings of the closing tag.
    fn spellings(&self) -> Vec<String> {
        let tool = known_tool(self.context.tools, self.name).map_or(self.name, |tool| &tool.name);
        vec![format!("</{tool}>"), format!("</{tool} >"), format!("</{}>", fold(tool))]
    }

    /// The markers of the arguments that are no elements.
    fn tags(&self) -> Markers<'_> {
        Markers { tagged: self.tagged, context: self.context, name: "", types: Some(self.types), decodes: false }
    }
}

impl Form for Element<'_> {
    fn argument_begins(&self, text: &str, end: bool) -> Start {
        best(self.types.keys().map(|key| tag(text, "<", key, end)))
    }

    fn argument(&self, text: &str) -> Option<Tag> {
        match self.types.keys().find(|key| matches!(tag(text, "<", key, true), Start::Yes(_))) {
            Some(key) => Some(Tag::plain(key, key.len() + "<>".len())),
            None => self.tags().argument(text).filter(|tag| self.types.has(&tag.key)),
        }
    }

    fn value_open(&self, _text: &str) -> Option<usize> {
        None
    }

    fn opens_values(&self) -> bool {
        false
    }

    fn type_tag(&self) -> Option<&[String; 2]> {
        None
    }

    fn value_close(&self, text: &str, key: &str, opened: &str, own: bool) -> Option<usize> {
        match self.tags().argument_begins(opened, true) {
            Start::Yes(_) => self.tags().value_close(text, key, opened, own),
            _ => closes_name(text, key),
        }
    }

    fn close(&self, text: &str, end: bool) -> Start {
        match tag(text, "</", self.name, end) {
            Start::No if text.starts_with('<') => {
                let folded = if self.context.lenient { self.spellings() } else { Vec::new() };
                let named = named_closers(self.name, self.context.call).chain(CLOSERS.map(str::to_owned)).chain(folded);
                starts_with_any(text, named, end)
            }
            start => start,
        }
    }

    fn is_own_close(&self, text: &str) -> bool {
        closes_name(text, self.name).is_some()
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

    fn nested(&self, text: &str) -> Option<usize> {
        let Start::Yes(length) = tag(text, "<", self.name, true) else { return None };
        let rest = text[length..].trim_start();
        let begins = [self.argument_begins(rest, true), self.close(rest, true)];
        begins.iter().any(|start| matches!(start, Start::Yes(_))).then_some(length)
    }

    fn open_ended(&self) -> bool {
        self.context.call.whole_answer && self.context.close.is_empty()
    }

    fn cdata(&self) -> bool {
        true
    }

    fn value(&self, text: &str, key: &str, _between: Between) -> String {
        in_cdata(text).unwrap_or_else(|| without_layout(text, key)).to_owned()
    }

    fn leads(&self) -> Vec<u8> {
        vec![b'<']
    }
}

/// Whether `text` begins with a tag of this name. `open` is `<` or `</`.
pub(super) fn tag(text: &str, open: &str, name: &str, end: bool) -> Start {
    let mut rest = text;
    for part in [open, name, ">"] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) && !end => return Start::Maybe,
            None => return Start::No,
        }
    }
    Start::Yes(text.len() - rest.len())
}

/// Whether `text` begins with the tag of an offered tool.
fn opens(text: &str, tools: &Tools) -> Start {
    best(tools.iter().map(|tool| tag(text, "<", &tool.name, false)))
}

/// The better of two answers: `Yes` before `Maybe` before `No`.
fn best(starts: impl Iterator<Item = Start>) -> Start {
    starts.fold(Start::No, |best, start| match (best, start) {
        (Start::Yes(length), _) | (_, Start::Yes(length)) => Start::Yes(length),
        (Start::Maybe, _) | (_, Start::Maybe) => Start::Maybe,
        _ => Start::No,
    })
}
