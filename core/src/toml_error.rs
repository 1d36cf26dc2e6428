//! Errors about TOML files in words for people.

/// `:LINE: what is wrong; did you mean ...?` If the message names no key, the key of the line comes first.
pub fn explained(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().map(|span| text.get(..span.start).unwrap_or(text));
    let line = before.map(|before| format!(":{}", before.matches('\n').count() + 1)).unwrap_or_default();
    let message = error.message();
    let key = before.and_then(|before| before.rsplit('\n').next()?.split_once('=')).map(|(key, _)| key.trim());
    let names_it = message.starts_with("unknown") || message.starts_with("duplicate");
    let key = key.filter(|key| !names_it && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)));
    let key = key.map(|key| format!("`{key}`: ")).unwrap_or_default();
    format!("{line}: {key}{message}{}", hint(message))
}

/// The name nearest to `x` in serde's message ``unknown field `x`, expected one of `a`, `b` ``.
fn hint(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((unknown, known)) if message.starts_with("unknown ") => {
            nearest(unknown, known).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The name that was probably meant, if one is near enough.
pub fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(written, name);
    names.iter().copied().min_by_key(|name| distance(name)).filter(|name| distance(name) * 2 <= written.len().max(name.len()))
}
