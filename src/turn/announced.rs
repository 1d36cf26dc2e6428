//! Narration in place of a call: `I'll search through the files.`, and the answer ends. A small model in an editor does that, and
//! nothing happens. Only words of one who acts count, never advice (`you can use the following command`): the user may have
//! asked for it.

use regex::Regex;

use crate::event::Tools;

/// Whether an answer without a call says that its model acts, or names the one tool that it would call.
pub(super) fn announces(said: &str, tools: &Tools) -> bool {
    if acts(said) {
        return true;
    }
    // A name that is an ordinary word says nothing; whoever names several tells about them.
    let mut named = tools.iter().filter(|tool| tool.name.contains('_') && said.contains(&tool.name));
    matches!((named.next(), named.next()), (Some(_), None))
}

/// Whether the words are those of one who is about to act (English alone: the editor's prompt is English, and small models
/// follow it).
fn acts(said: &str) -> bool {
    let who = r"(?:I['’]ll|I will|I['’]m going to|I am going to|[Ll]et me|[Ll]et['’]s|[Ww]e['’]ll|[Ww]e will)";
    let does = "(?:call|change|check|create|delete|edit|execute|find|inspect|list|look|make|modify|open|read|remove|rename|replace\
                |run|search|start|update|use|write)";
    Regex::new(&format!(r"\b{who}\s+(?:\w+\s+){{0,2}}{does}\b")).is_ok_and(|acts| acts.is_match(said))
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
            "My tools are read_file and search_docs.",
            "I can find it.",
            "Let me know if you need more.",
            "",
        ] {
            assert!(!announces(said, &tools), "{said}");
        }
    }
}
