//! Decides about each call of an answer: toolglot runs it, the client gets it, or the model is told why not.

use serde_json::{Map, Value};

use super::{Agent, collected::Written};
use crate::{
    event::{Effect, Origin, Tool, ToolCall, Tools, Why},
    fix::{self, End, Schemas, name},
    mcp::{catalogue::Offered, registry::Permission, response::ServiceInfo},
    turn::reask,
};

/// What becomes of a call.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    /// It is run here.
    Run {
        service: ServiceInfo,
        effect: Effect,
        /// Whether its result may have been written by strangers.
        open_world: bool,
        arguments: Map<String, Value>,
    },
    /// The client runs it.
    Client,
    /// It is not run.
    Answered {
        /// What the model is told.
        text: String,
        /// What the user is told.
        told: Option<String>,
        /// Whether it was meant for a tool of the client's.
        of_client: bool,
        /// Whether the call itself was wrong.
        refused: bool,
    },
}

/// What the decision depends on.
pub(super) struct Judge<'a> {
    pub(super) agent: &'a Agent,
    pub(super) tools: &'a Tools,
    pub(super) schemas: &'a Schemas,
    /// Whether the model may still be told that its call of a client's tool does not fit the schema.
    pub(super) may_reask: bool,
}

impl Fate {
    /// A call that is not run, with the text that the model gets instead of a result.
    pub(super) fn not_run(text: String) -> Fate {
        Fate::Answered { text, told: None, of_client: false, refused: false }
    }
}

impl Judge<'_> {
    /// Decides, and returns the call with the name under which it leaves.
    pub(super) fn judge(&self, Written { call, why, written }: Written) -> (ToolCall, Fate) {
        let (mut call, fate) = match self.tools.get(&call.name) {
            Some(tool) => self.known(call, why, tool),
            None => self.unknown(call, why),
        };
        // The model sees what it was told about.
        if matches!(fate, Fate::Answered { refused: true, .. }) && reask::is_object(&written) {
            call.arguments = written;
        }
        (call, fate)
    }

    fn known(&self, call: ToolCall, why: Option<Why>, tool: &Tool) -> (ToolCall, Fate) {
        // A doubt is asked about, as long as the model may be asked. A guess never runs here.
        let why = why.filter(|why| self.may_reask || !matches!(why, Why::Unsure(_)));
        let Origin::Registry { server, tool: own } = &tool.origin else {
            return match why {
                None => (call, Fate::Client),
                // If asking again did not help, the call leaves as the model wrote it, as in every mode.
                Some(Why::Schema(_)) if !self.may_reask => (call, Fate::Client),
                Some(why) => self.refused(call, why, true),
            };
        };
        if let Some(why) = why {
            return self.refused(call, why, false);
        }
        let is_meant = |offered: &&Offered| offered.service.server == *server && offered.service.tool == *own;
        let offered = self.agent.react.catalogue.tools.iter().find(is_meant);
        match offered {
            Some(offered) => self.ours(call, offered),
            None => self.refused(call, Why::UnknownTool(String::new()), false),
        }
    }

    /// Resolves a name that is not in the list: it may mean a tool of the server that answered last.
    fn unknown(&self, mut call: ToolCall, why: Option<Why>) -> (ToolCall, Fate) {
        let meant = self.agent.react.catalogue.resolve(&call.name, &self.agent.seen.services);
        let tool = meant.and_then(|offered| self.tools.iter().find(|tool| is_of(tool, &offered.service)));
        let (Some(tool), None) = (tool, &why) else {
            let unknown = || name::unknown(self.tools, &call.name).unwrap_or(Why::UnknownTool(String::new()));
            let why = why.unwrap_or_else(unknown);
            let (mut call, fate) = self.refused(call, why, false);
            if call.name.is_empty() {
                call.name = "unknown".into();
            }
            return (call, fate);
        };
        call.name.clone_from(&tool.name);
        let schema = self.schemas.get(tool.checked_schema());
        let report = fix::fix(&call.arguments, Some(&schema), &tool.keeps_null, End::Closed);
        let unsure = if tool.effect == Effect::Reads { None } else { fix::unsure(&report) };
        call.arguments = report.arguments.unwrap_or(call.arguments);
        self.known(call, report.why.or(unsure), tool)
    }

    /// A call of a tool that we can run.
    fn ours(&self, mut call: ToolCall, offered: &Offered) -> (ToolCall, Fate) {
        let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else {
            return self.refused(call, Why::NotAnObject, false);
        };
        let service = &offered.service;
        let tainted = self.agent.seen.tainted.as_ref().filter(|_| offered.effect != Effect::Reads);
        if offered.permission == Permission::Allow && tainted.is_none() {
            let fate = Fate::Run { service: service.clone(), effect: offered.effect, open_world: offered.open_world, arguments };
            return (call, fate);
        }
        // A person has to confirm it. If the client has a tool of that name, its user does.
        let at_client = self.tools.get(&service.tool).filter(|tool| tool.origin == Origin::Client);
        if let Some(tool) = at_client
            && fix::fix(&call.arguments, Some(&self.schemas.get(tool.checked_schema())), &tool.keeps_null, End::Closed)
                .why
                .is_none()
        {
            call.name.clone_from(&tool.name);
            return (call, Fate::Client);
        }
        let registry = self.agent.pool.registry();
        let file = registry.file().display();
        let why = match tainted {
            Some(server) => format!(
                "the result of `{server}` may have been written by strangers, and behind it tools with effects need a person's \
                 consent; `\"open_world\": false` in the entry of `{server}` in {file} lifts that"
            ),
            None if registry
                .get(&service.server)
                .is_some_and(|server| server.permission(&service.tool) == Some(Permission::Ask)) =>
            {
                format!(
                    "it needs a person's consent; its place in `\"ask\"` in the entry of `{}` in {file} says so",
                    service.server
                )
            }
            None => format!(
                "it may destroy something and needs a person's consent; `\"effects\": {{\"{}\": \"writes\"}}` in the entry of \
                 `{}` in {file} lets it run without",
                service.tool, service.server
            ),
        };
        let why = format!("call of {} was not run: {why}", call.name);
        let text = format!("error: {why}");
        (call, Fate::Answered { text, told: Some(why), of_client: false, refused: false })
    }

    fn refused(&self, call: ToolCall, why: Why, of_client: bool) -> (ToolCall, Fate) {
        let text = reask::complaint(&call.name, &why, &call.arguments, self.tools, None);
        (call, Fate::Answered { text, told: None, of_client, refused: true })
    }
}

fn is_of(tool: &Tool, service: &ServiceInfo) -> bool {
    matches!(&tool.origin, Origin::Registry { server, tool } if *server == service.server && *tool == service.tool)
}
