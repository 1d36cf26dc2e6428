//! Whether the words after a call take it back.

use super::{
    english::{INTERRUPTS, IS, NOT_MEANT, RETRACTS, SHOWN},
    languages::Says,
    lead::{asks_for_permission, denies, is_english, requests_an_answer},
};

/// How a call is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) marked: bool,
    /// It has a marker or a fence, so that words after it speak of it.
    pub(crate) delimited: bool,
    /// Nothing was said before it.
    pub(crate) fresh: bool,
}

/// Signs with which something other than prose begins.
pub(crate) const OPENERS: [char; 4] = ['{', '[', '<', '`'];
/// Signs that end a sentence after a call, and those with which something else begins.
const STOPS: [char; 13] = ['.', '!', '?', '。', '！', '？', '؟', ';', ':', '{', '[', '<', '`'];
/// A sentence of at most this many words is an interjection.
const INTERJECTION_WORDS: usize = 3;

/// Whether the sentence after a call says that it is an example or must not run, or asks for permission; or whether the prose
/// after it retracts it. After a marked call, other words for an example may speak of its result.
pub(crate) fn takes_back(text: &str, call: Written) -> bool {
    let prose = &text[..text.find(OPENERS).unwrap_or(text.len())];
    let (said, stop) = first_sentence(text).map_or((text, ""), |stop| text.split_at(stop));
    let said = said.to_lowercase().replace('’', "'");
    let says = |list: &[&str]| list.iter().any(|words| said.contains(words));
    // Questions for permission are not known in all languages, so any question in another one than English may be one.
    let is_foreign = call.delimited && !is_english(&said);
    let permission = || asks_for_permission(&format!("{said} ")) || (!call.fresh && is_foreign);
    let asks = (is_asked(&said, stop) && permission()) || requests_an_answer(&said);
    let interrupts = || INTERRUPTS.iter().any(|words| said.starts_with(words));
    let retracts = || {
        let prose = prose.to_lowercase().replace('’', "'");
        RETRACTS.iter().any(|words| prose.contains(words)) || (is_foreign && Says::Withdraws.is_in(&prose))
    };
    let withdrawn = || interrupts() || (is_foreign && denies(&said)) || (call.delimited && retracts());
    asks || withdrawn() || says(&NOT_MEANT) || (!call.marked && says(&SHOWN))
}

/// Where the first sentence of a text ends, in bytes. An interjection belongs to the sentence after it: `Wait. I meant ..`.
fn first_sentence(text: &str) -> Option<usize> {
    let stop = |from: usize| text[from..].find(STOPS).map(|at| from + at);
    let first = stop(0)?;
    let is_short =
        || text[..first].split_whitespace().count() <= INTERJECTION_WORDS && text[first..].starts_with(['.', '!', '。', '！']);
    let next = |from: usize| text[from..].find(char::is_alphabetic).and_then(|at| stop(from + at));
    if is_short() { next(first) } else { Some(first) }
}

/// Whether a sentence ends in a question mark. Greek uses the semicolon.
fn is_asked(sentence: &str, stop: &str) -> bool {
    let is_greek = || sentence.contains(|c: char| matches!(c, '\u{370}'..='\u{3ff}'));
    stop.starts_with(['?', '？', '؟']) || (stop.starts_with(';') && is_greek())
}

/// Whether a word continues a sentence whose subject is a call: `{..} is an example`.
pub(crate) fn follows_a_subject(word: &str) -> bool {
    IS.contains(&word) || Says::Is.is_in(word)
}
