//! Mutated answers: the recorded texts of `fixtures/`, and texts that once made the reader panic, with pieces taken out, doubled,
//! exchanged and put in. What holds for each is in `tests/support/reading.rs`. A second of it runs with every `cargo test`;
//! `PROPTEST_CASES=200000 PROPTEST_RNG_SEED=7 cargo test --test it fuzz` runs for about half an hour (CONTRIBUTING.md).

use std::{fs, path::Path, sync::OnceLock};

use proptest::prelude::*;
use toolglot::{
    adapter::scanner::{MayAsk, Options},
    event::FinishReason,
};

use crate::{
    effort,
    fixtures::collect,
    pieces::PIECES,
    reading,
    seen::{library, schemas},
};

/// Texts that made the reader panic, or never come to an end, before 2026-12, by adapter.
const TORN: &[(&str, &str)] = &[
    (
        "gpt-oss",
        concat!(
            "analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"",
            "analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"",
            "analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"",
            "analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"",
            "analysis to=functions.get_weather(city=\"analysis to=functions.get_weather(city=\"",
        ),
    ),
    (
        "functiongemma",
        "xcall:gettime{which:>,keys:[<escape><escape>]}.<start_function_call>gettime{}<end_function_call>call:<call:gettime{}",
    ),
    (
        "minimax-m3",
        "[<invoke name=get_time</invoke>>]<]minimax[>[<invoke name=gettime>]<]minimax[>[</invoke>]<]minimax[>[<invoke name=get_time</invoke>",
    ),
    (
        "inkling",
        "|{\"name\":\"get_time\"\"args\":}s<|content_invoke_tool_json|>{\"name\":\"getweather\"\"\":\"\"<|end_message|><|content_invoke_tool_json|>|{\"name\":\"get_time\"\"args\":}",
    ),
    (
        "kimi-k2",
        "|functions.getweather<|tool_call_argument_begin|>\"city\":\",\"days\":\"}<|tool_call_end|><<|tool_call_begin|>getweather:<|tool_call_argument_begin|>{\"\":\"\"}<tool_call|functions.getweather<|tool_call_argument_begin|>{\"city\"\"e\",days \"}",
    ),
    (
        "longcat",
        "<{\"name\"\"getweather\"\"\":{\"city\"\"q\"}}_<longcat_tool_call>{\"name\"\"get_time\"</longcat_tool_call><longcat_tool_call>>{\"name\"\"getweather\"\"city\":\"\"}",
    ),
];

/// Parts of the names of tools that are none (`fix::name`).
const SPOKEN: [&str; 9] = ["no_", "none", "null", "answer", "response", "reply", "respond", "message", "error"];

/// Longest text that is mutated, in bytes.
const MOST: usize = 700;

/// A change of a text: its kind, where (as a fraction), how much, and with what.
type Change = (u8, u16, u8, u16);

/// The texts, each with the adapter of its folder.
fn corpus() -> &'static [(String, String)] {
    static CORPUS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let mut paths = Vec::new();
        collect(&root, &mut paths);
        let mut found: Vec<_> = TORN.iter().map(|(adapter, text)| ((*adapter).to_owned(), (*text).to_owned())).collect();
        for path in paths {
            let family = path.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
            let file = fs::read_to_string(&path).unwrap();
            for stream in file.split("=== stream text\n").skip(1) {
                let text = stream.split("\n=== ").next().unwrap();
                found.push((family.clone(), text[..text.floor_char_boundary(MOST)].to_owned()));
            }
        }
        assert!(found.len() > 100, "{} texts", found.len());
        found
    })
}

fn changed(mut text: String, changes: &[Change], markers: &[String]) -> String {
    for &(kind, at, length, pick) in changes {
        let pick = usize::from(pick);
        let start = text.floor_char_boundary(usize::from(at) * text.len() / usize::from(u16::MAX));
        let end = text.floor_char_boundary((start + usize::from(length) % 40).min(text.len()));
        let (_, other) = &corpus()[pick % corpus().len()];
        match kind % 7 {
            0 => text.replace_range(start..end, ""),
            1 => {
                let piece = text[start..end].to_owned();
                text.insert_str(end, &piece);
            }
            2 => text.insert_str(start, PIECES[pick % PIECES.len()]),
            3 => text.insert_str(start, markers.get(pick % markers.len().max(1)).map_or("", String::as_str)),
            4 => text.replace_range(start..end, PIECES[pick % PIECES.len()]),
            5 => text.truncate(start),
            _ => text.replace_range(start.., &other[other.floor_char_boundary(pick % other.len().max(1))..]),
        }
    }
    text.truncate(text.floor_char_boundary(MOST));
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: effort::cases(500, 1500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_answers_are_read_the_same_however_they_are_cut(
        which in any::<u16>(),
        changes in prop::collection::vec(any::<Change>(), 0..6),
        cuts in prop::collection::vec(any::<u16>(), 0..5),
        flags in any::<u16>(),
    ) {
        let (family, text) = &corpus()[usize::from(which) % corpus().len()];
        // Every fourth text is read by another family's adapter.
        let own = library().get(family).filter(|_| flags & 3 != 0);
        let all: Vec<_> = library().iter().collect();
        let adapter = own.unwrap_or(all[usize::from(which / 7) % all.len()]);
        let text = changed(text.clone(), &changes, &adapter.markers());
        let options = Options {
            // A call of nothing leaves nothing, and a call of `answer` its text: not every byte comes out again.
            framing: flags & 4 == 0 || SPOKEN.iter().any(|name| text.to_lowercase().contains(name)),
            reasoning_open: flags & 24 == 24,
            held_bytes: if flags & 32 == 0 { 16 * 1024 } else { 48 },
            argument_bytes: if flags & 64 == 0 { 1024 * 1024 } else { 96 },
            elements: flags & 0x300 == 0x300,
            may_ask: if flags & 0x400 == 0 { MayAsk::Never } else { MayAsk::Now },
            ..Options::default()
        };
        let reason = if flags & 128 == 0 { FinishReason::Stop } else { FinishReason::Length };
        let places: Vec<usize> = match cuts.len() {
            0 => (0..text.len()).collect(),
            _ => cuts.iter().map(|&cut| usize::from(cut) * text.len() / usize::from(u16::MAX)).collect(),
        };
        let checked = reading::check(adapter, &schemas(), &options, reason, &text, &places);
        prop_assert_eq!(checked, Ok(()), "adapter {}, {:?}, {:?}, text {:?} cut at {:?}", adapter.name, options, reason, text, places);
    }
}
