//! The markers of an element named after a tool, as [`Form`] asks for them.

use super::{
    super::{
        Start,
        ahead::Seen,
        arguments::{Between, Form, Tag},
        field::{in_cdata, without_layout},
        marker::starts_with_tag,
        starts_with_any,
        tagged::markers::{Markers, named_closers, own_closers},
    },
    Element,
};
use crate::event::Tools;

/// The tags that close a call whose arguments are in tags, whatever opened it.
const CLOSERS: [&str; 2] = ["</function>", "</invoke>"];

impl Element<'_> {
    /// The markers of the arguments that are no elements.
    fn tags(&self) -> Markers<'_> {
        Markers { tagged: self.tagged, context: self.context, name: "", types: None, decodes: false }
    }
}

impl Form for Element<'_> {
    fn argument_begins(&self, text: &str, end: bool) -> Start {
        best(self.types.keys().map(|key| tag(text, "<", key, end)))
    }

    fn argument(&self, text: &str, end: bool) -> Seen<Tag> {
        match self.types.keys().find(|key| matches!(tag(text, "<", key, end), Start::Yes(_))) {
            Some(key) => Seen::Yes(Tag::plain(key, key.len() + "<>".len())),
            None => self.tags().argument(text, end),
        }
    }

    fn value_open(&self, _text: &str, _end: bool) -> Start {
        Start::No
    }

    fn opens_values(&self) -> bool {
        false
    }

    fn type_tag(&self) -> Option<&[String; 2]> {
        None
    }

    fn value_close(&self, text: &str, key: &str, opened: &str, end: bool) -> Start {
        match self.tags().argument_begins(opened, true) {
            Start::Yes(_) => starts_with_tag(text, &self.tagged.value[1], end),
            _ if text.starts_with('<') => starts_with_tag(text, [&format!("</{key}>")], end),
            _ => Start::No,
        }
    }

    fn other(&self, text: &str, opened: &str, end: bool) -> [Start; 2] {
        let tags = self.tags();
        let tagged = matches!(tags.argument_begins(opened, true), Start::Yes(_));
        let close = if tagged { starts_with_any(text, CLOSERS, end) } else { Start::No };
        [tags.foreign_argument(text, self.types, end), close]
    }

    fn own_value_close(&self, text: &str, key: &str, opened: &str, end: bool) -> Start {
        match self.tags().argument_begins(opened, true) {
            Start::Yes(_) => starts_with_tag(text, own_closers(&self.tagged.value[1], opened), end),
            _ => self.value_close(text, key, opened, end),
        }
    }

    fn own_close(&self, text: &str, end: bool) -> Start {
        self.close(text, end)
    }

    fn closing_name<'a>(&'a self, key: &'a str) -> &'a str {
        key
    }

    fn closers(&self) -> &[String] {
        &[]
    }

    fn close(&self, text: &str, end: bool) -> Start {
        match tag(text, "</", self.name, end) {
            Start::No if text.starts_with('<') => starts_with_any(text, named_closers(self.name, self.context.call), end),
            start => start,
        }
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
