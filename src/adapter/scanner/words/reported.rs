//! English lines that report calls: those that were made earlier, and those that somebody announced.

use super::{
    clauses::words,
    english::{AGO, CUES, DID, HAD, PRESENT, RELATIVE, TELLS},
    retracts::is_negation,
};

/// Whether a clause reports a call of the model: `I've just run`, `the call I made a moment ago was`, `I deleted it like this`.
pub(super) fn reports(clause: &str) -> bool {
    let words = words(clause);
    let is_present = words.iter().any(|word| PRESENT.contains(word));
    let last = words.last().copied().unwrap_or_default();
    // The speaker, then auxiliaries, then what was done.
    let acts = words.iter().enumerate().filter_map(|(at, word)| {
        if !matches!(*word, "i" | "we" | "i've" | "we've") {
            return None;
        }
        let had = words[at + 1..].iter().take_while(|word| HAD.contains(word)).count();
        let act = at + 1 + had;
        let is_verb = |act: &&str| DID.contains(act) || (act.ends_with("ed") && !act.ends_with("eed") && act.len() > MIN_ED);
        // `I decided to go on with ..`.
        let is_done = words.get(act).is_some_and(is_verb) && words.get(act + 1) != Some(&"to");
        is_done.then_some((at, act))
    });
    let mut acts = acts.peekable();
    let is_past = |(speaker, act): (usize, usize)| {
        let between = &words[speaker + 1..act];
        let rest = &words[act + 1..];
        let already = between.iter().any(|word| matches!(*word, "already" | "previously" | "earlier"));
        let recent = (between.contains(&"just") || words[speaker].ends_with("'ve")) && rest.is_empty();
        // `The call I made was`, `the one that I made`, `what I did`.

        let noun = words[..speaker].iter().rev().find(|word| !matches!(**word, "that" | "which")).copied().unwrap_or_default();
        let relative = RELATIVE.contains(&noun);
        let shows = CUES.iter().any(|cue| clause.trim_end().ends_with(cue));
        already || recent || relative || shows || (speaker == 0 && is_ago(&words))
    };
    let any = acts.any(is_past);
    !is_present
        && !words.iter().any(|word| is_negation(word))
        && (any || (is_ago(&words) && (last != "again") && has_did(&words)))
}

/// Whether a clause has a verb of a call that was made.
fn has_did(words: &[&str]) -> bool {
    words.iter().any(|word| DID.contains(word))
}

/// Whether a clause is about an earlier time.
fn is_ago(words: &[&str]) -> bool {
    let joined = words.join(" ");
    AGO.iter().any(|ago| joined.starts_with(ago) || joined.ends_with(ago))
}

/// Whether a sentence tells what somebody else said: `the user wrote: I'll run`.
pub(super) fn tells(sentence: &str) -> bool {
    let Some((before, after)) = sentence.split_once(':') else { return false };
    let before = words(before);
    let said = before.last().is_some_and(|word| TELLS.contains(word));
    said && !after.trim().is_empty() && !after.contains("so i") && !matches!(before.as_slice(), ["i" | "as", ..])
}

/// A verb in `-ed` has at least this many letters.
const MIN_ED: usize = 4;
