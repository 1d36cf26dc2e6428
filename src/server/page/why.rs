//! Says why text stayed text: the cell of the table that each candidate is in.

use serde::Serialize;

use super::{detail::Split, kept::Reader};
use crate::event::ToolChoice;

/// Why something is not a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Note {
    pub(super) text: String,
    /// The tool whose call it looks like.
    pub(super) quote: String,
}

/// Maximum number of candidates that are explained.
const NOTES: usize = 8;

/// Why what is left of an answer holds no call.
pub(super) fn notes(reader: &Reader, split: &Split) -> Vec<Note> {
    let nothing_offered = match (reader.tools.is_empty(), &reader.tools.choice) {
        (true, _) => Some("the request offers no tools, so nothing was looked for"),
        (_, ToolChoice::None) => Some("the request forbids calls (`tool_choice` is `none`), so nothing was looked for"),
        _ => None,
    };
    if let Some(why) = nothing_offered.filter(|_| split.said().any(|text| text.contains(['{', '<']))) {
        return vec![Note { text: why.into(), quote: String::new() }];
    }
    let note = |(name, cell): &(String, crate::event::Cell)| Note { text: format!("{cell}"), quote: name.clone() };
    split.texts.iter().take(NOTES).map(note).collect()
}
