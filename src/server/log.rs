//! `GET /ui/log`: the lines of the log as plain text, the last ones first, then those to come. `toolglot logs` reads it.

use std::{collections::VecDeque, convert::Infallible, sync::Mutex};

use axum::{Extension, body::Body, extract::State, response::Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::broadcast::{Sender as Channel, channel};

use super::{guard::Sender, reply, state::App};
use crate::{client::front::Kind, error::Error, lock::Hold};

/// The last lines of the log, without secrets.
#[derive(Debug)]
pub struct Lines {
    /// Locked while a line is added, so that a reader misses none and gets none twice.
    recent: Mutex<VecDeque<Bytes>>,
    /// Those to come.
    next: Channel<Bytes>,
}

/// So many lines are kept, and a reader may be this far behind.
const LINES: usize = 200;
/// A longer line is cut, in bytes.
const LINE_BYTES: usize = 4096;

impl Default for Lines {
    fn default() -> Lines {
        Lines { recent: Mutex::default(), next: channel(LINES).0 }
    }
}

impl Lines {
    /// Adds a line, with its end. Its colours are left out.
    pub fn add(&self, line: &str) {
        let (first, coloured) = line.split_once("\u{1b}[").unwrap_or((line, ""));
        let rest = coloured.split("\u{1b}[").filter_map(|piece| piece.split_once('m')).map(|(_, text)| text);
        let line: &str = &[first].into_iter().chain(rest).collect::<String>();
        let line = match line.get(..line.floor_char_boundary(LINE_BYTES)) {
            Some(begin) if begin.len() < line.len() => Bytes::from(format!("{begin}...\n")),
            _ => Bytes::copy_from_slice(line.as_bytes()),
        };
        let mut recent = self.recent.hold();
        if recent.len() == LINES {
            recent.pop_front();
        }
        recent.push_back(line.clone());
        // Nobody need be listening.
        let _ = self.next.send(line);
    }
}

/// With client keys, only operators: the lines are about everybody's requests.
pub(super) async fn lines(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let error = |what: &str, status| reply::error(Kind::OpenAi, &Error::client(what).with_status(status));
    if !app.config.access.keys.is_empty() && !sender.tenant.operator {
        return error("the log is for operators: it is about everybody's requests", 403);
    }
    let Some(lines) = &app.process.settings.log else { return error("this server keeps no log", 404) };
    let (recent, next) = {
        let recent = lines.recent.hold();
        (recent.clone(), lines.next.subscribe())
    };
    let missing = |missed| Bytes::from(format!("... {missed} lines are missing here\n"));
    let next = app.process.ending.followed(next).map(move |line| line.unwrap_or_else(missing));
    let told = stream::iter(recent).chain(next).map(Ok::<_, Infallible>);
    reply::bytes("text/plain; charset=utf-8", Body::from_stream(told))
}
