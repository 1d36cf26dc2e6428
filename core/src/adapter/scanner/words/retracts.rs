//! English sentences after a call that take it back: they cancel it, deny that it is made, call it an example or wrong, or ask
//! for permission first. Each rule needs a word for the call: "this", "it", "that call".

use super::{
    asks::{leaves_it_to_the_user, waits_for_consent},
    clauses::{begins, clauses, ends, holds, words},
    english::{Phrase, Word, is_negation},
    labels::is_caption,
    subject::{is_about_a_text, is_speaker},
};

/// Whether an English sentence takes back the call before it. `first`: it is the first one after the call.
pub(super) fn retracts(sentence: &str, first: bool) -> bool {
    let all = words(sentence);
    let permission = |clause: &str| Phrase::Asks.begins(Word::Filler.skip(&words(clause)));
    let asked = sentence.trim_end().ends_with('?') && clauses(sentence).any(permission);
    let waits = (leaves_it_to_the_user(&all) || holds(&all, "without asking") || asked) && !adds(&all)
        || waits_for_consent(&all)
        || supposes(&all);
    let turns_away = !Word::Plan.is_in(&all) && clauses(sentence).any(|clause| turns(&words(clause)));
    // `Oops, I also noticed a typo.`
    let interrupts = first && !adds(&all) && clauses(sentence).any(|clause| Phrase::Interjections.is(&words(clause)));
    let redoes = || Phrase::Redoes.is_in(&all) || clauses(sentence).next().is_some_and(|clause| is_caption(&words(clause)));
    waits
        || Phrase::Retracts.is_in(&all)
        || turns_away
        || interrupts
        || (first && redoes())
        || clauses(sentence).any(|clause| is_against(&words(clause), first))
}

/// Whether the words of a sentence are about something more than the call: `Should I also update the docs?`
pub(super) fn adds(words: &[&str]) -> bool {
    Word::More.is_in(words) || words.contains(&"afterwards") || holds(words, "as well")
}

/// `What I would run`, `how it would look`.
fn supposes(words: &[&str]) -> bool {
    let would = words.iter().position(|word| matches!(*word, "would" | "i'd"));
    would.is_some_and(|at| words[at.saturating_sub(SUPPOSED_WITHIN)..at].iter().any(|word| matches!(*word, "what" | "how")))
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
    let is_later = || Phrase::Later.ends(words) || words.contains(&"yourself");
    let rest = Word::Filler.skip(words);
    let rest = rest.strip_prefix(&["will"]).unwrap_or(rest);
    matches!(rest, [act, what, ..] if Word::Act.is(act) && Word::Pronoun.is(what)) && is_later()
}

/// `Only run it once you have a backup`.
fn limits(words: &[&str]) -> bool {
    matches!(words, ["only", act, what, ..] if Word::Act.is(act) && Word::Pronoun.is(what))
}

/// `Please ignore that call`, `I retract this`.
fn cancels(words: &[&str]) -> bool {
    // `To cancel it, press ..` is advice.
    let rest = Word::Filler.skip(words);
    if let ["never", "mind", object @ ..] = rest {
        return means_the_call(object);
    }
    words.first() != Some(&"to") && rest.split_first().is_some_and(|(verb, rest)| Word::Cancels.is(verb) && means_the_call(rest))
}

/// `Don't run that`, `let's not do it`, `I won't actually execute this`, `I should not have written that`.
fn refuses(words: &[&str]) -> bool {
    if holds(words, "let's not") || holds(words, "better not") || holds(words, "rather not") {
        return true;
    }
    words.iter().enumerate().any(|(at, word)| {
        let speaks = words[..at].iter().all(|word| Word::Filler.is(word) || Word::Modal.is(word));
        let rest = skip_adverbs(&words[at + 1..]);
        let undone = matches!(rest, ["have", act, ..] if Word::Acted.is(act)) && !Word::More.is_in(rest);
        let acts =
            rest.split_first().is_some_and(|(act, rest)| (Word::Act.is(act) || Word::Acted.is(act)) && means_the_call(rest));
        is_negation(word) && speaks && (undone || acts)
    })
}

/// `The above must not be executed`, `that call was not supposed to be there`, `no call is needed`, `nothing was run`.
fn is_denied(words: &[&str]) -> bool {
    let nothing = words
        .windows(2)
        .any(|pair| matches!(pair, ["nothing", next] if *next != "there") || matches!(pair, ["no", "call" | "calls" | "tool"]))
        && (Word::Denied.is_in(words) || Word::Acted.is_in(words) || words.contains(&"needed"));
    let negation = words.iter().position(|word| is_negation(word));
    let said = negation.is_some_and(|at| {
        let points = words[..at].iter().any(|word| Word::Pointer.is(word) || Word::Call.is(word) || Word::Be.is(word));
        let rest = skip_adverbs(&words[at + 1..]);
        let is_call = Word::Call.is_in(&words[..at]);
        points && !is_somebodys(&words[..at]) && denies_a_call(rest, is_call)
    });
    nothing || said
}

/// Whether the words after a negation say that the call is not made: `been executed`. `is_call`: a word before the negation names
/// the call. Otherwise `called`, `run in production` and `run the slow tests` do not count.
fn denies_a_call(rest: &[&str], is_call: bool) -> bool {
    let Some((verb, after)) = rest.split_first() else { return false };
    let is_verb = Word::Denied.is(verb) || *verb == "call";
    let is_code = !is_call
        && (*verb == "called"
            || after.first().is_some_and(|next| Word::Place.is(next) || Word::More.is(next))
            || matches!(after, ["the" | "a" | "any" | "all", next, ..] if !Word::Call.is(next)));
    is_verb && !is_code
}

/// Whether the words before a negation name a subject other than a call: `the folder is ..`.
fn is_somebodys(subject: &[&str]) -> bool {
    let named = |pair: &[&str]| matches!(pair, ["the" | "my" | "your" | "this" | "that" | "it's", noun] if !Word::Call.is(noun) && !Word::Be.is(noun) && !Word::Modal.is(noun) && !noun.ends_with("n't"));
    subject.windows(2).any(named)
}

/// `This is only an example`, `the above was just an illustration of the form`.
pub(super) fn shows_an_example(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, noun)| {
        let before = &words[..at];
        let is = before.iter().rposition(|word| Word::Be.is(word) || matches!(*word, "that's" | "it's" | "as" | "meant"));
        let points = |is: usize| words[..=is].iter().any(|word| Word::Pointer.is(word) || Word::Call.is(word));
        // `The same as in the other example.`
        let is_named = |is: usize| !words[is + 1..at].iter().any(|word| matches!(*word, "in" | "from" | "other" | "same"));
        let named = is.is_some_and(|is| at - is <= NAMED_WITHIN && points(is) && is_named(is));
        let is_rest = |word: &&str| Word::Only.is(word) || Word::Filler.is(word) || matches!(*word, "a" | "an");
        // `Just an example.`, `Illustrative only.`
        let only = Word::Only.is_in(before) || matches!(words[at + 1..], [next] if Word::Only.is(next));
        let alone = only && before.iter().all(is_rest);
        // `Consider that an example.`
        let taken = matches!(Word::Filler.skip(words), [verb, object, ..] if Word::Takes.is(verb) && Word::Pronoun.is(object));
        let of = words.get(at + 1) != Some(&"of") || is_about_a_text(&words[at + 2..]) || holds(&words[at + 1..], "of how");
        let ends = of && words.get(at + 1).is_none_or(|next| Word::Of.is(next) || Word::Only.is(next));
        Word::Example.is(noun) && (named || alone || taken) && ends && !before.iter().any(|word| is_negation(word))
    })
}

/// `These are the two formats`, `this is how it is written`, `this is what the model printed`, `that was the call in the log`.
fn shows_a_form(words: &[&str]) -> bool {
    let form = words.iter().position(|word| Word::Form.is(word));
    form.is_some_and(|at| matches!(words[..at], ["this" | "that" | "these" | "those", "is" | "are" | "was" | "were", ..]))
        || matches!(words, ["this" | "that" | "these", "is" | "are" | "was", "how", ..])
        || matches!(words, ["this" | "that", "is" | "was", "what", who, rest @ ..] if *who != "i" && is_about_a_text(rest))
        || matches!(words, ["this" | "that" | "it", "was", "the" | "a" | "an", "call" | "command" | "output" | "answer", ..])
}

/// `That is the wrong folder`, `it was a mistake`, `this is not right`.
fn is_wrong(words: &[&str]) -> bool {
    let says = |at: usize| {
        let points = |word: &str| Word::Pointer.is(word) || Word::Call.is(word);
        let is = words[..at].iter().rposition(|word| Word::Be.is(word) || matches!(*word, "that's" | "it's"));
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
        word => Word::Wrong.is(word) && says(at) && !denied(at),
    })
}

/// `I should use the other one instead`: the model turns to something else.
fn turns(words: &[&str]) -> bool {
    let speaks = words.iter().any(|word| is_speaker(word));
    (speaks && ends(words, &["instead"]))
        || begins(Word::Filler.skip(words), &["instead of that", "instead of this", "instead of it"])
}

/// Whether the object of a verb is the call: a pronoun that no other noun follows, or a word for a call.
fn means_the_call(object: &[&str]) -> bool {
    let is_between = |word: &&&str| matches!(**word, "out" | "to" | "of" | "about" | "all" | "both" | "either");
    match &object[object.iter().take_while(is_between).count()..] {
        [] => true,
        ["what", "i", ..] => true,
        [more, ..] if Word::More.is(more) => false,
        ["anything" | "any", rest @ ..] => !rest.first().is_some_and(|word| Word::More.is(word)),
        [word, rest @ ..] if Word::Pronoun.is(word) || *word == "the" || *word == "my" => match rest {
            [] => *word != "the",
            // `Don't run it as root.`
            ["as" | "for", next, ..] => {
                ["i", "it", "this", "that", "you", "we", "is", "there", "now", "me", "real"].contains(next)
            }
            [next, more @ ..] if ["last", "previous", "first", "tool", "above", "function"].contains(next) => {
                more.first().is_none_or(|next| Word::Call.is(next) || Word::Of.is(next))
            }
            [next, ..] => Word::Call.is(next) || (*word != "the" && *word != "my" && Word::Of.is(next)),
        },
        [word, ..] => Word::Call.is(word) && *word != "one",
    }
}

/// Words after those between a negation and what it denies.
fn skip_adverbs<'l, 'w>(words: &'l [&'w str]) -> &'l [&'w str] {
    let adverbs = words.iter().take_while(|word| Word::Auxiliary.is(word) || Word::Adverb.is(word)).count();
    &words[adverbs..]
}

/// Maximum number of words between a form of "be" and the noun.
const NAMED_WITHIN: usize = 5;
/// "would" follows "what" by fewer than this many words.
const SUPPOSED_WITHIN: usize = 3;
