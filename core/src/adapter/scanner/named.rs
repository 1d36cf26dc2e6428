//! A name with arguments on a line of its own, below text: it begins with neither a marker nor a bracket.

use super::Scanner;
use crate::{adapter::syntax::Seen, event::Sink};

/// Maximum length of the blanks between a name and its arguments, in bytes.
const GAP_BYTES: usize = 64;

impl Scanner {
    /// Tries the next such line before `to`. `None`: there is none.
    pub(super) fn step_named_line(&mut self, to: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        if !self.wanted() || self.code.is_some() {
            return None;
        }
        let mut line = self.buf.pos;
        if !self.at_line_start(line) {
            line += self.buf[line..to].find('\n')? + 1;
        }
        loop {
            let at = line + self.buf[line..to].len() - self.buf[line..to].trim_start().len();
            let is_first = self.before.fresh && self.buf[self.buf.pos..line].trim().is_empty();
            let begins = if is_first || self.is_indented(at) { Seen::No } else { self.begins_with_a_tool(&self.buf[at..], end) };
            if begins != Seen::No {
                self.advance(at, out);
                let is_whole = begins == Seen::Yes(());
                if is_whole && !self.begin_bare(at, 1) {
                    self.not_a_call(at, 1, false, out);
                }
                return Some(is_whole);
            }
            line = at + self.buf[at..to].find('\n')? + 1;
        }
    }

    /// Whether `text` begins with the name of an offered tool and a bracket or, where elements are asked for, the end of its line.
    fn begins_with_a_tool(&self, text: &str, end: bool) -> Seen<()> {
        let mut may_be = false;
        for tool in self.tools.iter() {
            let Some(after) = text.strip_prefix(tool.name.as_str()) else {
                may_be |= tool.name.starts_with(text);
                continue;
            };
            let rest = after.strip_prefix(':').unwrap_or(after).trim_start();
            let is_element = || self.options.elements && after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
            if after.starts_with('(') || rest.starts_with('{') || is_element() {
                return Seen::Yes(());
            }
            may_be |= rest.is_empty() && after.len() <= GAP_BYTES;
        }
        if may_be && !end && !text.is_empty() { Seen::Maybe } else { Seen::No }
    }
}
