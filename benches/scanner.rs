//! What reading an answer costs, in nanoseconds a byte: prose, one long call in the family's own form, and texts made to be
//! unpleasant; by every adapter, whole and in pieces of four bytes, at three lengths. The cost must not grow with the length.
//!
//! `cargo bench --no-default-features --bench scanner [-- ADAPTER... [--text TEXT]]`

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use toolglot::adapter::{Adapter, Library, Scanner, Written, scanner::Options};
use toolglot::event::{Channel, Event, FinishReason, Tool, ToolChoice, Tools};
use toolglot::fix::Schemas;

const SIZES: [usize; 3] = [1_000, 64_000, 8_000_000];
/// A round takes at least this many bytes. The best of so many rounds counts: a busy machine spoils some of them.
const BYTES: usize = 64_000;
const ROUNDS: usize = 15;
const PIECE: usize = 4;
const SCHEMA: &str =
    r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#;

type Text = (&'static str, fn(&Adapter, usize) -> Option<String>);

const TEXTS: [Text; 8] = [
    ("prose", |_, size| Some(repeated(&[PROSE], size))),
    ("prose with code", |_, size| Some(repeated(&[PROSE, CODE], size))),
    ("one long call", call),
    ("beginnings of markers", |adapter, size| Some(repeated(&beginnings(adapter), size))),
    ("markers", |adapter, size| Some(repeated(&markers(adapter), size))),
    ("backticks", |_, size| Some(repeated(&["` ", "``a ", "`\n", "```` {\n", "`{` [x` "], size))),
    ("braces", |_, size| Some(repeated(&["{[", "{\"name\": ", "[{\"a\": [", "{\"name\": \"write_file\", \"x\": ", "}]"], size))),
    ("angles", |_, size| Some(repeated(&["<", "<write_file", "</", "<<a>", "<tool", "<function=write_file"], size))),
];

const PROSE: &str = "The cache keeps what was read last, so a second look costs nothing; see the notes on eviction below.\n\
    When the process ends (or is told to), every entry that changed is written back: that takes a moment on a slow disk.\n\n\
    * first, the index\n* then the pages, oldest first\n* at last the journal's tail, if any is left\n\n\
    Nothing else has to be done by hand. If you want it sooner, lower the interval; higher values only save a little power.\n";
const CODE: &str = "Use `cache.flush()` for that, or `cache.close(timeout=3)`:\n\n```python\nwith cache.open(\"a.db\") as pages:\n    \
    for page in pages[1:]:\n        print({\"page\": page.number, \"dirty\": page.dirty})\n```\n\nThat is all.\n";

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    let library = Library::embedded().map_err(io::Error::other)?;
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut wanted, mut text) = (Vec::new(), None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--text" => text = arguments.next(),
            _ => wanted.push(argument),
        }
    }
    let adapters: Vec<&Arc<Adapter>> =
        library.iter().filter(|adapter| wanted.is_empty() || wanted.contains(&adapter.name)).collect();
    writeln!(out, "ns per byte: median and worst of {} adapters", adapters.len())?;
    for (name, make) in TEXTS.iter().filter(|(name, _)| text.as_ref().is_none_or(|text| name.starts_with(text.as_str()))) {
        writeln!(out, "{name}")?;
        for size in SIZES {
            for piece in [usize::MAX, PIECE] {
                let mut costs: Vec<(f64, &str)> = Vec::new();
                for adapter in &adapters {
                    let Some(text) = make(adapter, size) else { continue };
                    let calls = if *name == "one long call" { 1 } else { 0 };
                    costs.push((cost(adapter, &text, piece, calls)?, &adapter.name));
                }
                costs.sort_by(|one, other| one.0.total_cmp(&other.0));
                let (Some(median), Some(worst)) = (costs.get(costs.len() / 2), costs.last()) else { continue };
                let how = if piece == PIECE { "4 bytes a piece" } else { "whole" };
                writeln!(out, "  {size:>9} bytes  {how:15} {:8.1} {:8.1} {}", median.0, worst.0, worst.1)?;
                out.flush()?;
            }
        }
    }
    Ok(())
}

/// Nanoseconds a byte of reading this text, which holds at least so many calls.
fn cost(adapter: &Arc<Adapter>, text: &str, piece: usize, calls: usize) -> io::Result<f64> {
    let tools = Arc::new(Tools::new([Tool::new("write_file", "", SCHEMA)], ToolChoice::Auto));
    let schemas = Arc::new(Schemas::default());
    let repeats = (BYTES / text.len()).max(1);
    // A round of this length is never undisturbed: the time on the processor counts.
    let long = text.len() > 10 * BYTES && on_processor().is_some();
    let mut best = f64::MAX;
    for _ in 0..if long { 1 } else { ROUNDS } {
        let (before, running) = (Instant::now(), on_processor());
        for _ in 0..repeats {
            let found = read(adapter, &tools, &schemas, black_box(text), piece);
            if found < calls {
                return Err(io::Error::other(format!("{}: the call was not read", adapter.name)));
            }
        }
        let taken = match (running, on_processor()) {
            (Some(before), Some(now)) if long => (now - before) as f64,
            _ => before.elapsed().as_secs_f64() * 1e9,
        };
        best = best.min(taken / (repeats * text.len()) as f64);
    }
    Ok(best)
}

/// Nanoseconds that this process has spent on a processor, where the system tells.
fn on_processor() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Reads the text; how many calls there were.
fn read(adapter: &Arc<Adapter>, tools: &Arc<Tools>, schemas: &Arc<Schemas>, text: &str, piece: usize) -> usize {
    let mut calls = 0;
    let mut sink = |event: Event<'_>| calls += usize::from(matches!(black_box(event), Event::Call(_)));
    let options = Options { argument_bytes: 2 * text.len(), ..Options::default() };
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::clone(tools), Arc::clone(schemas), options);
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = piece.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (head, tail) = rest.split_at(end);
        scanner.push(Channel::Content, head, &mut sink);
        rest = tail;
    }
    scanner.finish(FinishReason::Stop, &mut sink);
    calls
}

/// The pieces in turn, until there are about `size` bytes.
fn repeated(pieces: &[impl AsRef<str>], size: usize) -> String {
    let mut text = String::with_capacity(size + 1_000);
    for piece in pieces.iter().map(AsRef::as_ref).filter(|piece| !piece.is_empty()).cycle() {
        if text.len() >= size {
            break;
        }
        text.push_str(piece);
    }
    text
}

/// All markers of the adapter, each without its last character.
fn beginnings(adapter: &Adapter) -> Vec<String> {
    markers(adapter).into_iter().map(|mut marker| marker.pop().map(|_| marker).unwrap_or_default()).collect()
}

fn markers(adapter: &Adapter) -> Vec<String> {
    adapter.markers()
}

/// A call that writes a long file, in the family's own form.
fn call(adapter: &Adapter, size: usize) -> Option<String> {
    let mut arguments = Map::new();
    arguments.insert("path".into(), Value::from("src/main.rs"));
    let lines =
        ["fn main() {\n", "    let cache = Cache::open(\"a.db\")?;\n", "    if cache.len() < 3 && !cache.is_empty() { ", "}\n"];
    arguments.insert("content".into(), Value::from(repeated(&lines, size)));
    if let Some(data) = &adapter.framing.recipient {
        let channel = data.channel.as_ref().map(|marker| format!("{marker}commentary ")).unwrap_or_default();
        let start = if channel.is_empty() { data.start.first()?.as_str() } else { "" };
        let (to, message) = (data.to.first()?, &data.message);
        let body = match data.forms {
            true => adapter.calls.iter().find_map(|form| form.write(&[written(arguments.clone())])),
            false => Some(Value::Object(arguments.clone()).to_string()),
        };
        let end = data.end.first().map(String::as_str).unwrap_or_default();
        return Some(format!("{channel}{start}{}write_file{message}{}{end}", to.trim_start_matches(start), body?));
    }
    adapter.write(&[written(arguments)])
}

fn written(arguments: Map<String, Value>) -> Written {
    Written { name: "write_file".into(), id: Some("a1B2c3D4e".into()), arguments }
}
