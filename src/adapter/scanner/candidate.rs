//! A place in the text that may be a call: which forms are tried there, in which order, and what becomes of it.

use std::collections::VecDeque;

use super::{Region, Scanner, entry::Entry, relaxed};
use crate::{
    adapter::{
        Call, Syntax,
        syntax::{Context, Parsed, Reader, Step, typing::Types, value::sound},
    },
    event::{Sink, Tool, Why},
    fix::{
        End, are_placeholders, fix,
        name::{Resolved, is_known, known_tool, resolve},
    },
};

/// A place that may be a call.
pub(super) struct Candidate {
    /// Where it begins.
    pub(super) at: usize,
    /// Length of its marker (0: a marker may still be found here), and whether that is a control token, for the case that it
    /// is no call.
    pub(super) marker: (usize, bool),
    /// The forms that are still to be tried, with where their bodies begin.
    pub(super) entries: VecDeque<Entry>,
    pub(super) reader: Option<Reader>,
    /// The name of an offered tool was seen in it: it is held up to the limit of arguments.
    pub(super) confirmed: bool,
    /// Nothing but whitespace and calls come before it.
    pub(super) fresh: bool,
    pub(super) fence: Option<Fence>,
    /// What closes the tag that it is in, if that is no marker of its form.
    pub(super) tag: Option<String>,
    /// The answer ended after its marker before a name did.
    pub(super) nameless: bool,
    /// The calls that were read, and where they end in the body, while what follows decides whether they are meant.
    pub(super) read: Option<(Vec<Parsed>, usize)>,
}

/// The code fence that a candidate is in.
pub(super) struct Fence {
    /// Its character.
    pub(super) tick: u8,
    pub(super) length: usize,
    /// It opens and closes in one line, so that without a call it is inline code.
    pub(super) one_line: bool,
    /// Where its content begins.
    pub(super) content: usize,
    /// The same ticks again, which end a body in it.
    pub(super) close: [String; 1],
}

// === impl Candidate ===

impl Candidate {
    /// The buffer lost its first `by` bytes.
    pub(super) fn shift(&mut self, by: usize) {
        self.at -= by;
        self.entries.iter_mut().for_each(|entry| entry.body -= by);
        if let Some(fence) = &mut self.fence {
            fence.content -= by;
        }
    }
}

// === impl Scanner ===

impl Scanner {
    pub(super) fn step_candidate(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let Some(mut candidate) = self.candidate.take() else { return true };
        let Some(entry) = candidate.entries.front() else {
            self.reject(&candidate, out);
            return true;
        };
        let adapter = std::sync::Arc::clone(&self.adapter);
        let (form, marked, body, is_fallback) = (entry.closed_by, entry.marked, entry.body, entry.is_fallback());
        let (Some(call), Some(closing)) = (adapter.calls.get(entry.form), adapter.calls.get(form)) else { return true };
        let in_code = self.is_wrapped_in_code() || self.message.is_aside();
        let around = if marked { None } else { self.wrap_close() };
        let around = candidate.tag.as_ref().map(std::slice::from_ref).or(around);
        let close: &[String] = candidate.fence.as_ref().map_or(around.unwrap_or(&closing.close), |fence| &fence.close);
        // No more than the limit is looked at: however the text was cut, the decision is the same.
        let longest = body.saturating_add(self.options.argument_bytes);
        let limit = if candidate.confirmed {
            longest
        } else {
            candidate.at.saturating_add(self.buf.patience(candidate.at, self.options.held_bytes)).clamp(body, longest)
        };
        let window = self.buf.floor_char_boundary(limit);
        let lenient = self.options.elements;
        let context = Context { call, close, tools: &self.tools, marked, lenient, end: end && window == self.buf.len() };
        let reader = candidate.reader.get_or_insert_with(|| Reader::new(&call.syntax));
        let step = match candidate.read.take() {
            Some((calls, end)) => Step::Done { calls, end },
            None => reader.read(&self.buf[body..window], context),
        };
        let step = if is_fallback { self.only_sure(step) } else { step };
        // An element of another name is no call; at most somebody tells the model.
        let foreign = |calls: &[Parsed]| call.element && calls.iter().any(|call| !self.is_known(&call.name));
        let marked = marked && !in_code && !matches!(&step, Step::Done { calls, .. } if foreign(calls));
        match step {
            Step::More if window == self.buf.len() && !end => {
                self.candidate = Some(candidate);
                return false;
            }
            // The answer is over before the name is.
            Step::More if window == self.buf.len() => candidate.nameless |= marked && !is_fallback,
            Step::More if candidate.confirmed && !self.is_drafting() => {
                let name = reader.name(&self.buf[body..window], context).unwrap_or_default();
                self.overrun(&name, &candidate, out);
                return true;
            }
            Step::More if !candidate.confirmed && self.worth_holding(reader, &self.buf[body..window], context) => {
                candidate.confirmed = true;
                self.candidate = Some(candidate);
                return true;
            }
            Step::More => self.buf.waste(window - body),
            Step::Done { calls, end: stop } => {
                let to = body + stop;
                // Markers around nothing are framing.
                let count = self.are_proven(&calls, marked) || (marked && calls.is_empty() && self.options.framing);
                let known = count || marked || (call.element && !self.at_line_start(candidate.at));
                let stray = if known { None } else { self.stray(&self.buf[body..to], call, &calls) };
                if let Some(why) = stray.filter(|_| self.tentative.is_empty() && self.closes_fence(&candidate, to, end)) {
                    self.tentative.hold_stray(calls, why);
                    self.buf.look_to(to);
                    self.before.after_held_call(form);
                    return true;
                }
                if count && self.closes_fence(&candidate, to, end) && !(marked && self.is_mentioned(&candidate, &calls, to)) {
                    if !calls.is_empty() && self.region == Region::Text && !self.is_wrapped() {
                        let may_be_spoken_of = marked || !relaxed(&self.tools.choice);
                        let spoken_of =
                            if may_be_spoken_of { self.is_spoken_of(&candidate, to, marked, end) } else { Some(false) };
                        let withdrawn = match spoken_of {
                            Some(false) => self.is_withdrawn(to, marked && !call.element, end),
                            decided => decided,
                        };
                        match withdrawn {
                            Some(false) => {}
                            Some(true) => {
                                self.buf.pass_content(to);
                                self.reject(&candidate, out);
                                return true;
                            }
                            None => {
                                candidate.read = Some((calls, stop));
                                self.candidate = Some(candidate);
                                return false;
                            }
                        }
                    }
                    self.accept(calls, &candidate, form, marked, to, out);
                    return true;
                }
            }
            // Nor does one begin inside of it: bytes of it would come after.
            Step::Passed { end: stop, sound: true } if !marked && !relaxed(&self.tools.choice) => {
                self.buf.pass_value(body + stop);
            }
            Step::Passed { end: stop, .. } => self.buf.waste(stop),
            Step::Torn { whole, torn, why, end: stop } => {
                if marked && !self.is_drafting() {
                    self.accept(whole, &candidate, form, marked, body + stop, out);
                    self.refuse(&torn, &Why::Malformed(why.to_owned()), out);
                    return true;
                }
            }
            Step::Cut { whole, cut, closed: false } if whole.is_empty() && cut.name.is_empty() => {
                candidate.nameless |= marked && !is_fallback;
                self.buf.waste(window - body);
            }
            Step::Cut { .. } if self.closes_quotes(&candidate) => {
                self.buf.pass_content(self.buf.len());
                self.reject(&candidate, out);
                return true;
            }
            // A model that stopped while it thought of a call has not made it.
            Step::Cut { closed, .. } if self.is_drafting() && !closed => self.buf.waste(window - body),
            Step::Cut { mut whole, cut, closed } => {
                let limited = self.buf.is_cut();
                if closed && !limited {
                    whole.push(cut.clone());
                    if self.are_proven(&whole, marked) {
                        self.accept_at_end(whole, &candidate, out);
                        return true;
                    }
                    whole.pop();
                }
                if !self.are_proven(&whole, marked) {
                    whole.clear();
                }
                let counts = match marked {
                    true => !whole.is_empty() || !self.is_mentioned(&candidate, std::slice::from_ref(&cut), self.buf.len()),
                    false if call.whole_answer => false,
                    // A line of text that only the end of the answer closes: the model can write it in another way.
                    false if !call.transcript.is_empty() && !limited => self.options.strays && self.is_known(&cut.name),
                    false => (candidate.fresh && !whole.is_empty()) || (limited && self.is_known(&cut.name)),
                };
                if counts {
                    self.cut(whole, cut, &candidate, out);
                    return true;
                }
                // What its last value holds is no call of its own.
                let has_values = matches!(call.syntax, Syntax::Python) || cut.arguments.contains(':');
                if !marked && !relaxed(&self.tools.choice) && has_values && self.is_known(&cut.name) {
                    self.buf.pass_value(self.buf.len());
                    match &call.syntax {
                        Syntax::Json(_) | Syntax::Python => self.buf.pass_strings(candidate.at, true),
                        _ => self.buf.pass_content(self.buf.len()),
                    }
                }
                self.buf.waste(window - body);
            }
            Step::Reject => {}
        }
        candidate.entries.pop_front();
        (candidate.reader, candidate.confirmed) = (None, false);
        self.candidate = Some(candidate);
        true
    }

    /// What was read in a form that the marker does not announce: only calls of offered tools count, with what these require.
    fn only_sure(&self, step: Step) -> Step {
        let known = |calls: &[Parsed]| calls.iter().all(|call| self.is_known(&call.name));
        match &step {
            Step::Done { calls, .. } if calls.is_empty() || !calls.iter().all(|call| self.counts(call)) => Step::Reject,
            Step::Cut { whole, cut, .. } if !(known(whole) && self.is_known(&cut.name)) => Step::Reject,
            Step::Torn { whole, torn, .. } if !(known(whole) && self.is_known(&torn.name)) => Step::Reject,
            _ => step,
        }
    }

    /// Whether calls after a marker are only spoken of: the marker is within a line, no tool of theirs is offered, and
    /// what takes the place of their arguments is not JSON, or there is only a word and its closing marker.
    fn is_mentioned(&self, candidate: &Candidate, calls: &[Parsed], to: usize) -> bool {
        let body = self.buf.get(candidate.at + candidate.marker.0..to).unwrap_or_default();
        let is_bare = !body.contains(['{', '(']) && body.matches('<').count() <= 1;
        let spoken_of = |call: &Parsed| !self.is_known(&call.name) && (is_bare || !sound(&call.arguments));
        !calls.is_empty() && calls.iter().all(spoken_of) && !self.at_line_start(candidate.at)
    }

    /// Whether calls in a row count by themselves. One unmarked call that is complete shows that the others beside it are meant
    /// as calls too.
    fn are_proven(&self, calls: &[Parsed], marked: bool) -> bool {
        let unmarked = || calls.iter().all(|call| self.is_known(&call.name)) && calls.iter().any(|call| self.counts(call));
        if marked { !calls.is_empty() } else { unmarked() }
    }

    pub(super) fn is_known(&self, name: &str) -> bool {
        is_known(&self.tools, name)
    }

    /// Whether text is held back that may be a call.
    pub fn holds(&self) -> bool {
        self.candidate.is_some()
    }

    /// Bytes that have not left: what the next piece, or the end, may decide about at once.
    pub fn held_bytes(&self) -> usize {
        self.buf.len() + self.draft.field_bytes()
    }

    /// The call that is being read: the offered tool that it names, and the bytes of it so far.
    pub fn writing(&self) -> Option<(String, usize)> {
        let candidate = self.candidate.as_ref()?;
        let entry = candidate.entries.front()?;
        let call = self.adapter.calls.get(entry.form)?;
        let text = self.buf.get(entry.body..)?;
        let (marked, lenient) = (entry.marked, self.options.elements);
        let context = Context { call, close: &call.close, tools: &self.tools, marked, lenient, end: false };
        let tool = known_tool(&self.tools, &candidate.reader.as_ref()?.name(text, context)?)?;
        Some((tool.name.clone(), text.len()))
    }

    /// A candidate beyond the limit is held on only when the name of an offered tool was seen in it.
    fn worth_holding(&self, reader: &Reader, text: &str, context: Context<'_>) -> bool {
        reader.name(text, context).is_some_and(|name| self.is_known(&name))
    }

    /// Whether an unmarked call counts: its name is offered and the required keys are there after fixing.
    fn counts(&self, call: &Parsed) -> bool {
        known_tool(&self.tools, &call.name).is_some_and(|tool| self.has_required(tool, &call.arguments))
    }

    fn has_required(&self, tool: &Tool, arguments: &str) -> bool {
        let schema = self.schemas.get(tool.checked_schema());
        let report = fix(arguments, Some(&schema), &tool.keeps_null, End::Closed);
        let Some(text) = report.arguments else { return false };
        let Ok(fixed) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text) else { return false };
        if are_placeholders(&text, &fixed, tool) {
            return false;
        }
        let types = Types::new(Some(tool));
        // A model that fills a form with `null` has nothing to call it with.
        let given = |key: &str| fixed.get(key).is_some_and(|value| !value.is_null() || types.parameter(key).allows(value));
        // The description of a tool has a schema in the place of the arguments.
        let is_described = fixed.get("type").is_some_and(|kind| kind == "object")
            && fixed.get("properties").is_some_and(serde_json::Value::is_object)
            && !types.has("properties");
        !is_described && types.required().all(given)
    }

    /// Why this JSON or element, which has the form of one call, names no offered tool.
    fn stray(&self, text: &str, form: &Call, calls: &[Parsed]) -> Option<Why> {
        let [call] = calls else { return None };
        // What is no name counts where its arguments can only be an offered tool's. A name in parentheses is one that `quote`
        // has written: the model repeats a result.
        let plain = || {
            call.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
                || (!call.name.starts_with('(') && self.fits_a_tool(&call.arguments))
        };
        let named = match &form.syntax {
            Syntax::Json(keys) => keys.arguments.iter().any(|key| text.contains(&format!("\"{key}\""))),
            Syntax::Element => self.options.elements,
            _ => false,
        };
        // The description of a tool has a schema in the place of the arguments.
        let described = ["\"description\"", "\"properties\""].iter().any(|word| text.contains(word));
        let speaks = self.spoken(call).is_some();
        let asks = self.options.strays && call.arguments.trim_start().starts_with('{') && plain();
        if !named || described || !(speaks || asks) {
            return None;
        }
        match resolve(&self.tools, &call.name) {
            Resolved::Unknown { near } => Some(Why::UnknownTool(match near.as_slice() {
                [] => String::new(),
                near => format!("; near names: {}", near.join(", ")),
            })),
            Resolved::Known { tool, .. } => {
                let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&call.arguments).ok()?;
                let types = Types::new(Some(tool));
                let missing: Vec<String> =
                    types.required().filter(|key| !given.contains_key(*key)).map(|key| format!("`{key}`")).collect();
                (!missing.is_empty()).then(|| Why::Missing(missing.join(", ")))
            }
        }
    }

    /// Whether these arguments are complete for an offered tool that requires any.
    fn fits_a_tool(&self, arguments: &str) -> bool {
        let given: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(arguments).ok();
        let fits = |types: Types, given: &serde_json::Map<String, serde_json::Value>| {
            types.required().next().is_some() && types.take(given.keys().map(String::as_str))
        };
        given.is_some_and(|given| self.tools.iter().any(|tool| fits(Types::new(Some(tool)), &given)))
    }

    /// Whether the form that is being tried is an element that counts wherever it is.
    fn is_element(&self, candidate: &Candidate) -> bool {
        let call = candidate.entries.front().and_then(|entry| self.adapter.calls.get(entry.form));
        self.options.elements && call.is_some_and(|call| call.element)
    }

    /// A call in a fence is its whole content: the closing fence follows, or the end.
    fn closes_fence(&self, candidate: &Candidate, to: usize, end: bool) -> bool {
        let Some(fence) = candidate.fence.as_ref().filter(|_| !self.is_element(candidate)) else { return true };
        self.buf[fence.content..to].trim_end().ends_with(&fence.close[0]) || (end && self.buf[to..].trim().is_empty())
    }
}
