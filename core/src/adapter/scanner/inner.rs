//! Openers around openers: `<tool_calls>` before `<tool_call>`, or the same one twice. They belong to the call.

use super::{
    Scanner,
    entered::{entry, gap},
    entry::Entry,
};
use crate::adapter::{
    syntax::{BARS, Seen},
    triggers::Found,
};

/// How many openers may follow the first one.
const DEPTH: usize = 3;
/// Maximum length of the name of a block, in bytes.
const NAME_BYTES: usize = 32;

impl Scanner {
    /// The forms that may begin at the openers right after `found`, whose form is `outer`. `None`: more text is needed.
    pub(super) fn inner(&self, found: Found<'_>, outer: usize, end: bool) -> Option<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut at = self.block(found.at, found.len, end)?;
        for _ in 0..DEPTH {
            let next = at + gap(&self.buf[at..]);
            let rest = &self.buf[next..];
            if !end && (rest.is_empty() || self.adapter.triggers.may_become(rest)) {
                return None;
            }
            let Ok(inner) = self.adapter.triggers.next(&self.buf, next, end) else { break };
            if inner.at != next || !rest.starts_with(['<', '[']) || inner.mark.calls.is_empty() {
                break;
            }
            for &form in &inner.mark.calls {
                let call = self.adapter.calls.get(form)?;
                match entry(rest, call, end) {
                    Seen::Yes((body, true)) => entries.push(Entry::new(form, next + body, true)),
                    // What is no marker on its own counts only for an offered tool.
                    Seen::Yes((body, false)) if !self.is_barred(inner.at, inner.len) => {
                        entries.push(Entry { form, body: next + body, marked: true, closed_by: outer });
                    }
                    Seen::Maybe => return None,
                    Seen::Yes(_) | Seen::No => {}
                }
            }
            at = self.block(inner.at, inner.len, end)?;
        }
        Some(entries)
    }

    /// Whether a marker ends in a bar: the name of the tag follows.
    pub(super) fn is_barred(&self, at: usize, length: usize) -> bool {
        self.buf[at..at + length].trim_end().ends_with(BARS)
    }

    /// The end of an opener: after the name of the block, if the marker ends before it (`<|WORD|calls>`). `None`: more text is needed.
    fn block(&self, at: usize, length: usize, end: bool) -> Option<usize> {
        let at_name = at + length;
        if !self.is_barred(at, length) {
            return Some(at_name);
        }
        let rest = &self.buf[at_name..];
        let name = rest.find(|c: char| !(c.is_alphanumeric() || "_-: ".contains(c))).unwrap_or(rest.len());
        match rest[name..].chars().next() {
            Some('>') if name <= NAME_BYTES => Some(at_name + name + 1),
            None if !end && name <= NAME_BYTES => None,
            _ => Some(at_name),
        }
    }
}
