//! No text costs more than its length: fragments of tags, repeated as a model in a loop repeats them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    adapter::{Adapter, Scanner, scanner::Options},
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    seen::{Seen, library, schemas},
};

/// What models in loops have repeated, by the adapter.
const LOOPS: [(&str, &str); 5] = [
    ("hermes", "<function=get_weather><parameter=city>"),
    ("generic", "<get_weather><city>"),
    ("generic", "&lt;tool_call&gt;&lt;function=get_weather&gt;&lt;parameter=city&gt;"),
    ("qwen3-coder", "</parameter></function>"),
    ("generic", "I check.\n\n<parameter=run>\n<parameter=command>\ndf "),
];
/// How much longer the long text may take than the short one, which is a quarter of it.
const FACTOR: u32 = 5;
/// Shorter times are noise.
const FLOOR: Duration = Duration::from_millis(400);
/// How often a fragment is measured before it counts as too slow.
const TRIES: usize = 3;

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

#[test]
fn the_time_for_repeated_tags_grows_with_their_length() {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let tools = Arc::new(Tools::new([Tool::new("get_weather", "", schema)], ToolChoice::Auto));
    let check = |adapter: &Arc<Adapter>, fragment: &str| {
        let times = || (time(adapter, &tools, fragment, 15_000), time(adapter, &tools, fragment, 60_000));
        let in_proportion = |(short, long): (Duration, Duration)| long <= FLOOR || long <= short * FACTOR;
        // Other processes delay a run, but not all of them.
        assert!((0..TRIES).any(|_| in_proportion(times())), "{fragment:?}: {:?} for 15 kB and 60 kB", times());
    };
    for (adapter, fragment) in LOOPS {
        check(library().get(adapter).unwrap(), fragment);
    }
}
