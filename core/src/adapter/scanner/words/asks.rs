//! English and other lines that wait for the user: they ask for permission, request an answer, or leave the decision to the user.

use super::{
    clauses::{STOPS, begins, without_quotes, words},
    english::{Phrase, Word, is_english},
    languages::{Says, is_letter},
    subject::{conclusion, is_speaker, sets_to_work},
};

/// Whether a line before a call asks the user for permission to act, or to answer first. `last`: its last sentence, without the
/// sign that ends it. The wording of such questions is not known in all languages, so any question in a language other than
/// English may be one.
pub(super) fn awaits_an_answer(line: &str, last: &str) -> bool {
    if sets_to_work(last) && !last.ends_with('?') {
        return false;
    }
    let line = &without_quotes(line, '"');
    let all = words(line);
    let mut sentences = line.split_inclusive(STOPS).map(str::trim_start);
    // `Which version are we on?` is a question to oneself.
    let chooses = |sentence: &str| {
        let said = words(conclusion(sentence));
        let is_own = said.iter().any(|word| is_speaker(word)) && !said.contains(&"should");
        sentence.ends_with('?') && begins(&said, &["which"]) && !is_own
    };
    // `Should I? Yes:`.
    let is_answered = words(last).first().is_some_and(|word| Word::Agrees.is(word));
    let is_open = |sentence: &str| !(is_answered && Phrase::Asks.is(&words(sentence)));
    let permission = |sentence: &str| asks_for_permission(sentence) && is_open(sentence);
    let asks = |sentence: &str| permission(sentence) || requests_an_answer(sentence) || chooses(sentence);
    // `With your approval, I delete it.`
    let awaits = || Phrase::Awaits.around(&all).any(|(before, _)| !matches!(before, [.., "with" | "given"]));
    if awaits() || leaves_it_to_the_user(&all) || waits_for_consent(&words(last)) || sentences.clone().any(asks) {
        return true;
    }
    let is_foreign = !sentences.clone().any(is_english);
    let is_question = |sentence: &str| sentence.ends_with(['?', '？', '؟']);
    is_foreign && (Says::Awaits.is_in(last) || needs_consent(last) || sentences.next_back().is_some_and(is_question))
}

/// Whether a sentence in another language than English says that the user must agree first: `Necesito tu confirmación`.
fn needs_consent(sentence: &str) -> bool {
    Says::Consent.is_in(sentence) && Says::Needs.is_in(sentence)
}

/// Whether a clause, in lower case, is the beginning of a question for permission.
pub(super) fn asks_for_permission(clause: &str) -> bool {
    begins_with_a_word(clause) && Phrase::Asks.begins(&words(clause)) || Says::Asks.is_in(clause)
}

/// Whether a clause, in lower case, asks the user to check a call or to answer first.
pub(super) fn requests_an_answer(clause: &str) -> bool {
    // `Reply` alone is a label. Of `reply "yes"`, the quotation is left out, but not the space.
    let goes_on = clause.trim_start().contains(' ');
    goes_on && begins_with_a_word(clause) && Phrase::Requests.begins(&words(clause)) || Says::Confirms.is_in(clause)
}

/// Whether a line, in lower case, asks the user to wait.
pub(crate) fn asks_to_wait(line: &str) -> bool {
    Says::Waits.is_in(line)
}

/// Whether a clause begins with a word, which may be emphasised, and not with a sign of code: `*) reply "$RESULT"`.
fn begins_with_a_word(clause: &str) -> bool {
    clause.trim_start_matches([' ', '*', '_', '"']).starts_with(is_letter)
}

/// `Up to you`, `tell me if I should run it`, but not `tell me if I should change something`.
pub(super) fn leaves_it_to_the_user(words: &[&str]) -> bool {
    let is_call = |rest: &[&str]| rest.first().is_none_or(|act| Word::Act.is(act) || Word::Proceeds.is(act));
    Phrase::Leaves.is_in(words) || Phrase::LeavesIf.around(words).any(|(_, rest)| is_call(rest))
}

/// `Until you confirm`, `without your permission`, `awaiting confirmation`.
pub(super) fn waits_for_consent(words: &[&str]) -> bool {
    let until = |three: &[&str]| Word::Until.is(three[0]) && three[1] == "you" && Word::Agreeing.is(three[2]);
    let is_needed = |before: &[&str]| Word::Needs.is_in(before) || Word::Lacks.is_in(before);
    // `Your go`, but not `requires Go`.
    let is_yours = |pair: &[&str]| pair[0] == "your" && (Word::Consent.is(pair[1]) || pair[1] == "go");
    let lacks = |(at, word): (usize, &&str)| {
        Word::Lacks.is(word) && Word::Whose.skip(&words[at + 1..]).first().is_some_and(|noun| Word::Consent.is(noun))
    };
    words.windows(3).any(until)
        || words.windows(2).enumerate().any(|(at, pair)| is_yours(pair) && is_needed(&words[..at]))
        || words.iter().enumerate().any(lacks)
}
