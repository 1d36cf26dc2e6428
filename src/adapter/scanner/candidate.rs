//! Candidates: positions in the text that may be a call, the forms tried there, and the decision about what was read.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::{Region, Scanner, entry::Entry, requires_call};
use crate::{
    adapter::{
        Call, Syntax,
        syntax::{Context, Parsed, Reader, Step, typing::Types, value::is_json},
    },
    event::{Sink, Tool, Why},
    fix::{
        End, are_placeholders, fix,
        name::{is_known, known_tool, unknown},
    },
};

/// A position that may be a call.
pub(super) struct Candidate {
    pub(super) at: usize,
    /// The length of its marker (0 if a marker may still be found here), and whether that is a control token, which is dropped if
    /// this is not a call.
    pub(super) marker: (usize, bool),
    /// The forms still to be tried, and where their bodies begin.
    pub(super) entries: VecDeque<Entry>,
    pub(super) reader: Option<Reader>,
    /// The name of an offered tool was read, so up to `argument_bytes` may be held.
    pub(super) confirmed: bool,
    /// Only whitespace and calls precede it.
    pub(super) fresh: bool,
    pub(super) fence: Option<Fence>,
    /// The closing tag of the tag around it, if that tag is not a marker of the form.
    pub(super) tag: Option<String>,
    /// The answer ended after the marker and before the end of a name.
    pub(super) nameless: bool,
    /// The calls that were read and where they end in the body, while the decision whether they are meant waits for more text.
    pub(super) read: Option<(Vec<Parsed>, usize)>,
}

/// The code fence around a candidate.
pub(super) struct Fence {
    pub(super) tick: u8,
    pub(super) length: usize,
    /// It opens and closes in one line. If it holds no call, it is inline code.
    pub(super) one_line: bool,
    /// Its language says that it holds calls.
    pub(super) is_dedicated: bool,
    pub(super) content: usize,
    /// The closing fence, which ends a body in it.
    pub(super) close: [String; 1],
}

impl Candidate {
    /// Adjusts the positions after the buffer dropped `by` bytes.
    pub(super) fn shift(&mut self, by: usize) {
        self.at -= by;
        self.entries.iter_mut().for_each(|entry| entry.body -= by);
        if let Some(fence) = &mut self.fence {
            fence.content -= by;
        }
    }
}

impl Scanner {
    /// Reads on with the current form. Returns whether progress is possible without more text.
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
        // Scanning stops at the limit, so the decision does not depend on how the text was cut.
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
        // An element with an unknown name is not a call. At most the model is told about it.
        let foreign = |calls: &[Parsed]| call.element && calls.iter().any(|call| !self.is_known(&call.name));
        let marked = marked && !in_code && !matches!(&step, Step::Done { calls, .. } if foreign(calls));
        // Beyond the limit, only a candidate that names an offered tool is held.
        let names_a_tool =
            |reader: &Reader| reader.name(&self.buf[body..window], context).is_some_and(|name| self.is_known(&name));
        match step {
            Step::More if window == self.buf.len() && !end => {
                self.candidate = Some(candidate);
                return false;
            }
            // The answer ended before the name did.
            Step::More if window == self.buf.len() => candidate.nameless |= marked && !is_fallback,
            Step::More if candidate.confirmed && !self.is_drafting() => {
                let name = reader.name(&self.buf[body..window], context).unwrap_or_default();
                self.overrun(&name, &candidate, out);
                return true;
            }
            Step::More if !candidate.confirmed && names_a_tool(reader) => {
                candidate.confirmed = true;
                self.candidate = Some(candidate);
                return true;
            }
            Step::More => self.buf.waste(window - body),
            Step::Done { calls, end: stop } => {
                let to = body + stop;
                // Markers around nothing are dropped as framing.
                let count = self.are_proven(&calls, marked) || (marked && calls.is_empty() && self.options.framing);
                let known = count || marked || (call.element && !self.at_line_start(candidate.at));
                let stray = if known { None } else { self.stray(&self.buf[body..to], call, &calls) };
                if let Some(why) = stray.filter(|_| self.tentative.is_empty() && self.closes_fence(&candidate, to, end)) {
                    self.tentative.hold_stray(calls, why);
                    self.buf.scan_to(to);
                    self.before.after_held_call(form);
                    return true;
                }
                if count && self.closes_fence(&candidate, to, end) && !(marked && self.is_mentioned(&candidate, &calls, to)) {
                    if !calls.is_empty() && self.region == Region::Text && !self.is_wrapped() {
                        let may_be_spoken_of = marked || !requires_call(&self.tools.choice);
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
            // No unmarked call begins inside it either: more of the value may follow.
            Step::Passed { end: stop, is_json: true } if !marked && !requires_call(&self.tools.choice) => {
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
            // A model that stopped while it wrote a draft did not make the call.
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
                    // A line of text that only the end of the answer closes. The model can write it in another way.
                    false if !call.transcript.is_empty() && !limited => self.options.strays && self.is_known(&cut.name),
                    false => (candidate.fresh && !whole.is_empty()) || (limited && self.is_known(&cut.name)),
                };
                if counts {
                    self.cut(whole, cut, &candidate, out);
                    return true;
                }
                // What its last value contains is not a call of its own.
                let has_values = matches!(call.syntax, Syntax::Python) || cut.arguments.contains(':');
                if !marked && !requires_call(&self.tools.choice) && has_values && self.is_known(&cut.name) {
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

    /// Rejects calls in a fallback form unless all name offered tools and, if complete, have the required keys: the marker
    /// announces another form.
    fn only_sure(&self, step: Step) -> Step {
        let known = |calls: &[Parsed]| calls.iter().all(|call| self.is_known(&call.name));
        match &step {
            Step::Done { calls, .. } if calls.is_empty() || !calls.iter().all(|call| self.counts(call)) => Step::Reject,
            Step::Cut { whole, cut, .. } if !(known(whole) && self.is_known(&cut.name)) => Step::Reject,
            Step::Torn { whole, torn, .. } if !(known(whole) && self.is_known(&torn.name)) => Step::Reject,
            _ => step,
        }
    }

    /// Whether marked calls are only mentioned: the marker is within a line, none of the tools is offered, and the arguments are
    /// not JSON or there is only a word between the markers.
    fn is_mentioned(&self, candidate: &Candidate, calls: &[Parsed], to: usize) -> bool {
        let body = self.buf.get(candidate.at + candidate.marker.0..to).unwrap_or_default();
        let is_bare = !body.contains(['{', '(']) && body.matches('<').count() <= 1;
        let spoken_of = |call: &Parsed| !self.is_known(&call.name) && (is_bare || !is_json(&call.arguments));
        !calls.is_empty() && calls.iter().all(spoken_of) && !self.at_line_start(candidate.at)
    }

    /// Whether adjacent calls count on their own. One complete unmarked call shows that its neighbours are meant as calls too.
    fn are_proven(&self, calls: &[Parsed], marked: bool) -> bool {
        let unmarked = || calls.iter().all(|call| self.is_known(&call.name)) && calls.iter().any(|call| self.counts(call));
        if marked { !calls.is_empty() } else { unmarked() }
    }

    pub(super) fn is_known(&self, name: &str) -> bool {
        is_known(&self.tools, name)
    }

    /// Whether text is held because it may be a call.
    pub fn holds(&self) -> bool {
        self.candidate.is_some()
    }

    /// Bytes that are not yet emitted and are scanned with the next piece or at the end.
    pub fn held_bytes(&self) -> usize {
        self.buf.len() + self.draft.field_bytes()
    }

    /// The offered tool whose call is being read, and the bytes of the body so far.
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

    /// Whether an unmarked call counts: its tool is offered and the required keys are present after fixing.
    fn counts(&self, call: &Parsed) -> bool {
        known_tool(&self.tools, &call.name).is_some_and(|tool| self.has_required(tool, &call.arguments))
    }

    fn has_required(&self, tool: &Tool, arguments: &str) -> bool {
        let schema = self.schemas.get(tool.checked_schema());
        let report = fix(arguments, Some(&schema), &tool.keeps_null, End::Closed);
        let Some(text) = report.arguments else { return false };
        let Ok(fixed) = serde_json::from_str::<Map<String, Value>>(&text) else { return false };
        if are_placeholders(&text, &fixed, tool) {
            return false;
        }
        let types = Types::new(Some(tool));
        // A model that fills a form with `null` has no arguments to pass.
        let given = |key: &str| fixed.get(key).is_some_and(|value| !value.is_null() || types.parameter(key).allows(value));
        // In the description of a tool, a schema takes the place of the arguments.
        let is_described = fixed.get("type").is_some_and(|kind| kind == "object")
            && fixed.get("properties").is_some_and(Value::is_object)
            && !types.has("properties");
        !is_described && types.required().all(given)
    }

    /// Why the one call in `text`, JSON or an element, is refused: its tool is not offered, or required parameters are missing.
    /// `None`: it is text.
    fn stray(&self, text: &str, form: &Call, calls: &[Parsed]) -> Option<Why> {
        let [call] = calls else { return None };
        // A text that cannot be a name counts only if the arguments fit an offered tool. A name in parentheses was written by
        // `quote`: the model repeats a result.
        let plain = || {
            call.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
                || (!call.name.starts_with('(') && self.fits_a_tool(&call.arguments))
        };
        let named = match &form.syntax {
            Syntax::Json(keys) => keys.arguments.iter().any(|key| text.contains(&format!("\"{key}\""))),
            Syntax::Element => self.options.elements,
            _ => false,
        };
        // In the description of a tool, a schema takes the place of the arguments.
        let described = ["\"description\"", "\"properties\""].iter().any(|word| text.contains(word));
        let is_answer = self.answer_text(call).is_some();
        let asks = self.options.strays && call.arguments.trim_start().starts_with('{') && plain();
        if !named || described || !(is_answer || asks) {
            return None;
        }
        if let Some(why) = unknown(&self.tools, &call.name) {
            return Some(why);
        }
        let given: Map<String, Value> = serde_json::from_str(&call.arguments).ok()?;
        let types = Types::new(known_tool(&self.tools, &call.name));
        let missing: Vec<String> =
            types.required().filter(|key| !given.contains_key(*key)).map(|key| format!("`{key}`")).collect();
        (!missing.is_empty()).then(|| Why::Missing(missing.join(", ")))
    }

    /// Whether these arguments are complete for some offered tool that requires any.
    fn fits_a_tool(&self, arguments: &str) -> bool {
        let given: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
        let fits = |types: Types, given: &Map<String, Value>| {
            types.required().next().is_some() && types.take(given.keys().map(String::as_str))
        };
        given.is_some_and(|given| self.tools.iter().any(|tool| fits(Types::new(Some(tool)), &given)))
    }

    /// Whether the current form is an element that counts anywhere.
    fn is_element(&self, candidate: &Candidate) -> bool {
        let call = candidate.entries.front().and_then(|entry| self.adapter.calls.get(entry.form));
        self.options.elements && call.is_some_and(|call| call.element)
    }

    /// Whether a call in a fence is the whole content: the closing fence or the end of the answer follows.
    fn closes_fence(&self, candidate: &Candidate, to: usize, end: bool) -> bool {
        let Some(fence) = candidate.fence.as_ref().filter(|_| !self.is_element(candidate)) else { return true };
        self.buf[fence.content..to].trim_end().ends_with(&fence.close[0]) || (end && self.buf[to..].trim().is_empty())
    }
}
