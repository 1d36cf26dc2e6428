//! Whether the words after a call take it back.
//!
//! * The next sentence takes it back if it says so or asks for permission. In languages other than English, also if it is negative
//!   and either speaks of a call or is too short to be about anything else (`Ingenting raderas.`).
//! * An interjection such as `Wait.` belongs to the sentence after it.
//! * Later sentences in the same window take it back if they cancel it, call it an example, or wait for consent. In English, each
//!   needs a word for the call (`retracts`): `I ignore the warnings.` takes nothing back.
//! * A question about something further (`Should I also update the docs?`) takes nothing back, nor do words in quotes, nor a
//!   sentence about another act than the call (`deeds`).

use super::{
    alternatives::{is_option, offers_another},
    asks::{asks_for_permission, requests_an_answer},
    clauses::{plain, sentences, without_quotes, words},
    deeds::is_another_deed,
    english::{Phrase, Word, is_english},
    foreign,
    labels::is_for_the_reader,
    languages::{Says, is_dense},
    retracts::{adds, retracts},
};

/// A call and how it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'c> {
    pub(crate) marked: bool,
    /// Whether it has a marker or a fence, so that words after it are about it.
    pub(crate) delimited: bool,
    /// Whether nothing was said before it.
    pub(crate) fresh: bool,
    pub(crate) text: &'c str,
}

/// Signs with which something other than prose begins.
pub(crate) const OPENERS: [char; 4] = ['{', '[', '<', '`'];
/// Signs that end a sentence after a call, and those with which something else begins.
const STOPS: [char; 13] = ['.', '!', '?', '。', '！', '？', '؟', ';', ':', '{', '[', '<', '`'];
/// Beginnings of sentences that take back what was just said.
const INTERRUPTS: [&str; 5] = ["wait,", "no, ", "stop,", "hold on,", "actually, no"];
/// A sentence of at most this many words is an interjection.
const INTERJECTION_WORDS: usize = 3;
/// A question of at most this many words, and this many bytes, asks for permission.
const QUESTION_WORDS: usize = 3;
const QUESTION_BYTES: usize = 40;

/// Whether the sentences after a call say that it is an example, must not run, or is not made, ask for permission, or offer
/// another call instead. After a marked call, weaker words for an example do not count, because they may be about its result.
pub(crate) fn takes_back(text: &str, call: Written<'_>) -> bool {
    let text = &without_quotes(text, '"');
    let prose = plain(&text[..text.find(OPENERS).unwrap_or(text.len())]);
    let (said, stop) = first_sentence(text).map_or((text.as_str(), ""), |stop| text.split_at(stop));
    let said = plain(said);
    let said_words = words(&said);
    // The wording of questions for permission is not known in all languages, so any question in a language other than English may
    // be one.
    let is_foreign = call.delimited && !is_english(&said);
    // `Proceed?`, `¿Lo ejecuto?`
    let is_short = || asks_shortly(&said, is_foreign);
    let permission = || asks_for_permission(&said) || (!call.fresh && is_foreign) || is_short();
    // `¿Quieres que avise también al cliente?`
    let adds_more = || adds(&said_words) || is_foreign && foreign::adds(&said);
    let asks = (is_asked(&said, stop) && permission() && !adds_more()) || requests_an_answer(&said);
    let interrupts = || INTERRUPTS.iter().any(|words| said.starts_with(words));
    let is_meant = || !Phrase::NotMeant.is_in(&said_words) && !Phrase::Redoes.is_in(&said_words);
    let withdrawn = || {
        interrupts()
            || (is_foreign && foreign::denies_a_call(&said) && !is_another_deed(&said, call.text))
            || !is_meant()
            || (!call.marked
                && (Phrase::Shown.is_in(&said_words) || is_for_the_reader(&said_words) || Says::Submits.is_in(&said)))
    };
    let replaced = || is_choice(&prose) || corrects(&prose);
    let is_against = |(at, sentence): (usize, &str)| {
        let is_withdrawn = !is_english(sentence) && says_foreign(sentence) || retracts(sentence, at == 0);
        is_withdrawn && !is_another_deed(sentence, call.text)
    };
    asks || withdrawn() || replaced() || sentences(&prose).enumerate().any(is_against)
}

/// Whether a short question, without its sign, can only ask for permission: it has at most two words, or speaks of going on. In a
/// language other than English, it speaks of an act or is one word.
fn asks_shortly(said: &str, is_foreign: bool) -> bool {
    let all = words(said);
    let goes_on = Word::Proceeds.is_in(&all);
    let asks_what = || all.first().is_some_and(|word| word.starts_with("wh") || *word == "how");
    let acts = || [Says::Runs, Says::Acts].iter().any(|says| says.is_in(said)) || all.len() == 1;
    let has_no_words = || said.contains(is_dense);
    let asks = || if is_foreign { acts() && !has_no_words() } else { all.len() < QUESTION_WORDS && !asks_what() };
    all.len() <= QUESTION_WORDS && said.len() <= QUESTION_BYTES && (goes_on || asks())
}

/// Whether the words after a call offer another one for the user to choose.
pub(crate) fn offers_choice(text: &str) -> bool {
    is_choice(&plain(&text[..text.find(OPENERS).unwrap_or(text.len())]))
}

fn is_choice(prose: &str) -> bool {
    offers_another(prose) || is_option(&words(prose))
}

/// Whether a sentence after a call, in another language than English, cancels it, denies that it runs, says that it is an example,
/// or asks the user first.
fn says_foreign(sentence: &str) -> bool {
    let is_denied = || Says::Runs.is_in(sentence) && foreign::denies_a_call(sentence);
    let is_example = || Says::Example.is_in(sentence) && (Says::Only.is_in(sentence) || Says::This.is_in(sentence));
    Says::Withdraws.is_in(sentence)
        || Says::Confirms.is_in(sentence)
        || (sentence.ends_with(['?', '？', '؟']) && Says::Asks.is_in(sentence) && !foreign::adds(sentence))
        || is_denied()
        || is_example()
}

/// Whether words between two calls, in another language than English, say that the first one is wrong and the next one is right.
fn corrects(prose: &str) -> bool {
    let first = sentences(prose).next().unwrap_or_default();
    !is_english(first)
        && prose.trim_end().ends_with([':', '：'])
        && Says::Errs.is_in(prose)
        && (Says::Corrects.is_in(prose) || Says::Supposes.is_in(prose))
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
    Word::Is.is(word) || Says::Is.is_in(word)
}
