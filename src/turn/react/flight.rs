//! Runs the calls of an answer and yields results as they arrive. Several calls run at the same time. If a call has effects, the
//! calls of its server run one after another, in their order. The calls are futures inside the turn, so dropping the stream stops
//! them.
//!
//! Calls with effects are handled if their client leaves: clients repeat a request that took too long, and by then the call may have
//! had its effect. So before such calls run, the turn writes down that they run. If the client leaves, calls with effects that have
//! begun run on, those that only read end, no other call begins, and a task writes down how they ended. The repeated request waits
//! for that (`resume`). If this process ends, what was written first says that the outcome is unknown.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use chrono::Utc;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Map, Value};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};

use super::{
    Agent, Observation, Pending, Round,
    judge::Fate,
    observe,
    resume::{self, Kept},
};
use crate::{
    adapter::Adapter,
    event::{Effect, Tools},
    mcp::{
        pool::{Call, Pool},
        response::{self, McpResponse, ServiceInfo},
    },
    openai::{Content, Message},
    plan::Plan,
    store::{Common, Key},
    turn::Shared,
};

/// Maximum number of turns whose calls run on without a client. Beyond it, calls end with their client.
pub const WITHOUT_CLIENT: usize = 64;
/// How much longer than the turn a repeated request waits for what is written down at its end.
const SLACK: Duration = Duration::from_secs(1);

/// The data needed to write down how the calls of an answer ended.
pub(super) struct Flight {
    store: Arc<dyn Common>,
    room: Arc<Semaphore>,
    key: Key,
    /// The messages that the client does not know; the answer with the calls is the last one.
    known: Kept,
    seconds: u64,
    /// When the last call ends.
    end: Instant,
    adapter: Arc<Adapter>,
    tools: Arc<Tools>,
    result_bytes: usize,
    /// Whether it is written down that the calls run.
    noted: bool,
}

impl Agent {
    /// Prepares for a client that leaves; `None` if no call with effects runs, because the others can simply run again.
    pub(super) fn flight(&self, shared: &Shared, plan: &Plan, calls: &[Pending]) -> Option<Flight> {
        let writes = |call: &Pending| matches!(call.fate, Fate::Run { effect: Effect::Writes | Effect::Destroys, .. });
        let start = self.start.as_ref().filter(|_| calls.iter().any(writes))?;
        let mut known = self.so_far(start, plan);
        if let Some(answer) = known.messages.last_mut() {
            // The client will never see its own calls of this answer.
            let own = |id: &str| calls.iter().any(|call| call.call.id == id && !matches!(call.fate, Fate::Client));
            answer.tool_calls.retain(|call| own(&call.id));
        }
        Some(Flight {
            store: Arc::clone(&shared.store),
            room: Arc::clone(&shared.without_client),
            key: resume::repeated(plan, start.split(&plan.chat.messages).0),
            known,
            seconds: self.react.limits.keep_seconds,
            end: self.end,
            adapter: Arc::clone(&plan.adapter),
            tools: Arc::clone(&plan.tools),
            result_bytes: self.react.limits.result_bytes,
            noted: false,
        })
    }
}

impl Flight {
    /// Writes down, once, that the calls are about to run. Returns the key.
    pub(super) async fn note(&mut self, calls: &[Pending]) -> Option<Key> {
        if std::mem::replace(&mut self.noted, true) {
            return None;
        }
        let until = Utc::now() + self.end.saturating_duration_since(Instant::now()) + SLACK;
        self.put(calls, Some(until.timestamp_millis())).await.then(|| self.key.clone())
    }

    /// Writes down the calls as far as they are known. `until`: when the others have ended.
    async fn put(&self, calls: &[Pending], until: Option<i64>) -> bool {
        let mut kept = Kept { until, ..self.known.clone() };
        for Pending { call, fate, result } in calls {
            let content = match (fate, result) {
                (Fate::Client, _) => continue,
                (Fate::Answered { text, .. }, _) => Content::Text(text.clone()),
                (Fate::Run { service, open_world, .. }, Some(Observation { content, .. })) => {
                    kept.tainted = kept.tainted.or_else(|| open_world.then(|| service.server.clone()));
                    content.clone()
                }
                (Fate::Run { effect: Effect::Reads, .. }, None) => {
                    Content::Text("error: the call was broken off, because the client left".into())
                }
                (Fate::Run { .. }, None) => {
                    let reason = response::outcome_unknown("toolglot has not seen its end");
                    Content::Text(format!("error: {}: {reason}", call.name))
                }
            };
            kept.messages.push(Message::result(&call.id, content));
        }
        kept.put(&*self.store, self.key.clone(), self.seconds).await
    }
}

impl Round {
    /// Handles a client that has left: calls with effects run to their end, and what is known of all calls is written down.
    #[allow(clippy::disallowed_methods, reason = "these calls outlive the client's request; the turn's time limits them")]
    pub(super) fn outlive(self) {
        let Round { mut calls, mut runs, flight, left } = self;
        let (Some(flight), Ok(_runtime)) = (flight.filter(|flight| flight.noted), Handle::try_current()) else { return };
        left.send_replace(true);
        let permit = Arc::clone(&flight.room).try_acquire_owned().ok();
        tokio::spawn(async move {
            match &permit {
                Some(_) => tracing::info!("the client has left; its calls with effects run on"),
                None => tracing::warn!("the client has left; its calls are cancelled, because too many others run without one"),
            }
            while permit.is_some()
                && let Some(Done { at, response, took }) = runs.next().await
            {
                if let Some(call) = calls.get_mut(at) {
                    let observation = observe::observation(&response, flight.result_bytes, &flight.adapter, &flight.tools);
                    let failed = observation.failed();
                    tracing::info!(tool = call.call.name, failed, seconds = took.as_secs_f64(), "tool ran without its client");
                    call.result = Some(observation);
                }
            }
            drop(runs);
            flight.put(&calls, None).await;
        });
    }
}

/// Completes a write even if the turn is dropped meanwhile: otherwise the calls would count as running on.
#[allow(clippy::disallowed_methods, reason = "a write of a moment, which must not end with the client's request")]
pub(super) async fn surely(write: impl Future<Output = bool> + Send + 'static) {
    // What was too large has been logged.
    let _ = tokio::spawn(write).await;
}

/// A call that has run.
pub(super) struct Done {
    /// Its place among the calls of the answer.
    pub(super) at: usize,
    pub(super) response: McpResponse,
    pub(super) took: Duration,
}

/// Runs calls.
#[derive(Clone)]
pub(super) struct Runner {
    pub(super) pool: Arc<Pool>,
    /// Headers of the request that tool policies may read.
    pub(super) headers: Vec<(String, String)>,
    /// How many calls may run at the same time.
    pub(super) parallel: usize,
    /// The end of the turn. No call runs longer.
    pub(super) end: Instant,
    /// Whether the client has left.
    pub(super) left: watch::Receiver<bool>,
}

/// A call that is to be run.
struct Run {
    at: usize,
    service: ServiceInfo,
    writes: bool,
    arguments: Map<String, Value>,
}

impl Runner {
    /// The results of those calls that run.
    pub(super) fn run(self, calls: &[Pending]) -> BoxStream<'static, Done> {
        let wanted = calls.iter().enumerate().filter_map(|(at, pending)| match &pending.fate {
            Fate::Run { service, effect, arguments, .. } => Some((at, service, *effect != Effect::Reads, arguments)),
            Fate::Client | Fate::Answered { .. } => None,
        });
        let serial: HashSet<&str> =
            wanted.clone().filter(|(_, _, writes, _)| *writes).map(|(_, service, ..)| service.server.as_str()).collect();
        // The calls that run one after another, by what they have in common.
        let mut lanes: BTreeMap<(&str, usize), Vec<Run>> = BTreeMap::new();
        for (at, service, writes, arguments) in wanted {
            let own = if serial.contains(service.server.as_str()) { 0 } else { at };
            let run = Run { at, service: service.clone(), writes, arguments: arguments.clone() };
            lanes.entry((&service.server, own)).or_default().push(run);
        }
        let parallel = self.parallel;
        let one_by_one = move |runs| {
            let runner = self.clone();
            stream::iter(runs).then(move |run| runner.clone().execute(run)).boxed()
        };
        let lanes: Vec<BoxStream<'static, Done>> = lanes.into_values().map(one_by_one).collect();
        stream::iter(lanes).flatten_unordered(parallel).boxed()
    }

    async fn execute(self, run: Run) -> Done {
        let begun = Instant::now();
        let (at, mut left) = (run.at, self.left.clone());
        let not_run = || McpResponse::error("not run: the client had left");
        let ends = !run.writes;
        let response = if *left.borrow() {
            not_run()
        } else {
            tokio::select! {
                biased;
                response = self.call(run, begun) => response,
                Ok(_) = left.wait_for(|left| *left), if ends => not_run(),
            }
        };
        Done { at, response, took: begun.elapsed() }
    }

    async fn call(self, run: Run, begun: Instant) -> McpResponse {
        let timeout = Some(self.end.saturating_duration_since(begun));
        let call = Call { headers: self.headers, timeout, ..Call::default() };
        match timeout_at(self.end, self.pool.call(&run.service, run.arguments, &call)).await {
            Ok(response) => response,
            Err(_) => McpResponse::broken_off(&run.service, "the time of this turn is over", run.writes),
        }
    }
}
