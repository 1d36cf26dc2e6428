//! Begins to read an answer: by which rules, and what becomes of its calls.

use std::sync::Arc;

use super::{
    super::{
        answer::{Answer, Policy, Reask, Setup},
        nudge,
        quoted::Quoted,
        react::Agent,
        reading::Reading,
    },
    Rounds,
};
use crate::{
    adapter::scanner,
    backend::{Decoder, Dialect, Size},
    event::Sink,
    openai, upstream,
    wire::Frames,
};

/// Space in a frame for what surrounds the largest arguments, in bytes.
const FRAME_SLACK: usize = 1024 * 1024;

impl<O: Sink> Rounds<O> {
    /// Reads the body of an answer that has begun.
    pub(super) fn reading(&mut self, body: upstream::Body, dialect: Dialect, cuttable: Option<Size>) -> Box<Reading> {
        self.outlet.sent.begin();
        self.outlet.extras.begin();
        if self.asks.again == 0 {
            self.asks.before.quoted = Arc::new(Quoted::of(&self.plan, &self.shared.schemas));
            // The agent looks at repetitions itself.
            if self.agent.is_none() {
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
        let plan = &self.plan;
        // Mode `react` counts its questions itself.
        let is_spent = self.agent.as_ref().is_some_and(|agent| !agent.may_ask(plan.rules.retry));
        let asked = if is_spent { plan.rules.retry } else { self.asks.again };
        let may_ask = scanner::MayAsk::after(asked, plan.rules.retry);
        let setup = Setup {
            scanner: scanner::Options { may_ask, ..plan.scanner() },
            policy: Policy {
                may_reask: may_ask == scanner::MayAsk::Now,
                answers_refused: self.agent.is_some(),
                nudges: plan.rules.nudges,
                ordered: plan.rules.nudges && openai::asked(&plan.chat.messages).is_some_and(nudge::orders),
                reads_only: matches!(self.asks.because, Some(Reask::Unread(_))),
                must_call: plan.tools.must_call(),
                has_results: self.agent.as_ref().map_or(!plan.rules.repeats.is_empty(), Agent::has_results),
                call_alone: self.asks.because.as_ref().is_some_and(Reask::wants_call_alone),
                notice_when_empty: self
                    .agent
                    .as_ref()
                    .is_none_or(|agent| !agent.has_results() && !agent.may_ask(plan.rules.retry)),
            },
            carrier: self.outlet.shape.carrier(),
            ..Setup::new(Arc::clone(&plan.adapter), Arc::clone(&plan.tools), Arc::clone(&self.shared.schemas))
        };
        let mut answer = Answer::after(setup, self.asks.before.clone());
        answer.fixer.tally = Arc::clone(&self.shared.tally);
        answer.fixer.excerpts = plan.rules.log_excerpts;
        answer.fixer.unclosed = self.asks.unclosed.clone();
        answer
    }
}
