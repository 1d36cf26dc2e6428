//! English sentences that make a call depend on something still open, or put it off: `If that fails, I'll run:`, `Tomorrow I will
//! run:`.

use super::{
    clauses::{begins, clauses, ends, holds, position, words},
    english::{ACTED, ACTS, CALLS, CONDITIONAL, DEFERS, HEDGES, LATER, ONLY_IF, PRONOUNS, RUNS, TO_BE, WITH},
};

/// Whether a sentence makes the call depend on a condition, or puts it off.
pub(super) fn depends(sentence: &str) -> bool {
    let all = words(sentence);
    let hedges = HEDGES.iter().any(|phrase| holds(&all, phrase)) || begins(&all, &TO_BE);
    // `I run this only if ..`, but not `I add a check that fails if ..`.
    let only = ONLY_IF.iter().filter_map(|phrase| position(&all, phrase)).any(|at| ends_in_a_call(&all[..at]));
    hedges || only || clauses(sentence).any(|clause| is_open(&words(clause)))
}

/// Whether a clause is a condition, or names a later time.
fn is_open(words: &[&str]) -> bool {
    let rest = match words {
        ["and" | "but" | "then" | "so" | "or", rest @ ..] => rest,
        all => all,
    };
    let conditional = begins(rest, &CONDITIONAL) && !matches!(rest, ["if", "i" | "we", ..] | ["if", "so", ..]);
    // `Should the tests fail`, not `should be quick`.
    let inverted = matches!(rest, ["should", "the" | "this" | "that" | "it" | "any" | "a", _, ..]);
    // `I check if it is there` only asks whether.
    let inner = position(rest, "if").is_some_and(|at| at > 0 && (ends_in_a_call(&rest[..at]) || begins_a_call(&rest[..at])));
    let end = rest.iter().rposition(|word| !WITH.contains(word)).map_or(0, |at| at + 1);
    // `To use it later, ..`.
    let is_purpose = matches!(rest, ["to" | "so" | "for", next, ..] if *next != "be");
    let put_off = !is_purpose && (begins(rest, &LATER) || (ends(&rest[..end], &LATER) && !ends(rest, &DEFERS)));
    conditional || inverted || inner || put_off
}

/// Whether words end in a call or in a word for it: `I run this`.
fn ends_in_a_call(words: &[&str]) -> bool {
    let is_call = |word: &&str| {
        [&PRONOUNS[..], &CALLS[..], &ACTS[..], &ACTED[..], &["following", "only"]].iter().any(|list| list.contains(word))
    };
    words.last().is_none_or(is_call)
}

/// Whether words say what the speaker does, and what follows them is not about another verb: `I'll delete the folder`.
fn begins_a_call(words: &[&str]) -> bool {
    let speaks = |word: &&&str| matches!(**word, "i" | "i'll" | "we" | "we'll" | "will" | "then" | "only");
    let rest = &words[words.iter().take_while(speaks).count()..];
    let is_other = |word: &&str| matches!(*word, "that" | "which" | "who" | "to" | "and" | "see");
    rest.len() < words.len() && rest.first().is_some_and(|act| RUNS.contains(act)) && !rest.iter().any(is_other)
}
