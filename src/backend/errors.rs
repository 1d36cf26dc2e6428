//! Interprets a backend's error: unwraps its message, and finds out whether the backend would accept another form of the request
//! (a [`Refusal`]). [`Learned`](super::Learned) keeps what a refusal teaches. Every other error goes to the client, in the form of
//! its protocol (`client::front`).

use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode, header};
use serde_json::Value;

use super::{Backend, Rewrite};
use crate::{error::Error, redact};

mod field;
#[cfg(test)]
mod tests;

/// A part of the request that a backend does not accept, although the conversation itself is fine. toolglot sends the request
/// again in another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `tools`: the model or the server does not support them. Remedy: write them into the prompt.
    Tools,
    /// The form of the conversation. Remedy: this rewrite (`backend::conversation`).
    Form(Rewrite),
    /// An unknown field, which the message names. Remedy: omit it.
    Field(String),
    /// An unknown field. Remedy: omit fields that not every server of this API knows.
    Fields,
    /// The backend's own parser could not read the model's call. Remedy: bypass that parser (raw mode).
    Parser,
}

/// Texts of other refusals than those of the conversation's form or of a field, in lower case; `*` matches any text. The first row
/// found in the message decides.
const REFUSALS: &[(&str, Refusal)] = &[
    ("does not support tool", Refusal::Tools),
    ("does not support function calling", Refusal::Tools),
    ("function calling is not enabled", Refusal::Tools),
    ("requires --enable-auto-tool-choice", Refusal::Tools),
    ("tools param requires --jinja", Refusal::Tools),
    ("no endpoints found that support tool use", Refusal::Tools),
    ("failed to parse input at pos", Refusal::Parser),
    ("error parsing tool call", Refusal::Parser),
    ("peg-native", Refusal::Parser),
    // LM Studio: lmstudio-js#493, lmstudio-bug-tracker#1358, continue#12680.
    ("failed to parse tool call", Refusal::Parser),
    ("failed to generate a tool call", Refusal::Parser),
    ("the model produced output that does not match", Refusal::Parser),
    ("unexpected empty grammar stack", Refusal::Parser),
    // Ollama's built-in parsers (`model/parsers`), each with its own wording, and Go's libraries.
    ("failed to parse json: ", Refusal::Parser),
    ("unexpected end of json input", Refusal::Parser),
    ("invalid character '", Refusal::Parser),
    ("failed to parse xml: ", Refusal::Parser),
    ("xml syntax error on line", Refusal::Parser),
    ("expected element type <function>", Refusal::Parser),
    ("empty function name", Refusal::Parser),
    ("mismatched arg_key and arg_value counts", Refusal::Parser),
    ("tool '*' not found", Refusal::Parser),
];

/// The code of an error that the decoder makes because the backend could not read the model's call.
pub(super) const MALFORMED_CALL: &str = "malformed_function_call";

/// Texts of errors about a conversation that is too long, in lower case.
const TOO_LONG: &[&str] = &[
    "context length",
    "context size",
    "context window",
    "exceed_context",
    "input length exceeds",
    "longer than the maximum model length",
];

/// Longest message that is passed on, in characters.
const SHOWN_CHARS: usize = 2000;
/// Longest text of a page that is passed on, in characters.
const PAGE_CHARS: usize = 200;

impl Refusal {
    /// The refusal that an error expresses (from [`error_from`] or the decoder), if any.
    pub fn of(error: &Error) -> Option<Refusal> {
        // Its message repeats what the model wrote, which may be anything.
        if error.code.as_deref() == Some(MALFORMED_CALL) {
            return Some(Refusal::Parser);
        }
        let message = error.message.to_lowercase();
        if let Some(rewrite) = Rewrite::taught(&message) {
            return Some(Refusal::Form(rewrite));
        }
        // All that Ollama says if a call ends too early (ollama#14986).
        if matches!(message.trim(), "eof" | "unexpected eof") {
            return Some(Refusal::Parser);
        }
        match REFUSALS.iter().find(|(text, _)| says(&message, text)) {
            Some((_, refusal)) => Some(refusal.clone()),
            None => field::refused(&error.message),
        }
    }
}

/// Whether a message says this: a text in lower case, in which `*` matches any text.
pub(super) fn says(message: &str, text: &str) -> bool {
    text.split('*').all(|piece| message.contains(piece))
}

/// The error in a backend's response: its status, and its own message out of `body`. A status outside 400..=599, such as a
/// redirection, becomes 502.
pub fn error_from(status: u16, body: &[u8]) -> Error {
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let said = value.as_ref().and_then(Said::of).unwrap_or_else(|| Said::plain(status, body));
    said.into_error(if (400..600).contains(&status) { status } else { 502 })
}

/// The same, from this backend: a refused key is named with whose it is, because the client has one too.
pub fn refusal_of(backend: &Backend, status: u16, body: &[u8]) -> Error {
    let error = error_from(status, body);
    let what = match (status, &backend.api_key) {
        (401 | 403, Some(_)) => "refuses the key that toolglot has for it",
        (401 | 403, None) => "wants a key (`api_key_env`)",
        _ => return error,
    };
    Error { message: format!("the backend `{}` {what}: {}", backend.name, error.message), ..error }
}

/// Why an answer cannot be used, whatever its body says (a 502): it is compressed, or only names another address. `None`: it can.
pub fn unusable(status: StatusCode, headers: &HeaderMap) -> Option<Error> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(target) = text(header::LOCATION).filter(|_| status.is_redirection()) {
        return Some(Error::backend(format!(
            "the backend redirects to {target} (HTTP status {}), which toolglot does not follow: change the backend's `url` in proxy.toml",
            status.as_u16()
        )));
    }
    let coding = text(header::CONTENT_ENCODING).filter(|coding| !coding.is_empty() && *coding != "identity")?;
    Some(Error::backend(format!(
        "the backend's answer is compressed (`content-encoding: {coding}`), although toolglot did not ask for that: switch the compression off in the backend, or in the proxy before it"
    )))
}

/// Whether the server reports that it is still loading its model (llama.cpp: status 503).
pub fn is_loading(error: &Error) -> bool {
    error.status == 503 && error.message.to_lowercase().contains("loading model")
}

/// How long the server asks to wait (`retry-after` in seconds); `None`: it does not say, or names a date.
pub fn retry_after(error: &Error) -> Option<Duration> {
    let (_, value) = error.headers.iter().find(|(name, _)| name == "retry-after")?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// The headers about limits and retries that clients act on (`retry-after`, `*ratelimit-*`), as names and values.
pub fn pace_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_pace = |name: &str| name.starts_with("retry-after") || name.contains("ratelimit-");
    let named = headers.iter().filter(|(name, _)| is_pace(name.as_str()));
    named.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned()))).collect()
}

/// The error in a stream with status 200; `value` is its `error` field, or the whole object.
pub(super) fn in_stream(value: &Value) -> Error {
    said(value).unwrap_or_else(|| Said { message: shown(&value.to_string()), code: None, status: None }.into_error(502))
}

/// The error that an object in a stream expresses, if it holds a message.
pub(super) fn said(value: &Value) -> Option<Error> {
    let said = Said::of(value)?;
    let status = said.status.unwrap_or(502);
    Some(said.into_error(status))
}

/// The content of an error body.
struct Said {
    message: String,
    code: Option<String>,
    status: Option<u16>,
}

impl Said {
    /// Unwraps `{error: {...}}`, `{error: "..."}`, `[{error}]`, `{message}`, `{detail}` and the bare forms of these.
    fn of(value: &Value) -> Option<Said> {
        match value {
            Value::String(text) => Some(Said { message: shown(text), code: None, status: None }),
            // FastAPI lists what is wrong with each field.
            Value::Array(list) => {
                let mut all = list.iter().filter_map(Said::of);
                let first = all.next()?;
                let message = all.fold(first.message, |message, next| format!("{message}; {}", next.message));
                Some(Said { message: shown(&message), ..first })
            }
            Value::Object(object) => {
                if let Some(inner) = object.get("error").filter(|inner| !inner.is_null()) {
                    return Said::of(inner);
                }
                let message = ["message", "detail", "msg"].iter().find_map(|key| object.get(*key))?;
                let mut said = match message {
                    Value::String(text) => Said { message: shown(text), code: None, status: None },
                    other => Said::of(other)?,
                };
                if let Some(place) = object.get("loc").and_then(Value::as_array) {
                    let place: Vec<String> =
                        place.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
                    said.message = format!("{}: {}", place.join("."), said.message);
                }
                // OpenRouter puts the message of the real backend into a field of its own.
                if let Some(raw) = object.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str) {
                    said.message = format!("{}: {}", said.message, shown(raw));
                }
                let named = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
                said.code = named("code").or_else(|| named("status")).or_else(|| named("type")).or(said.code);
                said.status = object
                    .get("code")
                    .and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()))
                    .and_then(|code| u16::try_from(code).ok())
                    .filter(|code| (400..600).contains(code));
                Some(said)
            }
            _ => None,
        }
    }

    /// A body that is not JSON.
    fn plain(status: u16, body: &[u8]) -> Said {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let is_page = text.starts_with('<');
        let message = match if is_page { without_tags(text) } else { text.to_owned() } {
            text if text.is_empty() => format!("the backend answered with HTTP status {status} and no message"),
            text if is_page => {
                format!("the backend answered with HTTP status {status} and a page: {}", redact::shown(&text, PAGE_CHARS))
            }
            text => shown(&text),
        };
        Said { message, code: None, status: None }
    }

    fn into_error(self, status: u16) -> Error {
        let lower = self.message.to_lowercase();
        let code = if TOO_LONG.iter().any(|text| lower.contains(text)) && status < 500
            || self.code.as_deref().is_some_and(|code| code.starts_with("exceed_context"))
        {
            Some("context_length_exceeded".to_owned())
        } else if status == 404 && lower.contains("model") {
            Some("model_not_found".to_owned())
        } else {
            self.code
        };
        Error { code, ..Error::backend(self.message).with_status(status) }
    }
}

/// The words of a page.
fn without_tags(page: &str) -> String {
    let text = page.split('<').filter_map(|piece| piece.split_once('>').map(|(_, text)| text));
    text.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn shown(text: &str) -> String {
    redact::shown(text, SHOWN_CHARS)
}
