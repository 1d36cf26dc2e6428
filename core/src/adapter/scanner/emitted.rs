//! What was already emitted: text, calls, and how the last line of the text looks.

use super::text::extend;

/// What was already emitted.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    /// Whether content other than whitespace was emitted.
    pub(super) said: bool,
    pub(super) calls: u32,
    /// Whether the model is asked about a call that waited. Others about which it would be asked are then text.
    pub(super) asked: bool,
    /// The beginning of the current line without leading whitespace.
    pub(super) line_head: String,
    /// What it ends in, and its last character.
    pub(super) tail: Tail,
    pub(super) end: Option<char>,
    /// Length of the run of backticks that opened inline code on this line; 0 outside inline code.
    pub(super) inline: usize,
    /// Whether whitespace at the start of the next text belongs to the framing before it and is dropped.
    pub(super) swallow_blank: bool,
    /// The last character of the reasoning.
    pub(super) reasoned: Option<char>,
    /// A marker divides the reasoning (`true`) or the text here: what follows begins a line.
    pub(super) divided: Option<bool>,
}

impl Emitted {
    /// Notes that a marker divides the reasoning, or the text.
    pub(super) fn divide(&mut self, reasoning: bool) {
        let last = if reasoning { self.reasoned } else { self.end.filter(|_| self.said) };
        self.divided = last.filter(|&last| last != '\n').map(|_| reasoning);
    }

    /// Whether a line break belongs before text that is about to be emitted.
    pub(super) fn is_divided(&mut self, text: &str, reasoning: bool) -> bool {
        self.divided.take_if(|divided| *divided == reasoning).is_some() && !text.starts_with('\n')
    }

    /// Records emitted text, reasoning or content.
    pub(super) fn text(&mut self, text: &str, reasoning: bool) {
        self.swallow_blank = false;
        let newline = memchr::memrchr(b'\n', text.as_bytes());
        if newline.is_some() {
            self.line_head.clear();
        }
        let line = &text[newline.map_or(0, |newline| newline + 1)..];
        let line = if self.line_head.is_empty() { line.trim_start() } else { line };
        extend(&mut self.line_head, line);
        self.tail = self.tail.after(text);
        self.end = text.chars().next_back().or(self.end);
        if reasoning {
            self.reasoned = text.chars().next_back().or(self.reasoned);
        }
        self.said = self.said || (!reasoning && !text.trim().is_empty());
    }

    /// Makes what follows count as the start of a line, outside inline code and data.
    pub(super) fn begin_line(&mut self) {
        self.line_head.clear();
        self.inline = 0;
        self.tail = Tail { last: self.tail.last, ..Tail::default() };
    }

    /// Records a run of backticks: it opens inline code, closes it, or is part of it.
    pub(super) fn ticks(&mut self, length: usize) {
        if self.inline == 0 || self.inline == length {
            self.inline = length - self.inline;
        }
    }
}

/// What a text ends in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tail {
    /// The last two characters other than whitespace.
    last: [Option<char>; 2],
    /// How many brackets are open, and whether a string is open in them. Both are of JSON, which has no line breaks in strings.
    depth: usize,
    pub(super) string: bool,
    escaped: bool,
}

impl Tail {
    /// The tail after more text.
    pub(super) fn after(mut self, text: &str) -> Tail {
        for c in text.chars() {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' if self.string => self.escaped = true,
                '\n' => self.string = false,
                '"' if self.string => self.string = false,
                '"' if self.depth > 0 => self.string = matches!(self.last[1], Some('{' | '[' | '(' | ',' | ':' | '=')),
                '{' | '[' | '(' if !self.string => self.depth += 1,
                '}' | ']' | ')' if !self.string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if !c.is_whitespace() {
                self.last = [self.last[1], Some(c)];
            }
        }
        self
    }

    /// Whether a whole sentence or a colon ends here: `I run it now. [TOOL_CALLS]..`.
    pub(super) fn ends_sentence(self) -> bool {
        matches!(self.last[1], Some('.' | '!' | '?' | ':' | '\u{2026}' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{ff1a}'))
    }

    /// Whether JSON data continues here (a value after a key, the next element of a list), or code that assigns or compares.
    pub(super) fn is_inside_data(self) -> bool {
        match self.last {
            [_, Some('[' | '{' | '=')] | [Some('"'), Some(':')] => true,
            [Some(before), Some(',')] => before.is_ascii_digit() || matches!(before, '}' | ']' | '"'),
            _ => false,
        }
    }
}
