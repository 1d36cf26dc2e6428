//! The status of a server as known without asking it, for `GET /mcp/list` and `toolglot mcp list`; and the calls of
//! tools since the start, without arguments and results, for the metrics and the page.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{Pool, slot::State};
use crate::{lock::Hold, redact};

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// The name in the registry.
    pub name: String,
    /// Address or command line as the file writes it, without secrets.
    pub address: String,
    /// Whether it is a child process.
    pub is_process: bool,
    /// One of `idle`, `connecting`, `connected`, `failed`, `unusable`, `disabled`.
    pub state: &'static str,
    /// The error, if any.
    pub error: Option<String>,
    /// Number of its tools, if known.
    pub tools: Option<usize>,
    /// The transport: `stdio`, `http` or `sse`.
    pub dialect: Option<&'static str>,
    /// The revision of the protocol.
    pub protocol: Option<String>,
}

impl Pool {
    /// The status of every server of the registry, without asking any of them.
    pub fn status(&self) -> Vec<Status> {
        let snapshot = self.registry.snapshot();
        let usable = snapshot.servers.iter().map(|server| {
            let base = Status {
                name: server.name.clone(),
                address: redact::line(&server.address),
                is_process: server.is_process(),
                state: "idle",
                ..Status::default()
            };
            let slot = self.slots.hold().get(&server.name).filter(|slot| slot.server == *server).cloned();
            match slot.map_or(State::Idle, |slot| slot.seen()) {
                State::Idle => match server.missing_program(self.registry.environment()) {
                    Some(program) => {
                        let error = Some(format!("there is no program `{}` on this machine", redact::line(program)));
                        Status { state: "failed", error, ..base }
                    }
                    None => base,
                },
                State::Connecting { .. } => Status { state: "connecting", ..base },
                State::Failed { error, .. } => Status { state: "failed", error: Some(error.message), ..base },
                State::Ready(connection) => Status {
                    state: "connected",
                    tools: connection.known().map(|known| known.tools.len()),
                    dialect: Some(connection.dialect),
                    protocol: connection.protocol(),
                    ..base
                },
            }
        });
        let unusable = snapshot.unusable.iter().map(|entry| Status {
            name: entry.name.clone(),
            address: redact::line(&entry.address),
            state: if entry.error.is_some() { "unusable" } else { "disabled" },
            error: entry.error.clone(),
            ..Status::default()
        });
        usable.chain(unusable).collect()
    }
}

impl Status {
    /// As JSON: `{"name", "url" or "command", "status", ..}`.
    pub fn to_value(&self) -> Value {
        let address = if self.is_process { "command" } else { "url" };
        let mut out = json!({
            "name": self.name, address: self.address, "status": self.state, "error": self.error, "tools": self.tools,
            "dialect": self.dialect, "protocol": self.protocol,
        });
        out.as_object_mut().into_iter().for_each(|members| members.retain(|_, value| !value.is_null()));
        out
    }
}

/// Calls of tools since the start.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By server, and whether they failed.
    counts: BTreeMap<(String, bool), u64>,
    /// The latest last.
    latest: VecDeque<Called>,
}

/// A call of a tool that is over.
#[derive(Debug, Clone)]
pub struct Called {
    /// The server's name in the registry.
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// Whether the answer was an error.
    pub failed: bool,
    /// When it ended.
    pub at: SystemTime,
    /// How long it took.
    pub took: Duration,
}

/// Maximum number of calls that are remembered one by one.
const LATEST: usize = 100;
/// So many of the latest calls of a server are shown.
const SHOWN: usize = 5;

impl Pool {
    /// How often each server was called since the start: its name, whether the calls failed, how many.
    pub fn calls(&self) -> Vec<(String, bool, u64)> {
        self.calls.hold().counts.iter().map(|((server, failed), count)| (server.clone(), *failed, *count)).collect()
    }

    /// The latest calls of this server, the latest first.
    pub fn latest_calls(&self, server: &str) -> Vec<Called> {
        self.calls.hold().latest.iter().rev().filter(|called| called.server == server).take(SHOWN).cloned().collect()
    }
}

impl Calls {
    pub(super) fn add(&mut self, called: Called) {
        *self.counts.entry((called.server.clone(), called.failed)).or_default() += 1;
        if self.latest.len() >= LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(called);
    }
}
