//! The section `[react]`: how far the model may go with tools that toolglot runs, and what the client sees of it.

use serde::Deserialize;

use crate::error::Error;

/// The limits of mode `react` and what the user sees of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct React {
    /// The servers whose tools are offered; `None`: all of the registry.
    pub servers: Option<Vec<String>>,
    /// Answers of the model that may call tools. At any of the limits the model is asked once more, without tools.
    pub rounds: u32,
    /// Calls that are run in all rounds together.
    pub calls: u32,
    /// Calls that run at the same time.
    pub parallel: usize,
    /// Seconds for all rounds together.
    pub seconds: u64,
    /// Tokens, read and written, of all rounds together; 0: no limit.
    pub tokens: u64,
    /// The largest result that the model is shown, in bytes; of a longer one it sees head and tail.
    pub result_bytes: usize,
    /// The share of the model's context that the tools may take, in percent.
    pub tools_percent: u64,
    /// What a server says about itself is put into the prompt up to this length, in bytes; 0: not at all.
    pub instructions_bytes: usize,
    /// How long results wait for a client that has calls of its own to run, in seconds.
    pub keep_seconds: u64,
    /// How the user is told which tool runs.
    pub progress: Progress,
    /// Answers carry what was done, in an object of their own.
    pub trace: bool,
}

/// How the user is told which tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// In comments of the stream, which clients do not show.
    #[default]
    Comment,
    /// In lines of reasoning.
    Reasoning,
    /// Not at all.
    Off,
}

/// What a request may say for itself: limits can be lowered, never raised.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lowered {
    servers: Option<Vec<String>>,
    rounds: Option<u32>,
    calls: Option<u32>,
    seconds: Option<u64>,
    tokens: Option<u64>,
    result_bytes: Option<usize>,
    progress: Option<Progress>,
    trace: Option<bool>,
}

/// A result shorter than this says nothing any more once it is cut, in bytes.
pub const RESULT_BYTES_AT_LEAST: usize = 256;

// === impl React ===

impl Default for React {
    fn default() -> React {
        React {
            servers: None,
            rounds: 5,
            calls: 30,
            parallel: 4,
            seconds: 300,
            tokens: 500_000,
            result_bytes: 32 * 1024,
            tools_percent: 50,
            instructions_bytes: 2000,
            keep_seconds: 60 * 60,
            progress: Progress::Comment,
            trace: false,
        }
    }
}

impl React {
    /// The same if every value is possible.
    pub(super) fn checked(self) -> Result<React, Error> {
        let wrong = |what: &str| Err(Error::proxy(format!("`react.{what}")));
        match () {
            () if self.rounds == 0 => wrong("rounds` must be at least 1"),
            () if self.parallel == 0 => wrong("parallel` must be at least 1"),
            () if self.result_bytes < RESULT_BYTES_AT_LEAST => wrong("result_bytes` must be at least 256"),
            () if self.tools_percent == 0 || self.tools_percent > 100 => wrong("tools_percent` must be 1 to 100"),
            () => Ok(self),
        }
    }

    /// The same for a request that asks for less.
    pub fn lowered(&self, by: &Lowered) -> React {
        let servers = match (&self.servers, &by.servers) {
            (Some(allowed), Some(asked)) => Some(asked.iter().filter(|name| allowed.contains(name)).cloned().collect()),
            (allowed, asked) => asked.clone().or_else(|| allowed.clone()),
        };
        let tokens = match (self.tokens, by.tokens.filter(|tokens| *tokens > 0)) {
            (0, asked) => asked.unwrap_or(0),
            (limit, asked) => asked.map_or(limit, |asked| asked.min(limit)),
        };
        React {
            servers,
            rounds: by.rounds.unwrap_or(self.rounds).clamp(1, self.rounds),
            calls: by.calls.unwrap_or(self.calls).min(self.calls),
            seconds: by.seconds.unwrap_or(self.seconds).min(self.seconds),
            tokens,
            result_bytes: by.result_bytes.unwrap_or(self.result_bytes).max(RESULT_BYTES_AT_LEAST).min(self.result_bytes),
            progress: by.progress.unwrap_or(self.progress),
            trace: by.trace.unwrap_or(self.trace),
            ..self.clone()
        }
    }
}
