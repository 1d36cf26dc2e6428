//! What an editor's user and model say in words, where small models talk about an action instead of calling: whether the user orders
//! an action, or asks what a file says; whether an answer announces an action (`I'll search through the files.`), or tells the
//! user to act. Advice (`you can use the following command`) counts only if the user has ordered the action: otherwise the user
//! may have asked for the advice.
//!
//! This is the only module that knows English words. They apply to the first answer to a user of Void, whose prompt is English;
//! `docs/live.md` has what they are worth.

use super::reask::Reask;
use crate::{
    client::workspace::Workspace,
    event::Tools,
    openai::{self, Message, own_words},
    plan::Plan,
};

/// Whether the model is asked for the call if its answer is words alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nudges {
    /// No.
    #[default]
    Never,
    /// The user has ordered nothing: if it announces an action, or answers what a file says without having read it.
    Announced,
    /// The user has ordered an action of tools: also if it only explains the action.
    Ordered,
}

impl Nudges {
    /// How the model of this turn is asked.
    pub(super) fn of(plan: &Plan) -> Nudges {
        match plan.rules.nudges {
            false => Nudges::Never,
            true if openai::asked(&plan.chat.messages).is_some_and(orders) => Nudges::Ordered,
            true => Nudges::Announced,
        }
    }

    /// What the model is asked after an answer without a call. `workspace`: the user's, if the answer has text.
    pub(super) fn reask(self, prose: &str, workspace: Option<&Workspace>, tools: &Tools) -> Option<Reask> {
        if self == Nudges::Never {
            return None;
        }
        if let Some(file) = workspace.and_then(asked_about) {
            return Some(Reask::Unread(file.to_owned()));
        }
        (announces(prose, tools) || (self == Nudges::Ordered && advises(prose))).then_some(Reask::Announced)
    }
}

/// Phrases of a model that is about to act. English only: the editor's prompt is English, and small models follow it.
const ACTORS: [&str; 8] = ["i'll", "i will", "i'm going to", "i am going to", "let me", "let's", "we'll", "we will"];
/// Verbs of actions that tools perform.
const ACTS: [&str; 25] = [
    "call", "change", "check", "create", "delete", "edit", "execute", "find", "inspect", "list", "look", "make", "modify",
    "open", "read", "remove", "rename", "replace", "run", "search", "start", "update", "use", "view", "write",
];
/// Phrases that withdraw an announcement.
const NOT: [&str; 3] = ["not", "never", "know"];
/// Phrases that tell somebody else to act.
const ADVICE: [&str; 7] =
    ["you can", "you could", "you need to", "you have to", "you should", "following command", "following steps"];
/// Maximum number of words in between, which may say when or how.
const BETWEEN: usize = 2;

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
/// Maximum length of an order or a question, in bytes. A longer message has code or logs.
const ORDER_BYTES: usize = 1000;
/// Verbs with which a user asks what a file says.
const EXPLAINS: [&str; 5] = ["explain", "describe", "summarize", "summarise", "tell"];

/// Whether the user has ordered something that an editor's tools do: a sentence begins with it, and names a file or the like.
fn orders(asked: &Message) -> bool {
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

/// The listed file about which the user's message asks what it says, as the user names it. A message with a file's text does
/// not ask that, nor does a question how to do something with the file, or where something is.
fn asked_about<'w>(workspace: &'w Workspace) -> Option<&'w str> {
    if workspace.words().contains("```") || workspace.words().len() > ORDER_BYTES {
        return None;
    }
    let is_sign = |c: char| !c.is_alphanumeric();
    let named = |sentence: &'w str| {
        let mut words =
            sentence.split_whitespace().map(|word| word.trim_end_matches(is_sign).trim_start_matches(|c| is_sign(c) && c != '/'));
        words.find(|word| word.contains('.') && workspace.lists(Workspace::name_of(word)))
    };
    let asks = |sentence: &&str| {
        let plain = sentence.to_lowercase();
        let words = words(&plain);
        let is_about_else = |some: &[&str]| {
            matches!(
                some,
                ["without" | "where", ..]
                    | ["how", "to", ..]
                    | ["how", "do" | "would", "i" | "we" | "you", ..]
                    | ["can" | "could" | "should" | "must", "i" | "we", ..]
            )
        };
        let is_question = sentence.trim_end().ends_with('?') || words.iter().any(|word| EXPLAINS.contains(word));
        is_question && !(0..words.len()).any(|at| is_about_else(&words[at..]))
    };
    workspace.words().split_inclusive(['\n', '?', '!']).flat_map(|line| line.split(". ")).filter(asks).find_map(named)
}

/// Whether an answer without a call tells the user to act, and asks nothing.
fn advises(said: &str) -> bool {
    let plain = said.to_lowercase();
    let words = words(&plain);
    let advises = |at: usize| ADVICE.iter().any(|advice| after(&words[at..], advice).is_some());
    !said.trim_end().ends_with('?') && (0..words.len()).any(advises)
}

/// Whether an answer without a call says that its model acts, or names the one tool that it would call.
fn announces(said: &str, tools: &Tools) -> bool {
    let said_plainly = said.to_lowercase().replace('’', "'");
    let words = words(&said_plainly);
    let acts = |at: usize| {
        let acts = ACTORS.iter().find_map(|actor| after(&words[at..], actor)).unwrap_or_default();
        acts.iter().take(BETWEEN + 1).take_while(|word| !NOT.contains(word)).any(|word| ACTS.contains(word))
    };
    if (0..words.len()).any(acts) {
        return true;
    }
    // A name that is an ordinary word proves nothing, and an answer that names several tools only describes them.
    let mut named = tools.iter().filter(|tool| tool.name.contains('_') && said.contains(&tool.name));
    matches!((named.next(), named.next()), (Some(_), None))
}

/// The words after a phrase, if these words begin with it.
fn after<'w, 't>(words: &'w [&'t str], phrase: &str) -> Option<&'w [&'t str]> {
    let (begin, rest) = words.split_at_checked(phrase.split(' ').count())?;
    begin.iter().copied().eq(phrase.split(' ')).then_some(rest)
}

/// The words of a text.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Tool, ToolChoice};

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
    fn a_question_about_a_listed_file_asks_what_it_says() {
        let asks = |words: &str| {
            let listed = ["src", "main.rs", "README.md", "notes.txt"].map(str::to_owned).to_vec();
            let workspace = Workspace::new("/w/demo", Vec::new(), Vec::new(), words.into()).unwrap().with_listed(listed);
            asked_about(&workspace).is_some()
        };
        for words in [
            "Explain to me what src/main.rs does.",
            "What does README.md say about the license?",
            "Hi. Can the port be changed in `/w/demo/src/main.rs`?",
            "Please summarize notes.txt.",
            "How does src/main.rs start the server?",
        ] {
            assert!(asks(words), "{words}");
        }
        for words in [
            "Hi!",
            "What does main do?",
            "How do I delete notes.txt?",
            "How can I run src/main.rs?",
            "Should I commit notes.txt?",
            "Explain it without reading src/main.rs.",
            "Where is README.md?",
            "Can you tell me where in src/main.rs the port is set?",
            "Thanks, README.md is fine now.",
            "Delete notes.txt.",
            "What does src/lib.rs do?",
            "What does src/main.rs do?\n```\nfn main() {}\n```",
        ] {
            assert!(!asks(words), "{words}");
        }
    }
}
