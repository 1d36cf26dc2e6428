//! What holds for every text, however it was cut, and every adapter: reading it gives the same events, no index has a hole, a
//! delivered call is an object, and what is neither call nor refused call comes out again byte for byte (whitespace beside a
//! removed call aside). One property for `properties` and `fuzz` in `tests/it`.

use std::sync::Arc;

use toolglot::{
    adapter::{Adapter, Scanner, scanner::Options},
    event::{Channel, Event, FinishReason},
    fix::{Fixer, Schemas},
};

use crate::{
    pieces::tools,
    seen::{Item, Seen},
};

/// Checks one text, cut at these offsets (those that are none of its boundaries are left out).
pub(crate) fn check(
    adapter: &Arc<Adapter>,
    schemas: &Arc<Schemas>,
    options: &Options,
    reason: FinishReason,
    text: &str,
    cuts: &[usize],
) -> Result<(), String> {
    let mut points: Vec<usize> = cuts.iter().copied().filter(|&at| text.is_char_boundary(at)).chain([0, text.len()]).collect();
    points.sort_unstable();
    let pieces = points.windows(2).filter_map(|pair| text.get(pair[0]..pair[1]));
    let whole = read(adapter, schemas, options, reason, [text])?;
    let parts = read(adapter, schemas, options, reason, pieces)?;
    if whole != parts {
        return Err(format!("whole: {whole:?}\n in pieces: {parts:?}"));
    }
    if options.framing { Ok(()) } else { nothing_is_lost(text, &whole.items) }
}

fn read<'t>(
    adapter: &Arc<Adapter>,
    schemas: &Arc<Schemas>,
    options: &Options,
    reason: FinishReason,
    pieces: impl IntoIterator<Item = &'t str>,
) -> Result<Seen, String> {
    let tools = tools();
    let mut seen = Seen::default();
    let mut fixer = Fixer::new(Arc::clone(&tools), Arc::clone(schemas));
    let mut scanner = Scanner::new(Arc::clone(adapter), tools, Arc::clone(schemas), options.clone());
    let mut stage = |event: Event<'_>| fixer.event(event, &mut seen);
    for piece in pieces {
        scanner.push(Channel::Content, piece, &mut stage);
    }
    scanner.finish(reason, &mut stage);
    stage(Event::Finish { reason, usage: None });
    match seen.wrong() {
        Some(wrong) => Err(wrong),
        None => Ok(seen),
    }
}

/// Without framing, text before the first call is the beginning of the answer, text after the last one its end, and text
/// between calls is between them.
fn nothing_is_lost(text: &str, items: &[Item]) -> Result<(), String> {
    let lost = |what: &str| Err(format!("{what} is not as it was written; seen: {items:?}"));
    let mut rest = text;
    for (index, item) in items.iter().enumerate() {
        let Item::Text(said) = item else { continue };
        let (first, last) = (index == 0, index + 1 == items.len());
        rest = match (first, last) {
            (true, true) if said != text => return lost("the text"),
            (true, _) => match rest.strip_prefix(said.as_str()) {
                Some(rest) => rest,
                None => return lost("the text before the first call"),
            },
            (false, true) if rest.trim_end().ends_with(said.trim_end()) => "",
            (false, true) => return lost("the text behind the last call"),
            (false, false) => match rest.find(said.as_str()) {
                Some(at) => &rest[at + said.len()..],
                None => return lost("the text between two calls"),
            },
        };
    }
    if items.is_empty() && !text.is_empty() { lost("the text") } else { Ok(()) }
}
