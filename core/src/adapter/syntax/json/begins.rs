//! Whether a value that may hold calls begins at a position.

use super::{
    super::{
        Context, Start, WORD_BYTES,
        members::{beyond_comments, members},
    },
    calls::wraps,
    keys::{MESSAGE, SAID, UNSURE_NAMES, is_usual},
};
use crate::{adapter::JsonKeys, event::ToolChoice, fix::name::is_known};

/// Maximum length of the language after the ticks of a fence, in bytes.
const FENCE_WORD_BYTES: usize = 32;

/// The quotes of a key, also in escaped text.
const QUOTES: [&str; 6] = ["\\\"", "\"", "\\'", "'", "\u{201c}", "\u{201d}"];

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
    let mut rest = text.trim_start();
    let mut quoted = false;
    for brackets in [&['['][..], &['"', '\'']] {
        if let Some(inner) = rest.strip_prefix(brackets) {
            quoted |= !brackets.contains(&'[');
            rest = inner.trim_start();
        }
    }
    match rest.as_bytes().first()? {
        b'{' => {}
        // A string may contain a call in another language.
        b'_' | b'a'..=b'z' | b'A'..=b'Z' if quoted => return called(rest, context),
        _ => return Some(false),
    }
    if context.marked || context.tools.choice != ToolChoice::Auto {
        return Some(true);
    }
    let key = beyond_comments(&rest[1..]);
    let quote = key.chars().next()?;
    if matches!(key, "/" | "#") || QUOTES.iter().any(|quote| quote.len() > key.len() && quote.starts_with(key)) {
        return None;
    }
    let bare = QUOTES.iter().find_map(|quote| key.strip_prefix(quote)).unwrap_or(key);
    let end = bare.find(|c: char| !(c.is_alphanumeric() || "_-./:".contains(c)));
    let Some(end) = end else { return (bare.len() > 128).then_some(false) };
    let key = &bare[..end];
    // A colon ends a key without quotes.
    let key = if quote.is_alphabetic() { key.split(':').next().unwrap_or(key) } else { key };
    let of_call = |key: &str| keys.name.iter().chain(&keys.arguments).any(|known| known == key);
    let known = of_call(key)
        || is_usual(key)
        || [&UNSURE_NAMES[..], &MESSAGE, &SAID].concat().contains(&key)
        || wraps(key)
        || context.tools.iter().any(|tool| tool.name == key);
    if !known && quote == '"' {
        // One other member may precede them.
        let window = &rest[..rest.floor_char_boundary(WORD_BYTES)];
        return match members(window)?.get(1) {
            Some((second, value)) if !value.is_empty() => Some(of_call(second)),
            _ if window.len() < rest.len() => Some(false),
            _ => None,
        };
    }
    Some(known && (quote.is_alphabetic() || QUOTES.iter().any(|known| known.starts_with(quote))))
}

/// Whether `text` begins with the name of an offered tool and a parenthesis. `None`: more text is needed.
fn called(text: &str, context: Context<'_>) -> Option<bool> {
    let length = text.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)));
    let Some(length) = length else { return (text.len() > WORD_BYTES).then_some(false) };
    Some(text[length..].starts_with('(') && is_known(context.tools, &text[..length]))
}
