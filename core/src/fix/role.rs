//! What a parameter is for, judged by its name.

/// Last words of names of parameters that hold a path.
const PATHS: [&str; 12] =
    ["path", "filepath", "file", "filename", "uri", "directory", "dir", "folder", "cwd", "workdir", "workspace", "basedir"];
/// Last words of names of parameters that hold a command line.
const COMMANDS: [&str; 4] = ["command", "cmd", "commandline", "script"];
/// What is known of a parameter. The fields may all be false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Role {
    pub(crate) path: bool,
    pub(crate) command: bool,
}

impl Role {
    /// The role according to the last word of the name. A plural (`files`) means a path only for an `item` of a list: a single
    /// string may contain several paths, separated by newlines.
    pub(crate) fn of(key: &str, item: bool) -> Role {
        let word = words(key).last().unwrap_or_default().to_ascii_lowercase();
        let singular = if word == "directories" { "directory" } else { word.strip_suffix('s').unwrap_or(&word) };
        let path = PATHS.contains(&word.as_str()) || item && PATHS.contains(&singular);
        Role { path, command: COMMANDS.contains(&singular) || COMMANDS.contains(&word.as_str()) }
    }
}

/// The words of a name, in any of the forms `tool_call`, `tool-call`, `tool.call`, `ToolCall`.
pub(crate) fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut before = '_';
    name.split(['_', '-', ' ', '.']).flat_map(move |part| {
        let ends = part.char_indices().filter_map(move |(at, c)| {
            let begins = c.is_ascii_uppercase() && before.is_ascii_lowercase();
            before = c;
            begins.then_some(at)
        });
        let mut at = 0;
        ends.chain([part.len()]).map(move |end| &part[std::mem::replace(&mut at, end)..end]).collect::<Vec<_>>()
    })
}
