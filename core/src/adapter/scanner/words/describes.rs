//! Whether a line introduces something that is described or quoted: `The queue holds this entry:`, `$ cat a`.

use super::{
    super::line::is_header,
    asks::asks_to_wait,
    clauses::{plain, sentences, words},
    english::{Word, is_english},
    foreign::begins_with_an_act,
    languages::Says,
    subject::{is_about_a_text, is_speaker},
};

/// Stems of words about calling.
const CALLING: [&str; 5] = ["tool", "func", "execut", "invo", "command"];
/// Verbs of a speaker who explains.
const EXPLAINS: [&str; 7] = ["explain", "describe", "walk", "break", "illustrate", "demonstrate", "outline"];
/// Commands that print a text.
const PRINTS: [&str; 9] = ["cat", "head", "tail", "less", "more", "type", "echo", "jq", "grep"];

/// Whether a line says that the next one quotes a file, or what was printed, said or done.
pub(crate) fn is_quoting(head: &str) -> bool {
    let line = head.to_lowercase();
    let line = line.trim_end().trim_end_matches(':');
    let last = line.split_whitespace().next_back().unwrap_or_default();
    Word::Quotes.is(last) || [">>> ", ".. code"].iter().any(|sign| head.starts_with(sign)) || is_header(line) || is_prompt(line)
}

/// Whether a line is a command at a prompt, whose output follows: `$ cat a`, `(env) $ ls`, `In [3]: print(s)`, `> cat a`.
fn is_prompt(line: &str) -> bool {
    let line = match line.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, rest)) => rest,
        None => line,
    };
    let prints = |rest: &str| rest.split(' ').next().is_some_and(|word| PRINTS.contains(&word));
    line.starts_with("$ ")
        || line.starts_with("in [") && line.contains("]: ")
        || ["> ", "# ", "% "].iter().any(|sign| line.strip_prefix(sign).is_some_and(prints))
}

/// Whether a line that ends in a colon introduces a description: the line's subject is a thing or the user, and the line mentions
/// neither calling nor the speaker.
pub(crate) fn describes(head: &str) -> bool {
    let line = plain(head);
    let Some(line) = line.trim_end_matches(|c: char| c.is_whitespace() || c == '*').strip_suffix([':', '：']) else {
        return false;
    };
    let clause = line.rsplit(['.', '!', '?', ';', ',']).find(|clause| !clause.trim().is_empty()).unwrap_or_default();
    let words = words(clause);
    let owns = |word: &&str| is_speaker(word) || Word::Owns.is(word) || CALLING.iter().any(|stem| word.starts_with(stem));
    let Some(first) = words.first().filter(|_| !asks_to_wait(line)) else { return false };
    let is_unreal = line.starts_with("if ") && words.contains(&"would");
    let advises = matches!(*first, "you" | "your") && !words.iter().any(|word| is_speaker(word) || *word == "me");
    let is_negated = words.contains(&"not") && words.contains(&"what");
    if is_unreal || is_negated || advises {
        return true;
    }
    let subject = match words.as_slice() {
        // `In the README there is ..`.
        ["in", rest @ ..] => rest.first(),
        [first, rest @ ..] if Says::Inside.is_in(first) => rest.first(),
        all => all.first(),
    };
    let names_a_thing = subject.is_some_and(|word| Word::Determiner.is(word) || Says::Article.is_in(word))
        || words.len() > 1 && Word::Unreal.is(first);
    let sentence = line.rsplit(['.', '!', '?', ';']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    let owned = words.iter().any(owns) || Says::Speaker.is_in(sentence) || Says::Calls.is_in(clause);
    let is_planned = words.starts_with(&["this", "will"]) || words.contains(&"must");
    let is_thing = names_a_thing && if is_english(clause) { is_about_a_text(&words) } else { !begins_with_an_act(clause, false) };
    (is_thing || Says::Presents.is_in(clause)) && !owned && !is_planned
}

/// Whether a line, in lower case, explains a call or tells of one: `Let me explain what the call in your log does.`, `What you see
/// is a tool call.`, `There was such a call last night.`
pub(super) fn explains_a_call(line: &str) -> bool {
    let explains = |sentence: &str| {
        let words = words(sentence);
        let is_call = |word: &&str| Word::Call.is(word) && !matches!(*word, "one" | "ones" | "last" | "above" | "action");
        let names_a_call = words.iter().any(is_call) || words.windows(2).any(|pair| pair == ["is", "called"]);
        let asks_what = words.contains(&"what") && matches!(words.last(), Some(&("do" | "does" | "means" | "mean")));
        let shows = match words.as_slice() {
            ["let", "me", verb, ..] | ["i'll", verb, ..] | ["i", "will", verb, ..] => EXPLAINS.contains(verb),
            ["there", "was" | "were", ..] => true,
            ["you", "asked" | "want" | "wanted", rest @ ..] => {
                rest.iter().any(|word| matches!(*word, "how" | "what" | "syntax" | "format" | "example"))
            }
            [.., be, "a" | "an", _, _] | [.., be, "a" | "an", _] => Word::Be.is(be) && words.last().is_some_and(is_call),
            _ => false,
        };
        names_a_call && (asks_what || shows)
    };
    sentences(line).any(explains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_describe_what_follows() {
        for head in [
            "The queue holds this entry:",
            "A usual body of the endpoint:",
            "The answer of the gateway was 400. The rejected document:",
            "Your fixture should hold:",
            "If that were needed, the call would be:",
            "Here is what you must not send:",
            "Expected document:",
            "In the changelog there is this line:",
            "Das Protokoll enthält:",
            "Le journal contient :",
            "El registro guarda:",
            "日志包含:",
        ] {
            assert!(describes(head), "{head}");
        }
        for head in [
            "The next step is:",
            "The tool call:",
            "The following function is needed:",
            "Let me look at the file:",
            "Here it is:",
            "Okay:",
            "Reading the file:",
            "For the weather in Oslo, I'll do this:",
            "To find the user, this will be run:",
            "This will list the files:",
            "To answer that, the data must be fetched:",
            "Der nächste Aufruf:",
            "Ich lese die Datei:",
            "Je lis le fichier :",
            "我来读取文件:",
            "The lamp is on.",
        ] {
            assert!(!describes(head), "{head}");
        }
    }
}
