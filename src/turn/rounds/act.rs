//! The steps between two answers of the model, and after the last one. In mode `react`, the calls of an answer run, the user is
//! told about their results as they arrive, and then comes the next answer, or the client gets its calls.

use super::{Asks, Rounds};
use crate::{
    client::shape::Counts,
    config::Progress,
    error::Error,
    event::{Call, Event, FinishReason, Note, Sink, Usage},
    turn::{answer::Outcome, gate::Before, outlet::Outlet},
};

impl<O: Sink> Rounds<O> {
    /// In mode `react`, runs the calls of a complete answer. Without any, the turn is over.
    pub(super) fn act(&mut self, outcome: &Outcome) -> bool {
        let Some(agent) = &mut self.outlet.agent else { return false };
        let goes_on = agent.answered(&self.shared, &mut self.plan, self.outlet.sent.said(), outcome);
        if goes_on {
            let (complaints, beginning) = (agent.complaints(), agent.beginning());
            self.outlet.sent.spend(outcome.usage);
            complaints.iter().for_each(|complaint| self.tell(complaint));
            self.show(beginning);
        } else {
            if let Some(line) = agent.last_words(self.outlet.sent.said(), &self.plan) {
                self.outlet.sent.break_line();
                self.tell(&line);
            }
            self.finish(None);
        }
        goes_on
    }

    /// Waits for a result. After the last one, the model is asked again, or the client gets its calls.
    pub(super) async fn run_tools(&mut self) -> bool {
        let Some(agent) = &mut self.outlet.agent else { return false };
        if let Some(line) = agent.next(&self.plan).await {
            self.show(Some(line));
            return true;
        }
        let calls = agent.conclude(&self.shared, &mut self.plan).await;
        if calls.is_empty() {
            return true;
        }
        for (index, call) in (0..).zip(&calls) {
            let extra = call.extra.as_ref().map(ToString::to_string);
            let (id, extra) = (Some(call.id.as_str()), extra.as_deref());
            self.outlet.pass(Event::Call(Call { id, extra, ..Call::new(index, &call.name, &call.arguments) }));
        }
        self.outlet.extras.keep(&self.shared, &self.plan).await;
        self.finish(Some(FinishReason::ToolCalls));
        false
    }

    /// Cuts off an answer with tools because the time of the turn is over: the text so far stays, the calls do not run.
    pub(super) fn out_of_time(&mut self) {
        self.abandon();
        let Some(agent) = &mut self.outlet.agent else { return };
        let line = agent.give_up();
        self.outlet.sent.break_line();
        self.tell(&line);
        self.finish(Some(FinishReason::Length));
    }

    /// Ends a turn in mode `react`.
    fn finish(&mut self, reason: Option<FinishReason>) {
        let Some(agent) = &mut self.outlet.agent else { return };
        let (own, mut usage) = std::mem::take(&mut agent.collected.end);
        let own = if own == FinishReason::ToolCalls { FinishReason::Stop } else { own };
        let trace = agent.trace();
        if reason.is_some() {
            // The tokens of this answer were counted when its calls began.
            usage = usage.map(|_| Usage::default());
        }
        if let Some(trace) = &trace {
            self.outlet.pass(Event::Note(trace));
        }
        self.outlet.pass(Event::Finish { reason: reason.unwrap_or(own), usage });
        self.end();
    }

    /// Ends the turn with a line about a backend that failed after tools have run.
    pub(super) fn break_off(&mut self, error: &Error) {
        tracing::warn!(status = error.status, code = error.code, "{error}");
        self.outlet.sent.break_line();
        self.tell(&format!("[toolglot] the tools above have run, and then the model could not go on: {error}"));
        self.finish(Some(FinishReason::Stop));
    }

    /// Gives the client the first answer, because the backend failed when the model was asked again. Its refused call becomes text
    /// or a notice, and its valid calls are delivered.
    pub(super) fn give_first_answer(&mut self, error: &Error) {
        tracing::warn!(status = error.status, code = error.code, "asking the model again failed: {error}");
        let Asks { before: Before { left, kept, .. }, .. } = std::mem::take(&mut self.asks);
        if let Some(left) = left {
            self.outlet.sent.break_line();
            self.outlet.pass(Event::Text(&left));
        }
        for (index, call) in (0..).zip(&kept) {
            self.outlet.pass(Event::Call(call.at(index)));
        }
        let reason = if kept.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        self.outlet.pass(Event::Finish { reason, usage: Some(Usage::default()) });
        self.end();
    }

    /// Writes a line of toolglot's own to the user.
    fn tell(&mut self, line: &str) {
        self.outlet.event(Event::Text(&format!("{line}\n")));
    }

    /// Shows which tool runs, in the way that the configuration chooses.
    fn show(&mut self, line: Option<String>) {
        let (Some(line), Some(agent)) = (line.filter(|line| !line.is_empty()), &self.outlet.agent) else { return };
        let shown = match agent.react.limits.progress {
            Progress::Comment => false,
            Progress::Reasoning => true,
            Progress::Off => return,
        };
        let Outlet { shape, out, .. } = &mut self.outlet;
        shape.event(Event::Note(&Note::Progress { text: line, shown }), out);
    }

    /// Ends the turn.
    pub(super) fn end(&mut self) {
        let counts = self.outlet.shape.counts();
        self.outlet.tell(|tap| {
            tap.dropped(counts.dropped);
            tap.end();
        });
        if counts != Counts::default() {
            tracing::info!(model = self.plan.chat.model, ?counts, "the client's form");
        }
    }
}
