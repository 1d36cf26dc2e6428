//! Facts about the results that the model has seen in this turn and that affect later calls.

use std::collections::HashSet;

use crate::{event::Tools, mcp::response::ServiceInfo, openai::ToolCall, same, turn::reask};

/// What is known of the results that the model has seen.
#[derive(Default)]
pub(super) struct Seen {
    /// The server whose results strangers may have written.
    pub(super) tainted: Option<String>,
    /// The services, the latest first.
    pub(super) services: Vec<ServiceInfo>,
    /// Calls that gave nothing, until the model is told so.
    pub(super) vain: HashSet<same::Call>,
}

impl Seen {
    /// Records that the model sees a result of this service, and whether strangers may have written it.
    pub(super) fn add(&mut self, service: &ServiceInfo, open_world: bool) {
        if open_world && self.tainted.is_none() {
            self.tainted = Some(service.server.clone());
        }
        self.services.retain(|known| known != service);
        self.services.insert(0, service.clone());
    }

    /// What the model is told, once, if it repeats a call that gave nothing and optional arguments may be the reason. If small
    /// models read this next to the empty result, they repeat the call nevertheless.
    pub(super) fn take_vain(&mut self, call: &ToolCall, tools: &Tools) -> Option<String> {
        if !self.vain.remove(&same::Call::new(&call.name, &call.arguments)) {
            return None;
        }
        let options = reask::options(tools.get(&call.name)?, &call.arguments);
        let options: Vec<String> = options.iter().map(|key| format!("`{key}`")).collect();
        let options = (!options.is_empty()).then(|| options.join(", "))?;
        Some(format!(
            "error: not run: the same call has just given an empty result. Call it without {options}, or call another tool."
        ))
    }
}
