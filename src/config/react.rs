//! The section `[react]`: how far the model may go with tools that toolglot runs, and what the client sees of it.

use serde::Deserialize;

use super::{access::in_both, checks::wrong};
use crate::error::Error;

/// The limits of mode `react` and what the user sees of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct React {
    /// The servers whose tools are offered; `None`: all of the registry.
    pub servers: Option<Vec<String>>,
    /// Maximum number of answers that may call tools. At any limit, the model is asked once more, without tools.
    pub rounds: u32,
    /// Maximum number of calls in all rounds together.
    pub calls: u32,
    /// Maximum number of calls at the same time.
    pub parallel: usize,
    /// Maximum time of all rounds together, in seconds.
    pub seconds: u64,
    /// Maximum number of tokens, read and written, of all rounds together; 0: no limit.
    pub tokens: u64,
    /// The largest result that the model sees, in bytes. Of a longer one, it sees the beginning and the end.
    pub result_bytes: usize,
    /// The share of the model's context that the tools may take, in percent.
    pub tools_percent: u64,
    /// How long results wait for a client that has calls of its own to run, in seconds.
    pub keep_seconds: u64,
    /// How the user is told which tool runs.
    pub progress: Progress,
    /// Whether answers contain an object that says what was done.
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

/// The settings of a single request, which can lower limits but never raise them.
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

/// The smallest permitted `result_bytes`: a shorter excerpt would be useless.
pub const RESULT_BYTES_AT_LEAST: usize = 256;

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
            keep_seconds: 60 * 60,
            progress: Progress::Comment,
            trace: false,
        }
    }
}

impl React {
    /// Checks the values.
    pub(super) fn check(&self) -> Result<(), Error> {
        let checks = [
            (self.rounds == 0, "rounds` must be at least 1"),
            (self.parallel == 0, "parallel` must be at least 1"),
            (self.result_bytes < RESULT_BYTES_AT_LEAST, "result_bytes` must be at least 256"),
            (self.tools_percent == 0 || self.tools_percent > 100, "tools_percent` must be 1 to 100"),
        ];
        match checks.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, what)) => wrong(format!("`react.{what}")),
            None => Ok(()),
        }
    }

    /// The same with the lowered limits of a request.
    pub fn lowered(&self, by: &Lowered) -> React {
        let tokens = match (self.tokens, by.tokens.filter(|tokens| *tokens > 0)) {
            (0, asked) => asked.unwrap_or(0),
            (limit, asked) => asked.map_or(limit, |asked| asked.min(limit)),
        };
        React {
            servers: in_both(by.servers.as_deref(), self.servers.as_deref()),
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
