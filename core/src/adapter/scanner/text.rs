//! Emitting text that is not a call: at once, except for whitespace that a following call may swallow. Also the end of inline
//! code, and the line around a position.

use super::{Region, Scanner, emitted::Tail, verdict::REMARK_BYTES};
use crate::{
    adapter::syntax::{Start, blank, is_blank},
    event::{Event, Sink},
};

/// Maximum length of inline code, in bytes.
const INLINE_BYTES: usize = 1000;

/// Indentation of a Markdown code block, in bytes.
const CODE_INDENT: usize = 4;
/// How many bytes of a line are kept.
const HEAD_BYTES: usize = 1024;

/// Appends `line` to the beginning of a line, as much of it as is kept.
pub(super) fn extend(head: &mut String, line: &str) {
    let room = HEAD_BYTES.saturating_sub(head.len());
    // Up to the first character that ends at or after the limit.
    head.push_str(&line[..line.ceil_char_boundary(room)]);
}

impl Scanner {
    /// Emits the text up to `to`, which is not a call, except for trailing whitespace that a call may swallow.
    pub(super) fn advance(&mut self, to: usize, out: &mut dyn Sink) {
        let text = &self.buf[self.buf.pos..to];
        if self.emitted.inline > 0 && memchr::memchr(b'\n', text.as_bytes()).is_some() {
            self.emitted.inline = 0;
        }
        if is_blank(text) {
            return self.buf.scan_to(to);
        }
        self.buf.scan_to(to);
        (self.before.fresh, self.before.call) = (false, None);
        // Of the waiting calls, those that much text follows and those in code are decided now.
        self.settle_until(to, REMARK_BYTES, false, out);
        if !self.waiting.is_empty() {
            return;
        }
        let end = if self.tools.wanted() || self.emitted.swallow_blank { self.buf.trimmed(to) } else { to };
        self.emit(end, out);
    }

    /// Emits the text up to `to`.
    pub(super) fn emit(&mut self, to: usize, out: &mut dyn Sink) {
        if self.region == Region::Reasoning
            && let Some(last) = self.waiting.last()
        {
            // Whitespace after drafts does not end them: they may still turn out to be calls.
            if self.buf.get(last.to..to).is_none_or(is_blank) {
                return;
            }
            self.drop_drafts(out);
        }
        if self.emitted.swallow_blank {
            self.buf.discard_to(self.buf.from + blank(self.buf.pending(to)));
        }
        let text = self.buf.pending(to);
        if text.is_empty() {
            return;
        }
        let reasoning = self.region == Region::Reasoning;
        if self.emitted.is_divided(text, reasoning) {
            out.event(if reasoning { Event::Reasoning("\n") } else { Event::Text("\n") });
        }
        self.emitted.text(text, reasoning);
        if let Some(believed) = &mut self.draft.believed {
            believed.push_str(text);
        }
        out.event(if reasoning { Event::Reasoning(text) } else { Event::Text(text) });
        self.buf.emit_to(to);
    }

    /// Whether only whitespace is between `at` and the newline before it.
    pub(super) fn at_line_start(&self, at: usize) -> bool {
        let before = self.buf.pending(at);
        match memchr::memrchr(b'\n', before.as_bytes()) {
            Some(newline) => is_blank(&before[newline..]),
            None => self.emitted.line_head.is_empty() && is_blank(before),
        }
    }

    /// What the text before `at` ends in. Calls that wait are not part of it.
    pub(super) fn tail(&self, at: usize) -> Tail {
        let from = self.waiting.last().map_or(self.buf.from, |last| last.to);
        self.emitted.tail.after(&self.buf[from..at])
    }

    /// Whether `at` is inside a string of JSON data, so that not even a marker counts there.
    pub(super) fn is_quoted(&self, at: usize) -> bool {
        self.tail(at).string
    }

    /// Whether `at` is in a Markdown block quote.
    pub(super) fn is_in_block_quote(&self, at: usize) -> bool {
        self.line_head(at).starts_with('>')
    }

    /// Whether the text before `at` on its line is the indentation of a code block.
    pub(super) fn is_indented(&self, at: usize) -> bool {
        let line = self.buf.pending(at).rsplit('\n').next().unwrap_or_default();
        line.len() >= CODE_INDENT && is_blank(line)
    }

    /// The text before `at` on its line, without leading whitespace, up to [`HEAD_BYTES`].
    pub(super) fn line_head(&self, at: usize) -> String {
        let before = self.buf.pending(at);
        let line = before.rfind('\n').map_or(before, |newline| &before[newline..]);
        let is_new = line.starts_with('\n') || self.emitted.line_head.is_empty();
        let mut head = if is_new { String::new() } else { self.emitted.line_head.clone() };
        extend(&mut head, if is_new { line.trim_start() } else { line });
        head
    }

    /// Whether a quote directly precedes `at`, other than one at the beginning of its line, which is a slip.
    pub(super) fn follows_quote(&self, at: usize) -> bool {
        let before = self.line_head(at);
        before.len() > 1 && before.ends_with(['"', '\'', '\u{201c}', '\u{201e}', '\u{2018}', '\u{ab}'])
    }

    /// Whether a marker at the end of the answer is alone on its line, or glued to the text before it.
    pub(super) fn is_lone(&self, at: usize, length: usize) -> bool {
        self.buf.ended.is_some()
            && self.buf[at + length..].trim().is_empty()
            && (self.at_line_start(at) || self.ends_in_a_word(at))
    }

    /// Handles a marker that begins no call: a control token is dropped, anything else is text.
    pub(super) fn not_a_call(&mut self, at: usize, length: usize, control: bool, out: &mut dyn Sink) {
        if control && self.options.framing {
            self.remove(at, at + length, out);
        } else {
            let next = self.buf[at..].chars().next().map_or(1, char::len_utf8);
            self.advance(at + next, out);
        }
    }

    /// Removes `at..to`, which is framing, not content.
    pub(super) fn remove(&mut self, at: usize, to: usize, out: &mut dyn Sink) {
        self.advance(at, out);
        self.take_out(at, to, out);
    }

    /// Removes `at..to` and emits the text before it, unless that may still be a call.
    pub(super) fn take_out(&mut self, at: usize, to: usize, out: &mut dyn Sink) {
        if self.waiting.is_empty() {
            self.emit(at, out);
            self.buf.skip_to(to);
        } else {
            self.buf.cut_out(at, to);
            self.draft.searched = 0;
        }
    }

    /// Where the inline code that is open at `at` ends, if it does.
    pub(super) fn inline_end(&self, at: usize, end: bool) -> Start {
        let limit = self.buf.floor_char_boundary(at + INLINE_BYTES);
        let (line, end) = (&self.buf[at..limit], end || limit < self.buf.len());
        let newline = line.find('\n');
        let mut offset = 0;
        while let Some(tick) = line[offset..newline.unwrap_or(line.len())].find('`') {
            let start = offset + tick;
            let run = line[start..].bytes().take_while(|&byte| byte == b'`').count();
            if start + run == line.len() && !end {
                return Start::Maybe;
            }
            if run == self.emitted.inline {
                return Start::Yes(at + start + run);
            }
            offset = start + run;
        }
        match newline {
            // The answer was truncated inside it.
            None if self.buf.is_cut() && limit == self.buf.len() => Start::Yes(limit),
            None if !end => Start::Maybe,
            _ => Start::No,
        }
    }
}
