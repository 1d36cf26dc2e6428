//! Writes a finished request as spans in OTLP's JSON form, with the names of the semantic conventions for generative AI
//! (<https://github.com/open-telemetry/semantic-conventions-genai>). Spans hold names, numbers and reasons, never text of the
//! conversation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use url::Url;

use super::context::{Context, span_id};
use crate::{
    redact,
    server::facts::{Facts, Ran},
};

/// `SpanKind`.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// `StatusCode`.
const ERROR: u8 = 2;
/// The spans of a request that is over: its own, and one for each tool that toolglot ran. None if no model was asked.
pub(super) fn spans(context: &Context, facts: &Facts, now: SystemTime) -> Vec<String> {
    let (Some(target), Some(operation)) = (&facts.target, operation(&facts.path)) else { return Vec::new() };
    let model = redact::line(&target.called);
    let turn = facts.turn.as_ref();
    let failed = turn.and_then(|turn| turn.failed.as_ref()).map(|failed| failed.code.clone());
    let failed = failed.or_else(|| facts.status.filter(|status| *status >= 400).map(|status| status.to_string()));
    let url: Option<Url> = target.backend.url.parse().ok();
    let mut attributes = vec![
        text("gen_ai.operation.name", operation),
        text("gen_ai.provider.name", target.backend.traits().provider),
        text("gen_ai.request.model", &model),
        text("gen_ai.response.model", &redact::line(&target.model)),
        text("toolglot.mode", facts.mode),
        text("toolglot.backend", &target.backend.name),
        text("toolglot.request.id", &facts.id),
    ];
    attributes.extend(url.as_ref().and_then(Url::host_str).map(|host| text("server.address", host)));
    attributes.extend(url.as_ref().and_then(Url::port_or_known_default).map(|port| number("server.port", port)));
    attributes.extend(failed.as_ref().map(|failed| text("error.type", failed)));
    attributes.extend(facts.client.as_ref().map(|client| text("toolglot.client", client)));
    attributes.extend(Some(&facts.tenant).filter(|tenant| !tenant.is_empty()).map(|tenant| text("toolglot.tenant", tenant)));
    if let Some(turn) = turn {
        if turn.usage.total_tokens() > 0 {
            attributes.push(number("gen_ai.usage.input_tokens", turn.usage.prompt_tokens));
            attributes.push(number("gen_ai.usage.output_tokens", turn.usage.completion_tokens));
        }
        if let Some(finish) = turn.finish.filter(|_| failed.is_none()) {
            let reasons = json!({"values": [{"stringValue": finish.as_str()}]});
            attributes.push(json!({"key": "gen_ai.response.finish_reasons", "value": {"arrayValue": reasons}}));
        }
        if let Some(first) = facts.first.filter(|_| turn.first_sent.is_some()) {
            let seconds = json!({"doubleValue": first.as_secs_f64()});
            attributes.push(json!({"key": "gen_ai.response.time_to_first_chunk", "value": seconds}));
        }
        attributes.push(text("toolglot.adapter", &turn.adapter));
        for (name, count) in [
            ("toolglot.rounds", turn.rounds as usize),
            ("toolglot.calls", turn.calls.delivered as usize),
            ("toolglot.fixes", turn.calls.fixes),
            ("toolglot.refusals", turn.calls.refusals.len()),
        ] {
            attributes.push(number(name, count));
        }
    }
    let span = Span {
        context,
        id: &context.span,
        parent: context.parent.as_deref(),
        name: format!("{operation} {model}"),
        kind: CLIENT,
        begun: now.checked_sub(facts.taken).unwrap_or(UNIX_EPOCH),
        taken: facts.taken,
        attributes,
        failed: failed.is_some(),
    };
    let runs = turn.map(|turn| turn.ran.as_slice()).unwrap_or_default();
    std::iter::once(span.written()).chain(runs.iter().map(|ran| tool(context, ran, now))).collect()
}

/// The body of an export request.
pub(super) fn request(resource: &[(String, String)], spans: &[String]) -> String {
    let attributes: Vec<Value> = resource.iter().map(|(key, value)| text(key, value)).collect();
    let scope = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    format!(
        r#"{{"resourceSpans":[{{"resource":{},"scopeSpans":[{{"scope":{scope},"spans":[{}]}}]}}]}}"#,
        json!({"attributes": attributes}),
        spans.join(",")
    )
}

/// What a path asks of a model; `None` for everything that is no inference, such as counting tokens.
fn operation(path: &str) -> Option<&'static str> {
    match path.rsplit('/').next()? {
        "completions" if !path.ends_with("/chat/completions") => Some("text_completion"),
        "generate" => Some("text_completion"),
        "completions" | "chat" | "messages" | "responses" | "generate_with_mcp" => Some("chat"),
        "embeddings" | "embed" => Some("embeddings"),
        _ => None,
    }
}

/// The span of a tool that ran, a child of the request's.
fn tool(context: &Context, ran: &Ran, now: SystemTime) -> String {
    let name = redact::line(&ran.name);
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &name),
        text("gen_ai.tool.type", "extension"),
        text("gen_ai.tool.call.id", &redact::line(&ran.id)),
        text("toolglot.mcp.server", &ran.server),
    ];
    attributes.extend(ran.failed.then(|| text("error.type", "tool_error")));
    Span {
        context,
        id: &span_id(),
        parent: Some(&context.span),
        name: format!("execute_tool {name}"),
        kind: INTERNAL,
        begun: now.checked_sub(ran.ended.elapsed() + ran.took).unwrap_or(UNIX_EPOCH),
        taken: ran.took,
        attributes,
        failed: ran.failed,
    }
    .written()
}

struct Span<'a> {
    context: &'a Context,
    id: &'a str,
    parent: Option<&'a str>,
    name: String,
    kind: u8,
    begun: SystemTime,
    taken: Duration,
    attributes: Vec<Value>,
    failed: bool,
}

impl Span<'_> {
    fn written(self) -> String {
        let begun = self.begun.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut span = json!({
            "traceId": self.context.trace,
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind,
            // 64-bit numbers are strings in the JSON form of Protocol Buffers.
            "startTimeUnixNano": begun.as_nanos().to_string(),
            "endTimeUnixNano": (begun + self.taken).as_nanos().to_string(),
            "attributes": self.attributes,
            // Bits 8 and 9: it is known whether the parent is in another process.
            "flags": if self.kind == CLIENT && self.parent.is_some() { 0x301 } else { 0x101 },
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = json!(parent);
        }
        if self.failed {
            span["status"] = json!({"code": ERROR});
        }
        span.to_string()
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number(key: &str, value: impl ToString) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}
