//! A call whose arguments are flags of a command line: `{tool => "f", args => { --key "value" }}`.

use crate::{
    adapter::syntax::{
        members::{object, unquote},
        typing::{Hint, Types},
    },
    event::Tools,
    fix::name::known_tool,
};

/// The value as JSON. `None`: it has another form, or a flag has several readings.
pub(super) fn plain(value: &str, tools: &Tools) -> Option<String> {
    let inside = value.trim().strip_prefix('{')?.strip_suffix('}')?;
    let (name, rest) = quoted(assigned(inside, "tool")?)?;
    let name = unquote(name);
    let args = assigned(rest.trim_start().strip_prefix(',')?, "args")?.trim_end().trim_end_matches(',').trim_end();
    let ends = [('{', '}'), ('"', '"'), ('\'', '\'')];
    let flags = ends.into_iter().find_map(|(open, close)| args.strip_prefix(open)?.strip_suffix(close))?;
    if !flags.trim_start().starts_with("--") && !flags.trim().is_empty() {
        return None;
    }
    let members = members(flags.trim(), &Types::new(known_tool(tools, &name)))?;
    Some(format!("{{\"name\":{},\"arguments\":{}}}", serde_json::Value::from(name), object(&members)))
}

/// What is assigned to `key` at the beginning of `text`.
fn assigned<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let after = text.trim_start().strip_prefix(key)?;
    after.trim_start().strip_prefix("=>").map(str::trim_start)
}

/// The quoted text that `text` begins with, with its quotes, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let end = text[1..].find(quote)? + 2;
    Some(text.split_at(end))
}

/// The flags, one per line, as keys and JSON values.
fn members(flags: &str, types: &Types) -> Option<Vec<(String, String)>> {
    let mut members: Vec<(String, String)> = Vec::new();
    let mut rest = flags;
    while !rest.is_empty() {
        let flag = rest.strip_prefix("--")?;
        let length = flag.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(flag.len());
        let (key, after) = flag.split_at(length);
        let after = after.trim_start_matches([' ', '\t', '=']);
        let (value, next) = value(after)?;
        let written = match value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some('"') if serde_json::from_str::<String>(value).is_ok() => unquote(value),
            Some(_) => value[1..value.len() - 1].to_owned(),
            // A flag without a value, or the next flag on the same line.
            None if value.is_empty() || value.contains(" --") => return None,
            None => value.to_owned(),
        };
        if key.is_empty() || members.iter().any(|(known, _)| known == key) {
            return None;
        }
        members.push((key.to_owned(), types.value(key, &written, Hint::None)));
        rest = next.trim_start();
    }
    Some(members)
}

/// A value, which ends with its line or with the quote at the end of a line, and what follows it.
fn value(text: &str) -> Option<(&str, &str)> {
    let line = || text.split_at(text.find('\n').unwrap_or(text.len()));
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let (value, next) = line();
        return Some((value.trim_end(), next));
    };
    let ends = |at: usize| {
        let after = text[at + 1..].trim_start_matches([' ', '\t', '\r', ',']);
        after.is_empty() || after.starts_with('\n') && (after.trim().is_empty() || after.trim_start().starts_with("--"))
    };
    let end = text.match_indices(quote).map(|(at, _)| at).skip(1).find(|&at| ends(at))?;
    Some((&text[..=end], text[end + 1..].trim_start_matches([' ', '\t', '\r', ','])))
}

#[cfg(test)]
mod tests {
    use super::plain;
    use crate::event::{Tool, ToolChoice, Tools};

    #[test]
    fn flags_become_members() {
        let schema = r#"{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"},"all":{"type":"boolean"}}}"#;
        let tools = Tools::new([Tool::new("f", "", schema)], ToolChoice::Auto);
        for (value, want) in [
            ("{tool => \"f\", args => {\n  --q \"research\"\n}}", Some(r#"{"q":"research"}"#)),
            ("{tool => 'f', args => '\n--q abc\n'}", Some(r#"{"q":"abc"}"#)),
            (
                "{tool => \"f\", args => {\n --q \"a \\\"b\\\"\"\n --n 3\n --all true\n}}",
                Some(r#"{"q":"a \"b\"","n":3,"all":true}"#),
            ),
            ("{tool => \"f\", args => {\n --q it's \"so\" big\n}}", Some(r#"{"q":"it's \"so\" big"}"#)),
            ("{tool => \"f\", args => {\n --q \"say \"hi\" now\"\n}}", Some(r#"{"q":"say \"hi\" now"}"#)),
            ("{tool => \"f\", args => {\n --q=\"a\nb\"\n --n 3\n}}", Some(r#"{"q":"a\u000ab","n":3}"#)),
            ("{tool => \"f\", args => {}}", Some("{}")),
            // Several readings, or no flags.
            ("{tool => \"f\", args => {\n --q abc --n 3\n}}", None),
            ("{tool => \"f\", args => {\n --q\n}}", None),
            ("{tool => \"f\", args => {\n --q a\n --q b\n}}", None),
            ("{tool => \"f\", args => {\n --q \"a\n}}", None),
            ("{tool => \"f\", args => {q: 1}}", None),
            ("{\"tool\": \"f\", \"args\": {}}", None),
        ] {
            let want = want.map(|arguments| format!(r#"{{"name":"f","arguments":{arguments}}}"#));
            assert_eq!(plain(value, &tools), want, "{value}");
        }
    }
}
