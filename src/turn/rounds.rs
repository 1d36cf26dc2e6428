//! The upstream rounds of a turn: ask, read, ask again. Each step waits for the backend once.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::{
    Shared,
    answer::{Answer, Policy, Setup},
    context,
    extras::{self, Extras},
    reask,
    send::send,
    spool,
    tap::Tap,
};
use crate::{
    backend::{self, Decoder, Dialect, Refusal, Size},
    client::shape::{Counts, Shape},
    error::Error,
    event::{Delta, Event, FinishReason, Note, Sink, Usage},
    plan::{Learned, Plan},
    upstream::{self, Outgoing},
    wire::Frames,
};

/// A turn under way; what the client shall see goes into `out`.
pub(super) struct Rounds<O> {
    plan: Plan,
    shared: Shared,
    tap: Option<Box<dyn Tap>>,
    shape: Shape,
    pub(super) out: O,
    reading: Option<Reading>,
    /// How often the model was asked again.
    asked_again: u8,
    /// The client has something of this turn.
    spoken: bool,
    /// The prose of the current answer.
    said: String,
    /// The prose of the answer before did not end its line.
    gap: bool,
    /// What the answers before have cost.
    spent: Usage,
    /// When to say next that a call is being written; `None`: none is.
    progress: Option<Instant>,
    /// What the backend wants back with its calls.
    extras: Extras,
}

/// The answer that is being read.
struct Reading {
    body: Box<dyn upstream::Body>,
    frames: Frames,
    decoder: Decoder,
    answer: Answer,
    batch: BytesMut,
    /// The size of what was sent, where the backend may have cut it without a word.
    cuttable: Option<Size>,
}

/// Everything behind the answer's rules.
struct Behind<'a, O> {
    tap: &'a mut Option<Box<dyn Tap>>,
    shape: &'a mut Shape,
    out: &'a mut O,
    spoken: &'a mut bool,
    said: &'a mut String,
    gap: &'a mut bool,
    spent: Usage,
    extras: &'a mut Extras,
    /// The answer's id.
    id: &'a str,
}

/// A frame may hold the largest arguments and what is around them.
const FRAME_SLACK: usize = 1024 * 1024;
/// As much prose is shown to a model that is asked again, give or take a piece.
const SAID_BYTES: usize = 64 * 1024;
/// As much of an error's body is read.
const ERROR_BYTES: usize = 64 * 1024;
/// A call may be held so long without a word.
const PROGRESS: Duration = Duration::from_secs(2);
/// What was learned of a model holds so long: servers are updated.
const LEARNED_TTL: Duration = Duration::from_secs(24 * 60 * 60);

// === impl Rounds ===

impl<O: Sink> Rounds<O> {
    pub(super) fn new(plan: Plan, shared: Shared, tap: Option<Box<dyn Tap>>, out: O) -> Rounds<O> {
        let shape = Shape::new(plan.shape, Arc::clone(&plan.tools), plan.one_call);
        let shape = match plan.shell.clone() {
            Some(shell) => shape.in_shell(shell),
            None => shape,
        };
        Rounds {
            plan,
            shared,
            tap,
            shape,
            out,
            reading: None,
            asked_again: 0,
            spoken: false,
            said: String::new(),
            gap: false,
            spent: Usage::default(),
            progress: None,
            extras: Extras::default(),
        }
    }

    /// Waits for the backend once and passes on what came; `false` at the end of the turn.
    pub(super) async fn step(&mut self) -> Result<bool, Error> {
        let Some(reading) = &mut self.reading else {
            self.reading = Some(self.ask().await?);
            return Ok(true);
        };
        reading.batch.clear();
        let read = reading.body.read(&mut reading.batch).await;
        let taken = self.take(read);
        self.extras.keep(&self.shared, &self.plan).await;
        spool::keep(&self.shared, &self.plan, self.shape.take_spooled()).await;
        match taken {
            Ok(more) => {
                self.tell_progress();
                Ok(more)
            }
            Err(error) if self.learn(&error).await => {
                self.reading = None;
                Ok(true)
            }
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// Shows the tap what is sent.
    pub(super) fn tap_client(&mut self, bytes: &Bytes) {
        if let Some(tap) = &mut self.tap {
            tap.client(bytes);
        }
    }

    /// Sends the conversation; what the backend refuses is said in another way, once each.
    async fn ask(&mut self) -> Result<Reading, Error> {
        if self.plan.shell.is_some() {
            spool::bring_back(&self.shared, &mut self.plan).await;
        }
        extras::put_back(&self.shared, &mut self.plan).await;
        loop {
            if self.plan.learned.no_thinking {
                for field in ["think", "reasoning_effort"] {
                    self.plan.chat.rest.shift_remove(field);
                }
            }
            let plan = &self.plan;
            let context = context::context(&self.shared, plan).await?;
            let mut prepared = backend::request(&backend::Round {
                backend: &plan.backend,
                adapter: &plan.adapter,
                chat: &plan.chat,
                tools: &plan.tools,
                mode: plan.learned.tools,
                fold_system: plan.learned.fold_system,
                vision: plan.vision,
                num_ctx: context.num_ctx,
                authorization: plan.passed.authorization.as_ref(),
            })?;
            if let (Outgoing::Http(request), Some(via)) = (&mut prepared.outgoing, &plan.passed.via) {
                request.headers.insert(http::header::VIA, via.clone());
            }
            plan.backend.turn().await?;
            let mut response = send(&self.shared.client, &prepared.outgoing).await?;
            if response.status.is_success() {
                if let Some(tap) = &mut self.tap {
                    tap.round(&self.plan.chat, &self.plan.tools, prepared.dialect);
                }
                for note in context.notes.iter().chain(&prepared.notes) {
                    self.shape.event(Event::Note(note), &mut self.out);
                }
                return Ok(self.reading(response.body, prepared.dialect, context.cuttable));
            }
            let body = response.collect(ERROR_BYTES).await.unwrap_or_default();
            let error = backend::error_from(response.status.as_u16(), &body);
            if !self.learn(&error).await {
                return Err(error);
            }
        }
    }

    fn reading(&mut self, body: Box<dyn upstream::Body>, dialect: Dialect, cuttable: Option<Size>) -> Reading {
        self.said.clear();
        let plan = &self.plan;
        Reading {
            body,
            frames: Frames::new(dialect.framing(), plan.argument_bytes.saturating_add(FRAME_SLACK)),
            decoder: Decoder::new(dialect),
            answer: self.answer(),
            batch: BytesMut::new(),
            cuttable,
        }
    }

    fn answer(&self) -> Answer {
        let plan = &self.plan;
        let setup = Setup {
            adapter: Arc::clone(&plan.adapter),
            tools: Arc::clone(&plan.tools),
            schemas: Arc::clone(&self.shared.schemas),
            scanner: plan.scanner.clone(),
            policy: Policy { may_reask: self.asked_again < plan.retry, notice_when_empty: true, ..Policy::default() },
        };
        Answer::new(setup).towards(self.shape.carrier()).observed(Arc::clone(&self.shared.tally), plan.log_excerpts)
    }

    /// Says now and then that a call is being written, of which nothing may leave yet.
    fn tell_progress(&mut self) {
        let held = self.reading.as_ref().map(|reading| &reading.answer).filter(|answer| self.plan.progress && answer.holds());
        let Some(answer) = held else {
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
        if let Some((name, bytes)) = answer.writing() {
            self.shape.event(Event::Note(&Note::Writing { name, bytes }), &mut self.out);
        }
    }

    /// Runs what was read through the stages.
    fn take(&mut self, read: Result<usize, Error>) -> Result<bool, Error> {
        let Some(mut reading) = self.reading.take() else { return Ok(false) };
        let mut behind = self.behind();
        let over = reading.take(read, &mut behind);
        match over {
            Ok(false) => {
                self.reading = Some(reading);
                Ok(true)
            }
            Ok(true) => Ok(self.close(reading.answer)),
            Err(error) => {
                self.reading = Some(reading);
                Err(error)
            }
        }
    }

    /// The answer is over: the turn too, unless the model is asked again.
    fn close(&mut self, answer: Answer) -> bool {
        let outcome = answer.finish(&mut self.behind());
        for checked in &outcome.checked {
            if let Some(tap) = &mut self.tap {
                tap.checked(checked);
            }
        }
        let Some(reask) = outcome.reask else {
            if let Some(tap) = &mut self.tap {
                tap.end();
            }
            let counts = self.shape.counts();
            if counts != Counts::default() {
                let Counts { dropped, refused, defused, withheld } = counts;
                tracing::info!(model = self.plan.chat.model, dropped, refused, defused, withheld, "the client's form");
            }
            return false;
        };
        tracing::info!(model = self.plan.chat.model, tool = reask.name, why = %reask.why, "asking the model again");
        self.asked_again += 1;
        self.shared.asked_again.fetch_add(1, Ordering::Relaxed);
        self.gap = !self.said.is_empty() && !self.said.ends_with('\n');
        let usage = outcome.usage.unwrap_or_default();
        self.spent.prompt_tokens += usage.prompt_tokens;
        self.spent.completion_tokens += usage.completion_tokens;
        let messages = reask::messages(&reask, &self.said, &self.plan.tools, self.plan.chat.messages.len());
        self.plan.chat.messages.extend(messages);
        true
    }

    /// Lets go of what was held back when the backend broke off; whatever was cut is no call.
    fn abandon(&mut self) {
        let Some(Reading { mut answer, .. }) = self.reading.take() else { return };
        if !self.spoken {
            return; // the error is the whole answer
        }
        let mut behind = self.behind();
        answer.delta(Delta::Finish(FinishReason::Length), &mut behind);
        answer.finish(&mut |event: Event<'_>| {
            if !matches!(event, Event::Finish { .. }) {
                behind.event(event);
            }
        });
    }

    /// Learns from the error how to ask in another way: in this turn if the client has seen nothing of it yet (then `true`),
    /// else from the next one on.
    async fn learn(&mut self, error: &Error) -> bool {
        let Some(refusal) = Refusal::of(error) else { return false };
        if !self.plan.learned.learn(refusal) {
            return false;
        }
        tracing::info!(
            model = self.plan.chat.model,
            backend = self.plan.backend.name,
            ?refusal,
            "asking in another way: {error}"
        );
        let key = Learned::key(&self.plan.caller, &self.plan.backend, &self.plan.chat.model);
        if let Ok(learned) = serde_json::to_vec(&self.plan.learned) {
            self.shared.store.put(key, learned.into(), LEARNED_TTL).await;
        }
        !self.spoken
    }

    fn behind(&mut self) -> Behind<'_, O> {
        let Rounds { plan, tap, shape, out, spoken, said, gap, spent, extras, .. } = self;
        Behind { tap, shape, out, spoken, said, gap, spent: *spent, extras, id: &plan.head.envelope.id }
    }
}

// === impl Reading ===

impl Reading {
    /// Takes a batch, the end of the stream, or its failure; `true` when the answer is over.
    fn take<O: Sink>(&mut self, read: Result<usize, Error>, behind: &mut Behind<'_, O>) -> Result<bool, Error> {
        let Reading { frames, decoder, answer, batch, cuttable, .. } = self;
        if let (Ok(1..), Some(tap)) = (&read, &mut behind.tap) {
            tap.upstream(batch);
        }
        let mut read_delta = |delta: Delta<'_>| {
            if let (Delta::Usage(usage), Some(size)) = (&delta, &cuttable)
                && let Some(note) = size.cut(usage.prompt_tokens)
            {
                tracing::warn!(?note, "context");
                behind.event(Event::Note(&note));
            }
            answer.delta(delta, behind);
        };
        let broken = match read {
            Ok(0) => {
                if let Some(frame) = frames.finish() {
                    decoder.frame(&frame, &mut read_delta)?;
                }
                None
            }
            Ok(_) => {
                frames.push(batch);
                while let Some(frame) = frames.next()? {
                    decoder.frame(&frame, &mut read_delta)?;
                }
                if !decoder.is_done() {
                    return Ok(false);
                }
                return Ok(true);
            }
            Err(error) => Some(error),
        };
        // An answer whose finish was seen is complete, whatever happened to the connection after it.
        decoder.finish(&mut read_delta).map_err(|incomplete| broken.unwrap_or(incomplete))?;
        Ok(true)
    }
}

// === impl Behind ===

impl<O: Sink> Sink for Behind<'_, O> {
    fn event(&mut self, event: Event<'_>) {
        if let Some(tap) = self.tap {
            tap.event(&event);
        }
        self.extras.event(&event, self.id);
        match event {
            Event::Text(text) => {
                if std::mem::take(self.gap) {
                    self.shape.event(Event::Text("\n"), self.out);
                }
                if self.said.len() < SAID_BYTES {
                    self.said.push_str(text);
                }
                *self.spoken = true;
                self.shape.event(event, self.out);
            }
            Event::Finish { reason, usage } => {
                *self.spoken = true;
                let usage = usage.map(|usage| Usage {
                    prompt_tokens: usage.prompt_tokens + self.spent.prompt_tokens,
                    completion_tokens: usage.completion_tokens + self.spent.completion_tokens,
                });
                self.shape.event(Event::Finish { reason, usage }, self.out);
            }
            _ => {
                *self.spoken |= !matches!(event, Event::Note(_) | Event::Refused { .. });
                self.shape.event(event, self.out);
            }
        }
    }
}
