//! The answer of any tool in one form, JSON-RPC 2.0. It is made where the tool is called, so nothing downstream guesses what
//! is an error. Every item of content says which tool of which server it came from.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::redact;

#[cfg(test)]
mod tests;

/// JSON-RPC's "internal error", the default code.
pub const INTERNAL_ERROR: i64 = -32603;
/// JSON-RPC's "invalid params", for unknown tools and refused calls.
pub const INVALID_PARAMS: i64 = -32602;

/// How an error begins to say that the call of a tool with effects may have had them.
pub const OUTCOME_UNKNOWN: &str = "the outcome of the call is unknown";

/// The key in an item's `_meta` that says which tool it came from.
const META: &str = "toolglot/serviceInfo";
/// The same key next to the item's own fields.
const FIELD: &str = "serviceInfo";

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct McpResponse {
    /// The tool's result, which may report a failure, or an error that kept the tool from answering.
    pub outcome: Result<ToolResult, RpcError>,
}

/// The result of a tool. Serialized, it is MCP's `CallToolResult`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolResult {
    /// Content items in MCP's form: `{"type": "text", "text": ..}` and others.
    pub content: Vec<Value>,
    /// Machine-readable result.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether the tool reports a failure.
    #[serde(rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Why a tool did not run, or its answer did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RpcError {
    /// JSON-RPC's code.
    pub code: i64,
    /// A sentence that a model and a person can act on.
    pub message: String,
    /// The tool has effects, and the call was sent: it is not known whether it has had them.
    #[serde(skip)]
    pub may_have_run: bool,
}

/// The tool that an item of content came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceInfo {
    /// Whether a server of the registry runs it, not this program. Built-in tools sort before all others.
    pub external: bool,
    /// The server's name in the registry, or the service's name.
    pub server: String,
    /// The tool's own name.
    pub tool: String,
}

impl McpResponse {
    /// A result.
    pub fn result(result: ToolResult) -> McpResponse {
        McpResponse { outcome: Ok(result) }
    }

    /// An error with the usual code ([`INTERNAL_ERROR`]).
    pub fn error(message: impl Into<String>) -> McpResponse {
        McpResponse { outcome: Err(RpcError::new(INTERNAL_ERROR, message)) }
    }

    /// The answer of a call that was broken off. `has_effects`: it may have had them.
    pub fn broken_off(service: &ServiceInfo, reason: &str, has_effects: bool) -> McpResponse {
        McpResponse { outcome: Err(RpcError::lost(reason).of_call(service, has_effects)) }
    }

    /// Adds to every item of content which tool it came from.
    pub fn from_service(mut self, service: &ServiceInfo) -> McpResponse {
        if let Ok(result) = &mut self.outcome {
            for item in &mut result.content {
                service.mark(item);
            }
        }
        self
    }

    /// Whether the call failed, in either way.
    pub fn is_error(&self) -> bool {
        self.outcome.as_ref().map_or(true, |result| result.is_error)
    }

    /// Whether it is unknown if the call has had its effect.
    pub fn may_have_run(&self) -> bool {
        self.outcome.as_ref().is_err_and(|error| error.may_have_run)
    }

    /// The text for a model: the texts of the content joined by newlines, the structured result if there is no text, or the
    /// error. Other content is only named.
    pub fn to_text(&self) -> String {
        match &self.outcome {
            Err(error) => format!("error: {}", error.message),
            Ok(ToolResult { content, structured: Some(structured), .. }) if content.is_empty() => structured.to_string(),
            Ok(result) => result.content.iter().map(item_text).collect::<Vec<_>>().join("\n"),
        }
    }

    /// JSON-RPC 2.0, for a call that had no id.
    pub fn to_value(&self) -> Value {
        match &self.outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": null, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": null, "error": error}),
        }
    }

    /// Replaces every occurrence of these texts, also as JSON writes them, in everything that it says.
    pub(super) fn redact(&mut self, secrets: &[String]) {
        if secrets.is_empty() {
            return;
        }
        match &mut self.outcome {
            Err(error) => redact_text(&mut error.message, secrets),
            Ok(result) => {
                result.content.iter_mut().for_each(|item| redact_value(item, secrets));
                if let Some(structured) = &mut result.structured {
                    redact_value(structured, secrets);
                }
            }
        }
    }
}

impl RpcError {
    /// The error of a call that certainly did not run.
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), may_have_run: false }
    }

    /// The error of a call that was sent, and of which nothing is known since.
    pub(super) fn lost(message: impl Into<String>) -> RpcError {
        RpcError { may_have_run: true, ..RpcError::new(INTERNAL_ERROR, message) }
    }

    /// The same error with the tool's name, and a warning if the call may have had its effect. A tool without effects can be asked
    /// again whatever became of the first call.
    pub(super) fn of_call(self, service: &ServiceInfo, has_effects: bool) -> RpcError {
        let may_have_run = self.may_have_run && has_effects;
        let reason = if may_have_run { outcome_unknown(&self.message) } else { self.message };
        RpcError { message: format!("{}: {reason}", service.full_name()), may_have_run, ..self }
    }
}

impl ToolResult {
    /// A result of one text.
    pub(super) fn text(text: impl Into<String>) -> ToolResult {
        let text: String = text.into();
        ToolResult { content: vec![json!({"type": "text", "text": text})], ..ToolResult::default() }
    }

    /// Whether the only content is JSON text of an object with a non-null `error`: how some servers hide a failure.
    pub(super) fn hides_error(&self) -> bool {
        let [item] = self.content.as_slice() else { return false };
        let Some(text) = item.get("text").and_then(Value::as_str) else { return false };
        let parsed: Option<Map<String, Value>> = serde_json::from_str(text).ok();
        parsed.and_then(|object| object.get("error").cloned()).is_some_and(|error| !error.is_null() && error != json!(false))
    }
}

impl ServiceInfo {
    /// A tool of a server of the registry.
    pub fn external(server: impl Into<String>, tool: impl Into<String>) -> ServiceInfo {
        ServiceInfo { external: true, server: server.into(), tool: tool.into() }
    }

    /// A tool of this program.
    pub fn built_in(service: impl Into<String>, tool: impl Into<String>) -> ServiceInfo {
        ServiceInfo { external: false, server: service.into(), tool: tool.into() }
    }

    /// `server__tool` or `builtin.server__tool`.
    pub fn full_name(&self) -> String {
        let prefix = if self.external { "" } else { "builtin." };
        format!("{prefix}{}__{}", self.server, self.tool)
    }

    /// What runs the tool, as it is spelt inside `serviceInfo`.
    pub(super) fn backend(&self) -> &'static str {
        if self.external { "ExternalMCP" } else { "BuiltInRust" }
    }

    /// Copies an item's origin from its `_meta` next to the item's own fields.
    pub(super) fn show(item: &mut Value) {
        if let Some(info) = item.get("_meta").and_then(|meta| meta.get(META)).cloned()
            && let Some(item) = item.as_object_mut()
        {
            item.insert(FIELD.into(), info);
        }
    }

    fn mark(&self, item: &mut Value) {
        let Some(item) = item.as_object_mut() else { return };
        let info = json!({"serverName": self.server, "toolName": self.tool, "backendType": self.backend()});
        if let Some(meta) = item.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
            meta.insert(META.into(), info.clone());
        }
        item.insert(FIELD.into(), info);
    }
}

/// What a model is told of a call that may have had its effect. `reason`: why nothing more is known.
pub fn outcome_unknown(reason: &str) -> String {
    format!("{OUTCOME_UNKNOWN}. It may have had its effect: do not repeat it. The reason: {reason}")
}

fn item_text(item: &Value) -> String {
    let field = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match item.get("type").and_then(Value::as_str) {
        Some("text") => field(item, "text"),
        Some("resource") => {
            let resource = item.get("resource").unwrap_or(&Value::Null);
            match resource.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => format!("[resource {}]", field(resource, "uri")),
            }
        }
        Some("resource_link") => format!("[resource {}: {}]", field(item, "uri"), field(item, "name")),
        Some(kind @ ("image" | "audio")) => format!("[{kind} of type {}]", field(item, "mimeType")),
        _ => item.to_string(),
    }
}

fn redact_value(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => redact_text(text, secrets),
        Value::Array(list) => list.iter_mut().for_each(|value| redact_value(value, secrets)),
        Value::Object(object) => {
            let written = std::mem::take(object).into_iter().map(|(mut name, mut value)| {
                redact_text(&mut name, secrets.iter().filter(|secret| is_credential(secret)));
                redact_value(&mut value, secrets);
                (name, value)
            });
            object.extend(written);
        }
        Value::Number(number) if secrets.contains(&number.to_string()) => *value = json!("[hidden]"),
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Whether a hidden value is no word of prose, so that it is a secret wherever it stands.
fn is_credential(secret: &str) -> bool {
    secret.len() >= redact::CREDENTIAL_BYTES && !secret.chars().all(char::is_alphabetic)
}

/// Replaces whole tokens: `main` goes, `mainly` and the JSON key `"main":` stay. A credential goes everywhere.
fn redact_text<'s>(text: &mut String, secrets: impl IntoIterator<Item = &'s String>) {
    for secret in secrets {
        let mut out = String::new();
        let mut copied = 0;
        for place in redact::places(text, secret) {
            let (before, after) = (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default());
            let glued = |inside: Option<char>, outside: Option<char>| {
                inside.is_some_and(char::is_alphanumeric) && outside.is_some_and(char::is_alphanumeric)
            };
            let is_token = !glued(secret.chars().next(), before.chars().next_back())
                && !glued(secret.chars().next_back(), after.chars().next());
            let is_key = after.trim_start_matches('\\').strip_prefix('"').is_some_and(|rest| rest.trim_start().starts_with(':'))
                && before.ends_with('"');
            if is_credential(secret) || is_token && !is_key {
                out.push_str(text.get(copied..place.start).unwrap_or_default());
                out.push_str("[hidden]");
                copied = place.end;
            }
        }
        if copied > 0 {
            out.push_str(text.get(copied..).unwrap_or_default());
            *text = out;
        }
    }
}
