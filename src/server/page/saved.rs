//! Writes a turn as a fixture, the file that `toolglot check` replays and that a bug report should contain.

use super::{kept::Kept, turns::Row};
use crate::{
    adapter::Library,
    fixture::{Expected, Fixture, Round},
    openai::ChatRequest,
    redact,
    turn::recorded,
};

/// The fixture's text, with the events that this version produces. An error says why there is no fixture.
pub(super) fn fixture(row: &Row, kept: &Kept, library: &Library) -> Result<String, String> {
    if kept.cut {
        return Err("there was no room to keep all of this turn, so it cannot be replayed".into());
    }
    let rounds = kept.rounds.iter().map(|round| {
        let value = serde_json::from_str(&round.request).map_err(|error| error.to_string())?;
        let request = ChatRequest::from_value(value).map_err(|error| error.message)?;
        Ok(Round { request, wire: round.wire, reads: round.reads.clone() })
    });
    let rounds: Vec<Round> = rounds.collect::<Result<_, String>>()?;
    if rounds.is_empty() {
        return Err("no answer of a backend came in this turn".into());
    }
    let title = format!("{} at {}, saved from the page of toolglot {}", row.model, row.backend, env!("CARGO_PKG_VERSION"));
    let plain = Fixture { title, rounds, ..Fixture::default() };
    // The same as everywhere that people look: without credentials.
    let text = redact::without(&plain.write(), kept.secrets.iter().map(String::as_str));
    let mut fixture = Fixture::parse(&redact::redacted(&text)).map_err(|error| error.message)?;
    let events = recorded::events(&fixture, library, |_, _, _, _| Ok(()))?;
    fixture.events = Some(Expected { known_broken: None, text: events });
    Ok(fixture.write())
}

/// `qwen3-8b-17.txt`
pub(super) fn file_name(row: &Row) -> String {
    let model: String = row.model.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    format!("{model}-{}.txt", row.number)
}
