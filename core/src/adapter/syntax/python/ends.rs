//! Where calls in Python may end, and where they have a place of their own.

use super::{
    super::{Context, Start, starts_with_any},
    FENCE, PRINT,
};

/// Whether a text after calls ends as a call whose last argument is a string.
pub(super) fn ends_as_a_call(text: &str, bracket: bool) -> bool {
    let text = text.trim_end();
    let inside = if bracket { text.strip_suffix(']').map(str::trim_end) } else { Some(text) };
    let inside = inside.and_then(|text| text.strip_suffix(')'));
    inside.is_some_and(|text| text.trim_end().ends_with(['"', '\'']))
}

/// Whether the calls have a place of their own, where other lines may be around them.
pub(super) fn in_lines(context: Context<'_>) -> bool {
    !context.close.is_empty() || context.call.whole_answer
}

/// Whether a tool has the name of the function that may be around a call.
pub(super) fn prints(context: Context<'_>) -> bool {
    context.tools.get(PRINT.trim_end_matches('(')).is_some()
}

/// Whether a closing marker or the end of a fence is here.
pub(super) fn closes(rest: &str, context: Context<'_>) -> Start {
    match starts_with_any(rest, context.close, context.end) {
        Start::No => starts_with_any(rest, [FENCE], context.end),
        start => start,
    }
}
