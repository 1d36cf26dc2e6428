//! The limits of a turn: rounds, calls, time, tokens, and rounds in which nothing works. Decides which calls of an answer still run,
//! by these and by what was done before. A call that repeats another one does not run, because small models repeat a call until
//! they are stopped. If its tool has effects, the model may have meant to run it once more, so the model, the user and the log are
//! told.

use std::{fmt, time::Duration};

use tokio::time::Instant;

use super::{Agent, Fate, Observation, Pending};
use crate::{event::Effect, mcp::response::ServiceInfo, plan::Plan, turn::reask};

/// What a turn has used.
#[derive(Debug, Default)]
pub(super) struct Used {
    /// Answers of the model.
    pub(super) rounds: u32,
    /// Calls that ran.
    pub(super) calls: u32,
    /// Calls that got a result, whatever it was.
    pub(super) answered: u32,
    /// Tokens read and written.
    pub(super) tokens: u64,
    /// Rounds in a row in which every call failed.
    pub(super) failures: u32,
    /// How many rounds of nothing but refused calls were not counted.
    pub(super) excused: u8,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The number of rounds.
    Rounds(u32),
    /// The number of calls.
    Calls(u32),
    /// The duration of the turn, in seconds.
    Seconds(u64),
    /// The number of tokens.
    Tokens(u64),
    /// The model repeated calls whose results it had.
    Repeats,
    /// The model wrote nothing after the results.
    Silence,
    /// The number of rounds in a row in which every call failed.
    Failures(u32),
}

/// How many rounds in a row may fail.
const FAILURES: u32 = 3;

impl Used {
    /// Does not count the last round, because asking again for a call in the right form is not a separate round in any mode.
    pub(super) fn excuse_round(&mut self) {
        self.excused += 1;
        self.rounds -= 1;
    }
}

impl Agent {
    /// The limit that ends the turn now, if there is one.
    pub(super) fn reached(&self) -> Option<Limit> {
        let (limits, used) = (&self.react.limits, &self.used);
        match () {
            () if used.rounds >= limits.rounds => Some(Limit::Rounds(limits.rounds)),
            () if used.calls >= limits.calls => Some(Limit::Calls(limits.calls)),
            () if Instant::now() >= self.end => Some(Limit::Seconds(limits.seconds)),
            () if limits.tokens > 0 && used.tokens >= limits.tokens => Some(Limit::Tokens(limits.tokens)),
            () if used.failures >= FAILURES => Some(Limit::Failures(FAILURES)),
            () => None,
        }
    }
}

impl Limit {
    /// Whether the user is told of it even after a good answer.
    pub(super) fn is_worth_telling(self) -> bool {
        !matches!(self, Limit::Repeats | Limit::Silence)
    }

    /// What the model is told before its last answer.
    pub(super) fn to_model(self) -> String {
        format!("{self}. No tool can be used any more: answer now with what is known, and say what is missing.")
    }

    /// A short, stable word for machines, and the sentence for people.
    pub(super) fn words(self) -> (&'static str, String) {
        let reached = |word, limit: String| (word, format!("the limit of {limit} was reached (`react.{word}`)"));
        match self {
            Limit::Rounds(rounds) => reached("rounds", format!("{rounds} rounds with tools")),
            Limit::Calls(calls) => reached("calls", format!("{calls} calls")),
            Limit::Seconds(seconds) => reached("seconds", format!("{seconds} s")),
            Limit::Tokens(tokens) => reached("tokens", format!("{tokens} tokens")),
            Limit::Repeats => ("repeats", "the model made the same calls again".into()),
            Limit::Silence => ("silence", "the model's answer was empty".into()),
            Limit::Failures(rounds) => ("failures", format!("every call of {rounds} rounds failed")),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().1)
    }
}

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
