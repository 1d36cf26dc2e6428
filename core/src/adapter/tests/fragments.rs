//! No text costs more than its length: fragments of every family's markers, repeated as a model in a loop repeats them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    adapter::{Adapter, Scanner, Syntax, scanner::Options},
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    seen::{Seen, library, schemas},
};

/// What models in loops have repeated, by the adapter.
const LOOPS: [(&str, &str); 6] = [
    ("hermes", "<function=get_weather><parameter=city>"),
    ("qwen3-coder", "I check.\n\n<parameter=run>\n<parameter=command>\ndf "),
    ("generic", "<get_weather><city>"),
    ("generic", "&lt;tool_call&gt;&lt;function=get_weather&gt;&lt;parameter=city&gt;"),
    ("qwen3-coder", "</parameter></function>"),
    ("hermes", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \""),
];
/// Words between the markers.
const WORDS: [&str; 8] = ["get_weather", "city", "Oslo", "\n", " ", "{\"city\": \"", "}", "x = 1"];
/// How much longer the long text may take than the short one, which is a quarter of it.
const FACTOR: u32 = 5;
/// Shorter times are noise.
const FLOOR: Duration = Duration::from_millis(400);

/// How long it takes to read `fragment`, repeated up to so many bytes.
fn time(adapter: &Arc<Adapter>, tools: &Arc<Tools>, fragment: &str, bytes: usize) -> Duration {
    let text = fragment.repeat(bytes / fragment.len() + 1);
    let begun = Instant::now();
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::clone(tools), schemas(), Options::default());
    let mut seen = Seen::default();
    for piece in text.as_bytes().chunks(512) {
        scanner.push(Channel::Content, &String::from_utf8_lossy(piece), &mut seen);
    }
    scanner.finish(FinishReason::Stop, &mut seen);
    begun.elapsed()
}

/// The markers of a family's forms.
fn markers(adapter: &Adapter) -> Vec<&str> {
    let tags = adapter.calls.iter().filter_map(|call| match &call.syntax {
        Syntax::Tagged(tagged) | Syntax::Element(tagged) => Some([&tagged.name, &tagged.argument, &tagged.value]),
        _ => None,
    });
    let tags = tags.flatten().flatten().flatten();
    let calls = adapter.calls.iter();
    let calls = calls.flat_map(|call| [&call.open, &call.stripped, &call.section, &call.close, &call.section_close]).flatten();
    calls.chain(tags).map(String::as_str).filter(|marker| !marker.is_empty()).collect()
}

#[test]
fn the_time_for_repeated_fragments_grows_with_their_length() {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let tools = Arc::new(Tools::new([Tool::new("get_weather", "", schema)], ToolChoice::Auto));
    let check = |adapter: &Arc<Adapter>, fragment: &str| {
        let long = time(adapter, &tools, fragment, 60_000);
        if long > FLOOR {
            let short = time(adapter, &tools, fragment, 15_000);
            assert!(long <= short * FACTOR, "{fragment:?}: {short:?} for 15 kB, {long:?} for 60 kB");
        }
    };
    for (adapter, fragment) in LOOPS {
        check(library().get(adapter).unwrap(), fragment);
    }
    let mut seed = 7_usize;
    let mut pick = |length: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % length
    };
    for adapter in library().iter() {
        let markers = markers(adapter);
        if !markers.is_empty() {
            let piece = |at: usize| if at % 2 == 0 { markers[at / 2 % markers.len()] } else { WORDS[at / 2 % WORDS.len()] };
            let fragment: String = (0..2 + pick(4)).map(|_| piece(pick(10_000))).collect();
            check(adapter, &fragment);
        }
    }
}
