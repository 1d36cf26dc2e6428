//! Combines a tool's description by its server with the operator's decisions.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};

use super::BUILT_IN;
use crate::{
    builtin,
    event::Effect,
    mcp::{
        catalogue::Offered,
        parameters::View,
        registry::{Permission, Server},
        response::ServiceInfo,
    },
};

/// A tool as it is offered; `None` if it is denied.
pub(super) fn offered(server: &Server, tool: &Tool) -> Option<Offered> {
    let hints = tool.annotations.clone().unwrap_or_default();
    // Hints of a server that is not trusted may restrict, never permit.
    let effect = server.effect(&tool.name).unwrap_or(match (hints.destructive_hint, hints.read_only_hint) {
        (Some(true), _) => Effect::Destroys,
        (_, Some(true)) if server.trust => Effect::Reads,
        _ => Effect::Writes,
    });
    let permission = server.permission(&tool.name).unwrap_or_else(|| Permission::usual(effect));
    if permission == Permission::Deny {
        return None;
    }
    let view = view(server, tool);
    let schema = view.schema.to_string().into();
    let mut described = tool.clone();
    described.input_schema = Arc::new(serde_json::from_value(view.schema).unwrap_or_default());
    // Pins do not cover these.
    (described.icons, described.meta) = (None, None);
    Some(Offered {
        service: ServiceInfo::external(server.name.clone(), tool.name.clone()),
        wire_name: String::new(),
        description: tool.description.as_deref().unwrap_or_default().to_owned(),
        schema,
        described,
        effect,
        permission,
        open_world: server.open_world,
        keeps_null: view.keeps_null,
    })
}

/// What the operator's policy makes of the parameters of a tool.
pub(super) fn view(server: &Server, tool: &Tool) -> View {
    let schema = tool.schema_as_json_value();
    View::new(&schema, &server.policy(&tool.name, &schema))
}

pub(super) fn built_in() -> Vec<Offered> {
    let offer = |tool: &builtin::Definition| Offered {
        service: ServiceInfo::built_in(BUILT_IN, tool.name),
        wire_name: String::new(),
        description: tool.description.to_owned(),
        schema: tool.schema.into(),
        described: Tool::new(tool.name, tool.description, serde_json::from_str::<JsonObject>(tool.schema).unwrap_or_default())
            .with_annotations(ToolAnnotations::new().read_only(true).open_world(false)),
        effect: Effect::Reads,
        permission: Permission::Allow,
        open_world: false,
        keeps_null: Vec::new(),
    };
    builtin::DEFINITIONS.iter().map(offer).collect()
}
