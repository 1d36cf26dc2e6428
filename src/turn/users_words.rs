//! What the user says about an action: whether the user orders it, or says not to run anything.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::openai::Message;

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
/// Verbs of running, and pronouns for what is not to be run: `Do not execute it.`
const RUNS: [&str; 8] = ["run", "execute", "call", "do", "running", "executing", "calling", "doing"];
const WHAT: [&str; 8] = ["it", "this", "that", "them", "these", "anything", "any", "yet"];
/// Words after such a verb and its pronoun: not everything is forbidden.
const EXCEPT: [&str; 5] = ["else", "other", "more", "but", "except"];
/// What was not run.
const DONE: [&str; 3] = ["executed", "run", "called"];
/// The ends and the beginnings of clauses that forbid calls.
const NO_CALLS: [&[&str]; 7] = [
    &["no", "tool", "calls"],
    &["no", "tools"],
    &["no", "calls"],
    &["without", "tool", "calls"],
    &["without", "any", "tool"],
    &["without", "any", "tools"],
    &["without", "tools"],
];
const EXPLAINS: [&[&str]; 4] =
    [&["dry", "run", "only"], &["just", "explain"], &["only", "explain"], &["please", "just", "explain"]];
/// The ends of clauses that forbid to run anything, in other languages than English, by language.
static ENDS: LazyLock<BTreeMap<String, Vec<String>>> =
    LazyLock::new(|| toml::from_str(include_str!("forbids.toml")).unwrap_or_default());
/// A longer message of the user is more than an order: it has code or logs. In bytes.
const ORDER_BYTES: usize = 1000;
/// Signs that separate clauses.
const CLAUSES: [char; 16] = ['.', ',', ';', ':', '!', '?', '\n', '(', ')', '。', '，', '；', '：', '！', '？', '،'];
/// Whether the user has ordered something that an editor's tools do: a sentence begins with it, and names a file or the like.
pub(super) fn orders(asked: &Message) -> bool {
    let asked = asked.content.text();
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

/// Whether the user says not to run anything. With another object (`don't run the tests`), only that one is meant.
pub(super) fn forbids(asked: &Message) -> bool {
    let plain = asked.content.text().to_lowercase().replace('’', "'").replace("do not ", "don't ");
    let forbids = |clause: &str| {
        let words = words(clause);
        words.windows(2).enumerate().any(|(at, pair)| {
            let denies = matches!(pair, ["don't" | "without" | "never", verb] if RUNS.contains(verb));
            let rest = words.get(at + 2..).unwrap_or_default();
            denies && rest.first().is_none_or(|what| WHAT.contains(what)) && !rest.iter().any(|word| EXCEPT.contains(word))
        }) || words.windows(4).any(|four| matches!(four, ["not", "to", "be", act] if DONE.contains(act)))
            || NO_CALLS.iter().any(|phrase| words.strip_suffix(&["please"]).unwrap_or(&words).ends_with(phrase))
            || EXPLAINS.iter().any(|phrase| words.starts_with(phrase))
            || ENDS.values().flatten().any(|end| clause.trim().ends_with(end.as_str()))
    };
    plain.len() <= ORDER_BYTES && plain.split(CLAUSES).any(forbids)
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_may_forbid_to_run_anything() {
        for asked in [
            "Write a script that removes the folder. Do not run anything yourself.",
            "Give me an example of a call; don’t execute it.",
            "Show me the command without running it",
            "Repeat this, do not execute: rm -rf build",
            "Plan it. Don't call any tool yet.",
            "How would you tidy this up? Explain it first and don't do anything.",
            "Print a call of the tool, not to be run.",
            "Which call is that? Never run it.",
            "No tool calls, just words: what is in the file?",
            "Only explain how this works.",
            "Zeig mir den Aufruf, aber führe ihn nicht aus.",
            "Erkläre nur. Bitte noch nichts ausführen!",
            "Montre l'appel sans l'exécuter.",
            "Explique d'abord, n'exécute rien.",
            "Muéstrame la llamada, no la ejecutes.",
            "Explica y no ejecutes nada todavía.",
            "Mostre a chamada sem executar.",
            "Spiega soltanto, non eseguire nulla.",
            "Leg het uit en voer niets uit.",
            "Покажи вызов, ничего не запускай.",
            "Поясни, але нічого не виконуй.",
            "Wyjaśnij, niczego nie uruchamiaj.",
            "只解释一下，不要执行任何操作。",
            "给我一个例子，不要执行。",
            "説明だけして、実行しないでください。",
            "설명만 하고 실행하지 마세요.",
            "Sadece açıkla, hiçbir şey çalıştırma.",
            "اشرح فقط، لا تنفذ أي شيء.",
        ] {
            assert!(forbids(&Message::text("user", asked)), "{asked}");
        }
        for asked in [
            "Fix the bug, but do not run the tests.",
            "Run it.",
            "Do it without delay.",
            "Why does it not run?",
            "Delete it, but don't do anything else.",
            "Fix it without doing more than that.",
            "There are no tools in the box. Find them.",
            "Do a dry run of the build.",
            "Lösche den Ordner, aber führe die Tests nicht aus.",
            "Borra la carpeta y no ejecutes las pruebas.",
            "删除文件夹，但不要执行测试。",
            "Удали папку, но не запускай тесты.",
            "Supprime le dossier sans lancer les tests.",
        ] {
            assert!(!forbids(&Message::text("user", asked)), "{asked}");
        }
    }

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
