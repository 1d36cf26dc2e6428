//! The tools of many servers as one list in a fixed order: under which name and with which schema each is offered, and what
//! may be done with it.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{names, registry::Permission, response::ServiceInfo};
use crate::{
    event::{Effect, Origin, Tool},
    fix::{self, End, Schemas},
    openai::tokens,
};

/// All tools that can be offered now. Built-in ones come first, the others are sorted by server and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// The tools.
    pub tools: Vec<Offered>,
    /// Servers and tools that are not offered, and why.
    pub problems: Vec<Problem>,
    /// The servers' own descriptions (`instructions`), by server.
    pub instructions: Vec<(String, String)>,
}

/// A tool that can be offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// Its server, and its name there.
    pub service: ServiceInfo,
    /// Its full name in the characters that OpenAI's clients allow.
    pub wire_name: String,
    /// The description.
    pub description: String,
    /// The input schema without what policies hide, as JSON text.
    pub schema: Arc<str>,
    /// The tool as clients of toolglot's MCP server see it, but for its name.
    pub(super) described: rmcp::model::Tool,
    /// Its effect.
    pub effect: Effect,
    /// Whether it may be called; never [`Permission::Deny`].
    pub permission: Permission,
    /// Whether strangers may have written its results.
    pub open_world: bool,
    /// Parameters whose explicit `null` has a meaning for a policy.
    pub keeps_null: Vec<String>,
}

/// A server or tool that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The server.
    pub server: String,
    /// What is wrong, for people.
    pub message: String,
}

impl Catalogue {
    /// Adds what another server offers.
    pub(super) fn extend(&mut self, other: Catalogue) {
        self.tools.extend(other.tools);
        self.problems.extend(other.problems);
        self.instructions.extend(other.instructions);
    }

    /// Sorts the tools and gives each its wire name. `b__c` of server `a` and `c` of server `a__b` have one full name: only the tool
    /// of the longer name of a server is offered, because its name is the user's choice and that of a tool is the server's.
    pub(super) fn with_names(mut self) -> Catalogue {
        let Catalogue { tools, problems, .. } = &mut self;
        tools.sort_by(|a, b| a.service.cmp(&b.service));
        tools.dedup_by(|later, first| later.service == first.service);
        let mut longest: HashMap<String, usize> = HashMap::new();
        for service in tools.iter().map(|tool| &tool.service) {
            let known = longest.entry(service.full_name()).or_default();
            *known = service.server.len().max(*known);
        }
        tools.retain(|Offered { service, .. }| {
            let is_meant = longest.get(&service.full_name()) == Some(&service.server.len());
            if !is_meant {
                let message =
                    format!("its tool `{}` is not offered: `{}` is the name of another one", service.tool, service.full_name());
                problems.push(Problem { server: service.server.clone(), message });
            }
            is_meant
        });
        let services: Vec<ServiceInfo> = tools.iter().map(|tool| tool.service.clone()).collect();
        for (tool, wire) in tools.iter_mut().zip(names::wire_names(&services)) {
            tool.wire_name = wire;
        }
        self
    }

    /// The tool that a written name means. `context`: the services of the last results, the latest first.
    pub fn resolve(&self, written: &str, context: &[ServiceInfo]) -> Option<&Offered> {
        let offered: Vec<_> = self.tools.iter().map(|tool| (&tool.service, tool.wire_name.as_str())).collect();
        let service = names::resolve(written, &offered, context)?;
        self.tools.iter().find(|tool| tool.service == *service)
    }
}

impl Offered {
    /// The tool for the table of a request.
    pub fn to_tool(&self) -> Tool {
        Tool {
            wire_name: self.wire_name.clone(),
            effect: self.effect,
            keeps_null: self.keeps_null.clone(),
            origin: Origin::Registry { server: self.service.server.clone(), tool: self.service.tool.clone() },
            ..Tool::new(self.service.full_name(), self.description.clone(), Arc::clone(&self.schema))
        }
    }

    /// Arguments in the declared types: some clients send every value as a string.
    ///
    /// # Errors
    /// Why they are refused.
    pub fn arguments(&self, written: &str, schemas: &Schemas) -> Result<Map<String, Value>, String> {
        let report = fix::fix(written, Some(&schemas.get(&self.schema)), &self.keeps_null, End::Whole);
        match (report.accepted(), &report.why) {
            (Some(text), _) => {
                serde_json::from_str(text).map_err(|error| format!("the arguments must be a JSON object: {error}"))
            }
            (None, Some(why)) => Err(why.to_string()),
            (None, None) => Err("its arguments cannot be read".into()),
        }
    }

    /// An estimate of the cost of offering it, in tokens.
    pub fn tokens(&self) -> u64 {
        tokens::usual(tokens::tool_bytes(&self.wire_name, &self.description, &self.schema))
    }

    /// Whether it is a built-in tool.
    pub fn is_built_in(&self) -> bool {
        !self.service.external
    }
}
