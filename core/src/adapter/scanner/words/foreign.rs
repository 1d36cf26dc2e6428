//! Clauses in languages other than English, in lower case: who acts, when, and on what condition.

use super::{clauses::words, languages::Says, signs::last_sentence};

/// Signs that separate the clauses of a sentence.
const SEPARATORS: [char; 8] = [',', '，', '،', '、', ':', '：', '—', '–'];
/// A line that only points at a call has at most this many words before it: `Hier ist der richtige Aufruf`.
const HERE_WORDS: usize = 4;
/// A line that continues a plan has at most this many words after the connecting one, and at most this many letters.
const JOINED_WORDS: usize = 2;
const JOINED_LETTERS: usize = 24;
/// A sentence of at most this many words is about the call. Two characters of a script without spaces count as a word.
const SHORT_WORDS: usize = 3;
/// A clause that only names a time has at most this many words.
const TIME_WORDS: usize = 4;

/// Whether a clause mentions its speaker or the present, or says what the speaker does, and neither denies it nor is about the
/// past.
pub(super) fn acts(sentence: &str) -> bool {
    let acts = |clause: &str| {
        let (clause, joined) = after_joint(clause);
        Says::Acts.is_in(clause) || begins_with_an_act(clause, joined)
    };
    sentence.split(SEPARATORS).any(|clause| acts(clause) && !denies(clause) && !is_past(clause))
}

/// Whether a sentence denies something, is hypothetical, depends on a condition, is about the past, or advises the reader.
pub(super) fn is_qualified(sentence: &str) -> bool {
    let main = main_clause(sentence);
    let says = [Says::Denies, Says::Supposes, Says::Later, Says::Form].iter().any(|says| says.is_in(main)) || is_past(main);
    says || is_conditional(sentence) || advises(main)
}

/// Whether a clause says what the reader can do.
pub(super) fn advises(clause: &str) -> bool {
    Says::Advises.is_in(clause) && !acts(clause)
}

/// Whether a clause says what was, or what its speaker has done.
pub(super) fn is_past(clause: &str) -> bool {
    // `Ich habe sie gefunden und lösche sie jetzt`.
    let goes_on = |before: &str| {
        Says::Have.is_in(before) && [Says::Acts, Says::Then].iter().any(|says| says.is_in(&clause[before.len()..]))
    };
    Says::Past.is_in(clause) || (Says::Have.is_in(clause) && Says::Done.before(clause).any(|before| !goes_on(before)))
}

/// Whether a sentence names a later time in its main clause, or in a clause of its own: `La semaine prochaine, ..`.
pub(super) fn is_put_off(sentence: &str) -> bool {
    let is_time = |clause: &str| Says::Later.is_in(clause) && words(clause).len() <= TIME_WORDS;
    Says::Later.is_in(main_clause(sentence)) || sentence.split(SEPARATORS).any(is_time)
}

/// Whether a clause is a condition that is still open.
pub(super) fn is_conditional(sentence: &str) -> bool {
    sentence.split(SEPARATORS).any(|clause| Says::When.is_in(clause))
}

/// The last clause that is not a condition.
pub(super) fn main_clause(sentence: &str) -> &str {
    let is_main = |clause: &&str| clause.contains(char::is_alphabetic) && !Says::When.is_in(clause);
    sentence.rsplit(SEPARATORS).find(is_main).unwrap_or(sentence)
}

/// Whether a question is about a further act: `¿Quieres que avise también al cliente?`
pub(super) fn adds(question: &str) -> bool {
    Says::Also.is_in(question) && !Says::This.is_in(question)
}

/// Whether a sentence says that its speaker explains a call: `Ich erkläre den Aufruf.`
pub(super) fn explains_a_call(sentence: &str) -> bool {
    Says::Explains.is_in(sentence) && Says::Calls.is_in(sentence)
}

/// Whether a clause or sentence denies something.
pub(super) fn denies(clause: &str) -> bool {
    Says::Denies.is_in(clause)
}

/// Whether a sentence names a call, points at one, or says what is done with one.
pub(super) fn speaks_of_a_call(sentence: &str) -> bool {
    [Says::Runs, Says::Calls, Says::This].iter().any(|says| says.is_in(sentence))
}

/// Whether a sentence denies something of a call: it names a call, points at one, says what is done with one, or is too short to
/// be about anything else (`Ingenting raderas.`). `La función nunca se llama.` has a subject of its own.
pub(super) fn denies_a_call(sentence: &str) -> bool {
    let words = words(sentence);
    let is_dense = |c: char| matches!(c, '\u{3040}'..='\u{9fff}');
    let count = words.len().max(sentence.chars().filter(|c| is_dense(*c)).count() / 2);
    let is_thing =
        words.first().is_some_and(|word| Says::Article.is(word) && !Says::This.is(word)) && !Says::Calls.is_in(sentence);
    denies(sentence) && !is_thing && (count <= SHORT_WORDS || speaks_of_a_call(sentence))
}

/// Whether a line is a label of the next step: `Siguiente paso`, `下一步`. `Nächster Schritt` names no later time.
pub(super) fn is_step(sentence: &str) -> bool {
    let shows = [Says::Thus, Says::Example, Says::Calls, Says::Presents, Says::Past, Says::Supposes];
    Says::Steps.is_in(sentence) && !denies(sentence) && !shows.iter().any(|says| says.is_in(sentence))
}

/// Whether a label continues with the next step: `Und die Tests`.
pub(super) fn continues(sentence: &str) -> bool {
    let joins = [Says::Then, Says::First].iter().any(|says| says.is_in(sentence));
    let (rest, joined) = after_joint(sentence);
    let is_short = words(rest).len() <= JOINED_WORDS && sentence.len() <= JOINED_LETTERS * 2;
    let shows = [Says::Thus, Says::Example, Says::Calls, Says::Presents].iter().any(|says| says.is_in(rest));
    joins && (joined || !sentence.is_ascii()) && is_short && !shows && !is_qualified(sentence)
}

/// Whether a line introduces a call in place of a wrong one: `Entschuldigung, hier ist der richtige Aufruf:`, `Der korrigierte
/// Aufruf:`.
pub(super) fn redoes(line: &str) -> bool {
    let shows = || [Says::Presents, Says::Example].iter().any(|says| says.is_in(line));
    let apologises = || Says::Errs.is_in(line) && Says::Corrects.is_in(line);
    (Says::Corrected.is_in(line) || apologises()) && !shows()
}

/// Whether a line only points at the call after it: `Hier ist der Aufruf`.
pub(super) fn presents_a_call(line: &str) -> bool {
    let sentence = last_sentence(line.trim_end_matches([':', '：', ' ']));
    let shows = [Says::Example, Says::Form, Says::How, Says::Of, Says::Supposes, Says::Inside, Says::Later]
        .iter()
        .any(|says| says.is_in(sentence));
    let is_object = || Says::Calls.before(sentence).any(|before| words(before).len() <= HERE_WORDS);
    Says::Here.is_in(sentence) && is_object() && !shows && !is_past(sentence)
}

/// A clause without the words that connect it with the one before it, and whether there were any.
fn after_joint(clause: &str) -> (&str, bool) {
    let whole = clause.trim();
    let mut rest = whole;
    let joins = |text: &str| Says::Then.is(text) || Says::First.is(text);
    loop {
        let ends = rest.char_indices().filter(|(_, c)| matches!(c, ' ' | ',')).map(|(at, _)| at);
        // One word, or two: `así que`.
        let Some(end) = ends.take(2).find(|end| joins(&rest[..*end])) else { return (rest, rest.len() < whole.len()) };
        rest = rest[end..].trim_start_matches([' ', ',']);
    }
}

/// Whether a clause begins with a verb in the first person and an article, or a pronoun and such a verb: `borro el archivo`, `lo
/// ejecuto`. After a word such as "first", no article is needed.
pub(super) fn begins_with_an_act(clause: &str, joined: bool) -> bool {
    let mut words = clause.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_verb = |word: &str| word.len() > 2 && word.ends_with('o') && !Says::NoVerbs.is_in(word);
    let has_an_object = || matches!(first, "lo" | "la" | "los" | "las" | "li" | "le") && is_verb(second);
    has_an_object() || is_verb(first) && (joined || Says::Objects.is_in(second))
}
