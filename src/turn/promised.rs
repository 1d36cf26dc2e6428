//! What the model says about an action instead of calling: whether an answer only announces it (`I'll search through the files.`),
//! as small models in an editor do. Advice (`you can use the following command`) counts only if the user has ordered the action:
//! otherwise the user may have asked for the advice.

use super::users_words::words;
use crate::event::Tools;

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
/// Maximum number of words in between, which may say when or how.
const BETWEEN: usize = 2;

/// Whether an answer without a call tells the user to act, and asks nothing.
pub(super) fn advises(said: &str) -> bool {
    let plain = said.to_lowercase();
    let words = words(&plain);
    !said.trim_end().ends_with('?') && ADVICE.iter().any(|advice| words.windows(advice.len()).any(|some| some == *advice))
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
    // A name that is an ordinary word proves nothing, and an answer that names several tools only describes them.
    let mut named = tools.iter().filter(|tool| tool.name.contains('_') && said.contains(&tool.name));
    matches!((named.next(), named.next()), (Some(_), None))
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
}
