//! The content of one turn, kept in memory: the client's request, the backend's answers, what was found in
//! them, and what the client got. A tap writes it. What exceeds the limit is omitted, and the page says so. `turns` decides which
//! turns are kept, and has the limits (50 turns, 8 MB). A turn can be saved as a fixture, the file that `toolglot check` replays.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::{Map, Value};

use super::turns::{Entry, Row};
use crate::{
    adapter::Library,
    backend::Dialect,
    event::{Event, Note, Tools},
    fix::Checked,
    fixture::{self, Fixture, Reads},
    lock::Hold,
    openai::ChatRequest,
    plan::Plan,
    recorded, redact,
    server::recording,
    turn::{answer::Setup, prefix::Prefix, tap::Tap},
};

/// The kept content of one turn.
#[derive(Clone, Default)]
pub(in crate::server) struct Kept {
    /// The client's body.
    pub(super) sent: Bytes,
    pub(super) rounds: Vec<Round>,
    /// How the model's answers are read; `None` in mode `off`.
    pub(super) reader: Option<Reader>,
    /// What left for the client's form.
    pub(super) said: Vec<Said>,
    /// The bytes that the client got, as they were sent.
    pub(super) got: Vec<u8>,
    pub(super) prefix: Option<Prefix>,
    /// Secrets to mask.
    pub(super) secrets: Vec<String>,
    /// Whether something was omitted for lack of space.
    pub(super) cut: bool,
    room: Room,
}

/// The same, for its turn and for pages.
pub(in crate::server) type Shared = Arc<Mutex<Kept>>;

/// Counts the bytes of a turn together with those of all others. A copy is not counted.
#[derive(Default)]
struct Room {
    own: usize,
    all: Arc<AtomicUsize>,
    /// Maximum number of bytes of all turns.
    most: usize,
}

/// A question to a backend, and its answer.
#[derive(Clone)]
pub(super) struct Round {
    /// The conversation in the internal form, as JSON; `""` if it was omitted for lack of space.
    pub(super) request: String,
    pub(super) wire: Option<Dialect>,
    pub(super) reads: Reads,
    /// What was found in the calls of the answer.
    pub(super) checked: Vec<Checked>,
}

/// How the answers of a turn are read.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) setup: Setup,
    /// How the tools were offered.
    pub(super) offered: &'static str,
    /// An estimate of the prompt's tokens.
    pub(super) estimated: u64,
}

/// Something that left for the client.
#[derive(Clone)]
pub(super) struct Said {
    /// `text`, `reasoning`, `call`, or `note`: a warning, or the reason of the end.
    pub(super) kind: &'static str,
    /// Of a call.
    pub(super) name: String,
    /// The text, or the arguments of a call.
    pub(super) text: String,
}

/// The tap that keeps the content of a turn.
struct Watch {
    entry: Entry,
    kept: Shared,
    last: Instant,
    told: Instant,
}

/// Shortest time between two messages to the pages about a turn that is under way.
const OFTEN: Duration = Duration::from_millis(250);
/// Length of a call in the list, in characters.
const CALLED_CHARS: usize = 80;
/// Maximum length of the client's body of which the requests to backends are kept, in bytes: to write one takes many times the
/// memory.
const REQUEST_BYTES: usize = 512 * 1024;
/// Maximum number of events that are kept; adjacent pieces of text are one.
const SAID: usize = 2000;

/// The tap for a turn; `None` if its content is not kept.
pub(in crate::server) fn tap(entry: &Entry, plan: &Plan) -> Option<Box<dyn Tap>> {
    let kept = Arc::clone(entry.kept.as_ref()?);
    {
        let mut kept = kept.hold();
        kept.secrets.extend(plan.secrets().map(str::to_owned));
        kept.reader = Some(Reader::from(plan));
        let tools = plan.tools.iter().map(|tool| tool.schema.len() + tool.description.len()).sum();
        kept.takes(tools);
    }
    let now = Instant::now();
    Some(Box::new(Watch { entry: entry.clone(), kept, last: now, told: now }))
}

/// A copy of a turn's content, so that a long reading does not block the turn.
pub(super) fn copied(kept: &Mutex<Kept>) -> Kept {
    kept.hold().clone()
}

impl From<&Plan> for Reader {
    fn from(plan: &Plan) -> Reader {
        Reader {
            setup: Setup::of(plan, &Arc::default()),
            offered: plan.tool_mode().as_str(),
            estimated: plan.reply.head.prompt_tokens,
        }
    }
}

impl Kept {
    pub(super) fn new(sent: &Bytes, all: Arc<AtomicUsize>, most: usize) -> Kept {
        let mut kept = Kept { room: Room { own: 0, all, most }, ..Kept::default() };
        if kept.takes(sent.len()) {
            kept.sent = sent.clone();
        }
        kept
    }

    /// Bytes that the client gets.
    pub(in crate::server) fn client(&mut self, bytes: &[u8]) {
        if self.takes(bytes.len()) {
            self.got.extend_from_slice(bytes);
        }
    }

    /// Whether there is space for this many more bytes.
    fn takes(&mut self, bytes: usize) -> bool {
        let Room { own, all, most } = &mut self.room;
        if all.fetch_add(bytes, Ordering::Relaxed) + bytes > *most {
            all.fetch_sub(bytes, Ordering::Relaxed);
            self.cut = true;
            return false;
        }
        *own += bytes;
        true
    }

    /// Something that leaves for the client's form.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) => self.says("text", "", text),
            Event::Reasoning(text) => self.says("reasoning", "", text),
            Event::Call(call) => self.says("call", call.name, call.arguments),
            Event::Refused { name, why, .. } => self.says("note", "", &format!("{name} was not run: {why}")),
            Event::Note(Note::Warning { text, .. } | Note::Progress { text, .. }) => self.says("note", "", text),
            Event::Finish { reason, .. } => self.says("note", "", &format!("finish: {}", reason.as_str())),
            Event::Note(Note::Candidate { .. } | Note::Writing { .. } | Note::Trace(_) | Note::StopSequence(_)) => {}
        }
    }

    /// The latest call in one line: its tool and its first argument.
    fn called(&self) -> Option<String> {
        let Said { name, text, .. } = self.said.last().filter(|said| said.kind == "call")?;
        let first = serde_json::from_str::<Map<String, Value>>(text).ok()?.into_iter().next();
        let shown = first.map_or_else(String::new, |(_, value)| match value {
            Value::String(text) => text,
            value => value.to_string(),
        });
        let line = format!("{name} {shown}");
        let line = redact::without(&line, self.secrets.iter().map(String::as_str));
        Some(redact::shown(line.trim(), CALLED_CHARS))
    }

    /// Something of this kind, or more of the same: notes and calls with a name of their own begin anew.
    fn says(&mut self, kind: &'static str, name: &str, text: &str) {
        if !self.takes(name.len() + text.len()) {
            return;
        }
        let is_full = self.said.len() >= SAID;
        match self.said.last_mut() {
            Some(last) if last.kind == kind && kind != "note" && name.is_empty() => last.text.push_str(text),
            _ if is_full => self.cut = true,
            _ => self.said.push(Said { kind, name: name.to_owned(), text: text.to_owned() }),
        }
    }
}

impl Clone for Room {
    fn clone(&self) -> Room {
        Room { own: 0, all: Arc::clone(&self.all), most: self.most }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

impl Watch {
    fn kept(&self, write: impl FnOnce(&mut Kept)) {
        write(&mut self.kept.hold());
    }
}

impl Tap for Watch {
    fn round(&mut self, chat: &ChatRequest, tools: &Tools, dialect: Dialect) {
        self.kept(|kept| {
            kept.cut |= kept.sent.len() > REQUEST_BYTES;
            let request = if kept.cut { String::new() } else { recording::request(chat, tools) };
            let request = if kept.takes(request.len()) { request } else { String::new() };
            kept.rounds.push(Round { request, wire: Some(dialect), reads: Reads::default(), checked: Vec::new() });
        });
        self.last = Instant::now();
        self.entry.update(|_| {});
    }

    fn prefix(&mut self, prefix: Prefix) {
        self.kept(|kept| kept.prefix = Some(prefix));
    }

    fn upstream(&mut self, bytes: &[u8]) {
        let after = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        self.kept(|kept| {
            if !kept.takes(bytes.len()) {
                return;
            }
            let Some(round) = kept.rounds.last_mut() else { return };
            round.reads.record(after, bytes);
        });
        if self.told.elapsed() >= OFTEN {
            self.told = Instant::now();
            self.entry.update(|_| {});
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(Note::Writing { name, bytes }) => {
                let writing = format!("{name}, {bytes} bytes");
                self.entry.update(|row| row.writing = Some(writing));
            }
            Event::Call(_) => {
                self.kept(|kept| kept.event(event));
                let kept = &self.kept;
                self.entry.update(|row| {
                    row.writing = None;
                    row.called = row.called.take().or_else(|| kept.hold().called());
                });
            }
            event => self.kept(|kept| kept.event(event)),
        }
    }

    fn checked(&mut self, checked: &Checked) {
        self.kept(|kept| {
            let bytes = checked.report.arguments.as_ref().map_or(0, String::len) + checked.report.fixes.len() * 100;
            if kept.takes(bytes)
                && let Some(round) = kept.rounds.last_mut()
            {
                round.checked.push(checked.clone());
            }
        });
    }
}

/// The fixture's text, with the events that this version produces. An error says why there is no fixture.
pub(super) fn fixture(row: &Row, kept: &Kept, library: &Library) -> Result<String, String> {
    if kept.cut {
        return Err("there was no room to keep all of this turn, so it cannot be replayed".into());
    }
    let rounds = kept.rounds.iter().map(|round| {
        let value = serde_json::from_str(&round.request).map_err(|error| error.to_string())?;
        let request = ChatRequest::from_value(value).map_err(|error| error.message)?;
        Ok(fixture::Round { request, wire: round.wire, reads: round.reads.clone() })
    });
    let rounds: Vec<fixture::Round> = rounds.collect::<Result<_, String>>()?;
    if rounds.is_empty() {
        return Err("no answer of a backend came in this turn".into());
    }
    let backend = row.account.facts().backend().to_owned();
    let title = format!("{} at {backend}, saved from the page of toolglot {}", row.model, env!("CARGO_PKG_VERSION"));
    let plain = Fixture { title, rounds, ..Fixture::default() };
    // The same as everywhere that people look: without credentials.
    let text = plain.write();
    let text = redact::without(&text, kept.secrets.iter().map(String::as_str));
    let mut fixture = Fixture::parse(&redact::redacted(&text)).map_err(|error| error.message)?;
    let events = recorded::events(&fixture, library, |_, _, _, _| Ok(()))?;
    fixture.events = Some(events);
    let text = fixture.write();
    if redact::known(&text) != text {
        // A masked event would not be what the pieces make.
        return Err("a secret is in it, in pieces, so that it cannot be masked and replayed".into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{super::turns::Turns, *};
    use crate::server::account::Account;

    const PIECES: u64 = 700;

    /// A turn that begins now.
    fn begun(turns: &Arc<Turns>, keeps: bool) -> Entry {
        let body = Bytes::from_static(b"{}");
        turns.begin(&Account::default(), "m", &body, keeps)
    }

    #[test]
    fn a_piece_costs_nothing_where_nothing_is_kept_and_little_where_it_is() {
        let turns = Arc::new(Turns::default());
        let (read, sent) = ([b'r'; 200], [b's'; 180]);
        let closed = begun(&turns, false);
        // No tap looks at this turn.
        assert!(closed.kept.is_none());

        let _page = turns.changes.subscribe();
        let entry = begun(&turns, true);
        let kept = Arc::clone(entry.kept.as_ref().unwrap());
        let now = Instant::now();
        let mut watch = Watch { entry: entry.clone(), kept, last: now, told: now };
        watch.round(&ChatRequest::default(), &Tools::default(), Dialect::OpenAi);
        let counted = allocation_counter::measure(|| {
            for _ in 0..PIECES {
                watch.upstream(&read);
                watch.event(&Event::Text(" word"));
                entry.kept.as_ref().unwrap().hold().client(&sent);
            }
        });
        // What is kept grows by doubling, and the page hears four times a second of the turn.
        assert!(counted.count_total <= 100, "{} allocations of {PIECES} pieces", counted.count_total);
    }
}
