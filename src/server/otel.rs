//! OpenTelemetry: sends one span per request for an answer to a collector, as OTLP/HTTP in JSON. It does nothing unless the
//! environment names a collector.
//!
//! A request only appends to the bounded queue of the library's batch processor, whose thread sends it. If the queue is full, the
//! span is dropped and counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::{
    Context, KeyValue,
    propagation::TextMapPropagator,
    trace::{SpanContext, TraceContextExt, TraceFlags},
};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    propagation::TraceContextPropagator,
    trace::{BatchConfigBuilder, BatchSpanProcessor, IdGenerator, RandomIdGenerator, SpanData, SpanExporter, SpanProcessor},
};
use reqwest::redirect;
use tokio::{runtime::Handle, task::spawn_blocking};
use url::Url;

use super::account::Facts;
use crate::{config::Environment, dial, redact};

mod span;

/// Spans on their way to the collector.
#[derive(Debug)]
pub(super) struct Spans {
    processor: BatchSpanProcessor,
    counts: Arc<Counts>,
}

/// A request whose span is open.
pub(super) struct Open {
    spans: Arc<Spans>,
    context: SpanContext,
    /// The caller's span; not valid if there is none.
    parent: SpanContext,
}

/// What became of the spans so far.
#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
}

/// The exporter, on the server's runtime, because the HTTP client needs one and the processor's thread has none.
#[derive(Debug)]
struct Counted {
    exporter: Arc<opentelemetry_otlp::SpanExporter>,
    runtime: Handle,
    counts: Arc<Counts>,
    failing: AtomicBool,
}

/// Maximum number of spans that wait, and that one request carries; OpenTelemetry's own defaults
/// (`OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`).
const WAITING: usize = 2048;
const BATCH: usize = 512;
/// How long further spans are waited for before a batch leaves.
const GATHER: Duration = Duration::from_secs(1);
/// How long a collector may take if the environment does not say it.
const USUAL_MILLISECONDS: u64 = 10_000;
/// How long the end of the process waits for a collector.
const FAREWELL: Duration = Duration::from_secs(2);
const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

impl Spans {
    /// The way to the collector that the environment names, if it names one.
    pub(super) fn of(environment: &Environment) -> Option<Arc<Spans>> {
        let mut exporter = match exporter(environment) {
            Ok(exporter) => exporter?,
            Err(why) => {
                tracing::error!("no spans are exported: {}", redact::line(&why));
                return None;
            }
        };
        exporter.set_resource(&resource(environment));
        let counts = Arc::<Counts>::default();
        let failing = AtomicBool::default();
        let exporter = Counted { exporter: Arc::new(exporter), runtime: Handle::current(), counts: Arc::clone(&counts), failing };
        let config = BatchConfigBuilder::default().with_max_queue_size(WAITING).with_max_export_batch_size(BATCH);
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(config.with_scheduled_delay(GATHER).build());
        Some(Arc::new(Spans { processor: processor.build(), counts }))
    }

    /// Begins the span of a request, and writes it into `headers`, so that further requests belong to it. `None`: its trace is
    /// not sampled.
    pub(super) fn open(self: &Arc<Spans>, headers: &mut HeaderMap) -> Option<Open> {
        let (context, parent) = enter(headers)?;
        Some(Open { spans: Arc::clone(self), context, parent })
    }

    /// How many spans the collector has taken, and how many were lost.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.counts.sent.load(Ordering::Relaxed), self.counts.dropped.load(Ordering::Relaxed))
    }

    /// Sends the waiting spans at the end of the process.
    pub(super) async fn flush(self: Arc<Spans>) {
        // It blocks, and this thread sends meanwhile.
        let _ = spawn_blocking(move || self.processor.shutdown_with_timeout(FAREWELL)).await;
    }

    fn add(&self, span: SpanData) {
        // The processor would drop it without a word.
        if self.counts.waiting.load(Ordering::Relaxed) >= WAITING as u64 {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        self.processor.on_end(span);
    }
}

impl SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let many = batch.len() as u64;
        let exporter = Arc::clone(&self.exporter);
        let sending = self.runtime.spawn(async move { exporter.export(batch).await });
        let sent = sending.await.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        self.counts.waiting.fetch_sub(many, Ordering::Relaxed);
        let counter = if sent.is_ok() { &self.counts.sent } else { &self.counts.dropped };
        counter.fetch_add(many, Ordering::Relaxed);
        let was_failing = self.failing.swap(sent.is_err(), Ordering::Relaxed);
        // Once, until it takes spans again.
        if let (Err(error), false) = (&sent, was_failing) {
            tracing::warn!("the collector does not take spans: {}", redact::line(&error.to_string()));
        }
        sent
    }
}

impl Open {
    /// The id of its trace.
    pub(super) fn trace(&self) -> String {
        self.context.trace_id().to_string()
    }

    /// The request is over.
    pub(super) fn end(self, facts: &Facts) {
        let spans = span::spans(&self.context, &self.parent, facts, SystemTime::now());
        spans.into_iter().for_each(|span| self.spans.add(span));
    }
}

/// The exporter for the collector that the environment names. An error says what is wrong with the variables.
fn exporter(environment: &Environment) -> Result<Option<opentelemetry_otlp::SpanExporter>, String> {
    let is = |name: &str, value: &str| environment.get(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
    // The variable of traces goes before the one of all signals.
    let either = |end: &str| {
        let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{end}"), format!("OTEL_EXPORTER_OTLP_{end}")];
        names.into_iter().find_map(|name| Some((environment.get(&name)?.to_owned(), name)))
    };
    let exporters = environment.get("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
    if is("OTEL_SDK_DISABLED", "true") || !exporters.split(',').any(|exporter| exporter.trim() == "otlp") {
        return Ok(None);
    }
    let Some((given, name)) = either("ENDPOINT") else { return Ok(None) };
    let url: Url = given.parse().map_err(|error| format!("{name} is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{name} must be an http or https URL"));
    }
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
    let given = Resource::builder().build();
    let is_named = environment.get("OTEL_SERVICE_NAME").is_some()
        || environment.get("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|list| list.contains("service.name="));
    let own = (!is_named).then(|| KeyValue::new("service.name", "toolglot"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let given = given.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty().with_attributes([version]).with_attributes(given).with_attributes(own).build()
}

/// A new span in the trace that `headers` name, or in a new one, and its parent. From now on they name this span. `None`, and the
/// headers stay: the caller does not sample its trace.
fn enter(headers: &mut HeaderMap) -> Option<(SpanContext, SpanContext)> {
    if headers.get_all(PARENT).iter().nth(1).is_some() {
        headers.remove(PARENT);
    }
    let given = TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers));
    let parent = given.span().span_context().clone();
    if parent.is_valid() && !parent.is_sampled() {
        return None;
    }
    let new = RandomIdGenerator::default();
    let trace = if parent.is_valid() { parent.trace_id() } else { new.new_trace_id() };
    if !parent.is_valid() {
        // It belongs to a trace that cannot be read.
        headers.remove(STATE);
    }
    let context = SpanContext::new(trace, new.new_span_id(), TraceFlags::SAMPLED, false, parent.trace_state().clone());
    if let Ok(value) = HeaderValue::from_str(&format!("00-{trace}-{}-01", context.span_id())) {
        headers.insert(PARENT, value);
    }
    Some((context, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn headers(parents: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(STATE, HeaderValue::from_static("vendor=1"))]);
        parents.iter().for_each(|parent| _ = headers.append(PARENT, parent.parse().unwrap()));
        headers
    }

    #[test]
    fn a_trace_goes_on_with_a_span_of_our_own() {
        for parent in [format!("00-{TRACE}-00f067aa0ba902b7-01"), format!("01-{TRACE}-00f067aa0ba902b7-03-more")] {
            let mut headers = headers(&[&parent]);
            let (context, parent) = enter(&mut headers).unwrap();
            assert_eq!(
                (context.trace_id().to_string().as_str(), parent.span_id().to_string().as_str()),
                (TRACE, "00f067aa0ba902b7")
            );
            assert_eq!(headers[PARENT], format!("00-{TRACE}-{}-01", context.span_id()));
            assert!(headers.contains_key(STATE) && context.span_id() != parent.span_id());
        }
    }

    #[test]
    fn what_is_not_sampled_passes_as_it_is() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-00");
        let mut headers = headers(&[&parent]);
        assert!(enter(&mut headers).is_none());
        assert_eq!(headers[PARENT], parent);
    }

    #[test]
    fn a_parent_that_cannot_be_read_begins_a_new_trace() {
        let valid = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let wrong = [
            String::new(),
            "x".into(),
            valid.to_uppercase(),
            valid.replace("00-4", "ff-4"),
            format!("{valid}-more"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}-00f067aa0ba902b7"),
        ];
        for parents in wrong.iter().map(|wrong| vec![wrong.as_str()]).chain([vec![&*valid, &*valid], vec![]]) {
            let mut headers = headers(&parents);
            let (context, parent) = enter(&mut headers).unwrap();
            assert!(!parent.is_valid() && context.is_valid() && context.trace_id().to_string() != TRACE, "{parents:?}");
            assert_eq!(headers.get_all(PARENT).iter().count(), 1);
            assert!(!headers.contains_key(STATE), "{parents:?}");
        }
    }

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
