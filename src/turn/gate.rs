//! Decides what the client sees of an answer. The rules for refused calls, for text after a call, and for the finish reason are
//! only here. Text that may still become a call never gets here: `adapter::scanner` holds it back.
//!
//! * If a call is refused, or the client's form cannot carry it, toolglot asks the model again (`retry` times), hidden from the
//!   client. It does not if a call of this answer was already delivered. If asking again is over or makes no sense, a complete
//!   object that does not fit the schema is delivered as the model wrote it, and so is a guess that the model was already asked
//!   about. Any other refused call becomes one line of notice, also one after a delivered call.
//! * Text after a delivered call is nearly always an invented result. It is sent only if another call follows.
//! * If an answer announces an action, or tells the user to do what the user has ordered, and ends without a call, toolglot asks
//!   once more, for the call alone.
//! * The finish reason is `tool_calls` if at least one call was delivered. Otherwise it is the backend's.

use std::sync::Arc;

use super::announced::{advises, announces};
use crate::{
    client::shape::Carrier,
    event::{Assembly, Effect, Event, FinishReason, Note, Sink, Tools, Why},
    plan::Repeats,
};

/// What becomes of refused calls and of text after calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// The model may be asked again.
    pub may_reask: bool,
    /// Refused calls are passed on as events: the agent of mode `react` answers them.
    pub answers_refused: bool,
    /// Text after a delivered call is sent.
    pub keep_text_after_call: bool,
    /// An empty answer (no text, reasoning or call) becomes a notice, because some clients treat it as a fault.
    pub notice_when_empty: bool,
    /// The model is asked for the call if its answer announces an action and contains no call.
    pub nudges: bool,
    /// The user has ordered an action of tools: the model is also asked for the call if it only explains the action.
    pub ordered: bool,
    /// The model was asked for the call alone: a valid call is delivered, and everything else is dropped.
    pub call_alone: bool,
}

/// Why the model is asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reask {
    /// It wrote a call that was refused.
    Refused {
        /// The tool's name; `""` if unknown.
        name: String,
        /// The reason.
        why: Why,
        /// What it wrote.
        raw: String,
    },
    /// It wrote nothing after a result.
    Silent,
    /// It announced an action, or told the user to perform it, without a call.
    Announced,
}

impl std::fmt::Display for Reask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reask::Refused { name, why, .. } => write!(f, "{name}: {why}"),
            Reask::Silent => f.write_str("nothing was said after a result"),
            Reask::Announced => f.write_str("an action was announced or explained, and no tool was called"),
        }
    }
}

/// Applies the rules to the events of one answer.
#[derive(Debug)]
pub(super) struct Gate {
    policy: Policy,
    carrier: Carrier,
    /// The earlier calls of this turn that have results, and the tools of the request.
    before: (Repeats, Arc<Tools>),
    delivered: Delivered,
    /// The call that is passing through.
    open: Assembly,
    withheld: String,
    refused: u32,
    reask: Option<Reask>,
    said: Said,
    /// The stop sequence of the request that ended the answer.
    stop_sequence: Option<String>,
}

/// The delivered calls of this answer.
#[derive(Debug, Default)]
struct Delivered {
    count: u32,
    /// Delivered calls from the text (name, arguments without whitespace), until native calls begin.
    from_text: Vec<(String, String)>,
    /// Native calls have begun.
    native: bool,
}

/// The text of this answer so far.
#[derive(Debug)]
struct Said {
    /// The client has got text.
    text: bool,
    /// The client has got reasoning.
    reasoning: bool,
    /// The client is at the start of a line.
    line_start: bool,
    /// The prose to search for an announcement, whether the client got it or not.
    prose: String,
}

/// Approximate maximum length of the prose that is searched for an announcement, in bytes.
const PROSE_BYTES: usize = 16 * 1024;
/// After this much prose, a model that was asked for the call alone will not write it. In bytes.
const VAIN_BYTES: usize = 1024;
/// Approximate maximum length of the text that is withheld after a delivered call, in bytes.
const WITHHELD_BYTES: usize = 1024 * 1024;

// === impl Gate ===

impl Gate {
    pub(super) fn new(policy: Policy) -> Gate {
        Gate {
            policy,
            carrier: Carrier::default(),
            before: Default::default(),
            delivered: Delivered::default(),
            open: Assembly::default(),
            withheld: String::new(),
            refused: 0,
            reask: None,
            said: Said { text: false, reasoning: false, line_start: true, prose: String::new() },
            stop_sequence: None,
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        if self.reask.is_some() {
            return;
        }
        match event {
            Event::Text(text) => self.text(text, out),
            Event::Reasoning(text) => {
                self.said.reasoning |= !text.trim().is_empty();
                out.event(event);
            }
            Event::CallStart { .. } | Event::CallArguments { .. } | Event::CallEnd { .. } => {
                if let Some((_, call)) = self.open.event(&event) {
                    self.deliver(&call.name, call.id.as_deref(), &call.arguments, call.extra.as_deref(), out);
                }
            }
            Event::Refused { name, why, raw } => self.refuse(name, why, raw, out),
            Event::Note(_) => out.event(event),
            Event::Finish { reason, usage } => {
                let reason = self.finish(reason, out);
                if self.reask.is_none() {
                    if let Some(stop) = self.stop_sequence.take().filter(|_| reason == FinishReason::Stop) {
                        out.event(Event::Note(&Note::StopSequence(stop)));
                    }
                    out.event(Event::Finish { reason, usage });
                }
            }
        }
    }

    /// The backend reports that this stop sequence ended the answer.
    pub(super) fn stopped_at(&mut self, stop: &str) {
        self.stop_sequence = Some(stop.to_owned());
    }

    /// From now on, calls that this client's form cannot carry are refused.
    pub(super) fn towards(&mut self, carrier: Carrier) {
        self.carrier = carrier;
    }

    /// From now on, calls that repeat one of these are refused.
    pub(super) fn after(&mut self, before: Repeats, tools: Arc<Tools>) {
        self.before = (before, tools);
    }

    /// Native calls begin.
    pub(super) fn natives_begin(&mut self) {
        self.delivered.native = true;
    }

    /// Whether the model was asked for the call alone, and has written too much prose to still write it.
    pub(super) fn is_in_vain(&self) -> bool {
        self.policy.call_alone && self.delivered.count == 0 && self.said.prose.len() > VAIN_BYTES
    }

    /// The number of delivered calls, and why the model is to be asked again, if it is.
    pub(super) fn outcome(self) -> (u32, Option<Reask>) {
        if self.refused > 0 || !self.withheld.trim().is_empty() {
            tracing::debug!(
                refused = self.refused,
                withheld_bytes = self.withheld.len(),
                delivered = self.delivered.count,
                "answer was gated"
            );
        }
        (self.delivered.count, self.reask)
    }

    fn text(&mut self, text: &str, out: &mut dyn Sink) {
        if self.delivered.count > 0 && !self.policy.keep_text_after_call {
            if self.withheld.len() < WITHHELD_BYTES {
                self.withheld.push_str(text);
            }
            return;
        }
        if text.is_empty() {
            return;
        }
        if (self.policy.nudges || self.policy.call_alone) && self.said.prose.len() < PROSE_BYTES {
            self.said.prose.push_str(text);
        }
        if self.policy.call_alone {
            return;
        }
        self.said.left(text);
        out.event(Event::Text(text));
    }

    fn deliver(&mut self, name: &str, id: Option<&str>, arguments: &str, extra: Option<&str>, out: &mut dyn Sink) {
        let placed = self.carrier.placed(name, arguments);
        let arguments = placed.as_ref();
        let key = (name.to_owned(), canonical(arguments));
        // A backend may repeat as its own call what also was in the text.
        if self.delivered.had_in_text(&key) {
            return;
        }
        if let Err(why) = self.carrier.carries(name, arguments) {
            return self.refuse(name, &why, arguments, out);
        }
        let (before, tools) = &self.before;
        let reads = tools.get(name).is_some_and(|tool| tool.effect == Effect::Reads);
        // A model that insists on a call with effects may have a reason.
        if self.delivered.count == 0 && before.answers(name, arguments, reads) && (reads || self.policy.may_reask) {
            return self.refuse(name, &Why::Repeated, arguments, out);
        }
        if !self.withheld.trim().is_empty() {
            out.event(Event::Text(&std::mem::take(&mut self.withheld)));
        }
        self.withheld.clear();
        let index = self.delivered.add(key);
        out.event(Event::CallStart { index, id, name });
        out.event(Event::CallArguments { index, json: arguments });
        out.event(Event::CallEnd { index, extra });
    }

    fn refuse(&mut self, name: &str, why: &Why, raw: &str, out: &mut dyn Sink) {
        self.refused += 1;
        tracing::info!(tool = name, %why, after_delivered = self.delivered.count > 0, "call refused");
        if self.policy.answers_refused {
            return out.event(Event::Refused { name, why, raw });
        }
        if self.policy.call_alone {
            return;
        }
        if matches!(why, Why::Unsure(_)) && (self.delivered.count > 0 || !self.policy.may_reask) {
            return self.deliver(name, None, raw, None, out);
        }
        if self.delivered.count > 0 {
            return self.beside(name, why, out);
        }
        if self.policy.may_reask && !matches!(why, Why::Truncated(FinishReason::Length | FinishReason::ContentFilter)) {
            self.reask = Some(Reask::Refused { name: name.to_owned(), why: why.clone(), raw: raw.to_owned() });
            return;
        }
        if matches!(why, Why::Schema(_)) {
            return self.deliver(name, None, raw, None, out);
        }
        self.notice(&not_run(name, why), out);
    }

    /// A refused call after one that was delivered: nobody is asked again, but the user is told. The text between them is withheld.
    fn beside(&mut self, name: &str, why: &Why, out: &mut dyn Sink) {
        let gap = if self.said.line_start { "" } else { "\n" };
        let notice = format!("{gap}{}\n", not_run(name, why));
        self.said.left(&notice);
        out.event(Event::Text(&notice));
    }

    /// One line of its own.
    fn notice(&mut self, line: &str, out: &mut dyn Sink) {
        let gap = if self.said.line_start { "" } else { "\n" };
        self.text(&format!("{gap}{line}\n"), out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) -> FinishReason {
        if self.delivered.count > 0 {
            return FinishReason::ToolCalls;
        }
        if self.policy.call_alone {
            return FinishReason::Stop;
        }
        let empty = !self.said.text && !self.said.reasoning && self.refused == 0;
        let nudges = self.policy.nudges && self.policy.may_reask && reason == FinishReason::Stop && self.refused == 0;
        let prose = &self.said.prose;
        if nudges && (announces(prose, &self.before.1) || (self.policy.ordered && advises(prose))) {
            self.reask = Some(Reask::Announced);
            return reason;
        }
        if empty && self.policy.may_reask && reason == FinishReason::Stop && !self.before.0.is_empty() {
            self.reask = Some(Reask::Silent);
            return reason;
        }
        if self.policy.notice_when_empty && empty {
            let why = match reason {
                FinishReason::Length => "the output limit was reached before the model wrote anything",
                FinishReason::ContentFilter => "the backend's filter stopped the answer",
                FinishReason::Stop | FinishReason::ToolCalls => "the model's answer was empty",
            };
            self.notice(&format!("[toolglot] {why}"), out);
        }
        match reason {
            FinishReason::ToolCalls => FinishReason::Stop,
            other => other,
        }
    }
}

// === impl Delivered ===

impl Delivered {
    /// Whether this call of the backend's own was delivered out of the text already.
    fn had_in_text(&self, call: &(String, String)) -> bool {
        self.native && self.from_text.contains(call)
    }

    /// Counts a call; its index.
    fn add(&mut self, call: (String, String)) -> u32 {
        if !self.native {
            self.from_text.push(call);
        }
        self.count += 1;
        self.count - 1
    }
}

// === impl Said ===

impl Said {
    /// The client gets this text.
    fn left(&mut self, text: &str) {
        self.text |= !text.trim().is_empty();
        self.line_start = text.ends_with('\n');
    }
}

/// What the user reads of a call that was refused.
fn not_run(name: &str, why: &Why) -> String {
    let subject = if name.is_empty() { "a tool" } else { name };
    format!("[toolglot] call of {subject} was not run: {why}")
}

/// JSON text without insignificant whitespace, for comparison.
fn canonical(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).map(|value| value.to_string()).unwrap_or_else(|_| json.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(policy: Policy, events: &[Event<'_>]) -> (Vec<String>, Option<Reask>) {
        let mut gate = Gate::new(policy);
        let mut calls = Vec::new();
        for event in events {
            gate.event(event.clone(), &mut |event: Event<'_>| {
                if let Event::CallArguments { json, .. } = event {
                    calls.push(json.to_owned());
                }
            });
        }
        (calls, gate.outcome().1)
    }

    #[test]
    fn a_guess_that_was_asked_about_is_delivered_the_second_time() {
        let why = Why::Unsure("a backslash".into());
        let refused = Event::Refused { name: "write", why: &why, raw: r#"{"path":"a"}"# };
        let (calls, reask) = delivered(Policy { may_reask: true, ..Policy::default() }, std::slice::from_ref(&refused));
        assert_eq!((calls.len(), matches!(reask, Some(Reask::Refused { raw, .. }) if raw == r#"{"path":"a"}"#)), (0, true));
        let (calls, reask) = delivered(Policy::default(), std::slice::from_ref(&refused));
        assert_eq!((calls, reask), (vec![r#"{"path":"a"}"#.to_owned()], None));
        // Nothing that comes after a delivered call is asked for again, and it is not lost.
        let first = [
            Event::CallStart { index: 0, id: None, name: "read" },
            Event::CallArguments { index: 0, json: "{}" },
            Event::CallEnd { index: 0, extra: None },
            refused,
        ];
        let (calls, reask) = delivered(Policy { may_reask: true, ..Policy::default() }, &first);
        assert_eq!((calls, reask), (vec!["{}".to_owned(), r#"{"path":"a"}"#.to_owned()], None));
    }

    #[test]
    fn a_refused_call_beside_a_delivered_one_is_told() {
        let why = Why::Malformed("a quote".into());
        let call = |index, name| {
            [
                Event::CallStart { index, id: None, name },
                Event::CallArguments { index, json: "{}" },
                Event::CallEnd { index, extra: None },
            ]
        };
        let refused = || Event::Refused { name: "write", why: &why, raw: "{" };
        let seen = |events: Vec<Event<'_>>| {
            let mut gate = Gate::new(Policy { may_reask: true, ..Policy::default() });
            let mut seen = Vec::new();
            for event in events {
                gate.event(event, &mut |event: Event<'_>| match event {
                    Event::Text(text) => seen.push(text.to_owned()),
                    Event::CallStart { name, .. } => seen.push(format!("<{name}>")),
                    Event::Finish { reason, .. } => seen.push(format!("{reason:?}")),
                    _ => {}
                });
            }
            (seen.concat(), gate.outcome())
        };
        let finish = || Event::Finish { reason: FinishReason::Stop, usage: None };
        let notice = "[toolglot] call of write was not run: its arguments are not valid JSON: a quote\n";
        let (text, outcome) = seen(call(0, "read").into_iter().chain([Event::Text("So"), refused(), finish()]).collect());
        assert_eq!((text, outcome), (format!("<read>{notice}ToolCalls"), (1, None)));
        let before = [Event::Text("I read.")].into_iter().chain(call(0, "read"));
        let (text, outcome) = seen(before.chain([refused()]).chain(call(1, "list")).chain([finish()]).collect());
        assert_eq!((text, outcome), (format!("I read.<read>\n{notice}<list>ToolCalls"), (2, None)));
    }

    #[test]
    fn an_announced_action_is_asked_for_and_then_only_a_call_counts() {
        let finish = || Event::Finish { reason: FinishReason::Stop, usage: None };
        let answer = |policy: Policy, events: &[Event<'_>]| {
            let mut gate = Gate::new(policy);
            let (mut text, mut ended) = (String::new(), false);
            for event in events {
                gate.event(event.clone(), &mut |event: Event<'_>| match event {
                    Event::Text(piece) => text.push_str(piece),
                    Event::Finish { .. } => ended = true,
                    _ => {}
                });
            }
            (text, ended, gate.outcome())
        };
        let first = Policy { may_reask: true, nudges: true, notice_when_empty: true, ..Policy::default() };
        let announced = [Event::Text("I'll search "), Event::Text("the files."), finish()];
        let (text, ended, (_, reask)) = answer(first, &announced);
        assert_eq!((text.as_str(), ended, reask), ("I'll search the files.", false, Some(Reask::Announced)));
        let advice = "You can use the following command: rm a";
        let ordered = answer(Policy { ordered: true, ..first }, &[Event::Text(advice), finish()]);
        assert_eq!(ordered, (advice.into(), false, (0, Some(Reask::Announced))));
        for (policy, said) in [
            (first, advice),
            (Policy { ordered: true, ..first }, "Do you want me to delete it?"),
            (first, "Hello! How can I help?"),
            (Policy { may_reask: false, ..first }, "I'll search the files."),
            (Policy { nudges: false, ..first }, "I'll search the files."),
        ] {
            let (text, ended, (_, reask)) = answer(policy, &[Event::Text(said), finish()]);
            assert_eq!((text.as_str(), ended, reask), (said, true, None));
        }
        let cut = [Event::Text("I'll search"), Event::Finish { reason: FinishReason::Length, usage: None }];
        assert_eq!(answer(first, &cut).2.1, None);

        let second = Policy { call_alone: true, notice_when_empty: true, ..Policy::default() };
        let call = |name| Event::CallStart { index: 0, id: None, name };
        let whole = [call("read"), Event::CallArguments { index: 0, json: "{}" }, Event::CallEnd { index: 0, extra: None }];
        let events: Vec<Event<'_>> = [Event::Text("Here:\n")].into_iter().chain(whole).chain([finish()]).collect();
        let (text, ended, outcome) = answer(second, &events);
        assert_eq!((text.as_str(), ended, outcome), ("", true, (1, None)));
        let why = Why::Schema("no".into());
        let refused = [Event::Refused { name: "read", why: &why, raw: "{}" }, Event::Text("None."), finish()];
        assert_eq!(answer(second, &refused), (String::new(), true, (0, None)));
    }
}
