//! The markers of a form with tags.

use super::super::{
    Context, Start, WORD_BYTES,
    ahead::{Seen, gap},
    element::may_be_named,
    entities::decoded,
    field::{attribute, field, in_cdata, one_each},
    marker::{starts_with_any_tag, starts_with_key_tag, starts_with_tag},
    nested, starts_with_any,
    typing::{self, Hint},
};
use super::in_tag;
use crate::{
    adapter::{Tagged, Trim},
    fix::Place,
    reader::tags::{Tag, hint_of},
};

/// How the arguments of a call are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// In the form's own tags: `<parameter=k>v</parameter>`.
    Tags,
    /// As elements named after the parameters: `<k>v</k>`.
    Elements,
    /// As elements with any names.
    Any,
}

/// The markers of one form. Each method tests the beginning of `text`, and returns the length of what it finds there. `end` means
/// that the text is complete; it always is where there is no `end`.
#[derive(Clone, Copy)]
pub(crate) struct Markers<'a> {
    pub(in crate::adapter::syntax) tagged: &'a Tagged,
    pub(in crate::adapter::syntax) context: Context<'a>,
    /// The name of the call, or empty if it was not read yet.
    pub(in crate::adapter::syntax) name: &'a str,
    /// The parameters of its tool. Unknown if the name was not read yet, or is not offered.
    pub(crate) parameters: Place<'a>,
    pub(in crate::adapter::syntax) keys: Keys,
    /// Whether entities in values are decoded.
    pub(in crate::adapter::syntax) decodes: bool,
}

impl<'a> Markers<'a> {
    /// The markers of a form of which nothing was read.
    pub(in crate::adapter::syntax) fn new(tagged: &'a Tagged, context: Context<'a>) -> Markers<'a> {
        let keys = if tagged.nested.is_some() { Keys::Any } else { Keys::Tags };
        Markers { tagged, context, name: "", parameters: Place::unknown(), keys, decodes: false }
    }

    /// Whether the tool has this parameter.
    pub(crate) fn has(&self, key: &str) -> bool {
        typing::has(self.parameters, key)
    }

    /// What precedes every tag of an element.
    fn prefix(&self) -> &'a str {
        self.tagged.nested.as_deref().unwrap_or_default()
    }

    /// Where an argument ends whose value is in its tag. The tag ends at `at`, and closes itself if `closed`. `None`: its value is
    /// after it.
    fn ends_after(&self, text: &str, at: usize, key: &str, closed: bool) -> Option<usize> {
        let next = at + gap(&text[at..]);
        let rest = &text[next..];
        if let Some(length) = self.value_close(rest, key, "", false) {
            return Some(next + length);
        }
        let structure = [self.argument_begins(rest, true), self.close(rest, true), self.outer(rest, true), self.call(rest, true)];
        (closed || rest.is_empty() || structure.iter().any(|start| matches!(start, Start::Yes(_)))).then_some(next)
    }

    /// Reads an argument's tag, whose key begins at `length`.
    fn argument_at(&self, text: &str, length: usize) -> Option<Tag> {
        if text[..length].ends_with([' ', '\t'])
            && let Some(stop) = text[length..].find('>').filter(|&stop| stop <= WORD_BYTES)
            && let Some(key) = attribute(&text[length..length + stop], "name")
        {
            return Some(Tag::plain(key, length + stop + 1));
        }
        let Seen::Yes(field) = field(text, length, &self.tagged.argument[1], &[&self.tagged.value[0]], false) else {
            return None;
        };
        if field.text.is_empty() {
            return None;
        }
        let said = self.tagged.type_attribute.as_deref().and_then(|name| attribute(field.attributes, name));
        let hint = said.map_or(Hint::None, hint_of);
        let (tag, closed) = match self.opens_values() {
            true => (Tag::plain(&field.text, field.next), false),
            false => in_tag::tag(&field, &text[length..field.next], self.parameters),
        };
        let tag = Tag { hint, ..tag };
        if tag.value.is_none() {
            return Some(Tag { value: closed.then(String::new), ..tag });
        }
        Some(match self.ends_after(text, field.next, &field.text, closed) {
            Some(length) => Tag { length, ..tag },
            // The text after the tag takes the place of the value in it, or goes on with it.
            None => Tag { value: None, torn: true, ..tag },
        })
    }
}

/// The spellings of the closing tag that have the name of the opening one: `</param>` after `<param=`, not after `<parameter=`. All
/// of them if none has.
fn own_closers<'a>(closers: &'a [String], opened: &str) -> Vec<&'a String> {
    let name = opened.trim_start_matches(['<', ' ']);
    let same = |closer: &&String| {
        let closed = closer.strip_prefix("</").and_then(|closer| closer.strip_suffix('>')).unwrap_or_default();
        let written = name.get(..closed.len()).filter(|_| !closed.is_empty());
        written.is_some_and(|written| written.eq_ignore_ascii_case(closed))
            && !name[closed.len()..].starts_with(|c: char| c.is_alphanumeric() || "_-".contains(c))
    };
    let own: Vec<&String> = closers.iter().filter(same).collect();
    if own.is_empty() { closers.iter().collect() } else { own }
}

/// The element that `text` begins with, after a prefix: its name, and the length of its opening tag.
pub(in crate::adapter::syntax) fn opens_element<'t>(text: &'t str, prefix: &str) -> Option<(&'t str, usize)> {
    let inside = text.strip_prefix(prefix)?.trim_start_matches(' ').strip_prefix('<')?;
    let name = &inside[..inside.find(|c: char| !(c.is_alphanumeric() || "_-.$:\\".contains(c)))?];
    let is_tag = !name.is_empty() && name.len() <= WORD_BYTES && inside[name.len()..].starts_with('>');
    is_tag.then(|| (name, text.len() - inside.len() + name.len() + 1))
}

/// The length of the closing tag of this name that `text` begins with.
pub(in crate::adapter::syntax) fn closes_element(text: &str, prefix: &str, name: &str) -> Option<usize> {
    let inside = text.strip_prefix(prefix)?.trim_start_matches(' ').strip_prefix("</")?;
    let after = inside.strip_prefix(name).filter(|_| !name.is_empty())?.strip_prefix('>')?;
    Some(text.len() - after.len())
}

/// Whether `text` begins with the tag of an element of this name. `open` is what precedes the name.
pub(in crate::adapter::syntax) fn tag(text: &str, open: [&str; 2], name: &str, end: bool) -> Start {
    let mut rest = text;
    for part in [open[0], open[1], name, ">"] {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None if part.starts_with(rest) && !end => return Start::Maybe,
            None => return Start::No,
        }
    }
    Start::Yes(text.len() - rest.len())
}

/// The better of some answers: `Yes` before `Maybe` before `No`.
fn best(starts: impl IntoIterator<Item = Start>) -> Start {
    starts.into_iter().fold(Start::No, |best, start| match (best, start) {
        (Start::Yes(length), _) | (_, Start::Yes(length)) => Start::Yes(length),
        (Start::Maybe, _) | (_, Start::Maybe) => Start::Maybe,
        _ => Start::No,
    })
}

impl Markers<'_> {
    /// Whether an argument's tag begins here.
    pub(crate) fn argument_begins(&self, text: &str, end: bool) -> Start {
        match self.keys {
            Keys::Elements | Keys::Any if self.parameters.is_known() => {
                best(self.parameters.keys().map(|key| tag(text, [self.prefix(), "<"], key, end)))
            }
            _ => starts_with_key_tag(text, &self.tagged.argument[0], false, end),
        }
    }

    /// Reads an argument's whole tag, also in the tags of another form.
    pub(crate) fn argument(&self, text: &str) -> Option<Tag> {
        if let Some((key, length)) = opens_element(text, self.prefix()) {
            let own = match self.keys {
                Keys::Tags => false,
                Keys::Elements => true,
                Keys::Any => self.is_nested() || !self.parameters.is_known() || self.has(key),
            };
            if self.keys == Keys::Any || (self.has(key) && !self.opens_values()) {
                return Some(Tag { own, ..Tag::plain(key, length) });
            }
        }
        let markers = &self.tagged.argument[0];
        let Start::Yes(length) = starts_with_key_tag(text, markers, true, true) else { return None };
        let is_own = starts_with_key_tag(text, markers, false, true) != Start::No;
        let tag = Tag { own: is_own, ..self.argument_at(text, length)? };
        (self.keys == Keys::Tags || self.has(&tag.key)).then_some(tag)
    }

    /// Whether arguments are elements with elements inside.
    pub(crate) fn is_nested(&self) -> bool {
        self.tagged.nested.is_some()
    }

    /// Whether a tag with any name is an argument.
    pub(crate) fn takes_any(&self) -> bool {
        self.keys == Keys::Any
    }

    /// The tag that opens a value. Always `None` if the form has none.
    pub(crate) fn value_open(&self, text: &str) -> Option<usize> {
        let open = self.opens_values().then(|| starts_with_tag(text, &self.tagged.value[0], true));
        if let Some(Start::Yes(length)) = open { Some(length) } else { None }
    }

    /// Whether the form has a tag that opens values.
    pub(crate) fn opens_values(&self) -> bool {
        self.keys == Keys::Tags && !self.tagged.value[0].iter().any(String::is_empty)
    }

    /// The markers around a type between key and value.
    pub(crate) fn type_tag(&self) -> Option<&[String; 2]> {
        self.tagged.type_tag.as_ref()
    }

    /// The tag that closes the value of argument `key`. `opened`: the tag that opened it. `own`: only a tag of the same name does.
    pub(crate) fn value_close(&self, text: &str, key: &str, opened: &str, own: bool) -> Option<usize> {
        let named = || closes_element(text, self.prefix(), key);
        let closers = &self.tagged.value[1];
        let is_element = opened.strip_suffix('>').and_then(|tag| tag.strip_suffix(key)).is_some_and(|tag| tag.ends_with('<'));
        let start = match own {
            true if is_element => return named(),
            true => starts_with_tag(text, own_closers(closers, opened), true),
            false => starts_with_any_tag(text, closers, true),
        };
        // Some models close the parameter by its name.
        if let Start::Yes(length) = start { Some(length) } else { named().filter(|_| !own) }
    }

    /// Whether the call closes here.
    pub(crate) fn close(&self, text: &str, end: bool) -> Start {
        match self.keys {
            _ if self.is_nested() => starts_with_any(text, &self.context.call.close, end),
            Keys::Tags => starts_with_any_tag(text, &self.context.call.close, end),
            Keys::Elements | Keys::Any => self.closes_tool(text, end),
        }
    }

    /// Whether the element of the tool closes here.
    fn closes_tool(&self, text: &str, end: bool) -> Start {
        let undecided = if end { Start::No } else { Start::Maybe };
        let Some(inside) = text.strip_prefix("</") else {
            return if "</".starts_with(text) { undecided } else { Start::No };
        };
        match may_be_named(inside, self.name, end) {
            Start::Yes(length) => match inside[length..].trim_start_matches(' ') {
                "" => undecided,
                rest if rest.starts_with('>') => Start::Yes(text.len() - rest.len() + 1),
                _ => Start::No,
            },
            start => start,
        }
    }

    /// Whether the section or fence around the calls closes here.
    pub(crate) fn outer(&self, text: &str, end: bool) -> Start {
        starts_with_any(text, self.context.call.section_close.iter().chain(self.context.close), end)
    }

    /// Whether another call begins here.
    pub(crate) fn call(&self, text: &str, end: bool) -> Start {
        let call = self.context.call;
        let openings = [&call.open, &call.section, &call.stripped, &self.tagged.name[0]];
        let openings = openings.into_iter().map(|markers| starts_with_any(text, markers, end));
        let tools = self.context.tools.iter().filter(|_| self.keys != Keys::Tags && !self.is_nested());
        best(openings.chain(tools.map(|tool| tag(text, ["", "<"], &tool.name, end))))
    }

    /// The head of a call, if structure follows it.
    pub(crate) fn nested(&self, text: &str) -> Option<usize> {
        let call = self.context.call;
        let body = if self.keys == Keys::Tags || self.is_nested() {
            let opened = [&call.open, &call.stripped, &self.tagged.name[0]].map(|markers| starts_with_any(text, markers, true));
            let length = match opened {
                [Start::Yes(length), ..] | [_, Start::Yes(length), _] => length,
                [_, _, Start::Yes(_)] => 0,
                _ => return None,
            };
            match self.head(&text[length..], true) {
                Ok(head) if !head.closed => length + head.body,
                _ => return None,
            }
        } else {
            let Start::Yes(length) = tag(text, ["", "<"], self.name, true) else { return None };
            length
        };
        let rest = &text[body..];
        let rest = &rest[gap(rest)..];
        let begins = [self.argument_begins(rest, true), self.close(rest, true)];
        begins.iter().any(|start| matches!(start, Start::Yes(_))).then_some(body)
    }

    /// Whether the text is complete, and whether a limit truncated the answer.
    pub(crate) fn over(&self) -> (bool, bool) {
        (self.context.end, self.context.cut)
    }

    /// Whether only the end of the text closes the call.
    pub(crate) fn open_ended(&self) -> bool {
        self.context.call.whole_answer && self.context.close.is_empty()
    }

    /// The length of the CDATA section that a value begins with, or 0. `None`: it has no end.
    pub(crate) fn section(&self, value: &str) -> Option<usize> {
        let begins = self.tagged.cdata && value.trim_start().starts_with("<![CDATA[");
        if begins { value.find("]]>").map(|at| at + "]]>".len()) } else { Some(0) }
    }

    /// The value of argument `key` as JSON text. `None`: elements inside are malformed.
    pub(crate) fn json(&self, key: &str, text: &str, hint: Hint) -> Option<String> {
        match &self.tagged.nested {
            Some(prefix) => nested::value(text, prefix, typing::parameter(self.parameters, key)),
            None => Some(typing::argument(self.parameters, key, text, hint)),
        }
    }

    /// The length of what separates two tags here. Text beside tags that are special tokens is no argument.
    pub(crate) fn gap(&self, text: &str) -> usize {
        let gap = gap(text);
        match self.prefix() {
            prefix if !prefix.is_empty() && !text[gap..].starts_with('{') => text.find(prefix).unwrap_or(text.len()),
            _ => gap,
        }
    }

    /// A value without what belongs to the form. `spaced`: one space is between the tags.
    pub(crate) fn value(&self, text: &str, spaced: bool) -> String {
        if let Some(inner) = in_cdata(text).filter(|_| self.tagged.cdata) {
            return inner.to_owned();
        }
        let trimmed = match self.tagged.trim {
            Trim::None => text,
            Trim::All => text.trim(),
            Trim::OneNewline if spaced && !text.contains('\n') => one_each(text, &[" "]),
            Trim::OneNewline => one_each(text, &["\r\n", "\n"]),
        };
        let plain = if self.tagged.zero_width { trimmed.replace("<\u{200b}", "<") } else { trimmed.to_owned() };
        if self.decodes { decoded(&plain) } else { plain }
    }

    /// The first bytes of all markers.
    pub(crate) fn leads(&self) -> Vec<u8> {
        let call = self.context.call;
        let Tagged { name, argument, value, .. } = self.tagged;
        let lists =
            [&name[0], &argument[0], &value[1], &call.open, &call.stripped, &call.section, &call.close, &call.section_close];
        let elements = (self.keys != Keys::Tags).then(|| *self.prefix().as_bytes().first().unwrap_or(&b'<'));
        let mut leads: Vec<u8> = lists.into_iter().flatten().filter_map(|marker| marker.bytes().next()).chain(elements).collect();
        leads.sort_unstable();
        leads.dedup();
        leads
    }
}
