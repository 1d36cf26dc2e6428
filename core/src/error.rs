//! The error type, which says who has to act. Parsing a model's text never fails, so errors come only from IO, configuration and
//! requests.

use std::borrow::Cow;

use crate::redact::{self, redacted};

/// Who has to act. Decides the HTTP status and the wording that a client sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The request is wrong; repeating it will not help.
    Client,
    /// The backend failed, refused or vanished.
    Backend,
    /// A tool failed.
    Tool,
    /// toolglot's configuration, limits or fault.
    Proxy,
}

/// An error: who has to act, what to tell people, and what a client needs to react.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Who has to act.
    pub blame: Blame,
    /// The HTTP status (400..=599), for fronts that use it.
    pub status: u16,
    /// A short, stable code for machines: OpenAI's `error.code` (`model_not_found`, `context_length_exceeded` ...).
    pub code: Option<String>,
    /// One or two sentences for people: what was wrong, where, what to do.
    pub message: String,
    /// The backend's headers about retries and rate limits (`retry-after` ...), as names and values.
    pub headers: Vec<(String, String)>,
}

impl Error {
    /// An error with the usual status of its blame: client 400, backend 502, tool 502, proxy 500. Passwords and keys in URLs, and
    /// credentials, are masked in the message.
    pub fn new(blame: Blame, message: impl Into<String>) -> Error {
        let status = match blame {
            Blame::Client => 400,
            Blame::Backend | Blame::Tool => 502,
            Blame::Proxy => 500,
        };
        let message: String = message.into();
        let message = match redacted(&message) {
            Cow::Owned(redacted) => redacted,
            Cow::Borrowed(_) => message,
        };
        Error { blame, status, code: None, message, headers: Vec::new() }
    }

    /// The request is wrong (400).
    pub fn client(message: impl Into<String>) -> Error {
        Error::new(Blame::Client, message)
    }

    /// The backend failed (502).
    pub fn backend(message: impl Into<String>) -> Error {
        Error::new(Blame::Backend, message)
    }

    /// A tool failed (502).
    pub fn tool(message: impl Into<String>) -> Error {
        Error::new(Blame::Tool, message)
    }

    /// toolglot failed, or its configuration is wrong (500).
    pub fn proxy(message: impl Into<String>) -> Error {
        Error::new(Blame::Proxy, message)
    }

    /// The same error with these secrets masked in all that it says: some backends repeat a key that they refuse.
    pub fn without<'s>(mut self, secrets: impl IntoIterator<Item = &'s str>) -> Error {
        let secrets: Vec<&str> = secrets.into_iter().collect();
        let headers = self.headers.iter_mut().map(|(_, value)| value);
        for text in headers.chain(&mut self.code).chain([&mut self.message]) {
            *text = redact::without(text, secrets.iter().copied()).into_owned();
        }
        self
    }

    /// The same error with another HTTP status.
    pub fn with_status(mut self, status: u16) -> Error {
        self.status = status;
        self
    }

    /// The same error with a machine-readable code.
    pub fn with_code(mut self, code: impl Into<String>) -> Error {
        self.code = Some(redact::known(&code.into()).into_owned());
        self
    }
}

/// The innermost cause, which says what really happened. The outer ones only repeat the URL.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    // What the library of TLS says of an answer in plain HTTP.
    if text.contains("InvalidContentType") { "it does not speak TLS: write http://".into() } else { text }
}
