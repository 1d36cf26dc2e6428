//! Mode `react`: runs calls of the registry's tools, and the model continues with the results. Other modes give all calls to the
//! client. Here the agent collects the calls of an answer, runs those of the registry, keeps the client's, and writes exactly one
//! result per call into the conversation. Dropping the turn drops every running call, except those with effects (`flight`).

use std::{mem::take, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::BoxStream};
use serde_json::Map;
use tokio::{sync::watch, time::Instant};

use super::{Shared, answer::Outcome, reask};
use crate::{
    backend::{Kind, Size},
    client::front,
    event::{Effect, Note, ToolChoice},
    mcp::pool::Pool,
    openai::{Content, Message, ToolCall, answer::call_id, tokens},
    plan::{Ended, Plan, React, Repeats},
    store::Key,
};

mod collected;
mod flight;
mod judge;
mod limits;
mod observe;
mod resume;
#[cfg(test)]
mod tests;
mod trace;
mod words;

use collected::Collected;
pub use flight::WITHOUT_CLIENT;
use flight::{Done, Flight, Runner};
use judge::{Fate, Judge};
use limits::{Limit, Seen, Used};
use trace::Trace;
use words::Told;

/// Runs the calls of a turn.
pub(super) struct Agent {
    pub(super) react: React,
    pool: Arc<Pool>,
    /// What is kept of the answer that is being read.
    pub(super) collected: Collected,
    /// Where the messages begin that the client does not have. `None` until that is known.
    start: Option<resume::Start>,
    round: Option<Round>,
    used: Used,
    /// When calls and answers with tools end.
    end: Instant,
    /// Why this is the last answer.
    last: Option<Limit>,
    seen: Seen,
    repeats: Repeats,
    told: Told,
    trace: Trace,
    /// Where this turn is kept until its end. If the client breaks it off and repeats the whole request, the turn continues from
    /// there, and nothing runs twice.
    unfinished: Option<Key>,
}

/// The calls of one answer while they run.
struct Round {
    calls: Vec<Pending>,
    runs: BoxStream<'static, Done>,
    /// Writes down the calls in case the client leaves; `None` if no call has effects.
    flight: Option<Flight>,
    /// Whether the client has left.
    left: watch::Sender<bool>,
}

/// A call that waits for its result.
struct Pending {
    call: ToolCall,
    fate: Fate,
    result: Option<Observation>,
}

/// A result as the model sees it.
#[derive(Debug, Clone, PartialEq)]
struct Observation {
    content: Content,
    ended: Ended,
}

impl Observation {
    /// What the model sees of a call that was not run.
    fn not_run(text: String) -> Observation {
        Observation { content: Content::Text(text), ended: Ended::Failed }
    }

    fn failed(&self) -> bool {
        self.ended != Ended::Well
    }
}

impl Agent {
    pub(super) fn new(react: React, pool: Arc<Pool>) -> Agent {
        let end = Instant::now() + Duration::from_secs(react.limits.seconds);
        Agent {
            react,
            pool,
            collected: Collected::default(),
            start: None,
            round: None,
            used: Used::default(),
            end,
            last: None,
            seen: Seen::default(),
            repeats: Repeats::default(),
            told: Told::default(),
            trace: Trace::default(),
            unfinished: None,
        }
    }

    /// Before the first answer: brings back what was kept of turns that the client had to finish.
    pub(super) async fn begin(&mut self, shared: &Shared, plan: &mut Plan) {
        if self.start.is_none() {
            let (start, tainted) = resume::bring_back(shared, plan).await;
            (self.start, self.seen.tainted) = (Some(start), tainted);
            if let Some((key, kept)) = resume::broken_off(shared, plan).await {
                let results = kept.messages.iter().filter(|message| message.role == "tool").count() as u32;
                tracing::info!(results, "the request is repeated: its tools do not run again");
                plan.chat.messages.extend(kept.messages);
                self.used.answered += results;
                self.used.calls += results;
                (self.unfinished, self.seen.tainted) = (Some(key), kept.tainted);
            }
            // What was done before the client broke off, or before it ran its own tools, must not be done twice.
            self.repeats = Repeats::of(&plan.chat.messages, &plan.tools);
            self.repeats.read_anew();
        }
    }

    /// Whether tools are offered to the model.
    pub(super) fn offers(&self) -> bool {
        self.last.is_none()
    }

    /// When the current answer is cut off. The last one, without tools, may take as long as it needs.
    pub(super) fn end(&self) -> Option<Instant> {
        (self.offers() && !self.runs()).then_some(self.end)
    }

    /// Ends the turn because the time is over, and returns the line that says so.
    pub(super) fn give_up(&mut self) -> String {
        self.collected.calls.clear();
        let limit = Limit::Seconds(self.react.limits.seconds);
        self.last = Some(limit);
        format!("[toolglot] {limit}, and the answer was cut off")
    }

    /// Whether calls are running.
    pub(super) fn runs(&self) -> bool {
        self.round.is_some()
    }

    /// Whether a tool has run in this turn.
    pub(super) fn has_run(&self) -> bool {
        self.used.calls > 0
    }

    /// Records that the turn has ended, so that a repeated request begins a new one.
    pub(super) async fn forget(&mut self, shared: &Shared) {
        if let Some(key) = self.unfinished.take() {
            shared.store.take(&key).await;
        }
    }

    /// Whether a call has got a result. If so, an empty answer is not the end.
    pub(super) fn has_results(&self) -> bool {
        self.used.answered > 0
    }

    /// Whether the model may be asked again about an answer.
    pub(super) fn may_ask(&self, retry: u8) -> bool {
        self.offers() && self.used.excused < retry
    }

    /// What was done, if the request asks for it.
    pub(super) fn trace(&self) -> Option<Note> {
        let trace = || self.trace.to_value(self.used.rounds, self.last).to_string();
        self.react.limits.trace.then(|| Note::Trace(trace()))
    }

    /// Takes a whole answer; `said`: its prose, which the client has. `false`: it is the last one; otherwise
    /// its calls run, or the model is asked again.
    pub(super) fn answered(&mut self, shared: &Shared, plan: &mut Plan, said: &str, outcome: &Outcome) -> bool {
        let (written, thought) = (take(&mut self.collected.calls), take(&mut self.collected.reasoning));
        self.used.rounds += 1;
        let tokens = match outcome.usage {
            Some(usage) => usage.total_tokens(),
            None => Size::of(&plan.chat, &plan.tools).tokens() + tokens::usual(said.len() as u64),
        };
        self.used.tokens = self.used.tokens.saturating_add(tokens);
        self.trace.fixes(self.used.rounds, &outcome.checked);
        if self.last.is_some() {
            return false;
        }
        if written.is_empty() {
            if said.trim().is_empty() && self.has_results() {
                return self.wrap_up(plan, Limit::Silence);
            }
            let Some(why) = &outcome.reask else { return false };
            self.used.excuse_round();
            reask::ask(why, said, &[], plan);
            return true;
        }
        let judge =
            Judge { agent: self, tools: &plan.tools, schemas: &shared.schemas, may_reask: self.may_ask(plan.rules.retry) };
        let judged: Vec<_> = written.into_iter().map(|call| judge.judge(call)).collect();
        let hands_over = judged.iter().any(|(_, fate)| matches!(fate, Fate::Client));
        let (at, mut handed) = (plan.chat.messages.len(), 0);
        let mut calls: Vec<Pending> = Vec::with_capacity(judged.len());
        for (call, fate) in judged {
            // The client answers its calls in the next request. A call that it does not get must not wait for an answer.
            let is_lost = match &fate {
                Fate::Client => handed > 0 && plan.reply.one_call,
                Fate::Answered { of_client, .. } => hands_over && *of_client,
                Fate::Run { .. } => false,
            };
            if is_lost {
                continue;
            }
            let of_front = matches!(fate, Fate::Client).then(|| front::id_of(&plan.reply.head.envelope.id, handed));
            handed += u32::from(of_front.is_some());
            let place = [at, calls.len()].map(usize::to_le_bytes);
            let made = || call_id(&[b"react", &place[0], &place[1], call.name.as_bytes(), call.arguments.as_bytes()]);
            let id = call.id.clone().or(of_front).unwrap_or_else(made);
            let arguments = if reask::is_object(&call.arguments) { call.arguments } else { "{}".to_owned() };
            let extra = call.extra.and_then(|extra| serde_json::from_str(&extra).ok());
            calls.push(Pending { call: ToolCall { id, name: call.name, arguments, extra }, fate, result: None });
        }
        if self.apply_limits(&mut calls, plan) {
            return self.wrap_up(plan, Limit::Repeats);
        }
        let ours = calls.iter().filter(|call| !matches!(call.fate, Fate::Client));
        self.used.answered += ours.count() as u32;
        plan.chat.messages.push(turn_of(said, &thought, &calls, plan.backend.kind));
        // The first answer has met the client's demand for a call.
        if plan.tools.must_call() {
            Arc::make_mut(&mut plan.tools).choice = ToolChoice::Auto;
            plan.chat.tool_choice = None;
        }
        let left = watch::Sender::new(false);
        let runner = Runner {
            pool: Arc::clone(&self.pool),
            headers: self.react.headers.clone(),
            parallel: self.react.limits.parallel,
            end: self.end,
            left: left.subscribe(),
        };
        let flight = self.flight(shared, plan, &calls);
        self.round = Some(Round { runs: runner.run(&calls), calls, flight, left });
        true
    }

    /// Asks once more, without tools.
    fn wrap_up(&mut self, plan: &mut Plan, why: Limit) -> bool {
        self.last = Some(why);
        reask::wrap_up(&mut plan.chat.messages, false);
        true
    }

    /// Waits for the next result; `None` once all are there.
    pub(super) async fn next(&mut self, plan: &Plan) -> Option<String> {
        let round = self.round.as_mut()?;
        if let Some(flight) = &mut round.flight
            && let Some(key) = flight.note(&round.calls).await
        {
            self.unfinished = Some(key);
        }
        let Done { at, response, took } = round.runs.next().await?;
        let pending = round.calls.get_mut(at)?;
        let Fate::Run { service, open_world, .. } = &pending.fate else { return Some(String::new()) };
        let observation = observe::observation(&response, self.react.limits.result_bytes, &plan.adapter, &plan.tools);
        tracing::info!(tool = pending.call.name, failed = observation.failed(), seconds = took.as_secs_f64(), "tool ran");
        self.seen.add(service, *open_world);
        let line = format!("{} {:.1} s", pending.call.name, took.as_secs_f64());
        self.trace.call(self.used.rounds, &pending.call, &observation, took);
        pending.result = Some(observation);
        Some(line)
    }

    /// Adds the results to the conversation, once all are there. Returns the calls that the client has to run; without any, the
    /// model is asked again.
    pub(super) async fn conclude(&mut self, shared: &Shared, plan: &mut Plan) -> Vec<ToolCall> {
        let Some(Round { calls, .. }) = self.round.take() else { return Vec::new() };
        let mut handed = Vec::new();
        let mut results = Vec::new();
        let (mut run, mut failed) = (0, 0);
        self.repeats.next_answer();
        for Pending { call, fate, result } in calls {
            // A call that did not run has changed nothing.
            let reads = !matches!(fate, Fate::Run { effect: Effect::Writes | Effect::Destroys, .. });
            let observation = match (fate, result) {
                (Fate::Client, _) => {
                    handed.push(call);
                    continue;
                }
                (Fate::Answered { text, .. }, _) => {
                    let observation = Observation::not_run(text);
                    self.trace.call(self.used.rounds, &call, &observation, Duration::ZERO);
                    observation
                }
                (Fate::Run { .. }, result) => {
                    result.unwrap_or_else(|| Observation::not_run("error: the call was not run".into()))
                }
            };
            run += 1;
            failed += u32::from(observation.failed());
            self.repeats.note(&call.name, &call.arguments, reads, observation.ended);
            results.push(Message::result(call.id, observation.content));
        }
        self.used.failures = if run > 0 && run == failed { self.used.failures + 1 } else { 0 };
        if handed.is_empty() && self.last.is_none() {
            self.last = self.reached();
        }
        plan.chat.messages.extend(results);
        if let Some(last) = self.last.filter(|_| handed.is_empty()) {
            reask::tell(&mut plan.chat.messages, &last.to_model());
        }
        if let Some(start) = &self.start {
            let (kept, seconds) = (self.so_far(start, plan), self.react.limits.keep_seconds);
            if handed.is_empty() {
                self.unfinished = Some(resume::keep_unfinished(shared, plan, start, kept, seconds).await);
            } else {
                resume::keep(shared, plan, start, &handed, kept, seconds).await;
            }
        }
        handed
    }

    /// What was done in this turn so far.
    fn so_far(&self, start: &resume::Start, plan: &Plan) -> resume::Kept {
        let messages = start.split(&plan.chat.messages).1.to_vec();
        resume::Kept { messages, tainted: self.seen.tainted.clone(), until: None }
    }
}

impl Drop for Agent {
    /// Handles a client that leaves while calls run.
    fn drop(&mut self) {
        if let Some(round) = self.round.take() {
            round.outlive();
        }
    }
}

/// The model's answer as it is in the conversation.
fn turn_of(said: &str, thought: &str, calls: &[Pending], backend: Kind) -> Message {
    let mut rest = Map::new();
    // Models that think between calls continue where they were; other backends refuse the field.
    if backend == Kind::Ollama && !thought.trim().is_empty() {
        rest.insert("reasoning_content".into(), thought.into());
    }
    Message {
        role: "assistant".into(),
        content: if said.is_empty() { Content::None } else { Content::Text(said.to_owned()) },
        tool_calls: calls.iter().map(|call| call.call.clone()).collect(),
        rest,
        ..Message::default()
    }
}
