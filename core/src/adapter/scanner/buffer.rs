//! The text that is not yet emitted, and the budget for rescans.

use std::ops::{Deref, Range};

use crate::{
    adapter::triggers::{Found, Triggers},
    event::FinishReason,
};

/// The budget for rescans. Text that was held in vain is rescanned: up to `REREAD` bytes for each byte of the answer, plus
/// [`FREE_HOLDS`] holds. Beyond that, a whole call must fit into [`HASTY_BYTES`].
const REREAD: usize = 4;
const FREE_HOLDS: usize = 4;
const HASTY_BYTES: usize = 256;

/// The text that is held; dereferences to `str`. Positions are byte offsets into it unless they are said to count from the start
/// of the answer.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    text: String,
    /// Start of the text that is not yet emitted.
    pub(super) from: usize,
    /// End of the scanned text.
    pub(super) pos: usize,
    /// Bytes of the answer that were dropped before `text`.
    gone: usize,
    /// Bytes that were held in vain.
    wasted: usize,
    /// Positions in the answer at which no marker begins.
    clear: Range<usize>,
    /// The reason why the answer ended, once it has.
    pub(super) ended: Option<FinishReason>,
}

impl Deref for Buffer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Buffer {
    /// The text before `to` that is not yet emitted.
    pub(super) fn pending(&self, to: usize) -> &str {
        &self.text[self.from..to]
    }

    /// The end of that text, without trailing whitespace.
    pub(super) fn trimmed(&self, to: usize) -> usize {
        self.text[..to].trim_end().len().max(self.from)
    }

    /// Whether a limit truncated the answer.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.ended, Some(FinishReason::Length | FinishReason::ContentFilter))
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Drops the emitted text. All positions decrease by its length.
    pub(super) fn compact(&mut self) {
        let by = std::mem::take(&mut self.from);
        self.text.drain(..by);
        self.pos -= by;
        self.gone += by;
    }

    /// The next marker at or after the scan position; see [`Triggers::next`]. Text without markers is searched once.
    pub(super) fn next_marker<'t>(&mut self, triggers: &'t Triggers, over: bool) -> Result<Found<'t>, usize> {
        let pos = self.in_answer(self.pos);
        let known = self.clear.contains(&pos);
        let found = triggers.next(&self.text, if known { self.clear.end - self.gone } else { self.pos }, over);
        let to = found.map_or_else(|held| held, |found| found.at);
        self.clear = if known { self.clear.start } else { pos }..self.in_answer(to);
        found
    }

    /// Records that other markers count, or other text follows.
    pub(super) fn forget_markers(&mut self) {
        self.clear = 0..0;
    }

    // `from` is the start of the text that is not yet emitted, `pos` the end of the scanned text. The methods that move them, and
    // what each does with the text before them:
    //
    // | method | `from` | `pos` | the text before |
    // |---|---|---|---|
    // | `scan_to` | stays | `to`, also back | kept |
    // | `emit_to` | `to` | at least `to` | emitted by the caller |
    // | `discard_to` | `to` | stays | lost |
    // | `skip_to` | `to` | `to` | lost |
    // | `cut_out` | stays | back to `at` | kept; `at..to` is lost |
    // | `truncate` | stays | at most `at` | kept; all after it is lost |

    /// Marks the text before `to` as scanned, and what follows as not scanned.
    pub(super) fn scan_to(&mut self, to: usize) {
        self.pos = to;
    }

    /// Marks the text before `to` as emitted.
    pub(super) fn emit_to(&mut self, to: usize) {
        self.from = to;
        self.pos = self.pos.max(to);
    }

    /// Discards the text before `to`. The scan position stays.
    pub(super) fn discard_to(&mut self, to: usize) {
        self.from = to;
    }

    /// Discards the text before `to` and continues to scan there.
    pub(super) fn skip_to(&mut self, to: usize) {
        (self.from, self.pos) = (to, to);
    }

    /// Removes `at..to` from the text and keeps the text before it.
    pub(super) fn cut_out(&mut self, at: usize, to: usize) {
        self.text.replace_range(at..to, "");
        self.pos = at;
        self.forget_markers();
    }

    /// Drops the text from `at` on.
    pub(super) fn truncate(&mut self, at: usize) {
        self.text.truncate(at);
        self.pos = self.pos.min(at);
        self.forget_markers();
    }

    /// Converts an offset into a position in the answer.
    pub(super) fn in_answer(&self, at: usize) -> usize {
        self.gone + at
    }

    /// Converts a position in the answer into an offset.
    pub(super) fn in_text(&self, position: usize) -> usize {
        position.saturating_sub(self.gone).min(self.text.len())
    }

    /// Charges bytes that were held in vain.
    pub(super) fn waste(&mut self, bytes: usize) {
        self.wasted += bytes;
    }

    /// Whether the budget for candidates at `at` is used up. `usual`: the bytes of one hold.
    pub(super) fn is_spent(&self, at: usize, usual: usize) -> bool {
        self.wasted > FREE_HOLDS.saturating_mul(usual).saturating_add(REREAD.saturating_mul(self.gone + at))
    }

    /// How many bytes from `at` on may be scanned before a name is known: `usual`, or less once the budget is used up.
    pub(super) fn patience(&self, at: usize, usual: usize) -> usize {
        if self.is_spent(at, usual) { usual.min(HASTY_BYTES) } else { usual }
    }
}
