//! What proves that something that was read is a call: its name, its arguments, its place.

use serde_json::{Map, Value};

use super::{Scanner, Wanted, candidate::Candidate};
use crate::{
    adapter::{
        Call, Syntax,
        syntax::{Parsed, Step, typing::Types, value::is_json},
    },
    event::{Tool, Why},
    fix::{
        End, are_placeholders, fix,
        name::{is_known, known_tool, unknown},
    },
    json::strict,
};

impl Scanner {
    pub(super) fn is_known(&self, name: &str) -> bool {
        is_known(&self.tools, name)
    }

    /// Rejects calls in a fallback form unless all name offered tools and, if complete, have the required keys: the marker
    /// announces another form.
    pub(super) fn only_sure(&self, step: Step) -> Step {
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
    pub(super) fn is_mentioned(&self, candidate: &Candidate, calls: &[Parsed], to: usize) -> bool {
        let body = self.buf.get(candidate.at + candidate.marker.length..to).unwrap_or_default();
        let is_bare = !body.contains(['{', '(']) && body.matches('<').count() <= 1;
        let spoken_of = |call: &Parsed| !self.is_known(&call.name) && (is_bare || !is_json(&call.arguments));
        !calls.is_empty() && calls.iter().all(spoken_of) && !self.at_line_start(candidate.at)
    }

    /// Whether adjacent calls count on their own. One complete unmarked call shows that its neighbours are meant as calls too.
    pub(super) fn are_proven(&self, calls: &[Parsed], marked: bool) -> bool {
        let unmarked = || calls.iter().all(|call| self.is_known(&call.name)) && calls.iter().any(|call| self.counts(call));
        if marked { !calls.is_empty() } else { unmarked() }
    }

    /// Whether a text is the answer itself: JSON in the form that the client wants for it.
    pub(super) fn is_wanted_answer(&self, text: &str) -> bool {
        let Wanted::Schema(schema) = &self.options.answer else { return false };
        strict::parse(text.trim()).is_some_and(|root| self.schemas.get(schema).fault(&root, &[]).is_none())
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

    /// The one call in `text`, JSON or an element, if it is refused, and why: its tool is not offered, or required parameters are
    /// missing. `None`: it is text.
    pub(super) fn stray<'a>(&self, text: &str, form: &Call, calls: &'a [Parsed]) -> Option<(&'a Parsed, Why)> {
        let [call] = calls else { return None };
        // Where JSON is wanted, it need not be a call.
        if self.options.answer != Wanted::Text {
            return None;
        }
        // A text that cannot be a name counts only if the arguments fit an offered tool. A name in parentheses was written by
        // `quote`: the model repeats a result.
        let plain = || {
            call.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
                || (!call.name.starts_with('(') && self.fits_a_tool(&call.arguments))
        };
        let named = match &form.syntax {
            Syntax::Json(keys) => keys.arguments.iter().any(|key| text.contains(&format!("\"{key}\""))),
            Syntax::Element(_) => self.options.elements,
            _ => false,
        };
        // In the description of a tool, a schema takes the place of the arguments.
        let described = ["\"description\"", "\"properties\""].iter().any(|word| text.contains(word));
        let is_answer = self.answer_text(call).is_some();
        let asks = self.refuses_strays() && call.arguments.trim_start().starts_with('{') && plain();
        if !named || described || !(is_answer || asks) {
            return None;
        }
        if let Some(why) = unknown(&self.tools, &call.name) {
            return Some((call, why));
        }
        let given: Map<String, Value> = serde_json::from_str(&call.arguments).ok()?;
        let types = Types::new(known_tool(&self.tools, &call.name));
        let missing: Vec<String> =
            types.required().filter(|key| !given.contains_key(*key)).map(|key| format!("`{key}`")).collect();
        (!missing.is_empty()).then(|| (call, Why::Missing(missing.join(", "))))
    }

    /// Whether these arguments are complete for some offered tool that requires any.
    fn fits_a_tool(&self, arguments: &str) -> bool {
        let given: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
        let fits = |types: Types, given: &Map<String, Value>| {
            types.required().next().is_some() && types.take(given.keys().map(String::as_str))
        };
        given.is_some_and(|given| self.tools.iter().any(|tool| fits(Types::new(Some(tool)), &given)))
    }
}
