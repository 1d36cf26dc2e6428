//! English sentences after a call that take it back: they cancel it, deny that it is made, call it an example or wrong, or ask
//! for permission first. Each rule needs a word for the call: "this", "it", "that call".

use super::{
    clauses::{begins, clauses, ends, holds, position, words},
    english::{
        ACTED, ACTS, ADVERBS, ASKED, BE, CALLS, CANCELS, CAPTIONS, CONSENT, CONSENTS, DENIED, EXAMPLES, FILLERS, FORMS, GRANTS,
        INTERJECTIONS, LACKS, LACKS_WHAT, LATER, LEAVES, MODALS, MORE, NEEDS, NOT, OF, ONLY, PERMISSION, PLACES, PLANS, POINTERS,
        PROCEEDS, PRONOUNS, PROPOSES, REDOES, RETRACTS, TAKES, UNTIL, WRONG,
    },
    subject::is_about_a_text,
};

/// Whether an English sentence takes back the call before it. `first`: it is the first one after the call.
pub(super) fn retracts(sentence: &str, first: bool) -> bool {
    let all = words(sentence);
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| holds(&all, phrase));
    let permission = |clause: &str| begins(skip(&words(clause), &FILLERS), &PERMISSION);
    let asked = sentence.trim_end().ends_with('?') && clauses(sentence).any(permission);
    let waits =
        ((any(&PROPOSES) || leaves(&all) || asked) && !adds(&all)) || waits_for_consent(&all) || supposes(&all) || any(&RETRACTS);
    let plans = all.iter().any(|word| PLANS.contains(word));
    let turns_away = !plans && clauses(sentence).any(|clause| turns(&words(clause)));
    // `Oops, I also noticed a typo.`
    let interrupts = first && !adds(&all) && clauses(sentence).any(|clause| is_interjection(&words(clause)));
    waits
        || turns_away
        || interrupts
        || (first && (any(&REDOES) || clauses(sentence).next().is_some_and(|clause| is_caption(&words(clause)))))
        || clauses(sentence).any(|clause| is_against(&words(clause), first))
}

/// Whether the words of a sentence are about something more than the call: `Should I also update the docs?`
pub(super) fn adds(words: &[&str]) -> bool {
    words.iter().any(|word| MORE.contains(word))
}

/// `Tell me if I should run it`, not `Tell me if I should change something`.
fn leaves(words: &[&str]) -> bool {
    let left = LEAVES.iter().filter_map(|phrase| Some(&words[position(words, phrase)? + phrase.split(' ').count()..]));
    left.into_iter().any(|rest| rest.first().is_none_or(|act| ACTS.contains(act) || PROCEEDS.contains(act)))
}

fn is_interjection(words: &[&str]) -> bool {
    INTERJECTIONS.iter().any(|sign| words.iter().copied().eq(sign.split(' ')))
}

/// `Until you confirm`, `without your permission`.
pub(super) fn waits_for_consent(words: &[&str]) -> bool {
    let until = |three: &[&str]| UNTIL.contains(&three[0]) && three[1] == "you" && CONSENTS.contains(&three[2]);
    let needs = |(at, pair): (usize, &[&str])| {
        pair[0] == "your" && CONSENT.contains(&pair[1]) && words[..at].iter().any(|word| NEEDS.contains(word))
    };
    // `Awaiting confirmation`, `requires the user's approval`.
    let lacks = |(at, word): (usize, &&str)| {
        LACKS.contains(word) && skip(&words[at + 1..], &LACKS_WHAT).first().is_some_and(|noun| GRANTS.contains(noun))
    };
    words.windows(3).any(until) || words.windows(2).enumerate().any(needs) || words.iter().enumerate().any(lacks)
}

/// `What I would run`, `how it would look`.
fn supposes(words: &[&str]) -> bool {
    let would = words.iter().position(|word| matches!(*word, "would" | "i'd"));
    would.is_some_and(|at| words[at.saturating_sub(SUPPOSED_WITHIN)..at].iter().any(|word| ASKED.contains(word)))
}

/// Whether the words of a clause are the caption of a listing, or number data: `Listing 1`, `Case 3`.
pub(super) fn is_caption(words: &[&str]) -> bool {
    matches!(words, [name, number] if CAPTIONS.contains(name) && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the words of a clause speak against a call.
fn is_against(words: &[&str], first: bool) -> bool {
    // `You may see warnings; ignore them.`
    let means_others = !first && words.last() == Some(&"them");
    (!means_others && cancels(words))
        || refuses(words)
        || is_denied(words)
        || shows_an_example(words)
        || shows_a_form(words)
        || limits(words)
        || is_put_off(words)
        || is_wrong(words)
}

/// `I will run this tomorrow`, `run this yourself`.
fn is_put_off(words: &[&str]) -> bool {
    let is_later = || LATER.iter().any(|time| ends(words, &[time])) || words.contains(&"yourself");
    let rest = skip(words, &FILLERS);
    let rest = rest.strip_prefix(&["will"]).unwrap_or(rest);
    matches!(rest, [act, what, ..] if ACTS.contains(act) && PRONOUNS.contains(what)) && is_later()
}

/// `Only run it once you have a backup`.
fn limits(words: &[&str]) -> bool {
    matches!(words, ["only", act, what, ..] if ACTS.contains(act) && PRONOUNS.contains(what))
}

/// `Please ignore that call`, `I retract this`.
fn cancels(words: &[&str]) -> bool {
    // `To cancel it, press ..` is advice.
    let rest = skip(words, &FILLERS);
    if let ["never", "mind", object @ ..] = rest {
        return means_the_call(object);
    }
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
    let nothing = words
        .windows(2)
        .any(|pair| matches!(pair, ["nothing", next] if *next != "there") || matches!(pair, ["no", "call" | "calls" | "tool"]))
        && words.iter().any(|word| DENIED.contains(word) || ACTED.contains(word) || *word == "needed");
    let negation = words.iter().position(|word| is_negation(word));
    let said = negation.is_some_and(|at| {
        let points = words[..at].iter().any(|word| POINTERS.contains(word) || CALLS.contains(word) || BE.contains(word));
        let rest = skip(&words[at + 1..], &ADVERBS);
        let is_call = words[..at].iter().any(|word| CALLS.contains(word));
        points && !is_somebodys(&words[..at]) && denies_a_call(rest, is_call)
    });
    nothing || said
}

/// Whether the words after a negation say that the call is not made: `been executed`. `is_call`: a word before the negation names
/// the call. Otherwise `called`, `run in production` and `run the slow tests` do not count.
fn denies_a_call(rest: &[&str], is_call: bool) -> bool {
    let Some((verb, after)) = rest.split_first() else { return false };
    let is_verb = DENIED.contains(verb) || *verb == "call";
    let is_code = !is_call
        && (*verb == "called"
            || after.first().is_some_and(|next| PLACES.contains(next) || MORE.contains(next))
            || matches!(after, ["the" | "a" | "any" | "all", next, ..] if !CALLS.contains(next)));
    is_verb && !is_code
}

/// Whether the words before a negation name a subject other than a call: `the folder is ..`.
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
        // `The same as in the other example.`
        let is_named = |is: usize| !words[is + 1..at].iter().any(|word| matches!(*word, "in" | "from" | "other" | "same"));
        let named = is.is_some_and(|is| at - is <= NAMED_WITHIN && points(is) && is_named(is));
        let is_rest = |word: &&str| ONLY.contains(word) || FILLERS.contains(word) || matches!(*word, "a" | "an");
        // `Just an example.`, `Illustrative only.`
        let only = before.iter().any(|word| ONLY.contains(word)) || matches!(words[at + 1..], [next] if ONLY.contains(&next));
        let alone = only && before.iter().all(is_rest);
        // `Consider that an example.`
        let taken = matches!(skip(words, &FILLERS), [verb, object, ..] if TAKES.contains(verb) && PRONOUNS.contains(object));
        let of = words.get(at + 1) != Some(&"of") || is_about_a_text(&words[at + 2..]) || holds(&words[at + 1..], "of how");
        let ends = of && words.get(at + 1).is_none_or(|next| OF.contains(next) || ONLY.contains(next));
        EXAMPLES.contains(noun) && (named || alone || taken) && ends && !before.iter().any(|word| is_negation(word))
    })
}

/// `These are the two formats`, `this is how it is written`, `this is what the model printed`, `that was the call in the log`.
fn shows_a_form(words: &[&str]) -> bool {
    let form = words.iter().position(|word| FORMS.contains(word));
    form.is_some_and(|at| matches!(words[..at], ["this" | "that" | "these" | "those", "is" | "are" | "was" | "were", ..]))
        || matches!(words, ["this" | "that" | "these", "is" | "are" | "was", "how", ..])
        || matches!(words, ["this" | "that", "is" | "was", "what", who, rest @ ..] if *who != "i" && is_about_a_text(rest))
        || matches!(words, ["this" | "that" | "it", "was", "the" | "a" | "an", "call" | "command" | "output" | "answer", ..])
}

/// `That is the wrong folder`, `it was a mistake`, `this is not right`.
fn is_wrong(words: &[&str]) -> bool {
    let says = |at: usize| {
        let points = |word: &str| POINTERS.contains(&word) || CALLS.contains(&word);
        let is = words[..at].iter().rposition(|word| BE.contains(word) || matches!(*word, "that's" | "it's"));
        is.is_some_and(|is| at - is <= NAMED_WITHIN && (points(words[is]) || (is > 0 && points(words[is - 1]))))
    };
    // `This is a common mistake.` is about the code.
    let is_own = |at: usize| at == 0 || matches!(words[at - 1], "a" | "an" | "the" | "my" | "by");
    let mistakes = |at: usize| {
        is_own(at) && words.get(at + 1).is_none_or(|next| !matches!(*next, "in" | "of" | "on" | "with" | "that" | "by"))
    };
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
            // `Don't run it as root.`
            ["as" | "for", next, ..] => {
                ["i", "it", "this", "that", "you", "we", "is", "there", "now", "me", "real"].contains(next)
            }
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

/// Maximum number of words between a form of "be" and the noun.
const NAMED_WITHIN: usize = 5;
/// "would" follows "what" by fewer than this many words.
const SUPPOSED_WITHIN: usize = 3;
