//! The argument of a tool that takes a patch. Models write it bare, in a string, under another key, as the words of a command, in
//! a fence or a here-document. Only the text from the first line of a patch to its last counts. It is checked line by line,
//! because a client applies the beginning of a patch as readily as a whole one.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::{End, Fix, Report, Verdict};
use crate::event::{FinishReason, Input, Tool, Tools, Why};
use crate::json::Code;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "Add File:";
const UPDATE: &str = "Update File:";
const DELETE: &str = "Delete File:";

/// The report on a call of such a tool; `None` for all other tools.
pub(super) fn fix(tool: &Tool, source: &str, end: End) -> Option<Report> {
    if !tool.input.is_patch() {
        return None;
    }
    let read: Option<Value> = serde_json::from_str(source).ok();
    let text = match &read {
        Some(value) => text_of(value).unwrap_or_default(),
        // Bare text, or broken JSON. Of broken JSON only the escapes are decoded.
        None if source.trim_start().starts_with(['{', '[', '"']) => crate::json::unescape(source),
        None => source.into(),
    };
    let Some(patch) = patch(&text) else {
        let why = match end {
            End::Cut(reason @ (FinishReason::Length | FinishReason::ContentFilter)) => Why::Truncated(reason),
            _ if text.contains(BEGIN) => Why::Truncated(FinishReason::Stop),
            _ => Why::Malformed(format!("there is no line `{BEGIN}`")),
        };
        return Some(Report::refused(why));
    };
    if let Err(what) = check(patch) {
        return Some(Report::refused(Why::Malformed(what)));
    }
    let arguments = json!({Input::TEXT: patch});
    if read.as_ref() == Some(&arguments) {
        return Some(Report::passed(source.trim().to_owned(), Vec::new(), Vec::new()));
    }
    let fix = Fix::whole(Code::F1, 0..source.len(), Verdict::Lossless, "the patch taken out of the text around it");
    Some(Report::passed(arguments.to_string(), vec![fix], Vec::new()))
}

/// The patch at the end of a text, as the arguments of the offered tool that takes patches. Only what closes a fence or a
/// here-document may follow it.
pub fn shown_patch<'t>(text: &str, tools: &'t Tools) -> Option<(&'t Tool, String)> {
    let text = text.get(text.rfind(BEGIN)?..)?;
    let patch = patch(text)?;
    let is_end =
        text.get(patch.len()..)?.split_whitespace().all(|word| matches!(word, "```" | "~~~" | "EOF" | "PATCH" | "'" | "\""));
    let tool = tools.iter().find(|tool| tool.input.is_patch()).filter(|_| is_end && check(patch).is_ok())?;
    Some((tool, json!({Input::TEXT: patch}).to_string()))
}

/// The first string in a value that contains a patch.
fn text_of(value: &Value) -> Option<std::borrow::Cow<'_, str>> {
    match value {
        Value::String(text) if text.contains(BEGIN) => Some(text.as_str().into()),
        Value::Array(list) => list.iter().find_map(text_of),
        Value::Object(members) => members.values().find_map(text_of),
        _ => None,
    }
}

/// The text from the first line of a patch to its last.
fn patch(text: &str) -> Option<&str> {
    let start = text.find(BEGIN)?;
    let from = text.get(start..)?;
    let end = from.find(&format!("\n{END}"))? + 1 + END.len();
    from.get(..end)
}

/// Checks the grammar of a patch: files, each with its lines. The error names the line that is wrong.
fn check(patch: &str) -> Result<(), String> {
    // The header of the current file; none after a deleted one.
    let mut place = "";
    let mut files = 0;
    // Lines of the current file so far.
    let mut lines = 0;
    let last = patch.lines().count();
    for (at, line) in patch.lines().enumerate().skip(1) {
        let wrong =
            |what: &str| Err(format!("line {} of the patch {what}: `{}`", at + 1, line.chars().take(60).collect::<String>()));
        let header = line.strip_prefix("*** ");
        if header.is_some() && lines == 0 && !place.is_empty() && !line.starts_with("*** Move to: ") {
            return wrong("follows a file without any line of its own");
        }
        let path = |prefix: &str| header.and_then(|header| header.strip_prefix(prefix)).map(str::trim);
        if at + 1 == last {
            return if files > 0 { Ok(()) } else { wrong("ends a patch of no file") };
        }
        let found = [ADD, UPDATE, DELETE].into_iter().find_map(|header| Some((header, path(header)?)));
        if let Some((header, path)) = found {
            if path.is_empty() {
                return wrong("names no file");
            }
            place = if header == DELETE { "" } else { header };
            (lines, files) = (0, files + 1);
        } else if place == UPDATE && path("Move to:").is_some() && lines == 0 {
            // A renamed file may have no other change.
            lines += 1;
        } else if place == UPDATE && line == "*** End of File" {
        } else if header.is_some() {
            return wrong("is no line of a patch");
        } else {
            let good = match place {
                ADD => line.starts_with('+'),
                // An empty line of context often lacks its space.
                UPDATE => line.is_empty() || line.starts_with(['+', '-', ' ', '@']),
                _ => line.trim().is_empty(),
            };
            if !good {
                return wrong("must begin with `+`, `-`, a space or `@@`");
            }
            lines += 1;
        }
    }
    Err(format!("the patch does not end with `{END}`"))
}
