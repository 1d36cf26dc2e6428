//! Runs the upstream rounds of a turn: ask, read, ask again. `Rounds::abandon` says what a client sees of a broken answer.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::{StatusCode, header};
use tokio::{
    task::yield_now,
    time::{Instant, sleep, timeout_at},
};

mod act;
mod learn;
mod reading;

use self::{learn::Loading, reading::Reading};
use super::{
    Shared,
    answer::Answer,
    extras::{self, Extras},
    fit,
    gate::Before,
    outlet::Outlet,
    prefix,
    react::Agent,
    reask,
    sent::Sent,
    spool,
    tap::Taps,
};
use crate::{
    backend,
    client::shape::Shape,
    error::Error,
    event::{Event, Note, Sink, Tools, Usage},
    plan::Plan,
    upstream::{Client, Outgoing, Response},
};

/// A turn in progress. Everything that the client sees goes through `outlet`.
pub(super) struct Rounds<O> {
    plan: Plan,
    shared: Shared,
    pub(super) outlet: Outlet<O>,
    /// Boxed, because every step takes it out.
    reading: Option<Box<Reading>>,
    asks: Asks,
    /// Whether `plan.asking.learned` has changed and is to be stored.
    relearned: bool,
    /// The backend's token counts for the unchanged conversation, to be stored.
    counted: Option<Usage>,
    /// When to report again that a call is being written; `None` while none is.
    progress: Option<Instant>,
    /// Whether so many bytes are held that the next steps may take long.
    is_heavy: bool,
}

/// The requests of this turn so far.
#[derive(Debug, Default)]
struct Asks {
    /// Whether the backend has accepted a request of this turn.
    taken: bool,
    /// How often a refusal has changed the form of the conversation.
    rewritten: u8,
    /// The error that nobody knows, after which the schemas of the tools are sent in plain words.
    unknown: Option<Error>,
    /// Whether the backend has reported that it is loading its model.
    loading: Option<Loading>,
    /// How often the model was asked again.
    again: u8,
    /// What the next answer follows.
    before: Before,
    /// The tool whose call the previous answer left unclosed.
    unclosed: Option<String>,
}

/// Maximum number of bytes to read from the body of an error.
const ERROR_BYTES: usize = 64 * 1024;
/// Time between two reports that a call is being written.
const PROGRESS: Duration = Duration::from_secs(2);
/// A turn that holds this many bytes is heavy: deciding about them at once may take long (tags that never close: 5 ms for each kB in
/// the release build).
const HEAVY_BYTES: usize = 8 * 1024;

/// How long to wait before each further attempt to send a request: together shorter than `FIRST_SIGN`, so that an error keeps its
/// HTTP status.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(400)];

impl<O: Sink> Rounds<O> {
    pub(super) fn new(plan: Plan, shared: Shared, taps: Taps, out: O) -> Rounds<O> {
        let shape =
            Shape::new(plan.reply.shape, Arc::clone(&plan.tools), plan.reply.one_call).within(plan.reply.workspace.clone());
        let shape = match plan.reply.shell.clone() {
            Some(shell) => shape.in_shell(shell),
            None => shape,
        };
        let aside = plan.reply.show_warnings.then(String::new);
        let agent = plan.react.clone().map(|react| Agent::new(react, Arc::clone(&shared.pool)));
        let (sent, extras, id) = (Sent::default(), Extras::default(), plan.reply.head.envelope.id.clone());
        let calls = plan.chat.messages.iter().flat_map(|message| &message.tool_calls);
        let call_ids = calls.map(|call| call.id.clone()).collect();
        Rounds {
            plan,
            shared,
            outlet: Outlet { agent, taps, shape, out, sent, extras, aside, called: false, id, call_ids },
            reading: None,
            asks: Asks::default(),
            relearned: false,
            counted: None,
            progress: None,
            is_heavy: false,
        }
    }

    /// Waits once for the backend, or for a tool that runs here, and passes on what came. `false`: the turn is over. A turn that
    /// has run tools does not fail, because the client would then repeat the request. It ends with a line of text instead.
    pub(super) async fn step(&mut self) -> Result<bool, Error> {
        let stepped = match self.outlet.agent.as_ref().and_then(Agent::end) {
            None => self.step_on().await,
            Some(end) => match Box::pin(timeout_at(end, self.step_on())).await {
                Ok(stepped) => stepped,
                Err(_) => {
                    self.out_of_time();
                    Ok(false)
                }
            },
        };
        let error = match stepped {
            Ok(more) => {
                if let Some(agent) = self.outlet.agent.as_mut().filter(|_| !more) {
                    Box::pin(agent.forget(&self.shared)).await;
                }
                return Ok(more);
            }
            Err(error) => error,
        };
        // The client has not seen this request.
        if self.asks.before.because.is_some() && !self.outlet.called {
            self.give_first_answer(&error);
            return Ok(false);
        }
        self.outlet.tell(|tap| tap.failed(&error));
        // Clients send the whole request again after an error, and all of it would run a second time.
        if self.outlet.agent.as_ref().is_some_and(Agent::has_run) {
            self.break_off(&error);
            return Ok(false);
        }
        Err(error)
    }

    async fn step_on(&mut self) -> Result<bool, Error> {
        if self.outlet.agent.as_ref().is_some_and(Agent::runs) {
            return Ok(Box::pin(self.run_tools()).await);
        }
        let Some(reading) = &mut self.reading else {
            // Rare paths are boxed, so that the future of a step, which is made anew for each piece, stays small.
            match Box::pin(self.ask()).await {
                Ok(reading) => self.reading = Some(reading),
                Err(error) => match self.waits_for_the_model(&error) {
                    Some(pause) => sleep(pause).await,
                    None => return Err(error),
                },
            }
            return Ok(true);
        };
        let next = reading.next().await;
        let taken = self.take(next);
        let has_spooled = self.outlet.shape.has_spooled();
        if self.outlet.extras.has_fresh() || has_spooled || self.relearned || self.counted.is_some() {
            Box::pin(self.keep()).await?;
        }
        match taken {
            Ok(more) => {
                self.tell_progress();
                let held = self.reading.as_ref().map_or(0, |reading| reading.held_bytes());
                self.weigh(held).await;
                Ok(more)
            }
            Err(error) if Box::pin(self.learn(&error)).await => {
                self.reading = None;
                Ok(true)
            }
            Err(error) => {
                self.abandon();
                Err(error.without(self.plan.secrets()))
            }
        }
    }

    /// Tells the taps, once, that the turn has become heavy.
    async fn weigh(&mut self, bytes: usize) {
        if self.is_heavy || bytes < HEAVY_BYTES {
            return;
        }
        self.is_heavy = true;
        self.outlet.tell(|tap| tap.heavy());
        yield_now().await;
    }

    /// Sends the conversation. If the backend refuses its form, sends it again in another form.
    async fn ask(&mut self) -> Result<Box<Reading>, Error> {
        if self.plan.reply.shell.is_some() {
            spool::bring_back(&self.shared, &mut self.plan).await;
        }
        self.outlet.extras.open(&self.plan.chat.messages);
        if let Some(agent) = &mut self.outlet.agent {
            agent.begin(&self.shared, &mut self.plan).await;
        }
        self.weigh(backend::marked_bytes(&self.plan.chat.messages, &self.plan.adapter, HEAVY_BYTES)).await;
        let mut may_hold = !self.plan.asking.learned.no_grammar;
        loop {
            extras::put_back(&self.shared, &mut self.plan, &self.outlet.extras).await;
            let plan = &self.plan;
            let context = fit::fit(&self.shared, plan).await?;
            let offer = self.outlet.agent.as_ref().is_none_or(Agent::offers);
            let round = plan.round(offer, context.num_ctx);
            let mut prepared = backend::request(&round)?;
            if let Outgoing::Http(request) = &mut prepared.outgoing {
                request.headers.extend(plan.asking.passed.onward.clone());
            }
            plan.backend.wait_for_quota(&*self.shared.store).await?;
            if let Some(garbled) = backend::garbles_tools(&self.shared.client, &round, &prepared).await {
                self.saw_tools(garbled).await;
                continue;
            }
            prepared = backend::unparsed(&self.shared.client, &round, &prepared).await.unwrap_or(prepared);
            let held = if may_hold { backend::held(&self.shared.client, &round, &prepared).await } else { Ok(None) };
            let holds = matches!(held, Ok(Some(_)));
            match held {
                Ok(Some(held)) => prepared = held,
                Ok(None) => {}
                // The server makes a grammar of the tools for this too.
                Err(error) if self.learn(&error).await => continue,
                Err(error) => {
                    may_hold = false;
                    self.without_grammar(&error).await;
                }
            }
            let mut response = send(&self.shared.client, &prepared.outgoing, self.asks.loading.is_none()).await?;
            self.outlet.tell(|tap| tap.answered(&response.headers));
            if response.status.is_success() {
                let in_the_prompt = Tools::default();
                let tools = if self.plan.asking.verbatim { &in_the_prompt } else { &*self.plan.tools };
                self.outlet.tell(|tap| tap.round(&self.plan.chat, tools, prepared.dialect));
                // Only the first request of a turn is compared.
                if !std::mem::replace(&mut self.asks.taken, true)
                    && let Some(prefix) = prefix::compare(&self.plan, &self.shared, &prepared.outgoing).await
                {
                    self.outlet.tell(|tap| tap.prefix(prefix));
                }
                self.schemas_were_refused().await;
                for note in context.notes.iter().chain(&prepared.notes) {
                    self.outlet.event(Event::Note(note));
                }
                return Ok(self.reading(response.body, prepared.dialect, context.cuttable));
            }
            let body = response.collect(ERROR_BYTES).await.unwrap_or_default();
            let refusal = backend::refusal_of(&self.plan.backend, response.status.as_u16(), &body);
            let error = Error { headers: backend::pace_headers(&response.headers), ..refusal };
            if holds && error.code.as_deref() != Some("context_length_exceeded") {
                may_hold = false;
                self.without_grammar(&error).await;
                continue;
            }
            if self.learn(&error).await || self.suspects_schemas(&error, offer) {
                continue;
            }
            let error = self.asks.unknown.take().unwrap_or(error);
            return Err(error.without(self.plan.secrets()));
        }
    }

    /// Reports from time to time that a call is being written, because nothing of the call itself may be sent yet.
    fn tell_progress(&mut self) {
        let Some(reading) = self.reading.as_ref().filter(|reading| self.plan.reply.progress && reading.holds()) else {
            self.progress = None;
            return;
        };
        let now = Instant::now();
        if self.progress.is_some_and(|due| now < due) {
            return;
        }
        if self.progress.replace(now + PROGRESS).is_none() {
            return;
        }
        if let Some((name, bytes)) = reading.writing() {
            self.outlet.event(Event::Note(&Note::Writing { name, bytes }));
        }
    }

    /// Runs the bytes through the stages.
    fn take(&mut self, next: Result<Option<usize>, Error>) -> Result<bool, Error> {
        let Rounds { reading: Some(reading), outlet, .. } = self else { return Ok(false) };
        let is_over = reading.take(next, outlet)?;
        match self.reading.take_if(|_| is_over) {
            Some(reading) => Ok(self.close(reading.answer)),
            None => Ok(true),
        }
    }

    /// Ends the answer. `true`: the model is asked again; otherwise the turn is over.
    fn close(&mut self, answer: Answer) -> bool {
        let outcome = answer.finish(&mut self.outlet);
        if let Some(open) = outcome.began_inside {
            self.relearned |= std::mem::replace(&mut self.plan.asking.learned.reasoning_open, open) != open;
        }
        self.asks.unclosed = outcome.unclosed().map(str::to_owned);
        outcome.checked.iter().for_each(|checked| self.outlet.tell(|tap| tap.checked(checked)));
        outcome.usage.into_iter().for_each(|usage| self.outlet.tell(|tap| tap.usage(usage)));
        if self.outlet.agent.is_some() {
            self.asks.before.said.clear();
            return self.act(&outcome);
        }
        let Some(reask) = outcome.reask else {
            self.counted = outcome.usage;
            self.end();
            return false;
        };
        tracing::info!(model = self.plan.chat.model, why = %reask, "asking the model again");
        self.asks.again += 1;
        let before = &mut self.asks.before;
        before.kept = outcome.kept;
        before.left = reask.left().or(before.left.take());
        self.shared.asked_again.fetch_add(1, Ordering::Relaxed);
        self.outlet.sent.spend(outcome.usage);
        self.repeat();
        reask::ask(&reask, self.outlet.sent.said(), &self.asks.before.kept, &mut self.plan);
        self.asks.before.because = Some(reask);
        true
    }

    /// Prepares for an answer that may repeat what the client has.
    fn repeat(&mut self) {
        let said = self.outlet.sent.said();
        if !said.trim().is_empty() {
            self.asks.before.said.push(said.to_owned());
        }
    }

    /// Ends the turn after the backend broke off: releases the held text and drops a truncated call. Before the first byte, the
    /// error is the whole answer.
    fn abandon(&mut self) {
        let Some(answer) = self.reading.take().map(|reading| reading.answer) else { return };
        if !self.outlet.sent.any {
            return; // the error is the whole answer
        }
        answer.abandon(&mut self.outlet);
    }
}

/// Sends a request and waits for the head of the answer. Another attempt follows only if nothing has run and the fault may be
/// temporary: the connection was refused (the server restarts), or the server is not ready (503: it loads a model, or its queue
/// is full). `insists`: a server that is not ready is asked again, unless it says when it will be.
async fn send(client: &Client, request: &Outgoing, insists: bool) -> Result<Response, Error> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let answered = client.send(request).await;
        let may_be_temporary = answered.as_ref().map_or_else(refused, |response| insists && is_not_ready(response));
        let Some(pause) = pauses.next().filter(|_| may_be_temporary) else {
            let response = answered?;
            return backend::unusable(response.status, &response.headers).map_or(Ok(response), Err);
        };
        tracing::debug!("once more");
        drop(answered);
        sleep(pause).await;
    }
}

fn is_not_ready(response: &Response) -> bool {
    response.status == StatusCode::SERVICE_UNAVAILABLE && !response.headers.contains_key(header::RETRY_AFTER)
}

/// Whether the connection was refused at once. One that timed out is not tried again.
fn refused(error: &Error) -> bool {
    error.code.as_deref() == Some("backend_unreachable") && error.status != 504
}
