//! Emitting text that is not a call: at once, except for whitespace that a following call may swallow. Also the end of inline
//! code, and the line around a position.

use super::{
    Region, Scanner,
    line::{self, HEAD_BYTES},
    words::{Lead, describes, is_disowned, is_disowned_before_pointer, is_quoting, presents_a_text},
};
use crate::{
    adapter::syntax::{blank, is_blank},
    event::{Event, Sink},
};

/// Maximum length of inline code, in bytes.
const INLINE_BYTES: usize = 1000;

/// Indentation of a Markdown code block, in bytes.
const CODE_INDENT: usize = 4;

/// Where inline code ends.
pub(super) enum Inline {
    Closes(usize),
    Never,
    Unknown,
}

/// Whether `says` holds for a line, or for the words before the marker in it: `For example: <tool_call>`.
fn shows(head: &str, says: &dyn Fn(&str) -> bool) -> bool {
    says(head) || head.split(['<', '[']).next().is_some_and(says)
}

/// Whether a line is only the bullet or number of a list item.
fn is_bullet(line: &str) -> bool {
    let line = line.trim();
    let number = line.strip_suffix(['.', ')']).unwrap_or_default();
    matches!(line, "-" | "*" | "+" | "•") || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Scanner {
    /// Emits a piece of text that only continues a line of prose, as most pieces do. It does what [`Scanner::step`] would do, but
    /// asks nothing whose answer is known. Returns whether the piece is one.
    pub(super) fn step_prose(&mut self, out: &mut dyn Sink) -> bool {
        let is_prose = self.region == Region::Text
            && self.candidate.is_none()
            && self.message.begun
            && !self.message.primed
            && self.before.is_in_text()
            && self.tentative.is_idle()
            && !self.emitted.is_line_blank()
            && self.adapter.triggers.is_prose(&self.buf[self.buf.from()..]);
        if is_prose {
            self.advance(self.buf.len(), out);
        }
        is_prose
    }

    /// Emits the text up to `to`, which is not a call, except for trailing whitespace that a call may swallow.
    pub(super) fn advance(&mut self, to: usize, out: &mut dyn Sink) {
        let text = &self.buf[self.buf.pos()..to];
        if self.emitted.inline() > 0 && memchr::memchr(b'\n', text.as_bytes()).is_some() {
            self.emitted.close_inline();
        }
        if is_blank(text) {
            return self.buf.scan_to(to);
        }
        self.give_up_tentative(out);
        self.buf.scan_to(to);
        self.before.after_text();
        let end = if self.tools.wanted() || self.emitted.swallows_blank() { self.buf.trimmed(to) } else { to };
        self.emit(end, out);
    }

    /// Emits the text up to `to`.
    pub(super) fn emit(&mut self, to: usize, out: &mut dyn Sink) {
        if self.emitted.swallows_blank() {
            self.buf.discard_to(self.buf.from() + blank(self.buf.pending(to)));
        }
        if self.region == Region::Reasoning && !self.draft.is_empty() {
            if self.buf.pending(to).trim().is_empty() {
                self.draft.push_markup(self.buf.pending(to));
                self.buf.discard_to(to);
                return;
            }
            self.give_up_draft(out);
        }
        let text = self.buf.pending(to);
        if text.is_empty() {
            return;
        }
        let reasoning = self.region == Region::Reasoning;
        self.emitted.text(text, reasoning);
        if reasoning {
            self.draft.reasoned(text);
            out.event(Event::Reasoning(text));
        } else {
            if self.region == Region::Text && self.tools.wanted() {
                self.emitted.enclosing.text(text, self.adapter.triggers.closers());
            }
            out.event(Event::Text(text));
        }
        self.buf.emit_to(to);
    }

    /// Whether only whitespace is between `at` and the newline before it.
    pub(super) fn at_line_start(&self, at: usize) -> bool {
        let before = self.buf.pending(at);
        match memchr::memrchr(b'\n', before.as_bytes()) {
            Some(newline) => is_blank(&before[newline..]),
            None => self.emitted.is_line_blank() && is_blank(before),
        }
    }

    /// Whether `at` is in a Markdown block quote.
    pub(super) fn is_in_block_quote(&self, at: usize) -> bool {
        line::is_block_quote(&self.line_head(at))
    }

    /// Whether `at` is in a line of code or a log, or the words before it say that it is an example.
    pub(super) fn is_in_example(&self, at: usize) -> bool {
        let head = self.line_head(at);
        let is_example = |head: &str| line::is_statement(head) || is_disowned(head) || is_quoting(head);
        line::is_comment(&head) || line::is_log(&head) || (head.len() < HEAD_BYTES && shows(&head, &is_example))
    }

    /// Whether the line above `at` says that what follows is an example or quoted.
    pub(super) fn is_introduced(&self, at: usize) -> bool {
        let disowns = [is_disowned, is_quoting, line::opens_data, describes, presents_a_text];
        self.introduction(at).is_some_and(|head| shows(&head, &|head| disowns.iter().any(|disowns| disowns(head))))
    }

    /// Whether the text before a call at `at` announces it.
    pub(super) fn is_announced(&self, at: usize) -> bool {
        self.lead(at).is_none_or(|line| Lead::new(&line).announces())
    }

    /// Whether the last sentence before a call at `at` says what the model does now: `Let me read the file:`.
    pub(super) fn is_own_act(&self, at: usize) -> bool {
        self.lead(at).is_some_and(|line| Lead::new(&line).is_own_act())
    }

    /// Whether the text before marked calls at `at`, which text follows, says that the model makes them.
    pub(super) fn says_who_acts(&self, at: usize) -> bool {
        self.lead(at).is_none_or(|line| Lead::new(&line).says_who_acts())
    }

    /// Whether the text before calls at `at` is hypothetical, waits for the user, denies the calls, or introduces something other
    /// than an act of the model. If the prompt asks for elements, any line may introduce one.
    pub(super) fn is_supposed(&self, at: usize) -> bool {
        let is_supposed = |line: &str| {
            let lead = Lead::new(line);
            lead.is_distant() || lead.awaits_an_answer() || is_disowned(line)
        };
        self.lead(at).is_some_and(|line| {
            let introduces = !self.options.elements && Lead::new(&line).only_introduces();
            introduces || is_supposed(&line) || is_disowned_before_pointer(&line, &is_supposed)
        })
    }

    /// Whether the line before `at` is about something other than an act of the model.
    pub(super) fn is_about_a_thing(&self, at: usize) -> bool {
        self.lead(at).is_some_and(|line| Lead::new(&line).is_about_a_thing())
    }

    /// Whether the text before `at` says that what follows is an example, or that it is not called.
    pub(super) fn is_disowned(&self, at: usize) -> bool {
        self.lead(at).is_some_and(|line| is_disowned(&line))
    }

    /// The text before `at` on its line, or the line above if there is nothing but the bullet of a list. `None`: it is too long.
    pub(super) fn lead(&self, at: usize) -> Option<String> {
        let head = self.line_head(at);
        if self.at_line_start(at) || is_bullet(&head) {
            return self.line_above(at);
        }
        (head.len() < HEAD_BYTES).then_some(head)
    }

    /// Whether an unmarked call at `at` is quoted, an example, or introduced as one.
    pub(super) fn is_shown(&self, at: usize) -> bool {
        self.is_in_block_quote(at) || self.is_in_example(at) || self.is_introduced(at)
    }

    /// Whether a marked call at `at` is in data or in a turn that the model made up.
    pub(super) fn is_data(&self, at: usize) -> bool {
        let is_data = |head: &str| line::opens_data(head) || (self.is_indented(at) && describes(head));
        self.emitted.is_users_turn() || self.introduction(at).is_some_and(|head| is_data(&head))
    }

    /// Whether the text before `at` on its line is long enough to be the indentation of a code block.
    pub(super) fn is_indented(&self, at: usize) -> bool {
        self.buf.pending(at).rsplit('\n').next().is_some_and(|line| line.len() >= CODE_INDENT)
    }

    /// The beginning of the line above `at`. `None`: `at` does not begin a line, or that line is too long.
    pub(super) fn introduction(&self, at: usize) -> Option<String> {
        if self.at_line_start(at) { self.line_above(at) } else { None }
    }

    /// The beginning of the last line before `at` that holds more than a bullet. `None`: that line is too long.
    fn line_above(&self, at: usize) -> Option<String> {
        let holds = |line: &str| !line.trim().is_empty() && !is_bullet(line);
        let mut lines = self.buf.pending(at).split('\n').rev();
        let head = match lines.find(|line| holds(line)) {
            // Its beginning was emitted.
            Some(line) if lines.next().is_none() && !self.emitted.is_line_blank() => {
                let mut head = self.emitted.line_head().to_owned();
                line::extend(&mut head, line);
                head
            }
            Some(line) => line.trim_start().to_owned(),
            None if holds(self.emitted.line_head()) => self.emitted.line_head().to_owned(),
            None => self.emitted.line_before().to_owned(),
        };
        (head.len() < HEAD_BYTES).then_some(head)
    }

    /// The text before `at` on its line, without leading whitespace, up to [`HEAD_BYTES`].
    pub(super) fn line_head(&self, at: usize) -> String {
        let before = self.buf.pending(at);
        let line = before.rfind('\n').map_or(before, |newline| &before[newline..]);
        let is_new = line.starts_with('\n') || self.emitted.is_line_blank();
        let mut head = if is_new { String::new() } else { self.emitted.line_head().to_owned() };
        line::extend(&mut head, if is_new { line.trim_start() } else { line });
        head
    }

    /// Whether a marker is alone on its line at the end of the answer.
    pub(super) fn is_lone(&self, at: usize, length: usize) -> bool {
        self.buf.ended().is_some() && self.buf[at + length..].trim().is_empty() && self.at_line_start(at)
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
        if self.tentative.is_empty() {
            self.emit(at, out);
            self.buf.skip_to(to);
        } else {
            // The text before it may still be a call. It is held, without the framing.
            self.buf.cut_out(at, to);
            self.emitted.enclosing.search_again();
        }
    }

    /// Where the inline code that is open at `at` ends.
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
            if run == self.emitted.inline() {
                return Inline::Closes(at + start + run);
            }
            offset = start + run;
        }
        match newline {
            // The answer was truncated inside it.
            None if self.buf.is_cut() && limit == self.buf.len() => Inline::Closes(limit),
            None if !end => Inline::Unknown,
            _ => Inline::Never,
        }
    }
}
