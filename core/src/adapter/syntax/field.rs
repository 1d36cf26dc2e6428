//! Reads a name or key and the rest of its tag: `f>`, `"f" a="1">`, `parameter=k>`.

use super::{
    WORD_BYTES,
    ahead::{Seen, gap},
    entities::unescaped,
    marker::find_tag,
};
use crate::{event::Tools, fix::name::is_known};

/// Maximum length of a marker that stops a tag, in bytes.
const STOP_BYTES: usize = 48;

/// A name or key and the rest of its tag.
pub(super) struct Field<'t> {
    pub(super) text: String,
    pub(super) quoted: bool,
    /// The text between it and the end of the tag.
    pub(super) attributes: &'t str,
    /// The offset after the tag.
    pub(super) next: usize,
    /// The marker that was found instead of the end of the tag, and is not consumed.
    pub(super) stopped: Option<&'t str>,
}

impl Field<'_> {
    /// Whether it may be the name of a tool.
    pub(super) fn is_name(&self, tools: &Tools) -> bool {
        let plain = |c: char| self.quoted || !(c.is_whitespace() || matches!(c, '<' | '>' | '{' | '}' | '"' | '='));
        self.text.contains(char::is_alphanumeric)
            && (self.quoted || !self.text.contains(['(', ')']))
            && (self.text.chars().all(plain) || is_known(tools, &self.text))
    }
}

/// Reads the name or key at `at`, up to the end of its tag (`close`). It may be quoted and followed by attributes. Markers in
/// `stops` also end it, and a brace if `brace`.
pub(super) fn field<'t>(text: &'t str, at: usize, close: &'t [String], stops: &[&'t [String]], brace: bool) -> Seen<Field<'t>> {
    let at = at + gap(&text[at..]);
    let window = &text[at..text.floor_char_boundary(at + 2 * WORD_BYTES)];
    // Undecided while the window is incomplete: a marker in it may be cut.
    let undecided = if text.len() - at > 2 * WORD_BYTES { Seen::No } else { Seen::Maybe };
    let find_in = |window: &'t str, from: usize, markers: &'t [String]| {
        let found = markers.iter().filter(|marker| !marker.is_empty()).filter_map(|marker| find_tag(window, from, marker));
        found.min_by_key(|&(at, marker)| (at, usize::MAX - marker.len()))
    };
    let find = |from: usize, markers: &'t [String]| find_in(window, from, markers);
    let closed = find(0, close);
    if let Some(quote) = window.chars().next().filter(|&c| matches!(c, '"' | '\'')) {
        let stop = match window[1..].find([quote, '\n']) {
            Some(at) if at < WORD_BYTES => at + 1,
            Some(_) => return Seen::No,
            None => return undecided,
        };
        return match find(stop + 1, close) {
            Some((end, marker)) => {
                // The end of the tag is missing, and the value follows.
                let torn = window[stop + 1..end].contains('<');
                let (attributes, next) =
                    if torn { ("", at + stop + 1) } else { (&window[stop + 1..end], at + end + marker.len()) };
                Seen::Yes(Field { text: unescaped(&window[1..stop]), quoted: true, attributes, next, stopped: None })
            }
            None => undecided,
        };
    }
    let brace = window.find('{').filter(|_| brace).map(|at| (at, "{"));
    // Only what begins before the end of the tag counts.
    let head = &window[..closed.map_or(window.len(), |(at, _)| window.ceil_char_boundary(at + STOP_BYTES))];
    let stopped = stops.iter().filter_map(|markers| find_in(head, 0, markers)).chain(brace).min();
    let (stop, marker, consumed) = match (closed, stopped) {
        (Some((at, marker)), other) if other.is_none_or(|(stop, _)| at <= stop) => (at, marker, true),
        (_, Some((at, marker))) => (at, marker, false),
        _ => return undecided,
    };
    if stop > WORD_BYTES {
        return Seen::No;
    }
    let written = window[..stop].trim();
    // The end of this tag is missing, and that of another one was found. A key may contain punctuation (`param<1>`).
    let begins_tag = |at: usize| written[at + 1..].starts_with(|c: char| c == '/' || c.is_alphabetic());
    if written.match_indices('<').any(|(at, _)| begins_tag(at)) {
        return Seen::No;
    }
    // `f other="x"`: the text after the first word is attributes if it contains a `=`.
    let word = written.find(char::is_whitespace).filter(|&at| written[at..].contains('=')).unwrap_or(written.len());
    let (name, attributes) = match written.strip_suffix('/').filter(|_| consumed && marker == ">") {
        Some(name) if word == written.len() => (name, "/"),
        _ => written.split_at(word),
    };
    let text = name.trim().trim_matches(['"', '\'', '`']).trim_end_matches('=').trim();
    let next = at + stop + if consumed { marker.len() } else { 0 };
    Seen::Yes(Field { text: text.to_owned(), quoted: false, attributes, next, stopped: (!consumed).then_some(marker) })
}

/// The attribute that holds all arguments as one JSON object.
pub(super) fn whole_attribute(attributes: &str) -> Option<String> {
    let value = ["arguments", "parameters", "args", "input"].into_iter().find_map(|name| attribute(attributes, name))?;
    value.starts_with('{').then(|| unescaped(value))
}

/// The value of an attribute.
pub(super) fn attribute<'t>(attributes: &'t str, name: &str) -> Option<&'t str> {
    let after = attributes
        .match_indices(name)
        .filter(|&(at, _)| !attributes[..at].ends_with(|c: char| c.is_alphanumeric() || "_-".contains(c)))
        .find_map(|(at, name)| attributes[at + name.len()..].trim_start().strip_prefix('='))?;
    let value = after.trim_start();
    match value.chars().next().filter(|&c| matches!(c, '"' | '\'')) {
        Some(quote) => {
            // Models escape quotes in it.
            let mut ends = value.match_indices(quote).map(|(at, _)| at).skip(1).filter(|&at| !value[..at].ends_with('\\'));
            Some(&value[1..ends.next().unwrap_or(value.len())])
        }
        None => value.split(|c: char| c.is_whitespace() || c == '/').next(),
    }
}

/// Removes one of `ends` at each end.
pub(super) fn one_each<'t>(text: &'t str, ends: &[&str]) -> &'t str {
    let text = ends.iter().find_map(|end| text.strip_prefix(end)).unwrap_or(text);
    ends.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text)
}

/// The content of a text that is one CDATA section.
pub(super) fn in_cdata(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("<![CDATA[")?.strip_suffix("]]>")?;
    (!inner.contains("]]>")).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::attribute;

    #[test]
    fn pairs_of_escaped_quotes_belong_to_an_attribute() {
        for (attributes, value) in
            [(r#" value="[\"a\", \"b\"]"/"#, r#"[\"a\", \"b\"]"#), (r#" value="a" type="text""#, "a"), (r#" value="a"#, "a")]
        {
            assert_eq!(attribute(attributes, "value"), Some(value), "{attributes}");
        }
    }
}
