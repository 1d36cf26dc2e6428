//! No text costs more than its length: what the adapters look for, repeated as a model in a loop repeats it. Mixtures are
//! read at some kB, and what takes long there at four times as many, too; in whichever pieces they come, the answer is the
//! same. Two fixed mixtures of each adapter are read with every `cargo test`;
//! `PROPTEST_CASES=50 cargo test -p toolglot-core --lib fragments` reads 50 random ones.

use std::{
    fs,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

use crate::{
    adapter::{Adapter, GENERIC, Scanner, Syntax, scanner::Options},
    effort,
    event::{Channel, FinishReason},
    pieces::{PIECES, tools},
    seen::{Seen, library, schemas},
};

/// What models in loops have repeated, and what once took too long, by the adapter.
const LOOPS: [(&str, &str); 8] = [
    ("hermes", "<function=get_weather><parameter=city>"),
    ("generic", "<get_weather><city>"),
    ("qwen3-coder", "</parameter></function>"),
    ("generic", "I check.\n\n<parameter=run>\n<parameter=command>\ndf "),
    // A line with a name: all text after it was searched for markers.
    ("generic", "\nget_weather(city=\""),
    // A header in a string: it was tried again for ever.
    ("gpt-oss", "analysis to=functions.get_weather(city=\""),
    // A value that only the end of the answer ends: each was searched to that end.
    ("hermes", "{'name': 'get_weather', 'arguments': {'city': True}}</scratch_pad><tool_call>"),
    ("hunyuan3", "<tool_call>{'name': 'get_weather', 'arguments': {'city': True}}"),
];
/// How much longer a text may take than one that is a quarter of it.
const FACTOR: u32 = 5;
/// How often a fragment is measured before it counts as too slow.
const TRIES: usize = 3;

/// How long a text is, in bytes. What takes long is read four times as long, too.
fn short() -> usize {
    effort::of(5_000, 15_000)
}

/// Shorter times are noise.
fn floor() -> Duration {
    effort::of(Duration::from_millis(130), Duration::from_millis(400))
}

/// What an adapter looks for: the words of its own forms, without those that differ in their bars and blanks alone.
fn words(adapter: &Adapter) -> Vec<String> {
    let own = if adapter.name == GENERIC { adapter.calls.len() } else { adapter.own_calls };
    let mut words: Vec<String> = adapter.framing.markers().cloned().collect();
    for call in &adapter.calls[..own] {
        let markers = [&call.section, &call.section_close, &call.open, &call.stripped, &call.close];
        words.extend(markers.into_iter().flatten().cloned());
        words.extend(call.fence.iter().map(|language| format!("```{language}\n")));
        match &call.syntax {
            Syntax::Named(named) => {
                words.extend([&named.open, &named.close, &named.prefix, &named.skip].into_iter().flatten().cloned());
                words.extend(named.id.iter().flatten().cloned());
            }
            Syntax::Tagged(tags) | Syntax::Element(tags) => {
                words.extend(tags.name.iter().chain(&tags.argument).chain(&tags.value).flatten().chain(&tags.skip).cloned());
                words.extend(tags.type_tag.iter().flatten().chain(&tags.nested).cloned());
            }
            Syntax::Lax(lax) => words.extend(lax.open.iter().chain(&lax.strings).cloned()),
            Syntax::Json(_) | Syntax::Python | Syntax::Recipient(_) => {}
        }
    }
    if let Some(recipient) = &adapter.framing.recipient {
        words.extend([&recipient.start, &recipient.end, &recipient.to, &recipient.prefix].into_iter().flatten().cloned());
        words.extend([&recipient.reasoning, &recipient.content].into_iter().flatten().cloned());
        words.push(recipient.message.clone());
        words.extend(recipient.channel.clone());
    }
    let plain =
        |word: &String| word.to_lowercase().replace(['▁', '_', ' ', '\n', '\t'], "").replace("||", "|").replace(['｜', '‖'], "|");
    words.retain(|word| !word.is_empty());
    words.sort_by_cached_key(plain);
    words.dedup_by_key(|word| plain(word));
    words
}

/// The adapter, what is written once, and what is repeated.
type Loop<'a> = (&'a Arc<Adapter>, String, String);

/// A mixture: what is written once, and what is repeated.
fn mixtures(adapter: &Adapter) -> impl Strategy<Value = [String; 2]> {
    // Two of three words are the family's own.
    let own = || prop::sample::select(words(adapter));
    let piece = || prop_oneof![2 => own(), 1 => prop::sample::select(PIECES).prop_map(str::to_owned)];
    (prop::collection::vec(piece(), 0..3), prop::collection::vec(piece(), 1..4))
        .prop_map(|(once, again)| [once.concat(), again.concat()])
}

/// The processor time of this thread, where the system tells; other processes do not count in it.
fn computed() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let of_thread = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = of_thread.and_then(|stat| stat.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGUN.elapsed(), Duration::from_nanos)
}

/// Reads so many bytes in pieces of this size.
fn read((adapter, once, again): &Loop<'_>, bytes: usize, size: usize) -> (Seen, Duration) {
    let text = once.clone() + &again.repeat(bytes / again.len() + 1);
    let begun = computed();
    let mut scanner = Scanner::new(Arc::clone(adapter), tools(), schemas(), Options::default());
    let mut seen = Seen::default();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size));
        scanner.push(Channel::Content, piece, &mut seen);
        rest = after;
    }
    scanner.finish(FinishReason::Stop, &mut seen);
    (seen, computed() - begun)
}

/// That it is read the same in two ways. Returns how long it took.
fn is_read_the_same(each: &Loop<'_>, bytes: usize) -> Result<Duration, TestCaseError> {
    let (one, computed) = read(each, bytes, 512);
    let (other, _) = read(each, bytes, 4093);
    prop_assert_eq!(one, other, "{}: {:?}, {:?} in pieces of 512 and 4093 bytes", each.0.name, each.1, each.2);
    Ok(computed)
}

fn check(each: &Loop<'_>) -> Result<(), TestCaseError> {
    let computed = is_read_the_same(each, short())?;
    let (_, shorter) = read(each, short() / 4, 512);
    if computed * FACTOR <= floor() || (computed <= floor() && computed <= shorter * FACTOR) {
        return Ok(());
    }
    let times = || (read(each, short(), 512).1, read(each, 4 * short(), 512).1);
    let slow = |&(short, long): &(Duration, Duration)| long > floor() && long > short * FACTOR;
    // Caches, a busy processor: not each time.
    let measured: Vec<_> = (0..TRIES).map(|_| times()).take_while(slow).collect();
    prop_assert!(
        measured.len() < TRIES,
        "{}: {:?}, {:?} takes {:?} for a text and one four times as long",
        each.0.name,
        each.1,
        each.2,
        measured
    );
    Ok(())
}

#[test]
fn the_time_for_what_models_repeated_grows_with_its_length() {
    for (adapter, fragment) in LOOPS {
        check(&(library().get(adapter).unwrap(), String::new(), fragment.to_owned())).unwrap();
    }
}

#[test]
fn each_word_of_each_adapter_may_be_repeated() {
    for adapter in library().iter() {
        for word in words(adapter) {
            is_read_the_same(&(adapter, String::new(), word), effort::of(600, 2_000)).unwrap();
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how many cases are drawn is the developer's choice")]
fn the_time_for_repeated_words_of_any_adapter_grows_with_their_length() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let mut failed = Vec::new();
    for adapter in library().iter() {
        let config = ProptestConfig {
            cases: cases.unwrap_or(2),
            failure_persistence: None,
            max_shrink_iters: 0,
            ..ProptestConfig::default()
        };
        let mut runner = match cases {
            Some(_) => TestRunner::new(config),
            None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        };
        failed.extend(runner.run(&mixtures(adapter), |[once, again]| check(&(adapter, once, again))).err());
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
