//! What shows that a text in quotes may be several values, or that a word without quotes is the name of a variable.

use crate::event::Tools;
use crate::fix::{aliases, fold};

/// Longest key that is recognised, in bytes.
const KEY_BYTES: usize = 64;

/// Whether a text begins or ends with one of these quotes, punctuation aside, and contains an odd number of them: `Oslo":`.
pub(crate) fn has_odd_quote(text: &str, quotes: &[char]) -> bool {
    let framing = |c: char| c.is_whitespace() || ",:;{}[]".contains(c);
    let (first, last) = (text.trim_start(), text.trim_end_matches(framing));
    let odd = |quote: char| (first.starts_with(quote) || last.ends_with(quote)) && is_odd(text, &[quote]);
    quotes.iter().any(|&quote| odd(quote) && !closes_escaped(text, quote))
}

/// Whether the only unescaped quote ends the text and closes a pair whose first quote is escaped: `say \"hi"`.
fn closes_escaped(text: &str, quote: char) -> bool {
    let (mut escaped, mut chars) = (0, text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => escaped += usize::from(chars.next() == Some(quote)),
            _ if c == quote => return chars.as_str().is_empty() && escaped % 2 == 1,
            _ => {}
        }
    }
    false
}

/// Whether an element of a list ends inside a text, and the next one lacks its opening quote: `a", b`.
pub(crate) fn ends_inside(text: &str) -> bool {
    let followed = |quote: char| text.match_indices(quote).any(|(at, _)| text[at + 1..].trim_start().starts_with(','));
    ['"', '\''].into_iter().any(|quote| followed(quote) && is_odd(text, &[quote]))
}

/// Whether a text has an odd number of these quotes, not counting escaped ones.
fn is_odd(text: &str, quotes: &[char]) -> bool {
    let (mut count, mut chars) = (0, text.chars());
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if quotes.contains(&c) {
            count += 1;
        }
    }
    count % 2 == 1
}

/// Whether a text that contains unescaped quotes may be several values.
pub(crate) fn holds_structure(text: &str) -> bool {
    let quotes = &['"', '\''];
    separates(text, quotes) || swallowed(text, quotes).any(|(_, sure)| sure)
}

/// Whether a text begins like the rest of a member: `: "x"`, or `host": "x"` after the opening quote.
pub(crate) fn begins_as_member(text: &str, quotes: &[char]) -> bool {
    let after = text.trim_start().strip_prefix([':', '=']);
    if after.is_some_and(|rest| rest.trim_start().starts_with(quotes)) {
        return true;
    }
    let word = text.find(|c: char| !is_key(c)).unwrap_or(text.len());
    let rest = text[word..].trim_start();
    word > 0 && word <= KEY_BYTES && rest.strip_prefix(quotes).is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
}

/// Whether a text may be several values: every second piece between its quotes is structure. In code, words are there.
fn separates(text: &str, quotes: &[char]) -> bool {
    let mut escaped = false;
    let mut pieces = text.split(|c| {
        let quote = quotes.contains(&c) && !escaped;
        escaped = c == '\\' && !escaped;
        quote
    });
    let first = pieces.next().unwrap_or_default().trim_end();
    let rest: Vec<&str> = pieces.collect();
    // Either the first quote closes a value, or it opens the second value and the quote before it is missing.
    let closes = rest.iter().step_by(2).all(|piece| is_structure(piece));
    let opens = rest.len() % 2 == 1
        && first.ends_with([',', ':', '{', '['])
        && rest.iter().skip(1).step_by(2).all(|piece| is_structure(piece));
    !rest.is_empty() && (closes || opens)
}

/// Whether a text is JSON without strings.
fn is_structure(text: &str) -> bool {
    let tokens = text.split(|c: char| c.is_whitespace() || ",:{}[]".contains(c));
    tokens.filter(|token| !token.is_empty()).all(|token| {
        matches!(token, "true" | "false" | "null") || token.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
    })
}

/// What a string may have swallowed of the next member: words next to its quotes that may be keys. The flag is set if a word can
/// only be a key. Words inside brackets of the string are content.
fn swallowed<'t>(text: &'t str, quotes: &'static [char]) -> impl Iterator<Item = (&'t str, bool)> {
    let (mut depth, mut inside, mut escaped) = (0_i32, true, false);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        let quoted = quotes.contains(&char::from(byte)) && !escaped;
        escaped = byte == b'\\' && !escaped;
        match byte {
            b'{' | b'[' if inside => depth += 1,
            b'}' | b']' if inside => depth = (depth - 1).max(0),
            _ if quoted && char::from(byte) == quotes[0] => inside = !inside,
            _ => {}
        }
        if !quoted || depth > 0 {
            return None;
        }
        let (before, after) = (&text[..at], &text[at + 1..]);
        let key = word_before(text, at);
        if !key.is_empty() && separated(after) {
            // `"x", "key": 1`, `"x", key": 1`: a value, and a member after it.
            let outer = before[..before.len() - key.len()].trim_end_matches(['"', '\'']).trim_end();
            let follows = outer.strip_suffix(',').map(str::trim_end);
            return Some((key, follows.is_some_and(|value| value.ends_with(['"', '\'']))));
        }
        // `"x", key="`: an equals sign in the place of the colon.
        if let Some(before) = before.trim_end().strip_suffix('=') {
            let key = word_before(before, before.len());
            let outer = before[..before.len() - key.len()].trim_end().strip_suffix(',').map(str::trim_end);
            return outer.filter(|outer| outer.ends_with(['"', '\'']) && !key.is_empty()).map(|_| (key, false));
        }
        let leading = |text: &'t str| &text[..text.find(|c: char| !is_key(c)).unwrap_or(text.len())];
        // `"x"` and `key: 1` in the next line: the comma is lost.
        let next = after.trim_start();
        let key = leading(next);
        if after[..after.len() - next.len()].contains('\n') && !key.is_empty() && next[key.len()..].starts_with(':') {
            return Some((key, false));
        }
        // `", "key"true`, `", "key 1`: the colon is lost, or a quote.
        let word = leading(after);
        let key = if after[word.len()..].starts_with(['"', '\'', ' ']) {
            word
        } else {
            word.trim_end_matches(|c: char| c.is_ascii_digit())
        };
        let opens = !key.is_empty() && word.len() <= KEY_BYTES && before.trim_end().ends_with(',');
        opens.then_some((key, false))
    })
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || "_-.$".contains(c)
}

/// The word that ends at `at`, if it is short enough for a key.
fn word_before(text: &str, at: usize) -> &str {
    let before = &text[text.ceil_char_boundary(at.saturating_sub(KEY_BYTES))..at];
    &before[before.trim_end_matches(is_key).len()..]
}

/// Whether a colon follows, perhaps after the punctuation that damaged the text: `"days",: 3`.
fn separated(after: &str) -> bool {
    after.trim_start_matches(|c: char| c.is_whitespace() || ",;{}[]()".contains(c)).starts_with([':', '='])
}

/// Whether a text contains a call of an offered tool as Python, after another call: `x), f(`.
pub(crate) fn holds_python_call(text: &str, tools: &Tools) -> bool {
    named(text, tools).any(|(before, after)| after.starts_with('(') && ends_call(before))
}

/// The text before and after each occurrence of the name of an offered tool.
fn named<'t>(text: &'t str, tools: &'t Tools) -> impl Iterator<Item = (&'t str, &'t str)> {
    let names = tools.iter().map(|tool| tool.name.as_str()).filter(|name| !name.is_empty());
    names.flat_map(move |name| text.match_indices(name).map(|(at, name)| (&text[..at], &text[at + name.len()..])))
}

/// Whether a text ends in a call, or in its last value, and a comma or semicolon.
fn ends_call(text: &str) -> bool {
    let ends = |text: &str| text.trim_end().ends_with([')', '"', '\'']);
    let text = text.trim_end();
    text.strip_suffix([',', ';']).is_some_and(ends)
}

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
