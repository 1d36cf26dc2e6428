//! Reads one answer of a backend: decides by which rules it is read and what becomes of its calls, cuts batches of bytes into
//! frames, decodes them, and feeds the deltas to the [`Answer`].
//!
//! If the stream ends early, three places are involved. The decoder knows whether the answer was complete (`Decoder::finish`).
//! [`Reading::take`] returns the first error, of the connection or the decoder. `Rounds` then releases held text and drops a
//! truncated call (`Rounds::abandon`).

use std::{sync::Arc, time::Duration};

use tokio::{task::yield_now, time::Instant};

use super::{
    super::{
        answer::{Answer, Policy, Setup},
        nudge::Nudges,
        outlet::Outlet,
        quoted::Quoted,
        react::Agent,
    },
    Rounds,
};
use crate::{
    adapter::scanner::MayAsk,
    backend::{Decoder, Dialect, Size},
    error::Error,
    event::{Delta, Event, Sink},
    upstream,
    wire::Frames,
};

/// An answer that is being read.
pub(super) struct Reading {
    pub(super) body: upstream::Body,
    pub(super) frames: Frames,
    pub(super) decoder: Decoder,
    pub(super) answer: Answer,
    /// The size of the conversation, if the backend may have silently truncated it.
    pub(super) cuttable: Option<Size>,
    /// Whether frames of the last batch have not been decoded yet.
    pub(super) lags: bool,
}

/// Space in a frame for what surrounds the largest arguments, in bytes.
const FRAME_SLACK: usize = 1024 * 1024;
/// After this much work, other answers on the thread get their turn.
const SLICE: Duration = Duration::from_millis(5);

impl Reading {
    /// Whether a call, or text that may become one, is held back.
    pub(super) fn holds(&self) -> bool {
        self.decoder.writing().is_some() || self.answer.scanner.holds()
    }

    /// The call that is being written, native or in the text: its tool, and its bytes so far.
    pub(super) fn writing(&self) -> Option<(String, usize)> {
        let native = self.decoder.writing().map(|(name, bytes)| (name.to_owned(), bytes));
        native.or_else(|| self.answer.scanner.writing())
    }

    /// Bytes that have arrived but are still undecided.
    pub(super) fn held_bytes(&self) -> usize {
        let native = self.decoder.writing().map_or(0, |(_, bytes)| bytes);
        self.frames.held_bytes() + native + self.answer.scanner.held_bytes()
    }

    /// Waits for the backend: the number of bytes that it sent, `None` at the end of the stream. 0: frames of the last batch remain.
    pub(super) async fn next(&mut self) -> Result<Option<usize>, Error> {
        if self.lags {
            yield_now().await;
            return Ok(Some(0));
        }
        Ok(Some(self.body.read(self.frames.room()).await?).filter(|bytes| *bytes > 0))
    }

    /// Decodes what `next` brought. `true`: the answer is over.
    ///
    /// # Errors
    /// If the answer is incomplete. A failure of the connection takes precedence over the decoder's error.
    pub(super) fn take<O: Sink>(&mut self, next: Result<Option<usize>, Error>, outlet: &mut Outlet<O>) -> Result<bool, Error> {
        let Reading { frames, decoder, answer, cuttable, lags, .. } = self;
        if let Ok(Some(bytes @ 1..)) = &next {
            outlet.tell(|tap| tap.upstream(frames.newest(*bytes)));
        }
        let mut read_delta = |delta: Delta<'_>| {
            if let (Delta::Usage(usage), Some(size)) = (&delta, &cuttable)
                && let Some(note) = size.cut(usage.prompt_tokens)
            {
                tracing::warn!(?note, "context");
                outlet.event(Event::Note(&note));
            }
            outlet.divide();
            answer.delta(delta, outlet);
        };
        let broken = match next {
            Ok(None) => {
                if let Some(frame) = frames.finish() {
                    decoder.frame(frame, &mut read_delta)?;
                }
                None
            }
            Ok(Some(_)) => {
                // The clock is read between frames: most batches are one.
                let mut begun: Option<Instant> = None;
                *lags = false;
                while let Some(frame) = frames.next()? {
                    decoder.frame(frame, &mut read_delta)?;
                    if frames.held_bytes() > 0 && begun.get_or_insert_with(Instant::now).elapsed() > SLICE {
                        *lags = true;
                        break;
                    }
                }
                return Ok(decoder.is_done() || answer.is_in_vain());
            }
            Err(error) => Some(error),
        };
        // An answer whose finish was seen is complete, whatever happened to the connection after it.
        decoder.finish(&mut read_delta).map_err(|incomplete| broken.unwrap_or(incomplete))?;
        Ok(true)
    }
}

impl<O: Sink> Rounds<O> {
    /// Reads the body of an answer that has begun.
    pub(super) fn reading(&mut self, body: upstream::Body, dialect: Dialect, cuttable: Option<Size>) -> Box<Reading> {
        self.outlet.sent.begin();
        self.outlet.extras.begin();
        if self.asks.again == 0 {
            self.asks.before.quoted = Arc::new(Quoted::of(&self.plan, &self.shared.schemas));
            // The agent looks at repetitions itself.
            if self.outlet.agent.is_none() {
                self.asks.before.repeats = self.plan.rules.repeats.clone();
            }
        }
        let plan = &self.plan;
        Box::new(Reading {
            body,
            frames: Frames::new(dialect.framing(), plan.rules.scanner.argument_bytes.saturating_add(FRAME_SLACK)),
            decoder: Decoder::new(dialect),
            answer: self.answer(),
            cuttable,
            lags: false,
        })
    }

    /// What becomes of the next answer.
    fn answer(&self) -> Answer {
        let (plan, agent) = (&self.plan, self.outlet.agent.as_ref());
        let retry = plan.rules.retry;
        // Mode `react` counts its questions itself.
        let is_spent = agent.is_some_and(|agent| !agent.may_ask(retry));
        let may_ask = MayAsk::after(if is_spent { retry } else { self.asks.again }, retry);
        let mut setup = Setup::of(plan, &self.shared.schemas);
        setup.scanner.may_ask = may_ask;
        setup.carrier = self.outlet.shape.carrier();
        setup.policy = Policy {
            may_reask: may_ask == MayAsk::Now,
            answers_refused: agent.is_some(),
            nudges: Nudges::of(plan),
            has_results: agent.map_or(!plan.rules.repeats.is_empty(), Agent::has_results),
            notice_when_empty: agent.is_none_or(|agent| !agent.has_results() && is_spent),
        };
        let mut answer = Answer::after(setup, self.asks.before.clone());
        answer.fixer.tally = Arc::clone(&self.shared.tally);
        answer.fixer.unclosed = self.asks.unclosed.clone();
        answer
    }
}
