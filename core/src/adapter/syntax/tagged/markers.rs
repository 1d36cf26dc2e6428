//! The markers of a form with tags.

use super::super::{
    Context, Start, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    begins_with_a_name,
    entities::decoded,
    field::{attribute, field, in_cdata, one_each, past_twin, without_layout},
    marker::{starts_with_any_tag, starts_with_key_tag, starts_with_tag},
    starts_with_any,
    typing::{Hint, Types},
};
use super::in_tag::InTag;
use crate::{
    adapter::{Call, Tagged, Trim},
    reader::tags::{Between, Form, Tag, hint_of},
};

/// What precedes the arguments.
pub(super) struct Head {
    pub(super) name: String,
    /// The key of the first argument, if its tag lost its opening half and is glued to the name.
    pub(super) key: Option<String>,
    /// Start of the arguments.
    pub(super) body: usize,
    /// `<invoke name="f"/>`: there are no arguments.
    pub(super) closed: bool,
    /// The text between the name and the end of its tag.
    pub(super) attributes: String,
    /// Whether it is a lone word, which is a name only if a tool has it.
    pub(super) lone: bool,
}

/// The markers of a form, as [`Form`] asks for them.
pub(in crate::adapter::syntax) struct Markers<'a> {
    pub(in crate::adapter::syntax) tagged: &'a Tagged,
    pub(in crate::adapter::syntax) context: Context<'a>,
    /// The name of the call, or empty if it was not read yet.
    pub(in crate::adapter::syntax) name: &'a str,
    /// The parameters of its tool, if the name was read.
    pub(in crate::adapter::syntax) types: Option<&'a Types>,
    /// Whether entities in values are decoded.
    pub(in crate::adapter::syntax) decodes: bool,
}

impl Markers<'_> {
    /// Whether the head of another call of the same tool follows a call without arguments.
    pub(super) fn twin(&self, text: &str, name: &str) -> Start {
        let (rest, end) = (&text[gap(text)..], self.context.end);
        let call = self.context.call;
        // In some forms, the head alone opens the call.
        let opened = match starts_with_any(rest, call.open.iter().chain(&call.stripped), end) {
            Start::No if call.open.iter().any(String::is_empty) && !self.tagged.name[0].is_empty() => Start::Yes(0),
            start => start,
        };
        let Start::Yes(length) = opened else { return opened };
        match self.head(&rest[length..], end) {
            Seen::Yes(head) if head.name == name && !head.closed => Start::Yes(length),
            Seen::Maybe if !end => Start::Maybe,
            _ => Start::No,
        }
    }

    /// Reads the head of a call.
    pub(super) fn head(&self, text: &str, end: bool) -> Seen<Head> {
        let mut at = gap(text);
        if may_be_gap(&text[at..], end) {
            return Seen::Maybe;
        }
        let [open, close] = &self.tagged.name;
        let nameless = match self.attributes(&text[at..], end) {
            Seen::Yes((length, named)) => {
                at += length;
                !named
            }
            Seen::Maybe => return Seen::Maybe,
            Seen::No => false,
        };
        at += gap(&text[at..]);
        let bare = match starts_with_any(&text[at..], open, end) {
            Start::Yes(length) if length > 0 => {
                at += length;
                false
            }
            Start::Maybe => return Seen::Maybe,
            Start::Yes(_) | Start::No if nameless => return Seen::No,
            Start::No if !(open.is_empty() || open.iter().any(String::is_empty)) => return Seen::No,
            Start::Yes(_) | Start::No => true,
        };
        at += gap(&text[at..]);
        if self.open_ended() && !begins_with_a_name(&text[at..], close, self.context) {
            return Seen::No;
        }
        // A tag or a value is not a name, whatever follows.
        if text[at..].trim_start().starts_with(['<', '>', '{', '}']) {
            return Seen::No;
        }
        let call = self.context.call;
        let hanging: &[String] = if bare { &self.tagged.argument[1] } else { &[] };
        let stops: [&[String]; 4] = [&self.tagged.argument[0], &call.close, &call.section_close, hanging];
        let field = match field(text, at, close, &stops, true) {
            Seen::Yes(field) => field,
            Seen::Maybe => return Seen::Maybe,
            Seen::No => return Seen::No,
        };
        if let Some(stop) = field.stopped.filter(|stop| hanging.iter().any(|marker| marker == stop)) {
            let body = field.next + stop.len();
            return match self.split(&field.text) {
                Some((name, key)) => Seen::Yes(Head { name, key, body, closed: false, attributes: String::new(), lone: false }),
                None => Seen::No,
            };
        }
        // The end of a tag, then JSON: that is another form.
        if !field.is_name(self.context.tools) || field.stopped == Some("{") && field.text.ends_with('>') {
            return Seen::No;
        }
        let closed = field.stopped.is_none() && field.attributes.trim_end().ends_with('/');
        let ended = field.stopped.is_none() && !text[at..field.next].ends_with(char::is_whitespace);
        let attributes = field.attributes.to_owned();
        Seen::Yes(Head { name: field.text, key: None, body: field.next, closed, attributes, lone: bare && !ended })
    }

    /// The attributes after an opener that ends with a blank: `id="1" name="f">`. `Yes` has the offset of the name in them, or of
    /// what follows their tag, and whether it is the name.
    fn attributes(&self, text: &str, end: bool) -> Seen<(usize, bool)> {
        let word = text.len() - text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let (call, stop) = (self.context.call, text.find('>').unwrap_or(text.len()));
        if !call.open.iter().chain(&call.stripped).any(|opener| opener.ends_with(' ')) || stop > WORD_BYTES {
            return Seen::No;
        }
        if stop == text.len() {
            return if end { Seen::No } else { Seen::Maybe };
        }
        if word == 0 || !text[word..].starts_with('=') {
            return Seen::No;
        }
        let (first, other) = ("name=", " name=");
        let begun = || text.starts_with(first).then_some(first.len());
        let name = text[..stop].find(other).map(|at| at + other.len()).or_else(begun);
        Seen::Yes(name.map_or((stop + 1, false), |at| (at, true)))
    }

    /// Whether an opener of the form is the tag of an argument too.
    pub(super) fn opens_as_argument(&self) -> bool {
        self.context.call.stripped.iter().any(|opener| self.tagged.argument[0].contains(opener))
    }

    /// The parameter whose own tag `text` begins with, and the length of the tag.
    fn named_tag(&self, text: &str) -> Option<(&str, usize)> {
        let name = text.strip_prefix('<')?.split_once('>').map(|(name, _)| name)?;
        let key = self.types.filter(|_| !self.opens_values())?.keys().find(|key| *key == name)?;
        Some((key, key.len() + "<>".len()))
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
        // The tag that opens keys may close one.
        let twin: &[String] = if self.opens_values() { &self.tagged.argument[0] } else { &[] };
        let Seen::Yes(field) = field(text, length, &self.tagged.argument[1], &[&self.tagged.value[0], twin], false) else {
            return None;
        };
        if field.text.is_empty() {
            return None;
        }
        let said = self.tagged.type_attribute.as_deref().and_then(|name| attribute(field.attributes, name));
        let closed = field.stopped.filter(|stop| twin.iter().any(|marker| marker == stop)).map_or(0, str::len);
        let hint = said.map_or(Hint::None, hint_of);
        let written = &text[length..field.next];
        let length = past_twin(text, field.next + closed, &self.tagged.argument[1]);
        let given = if self.opens_values() { InTag::default() } else { InTag::of(&field, written, self.types) };
        let Some(value) = given.value else {
            let value = given.closed.then(String::new);
            return Some(Tag { hint, key: field.text, length, value, torn: given.torn, own: true });
        };
        let ends = self.ends_after(text, length, &field.text, given.closed);
        let key = given.key.unwrap_or(field.text);
        Some(match ends {
            Some(length) => Tag { hint, key, length, value: Some(value), torn: given.torn, own: true },
            // The text after the tag takes the place of the value in it, or goes on with it.
            None => Tag { hint, key, length, value: None, torn: true, own: true },
        })
    }

    /// Splits a name with a key glued to it, or before a stray closing tag of a key.
    fn split(&self, text: &str) -> Option<(String, Option<String>)> {
        let fits = self.context.tools.iter().filter_map(|tool| {
            let key = text.strip_prefix(tool.name.as_str())?.trim();
            let known = key.is_empty() || Types::new(Some(tool)).has(key);
            known.then(|| (tool.name.clone(), (!key.is_empty()).then(|| key.to_owned())))
        });
        fits.max_by_key(|(name, _)| name.len())
    }
}

/// The closing tags of a call that repeat its name: `</f>`, and `</PREFIXf>` if a prefix opens the tag.
pub(in crate::adapter::syntax) fn named_closers<'a>(name: &'a str, call: &'a Call) -> impl Iterator<Item = String> + 'a {
    let prefixes = call.open.iter().chain(&call.stripped).filter_map(|open| open.strip_prefix('<'));
    let prefixes = prefixes.filter(|prefix| !prefix.is_empty() && !prefix.ends_with(['=', ' ', '>', '"']));
    [""].into_iter().chain(prefixes).map(move |prefix| format!("</{prefix}{name}>"))
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

/// The length of the closing tag of this name that `text` begins with.
pub(in crate::adapter::syntax) fn closes_name(text: &str, name: &str) -> Option<usize> {
    text.strip_prefix("</")?.strip_prefix(name)?.starts_with('>').then_some(name.len() + "</>".len())
}

impl Form for Markers<'_> {
    fn argument_begins(&self, text: &str, end: bool) -> Start {
        starts_with_key_tag(text, &self.tagged.argument[0], false, end)
    }

    fn argument(&self, text: &str) -> Option<Tag> {
        if let Some((key, length)) = self.named_tag(text) {
            return Some(Tag { own: false, ..Tag::plain(key, length) });
        }
        let markers = &self.tagged.argument[0];
        let Start::Yes(length) = starts_with_key_tag(text, markers, true, true) else { return None };
        let is_own = starts_with_key_tag(text, markers, false, true) != Start::No;
        // Some models write its tags twice.
        let length = past_twin(text, length, markers);
        Some(Tag { own: is_own, ..self.argument_at(text, length)? })
    }

    fn value_open(&self, text: &str) -> Option<usize> {
        let open = self.opens_values().then(|| starts_with_tag(text, &self.tagged.value[0], true));
        if let Some(Start::Yes(length)) = open { Some(length) } else { None }
    }

    fn opens_values(&self) -> bool {
        !self.tagged.value[0].iter().any(String::is_empty)
    }

    fn type_tag(&self) -> Option<&[String; 2]> {
        self.tagged.type_tag.as_ref()
    }

    fn value_close(&self, text: &str, key: &str, opened: &str, own: bool) -> Option<usize> {
        if own {
            if opened.strip_prefix('<').and_then(|name| name.strip_suffix('>')).is_some_and(|name| name == key) {
                return closes_name(text, key);
            }
            let start = starts_with_tag(text, own_closers(&self.tagged.value[1], opened), true);
            return if let Start::Yes(length) = start { Some(length) } else { None };
        }
        match starts_with_any_tag(text, &self.tagged.value[1], true) {
            Start::Yes(length) => Some(length),
            // Some models close the parameter by its name.
            _ if !key.is_empty() && text.starts_with('<') => closes_name(text, key),
            _ => None,
        }
    }

    fn close(&self, text: &str, end: bool) -> Start {
        match starts_with_any_tag(text, &self.context.call.close, end) {
            // Some models close the call by its name.
            Start::No if !self.name.is_empty() && text.starts_with('<') => {
                starts_with_any(text, named_closers(self.name, self.context.call), end)
            }
            start => start,
        }
    }

    fn is_own_close(&self, text: &str) -> bool {
        matches!(starts_with_tag(text, &self.context.call.close, true), Start::Yes(_))
    }

    fn outer(&self, text: &str, end: bool) -> Start {
        starts_with_any(text, self.context.call.section_close.iter().chain(self.context.close), end)
    }

    fn call(&self, text: &str, end: bool) -> Start {
        let call = self.context.call;
        let openings =
            [&call.open, &call.section, &call.stripped, &self.tagged.name[0]].map(|markers| starts_with_any(text, markers, end));
        let found = openings.into_iter().find(|start| matches!(start, Start::Yes(_)));
        found.or_else(|| openings.into_iter().find(|&start| start == Start::Maybe)).unwrap_or(Start::No)
    }

    fn nested(&self, text: &str) -> Option<usize> {
        let call = self.context.call;
        let opened = [&call.open, &call.stripped, &self.tagged.name[0]].map(|markers| starts_with_any(text, markers, true));
        let length = match opened {
            [Start::Yes(length), ..] | [_, Start::Yes(length), _] => length,
            [_, _, Start::Yes(_)] => 0,
            _ => return None,
        };
        let body = match self.head(&text[length..], true) {
            Seen::Yes(head) if !head.closed => length + head.body,
            _ => return None,
        };
        let rest = &text[body..];
        let rest = &rest[gap(rest)..];
        let begins = [self.argument_begins(rest, true), self.close(rest, true)];
        begins.iter().any(|start| matches!(start, Start::Yes(_))).then_some(body)
    }

    fn open_ended(&self) -> bool {
        self.context.call.whole_answer && self.context.close.is_empty()
    }

    fn cdata(&self) -> bool {
        self.tagged.cdata
    }

    fn value(&self, text: &str, key: &str, between: Between) -> String {
        if let Some(inner) = in_cdata(text).filter(|_| self.tagged.cdata) {
            return inner.to_owned();
        }
        let trimmed = match self.tagged.trim {
            Trim::None => text,
            Trim::All => text.trim(),
            Trim::OneNewline if between == Between::Space && !text.contains('\n') => one_each(text, &[" "]),
            Trim::OneNewline => without_layout(text, key),
        };
        let plain = if self.tagged.zero_width { trimmed.replace("<\u{200b}", "<") } else { trimmed.to_owned() };
        if self.decodes { decoded(&plain) } else { plain }
    }

    fn leads(&self) -> Vec<u8> {
        let call = self.context.call;
        let Tagged { name, argument, value, .. } = self.tagged;
        let lists =
            [&name[0], &argument[0], &value[1], &call.open, &call.stripped, &call.section, &call.close, &call.section_close];
        let mut leads: Vec<u8> = lists.into_iter().flatten().filter_map(|marker| marker.bytes().next()).collect();
        leads.sort_unstable();
        leads.dedup();
        leads
    }
}
