//! Words of languages other than English, by what they say (`languages.toml`).

use std::{collections::BTreeMap, sync::LazyLock};

use aho_corasick::AhoCorasick;
use serde::Deserialize;

/// What words say. `languages.toml` explains each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Says {
    Acts,
    Speaker,
    First,
    Denies,
    Supposes,
    Past,
    Advises,
    When,
    Asks,
    Awaits,
    Withdraws,
    Waits,
    Example,
    Of,
    Article,
    Calls,
    Presents,
    Steps,
    Is,
    This,
    Only,
    Runs,
    Confirms,
    Errs,
    Corrects,
    Or,
    Choice,
    Then,
    Thus,
    Have,
    Done,
    Later,
    Inside,
    Objects,
    NoVerbs,
    Form,
    Corrected,
    Submits,
    Consent,
    Needs,
    Also,
    Explains,
    Here,
    How,
    Deletes,
    Changes,
}

/// The words of all languages.
static CLASSES: LazyLock<BTreeMap<Says, Class>> = LazyLock::new(|| {
    let mut all: BTreeMap<Says, Vec<Word>> = BTreeMap::new();
    for (says, words) in tables().into_values().flatten() {
        all.entry(says).or_default().extend(words.split(' ').filter_map(Word::new));
    }
    all.into_iter().map(|(says, words)| (says, Class::new(words))).collect()
});

/// The words of one language, separated by spaces.
type Table = BTreeMap<Says, String>;

/// The tables of all languages. A test parses them, so parsing cannot fail here.
fn tables() -> BTreeMap<String, Table> {
    toml::from_str(include_str!("languages.toml")).unwrap_or_default()
}

/// Words that say the same.
struct Class {
    words: Vec<Word>,
    /// Finds their texts. It is always there: a test compiles them.
    texts: Option<AhoCorasick>,
}

/// A word, a phrase, or the beginning or ending of a word.
struct Word {
    text: String,
    /// Whether it counts only at the beginning of a clause.
    leads: bool,
    /// Whether its beginning must be the beginning of a word.
    begins: bool,
    /// Whether its end must be the end of a word.
    ends: bool,
}

impl Says {
    /// Whether a clause or sentence, in lower case, has one of these words.
    pub(super) fn is_in(self, clause: &str) -> bool {
        self.before(clause).next().is_some()
    }

    /// Whether a text, in lower case, is one of these words.
    pub(super) fn is(self, text: &str) -> bool {
        CLASSES.get(&self).is_some_and(|class| class.has(text))
    }

    /// The texts before these words in a clause, in lower case.
    pub(super) fn before(self, clause: &str) -> impl Iterator<Item = &str> {
        CLASSES.get(&self).into_iter().flat_map(move |class| class.before(clause))
    }
}

impl Class {
    fn new(words: Vec<Word>) -> Class {
        let texts = AhoCorasick::new(words.iter().map(|word| &word.text)).ok();
        Class { words, texts }
    }

    fn has(&self, text: &str) -> bool {
        self.texts.iter().flat_map(|texts| texts.find_overlapping_iter(text)).any(|found| found.range() == (0..text.len()))
    }

    fn before<'c>(&'c self, clause: &'c str) -> impl Iterator<Item = &'c str> {
        let found = self.texts.iter().flat_map(move |texts| texts.find_overlapping_iter(clause));
        let words = found.filter_map(|found| Some((self.words.get(found.pattern().as_usize())?, found.span())));
        words
            .map(|(word, at)| (word, &clause[..at.start], &clause[at.end..]))
            .filter(|(word, before, after)| word.fits(before, after))
            .map(|(_, before, _)| before)
    }
}

impl Word {
    fn new(notation: &str) -> Option<Word> {
        let (leads, word) = notation.strip_prefix('^').map_or((false, notation), |word| (true, word));
        let (tail, word) = word.strip_prefix('-').map_or((false, word), |word| (true, word));
        let (head, word) = word.strip_suffix('-').map_or((false, word), |word| (true, word));
        let spaced = !word.contains(is_joined);
        (!word.is_empty()).then(|| Word {
            text: word.replace('_', " "),
            leads,
            begins: spaced && !tail,
            ends: (spaced || tail) && !head,
        })
    }

    /// Whether this word's text, found between `before` and `after` in a clause, counts as the word.
    fn fits(&self, before: &str, after: &str) -> bool {
        // An ending leads as a part of the first word, a word only if others follow.
        let leads = || {
            let before = before.trim();
            if self.begins { before.is_empty() && after.contains(char::is_alphanumeric) } else { !before.contains(' ') }
        };
        (!self.begins || !before.ends_with(is_letter))
            && (!self.ends || !after.starts_with(is_letter))
            && (!self.leads || leads())
    }
}

/// Whether `c` is part of a word.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '\'' || is_sign(c)
}

/// Signs that are parts of words but not letters in Unicode: accents of their own, and vowels of Indic scripts and Thai. The
/// danda (U+0964, U+0965) ends a sentence.
fn is_sign(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}' | '\u{e00}'..='\u{e7f}')
}

/// Whether `c` is of a script without spaces between words, or of Korean: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
pub(super) fn is_dense(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3000}'..='\u{9fff}')
        || matches!(c, '\u{ac00}'..='\u{d7af}')
}

/// Whether `c` is of a script in which a word does not end at a space: also Dravidian and Sinhala, and the joiner of Persian.
fn is_joined(c: char) -> bool {
    is_dense(c) || matches!(c, '\u{b80}'..='\u{dff}' | '\u{200c}' | '：')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found() {
        assert!(tables().len() > 60);
        for (says, class) in CLASSES.iter() {
            for word in &class.words {
                assert_eq!(word.text, word.text.to_lowercase());
                let next = if word.ends { " x" } else { "x" };
                assert!(says.is_in(&format!("{}{next}", word.text)), "{says:?}: {}", word.text);
            }
        }
    }

    #[test]
    fn notations_say_where_a_word_is_found() {
        for (notation, yes, no) in [
            ("nie", "das nie", "niemand"),
            ("no_voy", "hoy no voy", "no voyage"),
            ("^wenn", " wenn du willst", "nur wenn du willst"),
            ("^si", "si quieres", "si"),
            ("sita-", "sitafanya", "kisita"),
            ("-yorum", "siliyorum simdi", "yorumlar"),
            ("^-ю", "удаляю файл", "файл удаляю"),
            ("我", "现在我来", "现在"),
            ("-ます", "消します", "消しますか"),
            ("नहीं", "अभी नहीं।", "नहींतो"),
        ] {
            let class = Class::new(Word::new(notation).into_iter().collect());
            assert!(class.before(yes).next().is_some(), "{notation}: {yes}");
            assert!(class.before(no).next().is_none(), "{notation}: {no}");
        }
    }
}
