//! English words and phrases, by what they say (`english.toml`).

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};

use super::{clauses::words, foreign};

/// What a word says. `english.toml` explains each class.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    Possible,
    Distant,
    Present,
    May,
    Actor,
    Owns,
    Role,
    Agrees,
    Joins,
    Leads,
    Next,
    Step,
    Between,
    Shows,
    Filler,
    Modal,
    Auxiliary,
    Adverb,
    Only,
    Act,
    Acted,
    Denied,
    Tries,
    Submits,
    Refuses,
    Cancels,
    Takes,
    Proceeds,
    Plan,
    Call,
    Text,
    Example,
    Form,
    Copy,
    Caption,
    Unreal,
    Wrong,
    Errs,
    Choice,
    Choices,
    Counts,
    Sees,
    Pointer,
    Pronoun,
    Determiner,
    More,
    Of,
    Place,
    In,
    With,
    Be,
    Is,
    Had,
    Undone,
    ToDo,
    Records,
    Tells,
    Quotes,
    Perceives,
    Cites,
    Redrafts,
    Until,
    Agreeing,
    Consent,
    Lacks,
    Needs,
    Whose,
    Deletes,
    Changes,
    English,
}

/// What a phrase says. `english.toml` explains each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phrase {
    Asks,
    Requests,
    Leaves,
    LeavesIf,
    Awaits,
    Conditions,
    Conditional,
    OnlyIf,
    Hedges,
    Later,
    Defers,
    Ago,
    Told,
    Cues,
    Subordinate,
    Forbids,
    NoCase,
    Shows,
    Looks,
    Labels,
    Interjections,
    Redoes,
    NotMeant,
    Retracts,
    Shown,
    Or,
}

/// `english.toml`: words by the names of their classes, phrases by class.
#[derive(Default, Deserialize)]
struct Table {
    words: BTreeMap<String, String>,
    phrases: BTreeMap<Phrase, Vec<String>>,
}

/// The classes of each word, one bit for each.
static WORDS: LazyLock<HashMap<String, u128>> = LazyLock::new(|| {
    let of = |classes: &str| classes.split(' ').filter_map(Word::named).fold(0, |all, class| all | class.bit());
    let words = |(classes, words): (String, String)| {
        words.split_whitespace().map(|word| (word.to_owned(), of(&classes))).collect::<Vec<_>>()
    };
    table().words.into_iter().flat_map(words).collect()
});

/// The words of each phrase.
static PHRASES: LazyLock<BTreeMap<Phrase, Vec<Vec<String>>>> = LazyLock::new(|| {
    let words = |phrase: String| phrase.split(' ').map(str::to_owned).collect();
    table().phrases.into_iter().map(|(class, phrases)| (class, phrases.into_iter().map(words).collect())).collect()
});

/// A test parses it, so parsing cannot fail here.
fn table() -> Table {
    toml::from_str(include_str!("english.toml")).unwrap_or_default()
}

impl Word {
    fn named(name: &str) -> Option<Word> {
        let name: value::StrDeserializer<value::Error> = name.into_deserializer();
        Word::deserialize(name).ok()
    }

    fn bit(self) -> u128 {
        1 << self as u32
    }

    /// Whether a word, in lower case, is one of these.
    pub(super) fn is(self, word: &str) -> bool {
        WORDS.get(word).is_some_and(|classes| classes & self.bit() != 0)
    }

    /// Whether one of these is among `words`.
    pub(super) fn is_in(self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// `words` after those of this class at their beginning.
    pub(super) fn skip<'l, 'w>(self, words: &'l [&'w str]) -> &'l [&'w str] {
        &words[words.iter().take_while(|word| self.is(word)).count()..]
    }
}

impl Phrase {
    /// Whether `words` begin with one of these.
    pub(super) fn begins(self, words: &[&str]) -> bool {
        self.any(|phrase| words.len() >= phrase.len() && fits(phrase, &words[..phrase.len()]))
    }

    /// Whether `words` end with one of these.
    pub(super) fn ends(self, words: &[&str]) -> bool {
        self.any(|phrase| words.len() >= phrase.len() && fits(phrase, &words[words.len() - phrase.len()..]))
    }

    /// Whether `words` are one of these.
    pub(super) fn is(self, words: &[&str]) -> bool {
        self.any(|phrase| words.len() == phrase.len() && fits(phrase, words))
    }

    /// Whether one of these is among `words`.
    pub(super) fn is_in(self, words: &[&str]) -> bool {
        self.around(words).next().is_some()
    }

    /// The words before and after each of these.
    pub(super) fn around<'l, 'w>(self, words: &'l [&'w str]) -> impl Iterator<Item = (&'l [&'w str], &'l [&'w str])> {
        PHRASES.get(&self).into_iter().flatten().flat_map(move |phrase| {
            let at = words.windows(phrase.len()).position(|window| fits(phrase, window));
            at.map(|at| (&words[..at], &words[at + phrase.len()..]))
        })
    }

    fn any(self, holds: impl FnMut(&Vec<String>) -> bool) -> bool {
        PHRASES.get(&self).is_some_and(|phrases| phrases.iter().any(holds))
    }
}

/// Whether a sentence, in lower case, is English.
pub(super) fn is_english(sentence: &str) -> bool {
    let words = words(sentence);
    // `I` is a preposition in Scandinavian languages.
    let is_gerund = |word: &str| word.ends_with("ing") && !foreign::denies(word);
    let agreed = words.strip_prefix(&["no", "problem"]).unwrap_or(&words);
    let first = agreed.iter().find(|word| !Word::Agrees.is(word));
    let begins = words.first() == Some(&"i") || first.is_some_and(|word| is_gerund(word));
    begins || Word::English.is_in(&words)
}

/// Whether a word denies.
pub(super) fn is_negation(word: &str) -> bool {
    matches!(word, "not" | "never") || word.ends_with("n't")
}

/// Whether words are those of a phrase.
fn fits(phrase: &[String], words: &[&str]) -> bool {
    phrase.iter().zip(words).all(|(notation, word)| match (notation.strip_prefix('-'), notation.strip_suffix('-')) {
        (Some(end), _) => word.ends_with(end),
        (_, Some(beginning)) => word.starts_with(beginning),
        _ => notation == word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_listed_once_and_can_be_found() {
        let all = table().words;
        let listed: Vec<&str> = all.values().flat_map(|words| words.split_whitespace()).collect();
        assert!(listed.len() > 500);
        assert_eq!(listed.len(), WORDS.len());
        for class in all.keys().flat_map(|classes| classes.split(' ')) {
            assert!(Word::named(class).is_some(), "{class}");
        }
        for word in listed {
            assert_eq!(words(word), [word]);
        }
    }

    #[test]
    fn every_phrase_can_be_found() {
        for (class, phrases) in table().phrases {
            for phrase in phrases {
                let text = phrase.replace('-', "");
                assert_eq!(words(&text).join(" "), text);
                assert!(class.is_in(&words(&text)), "{text}");
            }
        }
    }
}
