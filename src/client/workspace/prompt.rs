//! Reads the workspace folder from an editor's system prompt: `The user's workspace contains these folders:`, one folder per
//! line, and an overview of the files that begins with the folder's name. (Void, `common/prompt/prompts.ts`.)

use super::Workspace;
use crate::openai::{Message, is_spoken};

const FOLDERS: &str = "workspace contains these folders:";
const OVERVIEW: [&str; 2] = ["<files_overview>", "</files_overview>"];

/// The workspace; `None` if the prompt does not name it, or it has several folders.
pub(in crate::client) fn read(messages: &[Message]) -> Option<Workspace> {
    let prompt = messages.iter().find(|message| matches!(message.role.as_str(), "system" | "developer" | "user"))?;
    let prompt = prompt.content.text();
    let mut lines = prompt.lines().skip_while(|line| !line.trim_end().ends_with(FOLDERS)).skip(1);
    let mut folders = lines.by_ref().take_while(|line| !line.trim().is_empty());
    let folder = folders.next()?.trim();
    if folders.next().is_some() {
        return None;
    }
    let words = messages.iter().rfind(|message| is_spoken(message)).map(|message| message.content.to_text());
    let (names, entries, listed) = overview(&prompt, Workspace::name_of(folder));
    Some(Workspace::new(folder, names, entries, words.unwrap_or_default())?.with_listed(listed))
}

/// The names that mean the folder itself, the entries in it, and the names of all that is listed. The folder itself is meant by
/// its own name and by `workspace`, unless the overview of files lists something with that name. All are empty if the overview
/// does not begin with the folder.
fn overview(prompt: &str, name: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let [open, close] = OVERVIEW;
    let overview = prompt.split_once(open).and_then(|(_, rest)| rest.split_once(close)).map(|(overview, _)| overview.trim());
    let mut lines = overview.unwrap_or_default().lines();
    let entry = |line: &'_ str| line.trim_start_matches(['│', '├', '└', '─', ' ']).trim_end().trim_end_matches('/').to_owned();
    if lines.next().map(entry).as_deref() != Some(name) {
        return Default::default();
    }
    let held: Vec<String> = lines.clone().map(entry).collect();
    let names = [name, "workspace"].into_iter().map(str::to_owned).filter(|name| !held.contains(name)).collect();
    (names, lines.filter(|line| line.starts_with(['├', '└'])).map(entry).collect(), held)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folders: &str, overview: &str, path: &str) -> Option<String> {
        let system = format!(
            "You help.\n<system_info>\n- The user's workspace contains these folders:\n{folders}\n\n- Active file:\n/w/x\n</system_info>\n\
             <files_overview>\n{overview}\n</files_overview>"
        );
        let read = read(&[Message::text("system", system), Message::text("user", "Read src/a.rs.")]);
        read?.place(path)
    }

    #[test]
    fn the_folder_of_a_prompt_is_known() {
        let tree = "demo/\n├── Cargo.toml\n└── src/\n    └── main.rs";
        let placed = |path: &str| Some(format!("/w/demo/{path}"));
        assert_eq!(place("/w/demo", tree, "src/main.rs"), placed("src/main.rs"));
        assert_eq!(place("/w/demo", tree, "demo/src"), placed("src"));
        assert_eq!(place("/w/demo", tree, "/src/a.rs"), placed("src/a.rs"));
        assert_eq!(place("/w/demo", tree, "\"src/main.rs\""), placed("src/main.rs"));
        assert_eq!(place("/w/demo", tree, " /w/demo/src/main.rs\n"), placed("src/main.rs"));
        assert_eq!(place("/w/demo", tree, "`/w/demo/src/main.rs`"), placed("src/main.rs"));
        assert_eq!(place("/w/demo", tree, "/w/demo/src/main.rs"), None);
        assert_eq!(place("/w/demo", tree, "/w/demo/demo/src/main.rs"), placed("src/main.rs"));
        assert_eq!(place("/w/demo", tree, "/w/demo/demo/main.rs"), None, "it is not listed there");
        assert_eq!(place("/w/demo", tree, "workspace"), Some("/w/demo".to_owned()));
        assert_eq!(place("/w/demo", "demo/\n└── workspace/", "workspace"), placed("workspace"));
        let twice = "demo/\n├── demo/\n│   └── __init__.py\n└── setup.py";
        assert_eq!(place("/w/demo", twice, "demo/__init__.py"), None, "either may be meant");
        assert_eq!(place("/w/demo", "", "demo/x.py"), None, "nobody knows what is in it");
        assert_eq!(place("/w/demo", "", "src/a.rs"), placed("src/a.rs"));
        assert_eq!(place("/w/demo\n/w/other", tree, "src/a.rs"), None, "one of two");
        assert_eq!(place("NO FOLDERS OPEN", tree, "src/a.rs"), None);
        assert_eq!(read(&[Message::text("system", "Be brief."), Message::text("user", "Hi")]), None);
    }
}
