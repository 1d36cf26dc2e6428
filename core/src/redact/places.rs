//! Finds a value in a text in which JSON or a URL has escaped it: a secret in an error is often in JSON within JSON.

use std::ops::Range;

use memchr::{memchr2, memchr3};

/// Where a text has this value, also with characters that JSON (within JSON, however often) or a URL escapes.
pub fn places(text: &str, value: &str) -> Vec<Range<usize>> {
    let Some(first) = value.bytes().next() else { return Vec::new() };
    if memchr2(b'\\', b'%', text.as_bytes()).is_none() {
        return text.match_indices(value).map(|(at, _)| at..at + value.len()).collect();
    }
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = memchr3(first, b'\\', b'%', text.as_bytes().get(at..).unwrap_or_default()) {
        at += next;
        let rest = text.get(at..).unwrap_or_default();
        at += match spelt(rest, value) {
            Some(length) => {
                found.push(at..at + length);
                length
            }
            // A run of backslashes is looked at once.
            None => (rest.len() - rest.trim_start_matches('\\').len()).max(1),
        };
    }
    found
}

/// How many bytes at the beginning of the text spell this value.
fn spelt(text: &str, value: &str) -> Option<usize> {
    let (mut rest, mut before) = (text, None);
    for c in value.chars() {
        // How many backslashes stand for one depends on how often the text is escaped.
        if c != '\\' || before != Some(c) {
            rest = after(rest, c)?;
        }
        before = Some(c);
    }
    Some(text.len() - rest.len())
}

/// The text after this character at its beginning, as it is or escaped.
fn after(text: &str, c: char) -> Option<&str> {
    let hex = |text: &'_ str, digits: usize, value: u32| {
        let number = text.get(..digits)?;
        (u32::from_str_radix(number, 16) == Ok(value)).then_some(digits)
    };
    let escaped = c.encode_utf8(&mut [0; 4]).bytes().try_fold(text, |rest, byte| {
        let escape = rest.strip_prefix('%')?;
        escape.get(hex(escape, 2, byte.into())?..)
    });
    if escaped.is_some() {
        return escaped;
    }
    let bare = text.trim_start_matches('\\');
    if c == '\\' {
        return (bare.len() < text.len()).then(|| bare.strip_prefix("u005c").unwrap_or(bare));
    }
    if let Some(rest) = text.strip_prefix(c) {
        return Some(rest);
    }
    if bare.len() == text.len() {
        return None;
    }
    let short = match c {
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        c => c,
    };
    if !c.is_alphanumeric()
        && let Some(rest) = bare.strip_prefix(short)
    {
        return Some(rest);
    }
    let mut rest = text;
    for unit in c.encode_utf16(&mut [0; 2]) {
        let escape = rest.trim_start_matches('\\').strip_prefix('u')?;
        rest = escape.get(hex(escape, 4, (*unit).into())?..)?;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::super::{MASK, without};

    #[test]
    fn a_secret_is_found_in_every_spelling_of_json_and_of_urls() {
        let secret = "sk-a/b+\"9\\d8\u{e9}\u{1f600}=";
        let once = serde_json::to_string(secret).unwrap();
        let units = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
        let percent = secret.replace('/', "%2F").replace('+', "%2b").replace('\\', "%5C").replace('\u{e9}', "%C3%A9");
        for spelt in [
            secret.to_owned(),
            once[1..once.len() - 1].to_owned(),
            once[1..once.len() - 1].replace('/', "\\/"),
            serde_json::to_string(&once).unwrap().replace('/', "\\\\\\/"),
            units(secret),
            units(secret).replace("00e9", "00E9").replace("d83d", "D83D").replace('\\', "\\\\"),
            percent,
        ] {
            let text = format!("{{\"k\": \"{spelt}\", \"\\n%{spelt}\": 1}}");
            let masked = without(&text, [secret]);
            assert!(masked.matches(MASK).count() == 2 && !masked.contains("a/b") && !masked.contains("d8"), "{spelt}: {masked}");
        }
        for other in ["sk-a\\\\", "\\u0073k-b", "%73%", "\\", "sk-a/b+"] {
            assert_eq!(without(other, [secret]), other);
        }
    }
}
