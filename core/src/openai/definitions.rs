//! The `tools` of a request as the client wrote them. A client sends the same list with every request of a session, and it is often
//! most of the request. So the last lists are kept, together with what was made of them.

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, OnceLock},
};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::lock::Hold;

/// A list of tools, each `{type, function: {name, description, parameters}}`. Clones share it.
#[derive(Clone, Default)]
pub struct Definitions(Arc<Written>);

#[derive(Clone, Default)]
struct Written {
    list: Vec<Value>,
    /// What was made of the list when it was first read.
    read: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The lists of the last requests, found by their text.
#[derive(Default)]
pub struct Lists(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The last one used comes first.
    lists: VecDeque<(Box<str>, Definitions)>,
    /// Of all texts, each with [`LIST_BYTES`].
    bytes: usize,
}

/// Maximum size of the texts that are kept, in bytes. In memory, a list takes about six times as much again.
const KEPT_BYTES: usize = 512 * 1024;
/// What a list counts beside its text, in bytes.
const LIST_BYTES: usize = 1024;

impl Definitions {
    /// What `read` makes of the list. It is called once for a list and its clones, so all callers must use the same function.
    pub fn once<T: Any + Send + Sync>(&self, read: impl Fn(&[Value]) -> T) -> Arc<T> {
        let kept = self.0.read.get_or_init(|| Arc::new(read(&self.0.list)));
        Arc::clone(kept).downcast().unwrap_or_else(|_| Arc::new(read(&self.0.list)))
    }

    /// The list, to change it. Clones do not change.
    pub fn to_mut(&mut self) -> &mut Vec<Value> {
        let written = Arc::make_mut(&mut self.0);
        written.read = OnceLock::new();
        &mut written.list
    }
}

impl Lists {
    /// The size of the texts that are kept, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.0.hold().bytes
    }

    /// The kept list with this text.
    pub(super) fn find(&self, text: &str) -> Option<Definitions> {
        let mut kept = self.0.hold();
        let at = kept.lists.iter().position(|(of, _)| **of == *text)?;
        let found = kept.lists.remove(at)?;
        let definitions = found.1.clone();
        kept.lists.push_front(found);
        Some(definitions)
    }

    /// Keeps a list, if it is not too large. Those that were not used for the longest time make room.
    pub(super) fn keep(&self, text: &str, list: Vec<Value>) -> Definitions {
        let definitions = Definitions::from(list);
        let size = |text: &str| text.len() + LIST_BYTES;
        let mut kept = self.0.hold();
        if size(text) <= KEPT_BYTES {
            kept.lists.push_front((text.into(), definitions.clone()));
            kept.bytes += size(text);
        }
        while kept.bytes > KEPT_BYTES
            && let Some((text, _)) = kept.lists.pop_back()
        {
            kept.bytes -= size(&text);
        }
        definitions
    }
}

impl From<Vec<Value>> for Definitions {
    fn from(list: Vec<Value>) -> Definitions {
        Definitions(Arc::new(Written { list, read: OnceLock::new() }))
    }
}

impl FromIterator<Value> for Definitions {
    fn from_iter<I: IntoIterator<Item = Value>>(list: I) -> Definitions {
        list.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for Definitions {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.list
    }
}

impl PartialEq for Definitions {
    fn eq(&self, other: &Definitions) -> bool {
        self.0.list == other.0.list
    }
}

impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.list.fmt(f)
    }
}

impl Serialize for Definitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.list.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    fn named(name: &str) -> Vec<Value> {
        vec![json!({"type": "function", "function": {"name": name}})]
    }

    #[test]
    fn a_list_is_read_once_until_it_changes() {
        let (lists, times) = (Lists::default(), AtomicUsize::new(0));
        let read = |list: &[Value]| {
            times.fetch_add(1, Ordering::Relaxed);
            list.len()
        };
        assert_eq!(*lists.keep("a", named("a")).once(read), 1);
        let mut again = lists.find("a").unwrap();
        assert_eq!((*again.once(read), times.load(Ordering::Relaxed)), (1, 1));
        again.to_mut().clear();
        assert_eq!((*again.once(read), times.load(Ordering::Relaxed)), (0, 2));
        assert_eq!(*lists.find("a").unwrap(), named("a"), "the others keep theirs");
        assert!(lists.find("b").is_none());
    }

    #[test]
    fn lists_make_room_for_later_ones() {
        let lists = Lists::default();
        let text = |at: usize| format!("{at}").repeat(KEPT_BYTES / 4);
        for at in 0..3 {
            lists.keep(&text(at), named("a"));
        }
        assert!(lists.find(&text(0)).is_some());
        lists.keep(&text(3), named("a"));
        let found: Vec<usize> = (0..4).filter(|at| lists.find(&text(*at)).is_some()).collect();
        assert_eq!(found, [0, 2, 3], "the one that was used least lately went");
        lists.keep(&"x".repeat(KEPT_BYTES), named("large"));
        assert_eq!(lists.0.hold().lists.len(), 3, "a list that is too large displaces none");
        for at in 0..10_000 {
            lists.keep(&at.to_string(), Vec::new());
        }
        let kept = lists.0.hold();
        assert!(kept.lists.len() < 512 && kept.bytes <= KEPT_BYTES, "{}", kept.lists.len());
    }
}
