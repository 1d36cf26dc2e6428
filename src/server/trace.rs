//! The layer around all routes that makes each request visible: its id in the response and in every log line, one line at the
//! end of each turn, and the metrics.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use axum::{body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use hyper::body::{Frame, SizeHint};
use tracing::{Instrument, Span};

use super::{
    account::{Account, milliseconds},
    apart::Moving,
    metrics::Metrics,
    otel,
    page::kept::Shared,
    reply,
    state::App,
    woken::Woken,
};
use crate::lock::Hold;

/// The header with the request's id, in both directions.
const ID: HeaderName = HeaderName::from_static("x-request-id");
/// A longer id of a client is replaced. In bytes.
const ID_BYTES: usize = 128;

/// The body of a response. Closes the account of the request when it ends, or when it is dropped.
struct Traced {
    // Dropped first: the turn in it completes the account.
    body: Moving,
    woken: Woken,
    /// What came right after the last piece.
    ahead: Option<Option<Piece>>,
    ending: Ending,
    /// What the page keeps of a turn.
    kept: Option<Shared>,
}

type Piece = Result<Frame<Bytes>, axum::Error>;

/// The facts about a request beside its account. Dropping this ends the request.
struct Ending {
    account: Account,
    metrics: Arc<Metrics>,
    /// Its span for the collector.
    open: Option<otel::Open>,
    span: Span,
    begun: Instant,
    first_byte: Option<Instant>,
}

/// Runs the request under its id.
pub(super) async fn trace<R>(app: App, mut request: Request, next: impl FnOnce(Request) -> R) -> Response
where
    R: Future<Output = Response>,
{
    let id = id(request.headers());
    let open = app.process.spans.as_ref().and_then(|spans| spans.open(&mut request));
    let traced = open.as_ref().map(otel::Open::trace);
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default(), trace = traced);
    let account = Account::of(id.to_str().unwrap_or_default(), request.uri().path());
    request.extensions_mut().insert(account.clone());
    let metrics = Arc::clone(&app.process.metrics);
    metrics.begin();
    let ending = Ending { account, metrics, open, span: span.clone(), begun: Instant::now(), first_byte: None };
    // The state of a request must not be kept alive by its answer.
    drop(app);
    let mut response = next(request).instrument(span).await;
    let (kept, pace) = {
        let mut facts = ending.account.facts();
        facts.status = Some(response.status().as_u16());
        facts.told = response.extensions().get::<reply::Told>().map(|told| told.0.clone());
        (facts.entry.as_ref().and_then(|entry| entry.kept.clone()), facts.pace.clone())
    };
    // The name of the header in Anthropic's API.
    if let Ok(id) = HeaderValue::try_from([b"req_", id.as_bytes()].concat()) {
        response.headers_mut().insert(HeaderName::from_static("request-id"), id);
    }
    response.headers_mut().insert(ID, id);
    reply::add_headers(&mut response, &pace);
    // It moves here, not in `apart`: each body in a box costs every piece of an answer.
    Moving::of(response).map(|body| Body::new(Traced { body, woken: Woken::default(), ahead: None, ending, kept }))
}

/// The id that the client gave, else a new one.
fn id(headers: &HeaderMap) -> HeaderValue {
    let plain = |id: &&HeaderValue| !id.is_empty() && id.len() <= ID_BYTES && id.as_bytes().iter().all(u8::is_ascii_graphic);
    let given = headers.get(ID).filter(plain).cloned();
    let new = || HeaderValue::from_str(&uuid::Uuid::new_v4().simple().to_string());
    given.or_else(|| new().ok()).unwrap_or(HeaderValue::from_static("unknown"))
}

impl hyper::body::Body for Traced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let Traced { body, woken, ahead, ending, kept } = self.get_mut();
        let polled = match ahead.take() {
            Some(next) => Poll::Ready(next),
            None => woken.poll(cx, |cx| {
                let _entered = ending.span.enter();
                let polled = Pin::new(&mut *body).poll_frame(cx);
                // Each piece is asked for until there is none; to ask for the second within the span saves entering it again.
                let is_piece = matches!(polled, Poll::Ready(Some(Ok(_))));
                let next = if is_piece { Pin::new(body).poll_frame(cx) } else { Poll::Pending };
                let waits = next.is_pending() && (is_piece || polled.is_pending());
                if let Poll::Ready(next) = next {
                    *ahead = Some(next);
                }
                (polled, waits)
            }),
        };
        if polled.is_ready() {
            ending.first_byte.get_or_insert_with(Instant::now);
        }
        if let (Some(kept), Poll::Ready(Some(Ok(frame)))) = (kept, &polled)
            && let Some(bytes) = frame.data_ref()
        {
            kept.hold().client(bytes);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.ahead.is_none() { self.body.size_hint() } else { SizeHint::default() }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let entry = {
            let mut facts = self.account.facts();
            let first = facts.turn.as_ref().and_then(|turn| turn.first_sent).or(self.first_byte);
            facts.first = first.map(|at| at.saturating_duration_since(self.begun));
            facts.taken = Some(self.begun.elapsed());
            facts.entry.take()
        };
        // Where the rows are locked, no account is.
        if let Some(entry) = entry {
            entry.end();
        }
        let facts = self.account.facts();
        self.metrics.end(&facts);
        if let Some(open) = self.open.take() {
            open.end(&facts);
        }
        let turn = facts.turn.as_ref();
        let Some(target) = &facts.target else { return };
        let finish = turn.map(|turn| match (&turn.failed, turn.finish) {
            (Some(failed), _) => failed.code.as_str(),
            (None, Some(reason)) => reason.as_str(),
            (None, None) => "the client left",
        });
        let usage = turn.map(|turn| turn.usage);
        let prefix = turn.and_then(|turn| turn.prefix);
        tracing::info!(
            parent: &self.span,
            client = facts.client.as_deref(),
            tenant = Some(&facts.tenant).filter(|tenant| !tenant.is_empty()),
            model = target.called,
            backend = target.backend.name,
            mode = facts.mode,
            status = facts.status,
            first_ms = facts.first.map(milliseconds),
            ms = facts.taken.map(milliseconds),
            prompt_tokens = usage.map(|usage| usage.prompt_tokens),
            completion_tokens = usage.map(|usage| usage.completion_tokens),
            shared_bytes = prefix.map(|prefix| prefix.shared),
            reread_bytes = prefix.map(|prefix| prefix.before.saturating_sub(prefix.shared)),
            changed_at = prefix.and_then(|prefix| prefix.broke),
            rounds = turn.map(|turn| turn.rounds),
            calls = turn.map(|turn| turn.delivered),
            fixes = turn.map(|turn| turn.fixes),
            refusals = turn.map(|turn| turn.refusals.len()),
            finish,
            "turn"
        );
    }
}
