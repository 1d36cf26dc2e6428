//! Runs the calls of an answer and yields results as they arrive. Several calls run at the same time. If a call has effects, the
//! calls of its server run one after another, in their order. The calls are futures inside the turn, so dropping the stream stops
//! them. Once the client has left, no call begins, calls that only read end, and those with effects run on.

use std::{sync::Arc, time::Duration};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Map, Value};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::{Pending, judge::Fate};
use crate::{
    event::Effect,
    mcp::{
        pool::{Call, Pool},
        response::{McpResponse, ServiceInfo},
    },
};

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
        let mut servers: Vec<(String, bool, Vec<Run>)> = Vec::new();
        for (at, pending) in calls.iter().enumerate() {
            let Fate::Run { service, effect, arguments, .. } = &pending.fate else { continue };
            let writes = *effect != Effect::Reads;
            let run = Run { at, service: service.clone(), writes, arguments: arguments.clone() };
            match servers.iter_mut().find(|(server, ..)| *server == service.server) {
                Some((_, any_writes, runs)) => {
                    *any_writes |= writes;
                    runs.push(run);
                }
                None => servers.push((service.server.clone(), writes, vec![run])),
            }
        }
        let lanes = servers
            .into_iter()
            .flat_map(|(_, serial, runs)| if serial { vec![runs] } else { runs.into_iter().map(|run| vec![run]).collect() });
        let parallel = self.parallel;
        let lanes: Vec<BoxStream<'static, Done>> = lanes
            .map(|runs| {
                let runner = self.clone();
                stream::iter(runs).then(move |run| runner.clone().execute(run)).boxed()
            })
            .collect();
        stream::iter(lanes).flatten_unordered(parallel).boxed()
    }

    async fn execute(self, run: Run) -> Done {
        let begun = Instant::now();
        let (at, mut left) = (run.at, self.left.clone());
        let not_run = || McpResponse::error(Value::Null, "not run: the client had left");
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
