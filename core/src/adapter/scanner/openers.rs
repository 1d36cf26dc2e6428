//! Openers of calls: a marker, and those right after it. `<tool_calls>` before `<tool_call>`, or the same one twice, belong to the
//! call.

use super::{GAP_BYTES, Region, Scanner, entry::Entry};
use crate::adapter::{
    syntax::{BARS, blank},
    triggers::Found,
};

/// How many openers may follow the first one.
const DEPTH: usize = 3;
/// Maximum length of the name of a block, in bytes.
const NAME_BYTES: usize = 32;

impl Scanner {
    /// The forms that may begin at `found`, or at the openers right after it. `None`: more text is needed.
    pub(super) fn openers(&self, found: Found<'_>, end: bool) -> Option<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut opener, mut outer) = (found, None);
        for _ in 0..=DEPTH {
            let (body, text) = (opener.at + opener.len, &self.buf[opener.at..opener.at + opener.len]);
            let is_barred = text.trim_end().ends_with(BARS);
            let mut goes_on = is_barred;
            for &form in &opener.mark.calls {
                let call = self.adapter.calls.get(form)?;
                let is_one_of = |markers: &[String]| markers.iter().any(|marker| marker == text);
                let is_section = is_one_of(&call.section);
                let opens =
                    is_one_of(&call.open) || (is_section && (call.open.is_empty() || call.open.iter().any(String::is_empty)));
                goes_on |= opens || is_section || outer.is_some();
                let entry = match outer {
                    _ if opens => Entry::new(form, body, true),
                    _ if !is_one_of(&call.stripped) => continue,
                    // In reasoning, unmarked forms may be prose.
                    None if self.region == Region::Reasoning || (call.start_only && !self.before.fresh) => continue,
                    None => Entry::new(form, body, false),
                    // What is no marker on its own counts only for an offered tool.
                    Some(_) if is_barred => continue,
                    Some(closed_by) => Entry { form, body, marked: true, closed_by },
                };
                // A form is read after the last of its markers.
                entries.retain(|earlier| earlier.form != form || !opens);
                entries.push(entry);
            }
            if !goes_on {
                break;
            }
            let marked = entries.iter().find(|entry| entry.marked).map(|entry| entry.form);
            outer = outer.or(marked).or(found.mark.calls.first().copied());
            let at = if is_barred { self.block(body, end)? } else { body };
            let next = at + blank(&self.buf[at..self.buf.floor_char_boundary(at + GAP_BYTES)]);
            if !end && (next == self.buf.len() || self.adapter.triggers.may_become(&self.buf[next..])) {
                return None;
            }
            match self.adapter.triggers.next(&self.buf, next, end) {
                Ok(inner) if inner.at == next && !inner.mark.calls.is_empty() => opener = inner,
                _ => break,
            }
        }
        // In the order of the adapter's forms.
        entries.sort_by_key(|entry| entry.form);
        Some(entries)
    }

    /// The end of an opener whose bar is before `at`: after the name of the block, if the marker ends before it
    /// (`<|WORD|calls>`). `None`: more text is needed.
    fn block(&self, at: usize, end: bool) -> Option<usize> {
        let rest = &self.buf[at..];
        let name = rest.find(|c: char| !(c.is_alphanumeric() || "_-: ".contains(c))).unwrap_or(rest.len());
        match rest[name..].chars().next() {
            Some('>') if name <= NAME_BYTES => Some(at + name + 1),
            None if !end && name <= NAME_BYTES => None,
            _ => Some(at),
        }
    }
}
