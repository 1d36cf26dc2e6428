//! Void executes the first `<name>` of an offered tool anywhere in the text. So every mention gets a space before its
//! bracket, also if it arrives in pieces, and text stays text.

use std::borrow::Cow;

use memchr::memchr;

/// Defuses mentions in one channel of text.
#[derive(Debug)]
pub(super) struct Defuser {
    /// `<name` of every tool.
    tags: Vec<String>,
    /// The end of the text so far, if it may be the beginning of a mention.
    held: String,
    /// How many mentions were defused.
    pub(super) count: u32,
}

impl Defuser {
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a str>) -> Defuser {
        Defuser { tags: tools.map(|name| format!("<{name}")).collect(), held: String::new(), count: 0 }
    }

    /// Takes a piece of text, and returns the part that can be sent. The rest, at most one tag, is held back.
    pub(super) fn push<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.held.is_empty() && memchr(b'<', text.as_bytes()).is_none() {
            return Cow::Borrowed(text);
        }
        let text = std::mem::take(&mut self.held) + text;
        let mut out = String::with_capacity(text.len() + 8);
        let mut rest = text.as_str();
        while let Some(at) = memchr(b'<', rest.as_bytes()) {
            let (before, candidate) = rest.split_at(at);
            out.push_str(before);
            if let Some(tag) = self.tags.iter().find(|tag| is_mention(candidate, tag)) {
                out.push_str(tag);
                out.push_str(" >");
                self.count += 1;
                rest = candidate.get(tag.len() + 1..).unwrap_or_default();
            } else if self.tags.iter().any(|tag| tag.starts_with(candidate)) {
                self.held = candidate.to_owned();
                return out.into();
            } else {
                out.push('<');
                rest = candidate.get(1..).unwrap_or_default();
            }
        }
        out.push_str(rest);
        out.into()
    }

    /// What is still held back: it did not become a mention.
    pub(super) fn flush(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

fn is_mention(text: &str, tag: &str) -> bool {
    text.strip_prefix(tag).is_some_and(|after| after.starts_with('>'))
}

/// Undoes the defusing, so that the model sees its own words in the history.
pub(super) fn restore<'a>(text: &str, tools: impl Iterator<Item = &'a str>) -> String {
    tools.fold(text.to_owned(), |text, name| text.replace(&format!("<{name} >"), &format!("<{name}>")))
}
