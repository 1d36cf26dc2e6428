//! Sentences, clauses and words of a text in lower case.

use super::languages::is_letter;

/// Signs that end a sentence.
pub(super) const STOPS: [char; 10] = ['.', '!', '?', ';', '…', '。', '！', '？', '؟', '।'];
/// Signs that separate the clauses of a sentence in many languages.
pub(super) const COMMAS: [char; 4] = [',', '，', '،', '、'];
/// The same and others, for English.
const SEPARATORS: [char; 14] = [',', ';', ':', '—', '–', '(', ')', '\n', '，', '、', '：', '،', '（', '）'];

/// A text in lower case, with plain apostrophes.
pub(super) fn plain(text: &str) -> String {
    text.to_lowercase().replace('\u{2019}', "'")
}

/// A text without the parts between two of these quotes: `The error says "do not run as root".`
pub(super) fn without_quotes(text: &str, quote: char) -> String {
    let parts: Vec<&str> = text.split(quote).collect();
    // The last quote may have no partner.
    let open = parts.len().is_multiple_of(2).then_some(parts.len() - 1);
    parts.iter().enumerate().filter(|(at, _)| at % 2 == 0 || Some(*at) == open).map(|(_, part)| *part).collect()
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()).collect()
}

/// The sentences of a text, with the signs that end them. A full stop within a word does not count.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = |(at, c): &(usize, char)| match c {
            '.' | '!' | '?' | ';' => rest[at + 1..].chars().next().is_none_or(|next| !next.is_alphanumeric()),
            '\n' => rest[at + 1..].starts_with('\n'),
            c => STOPS.contains(c),
        };
        let end = rest.char_indices().find(ends).map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        (end > 0).then_some(sentence)
    })
    .filter(|sentence| sentence.contains(char::is_alphabetic))
}

/// The clauses of a sentence. A dash between spaces separates them too.
pub(super) fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let parts = sentence.split(SEPARATORS).flat_map(|part| part.split(" - "));
    parts.filter(|clause| clause.contains(char::is_alphabetic))
}

/// The text after the last comma that separates clauses.
pub(super) fn last_clause(sentence: &str) -> &str {
    sentence.rsplit(COMMAS).next().unwrap_or_default()
}

/// Whether these words, in this order and without others between them, are among `words`.
pub(super) fn holds(words: &[&str], phrase: &str) -> bool {
    position(words, phrase).is_some()
}

/// Where these words, in this order and without others between them, begin.
pub(super) fn position(words: &[&str], phrase: &str) -> Option<usize> {
    let count = phrase.split(' ').count();
    words.windows(count).position(|window| window.iter().copied().eq(phrase.split(' ')))
}

/// Whether `words` begin with one of these phrases.
pub(super) fn begins(words: &[&str], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| position(words, phrase) == Some(0))
}

/// Whether `words` end with one of these phrases.
pub(super) fn ends(words: &[&str], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        let count = phrase.split(' ').count();
        words.len() >= count && words[words.len() - count..].iter().copied().eq(phrase.split(' '))
    })
}
