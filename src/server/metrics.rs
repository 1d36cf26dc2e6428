//! `GET /metrics`: everything that is counted, in the text format of Prometheus (version 0.0.4). Counters and histograms by request
//! are kept here, since the start. Labels are fixed words and names from the configuration, so their number is bounded.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::{body::Body, extract::State, response::Response};
use prometheus_client::{
    encoding::prometheus_text,
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::{ConstGauge, Gauge},
        histogram::Histogram,
    },
    registry::Registry,
};

use super::{account::Facts, reply, state::App};

/// A counter by its labels, as names and values.
type Counters<const LABELS: usize> = Family<[(&'static str, String); LABELS], Counter>;

/// A histogram of times.
#[derive(Debug)]
struct Seconds(Histogram);

/// The counters and histograms by request.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Requests for the list of models, and for an answer: they tell whether a client has found the proxy.
    pub(super) lists: AtomicU64,
    pub(super) chats: AtomicU64,
    under_way: Gauge,
    requests: Counters<2>,
    calls: Counters<2>,
    refusals: Counters<1>,
    backend_errors: Counters<2>,
    tokens: Counters<1>,
    tenant_requests: Counters<2>,
    tenant_tokens: Counters<2>,
    first_byte: Seconds,
    added: Seconds,
    duration: Seconds,
}

/// Upper bounds of the buckets, in seconds: from toolglot's own share to the time of a slow model.
const BOUNDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

/// What `doctor` and the page say where clients have only read the list of models, so often.
pub fn only_listed(lists: u64) -> String {
    format!(
        "a client has read the list of models ({lists} times) and never asked for an answer: in Void choose the entry under vLLM"
    )
}

impl Default for Seconds {
    fn default() -> Seconds {
        Seconds(Histogram::new(BOUNDS))
    }
}

impl Metrics {
    pub(super) fn begin(&self) {
        self.under_way.inc();
    }

    /// A request is over.
    pub(super) fn end(&self, facts: &Facts) {
        let status = facts.status;
        self.under_way.dec();
        let code = status.map_or_else(|| "left".to_owned(), |status| status.to_string());
        add(&self.requests, [("mode", facts.mode), ("status", &code)], 1);
        if facts.target.is_none() {
            return;
        }
        let tenant = facts.tenant.as_str();
        if !tenant.is_empty() {
            add(&self.tenant_requests, [("tenant", tenant), ("status", &code)], 1);
        }
        self.duration.0.observe(facts.taken.unwrap_or_default().as_secs_f64());
        if let Some(first) = facts.first {
            self.first_byte.0.observe(first.as_secs_f64());
        }
        if status.is_some_and(|status| status == 429 || status >= 500) {
            add(&self.backend_errors, [("backend", facts.backend()), ("status", &code)], 1);
        }
        let Some(turn) = &facts.turn else { return };
        if turn.failed.is_some() && status == Some(200) {
            add(&self.backend_errors, [("backend", facts.backend()), ("status", "in_stream")], 1);
        }
        // After another round, the time until the first byte is the model's.
        if let (Some(read), Some(sent), 1) = (turn.first_read, turn.first_sent, turn.rounds) {
            self.added.0.observe(sent.saturating_duration_since(read).as_secs_f64());
        }
        for verdict in &turn.verdicts {
            add(&self.calls, [("adapter", &turn.adapter), ("verdict", verdict)], 1);
        }
        for reason in &turn.refusals {
            add(&self.refusals, [("reason", reason)], 1);
        }
        for (kind, tokens) in [("prompt", turn.usage.prompt_tokens), ("completion", turn.usage.completion_tokens)] {
            add(&self.tokens, [("kind", kind)], tokens);
            if !tenant.is_empty() {
                add(&self.tenant_tokens, [("tenant", tenant), ("kind", kind)], tokens);
            }
        }
    }

    /// Number of requests whose response is not over.
    pub(super) fn under_way(&self) -> u64 {
        self.under_way.get().try_into().unwrap_or_default()
    }

    fn register(&self, registry: &mut Registry) {
        registry.register("toolglot_requests_under_way", "Requests whose response is not over", self.under_way.clone());
        registry.register("toolglot_requests", "Requests that are over, by mode and status (or `left`)", self.requests.clone());
        registry.register("toolglot_calls", "Calls that were checked, by adapter and verdict of the fixer", self.calls.clone());
        registry.register("toolglot_refusals", "Calls that were not delivered, by reason", self.refusals.clone());
        registry.register("toolglot_backend_errors", "Turns that failed, by backend and status", self.backend_errors.clone());
        registry.register("toolglot_tokens", "Tokens that backends counted, by kind", self.tokens.clone());
        registry.register("toolglot_tenant_requests", "Model requests, by client key and status", self.tenant_requests.clone());
        registry.register("toolglot_tenant_tokens", "Tokens, by client key and kind", self.tenant_tokens.clone());
        registry.register("toolglot_first_byte_seconds", "From a request to its answer's first byte", self.first_byte.0.clone());
        registry.register("toolglot_added_seconds", "From a backend's first byte to the client's", self.added.0.clone());
        registry.register("toolglot_request_seconds", "From a request to the end of its answer", self.duration.0.clone());
    }
}

/// Adds to the counter of these labels.
fn add<const LABELS: usize>(counters: &Counters<LABELS>, labels: [(&'static str, &str); LABELS], by: u64) {
    counters.get_or_create(&labels.map(|(name, value)| (name, value.to_owned()))).inc_by(by);
}

/// `GET /metrics`.
pub(super) async fn metrics(State(app): State<App>) -> Response {
    let mut registry = Registry::default();
    app.process.metrics.register(&mut registry);
    let fixes = Counters::default();
    for (rule, count) in app.turns.tally.rules() {
        add(&fixes, [("rule", rule)], count);
    }
    registry.register("toolglot_fixes", "Repairs of calls, by rule", fixes);
    let again = ConstCounter::new(app.turns.asked_again.load(Ordering::Relaxed));
    registry.register("toolglot_reasks", "Refused calls that were answered to the model", again);
    let calls = Counters::default();
    for (server, failed, count) in app.process.mcp.pool().calls() {
        add(&calls, [("server", &server), ("result", if failed { "failed" } else { "ok" })], count);
    }
    registry.register("toolglot_mcp_calls", "Calls of MCP servers and built-in tools, by server and result", calls);
    if let Some(link) = app.turns.store.link() {
        let present = ConstGauge::new(u64::from(link.is_present()));
        registry.register("toolglot_store_present", "Whether the shared store answers", present);
        let operations = ConstCounter::new(link.operations());
        registry.register("toolglot_store_operations", "Commands that were sent to the shared store", operations);
        let help = "Commands that the shared store failed or did not answer in time";
        registry.register("toolglot_store_failures", help, ConstCounter::new(link.failures()));
    }
    let panics = ConstCounter::new(app.process.ending.panics());
    registry.register("toolglot_panics", "Faults inside toolglot, each of which ended one turn", panics);
    let held_bytes = Family::<[(&str, &str); 1], Gauge>::default();
    // All of it is bounded; the rest of the process's memory is code, and requests under way.
    for (holder, bytes) in [
        ("store", app.turns.store.held_bytes()),
        ("schemas", app.turns.schemas.held_bytes()),
        ("page", app.process.page.held_bytes()),
    ] {
        held_bytes.get_or_create(&[("holder", holder)]).set(bytes.try_into().unwrap_or(i64::MAX));
    }
    registry.register("toolglot_held_bytes", "Bytes that are held between requests, by what holds them", held_bytes);
    if let Some(bytes) = resident_bytes() {
        registry.register("process_resident_memory_bytes", "Resident memory of the process", ConstGauge::new(bytes));
    }
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = prometheus_text::encode(&mut out, &registry);
    reply::bytes(prometheus_text::CONTENT_TYPE, Body::from(out))
}

/// The resident memory in bytes, on Linux. Other systems have their own tools.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
