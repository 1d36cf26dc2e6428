//! Whether a sentence after a call is about another act than the call: `I won't delete anything` after a call that lists files.

use super::{
    clauses::words,
    english::{Phrase, Word},
    languages::Says,
};

/// What calls do that models promise not to do without the user: the words for it, and beginnings of words in a call that does it.
struct Deed {
    english: Word,
    foreign: Says,
    done: &'static [&'static str],
}

const DEEDS: [Deed; 2] = [
    Deed {
        english: Word::Deletes,
        foreign: Says::Deletes,
        done: &[
            "delet", "remov", "rm", "unlink", "drop", "eras", "wip", "clean", "purg", "prun", "truncat", "del", "reset",
            "destroy",
        ],
    },
    Deed {
        english: Word::Changes,
        foreign: Says::Changes,
        done: &[
            "writ", "edit", "replac", "creat", "updat", "set", "patch", "insert", "append", "mov", "renam", "mv", "sed", "cp",
            "tee", "push", "commit", "merg", "appl", "install", "sav", "send", "post", "put", "touch", "modif", "chang", "echo",
            "delet", "remov", "rm", "drop",
        ],
    },
];

/// Whether a sentence, in lower case, names such an act, does not point at the call, and the text of the call has no word for the act.
pub(super) fn is_another_deed(sentence: &str, call: &str) -> bool {
    let said = words(sentence);
    let names = |deed: &&Deed| deed.english.is_in(&said) || deed.foreign.is_in(sentence);
    let mut named = DEEDS.iter().filter(names).peekable();
    let points = [Word::Pointer, Word::Call, Word::Cancels].iter().any(|word| word.is_in(&said))
        || [Says::This, Says::Withdraws].iter().any(|says| says.is_in(sentence))
        || Phrase::Interjections.begins(&said);
    if points || named.peek().is_none() {
        return false;
    }
    let call = call.to_lowercase();
    let does = |deed: &Deed| {
        let mut parts = call.split(|c: char| !c.is_alphanumeric());
        parts.any(|part| deed.done.iter().any(|stem| part.starts_with(stem)))
    };
    !named.any(does)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_about_something_else_is_not_about_the_call() {
        let lists = r#"{"name": "run_command", "arguments": {"command": "ls -la"}}"#;
        let deletes = r#"{"name": "run_command", "arguments": {"command": "rm -rf old"}}"#;
        for promise in [
            "i will not delete anything.",
            "i won't change anything in the config without your approval.",
            "ich werde nichts löschen.",
            "je ne modifierai rien.",
            "我不会删除任何文件。",
        ] {
            assert!(is_another_deed(promise, lists) && !is_another_deed(promise, deletes), "{promise}");
        }
        for about_the_call in
            ["i won't run it.", "i have not deleted it.", "this call deletes nothing.", "cancel it, nothing is deleted."]
        {
            assert!(!is_another_deed(about_the_call, lists), "{about_the_call}");
        }
    }
}
