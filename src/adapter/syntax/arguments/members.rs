//! The members of the arguments of one call: the keys that were read, and the values that have come.

use std::collections::VecDeque;

use crate::adapter::syntax::typing::Hint;

/// The members so far. Keys come before their values; in some forms all keys come first.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// With their values as JSON text.
    whole: Vec<(String, String)>,
    /// Keys whose values are the items of a list, each in a tag of its own.
    listed: Vec<String>,
    /// All keys that were read, in order.
    known: Vec<String>,
    /// Those of them whose values have not come.
    waiting: VecDeque<(String, Hint)>,
}

impl Members {
    /// These are complete, with their values as JSON text.
    pub(super) fn given(&mut self, pairs: Vec<(String, String)>) {
        self.whole.extend(pairs);
    }

    /// A key was read; its value comes later.
    pub(super) fn expect(&mut self, key: String, hint: Hint) {
        self.known.push(key.clone());
        self.waiting.push_back((key, hint));
    }

    /// The type of the value that waits since last is this one.
    pub(super) fn hint(&mut self, hint: Hint) {
        if let Some((_, last)) = self.waiting.back_mut() {
            *last = hint;
        }
    }

    /// How many values have not come.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The key whose value comes next; empty if no value is awaited.
    pub(super) fn awaited(&self) -> &str {
        self.waiting.front().map_or("", |(key, _)| key)
    }

    /// The value of the key that waits longest has come.
    pub(super) fn arrived(&mut self) -> Option<(String, Hint)> {
        self.waiting.pop_front()
    }

    /// Adds a value, as JSON text. `wants_list`: the schema wants a list, and this is no list, so a second value of the same key is its
    /// next item.
    pub(super) fn add(&mut self, key: String, value: String, wants_list: bool) {
        match self.whole.iter_mut().find(|(known, _)| *known == key).filter(|_| wants_list) {
            Some((_, list)) if self.listed.contains(&key) => {
                list.insert(list.len() - 1, ',');
                list.insert_str(list.len() - 1, &value);
            }
            Some((_, first)) if !first.starts_with('[') => {
                *first = format!("[{first},{value}]");
                self.listed.push(key);
            }
            _ => self.whole.push((key, value)),
        }
    }

    /// Whether this key was read.
    pub(super) fn has(&self, key: &str) -> bool {
        self.known.iter().any(|known| known == key)
    }

    /// Whether no key was read.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The complete members as JSON text without the braces.
    pub(super) fn text(&self) -> String {
        let members = self.whole.iter().map(|(key, value)| format!("{}:{value}", serde_json::Value::from(key.as_str())));
        members.collect::<Vec<_>>().join(",")
    }
}
