//! Names of variables in the place of values: `run_command(command=cmd)`. Only the program that the model had in mind knows their
//! values. A word that is not written like a variable is the value itself: `city=Oslo`.

use crate::fix::schema::{aliases, fold};

/// Abbreviations that programs use for parameters. Those without vowels (`cmd`, `msg`) need no list.
const SHORT: [&str; 20] = [
    "addr", "args", "conf", "desc", "dest", "dir", "doc", "env", "expr", "func", "idx", "img", "lang", "loc", "num", "opts",
    "params", "repo", "val", "vals",
];
/// Extensions of files and top-level domains. After the last dot, they are not an attribute.
const ENDINGS: [&str; 92] = [
    "ai", "app", "bak", "bash", "bat", "bin", "bmp", "bz2", "c", "cc", "cfg", "ch", "class", "clj", "cmake", "co", "com", "conf",
    "cpp", "cs", "css", "csv", "cxx", "dart", "db", "de", "dev", "doc", "docx", "env", "eu", "ex", "exe", "exs", "fr", "gif",
    "gitignore", "go", "gov", "gradle", "gz", "h", "hpp", "hs", "htm", "html", "ico", "info", "ini", "io", "ipynb", "java",
    "jpeg", "jpg", "js", "json", "jsx", "kt", "lock", "log", "lua", "md", "mjs", "net", "org", "pdf", "php", "pl", "png", "ps1",
    "py", "pyi", "rb", "rs", "rst", "scala", "sh", "sql", "svg", "swift", "tar", "toml", "ts", "tsx", "txt", "uk", "vue", "xml",
    "xls", "xlsx", "yaml", "yml",
];
/// Shortest abbreviation, in bytes.
const SHORT_BYTES: usize = 3;
/// Longest name of a variable, in bytes.
const NAME_BYTES: usize = 64;

/// Whether a word without quotes is a variable rather than the value of the parameter `name`. A variable is in snake_case or
/// camelCase, an attribute, or the parameter's own name, a part of it, another word for it or an abbreviation.
pub(crate) fn is_variable(word: &str, name: &str) -> bool {
    let first = word.bytes().next();
    let is_name = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && word.len() <= NAME_BYTES
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    if !is_name {
        return false;
    }
    if word.contains('.') {
        return is_attribute(word);
    }
    is_snake(word) || is_camel(word) || names_parameter(word, name)
}

/// `sys.argv`, but not `main.rs` or `example.com`.
fn is_attribute(word: &str) -> bool {
    let mut parts = word.split('.');
    let names = parts.clone().all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
    names && parts.next_back().is_some_and(|last| !ENDINGS.contains(&last.to_ascii_lowercase().as_str()))
}

/// `file_name`, `API_KEY`. With numbers it is an id: `user_42`.
fn is_snake(word: &str) -> bool {
    let same_case = !word.bytes().any(|byte| byte.is_ascii_uppercase()) || !word.bytes().any(|byte| byte.is_ascii_lowercase());
    let parts = || word.split('_').filter(|part| !part.is_empty());
    word.contains('_')
        && same_case
        && parts().count() > 1
        && parts().all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// `fileName`, but not `iPhone` or `macOS`.
fn is_camel(word: &str) -> bool {
    let lower = word.bytes().take_while(u8::is_ascii_lowercase).count();
    let rest = &word.as_bytes()[lower..];
    let then = |at: usize, is: fn(&u8) -> bool| rest.get(at).is_some_and(is);
    lower > 1 && then(0, u8::is_ascii_uppercase) && then(1, u8::is_ascii_lowercase)
}

/// Whether a program may use this word for the parameter.
fn names_parameter(word: &str, name: &str) -> bool {
    let own = || name.split(['_', '-']).chain([name]).any(|part| fold(part) == fold(word));
    own() || aliases(name).any(|alias| alias == word) || abbreviates(word, name)
}

/// Whether a lowercase word abbreviates a word of the name: `cmd` for `command`.
fn abbreviates(word: &str, name: &str) -> bool {
    let vowels = word.contains(['a', 'e', 'i', 'o', 'u']);
    let is_short =
        word.len() >= SHORT_BYTES && word.bytes().all(|byte| byte.is_ascii_lowercase()) && (!vowels || SHORT.contains(&word));
    let letters_of = |name: &str| {
        let name = fold(name);
        let mut rest = name.chars();
        name.starts_with(&word[..1]) && name.len() > word.len() && word.chars().all(|letter| rest.any(|other| other == letter))
    };
    is_short && name.split(['_', '-']).any(letters_of)
}

#[cfg(test)]
mod tests {
    use super::is_variable;

    #[test]
    fn names_of_a_program_are_variables() {
        for (word, name) in [
            ("cmd", "command"),
            ("file_name", "path"),
            ("filename", "path"),
            ("sys.argv", "path"),
            ("self.path", "path"),
            ("fileName", "path"),
            ("userQuery", "query"),
            ("API_KEY", "token"),
            ("_tmp_path", "cwd"),
            ("path", "path"),
            ("path", "file_path"),
            ("city", "city_name"),
            ("msg", "message"),
            ("dir", "directory"),
            ("loc", "location"),
            ("txt", "new_text"),
        ] {
            assert!(is_variable(word, name), "{name}={word}");
        }
    }

    #[test]
    fn words_are_values() {
        for (word, name) in [
            ("Oslo", "city"),
            ("oslo", "city"),
            ("ls", "command"),
            ("cd", "command"),
            ("pwd", "command"),
            ("cat", "category"),
            ("README.md", "path"),
            ("notes.txt", "path"),
            ("my_file.txt", "path"),
            ("src/main_test.rs", "path"),
            ("example.com", "host"),
            ("user_42", "user_id"),
            ("ORD_2024", "order"),
            ("iPhone", "product"),
            ("macOS", "system"),
            ("JavaScript", "language"),
            ("New_York", "city"),
            ("celsius", "unit"),
            ("de-DE", "locale"),
            ("2.5", "version"),
            ("", "city"),
        ] {
            assert!(!is_variable(word, name), "{name}={word}");
        }
    }
}
