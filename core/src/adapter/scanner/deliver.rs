//! Decides what happens to a candidate: its calls are emitted, held or refused, or it becomes text.

use super::{MayAsk, Region, Scanner, candidate::Candidate, emitted::Writing, preceding::Mentioned, tentative::Taken};
use crate::{
    adapter::syntax::{Parsed, value::is_json},
    event::{Effect, Sink, Why},
    fix::name::{is_known, known_tool, means_answer, means_none},
};

/// More words than these after a marker are prose about it, not the beginning of a name.
const PROSE_WORDS: usize = 4;
/// Maximum length of a remark after the calls, in bytes.
const REMARK_BYTES: usize = 400;

/// Whether calls count.
enum Standing {
    /// At once.
    Counts,
    /// Unless text follows: they have markers, but no such tool is offered.
    Doubted,
    /// If nothing but calls follows.
    Held,
}

impl Scanner {
    /// Handles calls that were read in `candidate.at..to`: emits or holds them.
    pub(super) fn accept(
        &mut self,
        calls: Vec<Parsed>,
        candidate: &Candidate,
        form: usize,
        marked: bool,
        to: usize,
        out: &mut dyn Sink,
    ) {
        self.buf.leave_strings();
        if self.is_drafting() && !calls.is_empty() {
            self.hold_draft(calls, candidate, to, out);
            self.before.after_held_call(form);
            return;
        }
        // An element named after no tool may be the answer's own markup.
        if self.adapter.calls.get(form).is_some_and(|call| call.element) {
            self.tentative.drop_strays();
        }
        match self.standing(&calls, candidate, form, marked) {
            Standing::Counts => return self.deliver(calls, candidate, form, marked, to, out),
            Standing::Doubted => self.tentative.hold_doubted(calls),
            Standing::Held => self.tentative.hold(calls),
        }
        self.buf.scan_to(to);
        self.before.after_held_call(form);
        self.close_wrap_before(to);
    }

    /// Emits calls that count, and those that were held before them.
    fn deliver(&mut self, calls: Vec<Parsed>, candidate: &Candidate, form: usize, marked: bool, to: usize, out: &mut dyn Sink) {
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        let echoed = candidate.fresh && self.repeats(&calls, (form, marked));
        let meant = if echoed { Vec::new() } else { self.send_meant(calls, out) };
        if meant.is_empty() && !self.emitted.has_said() {
            self.emitted.swallow_blank(true);
        }
        // The last calls stay, so that a third copy is recognised too.
        if !echoed {
            self.emitted.set_last(meant, (form, marked));
        }
        self.emitted.begin_line();
        self.buf.skip_to(to);
        self.before.after_call(form);
        self.end_after_transcript(form, candidate.at, to);
    }

    /// Ends the answer if the form is a transcript's, and the marker of a result ends the text read in `at..to`: the model invents
    /// the result, and calls that depend on it.
    fn end_after_transcript(&mut self, form: usize, at: usize, to: usize) {
        let read = &self.buf[at..to];
        let call = self.adapter.calls.get(form);
        if call.is_some_and(|call| !call.transcript.is_empty() && call.close.iter().any(|close| read.ends_with(close.as_str()))) {
            self.region = Region::Lost;
        }
    }

    /// Whether calls count at once. `form`: the form that closes them.
    fn standing(&self, calls: &[Parsed], candidate: &Candidate, form: usize, marked: bool) -> Standing {
        if marked {
            return if self.is_doubtful(candidate, calls) { Standing::Doubted } else { Standing::Counts };
        }
        let form = self.adapter.calls.get(form);
        let is_code = form.is_some_and(|form| form.whole_answer);
        let in_place = || match form {
            Some(form) if form.element && candidate.fence.is_some() => false,
            Some(form) if self.message.transcript && !form.transcript.is_empty() => true,
            _ => candidate.fresh && !is_code,
        };
        let dedicated = candidate.fence.as_ref().is_some_and(|fence| fence.is_dedicated && !is_code);
        match !self.is_wrapped() && (self.tools.must_call() || in_place() || dedicated) {
            true => Standing::Counts,
            false => Standing::Held,
        }
    }

    /// Whether these marked calls may be an example: no such tool is offered, or earlier ones were text.
    fn is_doubtful(&self, candidate: &Candidate, calls: &[Parsed]) -> bool {
        let is_tool =
            |name: &str| is_known(&self.tools, name) || means_answer(&self.tools, name) || means_none(&self.tools, name);
        let unknown = || !calls.iter().all(|call| is_tool(&call.name));
        let may_be = !self.is_wrapped() && !self.tools.must_call() && !self.only_read(calls);
        self.tentative.is_doubted() || (may_be && (unknown() || (!candidate.fresh && self.tentative.has_shown())))
    }

    /// Whether toolglot can ask the model whether it means a call.
    pub(super) fn can_ask(&self) -> bool {
        self.options.may_ask == MayAsk::Now
    }

    /// Whether calls that cannot run as they are, or may not be meant as calls, are refused instead of being text.
    pub(super) fn refuses_strays(&self) -> bool {
        self.options.may_ask != MayAsk::Never
    }

    /// Decides about the held calls because text follows them. The model is asked about doubtful ones if possible; all others are
    /// text.
    pub(super) fn give_up_tentative(&mut self, out: &mut dyn Sink) {
        if self.tentative.is_idle() {
            return;
        }
        if self.tentative.is_doubted() && self.can_ask() {
            let call = self.tentative.calls().first().cloned();
            call.iter().for_each(|call| self.refuse(call, &self.doubt(), out));
            self.buf.discard_scanned();
        }
        self.tentative.clear();
    }

    /// Why the held calls are refused if they may not run as they stand here.
    fn doubt(&self) -> Why {
        Why::Unannounced(self.buf.pending(self.buf.pos()).to_owned())
    }

    /// Whether the calls right before this position are the same. Models may repeat their calls in another form.
    pub(super) fn repeats(&self, calls: &[Parsed], writing: Writing) -> bool {
        let last = self.emitted.last_in_another_form(writing);
        !calls.is_empty()
            && calls.len() == last.len()
            && calls.iter().zip(last).all(|(one, other)| one.compared() == other.compared())
    }

    /// Emits the text before a call at `at` and drops the whitespace around the call.
    pub(super) fn leave_region(&mut self, at: usize, out: &mut dyn Sink) {
        // Only whitespace and separators are between calls. Tentative calls keep the text between them.
        let between_calls = self.before.is_fresh() && self.emitted.calls() > 0 && self.region != Region::Reasoning;
        if self.is_wrapped() && self.tentative.is_empty() {
            self.buf.discard_to(at);
        } else if self.tentative.is_empty() && !between_calls {
            let text_end = self.buf.trimmed(at);
            self.emit(text_end, out);
        }
        self.tentative.wrap = None;
    }

    /// Handles calls at the end of the answer, the last of which has complete arguments but no closing marker.
    pub(super) fn accept_at_end(&mut self, calls: Vec<Parsed>, candidate: &Candidate, out: &mut dyn Sink) {
        if self.is_drafting() {
            return self.hold_draft(calls, candidate, self.buf.len(), out);
        }
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        let writing = candidate.entries.front().map(|entry| (entry.form, entry.marked));
        if !(candidate.fresh && writing.is_some_and(|writing| self.repeats(&calls, writing))) {
            self.send_meant(calls, out);
        }
        self.buf.skip_to(self.buf.len());
    }

    /// Handles a call truncated by the end of the answer, after others that are complete.
    pub(super) fn cut(&mut self, whole: Vec<Parsed>, cut: Parsed, candidate: &Candidate, out: &mut dyn Sink) {
        self.accept_at_end(whole, candidate, out);
        match self.buf.ended() {
            // The arguments are complete, but the call itself may not be.
            Some(reason) if is_json(&cut.arguments) => self.refuse(&cut, &Why::Truncated(reason), out),
            _ => self.send(&cut, false, out),
        }
    }

    /// Whether all of these calls are of tools that only read.
    fn only_read(&self, calls: &[Parsed]) -> bool {
        calls.iter().all(|call| known_tool(&self.tools, &call.name).is_some_and(|tool| tool.effect == Effect::Reads))
    }

    /// Decides about the tentative calls, because the answer ended or only calls followed. They count, with two exceptions. If
    /// earlier calls do not count because text followed them, these are the last steps of a plan. If text follows unmarked ones, they may be
    /// an example. In both cases the model is asked. Where it cannot be asked, they are text.
    pub(super) fn accept_tentative(&mut self, out: &mut dyn Sink) {
        if self.tentative.is_empty() {
            return;
        }
        let is_unsaid = self.tentative.is_followed() && !self.only_read(self.tentative.calls());
        let why = match () {
            () if self.tentative.lacks_a_step() => Some(Why::Scattered),
            () if is_unsaid => Some(self.doubt()),
            () => None,
        };
        let can_ask = match why {
            Some(Why::Unannounced(_)) => self.can_ask(),
            _ => self.refuses_strays(),
        };
        if why.is_some() && !can_ask {
            return self.emit(self.buf.pos(), out);
        }
        let strays_text = self.strays_text();
        let Taken { calls, strays } = self.tentative.take();
        // Refusals come first: as long as no call is sent, the model can be asked again.
        match (strays.first(), strays_text) {
            (Some((call, _)), Some(text)) => self.refuse(call, &Why::Unmarked(text), out),
            _ => {
                for (call, why) in strays {
                    if !self.send_as_text(&call, out) {
                        self.refuse(&call, &why, out);
                    }
                }
            }
        }
        match &why {
            Some(why) => calls.first().into_iter().for_each(|call| self.refuse(call, why, out)),
            None => calls.iter().for_each(|call| self.send(call, true, out)),
        }
        self.buf.discard_scanned();
    }

    /// The text of the held calls, if it may be the answer: none of their tools is offered, and `tool_choice` has excluded none.
    fn strays_text(&self) -> Option<String> {
        let is_stray = |(call, why): &(Parsed, Why)| matches!(why, Why::UnknownTool(_)) && self.answer_text(call).is_none();
        let strays = self.tentative.strays();
        let are_strays = self.tentative.calls().is_empty() && !strays.is_empty() && strays.iter().all(is_stray);
        (are_strays && !self.tools.is_limited).then(|| self.buf.pending(self.buf.pos()).to_owned())
    }

    /// Decides about unmarked calls, if a remark follows them and ends the answer: the model is asked, but calls that only read
    /// count. `None`: more text is needed.
    pub(super) fn step_remark(&mut self, end: bool, out: &mut dyn Sink) -> Option<()> {
        let remark = self.buf[self.buf.pos()..].trim();
        if !self.tentative.holds_unmarked() || self.is_wrapped() || remark.len() > REMARK_BYTES || self.buf.is_cut() {
            return Some(());
        }
        if !end {
            return None;
        }
        let counts = self.only_read(self.tentative.calls());
        if !remark.is_empty() && (counts || self.can_ask()) {
            if !counts {
                self.tentative.leave_open();
            }
            self.accept_tentative(out);
        }
        Some(())
    }

    /// Refuses a call whose arguments exceed the limit, and discards the rest of the answer, because nobody knows where the call
    /// ends.
    pub(super) fn overrun(&mut self, name: &str, candidate: &Candidate, out: &mut dyn Sink) {
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        let why = Why::TooLarge(self.options.argument_bytes);
        self.refuse(&Parsed::new(name, ""), &why, out);
        self.region = Region::Lost;
        self.buf.skip_to(self.buf.len());
    }

    /// Handles a candidate that no form fits: it is text, a code fence, or a control token to drop.
    pub(super) fn reject(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        if self.is_wrapped() {
            return self.unwrap(out);
        }
        let lone = candidate.marker.length > 1 && self.is_lone(candidate.at, candidate.marker.length);
        if candidate.mentions {
            let end = self.buf.in_answer(candidate.at + candidate.marker.length);
            let is_inside = self.before.mentioned().is_some_and(|mentioned| mentioned.end > end);
            if !is_inside {
                self.before.after_mentioned(Mentioned { end });
            }
        }
        let begins = (candidate.tried.opened && self.buf.is_cut()) || self.at_line_start(candidate.at);
        let after = self.buf[candidate.at + candidate.marker.length..].trim_start();
        let is_prose = || after.starts_with(char::is_alphabetic) && after.split_whitespace().nth(PROSE_WORDS).is_some();
        if candidate.tried.nameless && !candidate.mentions && !lone && !self.is_drafting() && begins && !is_prose() {
            return self.cut(Vec::new(), Parsed::default(), candidate, out);
        }
        if candidate.fence.is_none() {
            self.buf.pass_strings(candidate.at, false);
        }
        match &candidate.fence {
            Some(fence) if fence.one_line => {
                self.emitted.open_inline(fence.length);
                self.advance(candidate.at + fence.length, out);
            }
            Some(fence) => {
                self.advance(fence.content, out);
                self.region = Region::Fence(fence.tick, fence.length);
            }
            None if candidate.marker.length == 0 => {}
            None => self.not_a_call(candidate.at, candidate.marker.length, candidate.marker.is_token || lone, out),
        }
    }
}
