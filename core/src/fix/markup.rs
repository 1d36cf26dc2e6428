//! Markup of the model's own form in the values of a native call: `<|"|>hanoi<|"|>`, `/tmp⏎</parameter>`. The backend's parser left
//! it there. Where it only encloses or ends a value it is taken off; anywhere else it may be content, or the call was torn.

use serde_json::Value;

use super::report::{Fix, Verdict};
use crate::event::Why;
use crate::json::Code;

/// The arguments without the markers that enclose or end a value, and what was done, if they are JSON and hold a marker. A marker in
/// a key shows that the call was torn.
pub(super) fn cleaned(arguments: &str, markers: &[String]) -> Result<Option<(String, Fix)>, Why> {
    // In JSON, a quote of a marker is escaped.
    let is_there = |marker: &String| arguments.contains(&marker.replace('"', "\\\""));
    let read = || serde_json::from_str::<Value>(arguments).ok();
    let Some(mut value) = markers.iter().any(is_there).then(read).flatten() else { return Ok(None) };
    let (level, note) = match clean(&mut value, markers)? {
        true => (Verdict::Lossless, "markup of the call around a value"),
        false => (Verdict::Guess, "markup of the call inside a value"),
    };
    Ok(Some((value.to_string(), Fix::whole(Code::E3, 0..arguments.len(), level, note))))
}

/// Cleans the strings of a value. Returns whether no marker stays.
fn clean(value: &mut Value, markers: &[String]) -> Result<bool, Why> {
    match value {
        Value::String(text) => {
            if let Some(bare) = bare(text, markers) {
                *text = bare.to_owned();
            }
            Ok(!markers.iter().any(|marker| text.contains(marker.as_str())))
        }
        Value::Array(items) => items.iter_mut().try_fold(true, |sure, item| Ok(clean(item, markers)? && sure)),
        Value::Object(members) => members.iter_mut().try_fold(true, |sure, (key, value)| {
            // A marker, or the beginning of one.
            if markers.iter().any(|marker| key.contains(marker.trim_end_matches('>'))) {
                return Err(Why::Markup(format!("protocol markup in the key `{key}`")));
            }
            Ok(clean(value, markers)? && sure)
        }),
        _ => Ok(true),
    }
}

/// The text without one marker on both sides, or without the markers that it ends with.
fn bare<'t>(text: &'t str, markers: &[String]) -> Option<&'t str> {
    let inside = |marker: &String| text.trim().strip_prefix(marker.as_str())?.strip_suffix(marker.as_str());
    if let Some(inside) = markers.iter().find_map(inside) {
        return Some(inside);
    }
    let mut rest = text;
    let ends = |text: &'t str| markers.iter().find_map(|marker| text.trim_end().strip_suffix(marker.as_str()));
    while let Some(shorter) = ends(rest) {
        rest = shorter;
    }
    let line = rest.strip_suffix('\n').unwrap_or(rest);
    (rest.len() < text.len()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// source: native values of Gemma 4, GLM and Qwen3-Coder in reports of 2026.
    #[test]
    fn markup_that_encloses_or_ends_a_value_is_taken_off() {
        let markers = ["<|\"|>", "<arg_key>", "</arg_value>", "</parameter>", "</function>"].map(str::to_owned);
        for (written, wanted, level) in [
            (r#"{"location":"<|\"|>hanoi<|\"|>"}"#, r#"{"location":"hanoi"}"#, Verdict::Lossless),
            (r#"{"path":"/tmp\n</parameter>"}"#, r#"{"path":"/tmp"}"#, Verdict::Lossless),
            (r#"{"l":["a</parameter>\n</function>\n"]}"#, r#"{"l":["a"]}"#, Verdict::Lossless),
            (r#"{"f":"app.log</arg_value><arg_key>pattern"}"#, r#"{"f":"app.log</arg_value><arg_key>pattern"}"#, Verdict::Guess),
        ] {
            let (got, fix) = cleaned(written, &markers).unwrap().unwrap();
            assert_eq!((got.as_str(), fix.level), (wanted, level), "{written}");
        }
        assert_eq!(cleaned(r#"{"a":"</div>"}"#, &markers), Ok(None));
        let torn = cleaned(r#"{"file<arg_key": "page</arg_key><arg_value>5", "l": "<arg_key>"}"#, &markers);
        assert!(matches!(torn, Err(Why::Markup(_))), "{torn:?}");
    }
}
