//! Errors about TOML files in words for people.

/// What TOML's parser and serde say, and how a person would say it.
const WORDS: &[(&str, &str)] = &[
    ("expected a boolean", "true or false is wanted, without quotes"),
    ("expected a string", "text is wanted: put it in quotes"),
    ("wanted string or table", "text is wanted: put it in quotes"),
    ("expected a sequence", "a list is wanted: put it in square brackets, [\"..\"]"),
    ("expected a map", "a table is wanted: { name = \"value\" }"),
    ("expected a nonzero ", "a whole number from 1 on is wanted"),
    ("expected u", "a whole number from 0 on is wanted"),
    ("expected usize", "a whole number from 0 on is wanted"),
    ("string values must be quoted", "put the value in quotes"),
    ("invalid float", "put the value in quotes, unless it is a number"),
    ("invalid boolean", "write true or false, in small letters"),
    ("invalid basic string", "the quotes are not closed"),
    ("invalid literal string", "the quotes are not closed"),
    ("key with no value", "this is not `key = value`"),
    ("invalid key-value pair", "this is not `key = value`"),
    ("unclosed array table", "the brackets are not closed: write it as [[name]]"),
    ("duplicate key", "this key is there twice: keep one of them"),
];

/// `:LINE: what is wrong and what to write instead`. If the message names no key, the key of the line comes first.
pub fn explained(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().map(|span| text.get(..span.start).unwrap_or(text));
    let line = before.map(|before| format!(":{}", before.matches('\n').count() + 1)).unwrap_or_default();
    let message = error.message();
    let table = before.and_then(|before| text.get(before.rfind('\n').map_or(0, |end| end + 1)..)?.lines().next()).map(str::trim);
    match table.filter(|table| message.starts_with("invalid type: map") && table.starts_with('[')) {
        Some(one) if one.starts_with("[[") => {
            return format!("{line}: write `[{}]`: there is only one of it", one.trim_matches(['[', ']']));
        }
        Some(one) => {
            let list = one.trim_matches(['[', ']']).split('.').next().unwrap_or_default();
            return format!("{line}: write `[[{list}]]`: there can be several of them");
        }
        None => {}
    }
    let key = before.and_then(|before| before.rsplit('\n').next()?.split_once('=')).map(|(key, _)| key.trim());
    let key = key.filter(|key| !message.starts_with("unknown") && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)));
    let key = key.map(|key| format!("`{key}`: ")).unwrap_or_default();
    format!("{line}: {key}{}", worded(message))
}

fn worded(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let (true, Some((unknown, known))) = (message.starts_with("unknown "), quoted.split_first()) {
        let what = message.split_once(',').map_or(message, |(what, _)| what).replace("variant", "value");
        // The list of all of them helps only where none is near.
        return match nearest(unknown, known) {
            Some(near) => format!("{what}; did you mean `{near}`?"),
            None => format!("{what}; there are: `{}`", known.join("`, `")),
        };
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    let Some((_, words)) = WORDS.iter().find(|(says, _)| message.contains(says)) else { return message.to_owned() };
    let written = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    match written.and_then(|rest| rest.split_once(", expected")).map(|(written, _)| written) {
        Some(written) if !["map", "sequence"].contains(&written) => {
            format!("{words}; it is the {}", written.replace("floating point", "number"))
        }
        _ => (*words).to_owned(),
    }
}

/// The name that was probably meant, if one is near enough.
pub fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(written, name);
    names.iter().copied().min_by_key(|name| distance(name)).filter(|name| distance(name) * 2 <= written.len().max(name.len()))
}
