//! Statistics of calls, for the metrics and the page: counts by server, and the latest calls without arguments and results.
//! `pool` and `connection` run the calls.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, SystemTime},
};

use super::Pool;
use crate::lock::Hold;

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
