//! Labels and captions of texts that are not the model's call: `Sample call`, `Case 3`, `Listing 1`, `The syntax is`.

use super::{
    clauses::{holds, plain, words},
    english::Word,
    subject::{is_speaker, names_a_text},
};

/// A label of data has at most this many words.
const LABEL_WORDS: usize = 4;
/// What is said of a text that is right.
const VERDICTS: [&str; 8] = ["valid", "legal", "fine", "allowed", "accepted", "right", "correct", "okay"];
/// What the reader does with a text.
const PUTS: [&str; 15] = [
    "copy", "paste", "save", "send", "post", "put", "add", "insert", "place", "include", "import", "replace", "use", "store",
    "submit",
];
/// What a line shows is named within this many words: `Here is the whole content ..`.
const COPY_WITHIN: usize = 3;

/// A label without the number or letter that counts it: `Example 2`, `Sample (b)`, `Listing #1`.
pub(super) fn without_count(label: &str) -> &str {
    let Some((name, count)) = label.trim_end().rsplit_once(' ') else { return label };
    let count = count.trim_matches(['#', '(', ')', '.']);
    let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || (count.len() == 1 && count.is_ascii()) { name } else { label }
}

/// Whether a line is a heading or a label.
pub(super) fn is_heading(head: &str) -> bool {
    head.starts_with('#') || head.trim_end().ends_with([':', '*'])
}

/// Whether a label names a call that is not made now, or the form of calls: `Sample call`, `Dry run`, `Call format`.
pub(super) fn names_no_call(words: &[&str]) -> bool {
    let is_call = |noun: &&str| Word::Call.is(noun) || names_a_text(&[noun]) || *noun == "run";
    match words {
        [first, .., last] if words.len() <= LABEL_WORDS => {
            let is_form = Word::Form.is(last) || Word::Example.is(last) || matches!(*last, "schema" | "structure");
            let is_used = words.len() == 2 && (Word::Call.is(first) && Word::Acted.is(last) || *last == "used");
            Word::Unreal.is(first) && is_call(last) || is_form && is_call(first) || is_used
        }
        _ => false,
    }
}

/// Whether a label names data, what goes into a test, or what comes out of a step: `Case 3`, `Sample input`, `Step 2 output`.
pub(super) fn names_data(words: &[&str]) -> bool {
    let counts = || words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit()));
    match words {
        [_, .., "input"] => words.len() <= LABEL_WORDS,
        [_, .., "output"] => words.len() <= LABEL_WORDS && counts(),
        _ => is_caption(words),
    }
}

/// Whether the last words of a clause judge a text: `so this is valid`, `this one works`.
pub(super) fn judges(words: &[&str]) -> bool {
    let points = |word: &str| Word::Pointer.is(word) || Word::Call.is(word);
    // `I check whether this is correct`.
    let is_tried = || words.iter().any(|word| is_speaker(word) || matches!(*word, "if" | "whether" | "see" | "check" | "verify"));
    match words {
        [.., subject, be, verdict] if Word::Be.is(be) => points(subject) && VERDICTS.contains(verdict) && !is_tried(),
        [.., subject, "works"] => points(subject) && !is_tried(),
        _ => false,
    }
}

/// Whether a clause says that something is only a text: `This answer is only documentation`, `These are just examples`.
pub(super) fn is_only_a_text(words: &[&str]) -> bool {
    let is_text = |word: &&str| names_a_text(&[word]) && !Word::Call.is(word);
    match words {
        ["this" | "that" | "these" | "it", rest @ .., last] => {
            let adds = |word: &&str| Word::Only.is(word) || Word::Be.is(word) || Word::Determiner.is(word) || is_text(word);
            // Not `this is the only entry`.
            let limits = rest.iter().any(|word| Word::Only.is(word)) && !holds(rest, "the only") || Word::Example.is(last);
            limits && is_text(last) && rest.iter().any(|word| Word::Be.is(word)) && rest.iter().all(adds)
        }
        _ => false,
    }
}

/// Whether the last words say what a text is: `The syntax is`. `The call is` may lead to the model's own call.
pub(super) fn equates(words: &[&str]) -> bool {
    // `The function call that best answers the prompt is`.
    let is_relative = |pair: &[&str]| Word::Call.is(pair[0]) && matches!(pair[1], "that" | "which");
    let names = |text: &str| names_a_text(&[text]) && !Word::Call.is(text);
    matches!(words, [before @ .., text, is] if Word::Be.is(is) && names(text) && !before.windows(2).any(is_relative))
}

/// Whether the words of a clause are the caption of a listing, or number data: `Listing 1`, `Case 3`.
pub(super) fn is_caption(words: &[&str]) -> bool {
    let is_number = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    words.len() <= LABEL_WORDS && matches!(words, [.., name, number] if Word::Caption.is(name) && is_number(number))
}

/// Whether a sentence after an unmarked call is about a text for the reader: `Copy this into your config file`, `You can paste it
/// into the form`, `This is the JSON for your test`.
pub(super) fn is_for_the_reader(words: &[&str]) -> bool {
    let is_before = |word: &&&str| **word == "you" || Word::May.is(word) || Word::Filler.is(word) || Word::Only.is(word);
    match &words[words.iter().take_while(is_before).count()..] {
        [verb, object, ..] if PUTS.contains(verb) => matches!(*object, "this" | "that" | "it" | "these"),
        ["this" | "that" | "these", be, rest @ ..] if Word::Be.is(be) || *be == "are" => {
            let noun = rest
                .iter()
                .take(COPY_WITHIN)
                .find(|word| names_a_text(&[word]) || Word::Copy.is(word) || Word::Caption.is(word) || **word == "cases");
            noun.is_some_and(|noun| !Word::Call.is(noun))
        }
        _ => false,
    }
}

/// Whether a line before an unmarked call presents a text to the reader: `Here is the JSON you asked for`, `Here is the request
/// body`.
pub(crate) fn presents_a_text(head: &str) -> bool {
    let line = plain(head);
    let words = words(line.trim_end_matches(|c: char| c.is_whitespace() || c == '*').trim_end_matches(':'));
    let shown = match words.as_slice() {
        ["here's", rest @ ..] | ["here" | "this", "is", rest @ ..] => rest,
        _ => return false,
    };
    let is_body = shown.iter().any(|word| matches!(*word, "body" | "payload"));
    let is_yours = shown.iter().any(|word| matches!(*word, "your" | "you"));
    let calls = shown.iter().any(|word| Word::Call.is(word) || is_speaker(word) || matches!(*word, "tool" | "function" | "next"));
    is_body || Word::Example.is_in(shown) || is_yours && !calls && shown.iter().any(|word| names_a_text(&[word]))
}

/// Whether a line presents a copy of something: `Here's the content of the file`, `here is how a call looks`.
pub(super) fn shows_a_copy(words: &[&str]) -> bool {
    let shown = match words {
        ["here's", rest @ ..] | ["here", "is" | "are", rest @ ..] => rest,
        _ => return false,
    };
    let speaks = shown.iter().any(|word| is_speaker(word));
    let looks = shown.first() == Some(&"how") && shown.iter().any(|word| word.starts_with("look"));
    let is_copy = shown.iter().take(COPY_WITHIN).any(|word| Word::Copy.is(word)) || shown.contains(&"clipboard");
    !speaks && (looks || is_copy)
}
