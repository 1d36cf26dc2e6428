//! Counters and histograms by request, since the start. Labels are fixed words and names from the configuration, so their number
//! is bounded.

use std::{collections::BTreeMap, fmt::Write as _, sync::Mutex, time::Duration};

use super::facts::Facts;
use crate::lock::Hold;

pub(super) mod exposition;

/// The counters and histograms by request.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    under_way: u64,
    /// By the name of the metric and its labels in Prometheus's form.
    counters: BTreeMap<(&'static str, String), u64>,
    first_byte: Histogram,
    added: Histogram,
    duration: Histogram,
}

#[derive(Debug, Default)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

/// Upper bounds of the buckets, in seconds: from toolglot's own share to the time of a slow model.
const BOUNDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

/// Space for the labels of a counter, in bytes.
const LABELS_BYTES: usize = 64;

const REQUESTS: &str = "toolglot_requests_total";
const CALLS: &str = "toolglot_calls_total";
const REFUSALS: &str = "toolglot_refusals_total";
const BACKEND_ERRORS: &str = "toolglot_backend_errors_total";
const TOKENS: &str = "toolglot_tokens_total";
const TENANT_REQUESTS: &str = "toolglot_tenant_requests_total";
const TENANT_TOKENS: &str = "toolglot_tenant_tokens_total";
const PREFIX: &str = "toolglot_prefix_bytes_total";
/// What the counters by request are.
const COUNTERS: &[(&str, &str)] = &[
    (
        REQUESTS,
        "Requests that are over, by mode (empty where no model was asked for) and status (`left`: the client was faster).",
    ),
    (CALLS, "Calls that were checked, by adapter and verdict of the fixer."),
    (REFUSALS, "Calls that were not delivered, by reason."),
    (BACKEND_ERRORS, "Turns that failed at a backend, by backend and status."),
    (TOKENS, "Tokens that backends counted, by kind."),
    (TENANT_REQUESTS, "Requests about models that are over, by the name of the client key and status."),
    (TENANT_TOKENS, "Tokens that backends counted, by the name of the client key and kind."),
    (PREFIX, "Bytes of conversations that a backend has read before, by whether they were the same again: shared or changed."),
];

impl Metrics {
    pub(super) fn begin(&self) {
        self.0.hold().under_way += 1;
    }

    /// A request is over.
    pub(super) fn end(&self, facts: &Facts) {
        let status = facts.status;
        let mut counted = self.0.hold();
        counted.under_way = counted.under_way.saturating_sub(1);
        let code = status.map_or_else(|| "left".to_owned(), |status| status.to_string());
        counted.add(REQUESTS, &[("mode", facts.mode), ("status", &code)], 1);
        if facts.target.is_none() {
            return;
        }
        let tenant = facts.tenant.as_str();
        if !tenant.is_empty() {
            counted.add(TENANT_REQUESTS, &[("tenant", tenant), ("status", &code)], 1);
        }
        counted.duration.observe(facts.taken);
        if let Some(first) = facts.first {
            counted.first_byte.observe(first);
        }
        if status.is_some_and(|status| status == 429 || status >= 500) {
            counted.add(BACKEND_ERRORS, &[("backend", facts.backend()), ("status", &code)], 1);
        }
        let Some(turn) = &facts.turn else { return };
        if turn.failed.is_some() && status == Some(200) {
            counted.add(BACKEND_ERRORS, &[("backend", facts.backend()), ("status", "in_stream")], 1);
        }
        // After another round, the time until the first byte is the model's.
        if let (Some(read), Some(sent), 1) = (turn.first_read, turn.first_sent, turn.rounds) {
            counted.added.observe(sent.saturating_duration_since(read));
        }
        for verdict in &turn.calls.verdicts {
            counted.add(CALLS, &[("adapter", &turn.adapter), ("verdict", verdict)], 1);
        }
        for reason in &turn.calls.refusals {
            counted.add(REFUSALS, &[("reason", reason)], 1);
        }
        for (kind, tokens) in [("prompt", turn.usage.prompt_tokens), ("completion", turn.usage.completion_tokens)] {
            counted.add(TOKENS, &[("kind", kind)], tokens);
            if !tenant.is_empty() {
                counted.add(TENANT_TOKENS, &[("tenant", tenant), ("kind", kind)], tokens);
            }
        }
        if let Some(prefix) = turn.prefix {
            counted.add(PREFIX, &[("kind", "shared")], prefix.shared);
            counted.add(PREFIX, &[("kind", "changed")], prefix.before.saturating_sub(prefix.shared));
        }
    }

    /// Number of requests whose response is not over.
    pub(super) fn under_way(&self) -> u64 {
        self.0.hold().under_way
    }
}

impl Counted {
    fn add(&mut self, name: &'static str, labels: &[(&str, &str)], by: u64) {
        let counter = self.counters.entry((name, written(labels))).or_default();
        *counter = counter.saturating_add(by);
    }
}

impl Histogram {
    fn observe(&mut self, value: Duration) {
        let seconds = value.as_secs_f64();
        // The counts are cumulative, as they are written.
        self.counts.iter_mut().zip(BOUNDS).filter(|(_, bound)| seconds <= *bound).for_each(|(count, _)| *count += 1);
        self.count += 1;
        self.sum += seconds;
    }

    fn write(&self, name: &str, help: &str, out: &mut String) {
        head(name, "histogram", help, out);
        for (count, bound) in self.counts.iter().zip(BOUNDS) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        let Histogram { count, sum, .. } = self;
        let _ = write!(out, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}\n");
    }
}

fn head(name: &str, kind: &str, help: &str, out: &mut String) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

/// A metric without labels.
fn single(name: &str, kind: &str, help: &str, value: u64, out: &mut String) {
    head(name, kind, help, out);
    let _ = writeln!(out, "{name} {value}");
}

/// `{name="value"}`, values escaped.
fn written(labels: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(LABELS_BYTES);
    out.push('{');
    for (name, value) in labels {
        out.extend([if out.len() > 1 { "," } else { "" }, name, "=\""]);
        for c in value.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_labels_escaped() {
        let mut histogram = Histogram::default();
        [1, 1, 700, 400_000].into_iter().for_each(|milliseconds| histogram.observe(Duration::from_millis(milliseconds)));
        let mut out = String::new();
        histogram.write("h", "Help.", &mut out);
        for line in ["h_bucket{le=\"0.0005\"} 0", "h_bucket{le=\"0.001\"} 2", "h_bucket{le=\"1\"} 3", "h_bucket{le=\"300\"} 3"] {
            assert!(out.contains(&format!("{line}\n")), "{line} in {out}");
        }
        assert!(
            out.starts_with("# HELP h Help.\n# TYPE h histogram\n")
                && out.ends_with("h_bucket{le=\"+Inf\"} 4\nh_sum 400.702\nh_count 4\n"),
            "{out}"
        );
        assert_eq!(written(&[("a", "x\\y\"z\n"), ("b", "")]), r#"{a="x\\y\"z\n",b=""}"#);
    }
}
