//! Whether a value that may hold calls begins at a position.

use super::{
    super::{
        Context, Start, WORD_BYTES,
        members::{beyond_comments, members},
    },
    keys::{MESSAGE, UNSURE_NAMES, WRAPPERS, is_usual},
};
use crate::{adapter::JsonKeys, event::ToolChoice, fix::name::is_known};

/// Maximum length of the language after the ticks of a fence, in bytes.
const FENCE_WORD_BYTES: usize = 32;
/// Maximum length of a key that is waited for, in bytes.
const KEY_BYTES: usize = 128;

/// The head of a code fence: ticks or tildes, and a language.
pub(super) fn opening_fence(text: &str, over: bool) -> Start {
    let bare = text.trim_start_matches(if text.starts_with('~') { '~' } else { '`' });
    let ticks = text.len() - bare.len();
    let word = bare.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(bare.len());
    match word == bare.len() {
        _ if ticks.max(word) > FENCE_WORD_BYTES => Start::No,
        true if !over => Start::Maybe,
        false if ticks >= 3 => Start::Yes(ticks + word),
        // Inline code.
        false if word == 0 && bare.starts_with(['{', '[']) => Start::Yes(ticks),
        _ => Start::No,
    }
}

/// Whether a value that may be a call begins here. `None`: more text is needed.
pub(super) fn plausible(text: &str, keys: &JsonKeys, context: Context<'_>) -> Option<bool> {
    let rest = text.trim_start();
    let rest = rest.strip_prefix('[').unwrap_or(rest).trim_start();
    let inner = rest.strip_prefix(['"', '\'']).map(str::trim_start);
    let rest = inner.unwrap_or(rest);
    match rest.as_bytes().first()? {
        b'{' => {}
        // A string may contain a call in another language.
        b'_' | b'a'..=b'z' | b'A'..=b'Z' if inner.is_some() => return called(rest, context),
        _ => return Some(false),
    }
    if context.marked || context.tools.choice != ToolChoice::Auto {
        return Some(true);
    }
    let inside = beyond_comments(&rest[1..]);
    // Its quotes, also in escaped text.
    let key = inside.trim_start_matches(['\\', '"', '\'', '\u{201c}', '\u{201d}']);
    let Some(end) = key.find(|c: char| !(c.is_alphanumeric() || "_-./#".contains(c))) else {
        return (key.len() > KEY_BYTES).then_some(false);
    };
    let key = &key[..end];
    let of_call = |key: &str| keys.name.iter().chain(&keys.arguments).any(|known| known == key);
    let of_others = |key: &str| is_usual(key) || UNSURE_NAMES.contains(&key) || MESSAGE.contains(&key) || WRAPPERS.contains(&key);
    let known = of_call(key) || of_others(key) || context.tools.get(key).is_some();
    if known || !inside.starts_with('"') {
        return Some(known);
    }
    // One other member may precede them.
    let window = &rest[..rest.floor_char_boundary(WORD_BYTES)];
    match members(window)?.get(1) {
        Some((second, value)) if !value.is_empty() => Some(of_call(second)),
        _ if window.len() < rest.len() => Some(false),
        _ => None,
    }
}

/// Whether `text` begins with the name of an offered tool and a parenthesis. `None`: more text is needed.
fn called(text: &str, context: Context<'_>) -> Option<bool> {
    let length = text.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)));
    let Some(length) = length else { return (text.len() > WORD_BYTES).then_some(false) };
    Some(text[length..].starts_with('(') && is_known(context.tools, &text[..length]))
}
