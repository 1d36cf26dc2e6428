//! Reads what precedes the arguments of a call: its name and its tag.

use super::{
    super::{
        Start, WORD_BYTES,
        ahead::{Seen, gap, may_be_gap},
        begins_with_a_name,
        field::field,
        starts_with_any, typing,
    },
    markers::Markers,
};
use crate::fix::View;

/// What precedes the arguments.
pub(in crate::adapter::syntax) struct Head {
    pub(in crate::adapter::syntax) name: String,
    /// The key of the first argument, if its tag lost its opening half and is glued to the name.
    pub(in crate::adapter::syntax) key: Option<String>,
    /// Start of the arguments.
    pub(in crate::adapter::syntax) body: usize,
    /// `<invoke name="f"/>`: there are no arguments.
    pub(in crate::adapter::syntax) closed: bool,
    /// The text between the name and the end of its tag.
    pub(in crate::adapter::syntax) attributes: String,
    /// Whether it is a lone word, which is a name only if a tool has it.
    pub(in crate::adapter::syntax) lone: bool,
}

impl Markers<'_> {
    /// Reads the head of a call.
    pub(in crate::adapter::syntax) fn head(&self, text: &str, end: bool) -> Seen<Head> {
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

    /// Splits a name with a key glued to it, or before a stray closing tag of a key.
    fn split(&self, text: &str) -> Option<(String, Option<String>)> {
        let fits = self.context.tools.iter().filter_map(|tool| {
            let key = text.strip_prefix(tool.name.as_str())?.trim();
            let known = key.is_empty() || typing::has(View::of(Some(tool)).root(), key);
            known.then(|| (tool.name.clone(), (!key.is_empty()).then(|| key.to_owned())))
        });
        fits.max_by_key(|(name, _)| name.len())
    }
}
