//! OpenTelemetry: sends one span per request for an answer to a collector, as OTLP/HTTP in JSON, with the names of the semantic
//! conventions for generative AI (<https://github.com/open-telemetry/semantic-conventions-genai>). Spans hold names, numbers and
//! reasons, never text of the conversation. It does nothing unless the environment names a collector.
//!
//! Trace context, sampling, the bounded queue and the batches are those of the SDK: a request only appends to the queue, and the
//! SDK's thread sends it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::extract::Request;
use opentelemetry::{
    Array, Context, InstrumentationScope, KeyValue, StringValue, Value,
    propagation::TextMapPropagator,
    trace::{SpanBuilder, SpanKind, Status, TraceContextExt, TracerProvider},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter},
};
use reqwest::redirect;
use tokio::{runtime::Handle, task::spawn_blocking};
use url::Url;

use super::account::{Facts, Turn};
use crate::{config::Environment, dial, redact};

/// Spans on their way to the collector.
pub(super) struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// A request whose span is open.
pub(super) struct Open {
    operation: &'static str,
    /// With its span.
    context: Context,
}

/// The exporter, on the server's runtime, because the HTTP client needs one and the SDK's thread has none.
#[derive(Debug)]
struct Sending {
    exporter: Arc<opentelemetry_otlp::SpanExporter>,
    runtime: Handle,
    failing: AtomicBool,
}

/// How long a collector may take if the environment does not say it.
const USUAL_MILLISECONDS: u64 = 10_000;
/// How long the end of the process waits for a collector.
const FAREWELL: Duration = Duration::from_secs(2);

impl Spans {
    /// The way to the collector that the environment names, if it names one.
    pub(super) fn of(environment: &Environment) -> Option<Spans> {
        let exporter = exporter(environment).unwrap_or_else(|why| {
            tracing::error!("no spans are exported: {}", redact::line(&why));
            None
        });
        let sending = Sending { exporter: Arc::new(exporter?), runtime: Handle::current(), failing: AtomicBool::default() };
        let provider = SdkTracerProvider::builder().with_batch_exporter(sending).with_resource(resource(environment)).build();
        let scope = InstrumentationScope::builder(env!("CARGO_PKG_NAME")).with_version(env!("CARGO_PKG_VERSION")).build();
        Some(Spans { tracer: provider.tracer_with_scope(scope), provider })
    }

    /// Begins the span of a request for an answer, and writes it into its headers, so that further requests belong to it.
    pub(super) fn open(&self, request: &mut Request) -> Option<Open> {
        let operation = operation(request.uri().path())?;
        let propagator = TraceContextPropagator::new();
        let parent = propagator.extract_with_context(&Context::new(), &HeaderExtractor(request.headers()));
        let span = SpanBuilder::from_name(operation).with_kind(SpanKind::Client).start_with_context(&self.tracer, &parent);
        let context = parent.with_span(span);
        propagator.inject_context(&context, &mut HeaderInjector(request.headers_mut()));
        Some(Open { operation, context })
    }

    /// Sends the waiting spans at the end of the process.
    pub(super) async fn flush(&self) {
        let provider = self.provider.clone();
        // It blocks, and this thread sends meanwhile.
        let _ = spawn_blocking(move || provider.shutdown_with_timeout(FAREWELL)).await;
    }
}

impl SpanExporter for Sending {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exporter = Arc::clone(&self.exporter);
        let sending = self.runtime.spawn(async move { exporter.export(batch).await });
        let sent = sending.await.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        let was_failing = self.failing.swap(sent.is_err(), Ordering::Relaxed);
        // Once, until it takes spans again.
        if let (Err(error), false) = (&sent, was_failing) {
            tracing::warn!("the collector does not take spans: {}", redact::line(&error.to_string()));
        }
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
            exporter.set_resource(resource);
        }
    }
}

impl Open {
    /// The id of its trace.
    pub(super) fn trace(&self) -> String {
        self.context.span().span_context().trace_id().to_string()
    }

    /// The request is over.
    pub(super) fn end(self, facts: &Facts) {
        let turn = facts.turn.as_ref();
        let span = self.context.span();
        let failed = turn.and_then(|turn| turn.failed.as_ref()).map(|failed| failed.code.clone());
        let failed = failed.or_else(|| facts.status.filter(|status| *status >= 400).map(|status| status.to_string()));
        if let Some(target) = &facts.target {
            let model = redact::line(&target.called);
            span.update_name(format!("{} {model}", self.operation));
            span.set_attributes([
                KeyValue::new("gen_ai.provider.name", target.backend.traits().provider),
                KeyValue::new("gen_ai.request.model", model),
                KeyValue::new("gen_ai.response.model", redact::line(&target.model)),
                KeyValue::new("toolglot.backend", target.backend.name.clone()),
            ]);
            let url: Option<Url> = target.backend.url.parse().ok();
            let (host, port) = (url.as_ref().and_then(Url::host_str), url.as_ref().and_then(Url::port_or_known_default));
            span.set_attributes(host.map(|host| KeyValue::new("server.address", host.to_owned())));
            span.set_attributes(port.map(|port| KeyValue::new("server.port", i64::from(port))));
        }
        span.set_attributes([
            KeyValue::new("gen_ai.operation.name", self.operation),
            KeyValue::new("toolglot.mode", facts.mode),
            KeyValue::new("toolglot.request.id", facts.id.clone()),
        ]);
        span.set_attributes(facts.client.as_ref().map(|client| KeyValue::new("toolglot.client", client.clone())));
        let tenant = Some(&facts.tenant).filter(|tenant| !tenant.is_empty());
        span.set_attributes(tenant.map(|tenant| KeyValue::new("toolglot.tenant", tenant.clone())));
        if let Some(turn) = turn {
            span.set_attributes(of_turn(turn));
        }
        if let Some(finish) = turn.and_then(|turn| turn.finish).filter(|_| failed.is_none()) {
            let reasons = Value::Array(Array::String(vec![StringValue::from(finish.as_str())]));
            span.set_attribute(KeyValue::new("gen_ai.response.finish_reasons", reasons));
        }
        if let Some(first) = facts.first.filter(|_| turn.is_some_and(|turn| turn.first_sent.is_some())) {
            span.set_attribute(KeyValue::new("gen_ai.response.time_to_first_chunk", first.as_secs_f64()));
        }
        if let Some(failed) = failed {
            span.set_attribute(KeyValue::new("error.type", failed));
            span.set_status(Status::error(""));
        }
        span.end();
    }
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

/// What was counted in a turn.
fn of_turn(turn: &Turn) -> impl Iterator<Item = KeyValue> {
    let usage =
        [("gen_ai.usage.input_tokens", turn.usage.prompt_tokens), ("gen_ai.usage.output_tokens", turn.usage.completion_tokens)];
    let usage = usage.into_iter().filter(|_| turn.usage.total_tokens() > 0);
    let counts = [
        ("toolglot.rounds", u64::from(turn.rounds)),
        ("toolglot.calls", turn.delivered.into()),
        ("toolglot.fixes", turn.fixes as u64),
        ("toolglot.refusals", turn.refusals.len() as u64),
    ];
    // OTLP's integers have a sign.
    let number = |(key, value)| KeyValue::new(key, i64::try_from(value).unwrap_or(i64::MAX));
    usage.chain(counts).map(number).chain([KeyValue::new("toolglot.adapter", turn.adapter.clone())])
}

/// The exporter for the collector that the environment names. An error says what is wrong with the variables.
fn exporter(environment: &Environment) -> Result<Option<opentelemetry_otlp::SpanExporter>, String> {
    // The variable of traces goes before the one of all signals.
    let either = |end: &str| {
        let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{end}"), format!("OTEL_EXPORTER_OTLP_{end}")];
        names.into_iter().find_map(|name| Some((environment.get(&name)?.to_owned(), name)))
    };
    let is_off = environment.get("OTEL_SDK_DISABLED").is_some_and(|set| set.eq_ignore_ascii_case("true"));
    let exporters = environment.get("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
    if is_off || !exporters.split(',').any(|exporter| exporter.trim() == "otlp") {
        return Ok(None);
    }
    let Some((given, name)) = either("ENDPOINT") else { return Ok(None) };
    let url = Url::parse(&given).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| format!("{name} must be an http or https URL"))?;
    if let Some((protocol, name)) = either("PROTOCOL").filter(|(protocol, _)| protocol.eq_ignore_ascii_case("grpc")) {
        return Err(format!(
            "{name} is {protocol}; toolglot sends OTLP over HTTP: set it to http/json, and the endpoint to the collector's HTTP port (usually 4318)"
        ));
    }
    let milliseconds = match either("TIMEOUT") {
        Some((given, name)) => given.parse().map_err(|_| format!("{name} is `{given}`, and must be a number of milliseconds"))?,
        None => USUAL_MILLISECONDS,
    };
    let patience = Duration::from_millis(milliseconds);
    // The headers may have keys, so they follow no redirect.
    let clients = dial::Clients::new(move |builder| builder.timeout(patience).redirect(redirect::Policy::none()));
    let client = clients.of(&url).map_err(|error| error.to_string())?.clone();
    // It reads the endpoint and the headers from the same variables.
    let builder = opentelemetry_otlp::SpanExporter::builder().with_http().with_http_client(client);
    let exporter = builder.with_protocol(Protocol::HttpJson).with_timeout(patience).build();
    exporter.map(Some).map_err(|error| error.to_string())
}

/// What all spans say of their source: what the environment names, or else toolglot's own name.
fn resource(environment: &Environment) -> Resource {
    let is_named = environment.get("OTEL_SERVICE_NAME").is_some()
        || environment.get("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|list| list.contains("service.name="));
    let own = (!is_named).then(|| KeyValue::new("service.name", "toolglot"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    Resource::builder().with_attributes(own.into_iter().chain([version])).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_a_collector_or_there_is_none() {
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        let is_there = |variables: &[(&str, &str)]| exporter(&environment(variables)).unwrap().is_some();
        assert!(!is_there(&[]));
        assert!(is_there(&[(ALL, "http://localhost:4318")]) && is_there(&[(TRACES, "http://localhost/x")]));
        assert!(!is_there(&[(ALL, "http://localhost"), ("OTEL_SDK_DISABLED", "TRUE")]));
        assert!(!is_there(&[(ALL, "http://localhost"), ("OTEL_TRACES_EXPORTER", "none")]));
        assert!(is_there(&[(ALL, "http://localhost"), ("OTEL_TRACES_EXPORTER", "console, otlp")]));
        for (variables, named) in [
            ([(ALL, "c:4318"), ("", "")], ALL),
            ([(TRACES, "nonsense"), ("", "")], TRACES),
            ([(ALL, "http://c"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "4318"),
            ([(ALL, "http://c"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")], "milliseconds"),
        ] {
            assert!(exporter(&environment(&variables)).unwrap_err().contains(named), "{variables:?}");
        }
    }

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::from([]).with(variables.iter().copied())
    }
}
