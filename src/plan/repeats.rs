//! Remembers the answered calls of a turn, and finds a new call that repeats one of them. Small models repeat a call whose result
//! is in the conversation, until they are stopped.
//!
//! A call is a repetition if nothing can have changed since: an equal call of a read-only tool, with only such calls in
//! between, or an equal call of any tool in the answer just before. A call that failed may always be tried again. A call whose
//! outcome is unknown may have had its effect: an equal call repeats it, whatever was called in between.

use std::{borrow::Cow, collections::HashMap};

use crate::{
    event::{Effect, Tools},
    mcp::response::OUTCOME_UNKNOWN,
    openai::{Message, is_spoken},
    same,
};

/// The answered calls of a turn, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeats {
    calls: Vec<Call>,
    /// Number of answers of the model so far.
    answers: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    made: same::Call,
    /// Number of the answer that contained it.
    answer: usize,
    reads: bool,
    ended: Ended,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With a result.
    Well,
    /// With a failure.
    Failed,
    /// Nobody knows: it may have had its effect.
    Unknown,
}

/// How much of the beginning and the end of a result is searched for words of failure, in bytes.
const STATUS_BYTES: usize = 300;
/// Words of such a result, in lower case.
const FAILURES: [&str; 8] = ["error", "failed", "failure", "exception", "traceback", "not found", "no such", "not run"];

impl Repeats {
    /// The calls since the user's last words, with their results, in a conversation in the internal form.
    pub fn of(messages: &[Message], tools: &Tools) -> Repeats {
        let turn = messages.iter().rposition(is_spoken).map_or(0, |at| at + 1);
        let turn = messages.get(turn..).unwrap_or_default();
        let results: HashMap<&str, Cow<'_, str>> =
            turn.iter().filter_map(|message| Some((message.tool_call_id.as_deref()?, message.content.text()))).collect();
        let mut repeats = Repeats::default();
        for message in turn.iter().filter(|message| !message.tool_calls.is_empty()) {
            repeats.next_answer();
            for call in &message.tool_calls {
                let Some(result) = results.get(call.id.as_str()) else { continue };
                let reads = tools.get(&call.name).is_some_and(|tool| tool.effect == Effect::Reads);
                repeats.note(&call.name, &call.arguments, reads, Ended::of(result, reads));
            }
        }
        repeats
    }

    /// Lets calls of tools that only read run again, as in a new turn: what they read may have changed since.
    pub fn read_anew(&mut self) {
        for call in self.calls.iter_mut().filter(|call| call.reads) {
            call.ended = Ended::Failed;
        }
    }

    /// The calls that follow belong to another answer of the model.
    pub fn next_answer(&mut self) {
        self.answers += 1;
    }

    /// Adds a call that has a result. `reads`: its tool only reads.
    pub fn note(&mut self, name: &str, arguments: &str, reads: bool, ended: Ended) {
        self.calls.push(Call { made: same::Call::returned(name, arguments), answer: self.answers, reads, ended });
    }

    /// Whether there were no calls yet.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether an equal call has an unknown outcome.
    pub fn is_unknown(&self, name: &str, arguments: &str) -> bool {
        self.has_ended(&same::Call::returned(name, arguments), Ended::Unknown)
    }

    fn has_ended(&self, made: &same::Call, ended: Ended) -> bool {
        self.calls.iter().any(|call| call.made == *made && call.ended == ended)
    }

    /// Whether the conversation already has the result of this call, and nothing can have changed since. `reads`: its tool only
    /// reads.
    pub fn answers(&self, name: &str, arguments: &str, reads: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let made = same::Call::returned(name, arguments);
        if self.has_ended(&made, Ended::Unknown) {
            return true;
        }
        let equal = |call: &&Call| call.made == made && call.ended == Ended::Well;
        let last = self.calls.last().map(|call| call.answer);
        let before = self.calls.iter().rev().take_while(|call| Some(call.answer) == last).find(equal);
        let unchanged = || self.calls.iter().rev().take_while(|call| call.reads).find(equal);
        before.or_else(|| unchanged().filter(|_| reads)).is_some()
    }
}

impl Ended {
    /// What the text of a result says. A tool that only reads may always be asked again if its answer did not arrive.
    fn of(result: &str, reads: bool) -> Ended {
        match () {
            () if !reads && beginning(result).contains(OUTCOME_UNKNOWN) => Ended::Unknown,
            () if says_failure(result) => Ended::Failed,
            () => Ended::Well,
        }
    }
}

/// The beginning of a result.
fn beginning(result: &str) -> &str {
    result.get(..result.floor_char_boundary(STATUS_BYTES)).unwrap_or_default()
}

/// Whether the text of a result says that its call failed.
fn says_failure(result: &str) -> bool {
    let head = beginning(result);
    let tail = result.get(result.ceil_char_boundary(result.len().saturating_sub(STATUS_BYTES))..).unwrap_or_default();
    [head, tail].iter().any(|part| {
        let part = part.to_lowercase();
        let exit = part.split_once("exit code ").is_some_and(|(_, code)| !code.starts_with('0'));
        exit || FAILURES.iter().any(|word| part.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        event::{Tool, ToolChoice},
        openai::ChatRequest,
    };

    fn tools() -> Tools {
        let reads = |name: &str| Tool { effect: Effect::Reads, ..Tool::new(name, "", "{}") };
        Tools::new([reads("look"), reads("find"), Tool::new("write", "", "{}")], ToolChoice::Auto)
    }

    /// A call with its name, arguments and result; `user` begins a new turn.
    type Made<'a> = (&'a str, &'a str, &'a str);

    const UNKNOWN: &str = "error: s__write: the outcome of the call is unknown. It may have had its effect: no answer within 1 s";

    /// What a conversation of these calls holds.
    fn repeats(calls: &[Made<'_>]) -> Repeats {
        let mut messages = vec![json!({"role": "user", "content": "Go."})];
        for (at, (name, arguments, result)) in calls.iter().enumerate() {
            if *name == "user" {
                messages.push(json!({"role": "user", "content": "And now?"}));
                continue;
            }
            let id = format!("c{at}");
            let function = json!({"name": name, "arguments": arguments});
            messages.push(json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
        let chat = ChatRequest::from_value(json!({"model": "m", "messages": messages})).unwrap();
        Repeats::of(&chat.messages, &tools())
    }

    #[test]
    fn the_same_call_repeats_where_nothing_can_have_changed() {
        let look = ("look", r#"{"at": "a", "line": 3}"#, "found");
        let table: &[(&[Made<'_>], (&str, &str), bool)] = &[
            (&[], ("look", "{}"), false),
            (&[look], ("look", r#"{"line": "3", "at": "a"}"#), true),
            (&[look], ("look", r#"{"line": 3, "at": "a", "more": null}"#), true),
            (&[look], ("look", r#"{"at": "b"}"#), false),
            (&[look], ("find", r#"{"at": "a", "line": 3}"#), false),
            (&[look, ("find", "{}", "found")], ("look", look.1), true),
            // Something was written in between.
            (&[look, ("write", "{}", "done")], ("look", look.1), false),
            // Writing the same twice in a row, and not in a row.
            (&[("write", "{}", "done")], ("write", ""), true),
            (&[("write", "{}", "done"), look], ("write", "{}"), false),
            // What failed may be tried again.
            (&[("look", look.1, "Error: no such file")], ("look", look.1), false),
            (&[("write", "{}", "$ make\n... (exit code 2)")], ("write", "{}"), false),
            (&[("write", "{}", "$ make\n... (exit code 0)")], ("write", "{}"), true),
            // It may have had its effect.
            (&[("write", "{}", UNKNOWN)], ("write", "{}"), true),
            (&[("write", "{}", UNKNOWN), ("write", "{\"at\": 1}", "done"), look], ("write", "{}"), true),
            (&[("write", "{}", UNKNOWN)], ("write", "{\"at\": 1}"), false),
            (&[("look", look.1, UNKNOWN)], ("look", look.1), false),
            // The user has spoken since.
            (&[look, ("user", "", "")], ("look", look.1), false),
        ];
        for (calls, (name, arguments), expected) in table {
            let reads = tools().get(name).is_some_and(|tool| tool.effect == Effect::Reads);
            assert_eq!(repeats(calls).answers(name, arguments, reads), *expected, "{calls:?} then {name} {arguments}");
        }
    }

    #[test]
    fn what_a_client_adds_after_a_result_begins_no_new_turn() {
        let call = json!({"id": "c", "type": "function", "function": {"name": "write", "arguments": "{}"}});
        let repeated = |text: &str| {
            let chat = ChatRequest::from_value(json!({"model": "m", "messages": [
                {"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "ok"}, {"role": "user", "content": text},
            ]}));
            Repeats::of(&chat.unwrap().messages, &tools()).answers("write", "{}", false)
        };
        assert!(repeated("<system-reminder>\nNo todos.\n</system-reminder>") && !repeated("Once more."));
    }

    #[test]
    fn calls_of_one_answer_do_not_repeat_each_other_before_they_are_answered() {
        let mut repeats = Repeats::default();
        repeats.next_answer();
        assert!(!repeats.answers("write", "{}", false));
        repeats.note("write", "{}", false, Ended::Well);
        repeats.note("find", "{}", true, Ended::Well);
        // Both were in the answer before.
        assert!(repeats.answers("write", "{}", false) && repeats.answers("find", "{}", true));
    }
}
