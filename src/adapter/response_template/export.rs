//! An adapter -> Hugging Face's `response_template`. Said is the first form of its calls; what stands
//! for a text that a backend may have removed, for a forgotten marker or for a repair has no counterpart and is left out.

use serde_json::{Map, Value, json};

use crate::adapter::{Adapter, Call, JsonKeys, Lax, Named, Recipient, Syntax, Tagged, Trim};

/// The template, or why there is none.
pub(super) fn template(adapter: &Adapter, start_anchor: Option<&str>) -> Result<Value, String> {
    let anchor = match start_anchor {
        Some(anchor) => anchor.to_owned(),
        None => anchor_of(adapter).ok_or("it does not say what begins an assistant's turn; give --start-anchor TEXT")?,
    };
    let mut fields = Map::new();
    match &adapter.recipient {
        Some(recipient) => headed(adapter, recipient, &mut fields)?,
        None => {
            if let Some(reasoning) = &adapter.reasoning {
                let label = reasoning.label.first().map(|label| format!("{label}\n")).unwrap_or_default();
                let open: Vec<String> = reasoning.open.iter().map(|open| format!("{open}{label}")).collect();
                fields.insert(
                    "reasoning_content".into(),
                    json!({"open": one(&open), "close": one(&reasoning.close), "content": "text"}),
                );
            }
            fields.insert("tool_calls".into(), calls(adapter)?);
            let mut content = json!({"content": "text"});
            match &adapter.answer {
                Some(answer) => (content["open"], content["close"]) = (one(&answer.open), one(&answer.close)),
                None if adapter.drop.is_empty() => {}
                None => content["close"] = one(&adapter.drop),
            }
            fields.insert("content".into(), content);
        }
    }
    Ok(json!({"defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": fields}))
}

/// One text, or the list of them.
fn one(list: &[String]) -> Value {
    match list {
        [one] => json!(one),
        list => json!(list),
    }
}

/// A control token of the adapter that names the assistant, or the beginning of its headers.
fn anchor_of(adapter: &Adapter) -> Option<String> {
    if let Some(recipient) = &adapter.recipient {
        return Some(format!("{}assistant", recipient.start.first()?));
    }
    let turn = |text: &&String| ["assistant", "model", "chatbot"].iter().any(|role| text.to_lowercase().contains(role));
    adapter.drop.iter().filter(turn).max_by_key(|text| text.len()).cloned()
}

/// The first form, which is the likeliest.
fn calls(adapter: &Adapter) -> Result<Value, String> {
    let form = adapter.own().first();
    call(adapter, form.ok_or("it has no form of its own for calls: they are read from bare JSON or a code fence")?)
}

fn call(adapter: &Adapter, form: &Call) -> Result<Value, String> {
    let unmarked = form.section.is_empty() && form.open.iter().all(String::is_empty);
    let mut field = match &form.syntax {
        Syntax::Python => return Err("calls in Python's form have no content parser".into()),
        Syntax::Element | Syntax::Nested(_) => {
            return Err("elements named after tools and parameters have no content parser".into());
        }
        Syntax::Recipient(_) => return Err("messages with headers are fields of their own".into()),
        _ if unmarked => return Err("its calls have no marker, and a field of a template needs one that opens it".into()),
        Syntax::Json(keys) => object(form, keys)?,
        Syntax::Named(named) => self::named(form, named)?,
        Syntax::Tagged(tagged) => self::tagged(form, tagged)?,
        Syntax::Lax(lax) => self::lax(form, lax),
    };
    let (call, outer) = (escaped(&form.close), escaped(&form.section_close));
    field["close_pattern"] = match (call.is_empty(), outer.is_empty()) {
        // Nothing closes it: it ends where something else begins.
        (true, true) => {
            let next = escaped(&[&form.section, &form.open, &adapter.drop].map(Vec::as_slice).concat());
            json!(format!(r"\s*(?={next})|$"))
        }
        (false, true) => json!(format!(r"{call}\s*")),
        (true, false) => json!(format!(r"{outer}\s*")),
        (false, false) => json!(format!(r"{call}(?:\s*{outer})?\s*")),
    };
    field["repeats"] = json!(true);
    Ok(field)
}

/// What opens a call, and the section before it.
fn opening(form: &Call) -> String {
    let (section, open) = (escaped(&form.section), escaped(&form.open));
    match (section.is_empty(), open.is_empty()) {
        (true, _) => open,
        (false, true) => section,
        // An empty opening means: directly behind the section's. Else the section may be missing.
        (false, false) if form.open.iter().any(String::is_empty) => format!(r"{section}\s*"),
        (false, false) => format!(r"(?:{section}\s*)?{open}"),
    }
}

/// Any of these texts, as a regular expression. The empty one is none.
fn escaped(list: &[String]) -> String {
    let all: Vec<String> = list.iter().filter(|text| !text.is_empty()).map(|text| regex::escape(text)).collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        all => format!("(?:{})", all.join("|")),
    }
}

fn function(name: &str, arguments: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "arguments": arguments}})
}

fn object(form: &Call, keys: &JsonKeys) -> Result<Value, String> {
    if keys.name_is_key {
        return Err("an object whose only key is the tool's name cannot be reshaped".into());
    }
    if !keys.header.is_empty() {
        return Err("a word before the JSON cannot be skipped".into());
    }
    let key =
        |list: &[String], usual: &str| list.first().filter(|key| *key != usual).map(String::as_str).unwrap_or(usual).to_owned();
    let (name, arguments) = (key(&keys.name, "name"), key(&keys.arguments, "arguments"));
    let mut field = json!({"open_pattern": opening(form), "content": "json"});
    field["transform"] = match (name.as_str(), arguments.as_str(), keys.array) {
        ("name", "arguments", false) => json!({"type": "function", "function": "{content}"}),
        (name, arguments, false) => function(&format!("{{content.{name}}}"), &format!("{{content.{arguments}}}")),
        (name, arguments, true) => function(&format!("{{{name}}}"), &format!("{{{arguments}}}")),
    };
    if keys.array {
        field["transform_each"] = json!(true);
    }
    Ok(field)
}

fn named(form: &Call, named: &Named) -> Result<Value, String> {
    if named.id_first {
        return Err("an id before the name, or a name without arguments, cannot be said".into());
    }
    let open = escaped(&named.open);
    let open = if named.open.iter().any(String::is_empty) && !open.is_empty() { format!("(?:{open})?") } else { open };
    let prefix = escaped(&named.prefix);
    let prefix = if prefix.is_empty() { prefix } else { format!("(?:{prefix})?") };
    let number = if named.name_is_id { r"(?::\d+)?" } else { "" };
    let id = named.id.as_ref().map(|[open, _]| format!(r"(?:{}\w+)?", regex::escape(open))).unwrap_or_default();
    let behind = escaped(&named.close.iter().chain(&named.skip).cloned().collect::<Vec<_>>());
    let behind = if behind.is_empty() { behind } else { format!(r"(?:\s*{behind})*\s*") };
    let pattern = format!(r"{}\s*{open}{prefix}(?P<name>[\w.\-]+?){number}{id}{behind}(?=\{{)", opening(form));
    Ok(json!({"open_pattern": pattern, "content": "json", "transform": function("{name}", "{content}")}))
}

fn lax(form: &Call, lax: &Lax) -> Value {
    let open = escaped(&lax.open);
    let open = if lax.open.iter().any(String::is_empty) { format!("(?:{open})?") } else { open };
    let delimiters: Vec<[&String; 2]> = lax.strings.iter().map(|delimiter| [delimiter, delimiter]).collect();
    json!({
        "open_pattern": format!(r"{}\s*{open}(?P<name>[\w.\-]+)", opening(form)),
        "content": "json",
        "content_args": {"unquoted_keys": true, "string_delims": delimiters},
        "transform": function("{name}", "{content}"),
    })
}

fn tagged(form: &Call, tagged: &Tagged) -> Result<Value, String> {
    if tagged.cdata || tagged.entities {
        return Err("values in CDATA or with entities have no content parser".into());
    }
    let [name_open, name_close] = &tagged.name;
    let [[key_open, key_close], [value_open, value_close]] = [&tagged.argument, &tagged.value];
    let (name_open, name_close) = (escaped(name_open), escaped(name_close));
    let pattern = format!(
        "{}\\s*{name_open}\"?(?P<name>[^\\s<>\"]+)\"?{}",
        opening(form),
        if name_close == "\n" { "\\n?".into() } else { name_close }
    );
    let attributes = if tagged.type_attribute.is_some() { "[^>]*?" } else { "" };
    let kind =
        tagged.type_tag.as_ref().map(|[open, close]| format!(r"(?:{}.*?{})?\s*", regex::escape(open), regex::escape(close)));
    let blank = match tagged.trim {
        Trim::None => "",
        Trim::OneNewline => r"\n?",
        Trim::All => r"\s*",
    };
    let tag = format!(
        "{}\"?(?P<key>[^\\s<>\"]+)\"?{attributes}{}\\s*{}{}{blank}(?P<value>.*?){blank}{}",
        escaped(key_open),
        escaped(key_close),
        kind.unwrap_or_default(),
        escaped(value_open),
        escaped(value_close),
    );
    // Without something behind the key's end, whitespace there belongs to the value.
    let tag =
        if value_open.iter().all(String::is_empty) && tagged.type_tag.is_none() { tag.replacen(r"\s*", "", 1) } else { tag };
    Ok(json!({
        "open_pattern": pattern,
        "content": "xml-inline",
        "content_args": {"tag_pattern": tag, "value_parser": {"name": "json", "args": {"allow_non_json": true}}},
        "transform": function("{name}", "{content}"),
    }))
}

/// Messages with headers: each kind of message is a field.
fn headed(adapter: &Adapter, recipient: &Recipient, fields: &mut Map<String, Value>) -> Result<(), String> {
    if recipient.plain || !recipient.to.iter().any(|to| to.ends_with('=')) {
        return Err("a header without a word before the recipient cannot be told from the tool's name alone".into());
    }
    if recipient.parameters.is_some() {
        return Err("a message whose body is tags has no pattern for its arguments' types".into());
    }
    let (message, to) = (regex::escape(&recipient.message), escaped(&recipient.to));
    let close = one(&recipient.end);
    let head = |words: &[String]| match &recipient.channel {
        Some(channel) => format!(r"{}{}\s*{message}", regex::escape(channel), escaped(words)),
        None => format!("{to}{}{message}", escaped(words)),
    };
    if !recipient.reasoning.is_empty() {
        fields.insert(
            "reasoning_content".into(),
            json!({"open_pattern": head(&recipient.reasoning), "close": close, "content": "text", "repeats": true, "join": "\n"}),
        );
    }
    let calls = match recipient.forms {
        true => calls(adapter)?,
        false => {
            let prefix = escaped(&recipient.prefix);
            let prefix = if prefix.is_empty() { prefix } else { format!("(?:{prefix})?") };
            json!({
                "open_pattern": format!(r"{to}{prefix}(?P<name>[\w.\-]+)[^{{]*?{message}"),
                "close": close,
                "repeats": true,
                "content": "json",
                "transform": function("{name}", "{content}"),
            })
        }
    };
    fields.insert("tool_calls".into(), calls);
    fields.insert("content".into(), json!({"open_pattern": head(&recipient.content), "close": close, "content": "text"}));
    Ok(())
}
