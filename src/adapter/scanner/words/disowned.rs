//! Whether the words before a call say that it is not the model's: an example, a record, a description, a quotation.

use super::{
    super::line::is_header,
    clauses::{clauses, plain},
    english::{
        AUXILIARY, BE, CALLING, CALLS, COPIES, FORMATS, LABELS, LOOKS, NO_CASE, OWNS, PAST, QUOTES, REFUSES, SAMPLES, SHOWS,
        SUBORDINATE, TEXTS, THINGS, UNREAL, VERBS,
    },
    languages::Says,
    lead::{asks_for_permission, asks_to_wait, is_english, requests_an_answer},
    retracts::{is_caption, shows_an_example},
    subject::{is_about_a_text, names_a_text, sets_to_work},
};

/// A sentence of at most this many words that names an example shows one: `Här är ett exempel.`
const EXAMPLE_WORDS: usize = 4;
/// A label of data has at most this many words.
const LABEL_WORDS: usize = 4;
/// What a line shows is named within this many words: `Here is the whole content ..`.
const COPY_WITHIN: usize = 3;
/// Commands that print a text.
const PRINTS: [&str; 9] = ["cat", "head", "tail", "less", "more", "type", "echo", "jq", "grep"];

/// Whether the words before a value say that it is an example, a result or somebody else's, or that it is not called.
pub(crate) fn is_disowned(head: &str) -> bool {
    let line = plain(head);
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '*' | '`'));
    let sentence = line.rsplit(['.', '!', '?', ';']).find(|sentence| !sentence.trim().is_empty()).unwrap_or_default();
    // `I did not run this, because it may be wrong: {..}`.
    let is_main = |clause: &&str| {
        let clause = clause.trim_start();
        !clause.is_empty() && !SUBORDINATE.iter().any(|words| clause.starts_with(words))
    };
    let clause = sentence.rsplit(',').find(is_main).unwrap_or_default();
    // `I do not use the index but read {..}`.
    let clause = [" but ", " so "].iter().fold(clause, |clause, word| clause.rsplit(word).next().unwrap_or_default());
    let clause = without_count(clause.trim_start_matches(['#', '*', ' ']));
    let said = super::clauses::words(sentence);
    let acts = |word: &&str| VERBS.iter().any(|verb| word.starts_with(verb));
    // `The value is wrong.` is a reason for a call.
    let is_sentence = head.trim_end().ends_with('.');
    let denies = |word: &str| matches!(word, "not" | "never" | "already") || word.ends_with("n't");
    let words: Vec<&str> = clause.split_whitespace().collect();
    // `I am not allowed to run this:`.
    let acts_on =
        |words: &[&str]| words.iter().find(|word| !AUXILIARY.contains(word)).is_some_and(|act| acts(act) || *act == "do");
    // `Let me run the example.`, `For example, it fails here. I'll fix that.`
    let acts_now = sets_to_work(clause);
    let is_denied = words.iter().enumerate().any(|(at, word)| denies(word) && acts_on(&words[at + 1..]));
    let begins = |phrases: &[&str]| phrases.iter().any(|phrase| sentence.trim_start().starts_with(phrase));
    // `Both orders are cancelled now.`
    let own = words.iter().any(|word| matches!(*word, "i" | "i've" | "we" | "this" | "call" | "it"));
    let is_refused = words.iter().any(|word| REFUSES.contains(word)) && !words.contains(&"now") && (own || !is_sentence);
    // `Done. I ran:`.
    let is_report = matches!(words.as_slice(), ["i" | "i've", rest @ ..] if is_past(rest));
    let is_unreal = words.windows(3).any(|three| matches!(three, ["could" | "would" | "should", "have", act] if acts(act)));
    // `the example file` names a file, not an example.
    let of = |next: Option<&&str>| next.is_none_or(|next| matches!(*next, "of" | "call" | "calls" | "usage" | "for" | "how"));
    let is_yours = |at: usize| at > 0 && matches!(words[at - 1], "your" | "that" | "this");
    // `This is an example of a race condition.`
    let of_a_thing = |at: usize| is_sentence && words.get(at + 1) == Some(&"of") && !is_about_a_text(&words[at + 1..]);
    let is_example =
        words.iter().enumerate().any(|(at, word)| {
            matches!(*word, "example" | "examples") && of(words.get(at + 1)) && !is_yours(at) && !of_a_thing(at)
        }) || clauses(sentence).any(|clause| shows_an_example(&super::clauses::words(clause)));
    let names = |clause: &str| {
        Says::Example.before(clause).any(|before| !Says::Of.is_in(before.split_whitespace().next_back().unwrap_or_default()))
    };
    // `Nur ein Beispiel, ich rufe nichts auf:`.
    let points = || {
        clause.split_whitespace().count() <= EXAMPLE_WORDS
            || [Says::This, Says::Only, Says::Calls, Says::Runs].iter().any(|says| says.is_in(sentence))
    };
    let is_foreign_example = names(if is_sentence { clause } else { sentence }) && (!is_sentence || points());
    is_denied
        || begins(&NO_CASE)
        || (begins(&SHOWS) && !acts_now)
        || (is_refused && !acts_now)
        || is_report
        || is_unreal
        || LABELS.contains(&clause)
        || names_data(&said)
        || is_heading(head) && names_no_call(&super::clauses::words(clause))
        || shows_a_copy(&said)
        || (is_example && !acts_now)
        || (words.contains(&"wrong") && !is_sentence)
        || asks_for_permission(clause)
        || requests_an_answer(clause)
        || is_foreign_example
        || ["instead of", "rather than", "contents of", "previously", "earlier"].iter().any(|words| clause.starts_with(words))
        || (line.starts_with("according to ") && (names_a_text(&words) || words.contains(&"docs")) && !acts_now)
        || (["for example", "for instance"].iter().any(|words| sentence.trim_start().starts_with(words))
            && !is_sentence
            && !acts_now)
        || ["such as", "e.g", "e.g."].iter().any(|words| line.ends_with(words))
        || equates(&said)
        || clause.contains("format of") && clause.ends_with(" is")
        || LOOKS.iter().any(|words| clause.ends_with(words) || (!is_sentence && clause.contains(words)))
}

/// A label without the number or letter that counts it: `Example 2`, `Sample (b)`, `Listing #1`.
fn without_count(label: &str) -> &str {
    let Some((name, count)) = label.trim_end().rsplit_once(' ') else { return label };
    let count = count.trim_matches(['#', '(', ')', '.']);
    let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || (count.len() == 1 && count.is_ascii()) { name } else { label }
}

/// Whether a line is a heading or a label.
fn is_heading(head: &str) -> bool {
    head.starts_with('#') || head.trim_end().ends_with([':', '*'])
}

/// Whether a label names a call that is not made now, or the form of calls: `Sample call`, `Dry run`, `Call format`.
fn names_no_call(words: &[&str]) -> bool {
    let is_call = |noun: &&str| CALLS.contains(noun) || TEXTS.contains(noun) || *noun == "run";
    match words {
        [first, .., last] if words.len() <= LABEL_WORDS => {
            let is_unreal = [&UNREAL[..], &SAMPLES].iter().any(|list| list.contains(first));
            is_unreal && is_call(last) || FORMATS.contains(last) && is_call(first)
        }
        _ => false,
    }
}

/// Whether a label names data, what goes into a test, or what comes out of a step: `Case 3`, `Sample input`, `Step 2 output`.
fn names_data(words: &[&str]) -> bool {
    let counts = || words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit()));
    match words {
        [_, .., "input"] => words.len() <= LABEL_WORDS,
        [_, .., "output"] => words.len() <= LABEL_WORDS && counts(),
        _ => is_caption(words),
    }
}

/// Whether the last words say what a text is: `The syntax is`. `The call is` may lead to the model's own call.
fn equates(words: &[&str]) -> bool {
    matches!(words, [.., text, is] if BE.contains(is) && TEXTS.contains(text) && !CALLS.contains(text))
}

/// Whether these words after `I` report a call and nothing else: `have just executed this`.
fn is_past(words: &[&str]) -> bool {
    let mut words = words.iter().skip_while(|word| ["have", "had", "just", "then"].contains(word));
    words.next().is_some_and(|act| PAST.contains(act))
        && words.all(|word| ["this", "that", "it", "the", "following", "command"].contains(word))
}

/// Whether a line says that the next one quotes a file, or what was printed, said or done.
pub(crate) fn is_quoting(head: &str) -> bool {
    let line = head.to_lowercase();
    let line = line.trim_end().trim_end_matches(':');
    let last = line.split_whitespace().next_back().unwrap_or_default();
    QUOTES.contains(&last) || [">>> ", ".. code"].iter().any(|sign| head.starts_with(sign)) || is_header(line) || is_prompt(line)
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

/// Whether a line presents a copy of something: `Here's the content of the file`, `here is how a call looks`.
fn shows_a_copy(words: &[&str]) -> bool {
    let shown = match words {
        ["here's", rest @ ..] | ["here", "is" | "are", rest @ ..] => rest,
        _ => return false,
    };
    let speaks = shown.iter().any(|word| matches!(*word, "i" | "i'll" | "we"));
    let looks = shown.first() == Some(&"how") && shown.iter().any(|word| word.starts_with("look"));
    let is_copy = shown.iter().take(COPY_WITHIN).any(|word| COPIES.contains(word)) || shown.contains(&"clipboard");
    !speaks && (looks || is_copy)
}

/// Whether a line that ends in a colon introduces a description: the line's subject is a thing or the user, and the line mentions
/// neither calling nor the speaker.
pub(crate) fn describes(head: &str) -> bool {
    let line = plain(head);
    let Some(line) = line.trim_end_matches(|c: char| c.is_whitespace() || c == '*').strip_suffix([':', '：']) else {
        return false;
    };
    let clause = line.rsplit(['.', '!', '?', ';', ',']).find(|clause| !clause.trim().is_empty()).unwrap_or_default();
    let words: Vec<&str> = clause.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty()).collect();
    let owns = |word: &&str| OWNS.contains(word) || CALLING.iter().any(|stem| word.starts_with(stem)) || word.starts_with("i'");
    let Some(first) = words.first().filter(|_| !asks_to_wait(line)) else { return false };
    let is_unreal = line.starts_with("if ") && words.contains(&"would");
    let advises = matches!(*first, "you" | "your") && !words.iter().any(|word| matches!(*word, "i" | "me" | "let"));
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
    let names_a_thing = subject.is_some_and(|word| THINGS.contains(word) || Says::Article.is_in(word))
        || words.len() > 1 && SAMPLES.contains(first);
    let sentence = line.rsplit(['.', '!', '?', ';']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    let owned = words.iter().any(owns) || Says::Speaker.is_in(sentence) || Says::Calls.is_in(clause);
    let is_planned = words.starts_with(&["this", "will"]) || words.contains(&"must");
    let is_thing = names_a_thing && (!is_english(clause) || is_about_a_text(&words));
    (is_thing || Says::Presents.is_in(clause)) && !owned && !is_planned
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
