//! `GET /metrics`: everything that is counted, in the text format of Prometheus (version 0.0.4).

use std::{fmt::Write as _, sync::atomic::Ordering};

use axum::{body::Body, extract::State, response::Response};

use super::{COUNTERS, head, single, written};
use crate::{
    lock::Hold,
    server::{reply, state::App},
};

/// `GET /metrics`.
pub(in crate::server) async fn metrics(State(app): State<App>) -> Response {
    reply::bytes("text/plain; version=0.0.4; charset=utf-8", Body::from(exposed(&app)))
}

fn exposed(app: &App) -> String {
    let mut out = String::new();
    {
        let counted = app.process.metrics.0.hold();
        let help = "Requests whose response is not over.";
        single("toolglot_requests_under_way", "gauge", help, counted.under_way, &mut out);
        for (name, help) in COUNTERS {
            head(name, "counter", help, &mut out);
            for ((_, labels), count) in counted.counters.iter().filter(|((own, _), _)| own == name) {
                let _ = writeln!(out, "{name}{labels} {count}");
            }
        }
        let seconds = "Seconds from a request to the first byte of its answer, where a model was asked for.";
        counted.first_byte.write("toolglot_first_byte_seconds", seconds, &mut out);
        let seconds = "Seconds from the first byte of a backend to the first one that leaves for the client, in streams.";
        counted.added.write("toolglot_added_seconds", seconds, &mut out);
        let seconds = "Seconds from a request to the end of its answer, where a model was asked for.";
        counted.duration.write("toolglot_request_seconds", seconds, &mut out);
    }
    head("toolglot_fixes_total", "counter", "Repairs of calls, by rule.", &mut out);
    for (rule, count) in app.turns.tally.rules() {
        let _ = writeln!(out, "toolglot_fixes_total{} {count}", written(&[("rule", rule)]));
    }
    let again = app.turns.asked_again.load(Ordering::Relaxed);
    single("toolglot_reasks_total", "counter", "Refused calls that were answered to the model.", again, &mut out);
    head("toolglot_mcp_calls_total", "counter", "Calls of MCP servers and built-in tools, by server and result.", &mut out);
    for (server, failed, count) in app.process.mcp.pool().calls() {
        let result = if failed { "failed" } else { "ok" };
        let _ = writeln!(out, "toolglot_mcp_calls_total{} {count}", written(&[("server", &server), ("result", result)]));
    }
    if let Some(link) = app.turns.store.link() {
        let present = u64::from(link.is_present());
        single("toolglot_store_present", "gauge", "Whether the shared store answers.", present, &mut out);
        let help = "Commands that were sent to the shared store.";
        single("toolglot_store_operations_total", "counter", help, link.operations(), &mut out);
        let help = "Commands that the shared store failed or did not answer in time.";
        single("toolglot_store_failures_total", "counter", help, link.failures(), &mut out);
    }
    if let Some((sent, dropped)) = app.process.spans.as_ref().map(|spans| spans.counts()) {
        head("toolglot_spans_total", "counter", "Spans for the collector, by what became of them.", &mut out);
        let _ =
            write!(out, "toolglot_spans_total{{result=\"sent\"}} {sent}\ntoolglot_spans_total{{result=\"dropped\"}} {dropped}\n");
    }
    let panics = app.process.ending.panics();
    single("toolglot_panics_total", "counter", "Faults inside toolglot, each of which ended one turn.", panics, &mut out);
    head("toolglot_held_bytes", "gauge", "Bytes that are held between requests, by what holds them.", &mut out);
    for (holder, bytes) in held(app) {
        let _ = writeln!(out, "toolglot_held_bytes{} {bytes}", written(&[("holder", holder)]));
    }
    if let Some(bytes) = resident_bytes() {
        single("process_resident_memory_bytes", "gauge", "Resident memory of the process.", bytes, &mut out);
    }
    out
}

/// What holds bytes between requests. All of it is bounded; the rest of the process's memory is code, and requests under way.
fn held(app: &App) -> [(&'static str, usize); 4] {
    [
        ("store", app.turns.store.held_bytes()),
        ("schemas", app.turns.schemas.held_bytes()),
        ("tool_lists", app.process.lists.held_bytes()),
        ("page", app.process.page.held_bytes()),
    ]
}

/// The resident memory in bytes, on Linux. Other systems have their own tools.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
