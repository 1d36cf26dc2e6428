//! Properties of reading: any text made of the markers of any adapter, cut anywhere, gives the same events and no panic; where
//! there is no call, every byte comes out again. The scanner and the fixer alone are held to more (`tests/support/reading.rs`,
//! which `fuzz` shares).

use std::sync::Arc;

use proptest::prelude::*;
use toolglot::{
    adapter::{Adapter, scanner},
    event::{Channel, Delta, FinishReason, Tools},
    turn::answer::{Answer, Setup},
};

use crate::{
    effort,
    pieces::{PIECES, tools},
    reading,
    seen::{Seen, library, schemas},
};

fn run<'t>(
    adapter: &Arc<Adapter>,
    options: &scanner::Options,
    pieces: impl IntoIterator<Item = &'t str>,
    reason: FinishReason,
) -> Seen {
    run_with(adapter, options, pieces, reason, tools())
}

/// What is seen of a text in these pieces.
pub(crate) fn run_with<'t>(
    adapter: &Arc<Adapter>,
    options: &scanner::Options,
    pieces: impl IntoIterator<Item = &'t str>,
    reason: FinishReason,
    tools: impl Into<Arc<Tools>>,
) -> Seen {
    let setup = Setup::new(Arc::clone(adapter), tools.into(), schemas());
    let mut answer = Answer::new(Setup { scanner: options.clone(), ..setup });
    let mut seen = Seen::default();
    for piece in pieces {
        answer.delta(Delta::Text(Channel::Content, piece), &mut seen);
    }
    answer.delta(Delta::Finish(reason), &mut seen);
    answer.finish(&mut seen);
    seen.sound()
}

/// The text in pieces, cut at these fractions of its length.
fn cut<'t>(text: &'t str, cuts: &[u16]) -> Vec<&'t str> {
    let mut points: Vec<usize> = cuts.iter().map(|&cut| usize::from(cut) * text.len() / usize::from(u16::MAX)).collect();
    points.extend([0, text.len()]);
    points.retain(|&at| text.is_char_boundary(at));
    points.sort_unstable();
    points.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// A text of common pieces and of the adapter's own markers.
fn texts() -> impl Strategy<Value = (usize, Vec<usize>, Vec<u16>, bool, bool)> {
    (
        any::<u16>(),
        prop::collection::vec(any::<u16>(), 0..24),
        prop::collection::vec(any::<u16>(), 0..6),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(adapter, picks, cuts, framing, length)| {
            (usize::from(adapter), picks.into_iter().map(usize::from).collect(), cuts, framing, length)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: effort::cases(600, 3000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_result_does_not_depend_on_the_cuts((adapter, picks, cuts, framing, length) in texts()) {
        let adapters: Vec<_> = library().iter().collect();
        let adapter = adapters[adapter % adapters.len()];
        let markers = adapter.markers();
        let pieces: Vec<&str> = picks.iter().map(|&pick| {
            // Half of the pieces are the family's own markers.
            let all = markers.len().max(1) + PIECES.len();
            match pick % all {
                at if at < PIECES.len() => PIECES[at],
                at => markers.get(at - PIECES.len()).map_or("", String::as_str),
            }
        }).collect();
        let text = pieces.concat();
        let options = scanner::Options { framing, ..scanner::Options::default() };
        let reason = if length { FinishReason::Length } else { FinishReason::Stop };
        let whole = run(adapter, &options, [text.as_str()], reason);
        let in_pieces = run(adapter, &options, cut(&text, &cuts), reason);
        prop_assert_eq!(&whole, &in_pieces, "adapter {}, text {:?}", adapter.name, text);
        let single: Vec<String> = text.chars().map(String::from).collect();
        let in_characters = run(adapter, &options, single.iter().map(String::as_str), reason);
        prop_assert_eq!(&whole, &in_characters, "adapter {}, text {:?}", adapter.name, text);
        if !framing && whole.calls().is_empty() && whole.refused() == 0 && !whole.text().contains("[toolglot]") {
            prop_assert_eq!(&whole.text(), &text, "adapter {}", adapter.name);
        }
        let held_bytes = if cuts.len() % 2 == 0 { options.held_bytes } else { 48 };
        let argument_bytes = if cuts.len() % 3 == 0 { 96 } else { options.argument_bytes };
        let options = scanner::Options { held_bytes, argument_bytes, reasoning_open: picks.len() % 2 == 0, elements: picks.len() % 3 == 0, may_ask: if picks.len() % 5 == 0 { scanner::MayAsk::Now } else { scanner::MayAsk::Never }, ..options };
        let places: Vec<usize> = cuts.iter().map(|&cut| usize::from(cut) * text.len() / usize::from(u16::MAX)).collect();
        let checked = reading::check(adapter, &schemas(), &options, reason, &text, &places);
        prop_assert_eq!(checked, Ok(()), "adapter {}, {:?}, {:?}, text {:?}", adapter.name, options, reason, text);
    }
}

/// What the property above found once.
#[test]
fn whitespace_after_text_after_a_draft_stays_however_it_is_cut() {
    let adapter = library().get("hermes").expect("an adapter");
    let options = scanner::Options { reasoning_open: true, ..scanner::Options::default() };
    let text = "<functioncall{\"name\":\"o\"}`}`\n";
    let run = |at: usize| run(adapter, &options, [&text[..at], &text[at..]], FinishReason::Stop);
    for at in 0..=text.len() {
        assert_eq!(run(at).text(), text, "cut at {at}");
    }
}

#[test]
fn tildes_after_a_call_in_a_fence_are_text_however_they_are_cut() {
    let adapter = library().get("granite").expect("an adapter");
    let options = scanner::Options { framing: true, ..scanner::Options::default() };
    let text = "````json\n<|tool_calls|>get_weather(city=\"Oslo\")~~~<|/tool_calls|>";
    for at in 0..=text.len() {
        assert_eq!(run(adapter, &options, [&text[..at], &text[at..]], FinishReason::Stop).text(), text, "cut at {at}");
    }
}
