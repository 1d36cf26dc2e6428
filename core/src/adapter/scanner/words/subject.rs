//! Who acts in an English line, in which clause, and what the line is about: an act of its speaker, or a text in which a call is quoted.

use super::{
    clauses::{COMMAS, begins, ends, last_clause, words},
    english::Word,
};

/// A verb in `-ed` has at least this many letters.
const MIN_ED: usize = 5;

/// Whether a word is the subject of what the speaker does, with or without its verb: `I`, `we'll`, `let's`.
pub(super) fn is_speaker(word: &str) -> bool {
    matches!(word, "i" | "we" | "let") || ["i'", "we'", "let'"].iter().any(|subject| word.starts_with(subject))
}

/// Whether a word says who acts in a line before a call, or when: the speaker, `now`, `please`.
pub(super) fn is_actor(word: &str) -> bool {
    is_speaker(word) || Word::Actor.is(word)
}

/// Whether a word is a verb of what was done with a call: `ran`.
pub(super) fn is_done(word: &str) -> bool {
    Word::Acted.is(word) || matches!(word, "did" | "wrote" | "deleted")
}

/// Whether a word is such a verb, or any other in `-ed`.
pub(super) fn is_past_verb(word: &str) -> bool {
    is_done(word) || (word.ends_with("ed") && !word.ends_with("eed") && word.len() >= MIN_ED)
}

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
    let act = rest.iter().find(|word| !Word::Between.is(word));
    act.is_some_and(|act| !Word::Shows.is(act) && !Word::Lacks.is(act))
}

/// The last clause of an English sentence, if it draws a conclusion from the others and says who acts: `.., so I run it`.
pub(super) fn conclusion(sentence: &str) -> &str {
    let clause = last_clause(sentence);
    let said = words(clause);
    let concludes = matches!(said.as_slice(), ["so" | "but" | "now" | "therefore" | "hence", ..]);
    if concludes && said.iter().any(|word| is_actor(word)) { clause } else { sentence }
}

/// The words of the clause that says what happens, without those that join it to others: of the last one, unless that only names
/// what is left out (`.., not the build output`).
pub(super) fn main_words(sentence: &str) -> Vec<&str> {
    let begins_with_not = |clause: &&str| !clause.trim_start().starts_with("not ");
    let clause = sentence.rsplit(COMMAS).find(begins_with_not).unwrap_or_default();
    let all = words(clause.rsplit(" but ").next().unwrap_or_default());
    Word::Joins.skip(&all).to_vec()
}

/// Whether these words name a call, the form in which it is written, or a text that may quote one; or say what somebody wrote, or
/// what was done. `The changelog needs an entry` names what is to be done.
pub(super) fn is_about_a_text(words: &[&str]) -> bool {
    // `This fixed it`, `it was done with`, `the server logged`, but not `all sources are committed`, `a cached folder`.
    let is_present = |before: &str| Word::Undone.is(before) || before.ends_with("n't");
    let is_done = |pair: &[&str]| (is_past_verb(pair[1]) || pair[1] == "got") && !is_present(pair[0]);
    // A reason is not what is to be done: `The parser rejects this because a tag is missing`.
    let main = words.split(|word| matches!(*word, "because" | "since")).next().unwrap_or_default();
    let is_to_do = Word::ToDo.is_in(main);
    let is_form = ends(words, &["like this", "like so", "like that", "as follows"]);
    let tells = || Word::Records.is_in(words) || Word::Tells.is_in(words);
    is_form || !is_to_do && (names_a_text(words) || tells() || words.windows(2).any(is_done))
}

/// Whether these words name a call, the form in which it is written, or a text that may quote one.
pub(super) fn names_a_text(words: &[&str]) -> bool {
    Word::Text.is_in(words) || Word::Example.is_in(words)
}

/// Whether these words are about making a call: `I could run`, `the call would be`.
pub(super) fn speaks_of_calling(words: &[&str]) -> bool {
    Word::Act.is_in(words)
        || Word::Acted.is_in(words)
        || words.iter().any(|word| Word::Call.is(word) && *word != "one" && *word != "last")
        || begins(words, &["here is what", "that's what", "this is what"])
}
