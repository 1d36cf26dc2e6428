//! Which call a result answers.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::Message;

/// The calls of a conversation that have no result yet, by their place among all of its calls.
#[derive(Debug, Default)]
pub struct Unanswered {
    /// Name and id of each.
    calls: BTreeMap<usize, (String, String)>,
    places: HashMap<String, VecDeque<usize>>,
    added: usize,
    /// Where the calls of the last message with calls begin.
    newest: usize,
}

impl Unanswered {
    /// Adds the calls of the next message. Each has an id.
    pub fn add(&mut self, message: &Message) {
        if !message.tool_calls.is_empty() {
            self.newest = self.added;
        }
        for call in &message.tool_calls {
            self.calls.insert(self.added, (call.name.clone(), call.id.clone()));
            self.places.entry(call.id.clone()).or_default().push_back(self.added);
            self.added += 1;
        }
    }

    /// Takes the call that a result with this id answers: its place and its id. A result without an id answers the first call,
    /// of this name if the result has one. A call of the last message with calls comes before older ones: a call that was broken
    /// off never gets its result.
    pub fn take(&mut self, id: &str, name: Option<&str>) -> Option<(usize, String)> {
        let place = if id.is_empty() {
            let fits = |(_, call): &(&usize, &(String, String))| name.is_none_or(|name| name == call.0);
            let newest = self.calls.range(self.newest..).find(fits);
            *newest.or_else(|| self.calls.iter().find(fits))?.0
        } else {
            let places = self.places.get(id)?;
            *places.iter().find(|place| **place >= self.newest).or_else(|| places.front())?
        };
        let (_, id) = self.calls.remove(&place)?;
        self.places.get_mut(&id)?.retain(|other| *other != place);
        Some((place, id))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openai::ChatRequest;

    #[test]
    fn a_result_without_an_id_answers_the_newest_message_with_calls() {
        let call = |name: &str, id: &str| json!({"id": id, "function": {"name": name}});
        let calls = |calls: &[serde_json::Value]| json!({"role": "assistant", "tool_calls": calls});
        let messages = json!([
            calls(&[call("f", "f1"), call("g", "g1"), call("f", "f2")]),
            calls(&[call("g", "g2"), call("f", "f3")]),
            {"role": "user", "content": "Well?"}
        ]);
        let chat = ChatRequest::from_value(json!({"model": "m", "messages": messages})).unwrap();
        let mut open = Unanswered::default();
        chat.messages.iter().for_each(|message| open.add(message));
        let taken =
            [("", Some("f")), ("", None), ("f2", None), ("", Some("f")), ("", Some("f")), ("g2", None), ("", None), ("", None)]
                .map(|(id, name)| open.take(id, name).map_or(String::new(), |(_, id)| id));
        assert_eq!(taken, ["f3", "g2", "f2", "f1", "", "", "g1", ""]);
    }
}
