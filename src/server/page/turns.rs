//! The turns that the page shows: the last rows, the content of the latest turns, counters by model and by minute, and the channel
//! that tells pages about changes. A row is made of the account of its request. Nothing here waits for a page.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use chrono::Utc;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::kept::{Kept, Shared};
use crate::{
    lock::Hold,
    plan::now,
    redact,
    server::account::{Account, Facts, Turn, milliseconds},
};

/// Maximum number of rows.
pub(super) const ROWS: usize = 200;
/// Maximum number of turns with content, and of their bytes together.
const KEPT: usize = 50;
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Space reserved for a new turn, in bytes; for one with a large request, twice the size of that request.
const ROOM: usize = 1024 * 1024;
/// Maximum number of models of a sender that are counted separately.
const COUNTED: usize = 200;
/// Minutes of the overview.
const HOUR: u64 = 60;
/// Maximum number of changes that a page may lag behind.
const LAG: usize = 256;

/// The turns since the start.
pub(in crate::server) struct Turns {
    state: Mutex<State>,
    /// Its receivers are the open pages.
    pub(super) changes: broadcast::Sender<Change>,
    /// Total size of the kept content, in bytes.
    bytes: Arc<AtomicUsize>,
}

/// Where it is locked, no account is.
#[derive(Default)]
struct State {
    rows: VecDeque<Row>,
    senders: BTreeMap<String, Sums>,
}

/// What became of a sender's turns: by model, and in each of the last minutes (since 1970) in which one ended.
#[derive(Default)]
struct Sums {
    models: BTreeMap<String, Counts>,
    minutes: BTreeMap<u64, Counts>,
}

/// What became of turns.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    turns: u64,
    calls: u64,
    /// Calls that were repaired, and the repairs.
    fixed: u64,
    fixes: u64,
    refused: u64,
    /// Questions to the model.
    asked: u64,
    failed: u64,
}

/// A row of this sender's, as JSON, for pages.
type Change = (Arc<str>, Arc<str>);

/// A turn in the list.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) number: u64,
    /// Milliseconds since 1970.
    at: i64,
    begun: Instant,
    /// The model as the client wrote it.
    pub(super) model: String,
    pub(super) account: Account,
    /// The call that is being written, while one is.
    pub(super) writing: Option<String>,
    /// The first call: its tool and its first argument.
    pub(super) called: Option<String>,
    /// What is said in it, where that is kept.
    pub(super) content: Option<Shared>,
}

/// A turn of the list, for those who know more of it later.
#[derive(Clone)]
pub(in crate::server) struct Entry {
    turns: Arc<Turns>,
    number: u64,
    /// What is said in it, where that is kept.
    pub(in crate::server) kept: Option<Shared>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { state: Mutex::default(), changes: broadcast::Sender::new(LAG), bytes: Arc::default() }
    }
}

impl Turns {
    /// The size of the content that is kept, in bytes.
    pub(in crate::server) fn held_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A turn begins. `keeps`: whether what is said in it is kept.
    pub(in crate::server) fn begin(self: &Arc<Turns>, account: &Account, model: &str, body: &Bytes, keeps: bool) -> Entry {
        let mut state = self.state.hold();
        let keeps = keeps && state.make_room(ROOM.max(2 * body.len()), &self.bytes);
        let kept = keeps.then(|| Arc::new(Mutex::new(Kept::new(body, Arc::clone(&self.bytes), KEPT_BYTES))));
        let number = state.rows.back().map_or(1, |last| last.number + 1);
        let row = Row {
            number,
            at: Utc::now().timestamp_millis(),
            begun: Instant::now(),
            model: redact::line(model),
            account: account.clone(),
            writing: None,
            called: None,
            content: kept.clone(),
        };
        if state.rows.len() >= ROWS {
            state.rows.pop_front();
        }
        self.tell(&row);
        state.rows.push_back(row);
        Entry { turns: Arc::clone(self), number, kept }
    }

    /// The rows of this sender, the latest first.
    pub(super) fn rows(&self, owner: &str) -> Vec<Value> {
        let state = self.state.hold();
        state.rows.iter().rev().filter(|row| row.is_of(owner)).map(Row::to_value).collect()
    }

    /// A turn of this sender.
    pub(super) fn get(&self, owner: &str, number: u64) -> Option<Row> {
        self.state.hold().find(number).filter(|row| row.is_of(owner)).cloned()
    }

    /// What became of this sender's turns, by model.
    pub(super) fn counts(&self, owner: &str) -> BTreeMap<String, Counts> {
        self.state.hold().senders.get(owner).map(|sums| sums.models.clone()).unwrap_or_default()
    }

    /// This sender's last hour by minute, the current one last.
    pub(super) fn hour(&self, owner: &str) -> Vec<Counts> {
        let (state, now) = (self.state.hold(), minute());
        let happened = |at: u64| state.senders.get(owner)?.minutes.get(&at).copied();
        (0..HOUR).rev().map(|ago| happened(now.saturating_sub(ago)).unwrap_or_default()).collect()
    }

    fn tell(&self, row: &Row) {
        if self.changes.receiver_count() > 0 {
            let owner = row.account.facts().tenant.as_str().into();
            // No page listens any more.
            let _ = self.changes.send((owner, row.to_value().to_string().into()));
        }
    }
}

/// Minutes since 1970.
fn minute() -> u64 {
    now() / 60
}

impl State {
    fn find(&mut self, number: u64) -> Option<&mut Row> {
        let first = self.rows.front()?.number;
        self.rows.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// Forgets what was said in the oldest turns that are over, until another one has room. `false`: as many as are kept at most
    /// are under way.
    fn make_room(&mut self, room: usize, bytes: &AtomicUsize) -> bool {
        let mut many = self.rows.iter().filter(|row| row.content.is_some()).count();
        for row in &mut self.rows {
            if many < KEPT && bytes.load(Ordering::Relaxed) + room <= KEPT_BYTES {
                return true;
            }
            // Accounts are looked at only where that may matter: there are many more rows.
            if row.content.is_some() && row.account.facts().taken.is_some() {
                row.content = None;
                many -= 1;
            }
        }
        many < KEPT
    }

    /// Counts a turn that is over.
    fn count(&mut self, facts: &Facts) {
        let counts = Counts::of(facts);
        let Sums { models, minutes } = self.senders.entry(facts.tenant.clone()).or_default();
        minutes.entry(minute()).or_default().add(counts);
        if minutes.len() as u64 > HOUR {
            minutes.pop_first();
        }
        // Names of models that no backend has are anybody's invention.
        let Some(target) = &facts.target else { return };
        let name = redact::line(&target.called);
        if models.contains_key(&name) || models.len() < COUNTED {
            models.entry(name).or_default().add(counts);
        }
    }
}

impl Counts {
    fn of(facts: &Facts) -> Counts {
        let unread = Turn::default();
        let turn = facts.turn.as_ref().unwrap_or(&unread);
        let count = |is: fn(&str) -> bool| turn.verdicts.iter().filter(|verdict| is(verdict)).count() as u64;
        let refused = count(|verdict| verdict == "refused");
        let rounds = u64::from(turn.rounds.saturating_sub(1));
        // In mode react, calls run here, and further rounds are no questions.
        let (run, asked) = if facts.mode == "react" { (turn.verdicts.len() as u64 - refused, 0) } else { (0, rounds) };
        Counts {
            turns: 1,
            calls: run.max(turn.delivered.into()),
            fixed: count(|verdict| !matches!(verdict, "clean" | "refused")),
            fixes: turn.fixes as u64,
            refused,
            asked,
            failed: facts.has_failed().into(),
        }
    }

    fn add(&mut self, more: Counts) {
        let Counts { turns, calls, fixed, fixes, refused, asked, failed } = more;
        self.turns += turns;
        self.calls += calls;
        self.fixed += fixed;
        self.fixes += fixes;
        self.refused += refused;
        self.asked += asked;
        self.failed += failed;
    }
}

impl Row {
    fn is_of(&self, owner: &str) -> bool {
        self.account.facts().tenant == owner
    }

    /// As the page gets it.
    pub(super) fn to_value(&self) -> Value {
        let facts = self.account.facts();
        let (counts, unread) = (Counts::of(&facts), Turn::default());
        let turn = facts.turn.as_ref().unwrap_or(&unread);
        let told = facts.told.as_ref().or(turn.failed.as_ref().map(|failed| &failed.message));
        json!({
            "number": self.number,
            "at": self.at,
            "id": facts.id,
            "path": facts.path,
            "client": facts.client.as_deref().unwrap_or_default(),
            "model": self.model,
            "backend": facts.backend(),
            "adapter": turn.adapter,
            "mode": facts.mode,
            "result": outcome(&facts, &counts),
            "writing": self.writing.as_ref().filter(|_| facts.taken.is_none()),
            "called": self.called,
            "status": facts.status,
            "first_ms": facts.first.map(milliseconds),
            "ms": milliseconds(facts.taken.unwrap_or_else(|| self.begun.elapsed())),
            "prompt_tokens": turn.usage.prompt_tokens,
            "completion_tokens": turn.usage.completion_tokens,
            "rounds": turn.rounds,
            "calls": counts.calls,
            "fixes": counts.fixes,
            "refused": counts.refused,
            "error": told.filter(|_| facts.has_failed()).map(|told| redact::line(told)),
            "kept": self.content.is_some(),
        })
    }
}

/// A turn in one word. `again`: the model was asked again, and a call came of it. `passed`: the answer was not read.
fn outcome(facts: &Facts, counts: &Counts) -> &'static str {
    match &facts.turn {
        _ if facts.taken.is_none() => "running",
        _ if facts.has_failed() => "error",
        _ if facts.status.is_none() => "left",
        None => "passed",
        Some(turn) if turn.finish.is_none() => "left",
        Some(_) if counts.calls == 0 && counts.refused > 0 => "refused",
        Some(_) if counts.calls == 0 => "text",
        Some(_) if counts.asked > 0 => "again",
        Some(_) if counts.fixes > 0 => "fixed",
        Some(_) => "call",
    }
}

impl Entry {
    /// Notes what is known now, and tells the pages.
    pub(super) fn update(&self, change: impl FnOnce(&mut Row)) {
        let mut state = self.turns.state.hold();
        let Some(row) = state.find(self.number) else { return };
        change(row);
        self.turns.tell(row);
    }

    /// The turn is over.
    pub(in crate::server) fn end(&self) {
        let mut state = self.turns.state.hold();
        let Some(row) = state.find(self.number) else { return };
        self.turns.tell(row);
        let account = row.account.clone();
        state.count(&account.facts());
    }
}
