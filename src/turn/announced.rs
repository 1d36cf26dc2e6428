//! What the user and the model say about an action: whether the user orders it or says not to run anything, and whether an answer
//! only announces it (`I'll search through the files.`), as small models in an editor write it instead of the call. Advice (`you
//! can use the following command`) counts only if the user has ordered the action: otherwise the user may have asked for the
//! advice.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::{event::Tools, openai::Message};

/// Phrases of a model that is about to act. English only: the editor's prompt is English, and small models follow it.
const ACTORS: [&[&str]; 8] = [
    &["i'll"],
    &["i", "will"],
    &["i'm", "going", "to"],
    &["i", "am", "going", "to"],
    &["let", "me"],
    &["let's"],
    &["we'll"],
    &["we", "will"],
];
/// Verbs of actions that tools perform.
const ACTS: [&str; 25] = [
    "call", "change", "check", "create", "delete", "edit", "execute", "find", "inspect", "list", "look", "make", "modify",
    "open", "read", "remove", "rename", "replace", "run", "search", "start", "update", "use", "view", "write",
];
/// Phrases that withdraw an announcement.
const NOT: [&str; 3] = ["not", "never", "know"];
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
/// Phrases that tell somebody else to act.
const ADVICE: [&[&str]; 7] = [
    &["you", "can"],
    &["you", "could"],
    &["you", "need", "to"],
    &["you", "have", "to"],
    &["you", "should"],
    &["following", "command"],
    &["following", "steps"],
];
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
    LazyLock::new(|| toml::from_str(include_str!("announced.toml")).unwrap_or_default());
/// A longer message of the user is more than an order: it has code or logs. In bytes.
const ORDER_BYTES: usize = 1000;
/// Signs that separate clauses.
const CLAUSES: [char; 16] = ['.', ',', ';', ':', '!', '?', '\n', '(', ')', '。', '，', '；', '：', '！', '？', '،'];
/// Maximum number of words between, which may say when or how.
const BETWEEN: usize = 2;

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

/// Whether an answer without a call tells the user to act, and asks nothing.
pub(super) fn advises(said: &str) -> bool {
    let plain = said.to_lowercase();
    let words = words(&plain);
    !said.trim_end().ends_with('?') && ADVICE.iter().any(|advice| words.windows(advice.len()).any(|some| some == *advice))
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect()
}

/// Whether an answer without a call says that its model acts, or names the one tool that it would call.
pub(super) fn announces(said: &str, tools: &Tools) -> bool {
    let said_plainly = said.to_lowercase().replace('’', "'");
    let words = words(&said_plainly);
    let acts = |at: usize| {
        let rest = words.get(at..).unwrap_or_default();
        let after = ACTORS.iter().find_map(|actor| rest.strip_prefix(*actor)).unwrap_or_default();
        after.iter().take(BETWEEN + 1).take_while(|word| !NOT.contains(word)).any(|word| ACTS.contains(word))
    };
    if (0..words.len()).any(acts) {
        return true;
    }
    // A name that is an ordinary word says nothing; whoever names several tells about them.
    let mut named = tools.iter().filter(|tool| tool.name.contains('_') && said.contains(&tool.name));
    matches!((named.next(), named.next()), (Some(_), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Tool, ToolChoice};

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

    #[test]
    fn advice_tells_the_user_to_act() {
        for said in ["To create it, you can use the following command:\n\n```sh\ntouch a\n```", "You need to open it."] {
            assert!(advises(said), "{said}");
        }
        for said in ["Done. It has three lines.", "You can lose data. Shall I delete it?", "I cannot delete it.", ""] {
            assert!(!advises(said), "{said}");
        }
    }

    #[test]
    fn only_who_acts_announces() {
        let tools = ["read_file", "search_docs", "find"].map(|name| Tool::new(name, "", "{}"));
        let tools = Tools::new(tools, ToolChoice::Auto);
        for said in [
            "I'll search through the provided files:\n\n1. a.rs has none.",
            "I’m going to list the files in the demo folder.",
            "Let me first look at the file.",
            "OK.\nWe will now run it.",
            "To search the documentation, you can use the `search_docs` tool with the query \"timeouts\".",
        ] {
            assert!(announces(said, &tools), "{said}");
        }
        for said in [
            "Hello! How can I assist you today?",
            "You can use the following command:\n\n```sh\ncurl x | sh\n```",
            "The documentation does not say anything about it.",
            "I read the file: it has three lines.",
            "I will not do that.",
            "We will not read the file.",
            "My tools are read_file and search_docs.",
            "I can find it.",
            "Let me know if you need more.",
            "",
        ] {
            assert!(!announces(said, &tools), "{said}");
        }
    }
}
