//! What shows that something that was read is a call: its name and its arguments.

use super::{Scanner, Spot, Wanted};
use crate::{
    adapter::{
        Call, Syntax,
        syntax::{Parsed, Step, value::is_json},
    },
    event::Proof,
    fix::{
        End, Verdict, are_placeholders, fix,
        name::{is_known, known_tool, means_none},
    },
    json::strict,
};

impl Scanner {
    pub(super) fn is_known(&self, name: &str) -> bool {
        is_known(&self.tools, name)
    }

    /// Rejects calls in a fallback form unless all fit: the marker announces another form.
    pub(super) fn only_sure(&self, step: Step) -> Step {
        let known = |calls: &[Parsed]| calls.iter().all(|call| self.is_known(&call.name));
        let fits = |call: &Parsed| matches!(self.proof(call), Proof::Fits | Proof::Guess);
        match &step {
            Step::Done { calls, .. } if calls.is_empty() || !calls.iter().all(fits) => Step::Reject,
            Step::Cut { whole, cut, .. } if !(known(whole) && self.is_known(&cut.name)) => Step::Reject,
            _ => step,
        }
    }

    /// Whether the markers are only named: they are within a line, none of the tools is offered, and the arguments are not JSON or
    /// there is only a word between the markers.
    pub(super) fn is_word(&self, spot: Spot, calls: &[Parsed], to: usize) -> bool {
        let body = self.buf.get(spot.at + spot.marker..to).unwrap_or_default();
        let is_bare = !body.contains(['{', '(']) && body.matches('<').count() <= 1;
        let is_word = |call: &Parsed| !self.is_known(&call.name) && (is_bare || !is_json(&call.arguments));
        !calls.is_empty() && calls.iter().all(is_word) && !self.at_line_start(spot.at)
    }

    /// Whether a text is the answer itself: JSON in the form that the client wants for it.
    pub(super) fn is_wanted_answer(&self, text: &str) -> bool {
        let Wanted::Schema(schema) = &self.options.answer else { return false };
        strict::parse(text.trim()).is_some_and(|root| self.schemas.get(schema).fault(&root, &[]).is_none())
    }

    /// What shows that adjacent calls are meant. One that fits shows that its neighbours are meant as calls too.
    pub(super) fn proof_of(&self, calls: &[Parsed]) -> Proof {
        let proofs = || calls.iter().map(|call| self.proof(call));
        let worst = proofs().max().unwrap_or(Proof::Fits);
        if worst == Proof::Unknown { worst } else { proofs().min().unwrap_or(worst) }
    }

    /// What shows that a call is meant.
    fn proof(&self, call: &Parsed) -> Proof {
        if means_none(&self.tools, &call.name) {
            return Proof::Fits;
        }
        let Some(tool) = known_tool(&self.tools, &call.name) else { return Proof::Unknown };
        if tool.input.is_patch() {
            return Proof::Fits;
        }
        let schema = self.schemas.get(tool.checked_schema());
        let report = fix(&call.arguments, Some(&schema), &tool.keeps_null, End::Closed);
        match report.verdict {
            Verdict::Refused => Proof::Misfit,
            _ if report.arguments.as_deref().is_none_or(|text| are_placeholders(text, tool)) => Proof::Misfit,
            Verdict::Guess => Proof::Guess,
            Verdict::Clean | Verdict::Lossless | Verdict::Coerced => Proof::Fits,
        }
    }

    /// Whether unmarked calls in `text` can be meant at all. An object may be data, so it names arguments, and what may be a name. Where
    /// JSON is wanted, it need not be a call.
    pub(super) fn can_be_meant(&self, text: &str, form: &Call, calls: &[Parsed], proof: Proof) -> bool {
        if matches!(proof, Proof::Fits | Proof::Guess) {
            return true;
        }
        let [call] = calls else { return false };
        let named = match &form.syntax {
            Syntax::Json(keys) => keys.arguments.iter().any(|key| text.contains(&format!("\"{key}\""))),
            Syntax::Element(_) => self.options.elements,
            // A list of calls, which no other data is.
            Syntax::Python => text.starts_with('['),
            _ => false,
        };
        // A name in parentheses was written by `quote`: the model repeats a result.
        let plain = call.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'));
        named && self.options.answer == Wanted::Text && call.arguments.trim_start().starts_with('{') && plain
    }
}
