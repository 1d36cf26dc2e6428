//! Answers that only decline, without a reason: `I'm sorry, but I can't assist with that.` Small models answer a result so,
//! although they have called its tool themselves.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

/// The words of each language.
static LANGUAGES: LazyLock<Vec<Words>> = LazyLock::new(|| {
    let tables: BTreeMap<String, Table> = toml::from_str(include_str!("declined.toml")).unwrap_or_default();
    tables.into_values().map(Words::from).collect()
});
/// A longer answer says more than that. In bytes.
const LONGEST: usize = 300;

/// A table of `declined.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    not: String,
    helps: String,
    other: String,
    #[serde(default)]
    joined: bool,
}

/// What a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Not,
    Helps,
    Other,
}

/// The words of one language, the longest first.
struct Words {
    all: Vec<(String, Says)>,
    joined: bool,
}

/// Whether an answer only declines.
pub(super) fn declines(answer: &str) -> bool {
    is_short(answer) && LANGUAGES.iter().any(|words| words.has(answer, false))
}

/// Whether an answer that begins like this may still be one that only declines.
pub(super) fn may_decline(begun: &str) -> bool {
    is_short(begun) && LANGUAGES.iter().any(|words| words.has(begun, true))
}

fn is_short(answer: &str) -> bool {
    answer.len() <= LONGEST
}

impl From<Table> for Words {
    fn from(table: Table) -> Words {
        let Table { not, helps, other, joined } = table;
        let said = [(not, Says::Not), (helps, Says::Helps), (other, Says::Other)];
        let words = said.iter().flat_map(|(words, says)| words.split_whitespace().map(|word| (word.to_owned(), *says)));
        let mut all: Vec<(String, Says)> = words.collect();
        all.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        Words { all, joined }
    }
}

impl Words {
    /// Whether the text has only words of this language, and declines. `begun`: more text may follow, so the last word may be
    /// incomplete, and the text need not decline yet.
    fn has(&self, text: &str, begun: bool) -> bool {
        let text = text.to_lowercase();
        let (mut not, mut helps) = (false, false);
        let mut parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).peekable();
        while let Some(mut rest) = parts.next() {
            let is_last = begun && parts.peek().is_none() && text.ends_with(rest);
            while !rest.is_empty() {
                let fits = |word: &str| if self.joined { rest.starts_with(word) } else { rest == word };
                match self.all.iter().find(|(word, _)| fits(word)) {
                    Some((word, says)) => {
                        not |= *says == Says::Not;
                        helps |= *says == Says::Helps;
                        rest = rest.get(word.len()..).unwrap_or_default();
                    }
                    None if is_last && self.all.iter().any(|(word, _)| word.starts_with(rest)) => return true,
                    None => return false,
                }
            }
        }
        begun || (not && helps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_gives_no_reason_declines() {
        for answer in [
            "I apologize, but I can't assist with that.",
            "I'm sorry, but I can’t help you with this request.",
            "Sorry, I am unable to do that.",
            "Unfortunately, I cannot fulfill your request. Is there anything else I can help you with?",
            "As an AI language model, I am not able to complete this task.",
            "Es tut mir leid, aber dabei kann ich nicht helfen.",
            "Je suis désolé, mais je ne peux pas vous aider avec cela.",
            "Je suis désolé, mais je ne peux pas répondre à votre demande.",
            "Lo siento, pero no puedo ayudarte con eso.",
            "Desculpe, mas não posso ajudá-lo com isso.",
            "Mi dispiace, ma non posso aiutarti con questa richiesta.",
            "Извините, но я не могу вам с этим помочь.",
            "很抱歉，我无法协助您完成这个请求。",
            "对不起，我不能回答这个问题。",
            "申し訳ありませんが、そのご要求にはお答えできません。",
            "죄송하지만 그 요청은 도와드릴 수 없습니다.",
        ] {
            assert!(declines(answer), "{answer}");
            for (at, _) in answer.char_indices() {
                assert!(may_decline(&answer[..at]), "{}", &answer[..at]);
            }
        }
    }

    #[test]
    fn a_reason_an_excuse_or_an_answer_is_none() {
        for answer in [
            "",
            "I'm sorry.",
            "I can help you with that.",
            "I can't delete it: permission denied.",
            "I'm sorry, but the file does not exist.",
            "I can't help with creating malware.",
            "Sorry, I cannot do that without the password.",
            "No, I can't.",
            "It is 8080.",
            "Ich kann die Datei nicht löschen.",
            "Lo siento, el archivo no existe.",
            "我无法打开该文件。",
            "不能。",
        ] {
            assert!(!declines(answer), "{answer}");
        }
        for begun in ["The port", "I deleted", "Done", "I can help. See", "文件", &"I can't help. ".repeat(30)] {
            assert!(!may_decline(begun), "{begun}");
        }
    }
}
