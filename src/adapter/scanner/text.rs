//! How text that is no call leaves: at once, but for whitespace that a call may still swallow; and where inline code ends.

use super::{
    Region, Scanner,
    announced::announces,
    line::{self, HEAD_BYTES},
};
use crate::{
    adapter::syntax::{blank, is_blank},
    event::{Event, Sink},
};

/// Maximum length of inline code, in bytes.
const INLINE_BYTES: usize = 1000;

/// Blanks before a line of a code block that has no fence.
pub(super) const CODE_INDENT: usize = 4;

pub(super) enum Inline {
    Closes(usize),
    Never,
    Unknown,
}

impl Scanner {
    /// The text up to `to` is no call: it leaves, except for whitespace at its end, which a call may still swallow.
    pub(super) fn advance(&mut self, to: usize, out: &mut dyn Sink) {
        let text = &self.buf[self.buf.pos()..to];
        if self.left.inline() > 0 && memchr::memchr(b'\n', text.as_bytes()).is_some() {
            self.left.close_inline();
        }
        if is_blank(text) {
            return self.buf.look_to(to);
        }
        self.give_up_tentative(out);
        self.buf.look_to(to);
        self.before.after_text();
        let end = if self.tools.wanted() || self.left.swallows_blank() { self.buf[..to].trim_end().len() } else { to };
        self.emit(end, out);
    }

    /// Sends the text up to `to` on.
    pub(super) fn emit(&mut self, to: usize, out: &mut dyn Sink) {
        if self.left.swallows_blank() {
            self.buf.discard_to(self.buf.from() + blank(&self.buf[self.buf.from()..to]));
        }
        if self.region == Region::Reasoning && !self.draft.is_empty() {
            if self.buf[self.buf.from()..to].trim().is_empty() {
                self.draft.push_markup(&self.buf[self.buf.from()..to]);
                self.buf.discard_to(to);
                return;
            }
            self.give_up_draft(out);
        }
        let text = &self.buf[self.buf.from()..to];
        if text.is_empty() {
            return;
        }
        let reasoning = self.region == Region::Reasoning;
        self.left.text(text, reasoning);
        if reasoning {
            self.draft.reasoned(text);
            out.event(Event::Reasoning(text));
        } else {
            if self.region == Region::Text && self.tools.wanted() {
                self.left.enclosing.text(text, self.adapter.triggers.closers());
            }
            out.event(Event::Text(text));
        }
        self.buf.leave_to(to);
    }

    /// Whether only spaces are between `at` and the newline before it.
    pub(super) fn at_line_start(&self, at: usize) -> bool {
        let before = &self.buf[self.buf.from()..at];
        match memchr::memrchr(b'\n', before.as_bytes()) {
            Some(newline) => is_blank(&before[newline..]),
            None => self.left.is_line_blank() && is_blank(before),
        }
    }

    /// Whether `at` is in a line that Markdown quotes.
    pub(super) fn is_in_block_quote(&self, at: usize) -> bool {
        line::is_block_quote(&self.line_head(at))
    }

    /// Whether `at` is in a line of code or of a log, or the words before it say that it is an example.
    pub(super) fn is_in_example(&self, at: usize) -> bool {
        let head = self.line_head(at);
        let is_example = |head: &str| line::is_statement(head) || line::is_disowned(head) || line::is_quoting(head);
        let words = head.split(['<', '[']).next().unwrap_or_default();
        line::is_comment(&head) || line::is_log(&head) || (head.len() < HEAD_BYTES && (is_example(&head) || is_example(words)))
    }

    /// Whether the line that introduces what is on lines of its own from `at` on says that it is an example or is quoted.
    pub(super) fn is_introduced(&self, at: usize) -> bool {
        let disowns = [line::is_disowned, line::is_quoting, line::opens_data, line::describes];
        self.introduction(at).is_some_and(|head| disowns.iter().any(|disowns| disowns(&head)))
    }

    /// Whether the text before a call at `at` says that the model makes it.
    pub(super) fn is_announced(&self, at: usize) -> bool {
        let line = if self.at_line_start(at) { self.introduction(at) } else { Some(self.line_head(at)) };
        line.is_none_or(|line| announces(&line))
    }

    /// Whether what has no marker at `at` is quoted, an example, or introduced as one.
    pub(super) fn is_shown(&self, at: usize) -> bool {
        self.is_in_block_quote(at) || self.is_in_example(at) || self.is_introduced(at)
    }

    /// Whether a marked call at `at` is data or a turn that the model made up.
    pub(super) fn is_data(&self, at: usize) -> bool {
        let indented = || self.buf[self.buf.from()..at].rsplit('\n').next().is_some_and(|blanks| blanks.len() >= CODE_INDENT);
        let is_data = |head: &str| line::opens_data(head) || (indented() && line::describes(head));
        self.left.is_users_turn() || self.introduction(at).is_some_and(|head| is_data(&head))
    }

    /// How the line before what is on lines of its own from `at` on begins.
    pub(super) fn introduction(&self, at: usize) -> Option<String> {
        if !self.at_line_start(at) {
            return None;
        }
        let mut lines = self.buf[self.buf.from()..at].split('\n').rev();
        let head = match lines.find(|line| !line.trim().is_empty()) {
            // Its beginning has left.
            Some(line) if lines.next().is_none() && !self.left.is_line_blank() => {
                let mut head = self.left.line_head().to_owned();
                line::extend(&mut head, line);
                head
            }
            Some(line) => line.trim_start().to_owned(),
            None if !self.left.is_line_blank() => self.left.line_head().to_owned(),
            None => self.left.line_before().to_owned(),
        };
        (head.len() < HEAD_BYTES).then_some(head)
    }

    /// How the line before `at` begins, without blanks before it.
    pub(super) fn line_head(&self, at: usize) -> String {
        let before = &self.buf[self.buf.from()..at];
        let line = before.rfind('\n').map_or(before, |newline| &before[newline..]);
        let is_new = line.starts_with('\n') || self.left.is_line_blank();
        let mut head = if is_new { String::new() } else { self.left.line_head().to_owned() };
        line::extend(&mut head, if is_new { line.trim_start() } else { line });
        head
    }

    /// Whether a marker of a call is alone at the end of the answer.
    pub(super) fn is_lone(&self, at: usize, length: usize) -> bool {
        self.buf.ended().is_some() && self.buf[at + length..].trim().is_empty() && self.at_line_start(at)
    }

    /// What is at `at` is no call: a control token goes, anything else is text.
    pub(super) fn not_a_call(&mut self, at: usize, length: usize, control: bool, out: &mut dyn Sink) {
        if control && self.options.framing {
            self.remove(at, at + length, out);
        } else {
            let next = self.buf[at..].chars().next().map_or(1, char::len_utf8);
            self.advance(at + next, out);
        }
    }

    /// Takes `at..to` out of the text: framing, not content.
    pub(super) fn remove(&mut self, at: usize, to: usize, out: &mut dyn Sink) {
        self.advance(at, out);
        if self.tentative.is_empty() {
            self.emit(at, out);
            self.buf.skip_to(to);
        } else {
            // What comes before it may still be a call: it waits, without the framing after it.
            self.buf.cut_out(at, to);
            self.left.enclosing.search_again();
        }
    }

    /// Where an inline code span ends that is open at `at`.
    pub(super) fn inline_end(&self, at: usize, end: bool) -> Inline {
        let limit = self.buf.floor_char_boundary(at + INLINE_BYTES);
        let (line, end) = (&self.buf[at..limit], end || limit < self.buf.len());
        let newline = line.find('\n');
        let mut offset = 0;
        while let Some(tick) = line[offset..newline.unwrap_or(line.len())].find('`') {
            let start = offset + tick;
            let run = line[start..].bytes().take_while(|&byte| byte == b'`').count();
            if start + run == line.len() && !end {
                return Inline::Unknown;
            }
            if run == self.left.inline() {
                return Inline::Closes(at + start + run);
            }
            offset = start + run;
        }
        match newline {
            // The limit cut the answer inside of it.
            None if self.buf.is_cut() && limit == self.buf.len() => Inline::Closes(limit),
            None if !end => Inline::Unknown,
            _ => Inline::Never,
        }
    }
}
