//! What an English line before a call is about: an act of its speaker, or a text in which a call is quoted.

use super::{
    clauses::{begins, ends, words},
    english::{ACTED, ACTS, CALLS, DID, EXAMPLES, FORMER, RECORDS, SHOWING, TELLS, TEXTS, TO_DO},
    lead::last_clause,
};

/// Words between the speaker and the verb.
const BETWEEN: [&str; 9] = ["now", "just", "also", "first", "then", "quickly", "going", "to", "have"];

/// Words before a participle or an adjective in `-ed`, or before a verb of the present.
const PRESENT_OF: [&str; 21] = [
    "is", "are", "be", "am", "been", "being", "a", "an", "the", "all", "no", "one", "old", "new", "to", "of", "in", "and", "or",
    "as", "for",
];

/// Whether the last clause of a sentence says what its speaker does now: `.. Let me run the example`. A speaker who shows, asks
/// or waits does not act.
pub(super) fn sets_to_work(sentence: &str) -> bool {
    let said = words(last_clause(sentence));
    let start = said.iter().take_while(|word| matches!(**word, "so" | "and" | "but" | "now" | "then" | "first")).count();
    let rest = match &said[start..] {
        ["i'll" | "i'm" | "we'll" | "let's", rest @ ..] | ["let", "me", rest @ ..] | ["i" | "we", "will" | "am", rest @ ..] => {
            rest
        }
        _ => return false,
    };
    let act = rest.iter().find(|word| !BETWEEN.contains(word));
    act.is_some_and(|act| !SHOWING.contains(act))
}

/// Whether these words name a call, the form in which it is written, or a text that may quote one; or say what somebody wrote, or
/// what was done. `The changelog needs an entry` names what is to be done.
pub(super) fn is_about_a_text(words: &[&str]) -> bool {
    let is_past =
        |verb: &str| DID.contains(&verb) || verb == "got" || (verb.ends_with("ed") && !verb.ends_with("eed") && verb.len() > 4);
    // `This fixed it`, `it was done with`, `the server logged`, but not `all sources are committed`, `a cached folder`.
    let is_present = |before: &str| PRESENT_OF.contains(&before) || before.ends_with("n't");
    let is_done = |pair: &[&str]| is_past(pair[1]) && !is_present(pair[0]);
    let is_to_do = words.iter().any(|word| TO_DO.contains(word));
    let is_form = ends(words, &["like this", "like so", "like that", "as follows"]);
    let tells = || words.iter().any(|word| [&RECORDS[..], &TELLS, &FORMER].iter().any(|list| list.contains(word)));
    is_form || !is_to_do && (names_a_text(words) || tells() || words.windows(2).any(is_done))
}

/// Whether these words name a call, the form in which it is written, or a text that may quote one.
pub(super) fn names_a_text(words: &[&str]) -> bool {
    words.iter().any(|word| [&TEXTS[..], &EXAMPLES].iter().any(|list| list.contains(word)))
}

/// Whether these words are about making a call: `I could run`, `the call would be`.
pub(super) fn speaks_of_calling(words: &[&str]) -> bool {
    let acts = words.iter().any(|word| ACTS.contains(word) || ACTED.contains(word));
    acts || words.iter().any(|word| CALLS.contains(word) && *word != "one" && *word != "last")
        || begins(words, &["here is what", "that's what", "this is what"])
}
