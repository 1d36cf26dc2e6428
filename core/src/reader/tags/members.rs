//! The arguments of one call: the keys and values read so far.

use std::collections::VecDeque;

use crate::adapter::syntax::{members::joined, typing::Hint};

/// The members read so far. Keys precede their values; in some forms all keys come first.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Complete members, with their values as JSON text.
    whole: Vec<(String, String)>,
    /// Keys whose values are lists with each item in a tag of its own.
    listed: Vec<String>,
    /// All keys, in order.
    known: Vec<String>,
    /// The keys without a value, oldest first.
    waiting: VecDeque<(String, Hint)>,
}

impl Members {
    /// Adds complete members, with their values as JSON text.
    pub(super) fn given(&mut self, pairs: Vec<(String, String)>) {
        self.whole.extend(pairs);
    }

    /// Adds a key whose value follows later.
    pub(super) fn expect(&mut self, key: String, hint: Hint) {
        if !self.has(&key) {
            self.known.push(key.clone());
        }
        self.waiting.push_back((key, hint));
    }

    /// Sets the type of the newest key without a value.
    pub(super) fn hint(&mut self, hint: Hint) {
        if let Some((_, last)) = self.waiting.back_mut() {
            *last = hint;
        }
    }

    /// How many values are missing.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The key of the next value. Empty if no value is missing.
    pub(super) fn awaited(&self) -> &str {
        self.waiting.front().map_or("", |(key, _)| key)
    }

    /// Takes the key of the next value.
    pub(super) fn arrived(&mut self) -> Option<(String, Hint)> {
        self.waiting.pop_front()
    }

    /// Adds a value as JSON text. `wants_list`: the schema wants a list and `value` is not one, so a second value of the same key
    /// is the next item. Returns whether the key has another value already.
    pub(super) fn add(&mut self, key: String, value: String, wants_list: bool) -> bool {
        let has_other = !wants_list && self.whole.iter().any(|(known, other)| *known == key && *other != value);
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
        has_other
    }

    /// Whether this key was read.
    pub(super) fn has(&self, key: &str) -> bool {
        self.known.iter().any(|known| known == key)
    }

    /// Whether no key was read.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The complete members as JSON text without braces.
    pub(super) fn text(&self) -> String {
        joined(&self.whole)
    }
}
