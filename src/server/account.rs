//! The account of a request: routes and the turn fill in its [`Facts`] while it is served.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use http::HeaderMap;

use super::{
    facts::{Facts, Failed, Ran, Turn},
    page::turns::Entry,
    target::Target,
};
use crate::{
    backend::{self, Dialect},
    error::Error,
    event::{Event, Tools, Usage, Why},
    fix::Checked,
    lock::Hold,
    openai::{ChatRequest, ToolCall},
    plan::Plan,
    redact,
    turn::{prefix::Prefix, tap::Tap},
};

/// The account of one request. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    facts: Arc<Mutex<Facts>>,
    /// Its row on the page.
    entry: Arc<OnceLock<Entry>>,
    is_heavy: Arc<AtomicBool>,
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

    /// Looks at the facts known so far.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Facts) -> T) -> T {
        read(&self.facts.hold())
    }

    /// Takes the facts: the request is over.
    pub(super) fn take(&self) -> Facts {
        std::mem::take(&mut self.facts.hold())
    }

    /// Sets the tenant.
    pub(super) fn sent_by(&self, tenant: &str) {
        tenant.clone_into(&mut self.facts.hold().tenant);
    }

    /// Sets the model. The request counts as passed through unless [`Account::watch`] is called.
    pub(super) fn is_about(&self, target: &Target) {
        let mut facts = self.facts.hold();
        facts.target = Some(target.clone());
        facts.mode = "off";
    }

    /// Sets the row on the page, once.
    pub(super) fn is_listed(&self, entry: Entry) {
        self.entry.get_or_init(|| entry);
    }

    /// The row of the request on the page.
    pub(super) fn entry(&self) -> Option<&Entry> {
        self.entry.get()
    }

    /// The tap for this turn.
    pub(super) fn watch(&self, plan: &Plan, mode: &'static str) -> Box<dyn Tap> {
        let mut facts = self.facts.hold();
        facts.mode = mode;
        let client = plan.caller.client.split(' ').next().filter(|client| !client.is_empty());
        facts.client = client.map(|client| redact::shown(client, CLIENT_CHARS));
        let turn = Turn { adapter: plan.adapter.name.clone(), ..Turn::default() };
        Box::new(Watch { account: self.clone(), turn })
    }

    /// What a backend said about its limits.
    pub(super) fn pace(&self) -> Vec<(String, String)> {
        self.facts.hold().pace.clone()
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
        self.account.facts.hold().pace = backend::pace_headers(headers);
    }

    fn round(&mut self, _: &ChatRequest, _: &Tools, _: Dialect) {
        self.turn.rounds += 1;
    }

    fn prefix(&mut self, prefix: Prefix) {
        self.turn.prefix = Some(prefix);
    }

    fn upstream(&mut self, _: &[u8]) {
        self.turn.first_read.get_or_insert_with(Instant::now);
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::CallEnd { .. } => self.turn.calls.delivered += 1,
            Event::Refused { why, .. } => self.turn.calls.refusals.push(word(why)),
            Event::Finish { reason, .. } => self.turn.finish = Some(*reason),
            _ => {}
        }
    }

    fn usage(&mut self, usage: Usage) {
        self.turn.usage += usage;
    }

    fn dropped(&mut self, calls: u32) {
        self.turn.calls.delivered = self.turn.calls.delivered.saturating_sub(calls);
    }

    fn checked(&mut self, checked: &Checked) {
        self.turn.calls.verdicts.push(checked.report.verdict.as_str());
        self.turn.calls.fixes += checked.report.fixes.len() + usize::from(checked.written.is_some());
    }

    fn ran(&mut self, call: &ToolCall, server: &str, failed: bool, took: Duration) {
        let (id, name, server) = (call.id.clone(), call.name.clone(), server.to_owned());
        self.turn.ran.push(Ran { id, name, server, failed, ended: Instant::now(), took });
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
        // Once for each turn, so that pieces of an answer take no lock.
        self.account.facts.hold().turn = Some(std::mem::take(&mut self.turn));
    }
}

/// The name of the reason: `Truncated`, `Schema`.
fn word(why: &Why) -> String {
    let name = format!("{why:?}");
    name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase()
}
