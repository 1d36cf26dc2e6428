//! The text of a tool's result -> the same text without anything that could be read as a call if the model repeats it. A
//! result is data: whoever wrote the page that a tool fetched must not make calls. Markers of the model's family and names
//! of tools in the place of a call's name are broken by a space or put into parentheses; all other text stays as it is.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{adapter::Adapter, event::Tools, fix::name};

/// What marks a result in the prompt.
const FRAME: &str = "[Tool Result:";
/// A longer word is no name.
const NAME_BYTES: usize = 160;
/// Breaking a marker may leave a shorter one; so often it is looked for again.
const PASSES: usize = 4;

/// The text without calls.
pub(super) fn defused(text: &str, adapter: &Adapter, tools: &Tools) -> String {
    let text = without_names(text, tools);
    without_markers(text, adapter)
}

fn without_markers(mut text: String, adapter: &Adapter) -> String {
    let mut markers: Vec<String> = adapter.markers();
    markers.push(FRAME.to_owned());
    markers.retain(|marker| marker.trim().len() > 1 && !marker.chars().all(|c| matches!(c, '`' | '~')));
    let Ok(automaton) = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&markers) else { return text };
    for _ in 0..PASSES {
        if !automaton.is_match(&text) {
            break;
        }
        let mut out = String::with_capacity(text.len() + 64);
        automaton.replace_all_with(&text, &mut out, |_, marker, out| {
            let (head, tail) = marker.split_at(seam(marker));
            out.push_str(head);
            out.push(' ');
            out.push_str(tail);
            true
        });
        text = out;
    }
    text
}

/// Where a marker is broken: behind its first character if that is a bracket or the like, else before the first one.
fn seam(marker: &str) -> usize {
    let mut characters = marker.char_indices();
    match characters.next() {
        Some((_, first)) if !first.is_alphanumeric() => first.len_utf8(),
        _ => characters.find(|(_, c)| !c.is_alphanumeric()).map_or(marker.len() / 2, |(at, _)| at),
    }
}

/// Names of tools as the value or the key of a JSON call, as a tag, and before an opening parenthesis or brace.
fn without_names(text: &str, tools: &Tools) -> String {
    let mut known: HashMap<&str, bool> = HashMap::new();
    let means = |written: &str| written.len() <= NAME_BYTES && !written.trim().is_empty() && name::is_known(tools, written);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(|c: char| is_word(c) || is_quote(c))) {
        let start = at + next;
        let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) else { break };
        let quoted = is_quote(first);
        let inside = if quoted { start + first.len_utf8() } else { start };
        let rest = text.get(inside..).unwrap_or_default();
        let length = match quoted {
            true => rest
                .find(|c: char| is_quote(c) || c == '\n')
                .filter(|end| rest.get(*end..).is_some_and(|tail| tail.starts_with(is_quote))),
            false => rest.find(|c: char| !is_word(c)).or(Some(rest.len())),
        };
        let Some(length) = length else {
            at = inside;
            continue;
        };
        let word = rest.get(..length).unwrap_or_default();
        let bare = word.trim_end_matches('\\');
        let (before, behind) = (text.get(..start).unwrap_or_default(), rest.get(length..).unwrap_or_default());
        let place = match quoted {
            true => is_value(before) || is_key(behind),
            false => {
                before.ends_with(['<', '/'])
                    || behind.trim_start_matches(' ').starts_with('(')
                    || behind.trim_start().starts_with(['{', '['])
            }
        };
        let hit = place && *known.entry(bare).or_insert_with(|| means(bare));
        if hit {
            out.push_str(text.get(copied..inside).unwrap_or_default());
            out.push('(');
            out.push_str(bare);
            out.push(')');
            copied = inside + bare.len();
        }
        // The quote at the end of one string may be the one at the beginning of the next.
        at = if quoted && !hit { inside } else { inside + length };
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/')
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

/// What stands before the value of a member.
fn is_value(before: &str) -> bool {
    before.trim_end_matches('\\').trim_end().ends_with([':', '='])
}

/// What stands behind a key whose value is an object.
fn is_key(behind: &str) -> bool {
    let rest = behind.trim_start_matches(is_quote).trim_start();
    rest.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('{'))
}
