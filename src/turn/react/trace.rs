//! A record of what was done in a turn: rounds, calls with their times, changes in calls.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Limit, Observation, observe::cut};
use crate::{fix::Checked, openai::ToolCall};

/// Collects the record.
#[derive(Debug, Default)]
pub(super) struct Trace {
    calls: Vec<Value>,
    fixes: Vec<Value>,
}

/// How much of a result is shown, in bytes.
const EXCERPT: usize = 300;

impl Trace {
    /// A call that got its result.
    pub(super) fn call(&mut self, round: u32, call: &ToolCall, result: &Observation, took: Duration) {
        let text = result.content.to_text();
        let text = if text.is_empty() { "(images)".to_owned() } else { text };
        self.calls.push(json!({
            "round": round,
            "name": call.name,
            "arguments": serde_json::from_str::<Value>(&call.arguments).unwrap_or_default(),
            "ok": !result.failed(),
            "seconds": took.as_millis() as f64 / 1000.0,
            "result": cut(&text, EXCERPT),
        }));
    }

    /// What was changed in the calls of an answer: rules and places, never values.
    pub(super) fn fixes(&mut self, round: u32, checked: &[Checked]) {
        for call in checked.iter().filter(|call| call.written.is_some() || !call.report.fixes.is_empty()) {
            let rules: Vec<&str> = call.report.fixes.iter().map(|fix| fix.rule.as_str()).collect();
            self.fixes.push(json!({
                "round": round,
                "name": call.name,
                "written": call.written,
                "verdict": call.report.verdict.as_str(),
                "rules": rules,
            }));
        }
    }

    /// The object.
    pub(super) fn to_value(&self, rounds: u32, limit: Option<Limit>) -> Value {
        json!({"mode": "react", "rounds": rounds, "limit": limit.map(|limit| limit.words().0), "calls": self.calls, "fixes": self.fixes})
    }
}
