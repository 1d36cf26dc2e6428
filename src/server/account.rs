//! The account of a request: routes and the turn fill in its [`Facts`] while it is served. The log line, the metrics, the spans
//! and the row of the page are made from them when the response is over.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use http::HeaderMap;

use super::{page::turns::Entry, received::Target};
use crate::{
    backend::{self, Dialect},
    error::Error,
    event::{Event, FinishReason, Tools, Usage, Why},
    fix::Checked,
    lock::Hold,
    openai::ChatRequest,
    plan::Plan,
    redact,
    turn::{prefix::Prefix, tap::Tap},
};

/// The account of one request. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Account {
    facts: Arc<Mutex<Facts>>,
    is_heavy: Arc<AtomicBool>,
}

/// The facts known about a request so far.
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// The request's id and path.
    pub(super) id: String,
    pub(super) path: String,
    /// The model and its backend; `None`: the request is not about a model.
    pub(super) target: Option<Target>,
    /// The name of the tenant; `""` if no key is required.
    pub(super) tenant: String,
    pub(super) mode: &'static str,
    /// The first word of what its client calls itself.
    pub(super) client: Option<String>,
    pub(super) turn: Option<Turn>,
    /// Its row on the page.
    pub(super) entry: Option<Entry>,
    /// The backend's headers about its limits.
    pub(super) pace: Vec<(String, String)>,
    /// The status of its response; `None`, once it is over: the client left before there was one.
    pub(super) status: Option<u16>,
    /// What the client was told of a failure.
    pub(super) told: Option<String>,
    /// The time until the first byte of its answer, and until its end; `None`: it is under way.
    pub(super) first: Option<Duration>,
    pub(super) taken: Option<Duration>,
}

/// The facts about a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub(super) adapter: String,
    /// Number of answers of the backend.
    pub(super) rounds: u32,
    /// When the backend's first bytes arrived, and when the first bytes were sent to the client.
    pub(super) first_read: Option<Instant>,
    pub(super) first_sent: Option<Instant>,
    pub(super) usage: Usage,
    /// How much of the request the backend had read before; `None`: the conversation is new.
    pub(super) prefix: Option<Prefix>,
    /// Number of delivered calls.
    pub(super) delivered: u32,
    /// Verdicts of the fixer, one per checked call.
    pub(super) verdicts: Vec<&'static str>,
    pub(super) fixes: usize,
    /// Why calls were not delivered, one word each.
    pub(super) refusals: Vec<String>,
    pub(super) finish: Option<FinishReason>,
    pub(super) failed: Option<Failed>,
}

/// How a turn failed.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    /// The error's code, or its status.
    pub(super) code: String,
    pub(super) message: String,
}

impl Facts {
    /// The name of the backend; `""`: no model was asked for.
    pub(super) fn backend(&self) -> &str {
        self.target.as_ref().map_or("", |target| &target.backend.name)
    }

    /// Whether the client got an error, in the place of an answer or at its end.
    pub(super) fn has_failed(&self) -> bool {
        self.status.is_some_and(|status| status >= 400) || self.turn.as_ref().is_some_and(|turn| turn.failed.is_some())
    }
}

/// A duration as the log and the page write it.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

/// Observes a turn for an account.
struct Watch {
    account: Account,
    turn: Turn,
}

/// Maximum length of a client's name for itself, in characters.
const CLIENT_CHARS: usize = 60;

impl Account {
    /// Of the request with this id, at this path.
    pub(super) fn of(id: &str, path: &str) -> Account {
        let facts = Facts { id: id.to_owned(), path: path.to_owned(), ..Facts::default() };
        Account { facts: Arc::new(Mutex::new(facts)), ..Account::default() }
    }

    /// The facts known so far.
    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.hold()
    }

    /// Sets the model. The request counts as passed through unless [`Account::watch`] is called.
    pub(super) fn is_about(&self, target: &Target) {
        let mut facts = self.facts();
        facts.target = Some(target.clone());
        facts.mode = "off";
    }

    /// Sets what the client calls itself.
    pub(super) fn is_from(&self, user_agent: &str) {
        let client = user_agent.split(' ').next().filter(|client| !client.is_empty());
        self.facts().client = client.map(|client| redact::shown(client, CLIENT_CHARS));
    }

    /// The tap for this turn.
    pub(super) fn watch(&self, plan: &Plan, mode: &'static str) -> Box<dyn Tap> {
        let turn = Turn { adapter: plan.adapter.name.clone(), ..Turn::default() };
        let mut facts = self.facts();
        (facts.mode, facts.turn) = (mode, Some(turn.clone()));
        Box::new(Watch { account: self.clone(), turn })
    }

    /// Whether the next steps of the turn may take long.
    pub(super) fn is_heavy(&self) -> bool {
        self.is_heavy.load(Ordering::Relaxed)
    }

    /// Announces that the next step takes long: it moves to the threads for large requests (`apart`).
    pub(super) async fn goes_apart(&self) {
        self.is_heavy.store(true, Ordering::Relaxed);
        // A request is moved when it waits.
        tokio::task::yield_now().await;
    }
}

impl Tap for Watch {
    fn answered(&mut self, headers: &HeaderMap) {
        self.account.facts().pace = backend::pace_headers(headers);
    }

    fn round(&mut self, _: &ChatRequest, _: &Tools, _: Dialect) {
        self.turn.rounds += 1;
        self.account.facts().turn = Some(self.turn.clone());
    }

    fn prefix(&mut self, prefix: Prefix) {
        self.turn.prefix = Some(prefix);
    }

    fn upstream(&mut self, _: &[u8]) {
        self.turn.first_read.get_or_insert_with(Instant::now);
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Call(_) => self.turn.delivered += 1,
            Event::Refused { why, .. } => self.turn.refusals.push(word(why)),
            Event::Finish { reason, .. } => self.turn.finish = Some(*reason),
            _ => {}
        }
    }

    fn usage(&mut self, usage: Usage) {
        self.turn.usage += usage;
    }

    fn dropped(&mut self, calls: u32) {
        self.turn.delivered = self.turn.delivered.saturating_sub(calls);
    }

    fn checked(&mut self, checked: &Checked) {
        self.turn.verdicts.push(checked.report.verdict.as_str());
        self.turn.fixes += checked.report.fixes.len() + usize::from(checked.written.is_some());
    }

    fn heavy(&mut self) {
        self.account.is_heavy.store(true, Ordering::Relaxed);
    }

    fn client(&mut self, _: &[u8]) {
        self.turn.first_sent.get_or_insert_with(Instant::now);
    }

    fn failed(&mut self, error: &Error) {
        let code = error.code.clone().unwrap_or_else(|| error.status.to_string());
        self.turn.failed = Some(Failed { code, message: error.to_string() });
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Here and at the beginning of a round, so that pieces of an answer take no lock.
        self.account.facts().turn = Some(std::mem::take(&mut self.turn));
    }
}

/// The name of the reason: `Truncated`, `Schema`.
fn word(why: &Why) -> String {
    let name = format!("{why:?}");
    name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase()
}
