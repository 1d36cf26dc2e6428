//! What of the answer has left: text, calls, and how the last line of the text looks.

use crate::adapter::syntax::Parsed;

/// What has left.
#[derive(Debug)]
pub(super) struct Left {
    /// Content other than whitespace has left.
    said: bool,
    calls: u32,
    /// The marked calls that left last, until others did.
    last_marked: Vec<Parsed>,
    /// The text since the last newline is blank.
    line_blank: bool,
    /// It begins with the mark of a block quote.
    line_quoted: bool,
    /// Length of the run of backticks that opened inline code on this line; 0 outside of it.
    inline: usize,
    /// Whitespace at the start of the text that comes next belongs to framing before it.
    swallow_blank: bool,
}

// === impl Left ===

impl Left {
    pub(super) fn nothing(swallow_blank: bool) -> Left {
        Left { said: false, calls: 0, last_marked: Vec::new(), line_blank: true, line_quoted: false, inline: 0, swallow_blank }
    }

    pub(super) fn has_said(&self) -> bool {
        self.said
    }

    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    pub(super) fn last_marked(&self) -> &[Parsed] {
        &self.last_marked
    }

    pub(super) fn is_line_blank(&self) -> bool {
        self.line_blank
    }

    pub(super) fn is_line_quoted(&self) -> bool {
        self.line_quoted
    }

    pub(super) fn inline(&self) -> usize {
        self.inline
    }

    pub(super) fn swallows_blank(&self) -> bool {
        self.swallow_blank
    }

    /// This text leaves, as reasoning or as content.
    pub(super) fn text(&mut self, text: &str, reasoning: bool) {
        self.swallow_blank = false;
        let line = memchr::memrchr(b'\n', text.as_bytes()).map(|newline| &text[newline..]);
        if line.is_some() {
            (self.line_blank, self.line_quoted) = (true, false);
        }
        let line = line.unwrap_or(text).trim_start();
        if self.line_blank && !line.is_empty() {
            (self.line_blank, self.line_quoted) = (false, is_block_quote(line));
        }
        self.said |= !reasoning && !text.trim().is_empty();
    }

    /// Reasoning leaves once more, as the content that it was.
    pub(super) fn say(&mut self) {
        self.said = true;
    }

    /// A call leaves; its number.
    pub(super) fn call(&mut self) -> u32 {
        self.calls += 1;
        self.calls - 1
    }

    /// These calls have left, and only they since the last ones; empty: they had no marker.
    pub(super) fn set_last_marked(&mut self, calls: Vec<Parsed>) {
        self.last_marked = calls;
    }

    /// What comes next begins a line, as far as inline code and indented markers are concerned.
    pub(super) fn begin_line(&mut self) {
        (self.line_blank, self.line_quoted, self.inline) = (true, false, 0);
    }

    pub(super) fn swallow_blank(&mut self, swallow: bool) {
        self.swallow_blank = swallow;
    }

    pub(super) fn open_inline(&mut self, ticks: usize) {
        self.inline = ticks;
    }

    pub(super) fn close_inline(&mut self) {
        self.inline = 0;
    }

    /// So many backticks open inline code, close it, or are part of it.
    pub(super) fn ticks(&mut self, length: usize) {
        match self.inline {
            0 => self.inline = length,
            open if open == length => self.inline = 0,
            _ => {}
        }
    }
}

/// Whether a line, without blanks before it, is in a block quote of Markdown.
pub(super) fn is_block_quote(line: &str) -> bool {
    line.starts_with('>') && !line.starts_with(">>")
}
