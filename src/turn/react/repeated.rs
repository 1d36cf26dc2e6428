//! Decides which calls of an answer still run, by what was done before and by the limits. A call that repeats another one does
//! not run, because small models repeat a call until they are stopped. If its tool has effects, the model may have meant to run
//! it once more, so the model, the user and the log are told.

use std::time::Duration;

use super::{Agent, Fate, Observation, Pending};
use crate::{event::Effect, mcp::response::ServiceInfo, plan::Plan, turn::reask};

impl Agent {
    /// Changes the fate of the calls that do not run. `true`: the conversation already has the results of all of them.
    pub(super) fn apply_limits(&mut self, calls: &mut [Pending], plan: &mut Plan) -> bool {
        let retry = plan.rules.retry;
        let refused_only = calls.iter().all(|call| matches!(call.fate, Fate::Answered { refused: true, .. }));
        if refused_only && self.used.excused < retry {
            self.used.excuse_round();
        }
        let repeats = &self.repeats;
        let repeated = |call: &Pending| match &call.fate {
            Fate::Run { effect, .. } => repeats.answers(&call.call.name, &call.call.arguments, *effect == Effect::Reads),
            Fate::Client | Fate::Answered { .. } => false,
        };
        if calls.iter().all(repeated) {
            self.drop_all(calls, plan);
            return true;
        }
        let most = self.react.limits.calls;
        for call in calls.iter_mut() {
            let Fate::Run { effect, .. } = call.fate else { continue };
            call.fate = if repeated(&*call) {
                let is_unknown = self.repeats.is_unknown(&call.call.name, &call.call.arguments);
                tracing::info!(tool = call.call.name, is_unknown, "a repeated call is not run");
                let text = match is_unknown {
                    true => "error: not run: the outcome of the same call above is unknown. It may have had its effect.",
                    false => "error: not run: the result of the same call is above.",
                };
                let told = (effect != Effect::Reads).then(|| told(&call.call.name, is_unknown));
                Fate::Answered { text: text.to_owned(), told, of_client: false, refused: false }
            } else if self.used.calls >= most {
                Fate::not_run(format!("error: not run: the limit of {most} calls is reached."))
            } else {
                self.used.calls += 1;
                continue;
            };
        }
        false
    }

    /// Handles an answer whose calls all repeat others: the model is asked to answer without tools. Dropped calls with effects
    /// are reported to it, because it would otherwise say that they were done.
    fn drop_all(&mut self, calls: &[Pending], plan: &mut Plan) {
        for Pending { call, fate, .. } in calls {
            let is_unknown = self.repeats.is_unknown(&call.name, &call.arguments);
            tracing::info!(tool = call.name, is_unknown, "a repeated call is not run");
            if matches!(fate, Fate::Run { effect: Effect::Reads, .. }) {
                continue;
            }
            let why = told(&call.name, is_unknown);
            if self.told.dropped.contains(&why) {
                continue;
            }
            reask::tell(
                &mut plan.chat.messages,
                &format!("({}. Do not report it as done twice.)", sentence(&call.name, is_unknown)),
            );
            let told = Observation::not_run(format!("error: {why}"));
            self.trace.call(self.used.rounds, call, &told, Duration::ZERO);
            self.told.dropped.push(why);
        }
    }
}

/// What happened to a repeated call of a tool with effects.
fn sentence(name: &str, is_unknown: bool) -> String {
    let why = match is_unknown {
        true => "the outcome of the same call before is unknown",
        false => "the same call ran just before",
    };
    format!("The second call of {name} was not run: {why}")
}

/// The same for the user, who may want it to run after all.
fn told(name: &str, is_unknown: bool) -> String {
    format!("{}. If it is wanted once more, say so in a new message", sentence(name, is_unknown))
}

/// What is known of the results that the model has seen.
#[derive(Default)]
pub(super) struct Seen {
    /// The server whose results strangers may have written.
    pub(super) tainted: Option<String>,
    /// The services, the latest first.
    pub(super) services: Vec<ServiceInfo>,
}

impl Seen {
    /// Records that the model sees a result of this service, and whether strangers may have written it.
    pub(super) fn add(&mut self, service: &ServiceInfo, open_world: bool) {
        if open_world && self.tainted.is_none() {
            self.tainted = Some(service.server.clone());
        }
        self.services.retain(|known| known != service);
        self.services.insert(0, service.clone());
    }
}
