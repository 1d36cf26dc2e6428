//! OpenTelemetry: sends one span per request for an answer to a collector, as OTLP/HTTP in JSON
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>). It does nothing unless the environment names a collector.
//!
//! A request only appends to a bounded queue, and one loop on the server's first thread sends the queue. If the queue is
//! full, the span is dropped and counted.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use tokio::{sync::Notify, time};

use super::facts::Facts;
use crate::{
    config::Environment,
    error::Error,
    lock::Hold,
    redact,
    upstream::{self, HttpRequest, Outgoing},
};

mod context;
mod settings;
mod span;

use context::Context;
use settings::Collector;

/// Spans on their way to the collector.
#[derive(Debug)]
pub(super) struct Spans {
    collector: Collector,
    client: upstream::Client,
    /// The oldest first, each in its JSON form.
    waiting: Mutex<VecDeque<String>>,
    /// Rung for each span that has begun to wait.
    bell: Notify,
    sent: AtomicU64,
    dropped: AtomicU64,
}

/// A request whose span is open.
pub(super) struct Open {
    spans: Arc<Spans>,
    context: Context,
}

/// Maximum number of spans that wait, and that one request carries; OpenTelemetry's own defaults
/// (`OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`).
const WAITING: usize = 2048;
const BATCH: usize = 512;
/// How long further spans are waited for before a batch leaves.
const GATHER: Duration = Duration::from_secs(1);
/// When a collector that could not take a batch is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// How long the end of the process waits for a collector.
const FAREWELL: Duration = Duration::from_secs(2);
/// Maximum length of a collector's answer that is read.
const ANSWER_BYTES: usize = 4096;

impl Spans {
    /// The way to the collector that the environment names, if it names one.
    pub(super) fn of(environment: &Environment, client: &upstream::Client) -> Option<Arc<Spans>> {
        let collector = match Collector::of(environment) {
            Ok(collector) => collector?,
            Err(why) => {
                tracing::error!("no spans are exported: {why}");
                return None;
            }
        };
        Some(Arc::new(Spans {
            collector,
            client: client.clone(),
            waiting: Mutex::default(),
            bell: Notify::new(),
            sent: AtomicU64::default(),
            dropped: AtomicU64::default(),
        }))
    }

    /// Begins the span of a request, and writes it into `headers`, so that further requests belong to it. `None`: its trace is
    /// not sampled.
    pub(super) fn open(self: &Arc<Spans>, headers: &mut HeaderMap) -> Option<Open> {
        Some(Open { spans: Arc::clone(self), context: Context::enter(headers)? })
    }

    /// How many spans the collector has taken, and how many were lost.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }

    /// Sends what comes. Never ends; a span leaves the queue once it is sent, so that nothing is lost when this is dropped.
    pub(super) async fn export(&self) {
        let mut failing = false;
        loop {
            self.bell.notified().await;
            time::sleep(GATHER).await;
            while let Some(batch) = self.batch() {
                let (is_over, trouble) = self.send(&batch).await;
                // Once, until it takes spans again.
                if let Some(trouble) = trouble.as_ref().filter(|_| !failing) {
                    tracing::warn!("{} does not take spans: {trouble}", self.collector.shown());
                }
                failing = trouble.is_some();
                if !is_over {
                    time::sleep(AGAIN).await;
                }
            }
        }
    }

    /// Sends the waiting spans at the end of the process, without retries.
    pub(super) async fn flush(&self) {
        let sending = async {
            while let Some(batch) = self.batch() {
                let (is_over, _) = self.send(&batch).await;
                if !is_over {
                    return;
                }
            }
        };
        let _ = time::timeout(FAREWELL, sending).await;
    }

    fn add(&self, spans: Vec<String>) {
        let mut waiting = self.waiting.hold();
        for span in spans {
            if waiting.len() < WAITING {
                waiting.push_back(span);
            } else {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        drop(waiting);
        self.bell.notify_one();
    }

    fn batch(&self) -> Option<Vec<String>> {
        let waiting = self.waiting.hold();
        (!waiting.is_empty()).then(|| waiting.iter().take(BATCH).cloned().collect())
    }

    /// Sends a batch, the oldest of the queue. Says whether the collector has taken it or never will, and what went wrong.
    async fn send(&self, batch: &[String]) -> (bool, Option<String>) {
        let body = span::request(&self.collector.resource, batch);
        let answer = match time::timeout(self.collector.patience, self.post(body)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::proxy(format!("no answer within {:?}", self.collector.patience))),
        };
        let trouble = match answer {
            Ok((status, _)) if status.is_success() => None,
            // What the specification calls retryable.
            Ok((StatusCode::TOO_MANY_REQUESTS | StatusCode::BAD_GATEWAY, said)) => return (false, Some(said)),
            Ok((StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT, said)) => return (false, Some(said)),
            Ok((_, said)) => Some(said),
            Err(error) => return (false, Some(error.to_string())),
        };
        self.waiting.hold().drain(..batch.len());
        let counter = if trouble.is_none() { &self.sent } else { &self.dropped };
        counter.fetch_add(batch.len() as u64, Ordering::Relaxed);
        (true, trouble)
    }

    /// The collector's status, and what it said.
    async fn post(&self, body: String) -> Result<(StatusCode, String), Error> {
        let Collector { url, headers, .. } = &self.collector;
        let request = HttpRequest { method: Method::POST, url: url.clone(), headers: headers.clone(), body: Bytes::from(body) };
        let mut response = self.client.send(&Outgoing::Http(request)).await?;
        let status = response.status;
        let said = response.collect(ANSWER_BYTES).await?;
        Ok((status, redact::line(&format!("status {status}: {}", String::from_utf8_lossy(&said)))))
    }
}

impl Open {
    /// The id of its trace.
    pub(super) fn trace(&self) -> &str {
        &self.context.trace
    }

    /// The request is over.
    pub(super) fn end(self, facts: &Facts) {
        let spans = span::spans(&self.context, facts, SystemTime::now());
        if !spans.is_empty() {
            self.spans.add(spans);
        }
    }
}
