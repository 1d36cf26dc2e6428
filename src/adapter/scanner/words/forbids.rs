//! Whether the user says not to run anything.

use std::{collections::BTreeMap, sync::LazyLock};

use super::clauses::plain;

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
/// Signs that separate clauses.
const CLAUSES: [char; 16] = ['.', ',', ';', ':', '!', '?', '\n', '(', ')', '。', '，', '；', '：', '！', '？', '،'];

/// Whether the user says not to run anything. With another object (`don't run the tests`), only that one is meant.
pub(crate) fn forbids(asked: &str) -> bool {
    let plain = plain(asked).replace("do not ", "don't ");
    let forbids = |clause: &str| {
        let (clause, words) = (clause.trim(), words(clause));
        words.windows(2).enumerate().any(|(at, pair)| {
            let denies = matches!(pair, ["don't" | "without" | "never", verb] if RUNS.contains(verb));
            let rest = words.get(at + 2..).unwrap_or_default();
            denies && rest.first().is_none_or(|what| WHAT.contains(what)) && !rest.iter().any(|word| EXCEPT.contains(word))
        }) || words.windows(4).any(|four| matches!(four, ["not", "to", "be", act] if DONE.contains(act)))
            || NO_CALLS.iter().any(|phrase| words.strip_suffix(&["please"]).unwrap_or(&words).ends_with(phrase))
            || EXPLAINS.iter().any(|phrase| words.starts_with(phrase))
            || ENDS.values().flatten().any(|end| clause.ends_with(end.as_str()))
    };
    plain.split(CLAUSES).any(forbids)
}

fn words(text: &str) -> Vec<&str> {
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
            assert!(forbids(asked), "{asked}");
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
            assert!(!forbids(asked), "{asked}");
        }
    }
}
