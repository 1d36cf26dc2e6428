//! Answers requests for unknown paths: the answer suggests the path that was meant, and each such path is logged once.

use std::{collections::HashSet, sync::Mutex};

use axum::{extract::State, response::Response};
use http::{Method, Uri};

use super::{reply, state::App};
use crate::{error::Error, lock::Hold, redact};

/// Unknown paths that were requested.
#[derive(Debug, Default)]
pub(super) struct Missed(Mutex<HashSet<String>>);

/// Maximum number of paths that are remembered; further ones are not logged.
const PATHS: usize = 100;

impl Missed {
    /// Whether this is the first time.
    pub(super) fn is_new(&self, what: &str) -> bool {
        let mut paths = self.0.hold();
        paths.len() < PATHS && paths.insert(what.to_owned())
    }
}

/// No such path.
pub(super) async fn unknown(State(app): State<App>, method: Method, uri: Uri) -> Response {
    let path = redact::line(uri.path());
    missed(&app, &uri, format!("there is no {method} {path}; {}", hint(&path)), 404)
}

/// A known path with the wrong method.
pub(super) async fn wrong_method(State(app): State<App>, method: Method, uri: Uri) -> Response {
    // The place of an id: the name of what this API has elsewhere is no id.
    if method == Method::POST && uri.path().contains("/responses/") {
        return unknown(State(app), method, uri).await;
    }
    missed(&app, &uri, format!("{} does not take {method}", redact::line(uri.path())), 405)
}

/// An error that the log has once.
fn missed(app: &App, uri: &Uri, what: String, status: u16) -> Response {
    if app.process.missed.is_new(&what) {
        tracing::warn!("{what} (said once)");
    }
    reply::error_at(uri.path(), &Error::client(what).with_status(status))
}

/// What was probably meant.
fn hint(path: &str) -> &'static str {
    let twice = |part: &str| path.matches(part).count() > 1;
    match () {
        () if twice("/v1") => "the client adds /v1 itself: leave it out of the base URL",
        () if twice("/api") => "the client adds /api itself: leave it out of the base URL",
        () if path.ends_with("/chat/completions") => "the base URL ends in /v1",
        () => "see /v1/chat/completions and /v1/models",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_that_is_wrong_is_named() {
        for (path, expected) in [
            ("/v1/v1/chat/completions", "leave it out"),
            ("/api/api/chat", "leave it out"),
            ("/openai/chat/completions", "ends in /v1"),
            ("/favicon.ico", "/v1/models"),
        ] {
            assert!(hint(path).contains(expected), "{path}");
        }
    }

    #[test]
    fn a_path_is_new_once_and_few_are_remembered() {
        let missed = Missed::default();
        assert!(missed.is_new("/a") && !missed.is_new("/a") && missed.is_new("/b"));
        assert_eq!((0..1000).filter(|at| missed.is_new(&at.to_string())).count(), PATHS - 2);
    }
}
