//! English sentences that make a call depend on something still open, or put it off: `If that fails, I'll run:`, `Tomorrow I will
//! run:`.

use super::{
    clauses::{begins, clauses, ends, holds, position, words},
    english::{CONDITIONAL, DEFERS, HEDGES, LATER, ONLY_IF, WHETHER, WITH},
};

/// Whether a sentence makes the call depend on a condition, or puts it off.
pub(super) fn depends(sentence: &str) -> bool {
    let all = words(sentence);
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| holds(&all, phrase));
    has(&ONLY_IF) || has(&HEDGES) || clauses(sentence).any(|clause| is_open(&words(clause)))
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
    let inner = position(rest, "if").is_some_and(|at| {
        at > 0 && !rest[..at].iter().any(|word| WHETHER.contains(word)) && rest[at - 1] != "even" && rest[at - 1] != "as"
    });
    let end = rest.iter().rposition(|word| !WITH.contains(word)).map_or(0, |at| at + 1);
    let put_off = begins(rest, &LATER) || (ends(&rest[..end], &LATER) && !ends(rest, &DEFERS));
    conditional || inverted || inner || put_off
}
