//! Detects that a value which was read may have ended earlier: the remains of tags in it.

use super::{Arguments, Form, next};
use crate::adapter::syntax::{Start, ahead::Seen, typing::Types};

/// At most this many characters after a closing tag may be the remains of another tag.
const TAG_SIGNS: usize = 3;

/// What is known of the values so far.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// A value continues over a misspelt tag of another parameter.
    pub(super) damaged: bool,
    /// A value contains a closing tag of its own: content, or the remains of the tags of a missing parameter.
    pub(super) doubtful: bool,
    /// The key's tag has more text than the key. It may be the value.
    pub(super) loses_text: bool,
    /// The closing tags of elements that another tag ended.
    pub(super) unclosed: Vec<String>,
    /// A value has several lines.
    pub(super) has_lines: bool,
}

/// Whether the element of a parameter begins here and does not end: this is a parameter and not content.
fn reopens(text: &str, types: &Types) -> bool {
    let element = text.trim_start().strip_prefix('<').and_then(|text| text.split_once('>'));
    element.is_some_and(|(key, rest)| types.has(key) && !rest.contains(&format!("</{key}>")))
}

impl Arguments {
    /// Searches a value that its own tag ended for more closing tags. A quoted one is content. Any other makes the value
    /// doubtful: it may have closed there, with the remains of another parameter after it.
    pub(super) fn look_into(&mut self, value: &str, key: &str, form: &dyn Form, types: &Types) {
        // `<parameter>` too, although it opens none of the form's tags.
        let names = || form.closers().iter().filter_map(|closer| closer.strip_prefix("</")?.strip_suffix('>'));
        let opens = |rest: &str| {
            let named = |name: &str| rest.strip_prefix('<')?.strip_prefix(name);
            names().filter_map(named).any(|after| after.starts_with(['>', ' ', '=']))
                || matches!(form.argument_begins(rest, true), Start::Yes(_))
        };
        let (mut at, mut depth, mut last) = (0, 0_usize, None);
        while let Some(place) = next(value, at, &self.leads) {
            let rest = &value[place..];
            at = place + 1;
            depth += usize::from(opens(rest));
            let Start::Yes(length) = form.value_close(rest, key, "", true) else { continue };
            let (before, after) = (&value[..place], &rest[length..]);
            last = Some(after);
            if form.own_value_close(rest, key, "", true) == Start::No {
                continue;
            }
            let is_quoted = before.chars().next_back().is_some_and(|c| matches!(c, '"' | '\'' | '`') && after.starts_with(c));
            if depth > 0 || is_quoted {
                depth = depth.saturating_sub(1);
                continue;
            }
            self.values.doubtful = true;
            // Text that short was part of a tag.
            let after = after.trim();
            self.values.damaged |= after.len() < TAG_SIGNS && !after.contains(char::is_alphanumeric);
        }
        self.values.damaged |= last.is_some_and(|after| reopens(after, types));
    }

    /// Whether a value without its closing tag has the tag of a parameter that is still missing, in the tags of another form.
    pub(super) fn swallows(&self, value: &str, form: &dyn Form, types: &Types) -> bool {
        let places = std::iter::successors(next(value, 0, &self.leads), |&at| next(value, at + 1, &self.leads));
        let missing = |tag: &str| {
            matches!(form.other(tag, "", true)[0], Start::Yes(_))
                && matches!(form.argument(tag, true), Seen::Yes(tag) if types.has(&tag.key) && !self.members.has(&tag.key))
        };
        places.map(|at| &value[at..]).any(missing)
    }
}
