//! Detects that a string has swallowed a call of an offered tool.

use crate::event::Tools;

/// Keys that hold the tool's name in a call, unless the adapter sets `name_keys`. The first one present counts.
pub(crate) const NAME_KEYS: [&str; 9] =
    ["name", "tool", "function", "tool_name", "function_name", "action", "recipient_name", "toolName", "Name"];

/// Whether a text contains a call of an offered tool as JSON: `{"name": "f"`, with any quotes.
pub(in crate::fix) fn holds_json_call(text: &str, tools: &Tools) -> bool {
    named(text, tools)
        .any(|(before, after)| before.strip_suffix(['"', '\'']).is_some_and(ends_in_name_key) && after.starts_with(['"', '\'']))
}

/// Whether a text contains a call of an offered tool as Python, after another call: `x), f(`.
pub(crate) fn holds_python_call(text: &str, tools: &Tools) -> bool {
    named(text, tools).any(|(before, after)| after.starts_with('(') && ends_call(before))
}

/// The text before and after each occurrence of the name of an offered tool.
fn named<'t>(text: &'t str, tools: &'t Tools) -> impl Iterator<Item = (&'t str, &'t str)> {
    let names = tools.iter().map(|tool| tool.name.as_str()).filter(|name| !name.is_empty());
    names.flat_map(move |name| text.match_indices(name).map(|(at, name)| (&text[..at], &text[at + name.len()..])))
}

/// Whether a text ends in the first key of a call and its colon.
fn ends_in_name_key(text: &str) -> bool {
    let key = || text.trim_end().strip_suffix(':')?.trim_end().strip_suffix(['"', '\'']);
    key().is_some_and(|text| {
        NAME_KEYS
            .into_iter()
            .filter_map(|name| text.strip_suffix(name))
            .any(|before| before.strip_suffix(['"', '\'']).is_some_and(|before| before.trim_end().ends_with('{')))
    })
}

/// Whether a text ends in a call, or in its last value, and a comma or semicolon.
fn ends_call(text: &str) -> bool {
    let ends = |text: &str| text.trim_end().ends_with([')', '"', '\'']);
    let text = text.trim_end();
    text.strip_suffix([',', ';']).is_some_and(ends)
}
