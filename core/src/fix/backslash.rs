//! Backslashes that the model did not escape: `C:\Users\new` in a path, `\bword\b` in a pattern, `\frac` in a formula. JSON reads
//! `\n`, `\t`, `\b`, `\f` and `\r` as control characters. This pass decides for each string whether the model meant the escape or
//! the two characters.
//!
//! * An escape that JSON does not have (`\U`, `\d`, `\.`) proves that this string is written without escapes: every single
//!   backslash in it is a character.
//! * Otherwise the characters win if the escapes would put a control character into a path, or a backspace or form feed before a
//!   letter. A guess.
//! * A string with lines separated by `\n` (indented lines, blank lines, a newline at its end) keeps its newlines in both cases.
//! * A string with raw line breaks is written without escapes, so `\n` and `\t` in it are characters, unless they begin a line or
//!   quotes are escaped. A guess.
//! * A string with raw line breaks and unescaped quotes is taken byte for byte. A guess.
//! * `\n` at the end of an unescaped inner quote is a character: `printf("done\n")`. A guess. Not before the three quotes of a
//!   docstring, nor in a string between single quotes, where double quotes need no escape.
//! * A doubled backslash before a letter shows that the model escapes, except where a path would get a line break, and in `\b` and
//!   `\f` if one of them is before a letter. So does
//!   `\u000a`, the form in which a control character of a value without escapes (the text between two tags) arrives here.

mod escapes;

use std::borrow::Cow;

use self::escapes::{Escapes, Reading};

use super::report::{Fix, Verdict};
use super::role::Role;
use super::schema::At;
use crate::json::Code;
use crate::json::decode::decode;
use crate::json::lex::Quote;
use crate::json::pointer::{Pointer, push_index, push_key};
use crate::json::read::{Guide, Shape};
use crate::json::tree::{Member, Node, Value};

/// A position in the tree, as the path from the root.
#[derive(Clone, Copy)]
struct Position<'p> {
    guide: &'p At<'p>,
    above: Option<(&'p Position<'p>, Step<'p>)>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Member(&'p str),
    Item(usize),
}

/// Rereads the strings whose backslashes are characters, and returns the guesses among them. `source` is the text that the tree
/// was read from.
pub(super) fn reread<'s>(tree: &mut Node<'s>, source: &'s str, guide: &At<'_>) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let text = source.as_bytes().get(tree.start..tree.end).unwrap_or_default();
    if memchr::memchr(b'\\', text).is_some() {
        walk(tree, source, &Position { guide, above: None }, &mut fixes);
    }
    fixes
}

/// Returns whether anything changed. A container with a changed value is no longer an exact copy of its source.
fn walk<'s>(node: &mut Node<'s>, source: &'s str, place: &Position<'_>, fixes: &mut Vec<Fix>) -> bool {
    let changed = match &mut node.value {
        Value::Text(text) => {
            let content = if node.exact { node.start + 1..node.end - 1 } else { node.start..node.end };
            let raw = source.get(content).filter(|raw| memchr::memchr(b'\\', raw.as_bytes()).is_some());
            let before = source.get(..node.start).unwrap_or_default();
            let delimiter = before.chars().next_back().filter(|quote| matches!(quote, '"' | '\'') && !node.exact);
            let delimiter = delimiter.filter(|quote| !before[..before.len() - 1].ends_with(*quote));
            let Some((literal, guess)) = raw.and_then(|raw| literal(raw, text, delimiter, || place.role())) else {
                // The string is written again, with the usual escapes.
                let spelled_out = raw.is_some_and(|raw| raw.contains("\\u000") || raw.contains("\\u001"));
                node.exact &= !spelled_out;
                return spelled_out;
            };
            *text = Cow::Owned(literal);
            if guess {
                let note = "backslashes of a path, a pattern or a formula read as characters";
                let fix = Fix::whole(Code::T2b, node.start..node.end, Verdict::Guess, note);
                fixes.push(Fix { path: place.pointer(), ..fix });
            }
            true
        }
        Value::Array(items) => items.iter_mut().enumerate().fold(false, |changed, (at, item)| {
            walk(item, source, &Position { above: Some((place, Step::Item(at))), ..*place }, fixes) | changed
        }),
        Value::Object(members) => members.iter_mut().fold(false, |changed, Member { key, node, .. }| {
            walk(node, source, &Position { above: Some((place, Step::Member(key))), ..*place }, fixes) | changed
        }),
        _ => false,
    };
    node.exact &= !changed;
    changed
}

impl Position<'_> {
    fn shape(&self) -> Shape {
        match self.above {
            None => self.guide.root(),
            Some((above, Step::Member(key))) => self.guide.member(above.shape(), key),
            Some((above, Step::Item(_))) => self.guide.item(above.shape()),
        }
    }

    /// The steps from here up to the root.
    fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        std::iter::successors(self.above, |(above, _)| above.above).map(|(_, step)| step)
    }

    /// What the parameter is for. The items of a list have the role of the list.
    fn role(&self) -> Role {
        let item = matches!(self.above, Some((_, Step::Item(_))));
        let key = |step| match step {
            Step::Member(key) => Some(key),
            Step::Item(_) => None,
        };
        let role = Role::of(self.steps().find_map(key).unwrap_or(self.guide.name), item);
        Role { path: role.path || self.guide.schema.rule(self.shape()).is_path, ..role }
    }

    fn pointer(&self) -> Pointer {
        let steps: Vec<Step<'_>> = self.steps().collect();
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Member(key) => push_key(&mut path, key),
                Step::Item(at) => push_index(&mut path, at),
            }
        }
        Pointer::from(path.as_str())
    }
}

/// The string that the model meant, and whether that is a guess; `None` if the escapes are right.
fn literal(raw: &str, decoded: &str, delimiter: Option<char>, role: impl FnOnce() -> Role) -> Option<(String, bool)> {
    let escapes = Escapes::of(raw, delimiter);
    if escapes.are_plain() {
        return None;
    }
    let (reading, guess) = escapes.reading(role());
    let text = match reading {
        Reading::Escapes => return None,
        Reading::Characters => escapes.spelled(|_| true),
        Reading::Lines => escapes.spelled(|at| escapes.in_line(at)),
        Reading::Paths => escapes.spelled(|at| escapes.path_at(at).is_some()),
        Reading::Patterns => escapes.spelled(|at| matches!(raw.as_bytes().get(at + 1), Some(b'b' | b'f'))),
        Reading::Verbatim => raw.to_owned(),
    };
    // A string that does not come from these bytes alone (joined strings, text without quotes) stays as it is.
    (text != decoded && decode(raw, Quote::Double).text == decoded).then_some((text, guess))
}
