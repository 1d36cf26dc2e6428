//! English sentences that make a call depend on something still open, or put it off: `If that fails, I'll run:`, `Tomorrow I will
//! run:`.

use super::{
    clauses::{begins, clauses, position, words},
    english::{Phrase, Word},
    subject::is_speaker,
};

/// Whether a sentence makes the call depend on a condition, or puts it off.
pub(super) fn depends(sentence: &str) -> bool {
    let all = words(sentence);
    let hedges = Phrase::Hedges.is_in(&all) || begins(&all, &["to be run", "to be executed", "to be called"]);
    // `I run this only if ..`, but not `I add a check that fails if ..`.
    let only = Phrase::OnlyIf.around(&all).any(|(before, _)| ends_in_a_call(before));
    hedges || only || clauses(sentence).any(|clause| is_open(&words(clause)))
}

/// Whether a clause is a condition, or names a later time.
fn is_open(words: &[&str]) -> bool {
    let rest = match words {
        ["and" | "but" | "then" | "so" | "or", rest @ ..] => rest,
        all => all,
    };
    let conditional = Phrase::Conditional.begins(rest) && !matches!(rest, ["if", "i" | "we", ..] | ["if", "so", ..]);
    // `Should the tests fail`, not `should be quick`.
    let inverted = matches!(rest, ["should", "the" | "this" | "that" | "it" | "any" | "a", _, ..]);
    // `I check if it is there` only asks whether.
    let inner = position(rest, "if").is_some_and(|at| at > 0 && (ends_in_a_call(&rest[..at]) || begins_a_call(&rest[..at])));
    let end = rest.iter().rposition(|word| !Word::With.is(word)).map_or(0, |at| at + 1);
    // `To use it later, ..`.
    let is_purpose = matches!(rest, ["to" | "so" | "for", next, ..] if *next != "be");
    let put_off = !is_purpose && (Phrase::Later.begins(rest) || (Phrase::Later.ends(&rest[..end]) && !Phrase::Defers.ends(rest)));
    conditional || inverted || inner || put_off
}

/// Whether words end in a call or in a word for it: `I run this`.
fn ends_in_a_call(words: &[&str]) -> bool {
    let is_call = |word: &&str| {
        [Word::Pronoun, Word::Call, Word::Act, Word::Acted].iter().any(|says| says.is(word))
            || matches!(*word, "following" | "only")
    };
    words.last().is_none_or(is_call)
}

/// Whether words say what the speaker does, and what follows them is not about another verb: `I'll delete the folder`.
fn begins_a_call(words: &[&str]) -> bool {
    let speaks = |word: &&&str| is_speaker(word) || matches!(**word, "will" | "then" | "only");
    let rest = &words[words.iter().take_while(speaks).count()..];
    let is_other = |word: &&str| matches!(*word, "that" | "which" | "who" | "to" | "and" | "see");
    rest.len() < words.len() && rest.first().is_some_and(|act| Word::Tries.is(act)) && !rest.iter().any(is_other)
}
