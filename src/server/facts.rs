//! What is known about a request. The log line, the metrics, the spans and the row of the page are made from these facts when the
//! response is over.

use std::time::{Duration, Instant};

use super::target::Target;
use crate::{
    event::{FinishReason, Usage},
    turn::prefix::Prefix,
};

/// The facts known about a request so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// The request's id and path.
    pub(super) id: String,
    pub(super) path: String,
    /// The model and its backend; `None`: the request is not about a model.
    pub(super) target: Option<Target>,
    /// The name of the tenant; `""` if no key is required.
    pub(super) tenant: String,
    pub(super) mode: &'static str,
    pub(super) client: Option<String>,
    pub(super) turn: Option<Turn>,
    /// The backend's headers about its limits.
    pub(super) pace: Vec<(String, String)>,
    /// Once it is over, the status of its response; `None`: the client left before there was one.
    pub(super) status: Option<u16>,
    /// What the client was told of a failure.
    pub(super) told: Option<String>,
    /// The time until the first byte of its answer, and until its end.
    pub(super) first: Option<Duration>,
    pub(super) taken: Duration,
}

/// The facts about a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub(super) adapter: String,
    /// Number of answers of the backend.
    pub(super) rounds: u32,
    /// When the backend's first bytes arrived, and when the first bytes were sent to the client.
    pub(super) first_read: Option<Instant>,
    pub(super) first_sent: Option<Instant>,
    pub(super) usage: Usage,
    /// How much of the request the backend had read before; `None`: the conversation is new.
    pub(super) prefix: Option<Prefix>,
    pub(super) calls: Calls,
    pub(super) finish: Option<FinishReason>,
    pub(super) failed: Option<Failed>,
    /// The tools that toolglot ran.
    pub(super) ran: Vec<Ran>,
}

/// The facts about the model's calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// Number of delivered calls.
    pub(super) delivered: u32,
    /// Verdicts of the fixer, one per checked call.
    pub(super) verdicts: Vec<&'static str>,
    pub(super) fixes: usize,
    /// Why calls were not delivered, one word each.
    pub(super) refusals: Vec<String>,
}

/// A tool that toolglot ran.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "only spans name tools"))]
pub(super) struct Ran {
    /// The id of the call, and the tool's name as the model wrote it.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) server: String,
    pub(super) failed: bool,
    pub(super) ended: Instant,
    pub(super) took: Duration,
}

/// How a turn failed.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    /// The error's code, or its status.
    pub(super) code: String,
    pub(super) message: String,
}

impl Facts {
    /// The name of the backend; `""`: no model was asked for.
    pub(super) fn backend(&self) -> &str {
        self.target.as_ref().map_or("", |target| &target.backend.name)
    }
}

/// A duration as the log and the page write it.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}
