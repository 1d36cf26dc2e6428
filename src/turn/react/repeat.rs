//! Rounds that repeat: the same calls as in the round before (A A A), or two rounds in turn (A B A B). The first repetition
//! runs, and the model is told; the second does not run; the third ends the turn.

use serde_json::Value;

/// The calls of the rounds so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    rounds: Vec<String>,
    /// How many rounds behind each other were a repetition.
    streak: u32,
}

/// What becomes of the calls of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They run.
    Run,
    /// They run; the model is told that it repeats itself.
    Nudge,
    /// They do not run.
    Skip,
    /// They do not run, and the turn ends.
    Stop,
}

/// Only the last rounds matter.
const KEPT: usize = 4;

// === impl Repeats ===

impl Repeats {
    /// Takes the names and arguments of a round's calls.
    pub(super) fn take(&mut self, calls: Vec<(String, String)>) -> Verdict {
        if calls.is_empty() {
            return Verdict::Run;
        }
        let parts: Vec<String> =
            calls.into_iter().map(|(name, arguments)| format!("{name}\u{0}{}", canonical(&arguments))).collect();
        self.rounds.push(parts.join("\u{1}"));
        if self.rounds.len() > KEPT {
            self.rounds.remove(0);
        }
        let back = |count: usize| self.rounds.len().checked_sub(count).and_then(|at| self.rounds.get(at));
        let again = back(2).is_some() && back(1) == back(2);
        let in_turn = back(4).is_some() && back(1) == back(3) && back(2) == back(4);
        self.streak = if again || in_turn { self.streak + 1 } else { 0 };
        match self.streak {
            0 => Verdict::Run,
            1 => Verdict::Nudge,
            2 => Verdict::Skip,
            _ => Verdict::Stop,
        }
    }

    /// Whether the model is to be told that it repeats itself.
    pub(super) fn nudges(&self) -> bool {
        self.streak == 1
    }
}

/// Arguments with their members in order.
fn canonical(arguments: &str) -> String {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: Vec<(String, Value)> = members.into_iter().map(|(key, value)| (key, sorted(value))).collect();
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
                members.into_iter().collect::<serde_json::Map<_, _>>().into()
            }
            Value::Array(list) => list.into_iter().map(sorted).collect(),
            other => other,
        }
    }
    serde_json::from_str(arguments).map(|value| sorted(value).to_string()).unwrap_or_else(|_| arguments.to_owned())
}
