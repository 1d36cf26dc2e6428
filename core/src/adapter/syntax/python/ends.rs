//! Where calls in Python may end, and where they have a place of their own.

use super::{
    super::{Context, Start, blank, starts_with_any},
    FENCE, PRINT,
    head::{Head, head},
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

/// Whether a call may end before `rest`.
pub(super) fn ends(rest: &str, bracket: bool, context: Context<'_>) -> Start {
    let gap = blank(rest);
    let newline = rest[..gap].contains('\n');
    let rest = &rest[gap..];
    // This is asked if quotes are not escaped: then the end of the text proves nothing.
    let Some(first) = rest.as_bytes().first() else { return if context.end { Start::No } else { Start::Maybe } };
    let begins_call = |text: &str| match head(text, !bracket && in_lines(context), prints(context), &[]) {
        Head::Call { .. } | Head::Skip(_) => Start::Yes(0),
        Head::Maybe if !context.end => Start::Maybe,
        Head::Maybe | Head::No => Start::No,
    };
    match first {
        b']' if bracket => {
            let after = &rest[1..];
            match after.trim_start() {
                "" if !context.end => Start::Maybe,
                "" => Start::Yes(0),
                _ if context.close.is_empty() && after.starts_with('\n') => Start::Yes(0),
                next => closes(next, context),
            }
        }
        b',' | b';' => begins_call(rest[1..].trim_start()),
        // The parenthesis of a function around the call. In code, more follows on its line.
        b')' if !bracket => match rest.trim_start_matches(')').trim_start_matches([' ', '\t']) {
            "" if !context.end => Start::Maybe,
            after if after.is_empty() || after.starts_with('\n') => Start::Yes(0),
            after => closes(after, context),
        },
        _ => match closes(rest, context) {
            Start::No if newline && !bracket => begins_call(rest),
            start => start,
        },
    }
}
