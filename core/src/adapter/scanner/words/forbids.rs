//! What the user forbids to run: anything at all, or only what the model is asked to write.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use super::clauses::{plain, without_quotes, words};
use crate::{
    event::{Effect, Tool, Tools},
    fix::name::known_tool,
};

/// Verbs of running, and pronouns for what is not to be run: `Do not execute it.`
const RUNS: [&str; 8] = ["run", "execute", "call", "do", "running", "executing", "calling", "doing"];
const WHAT: [&str; 7] = ["it", "this", "that", "them", "these", "anything", "yet"];
/// Nouns for everything that may be run: `Don't run any commands.`
const ALL: [&str; 9] = ["tool", "tools", "call", "calls", "code", "command", "commands", "thing", "of"];
/// Words that limit where or how something is not to be run: `Don't run it as root.`
const WHERE: [&str; 4] = ["as", "on", "in", "with"];
/// Words that may come before a prohibition. After other words it is a statement: `The tests do not run.`
const BEFORE: [&str; 20] = [
    "please", "but", "and", "just", "so", "also", "then", "you", "must", "should", "now", "first", "only", "i", "it", "want",
    "to", "explain", "plan", "this",
];
/// Verbs of orders that change something.
const ACTING: [&str; 22] = [
    "fix", "add", "create", "change", "edit", "update", "remove", "delete", "rename", "implement", "refactor", "write", "run",
    "install", "build", "move", "replace", "make", "insert", "append", "correct", "adjust",
];
/// Words that may come before such a verb.
const POLITE: [&str; 7] = ["please", "now", "then", "first", "just", "and", "but"];
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

/// What the user forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forbidden {
    /// Every call with effects.
    Everything,
    /// Calls with effects, but not those that write: the user orders something beside it (`Write the script, but don't run it`).
    Running,
}

/// The last words of the user.
#[derive(Debug, Clone, Default)]
pub struct UsersWords {
    text: String,
    /// Looked for at the first call that depends on it.
    forbidden: OnceLock<Option<Forbidden>>,
}

impl UsersWords {
    /// Of this text.
    pub fn new(text: String) -> UsersWords {
        UsersWords { text, forbidden: OnceLock::new() }
    }

    /// Whether they forbid a call of this tool: it has effects, and the client does not demand a call.
    pub fn forbid(&self, name: &str, tools: &Tools) -> bool {
        let tool = known_tool(tools, name);
        if tools.must_call() || tool.is_some_and(|tool| tool.effect == Effect::Reads || tool.is_named_as_reading()) {
            return false;
        }
        match self.forbidden.get_or_init(|| forbids(&self.text)) {
            None => false,
            Some(Forbidden::Everything) => true,
            Some(Forbidden::Running) => !tool.is_some_and(Tool::is_named_as_writing),
        }
    }
}

/// What the user forbids to run. A prohibition with another object (`don't run the tests`) is about that object alone and does
/// not count. Neither does what the user quotes, nor what clients add in elements (rules of the project).
fn forbids(asked: &str) -> Option<Forbidden> {
    let own = without_elements(&plain(asked)).replace(['\u{201c}', '\u{201d}', '\u{201e}'], "\"");
    let plain = without_quotes(&without_quotes(&own, '"'), '`').replace("do not ", "don't ");
    let clauses = || plain.split(CLAUSES).map(|clause| (clause.trim(), words(clause)));
    let no_calls =
        |words: &[&str]| NO_CALLS.iter().any(|phrase| words.strip_suffix(&["please"]).unwrap_or(words).ends_with(phrase));
    if clauses().any(|(_, words)| no_calls(&words)) {
        return Some(Forbidden::Everything);
    }
    let is_order = |words: &[&str]| words.iter().find(|word| !POLITE.contains(word)).is_some_and(|act| ACTING.contains(act));
    let orders = clauses().any(|(_, words)| is_order(&words));
    let forbids = clauses().any(|(clause, words)| {
        is_prohibition(&words)
            || (!orders && EXPLAINS.iter().any(|phrase| words.starts_with(phrase)))
            || ENDS.values().flatten().any(|end| clause.ends_with(end.as_str()))
    });
    forbids.then_some(if orders { Forbidden::Running } else { Forbidden::Everything })
}

/// `Don't execute it`, `without running anything`, `not to be run`.
fn is_prohibition(words: &[&str]) -> bool {
    let starts = |at: usize| words[..at].iter().rposition(|word| matches!(*word, "but" | "and" | "then")).unwrap_or(0);
    let denies = |(at, pair): (usize, &[&str])| {
        let is_verb = matches!(pair, ["without" | "never", verb] if RUNS.contains(verb))
            || (matches!(pair, ["don't", verb] if RUNS.contains(verb))
                && words[starts(at)..at].iter().all(|word| BEFORE.contains(word)));
        let rest = words.get(at + 2..).unwrap_or_default();
        let is_all = match rest {
            [] => true,
            ["any", noun, ..] => ALL.contains(noun),
            [what, ..] => WHAT.contains(what),
        };
        is_verb && is_all && !rest.iter().any(|word| EXCEPT.contains(word) || WHERE.contains(word))
    };
    words.windows(2).enumerate().any(denies)
        || words.windows(4).any(|four| matches!(four, ["not", "to", "be", act] if DONE.contains(act)))
}

/// A text without its elements: `<system-reminder>..</system-reminder>`.
fn without_elements(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let name = &after[..after.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(after.len())];
        let close = format!("</{name}>");
        rest = match after.find(&close).filter(|_| !name.is_empty()) {
            Some(at) => &after[at + close.len()..],
            None => after,
        };
    }
    out + rest
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
            assert!(forbids(asked).is_some(), "{asked}");
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
            assert_eq!(forbids(asked), None, "{asked}");
        }
    }

    #[test]
    fn what_is_to_be_written_may_be_forbidden_to_run() {
        for asked in [
            "Write a script that removes the folder. Do not run anything yourself.",
            "Fix the bug. Do not run it.",
            "Create the script but don't run it.",
            "Don't run anything yet, just create the file docs/guide.md.",
        ] {
            assert_eq!(forbids(asked), Some(Forbidden::Running), "{asked}");
        }
        for asked in
            ["Show me the command without running it", "Fix it with words only, no tool calls please.", "Don't call any tools."]
        {
            assert_eq!(forbids(asked), Some(Forbidden::Everything), "{asked}");
        }
    }

    #[test]
    fn rules_quotations_and_other_objects_forbid_nothing() {
        for asked in [
            "The tests do not run. Please run them with --verbose.",
            "Don't call any external services. Run the unit tests.",
            "Do not run any migrations. Add a guard to the parser.",
            "don't run any commands as root. fix the bug",
            "Just explain it briefly after you fixed it. Fix the bug.",
            "Only explain what's needed. Fix the bug.",
            "The dialog says \"Do not execute it\". Change the text.",
            "Add a comment: `do not call this`.",
            "<system-reminder>Do not run anything.</system-reminder>\nFix the bug.",
            "<rules>\nDon't run it.\n</rules> Delete the folder.",
        ] {
            assert_eq!(forbids(asked), None, "{asked}");
        }
    }
}
