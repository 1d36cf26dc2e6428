//! The words of languages other than English which show that the speaker of a line acts, denies, considers or waits
//! (`languages.toml`).

use std::{collections::BTreeMap, sync::LazyLock};

use aho_corasick::AhoCorasick;
use serde::Deserialize;

/// The words of all languages, by what they say.
pub(super) static LANGUAGES: LazyLock<Languages> = LazyLock::new(|| {
    let tables: BTreeMap<String, Table> = toml::from_str(WORDS).unwrap_or_default();
    let class = |words: fn(&Table) -> &str| Class::new(tables.values().flat_map(|table| words(table).split(' ')));
    Languages {
        acts: class(|table| &table.acts),
        first: class(|table| &table.first),
        denies: class(|table| &table.denies),
        supposes: class(|table| &table.supposes),
        past: class(|table| &table.past),
        advises: class(|table| &table.advises),
        when: class(|table| &table.when),
        awaits: class(|table| &table.awaits),
        withdraws: class(|table| &table.withdraws),
        waits: class(|table| &table.waits),
        example: class(|table| &table.example),
    }
});

/// The words of each language.
const WORDS: &str = include_str!("languages.toml");

/// The classes of words, each over all languages. `languages.toml` says what they mean.
pub(super) struct Languages {
    pub(super) acts: Class,
    pub(super) first: Class,
    pub(super) denies: Class,
    pub(super) supposes: Class,
    pub(super) past: Class,
    pub(super) advises: Class,
    pub(super) when: Class,
    pub(super) awaits: Class,
    pub(super) withdraws: Class,
    pub(super) waits: Class,
    pub(super) example: Class,
}

/// Words that say the same.
pub(super) struct Class {
    words: Vec<Word>,
    /// Finds their texts. It is always there: a test compiles them.
    texts: Option<AhoCorasick>,
}

/// The words of one language, separated by spaces.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Table {
    acts: String,
    first: String,
    denies: String,
    supposes: String,
    past: String,
    advises: String,
    when: String,
    awaits: String,
    withdraws: String,
    waits: String,
    example: String,
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

impl Class {
    fn new<'t>(notations: impl Iterator<Item = &'t str>) -> Class {
        let words: Vec<Word> = notations.filter_map(Word::new).collect();
        let texts = AhoCorasick::new(words.iter().map(|word| &word.text)).ok();
        Class { words, texts }
    }

    /// Whether a clause or sentence, in lower case, has one of these words.
    pub(super) fn is_in(&self, clause: &str) -> bool {
        self.before(clause).next().is_some()
    }

    /// The texts before these words in a clause, in lower case.
    pub(super) fn before<'c>(&'c self, clause: &'c str) -> impl Iterator<Item = &'c str> {
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

/// Signs that are parts of words but not letters in Unicode: accents of their own, and vowels of Indic scripts and Thai.
fn is_sign(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{e00}'..='\u{e7f}')
}

/// Whether `c` is of a script in which a word does not end at a space: Dravidian and Sinhala, Thai, Burmese, Khmer, Chinese,
/// Japanese and Korean, and the joiner of Persian.
fn is_joined(c: char) -> bool {
    matches!(c, '\u{b80}'..='\u{dff}' | '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3000}'..='\u{9fff}')
        || matches!(c, '\u{ac00}'..='\u{d7af}' | '\u{200c}' | '：')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> BTreeMap<String, Table> {
        toml::from_str(WORDS).unwrap()
    }

    #[test]
    fn every_class_has_words_and_every_word_is_found() {
        assert!(tables().len() > 60);
        let all = [
            &LANGUAGES.acts, &LANGUAGES.first, &LANGUAGES.denies, &LANGUAGES.supposes, &LANGUAGES.past, &LANGUAGES.advises,
            &LANGUAGES.when, &LANGUAGES.awaits, &LANGUAGES.withdraws, &LANGUAGES.waits, &LANGUAGES.example,
        ];
        for class in all {
            assert!(!class.words.is_empty());
            for word in &class.words {
                assert_eq!(word.text, word.text.to_lowercase());
                let next = if word.ends { " x" } else { "x" };
                assert!(class.is_in(&format!("{}{next}", word.text)), "{}", word.text);
            }
        }
    }

    #[test]
    fn notations_say_where_a_word_is_found() {
        let class = |notation: &'static str| Class::new([notation].into_iter());
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
        ] {
            assert!(class(notation).is_in(yes), "{notation}: {yes}");
            assert!(!class(notation).is_in(no), "{notation}: {no}");
        }
    }
}
