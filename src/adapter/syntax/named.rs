//! The name, then JSON: `get_weather[ARGS]{...}`, `functions.f:0<|tool_call_argument_begin|>{...}`, `f\n{...}`.

use super::{Context, Parsed, Start, Step, blank, starts_with_any};
use crate::{adapter::Named, json::extent::Extent};

/// A longer name is none.
const NAME_BYTES: usize = 256;

/// Reads one call.
#[derive(Debug, Default)]
pub(crate) struct NamedReader {
    head: Option<Head>,
    extent: Extent,
    seen: usize,
    end: Option<usize>,
}

#[derive(Debug, Clone)]
struct Head {
    name: String,
    id: Option<String>,
    /// Where the arguments begin.
    body: usize,
}

/// What a step of the head says.
enum Seen<T> {
    Yes(T),
    Maybe,
    No,
}

// === impl NamedReader ===

impl NamedReader {
    pub(crate) fn read(&mut self, text: &str, named: &Named, context: Context<'_>) -> Step {
        let head = match &self.head {
            Some(head) => head.clone(),
            None => match head(text, named, context) {
                Seen::Maybe => return Step::More,
                Seen::No => return Step::Reject,
                Seen::Yes(head) => {
                    self.seen = head.body;
                    self.head = Some(head.clone());
                    head
                }
            },
        };
        let parsed =
            |arguments: &str| Parsed { name: head.name.clone(), id: head.id.clone(), arguments: arguments.trim().to_owned() };
        if self.end.is_none() {
            let body = &text[head.body..];
            match body.trim_start().as_bytes().first() {
                Some(b'{' | b'[' | b'"' | b'\'') => {}
                None if !context.end => return Step::More,
                _ if named.bare_name => self.end = Some(head.body),
                None => return Step::Cut { whole: Vec::new(), cut: parsed("") },
                Some(_) => match starts_with_any(body.trim_start(), context.close, context.end) {
                    Start::Yes(_) => self.end = Some(head.body),
                    Start::Maybe => return Step::More,
                    Start::No => return Step::Reject,
                },
            }
        }
        if self.end.is_none() {
            match self.extent.feed(&text.as_bytes()[self.seen..]) {
                Some(length) => self.end = Some(self.seen + length),
                None => {
                    self.seen = text.len();
                    return match context.end {
                        true => Step::Cut { whole: Vec::new(), cut: parsed(&text[head.body..]) },
                        false => Step::More,
                    };
                }
            }
        }
        let end = self.end.unwrap_or(text.len());
        let done = |at: usize| Step::Done { calls: vec![parsed(&text[head.body..end])], end: at };
        if context.close.is_empty() {
            return done(end);
        }
        // A fence around the arguments and braces too many are framing when the closing marker follows.
        let rest = &text[end..];
        let junk = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '}' | ']' | ';')).len();
        match starts_with_any(&rest[junk..], context.close, context.end) {
            Start::Yes(length) => done(end + junk + length),
            Start::Maybe => Step::More,
            Start::No if rest[..junk].contains("```") => done(end + junk),
            Start::No => done(end),
        }
    }

    /// The name, if it was seen.
    pub(crate) fn name(&self) -> Option<String> {
        self.head.as_ref().map(|head| head.name.clone())
    }
}

fn head(text: &str, named: &Named, context: Context<'_>) -> Seen<Head> {
    let mut at = blank(text);
    match starts_with_any(&text[at..], &named.open, context.end) {
        Start::Yes(length) => at += length,
        Start::Maybe => return Seen::Maybe,
        Start::No if named.open.iter().any(String::is_empty) || named.open.is_empty() => {}
        Start::No => return Seen::No,
    }
    let Some((length, close)) = name_end(&text[at..], named) else {
        return match context.end || text.len() - at > NAME_BYTES {
            true => Seen::No,
            false => Seen::Maybe,
        };
    };
    let written = text[at..at + length].trim();
    // The end of the text may hold only a part of a longer marker.
    if !context.end && at + length + close == text.len() && close > 0 {
        let tail = &text[at + length..];
        if named.close.iter().any(|marker| marker.len() > tail.len() && marker.starts_with(tail)) {
            return Seen::Maybe;
        }
    }
    let Some((name, id)) = name(written, named) else { return Seen::No };
    at += length + close;
    let id = match &named.id {
        Some([open, close]) if text[at..].starts_with(open.as_str()) => {
            let from = at + open.len();
            let tail = &text[from..];
            let stop = match close.is_empty() {
                true => tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-'),
                false => tail.find(close.as_str()),
            };
            let Some(stop) = stop else { return if context.end { Seen::No } else { Seen::Maybe } };
            at = from + stop + close.len();
            Some(tail[..stop].trim().to_owned())
        }
        Some([open, _]) if !context.end && open.starts_with(&text[at..]) => return Seen::Maybe,
        _ => id,
    };
    loop {
        let gap = blank(&text[at..]);
        match starts_with_any(&text[at + gap..], &named.skip, context.end) {
            Start::Yes(length) => at += gap + length,
            Start::Maybe if text.len() > at + gap => return Seen::Maybe,
            _ => return Seen::Yes(Head { name, id, body: at }),
        }
    }
}

/// Where the name ends and how long the marker is that ends it.
fn name_end(text: &str, named: &Named) -> Option<(usize, usize)> {
    let marker = named
        .close
        .iter()
        .filter(|marker| !marker.is_empty())
        .filter_map(|marker| text.find(marker.as_str()).map(|at| (at, marker.len())));
    let brace = named.close.iter().any(String::is_empty).then(|| text.find('{').map(|at| (at, 0))).flatten();
    marker.chain(brace).min_by_key(|&(at, length)| (at, usize::MAX - length)).filter(|&(at, _)| at <= NAME_BYTES)
}

/// Name and id out of what stands in the place of the name; `None` if it cannot be a name.
fn name(written: &str, named: &Named) -> Option<(String, Option<String>)> {
    let mut name = written;
    for prefix in &named.prefix {
        name = name.strip_prefix(prefix.as_str()).unwrap_or(name);
    }
    let mut id = None;
    if named.name_is_id {
        id = Some(written.to_owned());
        if let Some((before, number)) = name.rsplit_once(':')
            && number.trim().chars().all(|c| c.is_ascii_digit())
        {
            name = before;
        }
    }
    let name = name.trim();
    let valid = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.:/".contains(c));
    valid.then(|| (name.to_owned(), id))
}
