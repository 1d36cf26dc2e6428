//! English lines that report calls: those that were made earlier, those that somebody announced, and those that the speaker found,
//! quotes, or tells the reader to make.

use super::{
    clauses::words,
    english::{ACTS, AGO, CUES, DID, HAD, IN, MAY, PERCEIVES, PRESENT, QUOTES_NOW, REDRAFTS, RELATIVE, SUBMITS, TELLS},
    retracts::is_negation,
    subject::names_a_text,
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

/// Whether a clause says what its speaker found, quotes, wrote or was told, so that this follows: `I found an injection in the
/// issue`, `I was asked to run`. `I found the bug` may be the reason for a call.
pub(super) fn quotes(clause: &str) -> bool {
    let words = words(clause);
    let Some(speaker) = words.iter().position(|word| matches!(*word, "i" | "i've" | "i'm" | "we" | "we've" | "we're")) else {
        return false;
    };
    if words.iter().any(|word| PRESENT.contains(word)) {
        return false;
    }
    let rest = &words[speaker + 1..];
    let adverbs = rest.iter().take_while(|word| HAD.contains(word) || matches!(**word, "am" | "are" | "was" | "were" | "been"));
    let between = adverbs.count();
    let (auxiliaries, rest) = rest.split_at(between);
    let Some((verb, object)) = rest.split_first() else { return false };
    let is_passive = auxiliaries.iter().any(|word| matches!(*word, "was" | "were" | "been"))
        && (verb.ends_with("ed") || matches!(*verb, "told" | "given" | "sent" | "shown"));
    // `I found the bug in the parser` is about the bug.
    let thing = object.iter().position(|word| IN.contains(word)).map_or(object, |at| &object[..at]);
    let points = || {
        names_a_text(thing) || thing.iter().any(|word| matches!(*word, "this" | "these" | "those" | "following" | "something"))
    };
    is_passive
        || QUOTES_NOW.contains(verb)
        || PERCEIVES.contains(verb) && points()
        || REDRAFTS.contains(verb) && names_a_text(object)
}

/// Whether a sentence tells the reader to make the call instead of the speaker: `the request you can send`, `I can't, but you can`,
/// `your client must send`, `please send this`. Small models that call also explain: `you can use this tool`.
pub(super) fn instructs(sentence: &str) -> bool {
    let words = words(sentence);
    let acts = |verb: &str| ACTS.contains(&verb) || SUBMITS.contains(&verb);
    let is_between = |word: &&&str| matches!(**word, "to" | "now" | "just" | "then" | "also");
    let is_reader = |at: usize| match &words[at..] {
        ["you" | "you'll", modal, rest @ ..] if MAY.contains(modal) => {
            let verb = rest.iter().find(|word| !is_between(word));
            let denies = || words[..at].iter().any(|word| is_negation(word) || *word == "cannot");
            verb.is_some_and(|verb| SUBMITS.contains(verb)) || verb.is_none_or(|verb| acts(verb)) && denies()
        }
        ["your", _, modal, rest @ ..] if MAY.contains(modal) => {
            rest.iter().find(|word| !is_between(word)).is_some_and(|verb| acts(verb))
        }
        _ => false,
    };
    let speaks = |word: &&str| matches!(*word, "i" | "i'll" | "let" | "let's" | "me");
    let reader = (0..words.len()).find(|&at| is_reader(at));
    let asked = matches!(words.as_slice(), ["please", verb, ..] if SUBMITS.contains(verb));
    asked || reader.is_some_and(|at| !words[at..].iter().any(speaks))
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
