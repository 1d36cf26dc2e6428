//! Narration in place of a call: `I'll search through the files.`, and the answer ends. A small model in an editor does that, and
//! nothing happens. Only words of one who acts count, never advice (`you can use the following command`): the user may have
//! asked for it.

use crate::event::Tools;

/// How one speaks who is about to act (English alone: the editor's prompt is English, and small models follow it).
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
/// What is done with tools.
const ACTS: [&str; 25] = [
    "call", "change", "check", "create", "delete", "edit", "execute", "find", "inspect", "list", "look", "make", "modify",
    "open", "read", "remove", "rename", "replace", "run", "search", "start", "update", "use", "view", "write",
];
/// What takes the announcement back.
const NOT: [&str; 3] = ["not", "never", "know"];
/// Maximum number of words between, which may say when or how.
const BETWEEN: usize = 2;

/// Whether an answer without a call says that its model acts, or names the one tool that it would call.
pub(super) fn announces(said: &str, tools: &Tools) -> bool {
    let said_plainly = said.to_lowercase().replace('’', "'");
    let words: Vec<&str> =
        said_plainly.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
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
