//! Reads the header of a message: what the message is, and to whom it is addressed.

use super::super::{Seen, Start, blank, find_any, starts_with_any};
use crate::{adapter::Recipient, event::Tools};

/// The recipient of a tool's message.
const ASSISTANT: &str = "assistant";
/// Maximum length of a header, in bytes.
const HEADER_BYTES: usize = 512;

/// A header that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    /// Its length, up to the start of the message.
    pub(crate) length: usize,
    pub(crate) kind: Kind,
}

/// What a message is.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Reasoning,
    Content,
    /// A call of this tool, named as the model wrote it.
    Call(String),
}

/// The header that `text` begins with. `inside`: the text begins after the header's first marker.
pub(crate) fn header(text: &str, data: &Recipient, inside: bool, end: bool) -> Seen<Header> {
    match stripped_header(text, data, inside, end) {
        Seen::No => {}
        seen => return seen,
    }
    let limit = text.floor_char_boundary(HEADER_BYTES + data.message.len());
    let head = match text[..limit].find(&data.message) {
        Some(at) => &text[..at],
        None if limit < text.len() => return Seen::No,
        None if !end && (!data.plain || name_end(text, data) == text.len()) => return Seen::Maybe,
        None => return Seen::No,
    };
    let length = (head.len() + data.message.len()).min(text.len());
    if find_any(head, 0, &data.end).is_some() {
        return Seen::No;
    }
    let starts = data.start.iter().filter(|marker| Some(*marker) != data.channel.as_ref());
    let last = starts.filter_map(|marker| head.rfind(marker.as_str())).max();
    let head = &head[last.unwrap_or(0)..];
    let tail = data.channel.as_ref().and_then(|marker| head.rsplit_once(marker.as_str()));
    let channel = tail.map_or("", |(_, tail)| word(tail));
    let name = match recipient(head, data, inside && last.is_none()) {
        Some(name) => name,
        None if data.plain || inside => return Seen::No,
        None => "",
    };
    let is = |list: &[String], word: &str| list.iter().any(|known| known == word);
    let kind = match name {
        name if is(&data.reasoning, name) => Kind::Reasoning,
        name if !name.is_empty() && name != ASSISTANT && !is(&data.content, name) => Kind::Call(name.to_owned()),
        _ if is(&data.reasoning, channel) => Kind::Reasoning,
        _ => Kind::Content,
    };
    Seen::Yes(Header { length, kind })
}

/// Whether the answer begins inside a header.
pub(crate) fn begins_inside(text: &str, data: &Recipient, tools: &Tools, end: bool) -> Seen<()> {
    match stripped_header(text, data, true, end) {
        Seen::Yes(_) => return Seen::Yes(()),
        Seen::Maybe if !text.is_empty() => return Seen::Maybe,
        _ => {}
    }
    let marker =
        data.to.iter().filter(|marker| !marker.is_empty()).map(|marker| marker.trim_start().to_owned()).collect::<Vec<_>>();
    match starts_with_any(text, &marker, end) {
        Start::Yes(_) => return Seen::Yes(()),
        Start::Maybe if !text.is_empty() => return Seen::Maybe,
        Start::Maybe | Start::No => {}
    }
    if text.is_empty() {
        return if end { Seen::No } else { Seen::Maybe };
    }
    // The prompt may have opened the header up to the recipient.
    let name = word(text);
    let names =
        || data.content.iter().chain(&data.reasoning).map(String::as_str).chain(tools.iter().map(|tool| tool.name.as_str()));
    match text.len() > name.len() {
        true if names().any(|known| known == name) => Seen::Yes(()),
        false if !end && names().any(|known| known.starts_with(name)) => Seen::Maybe,
        _ => Seen::No,
    }
}

/// The recipient in a header, without prefixes. `None`: there is none.
fn recipient<'t>(head: &'t str, data: &Recipient, inside: bool) -> Option<&'t str> {
    let mut marked = data.to.iter().filter(|marker| !marker.is_empty()).filter_map(|marker| {
        let at = head.rfind(marker.as_str())?;
        // The marker must not end a word.
        let before = head[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric()).then(|| head[at + marker.len()..].trim_start())
    });
    let name = match marked.next_back() {
        Some(tail) => word(tail),
        // The header is the recipient.
        None if inside || data.to.iter().any(String::is_empty) => {
            let start = data.start.iter().filter(|marker| head.starts_with(marker.as_str())).map(String::len).max().unwrap_or(0);
            let tail = head[start..].trim();
            Some(word(tail)).filter(|name| name.len() == tail.len() && !name.is_empty())?
        }
        None => "",
    };
    Some(data.prefix.iter().find_map(|prefix| name.strip_prefix(prefix.as_str())).unwrap_or(name))
}

/// The word that `text` begins with.
fn word(text: &str) -> &str {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '`');
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_-.:/".contains(c))).unwrap_or(text.len());
    &text[..end]
}

/// The offset up to which `text` may be a plain header: marker and name.
fn name_end(text: &str, data: &Recipient) -> usize {
    let start = data.start.iter().filter(|marker| text.starts_with(marker.as_str())).map(String::len).max().unwrap_or(0);
    let tail = &text[start..];
    let name = start + blank(tail) + word(tail).len();
    text.len() - text[name..].trim_start_matches([' ', '\r']).len()
}

/// The headers that remain where a backend stripped the special tokens, with and without their beginning: `assistantfinal`, `final`.
pub(crate) fn stripped(data: &Recipient) -> impl Iterator<Item = [String; 2]> {
    let channels = data.channel.iter().flat_map(|_| data.reasoning.iter().chain(&data.content));
    channels.filter(|channel| *channel != ASSISTANT).map(|channel| [format!("{ASSISTANT}{channel}"), channel.clone()])
}

/// Reads such a header. The first one in an answer also lacks its beginning: `analysisThe user ..`.
fn stripped_header(text: &str, data: &Recipient, first: bool, end: bool) -> Seen<Header> {
    let mut maybe = false;
    for [header, channel] in stripped(data) {
        let thinks = data.reasoning.contains(&channel);
        for written in [&header, &channel].into_iter().take(1 + usize::from(first && thinks)) {
            let Some(rest) = text.strip_prefix(written.as_str()) else {
                maybe |= written.starts_with(text);
                continue;
            };
            // A call has its own form.
            let calls = data.to.iter().any(|to| !to.is_empty() && rest.trim_start().starts_with(to.as_str()));
            let may_call = data.to.iter().any(|to| to.starts_with(rest.trim_start()));
            let glued = !first || rest.starts_with(|c: char| c.is_uppercase() || (c.is_alphabetic() && !c.is_ascii()));
            maybe |= may_call && (!first || rest.is_empty());
            if glued && !calls && (end || !may_call) {
                let kind = if thinks { Kind::Reasoning } else { Kind::Content };
                return Seen::Yes(Header { length: written.len(), kind });
            }
        }
    }
    if maybe && !end { Seen::Maybe } else { Seen::No }
}
