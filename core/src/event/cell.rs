//! The four properties of a candidate, which alone decide whether it is a call (`adapter::scanner::verdict`).

use std::fmt;

/// How a candidate begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// With a token, a tag or a fence language that exists only to mark calls.
    Marked,
    /// In another way: bare or fenced JSON, Python, a name with arguments.
    Unmarked,
}

/// Where a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Nothing else is in the answer but reasoning, calls and white space.
    Alone,
    /// Text is before it, none after it.
    Last,
    /// Text is after it.
    Inside,
    /// In code, in a quotation, or in a string of a value.
    Code,
    /// In reasoning that goes on, or closes: a draft.
    Reasoning,
}

/// What shows that a candidate is meant as a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Proof {
    /// The tool is offered, and the arguments fit its schema after a repair that decides nothing.
    Fits,
    /// They fit only after a guess.
    Guess,
    /// The tool is offered, but the arguments do not fit.
    Misfit,
    /// No such tool is offered.
    Unknown,
    /// No form can read it.
    Damaged,
}

/// The cell of the table that a candidate is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// How it begins.
    pub form: Form,
    /// Where it is.
    pub place: Place,
    /// What shows that it is meant.
    pub proof: Proof,
    /// Whether the model closed the arguments.
    pub whole: bool,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Marked => "it has a marker",
            Form::Unmarked => "it has no marker",
        };
        let place = match self.place {
            Place::Alone => "it is the whole answer",
            Place::Last => "it ends the answer",
            Place::Inside => "text follows it",
            Place::Code => "it is in code or quoted",
            Place::Reasoning => "it is a draft in reasoning",
        };
        let proof = match self.proof {
            Proof::Fits => "its arguments fit the tool",
            Proof::Guess => "its arguments fit only after a guess",
            Proof::Misfit => "its arguments do not fit the tool",
            Proof::Unknown => "no such tool is offered",
            Proof::Damaged => "it cannot be read",
        };
        write!(f, "{form}; {place}; {proof}")?;
        if self.whole { Ok(()) } else { f.write_str("; it was cut off") }
    }
}
