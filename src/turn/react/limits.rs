//! The limits of a turn: rounds, calls, time, tokens, and rounds in which nothing works.

use std::{fmt, time::Duration};

use tokio::time::Instant;

use crate::plan::React;

/// What a turn has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    /// When the turn began.
    pub(super) begun: Instant,
    /// Answers of the model.
    pub(super) rounds: u32,
    /// Calls that ran.
    pub(super) calls: u32,
    /// Calls that got a result, whatever it was.
    pub(super) answered: u32,
    /// Tokens read and written.
    pub(super) tokens: u64,
    /// Rounds in a row in which every call failed.
    pub(super) failures: u32,
    /// How many rounds of nothing but refused calls were not counted.
    pub(super) excused: u8,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The number of rounds.
    Rounds(u32),
    /// The number of calls.
    Calls(u32),
    /// The duration of the turn, in seconds.
    Seconds(u64),
    /// The number of tokens.
    Tokens(u64),
    /// The model repeated calls whose results it had.
    Repeats,
    /// The model wrote nothing after the results.
    Silence,
    /// The number of rounds in a row in which every call failed.
    Failures(u32),
}

/// How many rounds in a row may fail.
const FAILURES: u32 = 3;

impl Used {
    /// The use of a turn that begins now.
    pub(super) fn nothing() -> Used {
        Used { begun: Instant::now(), rounds: 0, calls: 0, answered: 0, tokens: 0, failures: 0, excused: 0 }
    }

    /// Does not count the last round, because asking again for a call in the right form is not a separate round in any mode.
    pub(super) fn excuse_round(&mut self) {
        self.excused += 1;
        self.rounds -= 1;
    }

    /// The limit that ends the turn now, if there is one.
    pub(super) fn reached(&self, react: &React) -> Option<Limit> {
        let limits = &react.limits;
        let rounds = limits.rounds - u32::from(react.last_counts && limits.rounds > 0);
        match () {
            () if self.rounds >= rounds => Some(Limit::Rounds(limits.rounds)),
            () if self.calls >= limits.calls => Some(Limit::Calls(limits.calls)),
            () if self.begun.elapsed() >= Duration::from_secs(limits.seconds) => Some(Limit::Seconds(limits.seconds)),
            () if limits.tokens > 0 && self.tokens >= limits.tokens => Some(Limit::Tokens(limits.tokens)),
            () if self.failures >= FAILURES => Some(Limit::Failures(FAILURES)),
            () => None,
        }
    }
}

impl Limit {
    /// Whether the user is told of it even after a good answer.
    pub(super) fn is_worth_telling(self) -> bool {
        !matches!(self, Limit::Repeats | Limit::Silence)
    }

    /// What the model is told before its last answer.
    pub(super) fn to_model(self) -> String {
        format!("{self}. No tool can be used any more: answer now with what is known, and say what is missing.")
    }

    /// A short, stable word for machines, and the sentence for people.
    pub(super) fn words(self) -> (&'static str, String) {
        let reached = |word, limit: String| (word, format!("the limit of {limit} was reached (`react.{word}`)"));
        match self {
            Limit::Rounds(rounds) => reached("rounds", format!("{rounds} rounds with tools")),
            Limit::Calls(calls) => reached("calls", format!("{calls} calls")),
            Limit::Seconds(seconds) => reached("seconds", format!("{seconds} s")),
            Limit::Tokens(tokens) => reached("tokens", format!("{tokens} tokens")),
            Limit::Repeats => ("repeats", "the model made the same calls again".into()),
            Limit::Silence => ("silence", "the model's answer was empty".into()),
            Limit::Failures(rounds) => ("failures", format!("every call of {rounds} rounds failed")),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().1)
    }
}
