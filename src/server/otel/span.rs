//! Writes a finished request as spans of OpenTelemetry, with the names of the semantic conventions for generative AI
//! (<https://github.com/open-telemetry/semantic-conventions-genai>). Spans hold names, numbers and reasons, never text of the
//! conversation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::{
    Array, InstrumentationScope, KeyValue, StringValue, Value,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags},
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};
use url::Url;

use crate::{
    redact,
    server::account::{Facts, Ran},
};

/// The spans of a request that is over: its own, and one for each tool that toolglot ran. None if no model was asked.
pub(super) fn spans(context: &SpanContext, parent: &SpanContext, facts: &Facts, now: SystemTime) -> Vec<SpanData> {
    let (Some(target), Some(operation)) = (&facts.target, operation(&facts.path)) else { return Vec::new() };
    let model = redact::line(&target.called);
    let turn = facts.turn.as_ref();
    let failed = turn.and_then(|turn| turn.failed.as_ref()).map(|failed| failed.code.clone());
    let failed = failed.or_else(|| facts.status.filter(|status| *status >= 400).map(|status| status.to_string()));
    let url: Option<Url> = target.backend.url.parse().ok();
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", operation),
        KeyValue::new("gen_ai.provider.name", target.backend.traits().provider),
        KeyValue::new("gen_ai.request.model", model.clone()),
        KeyValue::new("gen_ai.response.model", redact::line(&target.model)),
        KeyValue::new("toolglot.mode", facts.mode),
        KeyValue::new("toolglot.backend", target.backend.name.clone()),
        KeyValue::new("toolglot.request.id", facts.id.clone()),
    ];
    attributes.extend(url.as_ref().and_then(Url::host_str).map(|host| KeyValue::new("server.address", host.to_owned())));
    attributes
        .extend(url.as_ref().and_then(Url::port_or_known_default).map(|port| KeyValue::new("server.port", i64::from(port))));
    attributes.extend(failed.as_ref().map(|failed| KeyValue::new("error.type", failed.clone())));
    attributes.extend(facts.client.as_ref().map(|client| KeyValue::new("toolglot.client", client.clone())));
    attributes.extend(
        Some(&facts.tenant).filter(|tenant| !tenant.is_empty()).map(|tenant| KeyValue::new("toolglot.tenant", tenant.clone())),
    );
    if let Some(turn) = turn {
        if turn.usage.total_tokens() > 0 {
            attributes.push(number("gen_ai.usage.input_tokens", turn.usage.prompt_tokens));
            attributes.push(number("gen_ai.usage.output_tokens", turn.usage.completion_tokens));
        }
        if let Some(finish) = turn.finish.filter(|_| failed.is_none()) {
            let reasons = Value::Array(Array::String(vec![StringValue::from(finish.as_str())]));
            attributes.push(KeyValue::new("gen_ai.response.finish_reasons", reasons));
        }
        if let Some(first) = facts.first.filter(|_| turn.first_sent.is_some()) {
            attributes.push(KeyValue::new("gen_ai.response.time_to_first_chunk", first.as_secs_f64()));
        }
        attributes.push(KeyValue::new("toolglot.adapter", turn.adapter.clone()));
        for (name, count) in [
            ("toolglot.rounds", u64::from(turn.rounds)),
            ("toolglot.calls", turn.delivered.into()),
            ("toolglot.fixes", turn.fixes as u64),
            ("toolglot.refusals", turn.refusals.len() as u64),
        ] {
            attributes.push(number(name, count));
        }
    }
    let span = SpanData {
        parent_span_id: parent.span_id(),
        parent_span_is_remote: parent.is_valid(),
        span_kind: SpanKind::Client,
        ..span(context.clone(), format!("{operation} {model}"), (now, facts.taken), attributes, failed.is_some())
    };
    let runs = turn.map(|turn| turn.ran.as_slice()).unwrap_or_default();
    std::iter::once(span).chain(runs.iter().map(|ran| tool(context, ran, now))).collect()
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
fn tool(context: &SpanContext, ran: &Ran, now: SystemTime) -> SpanData {
    let name = redact::line(&ran.name);
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", "execute_tool"),
        KeyValue::new("gen_ai.tool.name", name.clone()),
        KeyValue::new("gen_ai.tool.type", "extension"),
        KeyValue::new("gen_ai.tool.call.id", redact::line(&ran.id)),
        KeyValue::new("toolglot.mcp.server", ran.server.clone()),
    ];
    attributes.extend(ran.failed.then(|| KeyValue::new("error.type", "tool_error")));
    let id = RandomIdGenerator::default().new_span_id();
    let own = SpanContext::new(context.trace_id(), id, TraceFlags::SAMPLED, false, context.trace_state().clone());
    let ended = now.checked_sub(ran.ended.elapsed()).unwrap_or(UNIX_EPOCH);
    let span = span(own, format!("execute_tool {name}"), (ended, ran.took), attributes, ran.failed);
    SpanData { parent_span_id: context.span_id(), ..span }
}

/// A span without a parent, by when it ended and how long it took.
fn span(
    context: SpanContext,
    name: String,
    (ended, took): (SystemTime, Duration),
    attributes: Vec<KeyValue>,
    failed: bool,
) -> SpanData {
    SpanData {
        span_context: context,
        parent_span_id: SpanId::INVALID,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: name.into(),
        start_time: ended.checked_sub(took).unwrap_or(UNIX_EPOCH),
        end_time: ended,
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if failed { Status::error("") } else { Status::Unset },
        instrumentation_scope: InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

/// A count; OTLP's integers have a sign.
fn number(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(value).unwrap_or(i64::MAX))
}
