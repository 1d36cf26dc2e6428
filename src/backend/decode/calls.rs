//! Assembles calls from fragments. A new id, or a new name after complete arguments, begins a new call, whatever the index says.
//! Everything else belongs to the open call. Servers in the field omit indices, send 0 for all, or count per chunk; they repeat or
//! split names and ids, send null, or give all calls one id; they send arguments again from the beginning.

use serde::de::IgnoredAny;

use super::Out;
use crate::event::Delta;

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
    /// The ids of all calls so far, yielded ones included.
    ids: Vec<String>,
}

#[derive(Debug, Default)]
struct Pending {
    index: Option<u64>,
    id: String,
    /// Whether an earlier call has the same id.
    is_namesake: bool,
    name: String,
    arguments: String,
    extra: Option<String>,
}

impl Calls {
    /// Takes a fragment. Complete calls are yielded when the next one begins.
    pub(super) fn take(&mut self, fragment: Fragment<'_>, out: &mut Out<'_>) {
        let open = self.open_for(&fragment);
        match open.and_then(|at| self.pending.get_mut(at)).filter(|pending| pending.continues(&fragment)) {
            Some(pending) => pending.add(&fragment),
            None => {
                self.yield_complete(out);
                let is_namesake = self.ids.iter().any(|id| id == fragment.id);
                if !fragment.id.is_empty() && !is_namesake {
                    self.ids.push(fragment.id.to_owned());
                }
                self.pending.push(Pending::new(&fragment, is_namesake));
            }
        }
    }

    /// Yields complete calls before the text that comes next, to keep the order.
    pub(super) fn before_text(&mut self, out: &mut Out<'_>) {
        if !self.pending.is_empty() {
            self.yield_complete(out);
        }
    }

    /// The latest call, unless it was yielded: its name, and the bytes of its arguments.
    pub(super) fn writing(&self) -> Option<(&str, usize)> {
        self.pending.last().map(|pending| (pending.name.as_str(), pending.arguments.len()))
    }

    /// Yields all calls, complete or not.
    pub(super) fn flush(&mut self, out: &mut Out<'_>) {
        self.pending.drain(..).for_each(|pending| pending.yield_to(out));
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

    /// Yields complete calls from the front. An open call (fragments may interleave) holds back those after it.
    fn yield_complete(&mut self, out: &mut Out<'_>) {
        let open = self.pending.iter().position(|pending| !pending.is_complete()).unwrap_or(self.pending.len());
        self.pending.drain(..open).for_each(|pending| pending.yield_to(out));
    }
}

impl Pending {
    fn new(fragment: &Fragment<'_>, is_namesake: bool) -> Pending {
        Pending {
            index: fragment.index,
            id: fragment.id.to_owned(),
            is_namesake,
            name: fragment.name.to_owned(),
            arguments: fragment.arguments.to_owned(),
            extra: fragment.extra.map(str::to_owned),
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
            // Some servers invent an id for every fragment: without a name, it continues the open arguments.
            return fragment.name.is_empty() && !self.is_complete();
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
        self.arguments.push_str(fragment.arguments);
        if let Some(extra) = fragment.extra {
            self.extra = Some(extra.to_owned());
        }
    }

    /// Whether its arguments are one JSON value.
    fn is_complete(&self) -> bool {
        // The cheap check first: most fragments do not end in a brace.
        self.arguments.trim_end().ends_with('}') && serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok()
    }

    fn yield_to(self, out: &mut Out<'_>) {
        let id = (!self.id.is_empty() && !self.is_namesake).then_some(&*self.id);
        out(Delta::Call { id, name: &self.name, arguments: &self.arguments, extra: self.extra.as_deref() });
    }
}
