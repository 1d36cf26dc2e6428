//! The format before `response_template`: a JSON schema of the message whose nodes carry regular expressions
//! (`x-regex`, `x-regex-iterator`, `x-regex-key-value`, `x-parser`) -> a template. Configurations with it are still around;
//! what its expressions say beyond the texts around a group is not taken over.

use serde_json::{Map, Value, json};

use super::{
    import::REASONING,
    pattern::{self, Piece, Spelling, texts},
};

/// The template that says the same.
pub(super) fn template(schema: &Map<String, Value>, config: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let properties = schema.get("properties").and_then(Value::as_object).ok_or("response_schema: `properties` is missing")?;
    let root = regex(schema).map(pattern::parse).transpose().map_err(|what| format!("response_schema: `x-regex` {what}"))?;
    let mut fields = Map::new();
    // What closes the thinking does not open the answer.
    let mut closes: Vec<String> = Vec::new();
    for name in REASONING.iter().chain(&["content"]) {
        let Some(node) = properties.get(*name).and_then(Value::as_object) else { continue };
        let own = regex(node).and_then(|regex| pattern::parse(regex).ok());
        let around = match (&own, &root) {
            (Some(own), _) => own.iter().find_map(|spelling| around(spelling, "")),
            (None, Some(root)) => root.iter().find_map(|spelling| around(spelling, name)),
            (None, None) => None,
        };
        let around = around.map(|(open, close)| (open.filter(|open| !closes.contains(open)), close));
        closes.extend(around.iter().filter_map(|(_, close)| close.clone()));
        let field = match around {
            Some((Some(open), Some(close))) => json!({"open": open, "close": close}),
            Some((None, Some(close))) if *name == "content" => json!({"close": close}),
            _ if *name == "content" => json!({}),
            _ => return Err(format!("response_schema: `{name}` has no texts around it")),
        };
        fields.insert((*name).to_owned(), field);
    }
    if let Some(node) = properties.get("tool_calls").and_then(Value::as_object) {
        let calls = calls(node, root.as_deref(), config).map_err(|what| format!("response_schema: `tool_calls`: {what}"))?;
        fields.insert("tool_calls".to_owned(), calls);
    }
    Ok([("fields".to_owned(), Value::Object(fields))].into_iter().collect())
}

fn regex(node: &Map<String, Value>) -> Option<&str> {
    ["x-regex-iterator", "x-regex"].iter().find_map(|key| node.get(*key)?.as_str())
}

/// The nearest texts around a group.
fn around(spelling: &Spelling, group: &str) -> Option<(Option<String>, Option<String>)> {
    let at = spelling.iter().position(|piece| *piece == Piece::Capture(group.to_owned()))?;
    let text = |pieces: &[Piece], last: bool| {
        let all = texts(pieces)?;
        (if last { all.last() } else { all.first() }).map(|text| (*text).to_owned())
    };
    // Another group before it has the texts to itself.
    let from = spelling[..at].iter().rposition(|piece| matches!(piece, Piece::Capture(_))).map_or(0, |at| at + 1);
    Some((text(&spelling[from..at], true), text(&spelling[at + 1..], false)))
}

fn calls(node: &Map<String, Value>, root: Option<&[Spelling]>, config: &Map<String, Value>) -> Result<Value, String> {
    let own = regex(node).map(pattern::parse).transpose().map_err(|what| format!("its regular expression {what}"))?;
    let found = match (&own, root) {
        (Some(own), _) => own.iter().find_map(|spelling| around(spelling, "")),
        (None, Some(root)) => root.iter().find_map(|spelling| around(spelling, "tool_calls")),
        (None, None) => None,
    };
    let Some((Some(open), close)) = found else { return Err("no text opens a call".into()) };
    let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let items = object(node.get("items"));
    let function = match object(items.get("properties")).get("function") {
        Some(function) => object(Some(function)),
        None => items.clone(),
    };
    let inner = object(function.get("properties"));
    let (name, arguments) = (object(inner.get("name")), object(inner.get("arguments")));
    let mut field = Map::new();
    let wrapped = json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}});
    if let Some(close) = close {
        field.insert("close".into(), json!(close));
    }
    let parser = [node, &items, &function].into_iter().find(|node| node.contains_key("x-parser"));
    // The name is found by an expression of its own, or stands in a group beside the arguments.
    let named = match (regex(&name), regex(&function)) {
        (Some(own), _) => Some(own.trim_start_matches('^').replacen('(', "(?P<name>", 1)),
        (None, Some(both)) if both.contains("(?P<name>") => both.split("(?P<arguments>").next().map(str::to_owned),
        _ => None,
    };
    if let Some(named) = named {
        field.insert("open_pattern".into(), json!(format!("{}\\s*{named}", regex::escape(&open))));
        field.insert("transform".into(), wrapped);
        if let Some(pairs) = arguments.get("x-regex-key-value") {
            field.insert("content".into(), json!("xml-inline"));
            field.insert("content_args".into(), json!({"tag_pattern": pairs}));
        } else {
            field.insert("content".into(), json!("json"));
            // A parser that is not JSON's reads bare keys, and strings between the tokenizer's escape tokens.
            if arguments.get("x-parser").is_some_and(|parser| parser != "json") {
                let token = config.get("escape_token").and_then(Value::as_str).ok_or("its `x-parser` is not known")?;
                field.insert("content_args".into(), json!({"unquoted_keys": true, "string_delims": [[token, token]]}));
            }
        }
    } else if let Some(parser) = parser {
        if parser.get("x-parser").is_some_and(|parser| parser != "json") {
            return Err("its `x-parser` is not known".into());
        }
        let transform = parser.get("x-parser-args").and_then(|args| args.get("transform")).and_then(Value::as_str);
        let member = |key: &str| {
            let (_, tail) = transform?.split_once(&format!("{key}:"))?;
            tail.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|word| !word.is_empty())
        };
        let (name, arguments) = (member("name").unwrap_or("name"), member("arguments").unwrap_or("arguments"));
        field.insert("open".into(), json!(open));
        field.insert("content".into(), json!("json"));
        field.insert(
            "transform".into(),
            json!({"function": {"name": format!("{{content.{name}}}"), "arguments": format!("{{content.{arguments}}}")}}),
        );
    } else {
        return Err("neither a parser nor an expression for the name is given".into());
    }
    Ok(Value::Object(field))
}
