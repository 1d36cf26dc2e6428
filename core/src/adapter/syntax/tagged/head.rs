//! Reads what precedes the arguments of a call: its name and its tag.

use super::{
    super::{
        Start, Step, WORD_BYTES,
        ahead::{gap, may_be_gap},
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
}

impl Markers<'_> {
    /// Reads the head of a call.
    pub(in crate::adapter::syntax) fn head(&self, text: &str, end: bool) -> Result<Head, Step> {
        let mut at = gap(text);
        if may_be_gap(&text[at..], end) {
            return Err(Step::More);
        }
        let [open, close] = &self.tagged.name;
        at += self.attributes(&text[at..], end).sure()?.unwrap_or(0);
        at += gap(&text[at..]);
        let opened = starts_with_any(&text[at..], open, end).sure()?;
        let is_bare = opened.is_none() && (open.is_empty() || open.iter().any(String::is_empty));
        at += opened.or(is_bare.then_some(0)).ok_or(Step::Reject)?;
        at += gap(&text[at..]);
        if self.open_ended() && !begins_with_a_name(&text[at..], close, self.context) {
            return Err(Step::Reject);
        }
        let call = self.context.call;
        let hanging: &[String] = if is_bare { &self.tagged.argument[1] } else { &[] };
        let stops: [&[String]; 4] = [&self.tagged.argument[0], &call.close, &call.section_close, hanging];
        let field = field(text, at, close, &stops, true).sure()?.ok_or(Step::Reject)?;
        if let Some(stop) = field.stopped.filter(|stop| hanging.iter().any(|marker| marker == stop)) {
            let body = field.next + stop.len();
            let (name, key) = self.split(&field.text).ok_or(Step::Reject)?;
            return Ok(Head { name, key, body, closed: false, attributes: String::new() });
        }
        if !field.is_name(self.context.tools) {
            return Err(Step::Reject);
        }
        let closed = field.stopped.is_none() && field.attributes.trim_end().ends_with('/');
        let attributes = field.attributes.to_owned();
        Ok(Head { name: field.text, key: None, body: field.next, closed, attributes })
    }

    /// The attributes after an opener that ends with a blank: `id="1" name="f">`. `Yes` has the offset of the name in them, or of
    /// what follows their tag.
    fn attributes(&self, text: &str, end: bool) -> Start {
        let word = text.len() - text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let (call, stop) = (self.context.call, text.find('>').unwrap_or(text.len()));
        if !call.open.iter().chain(&call.stripped).any(|opener| opener.ends_with(' ')) || stop > WORD_BYTES {
            return Start::No;
        }
        if stop == text.len() {
            return if end { Start::No } else { Start::Maybe };
        }
        if word == 0 || !text[word..].starts_with('=') {
            return Start::No;
        }
        let (first, other) = ("name=", " name=");
        let begun = || text.starts_with(first).then_some(first.len());
        let name = text[..stop].find(other).map(|at| at + other.len()).or_else(begun);
        Start::Yes(name.unwrap_or(stop + 1))
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
