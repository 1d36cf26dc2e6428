//! The input of a call for clients that take a text in place of arguments.

use serde_json::Value;

use crate::event::{Input, Why};

/// Whether a call with these arguments has an input of this form; `Err` says what it lacks.
pub(super) fn carries(input: &Input, arguments: &str) -> Result<(), Why> {
    match input {
        Input::Text | Input::Patch | Input::PatchCommand { .. } if text(arguments).is_none() => {
            Err(Why::Inexpressible(format!("it has no `{}`", Input::TEXT)))
        }
        _ => Ok(()),
    }
}

/// The text that the arguments hold: the argument [`Input::TEXT`], or the only one under any name. Else the arguments as the
/// model wrote them. `None`: there are none.
pub(super) fn text(arguments: &str) -> Option<String> {
    let Ok(Value::Object(given)) = serde_json::from_str(arguments) else {
        return Some(arguments.to_owned()).filter(|text| !text.trim().is_empty());
    };
    let only = || given.values().next().filter(|_| given.len() == 1);
    match given.get(Input::TEXT).or_else(only) {
        Some(Value::String(text)) => Some(text.clone()),
        _ if given.is_empty() => None,
        _ => Some(arguments.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_under_any_name_and_never_empty() {
        for (arguments, wanted) in [
            (r#"{"input":"x()"}"#, Some("x()")),
            (r#"{"code":"x()"}"#, Some("x()")),
            (r#"{"input":"x()","why":"to test"}"#, Some("x()")),
            (r#"{"code":"x()","why":"to test"}"#, Some(r#"{"code":"x()","why":"to test"}"#)),
            (r#"{"code":{"a":1}}"#, Some(r#"{"code":{"a":1}}"#)),
            ("x()", Some("x()")),
            ("{}", None),
            ("", None),
        ] {
            assert_eq!(text(arguments).as_deref(), wanted, "{arguments}");
            assert_eq!(carries(&Input::Text, arguments).is_ok(), wanted.is_some(), "{arguments}");
        }
    }
}
