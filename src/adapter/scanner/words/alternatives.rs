//! Calls of which the user is to choose one: `Option A`, `Either .. or ..`, `Alternatively:`.

use super::{
    clauses::{begins, words},
    languages::Says,
};

/// English words before another choice.
const OR: [&str; 7] = ["or", "alternatively", "either", "or else", "another option", "or alternatively", "another way"];
/// English labels of a choice.
const OPTIONS: [&str; 6] = ["option", "alternative", "variant", "choice", "possibility", "approach"];
/// Words for several choices.
const SEVERAL: [&str; 7] = ["options", "alternatives", "choices", "possibilities", "variants", "ways", "approaches"];
/// Words that count the choices.
const COUNTS: [&str; 10] = ["two", "three", "four", "several", "some", "few", "following", "2", "3", "these"];
/// Verbs before several choices.
const SEES: [&str; 4] = ["see", "are", "have", "exist"];
/// A label has at most this many words.
const LABEL_WORDS: usize = 4;
/// Words for "or" with other words after them have more bytes than this.
const MIN_OR: usize = 3;

/// Whether a text offers another call in place of the one before or after it: `or`, `Alternatively:`.
pub(super) fn offers_another(text: &str) -> bool {
    let said = words(text);
    let label = said.len() <= LABEL_WORDS && !text.trim_end().ends_with(['.', '!', '。', '！']);
    let first = said.first().copied().unwrap_or_default();
    // `Of course` is not the Dutch "or".
    let leads = |says: Says, text: &str| says.before(text).any(str::is_empty);
    let is_alone = said.len() == 1 || first.len() > MIN_OR;
    label && (begins(&said, &OR) || (is_alone && leads(Says::Or, &said.join(" "))))
}

/// Whether these words are the label of one choice: `Option A`, `Alternative 2 (faster)`.
pub(super) fn is_option(words: &[&str]) -> bool {
    let names = |word: &str| OPTIONS.contains(&word) || Says::Choice.before(word).any(str::is_empty);
    let counts = |word: &str| word.chars().count() == 1 || word.bytes().all(|byte| byte.is_ascii_digit());
    let is_count = |c: char| c.is_ascii_alphanumeric() || matches!(c, '一' | '二' | '三' | '四');
    match words {
        [name] => !name.is_ascii() && names(name) && name.ends_with(is_count),
        [name, number, rest @ ..] => names(name) && counts(number) && rest.len() < LABEL_WORDS,
        [] => false,
    }
}

/// Whether these words say that there are several choices: `I see two options`.
pub(super) fn counts_choices(words: &[&str]) -> bool {
    let rest = words.iter().position(|word| SEES.contains(word)).map_or(&words[..0], |at| &words[at + 1..]);
    matches!(rest, [count, noun, ..] if COUNTS.contains(count) && SEVERAL.contains(noun))
}
