//! What a client would see of an answer: the one collector of events for unit tests, integration tests and the fuzz target.

use std::sync::{Arc, OnceLock};

use toolglot::{
    adapter::Library,
    event::{self, Event, FinishReason, Sink},
    fix::Schemas,
};

/// The built-in adapters, parsed once in a process.
pub(crate) fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| Library::embedded().unwrap())
}

/// The schemas of all tests of a process, each compiled once.
pub(crate) fn schemas() -> Arc<Schemas> {
    static SCHEMAS: OnceLock<Arc<Schemas>> = OnceLock::new();
    Arc::clone(SCHEMAS.get_or_init(Arc::default))
}

/// The events of an answer, in order. Two answers are alike if and only if their `Seen` are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) items: Vec<Item>,
    pub(crate) finish: Option<FinishReason>,
    /// What no answer may do: an index with a hole, a second end.
    pub(crate) fault: Option<String>,
}

/// What an answer is made of. Neighbouring texts are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Text(String),
    Reasoning(String),
    Call(Call),
    Refused,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    /// As they were written.
    pub(crate) arguments: String,
    /// Whether it ended; a call that the end of the answer truncated did not.
    pub(crate) whole: bool,
}

impl Sink for Seen {
    fn event(&mut self, event: Event<'_>) {
        match (event, self.items.last_mut()) {
            (Event::Text("") | Event::Reasoning("") | Event::Note(_), _) => {}
            (Event::Text(text), Some(Item::Text(before))) => before.push_str(text),
            (Event::Reasoning(text), Some(Item::Reasoning(before))) => before.push_str(text),
            (Event::Text(text), _) => self.items.push(Item::Text(text.to_owned())),
            (Event::Reasoning(text), _) => self.items.push(Item::Reasoning(text.to_owned())),
            (Event::Call(event::Call { index, id, name, arguments, cut, .. }), _) => {
                let before = self.all_calls().count();
                // The scanner gives a refused call an index, the fixer does not.
                if ![before, before + self.refused()].contains(&(index as usize)) {
                    self.fault = Some(format!("call {before} has the index {index}"));
                }
                let (name, arguments) = (name.to_owned(), arguments.to_owned());
                self.items.push(Item::Call(Call { name, id: id.map(str::to_owned), arguments, whole: cut.is_none() }));
            }
            (Event::Refused { .. }, _) => self.items.push(Item::Refused),
            (Event::Finish { reason, .. }, _) => {
                if self.finish.replace(reason).is_some() {
                    self.fault = Some("it finished twice".to_owned());
                }
            }
        }
    }
}

#[allow(dead_code, reason = "each crate of tests asks for some of it")]
impl Seen {
    /// All text.
    pub(crate) fn text(&self) -> String {
        self.items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text.as_str()) } else { None }).collect()
    }

    /// All reasoning.
    pub(crate) fn reasoning(&self) -> String {
        self.items.iter().filter_map(|item| if let Item::Reasoning(text) = item { Some(text.as_str()) } else { None }).collect()
    }

    /// The calls that ended: names and arguments.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        self.all_calls().filter(|call| call.whole).map(|call| (call.name.clone(), call.arguments.clone())).collect()
    }

    /// All calls, also one that did not end.
    pub(crate) fn all_calls(&self) -> impl Iterator<Item = &Call> {
        self.items.iter().filter_map(|item| if let Item::Call(call) = item { Some(call) } else { None })
    }

    /// How many calls were refused.
    pub(crate) fn refused(&self) -> usize {
        self.items.iter().filter(|item| **item == Item::Refused).count()
    }

    /// What is wrong with it: events that contradict each other, a delivered call that is no object.
    pub(crate) fn wrong(&self) -> Option<String> {
        let is_object = |arguments: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok();
        let mut torn = self.calls().into_iter().filter(|(_, arguments)| !is_object(arguments));
        let torn = torn.next().map(|(name, arguments)| format!("the arguments of {name} are no object: {arguments}"));
        self.fault.clone().or(torn)
    }

    /// Panics if something is wrong with it.
    pub(crate) fn sound(self) -> Seen {
        assert_eq!(self.wrong(), None, "{self:?}");
        self
    }
}

// === impl Call ===

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.arguments)
    }
}
