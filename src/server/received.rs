//! The beginning of every request about a model: reads the body, and finds the model and its backend.

use std::sync::{Arc, atomic::Ordering};

use axum::{body::Body, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, header, header::AsHeaderName};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::{account::Account, discard::Slow, guard::Sender, state::App};
use crate::{
    backend::Backend,
    client::front,
    config::{Exchanges, Mode},
    error::Error,
    json, openai, plan,
};

/// The header that chooses the mode of one request.
const MODE: &str = "x-toolglot-mode";
/// Ends of the paths that are turns.
const TURNS: &[&str] = &["/chat", "/completions", "/messages", "/responses", "/generate", "/generate_with_mcp"];
/// Maximum number of JSON values in any body; larger bodies may have one more for each [`VALUE_BYTES`].
const VALUES: usize = 100_000;
const VALUE_BYTES: usize = 64;

/// The settings that a path prefix makes for its requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prefix {
    pub(super) mode: Option<Mode>,
    /// The name of a client's profile.
    pub(super) profile: Option<&'static str>,
}

/// The model that a request is about.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The name that the client used, which answers repeat.
    pub(super) called: String,
    /// The backend's own name.
    pub(super) model: String,
    pub(super) backend: Arc<Backend>,
}

/// A request with its body.
#[derive(Clone, Default)]
pub(super) struct Received {
    pub(super) headers: HeaderMap,
    pub(super) prefix: Prefix,
    pub(super) sender: Sender,
    pub(super) account: Account,
    pub(super) body: Bytes,
}

impl Received {
    /// Reads the body, up to `limits.body_bytes`.
    pub(super) async fn read(app: &App, request: Request) -> Result<Received, Error> {
        let (head, body) = request.into_parts();
        let sender = head.extensions.get::<Sender>().cloned().unwrap_or_default();
        sender.count(app).await?;
        let body = read(&head.headers, body, app.config.limits.body_bytes).await?;
        let prefix = head.extensions.get::<Prefix>().copied().unwrap_or_default();
        let account = head.extensions.get::<Account>().cloned().unwrap_or_default();
        Ok(Received { headers: head.headers, prefix, sender, account, body })
    }

    /// Reads a body that is a `T`; `expected` shows people how one looks.
    pub(super) async fn json<T: DeserializeOwned>(app: &App, request: Request, expected: &str) -> Result<(Received, T), Error> {
        let received = Received::read(app, request).await?.within_values()?;
        let value = openai::parse(&received.body);
        let wrong = |error: serde_json::Error| match is_object(&received.body) {
            true => format!("expected {expected}: {error}"),
            false => format!("expected {expected}"),
        };
        let value = value.map_err(|error| Error::client(wrong(error)))?;
        Ok((received, value))
    }

    /// Reads the body and finds the model in its field `model`, whose name may have the protocol's prefix. Writes the backend's
    /// own name of the model into the body.
    pub(super) async fn with_target(app: &App, request: Request, front: front::Kind) -> Result<(Received, Target), Error> {
        let mut received = Received::read(app, request).await?;
        let written = Named::read(&received.body).map(|(_, written)| written);
        received.list(app, written.as_deref().unwrap_or_default());
        let written = written?;
        let target = app.target(&received.sender.tenant, front.own_name(&written).to_owned()).await?;
        received.account.is_about(&target);
        if target.model != written {
            received.body = renamed(&received.body, &target.model)?;
        }
        Ok((received, target))
    }

    /// Counts a request for an answer, and makes it a row of the page.
    pub(super) fn list(&self, app: &App, model: &str) {
        self.account.is_from(text(&self.headers, header::USER_AGENT).unwrap_or_default());
        let is_turn = TURNS.iter().any(|end| self.account.facts().path.ends_with(end));
        if is_turn {
            app.process.metrics.chats.fetch_add(1, Ordering::Relaxed);
            let keeps = app.config.exchanges == Exchanges::Memory;
            let entry = app.process.page.begin(&self.account, model, &self.body, keeps);
            self.account.facts().entry = Some(entry);
        }
    }

    /// The mode: chosen by the page's switch, else by the header, the path, the model's alias, its route, the configuration.
    ///
    /// # Errors
    /// 403 if the sender may not use the mode.
    pub(super) fn mode(&self, app: &App, target: &Target) -> Result<Mode, Error> {
        let asked = asked_mode(&self.headers)?.or(self.prefix.mode);
        let mode = plan::mode(&app.config, &target.model, asked.or_else(|| app.config.mode_of_name(&target.called)));
        self.sender.check(&app.config, asked, mode)?;
        let mode = if app.process.bypass.covers(&self.sender.tenant.name, &target.called) { Mode::Off } else { mode };
        match mode {
            // The body passes unread.
            Mode::Off => return Ok(mode),
            Mode::Shell => app.config.check_runner()?,
            Mode::Rewrite | Mode::React => {}
        }
        self.check_values()?;
        Ok(mode)
    }

    /// Refuses a body with too many JSON values: each takes some hundred bytes of memory, however short its text.
    pub(super) fn within_values(self) -> Result<Received, Error> {
        self.check_values().map(|()| self)
    }

    fn check_values(&self) -> Result<(), Error> {
        let most = VALUES + self.body.len() / VALUE_BYTES;
        // A value has at least two bytes.
        if self.body.len() / 2 <= most || json::values(&self.body) <= most {
            return Ok(());
        }
        let what = format!(
            "the request body has more than {most} JSON values in its {} bytes, which would take too much memory to read",
            self.body.len()
        );
        Err(Error::client(what).with_status(413).with_code("request_too_large"))
    }
}

/// The first value of a header. `None`: there is none, or it is not printable ASCII.
pub(super) fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The body of a request, at most `limit` bytes.
async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Error> {
    let too_large = || {
        let what = format!("the request body is larger than {limit} bytes; `limits.body_bytes` in proxy.toml raises the limit");
        Error::client(what).with_status(413).with_code("request_too_large")
    };
    let declared = text(headers, header::CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > limit) {
        return Err(too_large());
    }
    let read = Limited::new(body, limit).collect().await.map_err(|error| match () {
        () if error.is::<LengthLimitError>() => too_large(),
        () if Slow::is_cause_of(&*error) => Error::client(Slow.to_string()).with_status(408).with_code("request_timeout"),
        () => Error::client(format!("the request body broke off: {error}")),
    });
    Ok(read?.to_bytes())
}

/// A body with only the model parsed.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
}

impl<'a> Named<'a> {
    /// The model, as a piece of the body and as its name.
    fn read(body: &'a [u8]) -> Result<(&'a str, String), Error> {
        let no_object = || Error::client("the request body must be a JSON object");
        if body.trim_ascii_start().starts_with(b"[") {
            return Err(no_object());
        }
        let named: Named<'_> = serde_json::from_slice(body).map_err(|error| match is_object(body) {
            false if error.is_data() => no_object(),
            _ => Error::client(format!("the request body is not valid JSON: {error}")),
        })?;
        let piece = named.model.map(RawValue::get);
        let name = piece.and_then(|piece| serde_json::from_str(piece).ok());
        piece.zip(name).ok_or_else(|| Error::client("`model` must be the name of a model: a string"))
    }
}

/// Whether a body that is JSON is an object.
fn is_object(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

/// The body with the model's own name instead of the client's name. Everything else is unchanged.
fn renamed(body: &[u8], model: &str) -> Result<Bytes, Error> {
    let (written, _) = Named::read(body)?;
    // It is a piece of the body.
    let start = (written.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
    let (before, after) = (body.get(..start), body.get(start + written.len()..));
    Ok([before.unwrap_or_default(), Value::from(model).to_string().as_bytes(), after.unwrap_or_default()].concat().into())
}

/// The mode in the request's header.
fn asked_mode(headers: &HeaderMap) -> Result<Option<Mode>, Error> {
    let Some(asked) = headers.get(MODE) else { return Ok(None) };
    let asked = asked.to_str().unwrap_or_default();
    match Mode::ALL.into_iter().find(|mode| asked.eq_ignore_ascii_case(mode.name())) {
        Some(mode) => Ok(Some(mode)),
        None => Err(Error::client(format!("`{MODE}: {asked}`: off, rewrite, shell and react are possible"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_keeps_everything_but_the_name() {
        let body = br#"{ "x":[1.50, "model"], "model" : "mi\u006ee", "prompt":"a\u0041"}"#;
        assert_eq!(Named::read(body).unwrap().1, "mine");
        assert_eq!(renamed(body, "o\"r").unwrap(), r#"{ "x":[1.50, "model"], "model" : "o\"r", "prompt":"a\u0041"}"#);
        for wrong in ["", "[]", "{}", r#"{"model":1}"#, r#"{"model":"m""#] {
            assert_eq!(Named::read(wrong.as_bytes()).map(|_| ()).unwrap_err().status, 400, "{wrong}");
        }
    }

    #[test]
    fn a_body_of_nothing_but_values_is_refused() {
        let of = |body: String| Received { body: body.into(), ..Received::default() };
        assert_eq!(of(format!("[{}1]", "1,".repeat(1_000_000))).check_values().unwrap_err().status, 413);
        assert!(of(format!("[\"{}\"]", ",".repeat(2_000_000))).check_values().is_ok());
    }
}
