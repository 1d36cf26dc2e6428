//! What was already emitted: text, calls, and how the last line of the text looks.

use super::text::extend;
use crate::adapter::syntax::Parsed;

/// What was already emitted.
#[derive(Debug)]
pub(super) struct Emitted {
    /// Whether content other than whitespace was emitted.
    said: bool,
    calls: u32,
    /// Whether a native call precedes the text. If so, the backend reads calls, and knows what is reasoning.
    follows_native: bool,
    /// The last calls, and how they were written.
    last: (Vec<Parsed>, Option<Writing>),
    /// The beginning of the current line without leading whitespace.
    line_head: String,
    /// The last non-whitespace characters, and the last one of all.
    tail: Tail,
    end: Option<char>,
    /// Length of the run of backticks that opened inline code on this line; 0 outside inline code.
    inline: usize,
    /// Whether whitespace at the start of the next text belongs to the framing before it and is dropped.
    swallow_blank: bool,
    /// The last character of the reasoning.
    reasoned: Option<char>,
    /// A marker divides the reasoning (`true`) or the text here: what follows begins a line.
    divided: Option<bool>,
    /// Position in the answer up to which markers of reasoning were searched after a call.
    pub(super) searched: usize,
}

/// How calls are written: the index of the form, and whether it was marked.
pub(super) type Writing = (usize, bool);

impl Emitted {
    pub(super) fn nothing(swallow_blank: bool) -> Emitted {
        Emitted {
            said: false,
            calls: 0,
            follows_native: false,
            last: (Vec::new(), None),
            line_head: String::new(),
            tail: Tail::default(),
            end: None,
            inline: 0,
            swallow_blank,
            reasoned: None,
            divided: None,
            searched: 0,
        }
    }

    /// Notes that a marker divides the reasoning, or the text.
    pub(super) fn divide(&mut self, reasoning: bool) {
        let last = if reasoning { self.reasoned } else { self.end.filter(|_| self.said) };
        self.divided = last.filter(|&last| last != '\n').map(|_| reasoning);
    }

    /// Whether a line break belongs before text that is about to be emitted.
    pub(super) fn is_divided(&mut self, text: &str, reasoning: bool) -> bool {
        self.divided.take_if(|divided| *divided == reasoning).is_some() && !text.starts_with('\n')
    }

    pub(super) fn has_said(&self) -> bool {
        self.said
    }

    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// The last calls, if they were written in another way, because the model may repeat them right after.
    pub(super) fn last_in_another_form(&self, writing: Writing) -> &[Parsed] {
        if self.last.1 == Some(writing) { &[] } else { &self.last.0 }
    }

    pub(super) fn is_line_blank(&self) -> bool {
        self.line_head.is_empty()
    }

    pub(super) fn line_head(&self) -> &str {
        &self.line_head
    }

    pub(super) fn tail(&self) -> Tail {
        self.tail
    }

    /// The last character.
    pub(super) fn end(&self) -> Option<char> {
        self.end
    }

    pub(super) fn inline(&self) -> usize {
        self.inline
    }

    pub(super) fn swallows_blank(&self) -> bool {
        self.swallow_blank
    }

    /// Records emitted text, reasoning or content.
    pub(super) fn text(&mut self, text: &str, reasoning: bool) {
        self.swallow_blank = false;
        let mut rest = text;
        while let Some(newline) = memchr::memchr(b'\n', rest.as_bytes()) {
            self.extend_line(&rest[..newline]);
            self.line_head.clear();
            rest = &rest[newline + 1..];
        }
        self.extend_line(rest);
        self.tail = self.tail.after(text);
        self.end = text.chars().next_back().or(self.end);
        if reasoning {
            self.reasoned = text.chars().next_back().or(self.reasoned);
        }
        self.said = self.said || (!reasoning && !text.trim().is_empty());
    }

    fn extend_line(&mut self, text: &str) {
        let text = if self.line_head.is_empty() { text.trim_start() } else { text };
        extend(&mut self.line_head, text);
    }

    /// Records that reasoning is emitted again as content.
    pub(super) fn say(&mut self) {
        self.said = true;
    }

    /// Records an emitted call and returns its index.
    pub(super) fn call(&mut self) -> u32 {
        self.calls += 1;
        self.calls - 1
    }

    /// Records a native call before the text.
    pub(super) fn native(&mut self) {
        self.follows_native = true;
        self.calls += 1;
    }

    pub(super) fn follows_native(&self) -> bool {
        self.follows_native
    }

    /// Records the last calls. Nothing else was emitted since the ones before.
    pub(super) fn set_last(&mut self, calls: Vec<Parsed>, writing: Writing) {
        self.last = (calls, Some(writing));
    }

    /// Makes what follows count as the start of a line, for inline code and indented markers.
    pub(super) fn begin_line(&mut self) {
        self.line_head.clear();
        self.inline = 0;
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

    /// Records a run of backticks: it opens inline code, closes it, or is part of it.
    pub(super) fn ticks(&mut self, length: usize) {
        match self.inline {
            0 => self.inline = length,
            open if open == length => self.inline = 0,
            _ => {}
        }
    }
}

/// The last two non-whitespace characters of a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tail([Option<char>; 2]);

impl Tail {
    /// The tail after more text.
    pub(super) fn after(self, text: &str) -> Tail {
        let mut last = text.chars().rev().filter(|c| !c.is_whitespace());
        match (last.next(), last.next()) {
            (None, _) => self,
            (last, None) => Tail([self.0[1], last]),
            (last, before) => Tail([before, last]),
        }
    }

    /// Whether a sentence ends here.
    pub(super) fn ends_sentence(self) -> bool {
        matches!(self.0[1], Some('.' | '!' | '?' | ':' | '\u{2026}' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{ff1a}'))
    }

    /// Whether JSON data continues here (a value after a key, the next element of a list), or code that assigns or compares.
    pub(super) fn is_inside_data(self) -> bool {
        match self.0 {
            [_, Some('[' | '{' | '=')] | [Some('"'), Some(':')] => true,
            [Some(before), Some(',')] => before.is_ascii_digit() || matches!(before, '}' | ']' | '"'),
            _ => false,
        }
    }
}
