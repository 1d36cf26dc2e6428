//! Whether a text begins with the markers of a form.

use super::GAP_BYTES;
use crate::adapter::{
    Call,
    syntax::{Seen, Start, blank, starts_with_any},
};

/// How often an opening marker may be written in a row.
const REPEATED_MARKERS: usize = 2;

/// Whether `text` enters this form: where the body begins, and whether a marker precedes it.
pub(super) fn entry(text: &str, call: &Call, end: bool) -> Seen<(usize, bool)> {
    let section = starts_with_any(text, &call.section, end);
    let mut maybe = section == Start::Maybe;
    if let Start::Yes(length) = section {
        let at = length + gap(&text[length..]);
        match opened(&text[at..], call, end) {
            Start::Yes(open) => return Seen::Yes((at + open, true)),
            Start::Maybe => return Seen::Maybe,
            Start::No if call.open.is_empty() || call.open.iter().any(String::is_empty) => return Seen::Yes((length, true)),
            Start::No => {}
        }
    }
    match opened(text, call, end) {
        Start::Yes(length) => return Seen::Yes((length, true)),
        Start::Maybe => maybe = true,
        Start::No => {}
    }
    match starts_with_any(text, &call.stripped, end) {
        Start::Yes(length) => return Seen::Yes((length, false)),
        Start::Maybe => maybe = true,
        Start::No => {}
    }
    if maybe { Seen::Maybe } else { Seen::No }
}

/// The length of the whitespace that may separate two markers.
pub(super) fn gap(text: &str) -> usize {
    blank(&text[..text.floor_char_boundary(GAP_BYTES)])
}

/// Whether `text` begins with an opening marker. Repeated markers count as one.
fn opened(text: &str, call: &Call, end: bool) -> Start {
    let mut length = match starts_with_any(text, &call.open, end) {
        Start::Yes(length) => length,
        other => return other,
    };
    for _ in 1..REPEATED_MARKERS {
        let at = length + gap(&text[length..]);
        match starts_with_any(&text[at..], &call.open, end) {
            Start::Yes(again) => length = at + again,
            Start::Maybe => return Start::Maybe,
            Start::No => break,
        }
    }
    Start::Yes(length)
}
