//! Removes secrets, and characters that control a terminal, from texts that people read (logs, errors, tables, recordings).
//!
//! [`redacted`] is applied to every [`crate::error::Error`] and every line of the log; [`known`] masks by value what was
//! [learned](learn) from the configuration, in all that leaves; [`without`] removes further secrets; [`shown`] is for text of
//! other programs (model names, messages of backends and MCP servers).

use std::{
    borrow::Cow,
    path::Path,
    sync::{LazyLock, PoisonError, RwLock},
};

mod places;

pub use places::places;

/// The replacement for a secret.
pub const MASK: &str = "***";
/// A parameter of a URL whose name contains one of these is a secret.
const SECRET: &[&str] = &["key", "token", "secret", "pass", "pwd", "auth", "sig", "credential", "cookie"];
/// Headers whose names begin so say what everybody may know.
const PUBLIC: &[&str] = &["accept", "content-", "user-agent"];
/// Schemes of the `Authorization` header.
const SCHEMES: &[&str] = &["bearer ", "basic "];
/// A shorter word is not a credential, and a shorter key is not searched for: it would be found within ordinary words. In bytes.
pub const CREDENTIAL_BYTES: usize = 8;
/// A value whose name says nothing is no credential if it is shorter: it may be the name of a model. In bytes.
const LONG_BYTES: usize = 16;

/// Longest [`line`], in characters.
const LINE_CHARS: usize = 500;

/// The values that no text may show, the longest first. The log has no way to a configuration, and a value that was a secret
/// once stays one: so there is one list, which only grows.
static LEARNED: LazyLock<RwLock<Vec<String>>> = LazyLock::new(RwLock::default);

/// From now on this value is masked wherever it stands. A value of less than 8 bytes is not: it might be an ordinary word.
pub fn learn(secret: &str) {
    let mut learned = LEARNED.write().unwrap_or_else(PoisonError::into_inner);
    if secret.len() >= CREDENTIAL_BYTES && !learned.iter().any(|own| own == secret) {
        let at = learned.partition_point(|own| own.len() >= secret.len());
        learned.insert(at, secret.to_owned());
    }
}

/// [`learn`] for a value that stands in a configuration under this name: if what has the name is a secret, without the scheme of
/// a credential; under any other name, if the value looks like a credential.
pub fn learn_named(name: &str, value: &str) {
    let is_public = || PUBLIC.iter().any(|public| name.to_ascii_lowercase().starts_with(public));
    if is_secret(name) {
        let (word, rest) = value.split_once(' ').unwrap_or((value, ""));
        let is_scheme = SCHEMES.iter().any(|scheme| scheme.trim_end().eq_ignore_ascii_case(word));
        learn(if is_scheme { rest.trim() } else { value });
    } else if value.contains("://") {
        learn_url(value);
    } else if value.len() >= LONG_BYTES
        && is_mixed(value)
        && !value.contains(char::is_whitespace)
        && !is_path(value)
        && !is_public()
    {
        learn_reference(value);
    }
}

/// [`learn`] for a value that a configuration refers to (`${NAME}`), unless it is plainly a number, a date, or a file that exists.
/// Of a URL, what is secret in it.
pub fn learn_reference(value: &str) {
    if value.contains("://") {
        learn_url(value);
    } else if value.bytes().any(|byte| byte.is_ascii_alphabetic()) && !Path::new(value).exists() {
        learn(value);
    }
}

/// The password of a URL, or its user if it has no password, as it is written there.
pub fn url_password(url: &str) -> Option<&str> {
    let (user, _) = url_parts(url).0.rsplit_once('@')?;
    Some(user.split_once(':').map_or(user, |(_, password)| password))
}

/// The authority of a URL, and what follows it.
fn url_parts(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()))
}

/// Whether a value stands where it is written. What refers to another (`${NAME}`) is no secret itself.
fn is_literal(value: &str) -> bool {
    !value.contains("${")
}

/// [`learn`] for the password of a URL and for what its parameters say.
pub fn learn_url(url: &str) {
    if let Some(password) = url_password(url).filter(|password| is_literal(password)) {
        learn(&decoded(password));
    }
    let query = url_parts(url).1.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
    for (name, value) in query.split('&').filter_map(|part| part.split_once('=')).filter(|(_, value)| is_literal(value)) {
        let value = decoded(value);
        match () {
            () if is_secret(name) => learn(&value),
            () if is_mixed(&value) && !is_path(&value) => learn_reference(&value),
            () => {}
        }
    }
}

/// [`learn`] for the secrets of a command line: `--token WORD`, `--token=WORD`, `API_KEY=WORD`, `X-Api-Key: WORD`, those of URLs.
pub fn learn_options<'w>(words: impl IntoIterator<Item = &'w str>) {
    let mut is_next = false;
    for word in words {
        match word {
            _ if word.contains("://") => learn_url(word),
            // Also a number: the option says that it is one.
            _ if is_next && !word.starts_with('-') && is_literal(word) && !Path::new(word).exists() => learn(word),
            _ => {}
        }
        let pair = word.split_once(['=', ':']);
        if let Some((name, value)) = pair.filter(|(name, value)| is_secret(name) && is_literal(value)) {
            learn_named(name, value.trim());
        }
        is_next = pair.is_none() && word.starts_with('-') && is_secret(word);
    }
}

/// The text with all [learned](learn) values masked.
pub fn known(text: &str) -> Cow<'_, str> {
    let learned = LEARNED.read().unwrap_or_else(PoisonError::into_inner);
    learned.iter().fold(Cow::Borrowed(text), |text, secret| masked(text, secret))
}

fn masked<'t>(text: Cow<'t, str>, secret: &str) -> Cow<'t, str> {
    let places = places(&text, secret);
    if places.is_empty() {
        return text;
    }
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for place in places {
        out.push_str(text.get(copied..place.start).unwrap_or_default());
        out.push_str(MASK);
        copied = place.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// A part of a URL without its escapes; as it is, if it is no text then.
fn decoded(text: &str) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        let byte = escape.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { escape.get(2..).unwrap_or_default() } else { escape };
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The text with secrets masked: those that are [`known`], user information and secret parameters of URLs, `Bearer` and `Basic`
/// credentials.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let text = known(text);
    let text = if text.contains("://") { Cow::Owned(urls(&text)) } else { text };
    // Most texts are values of one word, and a scheme ends with a blank.
    if !text.contains(' ') {
        return text;
    }
    let lower = text.to_ascii_lowercase();
    if SCHEMES.iter().any(|scheme| lower.contains(scheme)) { Cow::Owned(credentials(&text, &lower)) } else { text }
}

/// The text with these secrets masked, except those of fewer than eight bytes.
pub fn without<'t, 's>(text: &'t str, secrets: impl IntoIterator<Item = &'s str>) -> Cow<'t, str> {
    let secrets = secrets.into_iter().filter(|secret| secret.len() >= CREDENTIAL_BYTES);
    secrets.fold(Cow::Borrowed(text), masked)
}

/// Text of another program as one line for people: without secrets, at most `most` characters, control characters and marks of
/// text direction escaped.
pub fn shown(text: &str, most: usize) -> String {
    as_shown(text, most).into_owned()
}

/// [`shown`], copied only if it differs.
pub fn as_shown(text: &str, most: usize) -> Cow<'_, str> {
    // A secret at the place of the cut must not stay in part, so the text is cut last.
    let text = redacted(text);
    if text.len() <= most && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text;
    }
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == most {
            out.push_str("...");
            break;
        }
        if steers(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The beginning of a text as it is, at most this many bytes.
pub fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// [`shown`] at the length of a name or a message.
pub fn line(text: &str) -> String {
    shown(text, LINE_CHARS)
}

/// Several lines for a terminal: control characters are escaped, except for line ends and tabs.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) && !matches!(c, '\n' | '\t') { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Whether a terminal or viewer interprets the character instead of showing it.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || c.is_control() || "\"'`<>(){}|\\".contains(c)).unwrap_or(after.len());
        // A URL inside a URL is handled separately.
        let end = after.find("://").map_or(end, |next| end.min(next));
        let (url, after) = after.split_at(end);
        let (authority, tail) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => out.extend([MASK, "@", host]),
            None => out.push_str(authority),
        }
        let (path, query) = tail.split_at(tail.find(['?', '#']).unwrap_or(tail.len()));
        out.push_str(path);
        query.split_inclusive(['?', '#', '&', ';']).for_each(|part| parameter(part, &mut out));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `name=value&`
fn parameter(part: &str, out: &mut String) {
    let Some((name, value)) = part.split_once('=') else { return out.push_str(part) };
    if is_secret(name) {
        let end = if value.ends_with(['?', '#', '&', ';']) { &value[value.len() - 1..] } else { "" };
        out.extend([name, "=", MASK, end]);
    } else {
        out.push_str(part);
    }
}

/// Whether what has this name is a secret.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SECRET.iter().any(|word| lower.contains(word))
}

/// Whether a word has what words of prose do not have, and nearly every credential does.
fn is_mixed(word: &str) -> bool {
    word.bytes().skip(1).any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte == b'=')
}

/// Whether a value is written like a path.
fn is_path(value: &str) -> bool {
    value.starts_with(['/', '.', '~', '\\']) || value.get(1..).is_some_and(|rest| rest.starts_with([':']) && rest.len() > 1)
}

/// Masks credentials. `lower`: the text in ASCII lower case, so that positions agree.
fn credentials(text: &str, lower: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((start, scheme)) = next_scheme(lower, at) {
        let from = start + scheme.len();
        let word = text.get(from..).unwrap_or_default();
        let word = &word[..word.find(|c: char| c.is_whitespace() || "\"'`,;<>".contains(c)).unwrap_or(word.len())];
        out.push_str(text.get(at..from).unwrap_or_default());
        // Prose goes on with a word of letters.
        let is_credential = word.len() >= CREDENTIAL_BYTES && is_mixed(word);
        out.push_str(if is_credential { MASK } else { word });
        at = from + word.len();
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn next_scheme(lower: &str, from: usize) -> Option<(usize, &'static str)> {
    let rest = lower.get(from..)?;
    SCHEMES.iter().filter_map(|scheme| Some((from + rest.find(scheme)?, *scheme))).min()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_of_urls_and_headers_are_masked() {
        for (text, expected) in [
            ("http://host/v1", "http://host/v1"),
            ("at http://me:pa%2Fss@host:1/v1, refused", "at http://***@host:1/v1, refused"),
            ("https://x@y@host", "https://***@host"),
            ("`https://h/mcp?api_key=abc&page=2` failed", "`https://h/mcp?api_key=***&page=2` failed"),
            (
                "https://h/mcp?page=2&X-Token=abc#auth=x (twice: https://h/?KEY=1)",
                "https://h/mcp?page=2&X-Token=***#auth=*** (twice: https://h/?KEY=***)",
            ),
            ("https://h/?to=http://u:p@i/", "https://h/?to=http://***@i/"),
            ("mail a@b.c about ://", "mail a@b.c about ://"),
            ("Authorization: Bearer abc123.DEF-456, refused", "Authorization: Bearer ***, refused"),
            ("use bearer authentication here", "use bearer authentication here"),
            ("`Authorization: Basic dXNlcjpwYXNzMQ==`", "`Authorization: Basic ***`"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn text_of_others_is_one_line_that_a_terminal_only_shows() {
        assert_eq!(shown("a\nb\u{1b}[2Jc\u{202e}d\u{9b}", 99), "a\\nb\\u{1b}[2Jc\\u{202e}d\\u{9b}");
        assert_eq!(shown("gr\u{fc}n \u{4e2d}", 99), "gr\u{fc}n \u{4e2d}");
        assert_eq!(shown("abcdef", 3), "abc...");
        assert_eq!(shown("http://u:p@h", 10), "http://***...");
    }

    #[test]
    fn a_known_secret_is_masked_wherever_it_is() {
        assert_eq!(without("wrong key sk-12345: sk-12345", ["sk-12345", ""]), "wrong key ***: ***");
        // A client's `Bearer x` says nothing, and is in every `XML syntax error`.
        assert_eq!(without("XML syntax error on line 3", ["x", "ax er"]), "XML syntax error on line 3");
    }

    #[test]
    fn what_the_configuration_calls_secret_is_masked_by_value() {
        learn("kn0wn-value-1");
        learn("kn0wn-value-1-longer");
        learn("short");
        learn_named("X-Api-Key", "in-a-header-2");
        learn_named("Authorization", "Bearer b3arer-value");
        learn_named("accept", "application/x-odd2");
        learn_named("DB", "db-1111-aaaa-2222");
        learn_named("MODEL", "model:8b-q4");
        learn_named("DB_FILE", "/var/lib/app/v1.db");
        learn_named("STAGE", "eu-production");
        learn_named("MCP-Protocol-Version", "2025-06-18");
        learn_options(["run", "--token", "0pt1on-word", "--api-key=equal-w0rd", "-e", "PASS=env-w0rd", "application/x-odd"]);
        learn_url("http://me:url%2Fp4ss-word@h/v1?page=12345678&q=qu3ry-value");
        learn_reference("onlyletters-in-it");
        learn_reference("https://h/");
        learn_url("https://me:${THE_PASSWORD}@h/?token=${THE_TOKEN}");
        learn_options(["--token", "${THE_TOKEN}", "--api-key=${THE_TOKEN}"]);
        for (text, expected) in [
            ("{\"code\":\"kn0wn-value-1\"}", "{\"code\":\"***\"}"),
            ("kn0wn-value-1-longer, kn0wn-value-1", "***, ***"),
            ("a short in-a-header-2", "a short ***"),
            ("token b3arer-value of application/x-odd", "token *** of application/x-odd"),
            (
                "db-1111-aaaa-2222 of /var/lib/app/v1.db in eu-production at 2025-06-18 by model:8b-q4",
                "*** of /var/lib/app/v1.db in eu-production at 2025-06-18 by model:8b-q4",
            ),
            ("at 0pt1on-word, equal-w0rd or env-w0rd", "at ***, *** or ***"),
            ("url/p4ss-word and url%2fp4ss-word", "*** and ***"),
            ("page=12345678, q=qu3ry-value, only letters", "page=12345678, q=***, only letters"),
            ("with ${THE_TOKEN} and ${THE_PASSWORD}", "with ${THE_TOKEN} and ${THE_PASSWORD}"),
            ("referred to as onlyletters-in-it and https://h/", "referred to as *** and https://h/"),
        ] {
            assert_eq!(known(text), expected);
            assert_eq!(line(text), expected);
            assert_eq!(crate::error::Error::backend(text).with_code(text).code.as_deref(), Some(expected));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn nothing_panics_and_nothing_steers(text in any::<String>(), more in "(://|[@?&=#]|Bearer |key|[a-z1\u{e9}\n]){0,20}") {
            for text in [&text, &more] {
                prop_assert!(!shown(text, 50).contains(steers));
                // Redacting twice changes nothing more.
                let once = redacted(text).into_owned();
                prop_assert_eq!(redacted(&once).into_owned(), once.clone());
            }
        }

        #[test]
        fn a_password_never_stays(password in "[a-zA-Z0-9]{9,20}", tail in "[a-z/]{0,6}") {
            let url = format!("http://user:{password}@host/{tail}?x=1&token={password}");
            prop_assert!(!redacted(&url).contains(&password));
        }
    }
}
