//! The folder in which a client's user works. Some editors open every path unresolved, so they take `src/main.rs` for
//! `/src/main.rs`, while the model means the file in the workspace.

pub(super) mod prompt;

/// The only folder of a workspace, with the facts that decide about paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Absolute, without a separator at its end.
    folder: String,
    /// Names at the beginning of a path that mean the folder itself. Nothing in the folder has such a name.
    names: Vec<String>,
    /// What the client lists in the folder, by name; empty if it lists nothing.
    entries: Vec<String>,
    /// What the client lists in the folder and in the folders below, by name.
    listed: Vec<String>,
    /// The text of the user's last message.
    words: String,
}

/// Folders at the root of a file system: `/etc/hosts` is not a file of the workspace, even if the user wrote `etc/hosts`.
const ROOTS: [&str; 24] = [
    "Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt",
    "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "var",
];

/// Words for a folder before its name, or after it.
const FOLDERS: [&str; 17] = [
    "folder", "directory", "dir", "subfolder", "subdirectory", "ordner", "verzeichnis", "dossier", "répertoire", "carpeta",
    "directorio", "cartella", "pasta", "diretório", "папку", "каталог", "директорию",
];
/// Words for a file in the same place.
const FILES: [&str; 7] = ["file", "datei", "fichier", "archivo", "fichero", "arquivo", "файл"];
/// Words between such a word and the name.
const NAMED: [&str; 11] =
    ["named", "called", "name", "namens", "nommé", "appelé", "llamada", "llamado", "chiamata", "chamada", "именем"];
/// Words before those.
const WITH: [&str; 4] = ["with", "of", "the", "с"];

impl Workspace {
    /// A workspace with this folder; `None` if the folder is not absolute. `names`: names that mean the folder itself at the
    /// beginning of a path. `entries`: what the client lists in the folder. `words`: the text of the user's last message.
    pub fn new(folder: &str, names: Vec<String>, entries: Vec<String>, words: String) -> Option<Workspace> {
        let folder = folder.trim().trim_end_matches(['/', '\\']);
        let listed = Vec::new();
        is_absolute(folder).then(|| Workspace { folder: folder.to_owned(), names, entries, listed, words })
    }

    /// With what the client lists in the folder and in the folders below, by name.
    pub fn with_listed(self, listed: Vec<String>) -> Workspace {
        Workspace { listed, ..self }
    }

    /// The text of the user's last message.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Whether the client lists a file or a folder of this name.
    pub fn lists(&self, name: &str) -> bool {
        self.listed.iter().any(|listed| listed == name)
    }

    /// The name of a folder, the last part of its path.
    pub fn name_of(folder: &str) -> &str {
        folder.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// The absolute path that the model means by `path`; `None`: the path is right already, or its meaning is unknown.
    ///
    /// A relative path is in the workspace. So is a path with a leading slash, if the user named it without the slash (a single
    /// word only as a folder), and it does not begin with a folder that systems have at their root. A path in the folder that
    /// names the folder once more means what the client lists there. Spaces and quotes around a path do not count.
    pub fn place(&self, path: &str) -> Option<String> {
        let bare = path.trim();
        let bare = ['"', '\'', '`'].into_iter().find_map(|quote| bare.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(bare);
        if bare != path && !bare.is_empty() {
            return Some(self.place(bare).unwrap_or_else(|| bare.to_owned()));
        }
        let inside = match (self.inside(path), path.strip_prefix('/')) {
            (Some(inside), _) => self.after_the_name(inside)?,
            (None, None) => self.relative(path)?,
            (None, Some(rest)) => self.relative(Some(rest).filter(|rest| self.was_named(rest))?)?,
        };
        let separator = if self.folder.contains('\\') { '\\' } else { '/' };
        let gap = if inside.is_empty() { String::new() } else { separator.to_string() };
        Some(format!("{}{gap}{inside}", self.folder))
    }

    /// The path with a slash at its end, for tools that take it for a folder only then; `None`: the path has one, or the user has
    /// not called it a folder.
    pub fn as_folder(&self, path: &str) -> Option<String> {
        let is_open = !path.is_empty() && !path.ends_with(['/', '\\']);
        let names = [path, self.inside(path).unwrap_or(path), Workspace::name_of(path)];
        (is_open && self.is_called_folder(&names)).then(|| format!("{path}/"))
    }

    /// Whether the user calls something of one of these names a folder, and nothing of these names a file.
    fn is_called_folder(&self, names: &[&str]) -> bool {
        let is_sign = |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '\\' | '.' | '_' | '-');
        let plain = |word: &str| word.trim_end_matches(['.', ',', ';', ':', '?', '!']).trim_matches(is_sign).to_owned();
        let words: Vec<String> = self.words.split_whitespace().map(plain).collect();
        let is_one_of = |word: Option<&String>, of: &[&str]| word.is_some_and(|word| of.contains(&word.to_lowercase().as_str()));
        let is_called = |at: usize, what: &[&str]| {
            let (before, after) = (&words[..at], words.get(at + 1));
            // `the folder with the name x`
            let named = before.iter().rposition(|word| !is_one_of(Some(word), &NAMED) && !is_one_of(Some(word), &WITH));
            let is_named = is_one_of(before.last(), &NAMED);
            is_one_of(before.last(), what) || is_one_of(after, what) || (is_named && is_one_of(named.map(|at| &before[at]), what))
        };
        let is_name = |at: &usize| names.contains(&words[*at].trim_end_matches('/').trim_start_matches("./"));
        let mut named = (0..words.len()).filter(is_name);
        let is_folder = |at: usize| words[at].ends_with('/') || is_called(at, &FOLDERS);
        named.clone().any(is_folder) && !named.any(|at| is_called(at, &FILES))
    }

    /// A relative path without the names that mean the workspace. `None` if it is not relative, or leads out of the workspace.
    fn relative<'a>(&self, path: &'a str) -> Option<&'a str> {
        let outside = path.is_empty()
            || is_absolute(path)
            || path.contains("://")
            || path.starts_with(['~', '$', '%'])
            || path.contains(['\n', '\r'])
            || path.split(['/', '\\']).any(|part| part == "..");
        if outside {
            return None;
        }
        let mut path = path;
        while let Some(rest) = path.strip_prefix("./").or_else(|| path.strip_prefix(".\\")) {
            path = rest;
        }
        if path == "." {
            return Some("");
        }
        let (first, rest) = path.split_once(['/', '\\']).unwrap_or((path, ""));
        if self.names.iter().any(|name| name == first) {
            return Some(self.after_the_name(rest).unwrap_or(rest));
        }
        (first != Workspace::name_of(&self.folder)).then_some(path)
    }

    /// An absolute path relative to the folder; `None` if it is not inside.
    fn inside<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (head, rest) = path.split_at_checked(self.folder.len())?;
        // Windows compares paths without their case and takes both separators.
        let plain = |path: &str| path.replace('\\', "/").to_ascii_lowercase();
        let same = head == self.folder || (self.folder.contains(':') && plain(head) == plain(&self.folder));
        let inside = rest.strip_prefix(['/', '\\']).or_else(|| rest.is_empty().then_some(rest))?;
        (same && !inside.split(['/', '\\']).any(|part| part == "..")).then_some(inside)
    }

    /// The rest of a path inside the folder that repeats the folder's name, if the folder contains that rest and nothing of its
    /// own name.
    fn after_the_name<'a>(&self, inside: &'a str) -> Option<&'a str> {
        let (first, rest) = inside.split_once(['/', '\\'])?;
        let next = rest.split(['/', '\\']).next()?;
        let is_name = first == Workspace::name_of(&self.folder) && self.names.iter().any(|name| name == first);
        (is_name && self.entries.iter().any(|entry| entry == next)).then_some(rest)
    }

    /// What the model is told of this path before the client opens it, if it is doubtful: what is wrong, and what to do. `writes`:
    /// the call may change something. `runner`: the tool that runs command lines.
    ///
    /// Void's prompt forbids changes outside the workspace without the user's permission, and Void itself does not check this.
    pub fn doubt(&self, path: &str, writes: bool, runner: Option<&str>) -> Option<String> {
        if is_command_line(path) {
            let instead = match runner {
                Some(tool) => format!("Call {tool} with the whole command line as its `command`"),
                None => "Write the whole call again, corrected".to_owned(),
            };
            return Some(format!("is a command line, not a path. {instead}"));
        }
        if !writes || !is_absolute(path) || self.inside(path).is_some() || self.permits(path) {
            return None;
        }
        let meant = self.beside(path).map(|path| format!(" Did you mean {path}?")).unwrap_or_default();
        Some(format!("is outside of the workspace {}.{meant} Write the whole call again", self.folder))
    }

    /// The path inside the folder that may be meant by one in a folder above it (`/w/demo/docs` for `/w/docs`).
    fn beside(&self, path: &str) -> Option<String> {
        let common = path.bytes().zip(self.folder.bytes()).take_while(|(a, b)| a == b).count();
        let at = path.get(..common)?.rfind(['/', '\\']).filter(|at| *at > 0)?;
        let rest = path.get(at..).filter(|rest| !rest.split(['/', '\\']).any(|part| part == ".."))?;
        Some(format!("{}{rest}", self.folder))
    }

    /// Whether the user mentioned this path or a folder above it.
    fn permits(&self, path: &str) -> bool {
        let above = std::iter::successors(Some(path), |path| path.rfind(['/', '\\']).and_then(|at| path.get(..at)));
        above.filter(|path| path.len() > 1).any(|path| mentions(&self.words, path))
    }

    /// Whether the user mentioned this path as a relative one.
    fn was_named(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        (path.contains(['/', '.']) || self.is_called_folder(&[path]))
            && !ROOTS.contains(&first)
            && !first.is_empty()
            && mentions(&self.words, path)
    }
}

/// Whether a path is absolute, on Unix or on Windows.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic())
}

/// Whether this is a program with an option (`rustc --version`).
fn is_command_line(path: &str) -> bool {
    let Some((program, rest)) = path.trim().split_once(' ') else { return false };
    let is_program = program.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    is_program && rest.split_whitespace().next().is_some_and(|word| word.starts_with('-') && word.len() > 1)
}

/// Whether a text contains this path, and not only as a part of a longer one.
fn mentions(text: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '_' | '-' | '~' | ':' | '$');
    text.match_indices(path).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let mut after = text.get(at + path.len()..).unwrap_or_default().chars().skip_while(|c| matches!(c, '.' | ':' | '/'));
        !before.is_some_and(is_part) && !after.next().is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests;
