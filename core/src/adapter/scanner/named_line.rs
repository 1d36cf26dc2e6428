//! Lines after prose that begin with the name of an offered tool: a Python call or the name and JSON at the end of the answer, or,
//! if elements are asked for, the bare name before its parameters. They begin with neither a marker nor a bracket.

use super::{Scanner, words::leaves_a_step};
use crate::event::Sink;

/// Maximum whitespace between a name and the end of its line, in bytes.
const NAME_GAP_BYTES: usize = 64;

impl Scanner {
    /// Tries such a line before `to`. `None`: there is none.
    pub(super) fn step_named_line(&mut self, to: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        if !self.wanted() || self.is_wrapped() {
            return None;
        }
        let (at, is_whole) = self.named_line(to, end)?;
        self.advance(at, out);
        // A line too long to be kept is a sentence.
        let is_a_step = self.introduction(at).is_none_or(|head| leaves_a_step(&head));
        if is_whole && !(is_a_step && self.begin_bare(at, at, 1)) {
            self.not_a_call(at, 1, false, out);
        }
        Some(is_whole)
    }

    /// The start of a line that begins like a call of a tool, and whether its beginning is complete.
    fn named_line(&self, to: usize, end: bool) -> Option<(usize, bool)> {
        let mut line = self.buf.pos();
        if !self.at_line_start(line) {
            line += self.buf[line..to].find('\n')? + 1;
        }
        while line < to {
            let at = line + self.buf[line..].len() - self.buf[line..].trim_start().len();
            let is_first = self.before.is_fresh() && self.buf[self.buf.pos()..line].trim().is_empty();
            let begins = if is_first || self.is_indented(at) { None } else { self.begins_with_a_tool(&self.buf[at..], end) };
            if let Some(is_whole) = begins {
                return Some((at, is_whole));
            }
            line = at + self.buf.get(at..to)?.find('\n')? + 1;
        }
        None
    }

    /// Whether `text` begins like a call of a tool: `Some(true)` if so, `Some(false)` if more text is needed.
    fn begins_with_a_tool(&self, text: &str, end: bool) -> Option<bool> {
        let mut may_be = false;
        for tool in self.tools.iter() {
            let Some(after) = text.strip_prefix(tool.name.as_str()) else {
                may_be |= tool.name.starts_with(text);
                continue;
            };
            let rest = after.trim_start_matches([' ', '\t', '\r']);
            if after.starts_with('(') || (self.options.elements && rest.starts_with('\n')) {
                return Some(true);
            }
            let rest = after.strip_prefix(':').unwrap_or(after).trim_start();
            if rest.starts_with('{') {
                return Some(true);
            }
            may_be |= rest.is_empty() && after.len() <= NAME_GAP_BYTES;
        }
        (may_be && !end && !text.is_empty()).then_some(false)
    }
}
