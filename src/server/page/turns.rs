//! The turns that the page shows: the last rows, the content of the latest turns, counters by model and by minute, and the channel
//! that tells pages about changes. Nothing here waits for a page.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::broadcast;

use super::kept::Kept;
use crate::{
    lock::Hold,
    redact,
    server::account::{Facts, Turn, milliseconds},
};

/// Maximum number of rows.
pub(super) const ROWS: usize = 200;
/// Maximum number of turns with content, and of their bytes together.
const KEPT: usize = 50;
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Space reserved for a new turn, in bytes; for one with a large request, twice the size of that request.
const ROOM: usize = 1024 * 1024;
/// Maximum number of pairs of model and sender that are counted separately.
const COUNTED: usize = 200;
/// Minutes of the overview.
const HOUR: usize = 60;
/// Maximum number of changes that a page may lag behind.
const LAG: usize = 256;
/// The turns since the start.
pub(in crate::server) struct Turns {
    state: Mutex<State>,
    /// Its receivers are the open pages.
    changes: broadcast::Sender<Change>,
    /// Total size of the kept content, in bytes.
    bytes: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    next: u64,
    rows: VecDeque<Row>,
    counts: BTreeMap<(String, String), Counts>,
    /// Each sender's last hour: the minutes since 1970 in which turns ended.
    hours: BTreeMap<String, VecDeque<(u64, Minute)>>,
}

/// What happened in a minute: turns, calls, fixes, questions to the model, errors.
type Minute = [u64; 5];

/// A message for pages.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// A row of this sender's, as JSON.
    Row(Arc<str>, Arc<str>),
    /// The server is ending, or other keys open it.
    End,
}

/// A turn in the list, without its content.
#[derive(Clone, Default, Serialize)]
pub(super) struct Row {
    pub(super) number: u64,
    /// The client key that the request carried.
    #[serde(skip)]
    pub(super) owner: String,
    /// Milliseconds since 1970.
    pub(super) at: u64,
    /// The id of the request.
    pub(super) id: String,
    pub(super) path: String,
    pub(super) client: String,
    pub(super) model: String,
    pub(super) backend: String,
    pub(super) adapter: String,
    pub(super) mode: &'static str,
    pub(super) result: Outcome,
    /// The call that is being written, while one is.
    pub(super) writing: Option<String>,
    /// The first call: its tool and its first argument.
    pub(super) called: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) first_ms: Option<u64>,
    pub(super) ms: Option<u64>,
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    pub(super) rounds: u32,
    pub(super) calls: u32,
    pub(super) fixes: usize,
    pub(super) refused: usize,
    pub(super) error: Option<String>,
    /// The content of the turn is kept and can be shown.
    pub(super) kept: bool,
    #[serde(skip)]
    pub(super) content: Option<Arc<Mutex<Kept>>>,
    #[serde(skip)]
    begun: Option<Instant>,
}

/// A turn in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    #[default]
    Running,
    Call,
    Fixed,
    Refused,
    /// The model was asked again, and a call came of it.
    Again,
    Text,
    /// Mode `off`: the answer was not read.
    Passed,
    Left,
    Error,
}

/// What became of a model's calls since the start.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    pub(super) turns: u64,
    pub(super) calls: u64,
    pub(super) fixed: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
}

/// A turn of the list, for those who know more of it later.
#[derive(Clone)]
pub(in crate::server) struct Entry {
    turns: Arc<Turns>,
    number: u64,
    pub(super) kept: Option<Arc<Mutex<Kept>>>,
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
    pub(in crate::server) fn begin(
        self: &Arc<Turns>,
        facts: &Facts,
        client: &str,
        model: &str,
        body: &Bytes,
        keeps: bool,
    ) -> Entry {
        let mut state = self.state.hold();
        if keeps {
            state.make_room(ROOM.max(2 * body.len()), &self.bytes);
        }
        let kept = keeps.then(|| Arc::new(Mutex::new(Kept::new(body, Arc::clone(&self.bytes), KEPT_BYTES))));
        state.next += 1;
        let number = state.next;
        let row = Row {
            number,
            owner: facts.tenant.clone(),
            at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, milliseconds),
            id: facts.id.clone(),
            path: facts.path.clone(),
            client: redact::line(client.split(' ').next().unwrap_or_default()),
            model: redact::line(model),
            mode: "off",
            kept: keeps,
            content: kept.clone(),
            begun: Some(Instant::now()),
            ..Row::default()
        };
        if state.rows.len() >= ROWS {
            state.rows.pop_front();
        }
        self.tell(&row);
        state.rows.push_back(row);
        Entry { turns: Arc::clone(self), number, kept }
    }

    /// The rows of this sender, the latest first.
    pub(super) fn rows(&self, owner: &str) -> Vec<Row> {
        let state = self.state.hold();
        let own = state.rows.iter().rev().filter(|row| row.owner == owner);
        own.map(|row| Row { ms: row.ms.or(row.begun.map(|begun| milliseconds(begun.elapsed()))), content: None, ..row.clone() })
            .collect()
    }

    /// A turn of this sender.
    pub(super) fn get(&self, owner: &str, number: u64) -> Option<Row> {
        self.state.hold().find(number).filter(|row| row.owner == owner).cloned()
    }

    /// What became of the calls of this sender's models.
    pub(super) fn counts(&self, owner: &str) -> Vec<(String, Counts)> {
        let state = self.state.hold();
        let own = state.counts.iter().filter(|((of, _), _)| of == owner);
        own.map(|((_, model), counts)| (model.clone(), *counts)).collect()
    }

    /// This sender's last hour, a row per minute, the current one last.
    pub(super) fn hour(&self, owner: &str) -> Vec<Minute> {
        let state = self.state.hold();
        let mut out = vec![Minute::default(); HOUR];
        let now = minute();
        for (at, happened) in state.hours.get(owner).into_iter().flatten() {
            let ago = usize::try_from(now.saturating_sub(*at)).unwrap_or(HOUR);
            if let Some(row) = (HOUR - 1).checked_sub(ago).and_then(|place| out.get_mut(place)) {
                *row = *happened;
            }
        }
        out
    }

    /// What changes from now on, for a page.
    pub(super) fn listen(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Lets all pages go: the server ends, or other keys open it.
    pub(in crate::server) fn close(&self) {
        let _ = self.changes.send(Change::End);
    }

    fn tell(&self, row: &Row) {
        if self.changes.receiver_count() == 0 {
            return;
        }
        if let Ok(json) = serde_json::to_string(row) {
            // No page listens any more.
            let _ = self.changes.send(Change::Row(row.owner.as_str().into(), json.into()));
        }
    }
}

/// Minutes since 1970.
fn minute() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 60)
}

impl State {
    /// Adds a turn to its sender's last hour.
    fn count_minute(&mut self, owner: &str, happened: Minute) {
        if !self.hours.contains_key(owner) && self.hours.len() >= COUNTED {
            return;
        }
        let hour = self.hours.entry(owner.to_owned()).or_default();
        let now = minute();
        hour.retain(|(at, _)| at + HOUR as u64 > now);
        match hour.back_mut() {
            Some((at, sums)) if *at == now => sums.iter_mut().zip(happened).for_each(|(sum, more)| *sum += more),
            _ => hour.push_back((now, happened)),
        }
    }

    fn find(&mut self, number: u64) -> Option<&mut Row> {
        let first = self.rows.front()?.number;
        self.rows.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// Forgets what was said in the oldest turns that are over, until another one has room.
    fn make_room(&mut self, room: usize, bytes: &AtomicUsize) {
        let mut many = self.rows.iter().filter(|row| row.kept).count();
        for row in &mut self.rows {
            if many < KEPT && bytes.load(Ordering::Relaxed) + room <= KEPT_BYTES {
                return;
            }
            if row.result != Outcome::Running && row.content.take().is_some() {
                row.kept = false;
                many -= 1;
            }
        }
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

    /// Bytes for the client, where they are kept.
    pub(in crate::server) fn client(&self, bytes: &[u8]) {
        if let Some(kept) = &self.kept {
            kept.hold().client(bytes);
        }
    }

    /// Whether what is said is kept.
    pub(in crate::server) fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// The turn is over.
    pub(in crate::server) fn end(&self, facts: &Facts) {
        let unread = Turn::default();
        let turn = facts.turn.as_ref().unwrap_or(&unread);
        let fixed = turn.verdicts.iter().filter(|verdict| !matches!(**verdict, "clean" | "refused")).count();
        let refused = turn.verdicts.iter().filter(|verdict| **verdict == "refused").count();
        let calls = turn.delivered.max(if facts.mode == "react" { (turn.verdicts.len() - refused) as u32 } else { 0 });
        let failed = facts.status.is_some_and(|status| status >= 400) || turn.failed.is_some();
        let error = facts
            .told
            .as_deref()
            .or(turn.failed.as_ref().map(|failed| failed.message.as_str()))
            .filter(|_| failed)
            .map(redact::line);
        let result = match () {
            () if failed => Outcome::Error,
            () if facts.status.is_none() || (facts.turn.is_some() && turn.finish.is_none()) => Outcome::Left,
            () if facts.turn.is_none() => Outcome::Passed,
            () if calls == 0 && refused > 0 => Outcome::Refused,
            () if calls > 0 && turn.rounds > 1 && facts.mode != "react" => Outcome::Again,
            () if calls > 0 && turn.fixes > 0 => Outcome::Fixed,
            () if calls > 0 => Outcome::Call,
            () => Outcome::Text,
        };
        let mut state = self.turns.state.hold();
        let Some(row) = state.find(self.number) else { return };
        *row = Row {
            backend: facts.backend().to_owned(),
            adapter: turn.adapter.clone(),
            mode: facts.mode,
            result,
            writing: None,
            status: facts.status,
            first_ms: facts.first.map(milliseconds),
            ms: Some(milliseconds(facts.taken)),
            prompt_tokens: turn.usage.prompt_tokens,
            completion_tokens: turn.usage.completion_tokens,
            rounds: turn.rounds,
            calls,
            fixes: turn.fixes,
            refused,
            error,
            ..std::mem::take(row)
        };
        self.turns.tell(row);
        let owner = row.owner.clone();
        let asked = if facts.mode == "react" { 0 } else { u64::from(turn.rounds.saturating_sub(1)) };
        state.count_minute(&owner, [1, u64::from(calls), turn.fixes as u64, asked, u64::from(failed)]);
        // Names of models that no backend has are anybody's invention.
        if let Some(target) = &facts.target {
            let key = (owner, redact::line(&target.called));
            if state.counts.contains_key(&key) || state.counts.len() < COUNTED {
                let counts = state.counts.entry(key).or_default();
                counts.turns += 1;
                counts.calls += u64::from(calls);
                counts.fixed += fixed as u64;
                counts.refused += refused as u64;
                counts.failed += u64::from(failed);
            }
        }
    }
}
