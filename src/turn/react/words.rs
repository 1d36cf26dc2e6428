//! Words the lines that the user gets in addition to the model's answer: what runs, what was not run, and the results if the
//! model writes nothing.

use std::collections::HashSet;

use super::{Agent, Fate, observe};
use crate::plan::Plan;

/// How much of each result is shown to a user whom the model does not answer, in bytes.
const SHOWN_BYTES: usize = 2000;

/// What the user is told about calls.
#[derive(Default)]
pub(super) struct Told {
    /// What they have not been told yet about dropped calls.
    pub(super) dropped: Vec<String>,
    /// The lines that they have been told.
    before: HashSet<String>,
}

impl Agent {
    /// What runs now, for the user.
    pub(in crate::turn) fn beginning(&self) -> Option<String> {
        let running = self.round.as_ref()?.calls.iter().filter(|call| matches!(call.fate, Fate::Run { .. }));
        let names: Vec<&str> = running.map(|call| call.call.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("running {} ...", names.join(", ")))
    }

    /// What the user is told about calls that were not run, once.
    pub(in crate::turn) fn complaints(&mut self) -> Vec<String> {
        let dropped = std::mem::take(&mut self.told.dropped).into_iter().map(|told| format!("[toolglot] {told}"));
        let calls = self.round.iter().flat_map(|round| &round.calls);
        let told = calls.filter_map(|call| match &call.fate {
            Fate::Answered { told: Some(told), .. } => Some(format!("[toolglot] {told}")),
            _ => None,
        });
        dropped.chain(told).filter(|line| self.told.before.insert(line.clone())).collect()
    }

    /// What the user is told after the last answer: which limit ended the turn. If the model says nothing, the results of its
    /// last calls take the place of an answer.
    pub(in crate::turn) fn last_words(&self, said: &str, plan: &Plan) -> Option<String> {
        let limit = self.last.filter(|_| self.used.answered > 0)?;
        if !said.trim().is_empty() {
            return limit.is_worth_telling().then(|| format!("[toolglot] {limit}"));
        }
        let calls = plan.chat.messages.iter().rposition(|message| !message.tool_calls.is_empty());
        let results = plan.chat.messages.iter().skip(calls.map_or(usize::MAX, |at| at + 1));
        let results = results.filter(|message| message.role == "tool");
        let results = results.map(|message| observe::cut(message.content.to_text().trim_end(), SHOWN_BYTES));
        let results: Vec<String> = results.filter(|text| !text.is_empty()).collect();
        Some(format!("[toolglot] {limit}, and the model gave no answer. The last results are:\n{}", results.join("\n")))
    }
}
