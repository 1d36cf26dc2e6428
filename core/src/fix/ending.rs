//! The end of the arguments: whether a text that ended in this way may run.

use super::report::{End, Fix, Verdict};
use crate::event::{FinishReason, Why};
use crate::json::Code;
use crate::json::read::{Ending, Reading};

/// The refusal of arguments that the model left open although its answer was not cut off.
pub(super) const UNCLOSED: Why = Why::Truncated(FinishReason::Stop);

/// The refusal for truncation, if the answer ended inside the arguments.
pub(super) fn cut(end: End) -> Option<Why> {
    match end {
        End::Cut(reason) => Some(Why::Truncated(reason)),
        End::CutAgain => Some(UNCLOSED),
        End::Whole | End::Closed => None,
    }
}

/// Whether only closing brackets can be missing after this text. Not after a number, which may have lost digits.
fn ends_in_whole_value(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with(['"', '}', ']']) || ["true", "false", "null"].iter().any(|word| text.ends_with(word))
}

/// Whether a text that ended this way may run (X1 to X3), and the fix for the brackets that were closed. `has_schema`: the tool's
/// parameters are known.
pub(super) fn ended(text: &str, reading: &Reading<'_>, end: End, has_schema: bool) -> Result<Option<Fix>, Why> {
    let guessed = reading.repairs.iter().any(|repair| repair.guess);
    let closed_by_tag = reading.tagged && reading.ending == Ending::Open;
    let closable = match end {
        End::CutAgain => !guessed && (ends_in_whole_value(text) || text.trim() == "{"),
        End::Cut(FinishReason::Stop | FinishReason::ToolCalls) => !guessed && closed_by_tag,
        _ => false,
    };
    if (reading.ending != Ending::Complete || guessed) && !closable {
        // A truncated text may look complete only because of the way its quotes were read.
        cut(end).map_or(Ok(()), Err)?;
    }
    if let Some(what) = &reading.void {
        return Err(Why::Malformed(what.clone()));
    }
    let (closed, level) = match (end, reading.ending) {
        (_, Ending::Complete) => (false, Verdict::Clean),
        (_, Ending::Open) if closed_by_tag => (true, Verdict::Lossless),
        // The model was asked and has written the same again.
        (End::CutAgain, Ending::Open | Ending::InWord) => (true, Verdict::Lossless),
        (End::Cut(_) | End::CutAgain, _) => return Err(cut(end).unwrap_or(UNCLOSED)),
        (End::Closed, Ending::Open | Ending::InWord) => (true, Verdict::Lossless),
        (End::Closed, Ending::AfterComma) => (true, Verdict::Guess),
        (End::Closed, _) => return Err(UNCLOSED),
        (End::Whole, Ending::InKey) => return Err(Why::Malformed("the text ends in a key".to_owned())),
        (End::Whole, Ending::AfterColon) if !has_schema => {
            return Err(Why::Malformed("a value is missing at the end".to_owned()));
        }
        (End::Whole, _) => (true, Verdict::Guess),
    };
    if end != End::Whole && closed && reading.repairs.iter().any(|repair| repair.rule == Code::T3) {
        let what = || format!("a string may have been cut at {}", path(reading));
        return Err(cut(end).unwrap_or_else(|| Why::Ambiguous(what())));
    }
    if reading.rival.is_some() {
        return Err(Why::Ambiguous(format!("two readings at {}", path(reading))));
    }
    Ok(closed.then(|| Fix::whole(Code::X2, text.len()..text.len(), level, "open brackets closed at the end")))
}

/// The path of the tie, for an error.
fn path<'r>(reading: &'r Reading<'_>) -> &'r str {
    reading.rival.as_deref().filter(|path| !path.is_empty()).unwrap_or("/")
}
