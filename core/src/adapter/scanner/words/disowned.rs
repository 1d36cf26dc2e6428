//! Whether the words before a call say that it is not the model's: it is an example, a report, refused, or only possible.

use super::{
    asks::{asks_for_permission, leaves_it_to_the_user, requests_an_answer},
    clauses::{clauses, plain, without_quotes, words},
    describes::explains_a_call,
    english::{Phrase, Word, is_negation},
    labels::{equates, is_heading, is_only_a_text, judges, names_data, names_no_call, shows_a_copy, without_count},
    languages::Says,
    reported::{reports_passively, was_done},
    retracts::shows_an_example,
    signs::last_sentence,
    subject::{is_about_a_text, is_speaker, names_a_text, sets_to_work},
};

/// A sentence of at most this many words that names an example shows one: `Här är ett exempel.`
const EXAMPLE_WORDS: usize = 4;
/// A clause that points at the call has at most this many words after the first.
const POINTER_WORDS: usize = 6;
/// In a sentence that only shows something.
const EXAMPLES: [&str; 2] = ["for example", "for instance"];
/// Beginnings of such a sentence.
const FOR_THE_RECORD: [&str; 3] = ["for the record", "for reference", "for your reference"];
/// Stems of verbs for calling and writing.
const VERBS: [&str; 13] =
    ["call", "use", "using", "run", "ran", "writ", "wrote", "send", "sent", "execut", "invok", "mak", "made"];

/// Whether the words before a value say that it is an example, a result or somebody else's, or that it is not called.
pub(crate) fn is_disowned(head: &str) -> bool {
    let line = plain(head);
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '*' | '`'));
    let sentence = last_sentence(line.trim_end_matches(['.', '!', '?', ';', ' ']));
    let clause = main_clause(sentence);
    let said = Said {
        sentence,
        clause,
        parts: clause.split_whitespace().collect(),
        is_sentence: head.trim_end().ends_with('.'),
        acts_now: sets_to_work(clause),
    };
    let (all, main) = (words(sentence), words(clause));
    said.denies_a_call()
        || said.calls_nothing()
        || said.ran_already()
        || Phrase::NoCase.begins(&all)
        || said.is_report()
        || explains_a_call(line)
        || said.is_told()
        || (!said.acts_now && leaves_it_to_the_user(&all))
        || (!said.acts_now && (Phrase::Shows.begins(&all) || said.is_refused() || said.names_an_example()))
        || Phrase::Labels.is(&main) && main.join(" ") == clause
        || is_only_a_text(&main)
        || names_data(&all)
        || is_heading(head) && names_no_call(&main)
        || shows_a_copy(&all)
        || asks_for_permission(&without_quotes(clause, '"'))
        || requests_an_answer(clause)
        || said.names_a_foreign_example()
        || said.leads_to_an_example(line)
        || equates(&all)
        || !said.is_sentence && judges(&main)
        || clause.contains("format of") && clause.ends_with(" is")
        || Phrase::Looks.ends(&main)
        || (!said.is_sentence && (is_wrong(&main) || Phrase::Looks.is_in(&main)))
}

/// `Wrong`, `this call is wrong`, but not `the port is wrong`.
fn is_wrong(words: &[&str]) -> bool {
    words.contains(&"wrong") && (words.first() != Some(&"the") || is_about_a_text(words))
}

/// Whether a line denies or reports the call before a last clause that only points at it: `This is a demonstration. Here's the
/// call:`. The words before that clause do not count if their subject is a thing: `The server is not running. Here's the call:`.
/// `is_supposed`: whether a text says that the call is not made.
pub(crate) fn is_disowned_before_pointer(line: &str, is_supposed: &dyn Fn(&str) -> bool) -> bool {
    let Some(before) = before_pointer(line) else { return false };
    let plain = plain(before);
    let sentence = last_sentence(&plain);
    let said = words(sentence);
    // `The server is not running.`
    let is_thing = said.first().is_some_and(|first| {
        (Word::Determiner.is(first) || Word::Whose.is(first)) && !Word::Pointer.is(first) && !is_about_a_text(&said)
    });
    was_done(sentence) || !is_thing && is_supposed(before)
}

/// What a line says before such a clause.
fn before_pointer(line: &str) -> Option<&str> {
    let ends = |c: char| matches!(c, '.' | '!' | ',' | ';' | '。' | '！' | '，');
    let said = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '：' | '*' | '.' | '!'));
    let (at, end) = said.char_indices().rfind(|(_, c)| ends(*c))?;
    let (before, last) = said.split_at(at + end.len_utf8());
    let last = plain(last);
    let last = words(&last);
    let last = last.strip_prefix(&["but"]).unwrap_or(&last);
    let is_pointer = match last {
        ["here" | "here's", rest @ ..] => rest.len() < POINTER_WORDS,
        _ => last.len() < POINTER_WORDS && Says::Calls.is_in(&last.join(" ")) && !Says::Acts.is_in(&last.join(" ")),
    };
    is_pointer.then_some(before)
}

/// The last clause that does not only explain another one, without its bullet and count: `I did not run this, because it may be
/// wrong`, `I do not use the index but read`.
fn main_clause(sentence: &str) -> &str {
    let is_main = |clause: &&str| !clause.trim().is_empty() && !Phrase::Subordinate.begins(&words(clause));
    let clause = sentence.rsplit(',').find(is_main).unwrap_or_default();
    let clause = [" but ", " so "].iter().fold(clause, |clause, word| clause.rsplit(word).next().unwrap_or_default());
    without_count(clause.trim_start_matches(['#', '*', ' ']))
}

/// Whether a word is a form of a verb for calling or writing.
fn acts(word: &str) -> bool {
    VERBS.iter().any(|verb| word.starts_with(verb))
}

/// The last sentence before a call.
struct Said<'l> {
    sentence: &'l str,
    /// Its main clause.
    clause: &'l str,
    /// The words of the main clause, with the signs around them.
    parts: Vec<&'l str>,
    /// Whether it is whole: `The value is wrong.` is a reason for a call.
    is_sentence: bool,
    /// Whether it says what the model does now: `Let me run the example.`
    acts_now: bool,
}

impl Said<'_> {
    /// `I am not allowed to run this:`, `I have already run it:`, `It should have read:`
    fn denies_a_call(&self) -> bool {
        // Not `what she already wrote`.
        let is_own = |at: usize| {
            let before = at.checked_sub(1).map(|at| self.parts[at]);
            before.is_none_or(|word| is_speaker(word) || matches!(word, "have" | "has" | "was" | "were" | "been" | "is"))
        };
        let denies = |at: usize, word: &str| is_negation(word) || word == "already" && is_own(at);
        let acts_on =
            |at: usize| Word::Auxiliary.skip(&self.parts[at + 1..]).first().is_some_and(|act| acts(act) || *act == "do");
        let is_other = |act: &str| acts(act) || matches!(act, "read" | "been" | "looked" | "said");
        let is_past = |three: &[&str]| matches!(three, ["could" | "would" | "should", "have", act] if is_other(act));
        self.parts.iter().enumerate().any(|(at, word)| denies(at, word) && acts_on(at)) || self.parts.windows(3).any(is_past)
    }

    /// `No command will be run.`, `I make no call:`
    fn calls_nothing(&self) -> bool {
        let is_call = |word: &str| Word::Call.is(word) || matches!(word, "tool" | "tools" | "command" | "commands" | "function");
        let none_is_made = |at: usize| match &self.parts[at + 1..] {
            [call] | [call, "here" | "now" | "yet"] => is_call(call) && at > 0 && acts(self.parts[at - 1]),
            [call, be, rest @ ..] => {
                is_call(call) && (Word::Be.is(be) || Word::Modal.is(be)) && rest.iter().any(|word| acts(word))
            }
            [] => false,
        };
        self.parts.iter().enumerate().any(|(at, word)| *word == "no" && none_is_made(at))
    }

    /// `I already ran this, so it is gone:`
    fn ran_already(&self) -> bool {
        let ran = |four: &[&str]| {
            is_speaker(four[0]) && four[1] == "already" && Word::Acted.is(four[2]) && matches!(four[3], "this" | "that" | "it")
        };
        words(self.sentence).windows(4).any(ran)
    }

    /// `I decline to run it:`, but not `Both orders are cancelled now.`
    fn is_refused(&self) -> bool {
        let own = self.parts.iter().any(|word| is_speaker(word) || matches!(*word, "this" | "call" | "it"));
        Word::Refuses.is_in(&self.parts) && !self.parts.contains(&"now") && (own || !self.is_sentence)
    }

    /// `Done. I have just executed this:`: a report of a call and nothing else. `I run` is the present.
    fn is_report(&self) -> bool {
        let ["i" | "i've", rest @ ..] = self.parts.as_slice() else { return false };
        let mut rest = rest.iter().skip_while(|word| ["have", "had", "just", "then"].contains(word));
        let has = self.parts[0] == "i've" || self.parts.get(1) == Some(&"have");
        rest.next().is_some_and(|act| Word::Acted.is(act) && (has || *act != "run"))
            && rest
                .all(|word| ["this", "that", "it", "the", "following", "command", "earlier", "already", "before"].contains(word))
    }

    /// `Here is what I ran.`, `The call that was made:`, `Run it yourself.`
    fn is_told(&self) -> bool {
        let ran = matches!(self.parts.as_slice(), [.., "what", "i" | "we", act] if Word::Acted.is(act));
        ran || reports_passively(&words(self.clause)) || self.parts.last() == Some(&"yourself")
    }

    /// `An example of a call`. `The example file` names a file, and `an example of a race condition.` is none of a call.
    fn names_an_example(&self) -> bool {
        let of = |next: Option<&&str>| next.is_none_or(|next| matches!(*next, "of" | "call" | "calls" | "usage" | "for" | "how"));
        let is_yours = |at: usize| at > 0 && matches!(self.parts[at - 1], "your" | "that" | "this");
        let of_a_thing = |rest: &[&str]| self.is_sentence && rest.first() == Some(&"of") && !is_about_a_text(rest);
        let is_example = |(at, word): (usize, &&str)| {
            let rest = &self.parts[at + 1..];
            matches!(*word, "example" | "examples") && of(rest.first()) && !is_yours(at) && !of_a_thing(rest)
        };
        self.parts.iter().enumerate().any(is_example) || clauses(self.sentence).any(|clause| shows_an_example(&words(clause)))
    }

    /// `Nur ein Beispiel, ich rufe nichts auf:`. A whole sentence must be short or point at the call.
    fn names_a_foreign_example(&self) -> bool {
        let names = |clause: &str| {
            Says::Example.before(clause).any(|before| !Says::Of.is_in(before.split_whitespace().next_back().unwrap_or_default()))
        };
        let points = || {
            let points = [Says::This, Says::Only, Says::Calls, Says::Runs].iter().any(|says| says.is_in(self.sentence));
            points || self.parts.len() <= EXAMPLE_WORDS
        };
        if self.is_sentence { names(self.clause) && points() } else { names(self.sentence) }
    }

    /// `According to the manual,`, `For example,`, `such as`.
    fn leads_to_an_example(&self, line: &str) -> bool {
        let begins = |text: &str, phrases: &[&str]| phrases.iter().any(|phrase| text.starts_with(phrase));
        let is_manual = || names_a_text(&self.parts) || self.parts.contains(&"docs");
        let is_within = || EXAMPLES.iter().any(|phrase| self.sentence.contains(phrase));
        let is_example = || !self.is_sentence && (is_within() || begins(self.sentence.trim_start(), &FOR_THE_RECORD));
        begins(self.clause, &["instead of", "rather than", "contents of", "previously", "earlier", "going by"])
            || (!self.acts_now && (is_example() || line.starts_with("according to ") && is_manual()))
            || ["such as", "e.g", "e.g."].iter().any(|words| line.ends_with(words))
    }
}
