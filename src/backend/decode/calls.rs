//! Assembles calls from fragments. A new id, or a new name after complete arguments, begins a new call, whatever the index says.
//! Everything else belongs to the open call. Servers in the field omit indices, send 0 for all, or count per chunk; they repeat or
//! split names and ids, send null, or give all calls one id; they send arguments again from the beginning, or
//! all calls once more in the last chunk. Calls whose indices say another order than they arrive in are put into that order, as
//! far as they have not been yielded.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
};

use serde::de::IgnoredAny;

use super::Out;
use crate::{
    event::{self, Delta},
    same,
};

/// What one delta says about a call; absent texts are `""`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) extra: Option<&'a str>,
}

/// The calls that are not yet yielded, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: Vec<Pending>,
    /// The number of calls that were yielded or dropped: the index of the next one, where a server counts from 0.
    given: u64,
    /// The calls that were yielded under each id.
    yielded: HashMap<String, HashSet<same::Call>>,
}

#[derive(Debug, Default)]
struct Pending {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<String>,
    /// Whether the arguments are complete, once they were read.
    complete: Cell<Option<bool>>,
}

/// So many calls may be open at once. With more, the first one leaves as it is.
const OPEN_CALLS: usize = 64;
impl Calls {
    /// Takes a fragment. Complete calls are yielded when the next one begins.
    pub(super) fn take(&mut self, fragment: Fragment<'_>, out: &mut Out<'_>) {
        let open = self.open_for(&fragment);
        match open.and_then(|at| self.pending.get_mut(at)).filter(|pending| pending.continues(&fragment)) {
            Some(pending) => pending.add(&fragment),
            None => {
                self.yield_complete(true, out);
                self.pending.push(Pending::new(&fragment));
            }
        }
    }

    /// Yields complete calls before the text that comes next, to keep the order.
    pub(super) fn before_text(&mut self, out: &mut Out<'_>) {
        if !self.pending.is_empty() {
            self.yield_complete(false, out);
        }
    }

    /// The latest call, unless it was yielded: its name, and the bytes of its arguments.
    pub(super) fn writing(&self) -> Option<(&str, usize)> {
        self.pending.last().map(|pending| (pending.name.as_str(), pending.arguments.len()))
    }

    /// The number of calls that were yielded or dropped.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Yields all calls, complete or not.
    pub(super) fn flush(&mut self, out: &mut Out<'_>) {
        while let Some(first) = self.first() {
            let call = self.pending.remove(first);
            self.give(&call, out);
        }
    }

    /// Yields a call, unless the same one was yielded under its id. Another call of that id gets none.
    fn give(&mut self, call: &Pending, out: &mut Out<'_>) {
        self.given += 1;
        let mut id = (!call.id.is_empty()).then_some(&*call.id);
        if let Some(given) = id {
            let yielded = self.yielded.entry(given.to_owned()).or_default();
            id = id.filter(|_| yielded.is_empty());
            if !yielded.insert(same::Call::new(&call.name, &call.arguments)) {
                return;
            }
        }
        out(Delta::Call(event::Call { id, extra: call.extra.as_deref(), ..event::Call::new(0, &call.name, &call.arguments) }));
    }

    /// The call that a fragment may belong to: the last one with its id, else with its index, else the last of all.
    fn open_for(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let last = |wanted: &dyn Fn(&Pending) -> bool| self.pending.iter().rposition(wanted);
        let named = || (!fragment.id.is_empty()).then_some(fragment.id);
        let by_both = named().and_then(|id| last(&|pending| pending.id == id && pending.index == fragment.index));
        let by_id = || named().and_then(|id| last(&|pending| pending.id == id));
        let by_index = || fragment.index.and_then(|index| last(&|pending| pending.index == Some(index)));
        let headless = fragment.name.is_empty() && fragment.id.is_empty();
        by_both
            .or_else(by_id)
            .or_else(by_index)
            .or_else(|| (headless || fragment.index.is_none()).then(|| self.pending.len().checked_sub(1)).flatten())
    }

    /// Yields complete calls from the front. An open call (fragments may interleave) holds back those after it. `goes_on`: another
    /// call begins, which may come before those that arrived.
    fn yield_complete(&mut self, goes_on: bool, out: &mut Out<'_>) {
        while let Some(first) = self.first() {
            let call = &self.pending[first];
            let is_early = goes_on && call.index.is_some_and(|index| index > self.given);
            if (is_early || !call.is_complete()) && self.pending.len() < OPEN_CALLS {
                break;
            }
            let call = self.pending.remove(first);
            self.give(&call, out);
        }
    }

    /// The next call: the one with the lowest index, if all have one, else the one that arrived first.
    fn first(&self) -> Option<usize> {
        let all = self.pending.iter().all(|pending| pending.index.is_some());
        let by_index = self.pending.iter().enumerate().min_by_key(|(at, pending)| (pending.index.filter(|_| all), *at));
        by_index.map(|(at, _)| at)
    }
}

impl Pending {
    fn new(fragment: &Fragment<'_>) -> Pending {
        Pending {
            index: fragment.index,
            id: fragment.id.to_owned(),
            name: fragment.name.to_owned(),
            arguments: fragment.arguments.to_owned(),
            extra: fragment.extra.map(str::to_owned),
            complete: Cell::default(),
        }
    }

    /// Whether the fragment belongs to this call rather than to a new one.
    fn continues(&self, fragment: &Fragment<'_>) -> bool {
        let other_id = !fragment.id.is_empty() && !self.id.is_empty() && fragment.id != self.id;
        let same_id = !fragment.id.is_empty() && fragment.id == self.id;
        // The same id under another index is a new call if the name differs or the arguments were complete.
        let other_index = fragment.index.is_some() && self.index.is_some() && fragment.index != self.index;
        let other_call = !fragment.name.is_empty() && (fragment.name != self.name || self.is_complete());
        if same_id {
            return !(other_index && other_call);
        }
        if fragment.id.is_empty() && fragment.name.is_empty() {
            return true;
        }
        if other_id {
            // Some servers invent an id for every fragment. Without a name, or with the same name and index, it continues the call.
            let same_call = fragment.name == self.name && fragment.index.is_some() && fragment.index == self.index;
            let has_arguments = !self.arguments.is_empty() || !fragment.arguments.is_empty();
            return (fragment.name.is_empty() || same_call && has_arguments) && !self.is_complete();
        }
        // A further name is the rest of a split name, a repetition, or, once there are arguments, a new call.
        self.arguments.is_empty() || (!self.is_complete() && (fragment.name.is_empty() || fragment.name == self.name))
    }

    fn add(&mut self, fragment: &Fragment<'_>) {
        if self.id.is_empty() {
            self.id.push_str(fragment.id);
        }
        let repeated = !fragment.name.is_empty() && fragment.name == self.name;
        if !repeated {
            // A name that starts with the known part replaces it.
            if fragment.name.starts_with(&self.name) {
                self.name.clear();
            }
            self.name.push_str(fragment.name);
        }
        let again = (repeated || fragment.id == self.id) && !self.arguments.is_empty();
        if again && fragment.arguments.starts_with(&self.arguments)
            || self.arguments == "{}" && fragment.arguments.starts_with('{')
        {
            self.arguments.clear();
        }
        self.complete = Cell::default();
        self.arguments.push_str(fragment.arguments);
        if let Some(extra) = fragment.extra {
            self.extra = Some(extra.to_owned());
        }
    }

    /// Whether its arguments are one JSON value. They are read once, however much text follows them.
    fn is_complete(&self) -> bool {
        // The cheap check first: most fragments do not end in a brace.
        let read = || self.arguments.trim_end().ends_with('}') && serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        let complete = self.complete.get().unwrap_or_else(read);
        self.complete.set(Some(complete));
        complete
    }
}
