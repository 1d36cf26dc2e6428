//! Arbitrary texts made of what the adapters look for: no cut changes the result, and no byte is lost.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Seen, library};
use crate::{
    adapter::{Adapter, Scanner, scanner::Options},
    effort,
    event::{Channel, FinishReason, Tools},
    pieces::{PIECES, tools},
    seen::schemas,
};

/// A text of pieces, any marker of the adapter among them; a marker may be cut short.
fn text(adapter: &Adapter) -> impl Strategy<Value = String> + use<> {
    let mut pieces: Vec<String> = PIECES.iter().map(|&piece| piece.to_owned()).collect();
    let calls =
        adapter.calls.iter().flat_map(|call| call.section.iter().chain(&call.section_close).chain(&call.open).chain(&call.close));
    let stripped = adapter.calls.iter().flat_map(|call| &call.stripped);
    let markers: Vec<String> =
        calls.chain(adapter.framing.markers()).chain(stripped).filter(|text| !text.is_empty()).cloned().collect();
    for marker in &markers {
        let half = marker.char_indices().nth(marker.chars().count() / 2).map_or(0, |(at, _)| at);
        pieces.push(marker[..half].to_owned());
    }
    // The family's own markers are as likely as all the rest.
    let own = if markers.is_empty() { Just(String::new()).boxed() } else { prop::sample::select(markers).boxed() };
    prop::collection::vec(prop_oneof![prop::sample::select(pieces), own], 0..34).prop_map(|pieces| pieces.concat())
}

fn seen(adapter: &Arc<Adapter>, tools: &Arc<Tools>, options: &Options, pieces: &mut dyn Iterator<Item = &str>) -> Seen {
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::clone(tools), schemas(), options.clone());
    let mut seen = Seen::default();
    for piece in pieces {
        scanner.push(Channel::Content, piece, &mut seen);
    }
    scanner.finish(FinishReason::Stop, &mut seen);
    seen
}

/// Whether a text is read alike however it is cut, and nothing of it is lost.
fn is_read_alike(
    adapter: &Arc<Adapter>,
    text: &str,
    reasoning_open: bool,
    cuts: &[prop::sample::Index],
) -> Result<(), TestCaseError> {
    let (tools, nothing) = (tools(), Arc::new(Tools::default()));
    let options = Options { reasoning_open, held_bytes: 64, ..Options::default() };
    let whole = seen(adapter, &tools, &options, &mut std::iter::once(text));
    let single = seen(adapter, &tools, &options, &mut text.split("").filter(|piece| !piece.is_empty()));
    prop_assert_eq!(&whole, &single, "single characters");
    let mut places: Vec<usize> =
        cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|&at| text.is_char_boundary(at)).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    let pieces = seen(adapter, &tools, &options, &mut places.windows(2).map(|pair| &text[pair[0]..pair[1]]));
    prop_assert_eq!(&whole, &pieces, "cut at {:?}", places);
    let bare = Options { framing: false, ..options };
    let untouched = seen(adapter, &nothing, &bare, &mut text.split("").filter(|piece| !piece.is_empty()));
    prop_assert_eq!(&untouched.text(), text, "nothing is offered");
    let scanned = seen(adapter, &tools, &bare, &mut std::iter::once(text));
    // A marked call that is refused is not text either.
    if scanned.all_calls().next().is_none() && scanned.refused() == 0 {
        prop_assert_eq!(&scanned.text(), text, "nothing was found");
    }
    Ok(())
}

#[test]
fn no_cut_changes_the_result_and_no_byte_is_lost() {
    for adapter in library().iter() {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: effort::cases(10, 40),
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let input = (text(adapter), any::<bool>(), prop::collection::vec(any::<prop::sample::Index>(), 0..4));
        let outcome = runner.run(&input, |(text, open, cuts)| is_read_alike(adapter, &text, open, &cuts));
        if let Err(error) = outcome {
            panic!("{}: {error}", adapter.name);
        }
    }
}

/// Texts that once were read differently in single characters; other seeds of the test above found them.
#[test]
fn texts_that_were_read_differently_are_read_alike() {
    let call = r#"{"name": "get_weather", "parameters": {"city": "a } \" ] b"}}"#;
    for (family, reasoning_open, text) in [
        ("apertus", false, format!("The <think> tag.<|inner_prefix|>Dark.<tool_call>{call}</tool_call>")),
        ("openthinker", true, format!("[Calling tool:<tool_call>{call}</tool_call>\"<xai:functio<TOOL_CALL>")),
        ("toolace", true, format!("<tool_calls>{call}</function\n")),
    ] {
        is_read_alike(library().get(family).unwrap(), &text, reasoning_open, &[]).unwrap();
    }
}
