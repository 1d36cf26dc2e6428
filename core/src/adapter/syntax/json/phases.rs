//! What is read in each phase of a [`JsonReader`]. A phase either sets the next one, or ends with a step. If that step is
//! [`Step::More`], the phase goes on with the next piece.

use std::ops::ControlFlow::{self, Break, Continue};

use super::{
    JsonReader, Phase,
    begins::{opening_fence, plausible},
    complete,
};
use crate::{
    adapter::{
        JsonKeys,
        syntax::{
            Context, Parsed, Start, Step,
            ahead::{Seen, Word, word},
            blank,
            members::comment,
            torn_arguments,
            value::{After, Got, TornReader, Trail, ValueReader, closing_quote, is_json, runs_on},
        },
    },
    fix::name::is_known,
};

/// Reads on in the next phase, or ends with a step.
type Read = ControlFlow<Step>;

impl JsonReader {
    pub(super) fn at_header(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Read {
        if keys.header.is_empty() {
            return self.go_on(Phase::Before);
        }
        match word(text, keys.header.iter().map(String::as_str), context.end) {
            Seen::Yes(Word { name, at, length }) => {
                self.titled = is_known(context.tools, &text[name]);
                self.start = at + length;
                self.go_on(Phase::Before)
            }
            Seen::Maybe => self.wait(Phase::Header),
            Seen::No => Break(Step::Reject),
        }
    }

    pub(super) fn before_value(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Read {
        self.start += blank(&text[self.start..]);
        let rest = &text[self.start..];
        // After a marker, a fence or comments may precede the value.
        let entered = context.marked || !context.call.stripped.iter().any(String::is_empty);
        if entered && self.fence.is_none() && self.calls.is_empty() && rest.starts_with(['`', '~']) {
            return match opening_fence(rest, context.end) {
                Start::Yes(length) => {
                    self.fence = Some(rest[..length].trim_end_matches(|c| c != '`' && c != '~').to_owned());
                    self.start += length;
                    self.go_on(Phase::Before)
                }
                Start::Maybe => self.wait(Phase::Before),
                Start::No => Break(Step::Reject),
            };
        }
        match comment(rest).filter(|_| entered) {
            Some(Some(end)) => {
                self.start += end;
                return self.go_on(Phase::Before);
            }
            Some(None) if !context.end => return self.wait(Phase::Before),
            _ if entered && matches!(rest, "/" | "#") && !context.end => return self.wait(Phase::Before),
            _ => {}
        }
        let first = rest.as_bytes().first();
        match plausible(rest, keys, context) {
            None if !context.end => return self.wait(Phase::Before),
            None if !self.calls.is_empty() || first.is_none() => return Break(self.leave(self.start)),
            Some(false) => return Break(self.leave(self.start)),
            _ => {}
        }
        self.before = self.calls.len();
        self.go_on(match first {
            Some(b'"' | b'\'') => Phase::Quoted(self.start + 1),
            _ => Phase::Inside(ValueReader::at(self.start)),
        })
    }

    pub(super) fn in_string(&mut self, seen: usize, text: &str, keys: &JsonKeys, context: Context<'_>) -> Read {
        match closing_quote(text, seen, text.as_bytes()[self.start]) {
            Ok(end) if self.take(text, end, keys, context) => self.go_on(Phase::After(end, Trail::after(end))),
            Ok(_) => Break(self.leave(self.start)),
            Err(_) if context.end => Break(self.cut(text, keys, context)),
            Err(looked) => self.wait(Phase::Quoted(looked)),
        }
    }

    pub(super) fn in_value(&mut self, mut value: ValueReader, text: &str, keys: &JsonKeys, context: Context<'_>) -> Read {
        match value.read(text, context.close, context.end) {
            Got::More if !context.end => self.wait(Phase::Inside(value)),
            Got::More => Break(self.end_anyhow(text, keys, context)),
            Got::Closed(begin, end) if self.take(text, begin, keys, context) => Break(self.leave(end)),
            Got::Balanced(end) if self.take(text, end, keys, context) => self.go_on(Phase::After(end, Trail::after(end))),
            Got::Balanced(end) if !context.close.is_empty() && !is_json(&text[self.start..end]) => {
                self.go_on(Phase::Torn(TornReader::after(end)))
            }
            Got::Balanced(end) if self.calls.is_empty() => Break(Step::Passed { end, is_json: is_json(&text[self.start..end]) }),
            Got::Closed(..) | Got::Balanced(_) => Break(self.leave(self.start)),
        }
    }

    /// After the value that ended at `value_end`.
    pub(super) fn after_value(&mut self, value_end: usize, mut trail: Trail, text: &str, context: Context<'_>) -> Read {
        if let Some(fence) = &self.fence
            && trail.end == value_end
            && trail.fence(text, fence, context.end) == Start::Maybe
        {
            return self.wait(Phase::After(value_end, trail));
        }
        let end = trail.end;
        let after = trail.read(text, context.close, context.end);
        if matches!(after, After::Nothing) {
            match runs_on(&text[value_end..], context.end) {
                Start::Yes(_) => return self.go_on(Phase::Torn(TornReader::after(value_end))),
                Start::Maybe => return self.wait(Phase::After(value_end, trail)),
                Start::No => {}
            }
        }
        match after {
            After::More => self.wait(Phase::After(value_end, trail)),
            After::Marker(at) => Break(self.leave(at)),
            // A tag in prose before a code block.
            After::Nothing if self.fence.is_some() && !text[end..].trim().is_empty() => Break(Step::Reject),
            After::Nothing if context.close.is_empty() && self.calls.iter().all(|call| complete(call, context.tools)) => {
                let braces = text[value_end..].bytes().take_while(|&byte| byte == b'}').count();
                Break(self.leave(end.max(value_end + braces)))
            }
            After::Nothing => self.between(value_end, trail, text, context),
        }
    }

    /// Several values may follow each other.
    fn between(&mut self, value_end: usize, trail: Trail, text: &str, context: Context<'_>) -> Read {
        let end = trail.end;
        let next = text.len() - text[end..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
        match text.as_bytes().get(next) {
            None if context.close.is_empty() && !context.end => self.wait(Phase::After(value_end, trail)),
            Some(b'{' | b'[' | b'"') => {
                self.start = next;
                self.go_on(Phase::Before)
            }
            // What follows cannot follow a value: its quotes are broken.
            Some(_) if !context.close.is_empty() && !is_json(&text[self.start..value_end]) => {
                self.go_on(Phase::Torn(TornReader::after(end)))
            }
            _ => Break(self.leave(end)),
        }
    }

    pub(super) fn in_torn_value(&mut self, mut torn: TornReader, text: &str, keys: &JsonKeys, context: Context<'_>) -> Read {
        let seeming_end = torn.end;
        Break(match torn.read(text, context.close) {
            Some((begin, end)) if self.retake(text, begin, keys, context) => self.leave(end),
            Some(_) => self.leave(self.start),
            None if context.end && torn.goes_on(text, self.start, context.cut) => {
                self.calls.truncate(self.before);
                match self.end_anyhow(text, keys, context) {
                    // It seemed to end; if that is not its end, another value follows.
                    Step::Cut { .. } if !context.marked => {
                        Step::Passed { end: seeming_end, is_json: is_json(&text[self.start..seeming_end]) }
                    }
                    // Nothing may complete it: its last value goes on.
                    Step::Cut { whole, cut, .. } => {
                        let arguments = torn_arguments(&cut.arguments);
                        Step::Cut { whole, cut: Parsed { arguments, ..cut }, closed: false }
                    }
                    step => step,
                }
            }
            None if context.end => self.leave(seeming_end),
            None => return self.wait(Phase::Torn(torn)),
        })
    }

    fn go_on(&mut self, phase: Phase) -> Read {
        self.phase = phase;
        Continue(())
    }

    /// Waits in this phase for more text.
    fn wait(&mut self, phase: Phase) -> Read {
        self.phase = phase;
        Break(Step::More)
    }
}
