//! Calls of which the user is to choose one: `Option A`, `Either .. or ..`, `Alternatively:`.

use super::{
    clauses::words,
    english::{Phrase, Word},
    languages::Says,
};

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
    label && (Phrase::Or.begins(&said) || (is_alone && leads(Says::Or, &said.join(" "))))
}

/// Whether these words are the label of one choice: `Option A`, `Alternative 2 (faster)`.
pub(super) fn is_option(words: &[&str]) -> bool {
    let names = |word: &str| Word::Choice.is(word) || Says::Choice.before(word).any(str::is_empty);
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
    let rest = words.iter().position(|word| Word::Sees.is(word)).map_or(&words[..0], |at| &words[at + 1..]);
    matches!(rest, [count, noun, ..] if Word::Counts.is(count) && Word::Choices.is(noun))
}
