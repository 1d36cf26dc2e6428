//! English sentences after a call that take it back: they cancel it, deny that it is made, call it an example or wrong, or ask
//! for permission first. Each rule needs a word for the call: "this", "it", "that call".

use super::{
    clauses::{begins, clauses, ends, holds, words},
    english::{
        ACTED, ACTS, ADVERBS, ASKED, BE, CALLS, CANCELS, CAPTIONS, CONSENT, CONSENTS, DENIED, EXAMPLES, FILLERS, INTERJECTIONS,
        MODALS, MORE, NEEDS, NOT, OF, ONLY, PERMISSION, PLANS, POINTERS, PRONOUNS, PROPOSES, REDOES, RETRACTS, TAKES, UNTIL,
        WRONG,
    },
};

/// Whether an English sentence takes back the call before it. `first`: it is the first one after the call.
pub(super) fn retracts(sentence: &str, first: bool) -> bool {
    let all = words(sentence);
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| holds(&all, phrase));
    let permission = |clause: &str| begins(skip(&words(clause), &FILLERS), &PERMISSION);
    let asked = sentence.trim_end().ends_with('?') && clauses(sentence).any(permission);
    let waits = ((any(&PROPOSES) || asked) && !any(&MORE)) || waits_for_consent(&all) || supposes(&all) || any(&RETRACTS);
    let plans = all.iter().any(|word| PLANS.contains(word));
    let turns_away = !plans && clauses(sentence).any(|clause| turns(&words(clause)));
    waits
        || turns_away
        || (first && (any(&REDOES) || is_caption(&all)))
        || clauses(sentence).any(|clause| is_against(&words(clause), first))
}

/// `Until you confirm`, `without your permission`.
pub(super) fn waits_for_consent(words: &[&str]) -> bool {
    let until = |three: &[&str]| UNTIL.contains(&three[0]) && three[1] == "you" && CONSENTS.contains(&three[2]);
    let needs = |(at, pair): (usize, &[&str])| {
        pair[0] == "your" && CONSENT.contains(&pair[1]) && words[..at].iter().any(|word| NEEDS.contains(word))
    };
    words.windows(3).any(until) || words.windows(2).enumerate().any(needs)
}

/// `What I would run`, `how it would look`.
fn supposes(words: &[&str]) -> bool {
    let would = words.iter().position(|word| matches!(*word, "would" | "i'd"));
    would.is_some_and(|at| words[at.saturating_sub(SUPPOSED_WITHIN)..at].iter().any(|word| ASKED.contains(word)))
}

/// Whether the words of a clause are the caption of a listing: `Listing 1`.
fn is_caption(words: &[&str]) -> bool {
    matches!(words, [name, number, ..] if CAPTIONS.contains(name) && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the words of a clause speak against a call.
fn is_against(words: &[&str], first: bool) -> bool {
    let interrupts = first && INTERJECTIONS.iter().any(|sign| words.iter().copied().eq(sign.split(' ')));
    interrupts || cancels(words) || refuses(words) || is_denied(words) || shows_an_example(words) || is_wrong(words)
}

/// `Please ignore that call`, `I retract this`.
fn cancels(words: &[&str]) -> bool {
    // `To cancel it, press ..` is advice.
    let rest = skip(words, &FILLERS);
    words.first() != Some(&"to") && rest.split_first().is_some_and(|(verb, rest)| CANCELS.contains(verb) && means_the_call(rest))
}

/// `Don't run that`, `let's not do it`, `I won't actually execute this`, `I should not have written that`.
fn refuses(words: &[&str]) -> bool {
    if holds(words, "let's not") || holds(words, "better not") || holds(words, "rather not") {
        return true;
    }
    words.iter().enumerate().any(|(at, word)| {
        let speaks = words[..at].iter().all(|word| FILLERS.contains(word) || MODALS.contains(word));
        let rest = skip(&words[at + 1..], &ADVERBS);
        let undone = matches!(rest, ["have", act, ..] if ACTED.contains(act)) && !rest.iter().any(|word| MORE.contains(word));
        let acts =
            rest.split_first().is_some_and(|(act, rest)| (ACTS.contains(act) || ACTED.contains(act)) && means_the_call(rest));
        is_negation(word) && speaks && (undone || acts)
    })
}

/// `The above must not be executed`, `that call was not supposed to be there`, `no call is needed`, `nothing was run`.
fn is_denied(words: &[&str]) -> bool {
    let nothing = words.windows(2).any(|pair| matches!(pair, ["nothing", _] | ["no", "call" | "calls" | "tool"]))
        && words.iter().any(|word| DENIED.contains(word) || ACTED.contains(word) || *word == "needed");
    let negation = words.iter().position(|word| is_negation(word));
    let said = negation.is_some_and(|at| {
        let points = words[..at].iter().any(|word| POINTERS.contains(word) || CALLS.contains(word) || BE.contains(word));
        let rest = skip(&words[at + 1..], &ADVERBS);
        points && !is_somebodys(&words[..at]) && rest.first().is_some_and(|word| DENIED.contains(word) || *word == "call")
    });
    nothing || said
}

/// Whether the words before a negation name a subject that is no call: `the folder is ..`.
fn is_somebodys(subject: &[&str]) -> bool {
    let named = |pair: &[&str]| matches!(pair, ["the" | "my" | "your" | "this" | "that" | "it's", noun] if !CALLS.contains(noun) && !BE.contains(noun) && !MODALS.contains(noun) && !noun.ends_with("n't"));
    subject.windows(2).any(named)
}

/// `This is only an example`, `the above was just an illustration of the form`.
pub(super) fn shows_an_example(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, noun)| {
        let before = &words[..at];
        let is = before.iter().rposition(|word| BE.contains(word) || matches!(*word, "that's" | "it's" | "as" | "meant"));
        let points = |is: usize| words[..=is].iter().any(|word| POINTERS.contains(word) || CALLS.contains(word));
        let named = is.is_some_and(|is| at - is <= NAMED_WITHIN && points(is));
        // `Just an example.`
        let is_rest = |word: &&str| ONLY.contains(word) || FILLERS.contains(word) || matches!(*word, "a" | "an");
        let alone = before.iter().any(|word| ONLY.contains(word)) && before.iter().all(is_rest);
        // `Consider that an example.`
        let taken = matches!(skip(words, &FILLERS), [verb, object, ..] if TAKES.contains(verb) && PRONOUNS.contains(object));
        let ends = words.get(at + 1).is_none_or(|next| OF.contains(next) || ONLY.contains(next));
        EXAMPLES.contains(noun) && (named || alone || taken) && ends && !before.iter().any(|word| is_negation(word))
    })
}

/// `That is the wrong folder`, `it was a mistake`, `this is not right`.
fn is_wrong(words: &[&str]) -> bool {
    let says = |at: usize| {
        let points = |word: &str| POINTERS.contains(&word) || CALLS.contains(&word);
        let is = words[..at].iter().rposition(|word| BE.contains(word) || matches!(*word, "that's" | "it's"));
        is.is_some_and(|is| at - is <= NAMED_WITHIN && (points(words[is]) || (is > 0 && points(words[is - 1]))))
    };
    let mistakes = |at: usize| words.get(at + 1).is_none_or(|next| !matches!(*next, "in" | "of" | "on" | "with" | "that" | "by"));
    let denied = |at: usize| words[..at].iter().any(|word| is_negation(word));
    words.iter().enumerate().any(|(at, word)| match *word {
        "mistake" | "error" | "slip" => says(at) && mistakes(at) && !denied(at),
        "right" | "correct" => says(at) && denied(at),
        word => WRONG.contains(&word) && says(at) && !denied(at),
    })
}

/// `I should use the other one instead`: the model turns to something else.
fn turns(words: &[&str]) -> bool {
    let speaks = words.iter().any(|word| matches!(*word, "i" | "i'll" | "we" | "let" | "let's" | "i'd"));
    (speaks && ends(words, &["instead"]))
        || begins(skip(words, &FILLERS), &["instead of that", "instead of this", "instead of it"])
}

/// Whether the object of a verb is the call: a pronoun that no other noun follows, or a word for a call.
fn means_the_call(object: &[&str]) -> bool {
    match skip(object, &["out", "to", "of", "about", "all", "both", "either"]) {
        [] => true,
        ["what", "i", ..] => true,
        [more, ..] if MORE.contains(more) => false,
        ["anything" | "any", rest @ ..] => !rest.first().is_some_and(|word| MORE.contains(word)),
        [word, rest @ ..] if PRONOUNS.contains(word) || *word == "the" || *word == "my" => match rest {
            [] => *word != "the",
            [next, more @ ..] if ["last", "previous", "first", "tool", "above", "function"].contains(next) => {
                more.first().is_none_or(|next| CALLS.contains(next) || OF.contains(next))
            }
            [next, ..] => CALLS.contains(next) || (*word != "the" && *word != "my" && OF.contains(next)),
        },
        [word, ..] => CALLS.contains(word) && *word != "one",
    }
}

/// The words after those of `list`.
pub(super) fn skip<'w>(words: &'w [&'w str], list: &[&str]) -> &'w [&'w str] {
    let length = words.iter().take_while(|word| list.contains(word)).count();
    &words[length..]
}

/// Whether a word denies.
pub(super) fn is_negation(word: &str) -> bool {
    NOT.contains(&word) || word.ends_with("n't")
}

/// Between a form of "be" and the noun are at most this many words.
const NAMED_WITHIN: usize = 5;
/// Between "what" and "would" is at most one word fewer than this.
const SUPPOSED_WITHIN: usize = 3;
