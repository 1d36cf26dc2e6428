//! What a parameter is for, by its name.

/// Last words of parameter names whose value is a path.
const PATHS: [&str; 12] =
    ["path", "filepath", "file", "filename", "uri", "directory", "dir", "folder", "cwd", "workdir", "workspace", "basedir"];
/// Last words of names of parameters whose value is a command line.
const COMMANDS: [&str; 4] = ["command", "cmd", "commandline", "script"];
/// Last words of names of parameters whose value is a regular expression or a glob.
const PATTERNS: [&str; 4] = ["pattern", "regex", "regexp", "glob"];

/// What is known of the parameter that a string belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Role {
    pub(crate) path: bool,
    pub(crate) command: bool,
    pub(crate) pattern: bool,
}

impl Role {
    /// What the last word of a name says. Paths in one string (`files`), not in a list, are separated by newlines; only `item`s
    /// of such a parameter are a path each.
    pub(crate) fn of(key: &str, item: bool) -> Role {
        let last = key.rsplit(['_', '-', ' ', '.']).next().unwrap_or(key);
        // The last word of `filePath` and `targetFile`.
        let capital =
            last.rfind(|c: char| c.is_ascii_uppercase()).filter(|at| *at > 0 && !last[*at..].eq_ignore_ascii_case(last));
        let word = capital.map_or(last, |at| &last[at..]).to_ascii_lowercase();
        let singular = if word == "directories" { "directory" } else { word.strip_suffix('s').unwrap_or(&word) };
        let named = |names: &[&str]| names.contains(&singular) || names.contains(&word.as_str());
        let path = PATHS.contains(&word.as_str()) || item && PATHS.contains(&singular);
        Role { path, command: named(&COMMANDS), pattern: named(&PATTERNS) }
    }
}
