//! The folder in which a client's user works. Some editors open every path unresolved, so they take `src/main.rs` for
//! `/src/main.rs`, while the model means the file in the workspace.

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

/// Why a path is doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// It is a command line.
    CommandLine,
    /// It is outside the workspace.
    Outside {
        /// The folder of the workspace.
        workspace: String,
        /// The path inside the workspace that may be meant.
        meant: Option<String>,
    },
}

/// Folders at the root of a file system: `/etc/hosts` is not a file of the workspace, even if the user wrote `etc/hosts`.
const ROOTS: [&str; 24] = [
    "Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt",
    "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "var",
];

/// Verbs with which a user asks what a file says.
const EXPLAINS: [&str; 5] = ["explain", "describe", "summarize", "summarise", "tell"];
/// A longer message has code or logs with it, in bytes.
const QUESTION_BYTES: usize = 1000;
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

    /// The listed file about which the user's message asks what it says, as the user names it. A message with a file's text does
    /// not ask that, nor does a question how to do something with the file, or where something is.
    pub fn asked_about<'w>(&'w self) -> Option<&'w str> {
        if self.words.contains("```") || self.words.len() > QUESTION_BYTES {
            return None;
        }
        let is_sign = |c: char| !c.is_alphanumeric();
        let named = |sentence: &'w str| {
            let mut words = sentence
                .split_whitespace()
                .map(|word| word.trim_end_matches(is_sign).trim_start_matches(|c| is_sign(c) && c != '/'));
            words.find(|word| word.contains('.') && self.listed.iter().any(|name| name == Workspace::name_of(word)))
        };
        let asks = |sentence: &&str| {
            let plain = sentence.to_lowercase();
            let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
            let advice = |some: &[&str]| {
                matches!(
                    some,
                    ["how", "to", ..] | ["can" | "could" | "should" | "must", "i" | "we", ..] | ["without" | "where", ..]
                ) || matches!(some, ["how", "do" | "would", "i" | "we" | "you", ..])
            };
            let is_question = sentence.trim_end().ends_with('?') || words.iter().any(|word| EXPLAINS.contains(word));
            is_question && !(0..words.len()).any(|at| advice(&words[at..]))
        };
        self.words.split_inclusive(['\n', '?', '!']).flat_map(|line| line.split(". ")).filter(asks).find_map(named)
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
        let is_folder = |at: usize| words[at].ends_with('/') || is_called(at, &FOLDERS);
        (0..words.len()).filter(is_name).any(is_folder) && !(0..words.len()).filter(is_name).any(|at| is_called(at, &FILES))
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

    /// Why the model should confirm a call with this path before the client opens it. `writes`: the call may change something.
    ///
    /// Void's prompt forbids changes outside the workspace without the user's permission, and Void itself does not check this.
    pub fn doubt(&self, path: &str, writes: bool) -> Option<Doubt> {
        if is_command_line(path) {
            return Some(Doubt::CommandLine);
        }
        let outside = writes && is_absolute(path) && self.inside(path).is_none() && !self.permits(path);
        outside.then(|| Doubt::Outside { workspace: self.folder.clone(), meant: self.beside(path) })
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
mod tests {
    use super::*;

    #[test]
    fn a_path_that_can_only_mean_the_workspace_is_placed_in_it() {
        let words = "Create src/util.rs and /srv/x.txt, then look at etc/hosts, `docs/a.md`. docs is a folder. Add the folders logs and var: the folder logs, the folder var.";
        let demo = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Workspace::new("/workspace/demo/", names, vec!["src".into()], words.into()).unwrap()
        };
        for (path, expected) in [
            ("src/main.rs", Some("/workspace/demo/src/main.rs")),
            ("./src/", Some("/workspace/demo/src/")),
            ("././a b.txt", Some("/workspace/demo/a b.txt")),
            (".", Some("/workspace/demo")),
            (".github/ci.yml", Some("/workspace/demo/.github/ci.yml")),
            ("docs/", Some("/workspace/demo/docs/")),
            // The client's overview of files begins with the name of the folder.
            ("demo/src", Some("/workspace/demo/src")),
            ("demo", Some("/workspace/demo")),
            ("workspace", Some("/workspace/demo")),
            ("workspace/src", Some("/workspace/demo/src")),
            ("demo2/src", Some("/workspace/demo/demo2/src")),
            // The user named it without the slash.
            ("/src/util.rs", Some("/workspace/demo/src/util.rs")),
            ("/docs/a.md", Some("/workspace/demo/docs/a.md")),
            // The name of the folder twice, before something that is in the folder.
            ("/workspace/demo/demo/src/main.rs", Some("/workspace/demo/src/main.rs")),
            ("/workspace/demo/demo/src", Some("/workspace/demo/src")),
            ("workspace/demo/src/main.rs", Some("/workspace/demo/src/main.rs")),
            ("workspace/demo/new.rs", Some("/workspace/demo/demo/new.rs")),
            ("/workspace/demo/demo/new.rs", None),
            ("/workspace/demo/demo", None),
            ("/workspace/demo/demo/", None),
            ("/workspace/demo/demo/demo/src", None),
            ("/workspace/demo/../demo/demo/src", None),
            ("/workspace/demo2/demo/src", None),
            // As it is: absolute, somebody else's, outside, or not clear.
            ("/workspace/demo/src/main.rs", None),
            ("/workspace/demo", None),
            ("/workspace/other.rs", None),
            ("/src/other.rs", None),
            ("/util.rs", None),
            ("/srv/x.txt", None),
            ("/etc/hosts", None),
            ("/docs", None),
            ("/logs", Some("/workspace/demo/logs")),
            ("/logs/", Some("/workspace/demo/logs/")),
            ("/var", None),
            ("//src/util.rs", None),
            ("", None),
            ("../x", None),
            ("src/../../x", None),
            ("~/x", None),
            ("$HOME/x", None),
            ("file:///workspace/x", None),
            ("C:\\x", None),
            ("c:/x", None),
            ("\\\\server\\x", None),
            ("src/a\nb", None),
        ] {
            assert_eq!(demo(&["demo", "workspace"]).place(path).as_deref(), expected, "{path}");
        }
        assert_eq!(demo(&[]).place("demo/src"), None, "it may be a folder in the folder");
        assert_eq!(demo(&[]).place("src").as_deref(), Some("/workspace/demo/src"));
        let windows = Workspace::new("c:\\work\\demo", vec!["demo".into()], vec!["src".into()], String::new()).unwrap();
        assert_eq!(windows.place("src\\main.rs").as_deref(), Some("c:\\work\\demo\\src\\main.rs"));
        assert_eq!(windows.place("demo/src").as_deref(), Some("c:\\work\\demo\\src"));
        assert_eq!(windows.place("D:\\x"), None);
        assert_eq!(windows.place("C:/Work/demo/demo/src/a"), Some("c:\\work\\demo\\src/a".into()));
        assert_eq!(Workspace::new("demo", Vec::new(), Vec::new(), String::new()), None);
        assert_eq!(Workspace::new("NO FOLDERS OPEN", Vec::new(), Vec::new(), String::new()), None);
    }

    #[test]
    fn a_question_about_a_listed_file_asks_what_it_says() {
        let asks = |words: &str| {
            let listed = ["src", "main.rs", "README.md", "notes.txt"].map(str::to_owned).to_vec();
            Workspace::new("/w/demo", Vec::new(), Vec::new(), words.into()).unwrap().with_listed(listed).asked_about().is_some()
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

    #[test]
    fn what_the_user_calls_a_folder_is_one() {
        let as_folder = |words: &str, path: &str| {
            Workspace::new("/w/demo", Vec::new(), Vec::new(), words.into()).unwrap().as_folder(path).is_some()
        };
        for (words, path) in [
            ("Create a folder docs in the workspace.", "/w/demo/docs"),
            ("Add a folder `docs`, then look at it.", "/w/demo/docs"),
            ("Make a new directory called \"build\".", "/w/demo/build"),
            ("I need the tests/data folder.", "/w/demo/tests/data"),
            ("Create the folder /w/demo/src/net.", "/w/demo/src/net"),
            ("Create src/net/ for me", "/w/demo/src/net"),
            ("Please create the Directory .github", "/w/demo/.github"),
            ("Create an empty folder with the name logs.", "/w/demo/logs"),
            ("Lege einen Ordner namens bilder an.", "/w/demo/bilder"),
            ("Crée le dossier images.", "/w/demo/images"),
        ] {
            assert!(as_folder(words, path), "{words}");
        }
        for (words, path) in [
            ("Create a file docs in the workspace.", "/w/demo/docs"),
            ("Create the file notes in the folder docs.", "/w/demo/docs/notes"),
            ("Create LICENSE.", "/w/demo/LICENSE"),
            ("Delete the folder tmp, then create a file tmp.", "/w/demo/tmp"),
            ("Create a folder docs.", "/w/demo/docs/"),
            ("Create a folder docs.", "/w/demo/docs2"),
            ("Which folder has util.rs? Create util.rs there.", "/w/demo/util.rs"),
            ("Create a folder.", ""),
        ] {
            assert!(!as_folder(words, path), "{words}");
        }
    }

    #[test]
    fn a_path_in_doubt_is_a_command_or_leads_out_of_the_workspace() {
        let demo = |words: &str| Workspace::new("/workspace/demo", Vec::new(), Vec::new(), words.into()).unwrap();
        for (path, writes, doubted) in [
            ("rustc --version", false, true),
            ("cargo -q build", true, true),
            ("notes - old.txt", true, false),
            ("my notes.txt", true, false),
            ("src/my file -draft.txt", true, false),
            ("draft -- final", true, true),
            ("/workspace/docs", true, true),
            ("/workspace/docs", false, false),
            ("/workspace/demo2/a", true, true),
            ("/workspace/demo/../a", true, true),
            ("/workspace/demo/docs", true, false),
            ("/workspace/demo", true, false),
            ("src/a.rs", true, false),
            ("", true, false),
        ] {
            assert_eq!(demo("Create the folder docs.").doubt(path, writes).is_some(), doubted, "{path}");
        }
        for (words, path, doubted) in [
            ("Write it to /tmp/out.txt.", "/tmp/out.txt", false),
            ("Put the three files into `/tmp/out`", "/tmp/out/a/b.txt", false),
            ("Put the three files into /tmp/out", "/tmp/outer/a.txt", true),
            ("Write /tmp/out.txt", "/tmp/other.txt", true),
            ("one / two", "/tmp/other.txt", true),
        ] {
            assert_eq!(demo(words).doubt(path, true).is_some(), doubted, "{words}: {path}");
        }
        let meant = |path: &str| match demo("").doubt(path, true) {
            Some(Doubt::Outside { meant, .. }) => meant,
            doubt => panic!("{doubt:?}"),
        };
        assert_eq!(meant("/workspace/docs").as_deref(), Some("/workspace/demo/docs"));
        assert_eq!(meant("/workspace/demo2/a.rs").as_deref(), Some("/workspace/demo/demo2/a.rs"));
        assert_eq!((meant("/etc/hosts"), meant("/workspace/demo/../a")), (None, None));
        let windows = Workspace::new("c:\\work\\demo", Vec::new(), Vec::new(), String::new()).unwrap();
        let doubts = |path: &str| windows.doubt(path, true).is_some();
        assert!(!doubts("C:\\Work\\demo\\a.txt") && !doubts("c:/work/demo/a.txt") && doubts("c:\\work\\a.txt"));
    }

    #[test]
    fn a_mention_is_a_whole_path() {
        for (text, found) in [
            ("src/a.rs", true),
            ("(src/a.rs).", true),
            ("see `src/a.rs`: it", true),
            ("in src/a.rs/", true),
            ("/src/a.rs", false),
            ("my-src/a.rs", false),
            ("src/a.rs.bak", false),
            ("src/a.rsx", false),
            ("./src/a.rs", false),
            ("", false),
        ] {
            assert_eq!(mentions(text, "src/a.rs"), found, "{text}");
        }
    }
}
