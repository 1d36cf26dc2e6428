//! The end of an answer: the kept calls, whether the model is asked for more, and what takes the place of an answer that says
//! nothing.

use super::{super::reask::Reask, Gate};
use crate::{
    event::{Call, FinishReason, Sink, Why},
    fix, same,
};

impl Gate {
    /// Ends the answer, and returns the finish reason for the client.
    pub(super) fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) -> FinishReason {
        self.release(out);
        if self.ended.abandoned {
            return reason;
        }
        let is_silent = !self.said.text && self.refused == 0 && self.delivered.count == 0;
        if is_silent
            && !self.before.kept.is_empty()
            && let Some(left) = self.before.left.take()
        {
            self.text(&left, out);
        }
        for call in std::mem::take(&mut self.before.kept) {
            let is_new = self.delivered.times(&same::Call::new(&call.name, &call.arguments)) == 0;
            if is_new && self.reask.is_none() {
                self.deliver(call.at(0), out);
            }
        }
        if self.delivered.count > 0 {
            return FinishReason::ToolCalls;
        }
        let is_whole = matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
        if self.tools.must_call() && self.policy.may_reask && is_whole && self.refused == 0 {
            self.reask = Some(Reask::Uncalled);
            return reason;
        }
        // A user who waits for a call, and has read nothing yet, reads why there is none.
        let waits = is_silent && self.tools.must_call() && self.before.said.iter().all(|said| said.trim().is_empty());
        if self.before.call_alone() && !waits {
            return FinishReason::Stop;
        }
        let prose = &self.said.prose;
        let workspace = self.carrier.workspace().filter(|_| self.said.text);
        if self.policy.may_reask
            && reason == FinishReason::Stop
            && self.refused == 0
            && let Some(reask) = self.policy.nudges.reask(prose, workspace, &self.tools)
        {
            self.reask = Some(reask);
            return reason;
        }
        if let Some((tool, raw)) = fix::shown_patch(prose, &self.tools).filter(|_| self.refused == 0) {
            let name = tool.name.clone();
            if self.policy.may_reask {
                let why = Why::Unannounced(String::new());
                self.reask = Some(Reask::Refused { name, why, written: raw.clone(), raw });
                return reason;
            }
            // If the whole answer is a patch, the model means it.
            let is_alone = ["***", "```", "~~~", "apply_patch"].iter().any(|begin| prose.trim_start().starts_with(begin));
            if self.before.because.is_some() && is_alone {
                self.deliver(Call::new(0, &name, &raw), out);
            }
            if self.delivered.count > 0 {
                return FinishReason::ToolCalls;
            }
        }
        // The model ended its answer, and no rule of the request did.
        let is_its_own = self.ended.excluded.is_none() && self.ended.stop_sequence.is_none();
        if self.policy.may_reask && is_whole && is_its_own {
            let may_go_on = self.refused == 0 && self.before.because.is_none() && self.tools.wanted();
            self.reask = match () {
                () if is_silent => Some(Reask::Silent),
                () if may_go_on && self.policy.has_results && self.said.stops_short() => Some(Reask::Unfinished),
                () => None,
            };
            if self.reask.is_some() {
                return reason;
            }
        }
        if is_silent
            && self.policy.notice_when_empty
            && let Some(instead) = self.instead(reason)
        {
            self.say(&instead, out);
        }
        match reason {
            FinishReason::ToolCalls => FinishReason::Stop,
            other => other,
        }
    }

    /// What the user reads instead of an answer that says nothing.
    fn instead(&mut self, reason: FinishReason) -> Option<String> {
        if let Some(left) = self.before.left.take() {
            return Some(left);
        }
        if let Some(name) = &self.ended.excluded {
            return Some(format!("[toolglot] call of {name} was not run: the client wants no calls (`tool_choice`)\n"));
        }
        let why = match reason {
            FinishReason::Length => "the output limit was reached before the model wrote anything",
            FinishReason::ContentFilter => "the backend's filter stopped the answer",
            FinishReason::Stop | FinishReason::ToolCalls => "the model's answer was empty",
        };
        let is_told = !self.said.reasoning || matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
        is_told.then(|| format!("[toolglot] {why}\n"))
    }
}
