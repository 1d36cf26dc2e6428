//! Reads calls as JSON: an object with name and arguments, a list of them, OpenAI's wrappers, several objects in a row. The value
//! itself determines its end, not a search for the closing marker: a marker inside a string is content.

use std::convert::Infallible;

use super::{
    Context, Parsed, Step, WORD_BYTES,
    ahead::{Word, word},
    blank,
    members::{beyond_comments, members},
    torn_arguments,
    value::{is_json, whole},
};
use crate::{
    adapter::JsonKeys,
    event::Tools,
    fix::{
        View,
        name::{is_known, known_tool},
    },
    json::extent,
    reader::End,
};

mod begins;
mod calls;
mod keys;

use begins::{opening_fence, plausible};
pub(super) use calls::bundled;
use calls::{Found, calls, repaired};

/// Reads one or more JSON values in a row.
pub(crate) fn read(text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
    let mut values = Values { text, keys, context, calls: Vec::new(), start: 0, fence: None, titled: false };
    let Err(step) = values.all();
    step
}

/// The values of one body, as far as they were read.
struct Values<'a> {
    text: &'a str,
    keys: &'a JsonKeys,
    context: Context<'a>,
    calls: Vec<Parsed>,
    /// Start of the current value.
    start: usize,
    /// The code fence between the marker and the values.
    fence: Option<&'a str>,
    /// Whether the header is the name of an offered tool.
    titled: bool,
}

impl<'a> Values<'a> {
    /// Reads value after value. The error says how it ends.
    fn all(&mut self) -> Result<Infallible, Step> {
        self.header()?;
        loop {
            self.begin()?;
            self.value()?;
        }
    }

    fn header(&mut self) -> Result<(), Step> {
        if self.keys.header.is_empty() {
            return Ok(());
        }
        let ends = self.keys.header.iter().map(String::as_str);
        let Word { name, at, length } = word(self.text, ends, self.context.end).sure()?.ok_or(Step::Reject)?;
        self.titled = is_known(self.context.tools, &self.text[name]);
        self.start = at + length;
        Ok(())
    }

    /// Goes to the next value. After a marker, a fence or comments may precede it.
    fn begin(&mut self) -> Result<(), Step> {
        let Values { text, keys, context, .. } = *self;
        let entered = context.marked || !context.call.stripped.iter().any(String::is_empty);
        let gap = |text: &str| if entered { text.len() - beyond_comments(text).len() } else { blank(text) };
        self.start += gap(&text[self.start..]);
        let rest = &text[self.start..];
        if entered && self.fence.is_none() && self.calls.is_empty() && rest.starts_with(['`', '~']) {
            let length = opening_fence(rest, context.end).sure()?.ok_or(Step::Reject)?;
            self.fence = Some(rest[..length].trim_end_matches(|c| c != '`' && c != '~'));
            self.start += length + gap(&rest[length..]);
        }
        if entered && matches!(&text[self.start..], "/" | "#") && !context.end {
            return Err(Step::More);
        }
        match plausible(&text[self.start..], keys, context) {
            None if !context.end => Err(Step::More),
            None if self.calls.is_empty() && self.start < text.len() => Ok(()),
            None | Some(false) => Err(self.leave(self.start)),
            Some(true) => Ok(()),
        }
    }

    /// Reads the value that begins here, and goes to the next one if one follows.
    fn value(&mut self) -> Result<(), Step> {
        let Values { text, context, start, .. } = *self;
        let (end, marked) = self.end()?;
        if !self.take(end.begin) {
            return Err(match self.unreadable(end) {
                _ if !self.calls.is_empty() => self.leave(start),
                Some(torn) => torn,
                None if marked => Step::Reject,
                None => Step::Passed(end.begin),
            });
        }
        if context.close.is_empty() && self.calls.iter().all(|call| complete(call, context.tools)) {
            let braces = text[end.next..].bytes().take_while(|&byte| byte == b'}').count();
            return Err(self.leave(end.next + braces));
        }
        let next = text.len() - text[end.next..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
        if context.close.is_empty() && next == text.len() && !context.end {
            return Err(Step::More);
        }
        if marked || !text[next..].starts_with(['{', '[', '"']) {
            return Err(self.leave(end.next));
        }
        self.start = next;
        Ok(())
    }

    /// Where the value ends, and whether a closing marker follows.
    fn end(&mut self) -> Result<(End, bool), Step> {
        let Values { text, start, fence, context, .. } = *self;
        let found = whole(text, start, fence, context)?;
        found.ok_or_else(|| if context.end { self.cut() } else { Step::More })
    }

    /// Reads the calls of the value that ends at `end`. Returns `false` if it contains none.
    fn take(&mut self, end: usize) -> bool {
        let Values { text, keys, context, start, .. } = *self;
        let value = &text[start..end];
        let found = calls(value, keys, context, false).or_else(|| repaired(value, keys, context));
        // The value after a tool's name is its arguments, which may have a member `name`.
        let known = |found: &[Found]| found.iter().all(|found| is_known(context.tools, &found.call.name));
        let Some(found) = found.filter(|found| !self.titled || known(found)) else { return false };
        self.calls.extend(found.into_iter().map(|found| found.call));
        true
    }

    /// Finishes at `end`. `Reject` if no call was read.
    fn leave(&mut self, end: usize) -> Step {
        if self.calls.is_empty() { Step::Reject } else { Step::Done { calls: std::mem::take(&mut self.calls), end } }
    }

    /// A value after a marker that begins like a call of an offered tool, but that no reading makes one. It is refused: as text it
    /// would be lost.
    fn unreadable(&self, end: End) -> Option<Step> {
        let value = &self.text[self.start..end.begin];
        let head = &value[..value.floor_char_boundary(WORD_BYTES)];
        let tool = self.context.tools.iter().find(|tool| head.contains(&format!("\"{}\"", tool.name)))?;
        let (torn, why) = (Parsed::new(tool.name.as_str(), value), "it cannot be read");
        (self.context.marked && !is_json(value)).then(|| Step::Torn { whole: Vec::new(), torn, why, end: end.next })
    }

    /// The text ended inside a value.
    fn cut(&mut self) -> Step {
        let text = &self.text[self.start..];
        let mut found = calls(text, self.keys, self.context, true).unwrap_or_default();
        let Found { call: cut, closed } = found.pop().unwrap_or_default();
        let mut whole = std::mem::take(&mut self.calls);
        whole.extend(found.into_iter().map(|found| found.call));
        // It seems to end before: nothing may complete it.
        let goes_on = extent::end(text).is_some();
        let arguments = if goes_on { torn_arguments(&cut.arguments) } else { cut.arguments };
        Step::Cut { whole, cut: Parsed { arguments, ..cut }, closed: closed && !goes_on }
    }
}

/// Whether a call has every parameter that its tool requires.
fn complete(call: &Parsed, tools: &Tools) -> bool {
    let Some(tool) = known_tool(tools, &call.name) else { return true };
    let given = members(&call.arguments).unwrap_or_default();
    View::of(Some(tool)).root().required().all(|key| given.iter().any(|(known, _)| known == key))
}
