//! Combines a tool's description by its server with the operator's decisions.

use serde_json::{Value, json};

use super::{BUILT_IN, Definition};
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
pub(super) fn offered(server: &Server, tool: &Definition) -> Option<Offered> {
    let hint = |name: &str| tool.annotations.as_ref().and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    // Hints of a server that is not trusted may restrict, never permit.
    let effect = server.effect(&tool.name).unwrap_or(match (hint("destructiveHint"), hint("readOnlyHint")) {
        (Some(true), _) => Effect::Destroys,
        (_, Some(true)) if server.trust => Effect::Reads,
        _ => Effect::Writes,
    });
    let permission = server.permission(&tool.name).unwrap_or_else(|| Permission::usual(effect));
    if permission == Permission::Deny {
        return None;
    }
    let mut view = View::new(&tool.schema, &server.policy(&tool.name, &tool.schema));
    without_header_marks(&mut view.schema);
    Some(Offered {
        service: ServiceInfo::external(server.name.clone(), tool.name.clone()),
        wire_name: String::new(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        schema: view.schema.to_string().into(),
        output_schema: tool.output_schema.clone(),
        annotations: tool.annotations.clone(),
        effect,
        permission,
        open_world: server.open_world,
        keeps_null: view.keeps_null,
    })
}

/// Takes out `x-mcp-header`: which arguments travel in headers, too, is between us and the server.
fn without_header_marks(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.shift_remove("x-mcp-header");
            object.values_mut().for_each(without_header_marks);
        }
        Value::Array(list) => list.iter_mut().for_each(without_header_marks),
        _ => {}
    }
}

pub(super) fn built_in() -> Vec<Offered> {
    let offer = |tool: &builtin::Definition| Offered {
        service: ServiceInfo::built_in(BUILT_IN, tool.name),
        wire_name: String::new(),
        title: None,
        description: tool.description.to_owned(),
        schema: tool.schema.into(),
        output_schema: None,
        annotations: Some(json!({"readOnlyHint": true, "openWorldHint": false})),
        effect: Effect::Reads,
        permission: Permission::Allow,
        open_world: false,
        keeps_null: Vec::new(),
    };
    builtin::DEFINITIONS.iter().map(offer).collect()
}
