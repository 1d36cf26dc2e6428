//! Cuts a body of tags where it may end, and has it read there.

use super::Form;
use crate::{
    adapter::syntax::{
        Start,
        ahead::{gap, may_be_gap},
    },
    reader::{
        End, Ends,
        ends::{Found, lead},
    },
};

/// How far after a call a further closing marker is looked for, in bytes. The rest of a file that a value was cut from is no longer.
const AHEAD_BYTES: usize = 64 * 1024;
/// Maximum length of the closing tag that is looked for before another call, in bytes.
const TAIL_BYTES: usize = 64;
/// At most so many closing markers in a row are passed over.
const CLOSERS: usize = 8;
const UNCLEAR: &str = "it is not clear where one of its values ends";
const DAMAGED: &str = "a tag of a parameter is misspelt, or not closed";

/// What a body is, cut at one end.
pub(crate) enum Got {
    /// The arguments as JSON text. The text continues at `end`.
    Whole { arguments: String, end: usize },
    /// The same, if no later end is a better one: a value holds an opening tag that closes nowhere.
    Late { arguments: String, end: usize },
    /// The call is closed, but its arguments are not what the model meant.
    Damaged { arguments: String, why: &'static str, end: usize },
}

impl Got {
    pub(crate) fn damaged(arguments: String, end: usize) -> Got {
        Got::Damaged { arguments, why: DAMAGED, end }
    }
}

/// The ends of a body, and what was read at them.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    /// Where the arguments begin.
    start: usize,
    ends: Ends,
    /// A call that ends there, and up to where the text after it was searched for a further closing marker.
    whole: Option<(String, usize, usize)>,
    /// The first damaged call, and its end. A later end may read it without damage.
    damaged: Option<(String, usize)>,
    /// The first call that counts only if no later end is a better one.
    late: Option<(String, usize)>,
    /// The first end that counts only if no other does: its marker is not the form's own, or something is attached to it, as in
    /// code: `t = "</parameter></function>"`.
    deferred: Option<End>,
    /// The closing marker is a special token, which no value contains.
    special: bool,
}

impl Cutter {
    /// The ends from `at` on.
    pub(crate) fn after(at: usize) -> Cutter {
        Cutter { start: at, ends: Ends::after(at), ..Cutter::default() }
    }

    /// The same, where a special token closes the body.
    pub(crate) fn special(at: usize) -> Cutter {
        Cutter { special: true, ..Cutter::after(at) }
    }

    /// The first end, if there is one.
    pub(crate) fn first(&self) -> Option<End> {
        self.ends.first()
    }

    /// Where the text goes on after the last end.
    pub(crate) fn last(&self) -> Option<End> {
        self.ends.last()
    }

    /// Tries the ends that have arrived. `read` reads the body up to an end. `None`: at none
    /// of them the body is a call, or more text decides. `end`: the text is complete, `cut`: a limit truncated it.
    pub(crate) fn next(
        &mut self,
        text: &str,
        form: &dyn Form,
        (end, cut): (bool, bool),
        mut read: impl FnMut(End) -> Option<Got>,
    ) -> Option<Got> {
        let (leads, start) = (form.leads(), self.start);
        while self.whole.is_none() {
            let Some(found) = self.ends.next(text, &leads, |at| found(text, start, at, form, end)) else { break };
            let is_foreign = found.next > found.begin && !form.is_own_close(&text[found.begin..]);
            if is_foreign || is_attached(text, found, form) {
                self.deferred = self.deferred.or(Some(found));
                continue;
            }
            self.attempt(text, found, form, &mut read);
        }
        if self.whole.is_none() && end {
            let deferred = self.deferred.filter(|_| !cut);
            for found in [self.ends.untried(), deferred].into_iter().flatten() {
                if self.whole.is_none() {
                    self.attempt(text, found, form, &mut read);
                }
            }
        }
        if self.whole.is_none() && end && !cut {
            self.whole = self.late.take().map(|(arguments, end)| (arguments, end, end));
        }
        match &mut self.whole {
            Some((arguments, stop, _)) if self.special => Some(Got::Whole { arguments: arguments.clone(), end: *stop }),
            Some((arguments, stop, seen)) => match again(text, seen, *stop, form, &leads, end) {
                Start::Maybe => None,
                Start::No => Some(Got::Whole { arguments: arguments.clone(), end: *stop }),
                Start::Yes(stop) => Some(Got::Damaged { arguments: arguments.clone(), why: UNCLEAR, end: stop }),
            },
            None => self.damaged.take_if(|_| end).map(|(arguments, end)| Got::damaged(arguments, end)),
        }
    }

    fn attempt(&mut self, text: &str, end: End, form: &dyn Form, read: &mut impl FnMut(End) -> Option<Got>) {
        let after = past_closers(text, end.next, form);
        match read(end) {
            Some(Got::Whole { arguments, end }) => self.whole = Some((arguments, end, after)),
            Some(Got::Late { arguments, end }) => {
                self.late.get_or_insert((arguments, end));
            }
            Some(Got::Damaged { arguments, end, .. }) => {
                self.damaged.get_or_insert((arguments, end));
            }
            None => {}
        }
    }
}

/// Whether the body may end at `at`: its own closing marker is there, or that of what is around it, or another call.
fn found(text: &str, start: usize, at: usize, form: &dyn Form, end: bool) -> Found {
    let rest = &text[at..];
    let length = match [form.close(rest, end), form.outer(rest, end), form.call(rest, end)] {
        [Start::Yes(length), ..] => length,
        [Start::Maybe, ..] | [_, Start::Maybe, _] => return Found::Maybe,
        [_, Start::Yes(_), _] => 0,
        // What opens a call in some forms opens an argument too.
        [.., Start::Yes(_)] if form.argument_begins(rest, end) != Start::No => return Found::No,
        [.., Start::Yes(_)] if may_end(&text[start..at]) => 0,
        [.., Start::Maybe] => return Found::Maybe,
        _ => return Found::No,
    };
    // What follows the closing markers decides too.
    let after = past_closers(text, at + length, form);
    let rest = &text[after..];
    let undecided = rest.is_empty()
        || may_be_gap(rest, end)
        || [form.close(rest, end), form.outer(rest, end), form.call(rest, end)].contains(&Start::Maybe);
    if !end && undecided { Found::Maybe } else { Found::End(End { begin: at, next: at + length }) }
}

/// Whether arguments without a closing marker may end where another call begins: there are none, or a closing tag, a special token
/// or a brace is the last thing in them.
fn may_end(arguments: &str) -> bool {
    let arguments = arguments.trim_end();
    let tail = &arguments[arguments.ceil_char_boundary(arguments.len().saturating_sub(TAIL_BYTES))..];
    let closes = |at: usize| !tail[at + 1..].starts_with(char::is_alphabetic);
    arguments.is_empty() || arguments.ends_with('}') || tail.rfind(['<', '[', '&']).is_some_and(closes)
}

/// The offset after blanks and closing markers of calls and what is around them.
fn past_closers(text: &str, at: usize, form: &dyn Form) -> usize {
    let mut at = at + gap(&text[at..]);
    for _ in 0..CLOSERS {
        let Some(length) = closer(&text[at..], form) else { break };
        at += length;
        at += gap(&text[at..]);
    }
    at
}

fn closer(text: &str, form: &dyn Form) -> Option<usize> {
    [form.close(text, true), form.outer(text, true)].into_iter().find_map(|start| match start {
        Start::Yes(length) if length > 0 => Some(length),
        _ => None,
    })
}

/// Whether a sign is attached to the last of the closing markers from `end` on: a quote or a bracket. Then they may be content.
fn is_attached(text: &str, end: End, form: &dyn Form) -> bool {
    let mut at = end.next;
    for _ in 0..CLOSERS {
        let next = at + gap(&text[at..]);
        let Some(length) = closer(&text[next..], form) else { break };
        at = next + length;
    }
    at > end.begin && text[at..].chars().next().is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace() && c != '<')
}

/// Whether a closing marker occurs once more after a call, outside any other call. `Yes` has the end of it.
fn again(text: &str, seen: &mut usize, stop: usize, form: &dyn Form, leads: &[u8], end: bool) -> Start {
    while let Some(at) = lead(text, *seen, leads) {
        let rest = &text[at..];
        match form.call(rest, end) {
            Start::Maybe if !end => return Start::Maybe,
            Start::Yes(_) => return Start::No,
            _ if at - stop > AHEAD_BYTES => return Start::No,
            _ => {}
        }
        match form.close(rest, end) {
            Start::Yes(length) => return Start::Yes(at + length),
            Start::Maybe if !end => return Start::Maybe,
            _ => *seen = at + 1,
        }
    }
    *seen = text.len();
    if end || *seen - stop > AHEAD_BYTES { Start::No } else { Start::Maybe }
}
