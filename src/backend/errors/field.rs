//! Which field a backend does not know, in the words of its error.

use super::{super::Rewrite, Refusal};

/// Words before the name of the field, and words after it, in lower case.
const BEFORE: &[&str] = &[
    "unknown name \"",
    "unrecognized request arguments supplied",
    "unrecognized request argument supplied",
    "additional properties are not allowed",
    "unknown parameter",
    "unknown field",
];
const AFTER: &[&str] = &["extra inputs are not permitted", "' is unsupported"];

/// What an error about an unknown field refuses; `None` for other errors.
pub(super) fn refused(message: &str) -> Option<Refusal> {
    // As long as the message, so that places in one are places in the other.
    let lower = message.to_ascii_lowercase();
    let before = BEFORE.iter().find_map(|words| Some(lower.find(words)? + words.len()));
    let path = match before {
        Some(at) => message[at..].trim_start_matches(|c| !is_of_path(c)).split(|c| !is_of_path(c)).next(),
        None => {
            let at = AFTER.iter().find_map(|words| lower.find(words))?;
            message[..at].trim_end_matches(|c| !is_of_path(c)).rsplit(|c| !is_of_path(c)).next()
        }
    };
    // Without the path to it: `strict` of `tools[0].function.strict`.
    let is_name = |part: &&str| part.contains(|c: char| c.is_ascii_alphabetic());
    Some(match path.and_then(|path| path.split(['.', '[', ']']).rfind(is_name)) {
        Some("tools" | "tool_calls" | "tool_call_id") => Refusal::Tools,
        Some("think" | "reasoning_effort") => Refusal::Form(Rewrite::NoThinking),
        Some("tool_choice") => Refusal::Form(Rewrite::ChoiceInWords),
        Some(name) => Refusal::Field(name.to_owned()),
        None => Refusal::Fields,
    })
}

fn is_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.[]".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refused_field_is_the_one_that_the_message_names() {
        for (message, name) in [
            ("Unrecognized request argument supplied: verbosity", "verbosity"),
            ("Unrecognized request arguments supplied: store, user", "store"),
            ("Unknown parameter: 'response_format'.", "response_format"),
            ("Unknown parameter: 'tools[0].function.strict'.", "strict"),
            ("json: unknown field \"keep_alive\"", "keep_alive"),
            ("unknown field `min_p`, expected one of `model`, `messages`", "min_p"),
            ("body.top_k: Extra inputs are not permitted; body.min_p: Extra inputs are not permitted", "top_k"),
            ("body.messages.0.reasoning_content: Extra inputs are not permitted", "reasoning_content"),
            ("Additional properties are not allowed ('seed' was unexpected)", "seed"),
            ("Invalid JSON payload received. Unknown name \"store\": Cannot find field.", "store"),
            ("property 'prompt_cache_key' is unsupported", "prompt_cache_key"),
        ] {
            assert_eq!(refused(message), Some(Refusal::Field(name.into())), "{message}");
        }
        for message in [
            "Unrecognized request argument supplied: tools",
            "Unknown parameter: 'tools'.",
            "json: unknown field \"tools\"",
            "body.tools: Extra inputs are not permitted",
            "Unknown parameter: 'messages[1].tool_calls'.",
        ] {
            assert_eq!(refused(message), Some(Refusal::Tools), "{message}");
        }
        assert_eq!(refused("Unrecognized request argument supplied: reasoning_effort"), Some(Refusal::Form(Rewrite::NoThinking)));
        assert_eq!(refused("unknown field"), Some(Refusal::Fields));
    }
}
