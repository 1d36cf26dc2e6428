//! The tools of many servers as one list in a fixed order: under which name and with which schema each is offered, and what
//! may be done with it.

use std::sync::Arc;

use serde_json::Value;

use super::{
    names,
    registry::Permission,
    response::{BackendType, ServiceInfo},
};
use crate::event::{Effect, Origin, Tool};

/// All tools that can be offered now, sorted: built-in ones first, then by server and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// The tools.
    pub tools: Vec<Offered>,
    /// Servers and tools that are not offered, and why.
    pub problems: Vec<Problem>,
    /// What servers say about themselves for those who use their tools (`instructions`), by server.
    pub instructions: Vec<(String, String)>,
}

/// A tool that can be offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// Whose it is and what it is called there.
    pub service: ServiceInfo,
    /// Its full name in the charset of OpenAI's clients.
    pub wire_name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// The input schema without what policies hide, as JSON text.
    pub schema: Arc<str>,
    /// The schema of its structured results.
    pub output_schema: Option<Value>,
    /// The server's hints, as they came.
    pub annotations: Option<Value>,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether it may be called; never [`Permission::Deny`].
    pub permission: Permission,
    /// What it returns may have been written by strangers.
    pub open_world: bool,
    /// Parameters whose explicit null a policy reads.
    pub keeps_null: Vec<String>,
}

/// Something that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The server.
    pub server: String,
    /// What is wrong, for people.
    pub message: String,
}

// === impl Catalogue ===

impl Catalogue {
    /// Sorts the tools and gives each its wire name.
    pub(super) fn new(mut tools: Vec<Offered>, problems: Vec<Problem>, instructions: Vec<(String, String)>) -> Catalogue {
        tools.sort_by(|a, b| a.service.cmp(&b.service));
        tools.dedup_by(|later, first| later.service == first.service);
        let services: Vec<ServiceInfo> = tools.iter().map(|tool| tool.service.clone()).collect();
        for (tool, wire) in tools.iter_mut().zip(names::wire_names(&services)) {
            tool.wire_name = wire;
        }
        Catalogue { tools, problems, instructions }
    }

    /// The tool that a written name means. `context` are the services of the last results, the latest first.
    pub fn resolve(&self, written: &str, context: &[ServiceInfo]) -> Option<&Offered> {
        let offered: Vec<_> = self.tools.iter().map(|tool| (&tool.service, tool.wire_name.as_str())).collect();
        let service = names::resolve(written, &offered, context)?;
        self.tools.iter().find(|tool| tool.service == *service)
    }
}

// === impl Offered ===

impl Offered {
    /// The tool as a request carries it.
    pub fn to_tool(&self) -> Tool {
        Tool {
            wire_name: self.wire_name.clone(),
            effect: self.effect,
            keeps_null: self.keeps_null.clone(),
            origin: Origin::Registry { server: self.service.server.clone(), tool: self.service.tool.clone() },
            ..Tool::new(self.service.full_name(), self.description.clone(), Arc::clone(&self.schema))
        }
    }

    /// What offering it costs, in tokens: an estimate at four bytes a token, as good as any without the model's tokenizer.
    pub fn tokens(&self) -> usize {
        (self.wire_name.len() + self.description.len() + self.schema.len() + FRAME).div_ceil(4)
    }

    /// Whether this program runs it.
    pub fn is_built_in(&self) -> bool {
        self.service.backend == BackendType::BuiltIn
    }
}

/// The JSON around name, description and schema of a tool.
const FRAME: usize = 80;
