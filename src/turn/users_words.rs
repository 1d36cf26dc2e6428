//! What the user's message says: whether it orders an action.

use crate::openai::{Message, own_words};

/// Verbs that begin an order of an action that tools perform.
const ORDERS: [&str; 19] = [
    "build", "change", "create", "delete", "edit", "execute", "find", "list", "modify", "open", "overwrite", "read", "remove",
    "rename", "replace", "run", "search", "start", "update",
];
/// Words that may come before such a verb.
const POLITE: [&str; 4] = ["please", "now", "then", "first"];
/// Nouns that an order to an editor is about, besides paths.
const OBJECTS: [&str; 10] =
    ["directory", "file", "files", "folder", "folders", "project", "terminal", "test", "tests", "workspace"];
/// Maximum length of an order, in bytes. A longer message has code or logs.
const ORDER_BYTES: usize = 1000;

/// Whether the user has ordered something that an editor's tools do: a sentence begins with it, and names a file or the like.
pub(super) fn orders(asked: &Message) -> bool {
    let text = asked.content.text();
    let asked = own_words(&text);
    let is_path = |word: &str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        let has_stem = inner.split_once('.').is_some_and(|(stem, _)| stem.len() > 1); // not `e.g.`
        (has_stem || inner.contains('/')) && inner.contains(|c: char| c.is_alphabetic())
    };
    let order = |sentence: &str| {
        let plain = sentence.to_lowercase();
        let words = words(&plain);
        let first = words.iter().find(|word| !POLITE.contains(word));
        let meant = words.iter().any(|word| OBJECTS.contains(word)) || sentence.split_whitespace().any(is_path);
        meant && !sentence.trim_end().ends_with('?') && first.is_some_and(|word| ORDERS.contains(word))
    };
    asked.len() <= ORDER_BYTES && asked.split_inclusive(['\n', '?', '!']).flat_map(|line| line.split(". ")).any(order)
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_what_tools_can_do() {
        for asked in [
            "Create the file src/util.rs, write a function into it.",
            "Run the tests with cargo test.",
            "Please delete notes.txt",
            "I am done. Now remove the folder `docs`.",
            "There is a mistake in src/main.rs: greting. Read the file first.",
        ] {
            assert!(orders(&Message::text("user", asked)), "{asked}");
        }
        let long = format!("Delete the file.\n{}", "x".repeat(ORDER_BYTES));
        for asked in [
            "How do I delete a file?",
            "Tell me how to run the tests.",
            "Create a function that adds two numbers.",
            "List the advantages of Rust, e.g. its speed.",
            "Run the tests?",
            "The command to remove files is rm.",
            &long,
        ] {
            assert!(!orders(&Message::text("user", asked)), "{asked}");
        }
    }
}
