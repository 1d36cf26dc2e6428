//! English lines that report calls: those that were made earlier, those that somebody announced, and those that the speaker found,
//! quotes, or tells the reader to make.

use super::{
    clauses::words,
    english::{Phrase, Word, is_negation},
    subject::{is_done, is_past_verb, is_speaker, names_a_text},
};

/// Verbs of a speaker who calls tools or says how.
const WRITES: [&str; 12] =
    ["write", "emit", "output", "produce", "generate", "print", "send", "make", "use", "call", "invoke", "issue"];
/// Where the reader runs a command.
const PLACES: [&str; 9] = ["machine", "side", "end", "terminal", "computer", "shell", "console", "host", "system"];
/// `Like this one` has this many words.
const CUE_WITHIN: usize = 3;

/// Whether a clause reports a call of the model: `I've just run`, `the call I made a moment ago was`, `I deleted it like this`.
pub(super) fn reports(clause: &str) -> bool {
    let words = words(clause);
    let is_present = Word::Present.is_in(&words);
    let last = words.last().copied().unwrap_or_default();
    // The speaker, then auxiliaries, then what was done.
    let mut acts = words.iter().enumerate().filter_map(|(at, word)| {
        if !matches!(*word, "i" | "we" | "i've" | "we've") {
            return None;
        }
        let had = words[at + 1..].iter().take_while(|word| Word::Had.is(word)).count();
        let act = at + 1 + had;
        // `I decided to go on with ..`, but not `the call I used to send it`.
        let goes_on = words.get(act + 1) == Some(&"to") && !is_relative(&words[..at]);
        let is_done = words.get(act).is_some_and(|act| is_past_verb(act)) && !goes_on;
        is_done.then_some((at, act))
    });
    let is_earlier = |(speaker, act): (usize, usize)| {
        let between = &words[speaker + 1..act];
        let rest = &words[act + 1..];
        let already = between.iter().any(|word| matches!(*word, "already" | "previously" | "earlier"));
        // `I used the following call`.
        let is_by_call = Word::Acted.is(words[act]) || rest.iter().any(|word| Word::With.is(word));
        let names_a_call = is_by_call && matches!(rest, [.., "following" | "this" | "below", call] if Word::Call.is(call));
        let recent = (between.contains(&"just") || words[speaker].ends_with("'ve")) && rest.is_empty();
        let shows = Phrase::Cues.ends(&words);
        already || recent || names_a_call || is_relative(&words[..speaker]) || shows || (speaker == 0 && is_ago(&words))
    };
    let any = acts.any(is_earlier);
    !is_present
        && !words.iter().any(|word| is_negation(word))
        && (any || (is_ago(&words) && (last != "again") && words.iter().any(|word| is_done(word))))
}

/// Whether the words before a verb or its subject make a call its object: `the call I made`, `the one that was used`, `what I did`.
fn is_relative(before: &[&str]) -> bool {
    let noun = before.iter().rev().find(|word| !matches!(**word, "that" | "which")).copied().unwrap_or_default();
    Word::Call.is(noun) || matches!(noun, "commands" | "what" | "tool")
}

/// Whether the last words of a clause report a call: `here is the call that was made`, `what was sent`.
pub(super) fn reports_passively(words: &[&str]) -> bool {
    let is_passive = |be: &str| matches!(be, "was" | "were" | "been");
    matches!(words, [before @ .., be, act] if is_passive(be) && is_done(act) && is_relative(before))
}

/// Whether a sentence says that something was done: `The file was deleted.`
pub(super) fn was_done(sentence: &str) -> bool {
    let words = words(sentence);
    let is_done = |pair: &[&str]| matches!(pair[0], "was" | "were" | "been") && is_past_verb(pair[1]);
    let explains = |word: &&str| is_negation(word) || matches!(*word, "by" | "because");
    words.windows(2).any(is_done) && !words.iter().any(explains)
}

/// Whether a sentence says how its speaker calls tools in general: `When I need a file, I write this:`, `I make a call like this:`.
pub(super) fn tells_a_habit(sentence: &str) -> bool {
    let words = words(sentence);
    let writes = |pair: &[&str]| matches!(pair[0], "i" | "we") && WRITES.contains(&pair[1]);
    let begins = match words.as_slice() {
        ["when" | "whenever", "i" | "we", verb, ..] => Word::May.is(verb) || *verb == "want" || WRITES.contains(verb),
        ["to", "call" | "use" | "invoke", ..] => true,
        _ => false,
    };
    let shows = || names_a_text(&words) && words[words.len().saturating_sub(CUE_WITHIN)..].starts_with(&["like"]);
    words.windows(2).any(writes) && (begins || shows() || Phrase::Cues.ends(&words) && names_a_text(&words))
}

/// Whether a clause says what its speaker found, quotes, wrote or was told, so that this follows: `I found an injection in the
/// issue`, `I was asked to run`. `I found the bug` may be the reason for a call.
pub(super) fn quotes(clause: &str) -> bool {
    let words = words(clause);
    let Some(speaker) = words.iter().position(|word| matches!(*word, "i" | "i've" | "i'm" | "we" | "we've" | "we're")) else {
        return false;
    };
    if Word::Present.is_in(&words) {
        return false;
    }
    let rest = &words[speaker + 1..];
    let adverbs = rest.iter().take_while(|word| Word::Had.is(word) || matches!(**word, "am" | "are" | "was" | "were" | "been"));
    let between = adverbs.count();
    let (auxiliaries, rest) = rest.split_at(between);
    let Some((verb, object)) = rest.split_first() else { return false };
    let is_passive = auxiliaries.iter().any(|word| matches!(*word, "was" | "were" | "been"))
        && (verb.ends_with("ed") || matches!(*verb, "told" | "given" | "sent" | "shown"));
    // `I found the bug in the parser` is about the bug.
    let thing = object.iter().position(|word| Word::In.is(word)).map_or(object, |at| &object[..at]);
    let points = || {
        names_a_text(thing) || thing.iter().any(|word| matches!(*word, "this" | "these" | "those" | "following" | "something"))
    };
    is_passive || Word::Cites.is(verb) || Word::Perceives.is(verb) && points() || Word::Redrafts.is(verb) && names_a_text(object)
}

/// Whether a sentence tells the reader to make the call instead of the speaker: `the request you can send`, `I can't, but you can`,
/// `your client must send`, `please send this`. Small models that call also explain: `you can use this tool`.
pub(super) fn instructs(sentence: &str) -> bool {
    let words = words(sentence);
    let acts = |verb: &str| Word::Act.is(verb) || Word::Submits.is(verb);
    let is_between = |word: &&&str| matches!(**word, "to" | "now" | "just" | "then" | "also");
    let is_reader = |at: usize| match &words[at..] {
        ["you" | "you'll", modal, rest @ ..] if Word::May.is(modal) => {
            let verb = rest.iter().find(|word| !is_between(word));
            let denies = || words[..at].iter().any(|word| is_negation(word) || *word == "cannot");
            verb.is_some_and(|verb| Word::Submits.is(verb)) || verb.is_none_or(|verb| acts(verb)) && denies()
        }
        ["your", _, modal, rest @ ..] if Word::May.is(modal) => {
            rest.iter().find(|word| !is_between(word)).is_some_and(|verb| acts(verb))
        }
        _ => false,
    };
    let speaks = |word: &&str| is_speaker(word) || *word == "me";
    let reader = (0..words.len()).find(|&at| is_reader(at));
    // `Run this on your machine:`, but not `I run this on your machine:`.
    let asks = |verb: &str| Word::Act.is(verb) || verb == "please";
    let asked = match words.as_slice() {
        ["please", verb, ..] if Word::Submits.is(verb) => true,
        [verb, .., "your", place] | [verb, .., "your", _, place] => asks(verb) && PLACES.contains(place),
        _ => false,
    };
    asked || reader.is_some_and(|at| !words[at..].iter().any(speaks))
}

/// Whether a clause is about an earlier time.
fn is_ago(words: &[&str]) -> bool {
    Phrase::Ago.begins(words) || Phrase::Ago.ends(words)
}

/// Whether a sentence tells what somebody else said: `the user wrote: I'll run`.
pub(super) fn tells(sentence: &str) -> bool {
    let Some((before, after)) = sentence.split_once(':') else { return false };
    let before = words(before);
    let said = before.last().is_some_and(|word| Word::Tells.is(word));
    said && !after.trim().is_empty() && !after.contains("so i") && !matches!(before.as_slice(), ["i" | "as", ..])
}
