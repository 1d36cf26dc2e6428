//! Runs a chat turn: turns a [`Plan`] into the client's bytes. A turn has one upstream answer, plus one for each time that
//! toolglot asks the model again or runs tools. This is the async shell around the synchronous stages. It has no task and no
//! channel, so dropping the turn drops the upstream request. Only calls with effects that toolglot runs itself outlive it
//! (`react::flight`). A client that waits for bytes gets a sign of life after `FIRST_SIGN`, then every `NEXT_SIGN`;
//! while a call is written, a report every `rounds::PROGRESS`.
//!
//! | module | job |
//! |---|---|
//! | `rounds` | asks the backend, again if it is not ready; reads the answer; asks the model again |
//! | `rounds::reading` | reads one answer: bytes, frames, deltas |
//! | `answer`, `gate` | decide what the client sees of an answer |
//! | `outlet`, `sent` | the path to the client, and what has gone there in this turn |
//! | `reask` | words the messages that ask the model again |
//! | `nudge`, `quoted` | what the user orders and the model announces, in Void; calls in results |
//! | `react` | runs tools in mode `react` |
//! | `spool` | calls of mode `shell`, for `toolglot call` |
//! | `fit` | makes the context large enough; estimates a prompt's tokens |
//! | `extras` | data that a backend wants back with a call (thought signatures) |
//! | `prefix` | how much of a request the backend had read before |
//! | `tap` | lets others observe a turn |

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use serde_json::Value;
use tokio::{pin, sync::Semaphore, task::yield_now, time::Instant};

use crate::{
    client::front::{Collected, Front},
    error::Error,
    event::{Event, Note, Sink},
    fix::{Schemas, Tally},
    mcp::pool::Pool,
    plan::Plan,
    store::{Common, Key, Store},
    upstream::{Client, Silence},
};

pub mod answer;
mod extras;
pub mod fit;
mod gate;
mod nudge;
mod outlet;
pub mod prefix;
mod quoted;
mod react;
mod reask;
mod rounds;
mod sent;
mod spool;
pub mod tap;

pub use react::WITHOUT_CLIENT;
use rounds::Rounds;
use tap::Taps;

/// The state that all turns share.
#[derive(Clone)]
pub struct Shared {
    /// The connections to backends.
    pub client: Client,
    /// Learned facts, and what turns keep for later ones.
    pub store: Arc<dyn Common>,
    /// Calls that wait for `toolglot call`, which may run in another process.
    pub spool: Arc<dyn Store>,
    /// Compiled schemas.
    pub schemas: Arc<Schemas>,
    /// Counts of repairs by rule.
    pub tally: Arc<Tally>,
    /// How often toolglot asked a model again.
    pub asked_again: Arc<AtomicU64>,
    /// The MCP servers and the built-in tools.
    pub pool: Arc<Pool>,
    /// How many turns may still finish their calls without a client (at most [`WITHOUT_CLIENT`]).
    pub without_client: Arc<Semaphore>,
}

/// What is kept under these keys, each with what belongs to the key. The store is asked once.
async fn kept_under<T>(shared: &Shared, wanted: Vec<(T, Key)>) -> impl Iterator<Item = (T, Bytes)> {
    let (of, keys): (Vec<T>, Vec<Key>) = wanted.into_iter().unzip();
    let found = shared.store.get_all(&keys).await;
    of.into_iter().zip(found).filter_map(|(of, found)| Some((of, found?)))
}

/// After this time without a byte, the client of a stream gets the first sign of life. An error of the backend before that keeps
/// its HTTP status.
const FIRST_SIGN: Duration = Duration::from_secs(1);
/// Later signs of life follow after each silence of this length.
const NEXT_SIGN: Duration = Duration::from_secs(5);

/// Initial space for a piece of a stream, in bytes. Each has a buffer of its own, which is free again once the piece was sent: the
/// next piece, of whatever stream, then finds it in the processor's cache.
const PIECE_BYTES: usize = 512;
/// The largest answer for a client that does not stream, in bytes.
const COLLECTED_BYTES: usize = 64 * 1024 * 1024;

/// The events of a turn as the bytes of a stream.
struct Written {
    front: Front,
    bytes: BytesMut,
    begun: Instant,
    /// Text that is written together with the next text of the same piece.
    held: String,
    /// Whether that is reasoning.
    is_reasoning: bool,
}

/// Runs the turn as a stream of bytes, one item for each read from the backend that produced any.
///
/// # Errors
/// Only the first item can be an error: the client has seen nothing then. Later faults are written into the stream.
pub fn run(plan: Plan, shared: Shared, taps: Taps) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    // Made outside of the stream, which would otherwise hold both the plan and the turn made from it.
    let mut front = Front::new(plan.reply.head.clone());
    let mut opening = BytesMut::new();
    front.open(&mut opening);
    let signs = front.signs();
    let sign = move |opening: &mut BytesMut, silence: &mut Silence| {
        silence.broken(NEXT_SIGN);
        signs(opening);
        opening.split().freeze()
    };
    let written = Written { front, bytes: BytesMut::new(), begun: Instant::now(), held: String::new(), is_reasoning: false };
    let mut rounds = Rounds::new(plan, shared, taps, written);
    async_stream::stream! {
        let mut opened = false;
        let mut silence = Silence::new(FIRST_SIGN);
        loop {
            let stepped = {
                let step = rounds.step();
                pin!(step);
                loop {
                    tokio::select! {
                        biased;
                        stepped = &mut step => break stepped,
                        () = silence.over() => opened = true,
                    }
                    yield Ok(sign(&mut opening, &mut silence));
                }
            };
            let out = &mut rounds.outlet.out;
            out.flush();
            if stepped.as_ref().is_err_and(|error| error.code.as_deref() == Some(spool::NOT_KEPT)) {
                out.bytes.clear();
            }
            let more = match stepped {
                Ok(more) => more,
                Err(error) if opened || !out.bytes.is_empty() => {
                    tracing::warn!(status = error.status, code = error.code, "{error}");
                    out.front.fault(&error, &mut out.bytes);
                    false
                }
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
            if !out.bytes.is_empty() {
                let is_whole = !opened && !more;
                opened = true;
                silence.broken(NEXT_SIGN);
                let bytes = after(&mut opening, std::mem::take(&mut out.bytes));
                rounds.outlet.tell(|tap| tap.client(&bytes));
                yield Ok(bytes);
                if is_whole {
                    // A short answer leaves before its turn is stored and logged.
                    yield_now().await;
                }
            } else if silence.is_over() {
                // Bytes have arrived, but none may leave yet.
                opened = true;
                yield Ok(sign(&mut opening, &mut silence));
            }
            if !more {
                return;
            }
        }
    }
}

/// Runs the turn to its end. Returns the whole answer as one object of the client's protocol, and the warnings for the user.
///
/// # Errors
/// The error of the backend or of the turn, which [`run`] would write into the stream; 502 if the answer is larger than 64 MiB.
pub async fn collect(plan: Plan, shared: Shared, taps: Taps) -> Result<(Value, Vec<Note>), Error> {
    let begun = Instant::now();
    let collected = Collected::new(plan.reply.head.clone());
    let mut rounds = Rounds::new(plan, shared, taps, collected);
    while rounds.step().await? {
        if rounds.outlet.out.size() > COLLECTED_BYTES {
            return Err(Error::backend(format!(
                "the answer is larger than {} MiB; ask with `\"stream\": true`, or with `max_tokens`",
                COLLECTED_BYTES >> 20
            )));
        }
    }
    rounds.outlet.out.elapsed(begun.elapsed());
    let warnings = rounds.outlet.out.take_warnings();
    Ok((rounds.outlet.out.into_value(), warnings))
}

/// Puts what must come first before the bytes, once.
fn after(opening: &mut BytesMut, bytes: BytesMut) -> Bytes {
    if opening.is_empty() {
        return bytes.freeze();
    }
    opening.extend_from_slice(&bytes);
    opening.split().freeze()
}

impl Written {
    /// Writes the held text.
    fn flush(&mut self) {
        if !self.held.is_empty() {
            let event = if self.is_reasoning { Event::Reasoning(&self.held) } else { Event::Text(&self.held) };
            self.front.event(event, &mut self.bytes);
            self.held.clear();
        }
    }
}

impl Sink for Written {
    /// Joins the text events from one piece of the backend's answer. The scanner may emit text byte by byte if it could have
    /// become a call, and a frame per byte would be a hundred times the size of the text. The text of different pieces is not
    /// joined, because clients count pieces as tokens.
    fn event(&mut self, event: Event<'_>) {
        self.bytes.reserve(PIECE_BYTES);
        let (text, is_reasoning) = match event {
            Event::Text(text) => (text, false),
            Event::Reasoning(text) => (text, true),
            event => {
                self.flush();
                self.front.elapsed(self.begun.elapsed());
                return self.front.event(event, &mut self.bytes);
            }
        };
        if self.is_reasoning != is_reasoning {
            self.flush();
            self.is_reasoning = is_reasoning;
        }
        self.held.push_str(text);
    }

    fn divide(&mut self) {
        self.flush();
    }
}
