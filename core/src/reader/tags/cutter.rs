//! Cuts a body of tags where it may end, and has it read there.

use crate::{
    adapter::syntax::{
        Start,
        ahead::{gap, may_be_gap},
        tagged::markers::Markers,
    },
    reader::{End, lead},
};

/// At most so many ends are tried before only the end of the answer is, so that the cost stays linear.
const TRIED: usize = 16;
/// How far after a call a further closing marker is looked for, in bytes. The rest of a file that a value was cut from is no longer.
const AHEAD_BYTES: usize = 64 * 1024;
/// Maximum length of the closing tag that is looked for before another call, in bytes.
const TAIL_BYTES: usize = 64;
/// At most so many closing markers in a row are passed over.
const CLOSERS: usize = 8;
const UNCLEAR: &str = "it is not clear where one of its values ends";
pub(crate) const DAMAGED: &str = "a tag of a parameter is misspelt, or not closed";

/// How well the arguments up to one end are read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fit {
    Whole,
    /// They count if no later end is a better one.
    Late,
    /// They are not what the model meant. A later end may read them without damage.
    Damaged,
}

/// What became of a body.
pub(crate) enum Cut {
    /// The arguments as JSON text. The text continues at the offset.
    Whole(String, usize),
    /// The same, and why they are not what the model meant.
    Damaged(String, &'static str, usize),
    /// More text decides.
    More,
    /// The text is complete, and at none of its ends the body is a call. The first of them and the last.
    Unread(Option<[End; 2]>),
}

/// Cuts a body that begins at `start` at each place where it may end, until `read` reads what is before it. `special`: the closing
/// marker is a special token, which no value contains.
pub(crate) fn cut(
    text: &str,
    start: usize,
    special: bool,
    form: &Markers<'_>,
    mut read: impl FnMut(End) -> Option<(Fit, String)>,
) -> Cut {
    let (end, cut) = form.over();
    let leads = form.leads();
    // The first arguments of each fit.
    let mut fits: [Option<(String, End)>; 3] = [None, None, None];
    let mut is_whole = |found: End| {
        let Some((fit, arguments)) = read(found) else { return false };
        fits[fit as usize].get_or_insert((arguments, found));
        fit == Fit::Whole
    };
    let (mut at, mut ends, mut tried, mut whole): (usize, Option<[End; 2]>, usize, bool) = (start, None, 0, false);
    while let Some(place) = lead(text, at, &leads).filter(|_| !whole) {
        at = place + 1;
        let found = match found(text, start, place, form, end) {
            Found::End(found) => found,
            Found::Maybe => break,
            Found::No => continue,
        };
        ends = Some([ends.map_or(found, |[first, _]| first), found]);
        tried += 1;
        whole = tried <= TRIED && is_whole(found);
    }
    if let Some([_, last]) = ends.filter(|_| end && tried > TRIED) {
        is_whole(last);
    }
    let [whole, late, damaged] = fits;
    // Further closing markers of the same call are not looked at.
    let whole = whole.map(|(arguments, found)| (arguments, found.next, past_closers(text, found.next, form)));
    let late = late.filter(|_| end && !cut).map(|(arguments, found)| (arguments, found.next, found.next));
    match whole.or(late) {
        Some((arguments, stop, _)) if special => Cut::Whole(arguments, stop),
        Some((arguments, stop, after)) => match again(text, after, stop, form, &leads, end) {
            Start::Maybe => Cut::More,
            Start::No => Cut::Whole(arguments, stop),
            Start::Yes(end) => Cut::Damaged(arguments, UNCLEAR, end),
        },
        None if !end => Cut::More,
        None => damaged.map_or(Cut::Unread(ends), |(arguments, found)| Cut::Damaged(arguments, DAMAGED, found.next)),
    }
}

/// What the text may be at a position.
enum Found {
    End(End),
    /// More text decides.
    Maybe,
    No,
}

/// Whether the body may end at `at`: its own closing marker is there, or that of what is around it, or another call.
fn found(text: &str, start: usize, at: usize, form: &Markers<'_>, end: bool) -> Found {
    let rest = &text[at..];
    let length = match [form.close(rest, end), form.outer(rest, end), form.call(rest, end)] {
        [Start::Yes(length), ..] => length,
        [Start::Maybe, ..] | [_, Start::Maybe, _] => return Found::Maybe,
        [_, Start::Yes(_), _] => 0,
        // What opens a call in some forms opens an argument too.
        [.., Start::Yes(_)] if form.argument_begins(rest, end) != Start::No => return Found::No,
        [.., Start::Yes(_)] if may_end(&text[start..at]) => 0,
        [.., Start::Maybe] => return Found::Maybe,
        _ => return Found::No,
    };
    // What follows the closing markers decides too.
    let after = past_closers(text, at + length, form);
    let rest = &text[after..];
    let undecided = rest.is_empty()
        || may_be_gap(rest, end)
        || [form.close(rest, end), form.outer(rest, end), form.call(rest, end)].contains(&Start::Maybe);
    if !end && undecided { Found::Maybe } else { Found::End(End { begin: at, next: at + length }) }
}

/// Whether arguments without a closing marker may end where another call begins: there are none, or a closing tag, a special token
/// or a brace is the last thing in them. Otherwise a model in a loop has them read at each of its tags.
fn may_end(arguments: &str) -> bool {
    let arguments = arguments.trim_end();
    let tail = &arguments[arguments.ceil_char_boundary(arguments.len().saturating_sub(TAIL_BYTES))..];
    let closes = |at: usize| !tail[at + 1..].starts_with(char::is_alphabetic);
    arguments.is_empty() || arguments.ends_with('}') || tail.rfind(['<', '[', '&']).is_some_and(closes)
}

/// The offset after blanks and closing markers of calls and what is around them.
fn past_closers(text: &str, mut at: usize, form: &Markers<'_>) -> usize {
    let closer = |text: &str| {
        let closers = [form.close(text, true), form.outer(text, true)].into_iter();
        closers.filter_map(|start| if let Start::Yes(length) = start { Some(length) } else { None }).find(|&length| length > 0)
    };
    for _ in 0..CLOSERS {
        at += gap(&text[at..]);
        let Some(length) = closer(&text[at..]) else { break };
        at += length;
    }
    at + gap(&text[at..])
}

/// Whether a closing marker occurs once more after a call that ends at `stop`, outside any other call. The text is searched from
/// `at` on. `Yes` has the end of the marker.
fn again(text: &str, mut at: usize, stop: usize, form: &Markers<'_>, leads: &[u8], end: bool) -> Start {
    while let Some(place) = lead(text, at, leads) {
        let rest = &text[place..];
        match form.call(rest, end) {
            Start::Maybe if !end => return Start::Maybe,
            Start::Yes(_) => return Start::No,
            _ if place - stop > AHEAD_BYTES => return Start::No,
            _ => {}
        }
        match form.close(rest, end) {
            Start::Yes(length) => return Start::Yes(place + length),
            Start::Maybe if !end => return Start::Maybe,
            _ => at = place + 1,
        }
    }
    if end || text.len() - stop > AHEAD_BYTES { Start::No } else { Start::Maybe }
}
