//! Shortens the texts of tools that would fill a small context. What makes up a call (names, types, values, required keys) is
//! never touched. A pure function of the tools and the context, so that the backend's cache holds.

use serde_json::{Map, Value};

use crate::{
    backend::each_schema,
    event::{Note, Tool, Tools},
    openai::{ChatRequest, tokens},
};

/// A rule of shortening. Rules are applied to all tools, one after the other, until the tools fit.
struct Rule {
    name: &'static str,
    /// How the tool's own description is shortened.
    tool: fn(&str) -> &str,
    /// How the descriptions of parameters are shortened.
    parameter: fn(&str) -> &str,
}

const RULES: [Rule; 4] = [
    Rule { name: "notes about schemas were left out", tool: whole, parameter: whole },
    Rule { name: "descriptions were cut to their first paragraph", tool: paragraph, parameter: paragraph },
    Rule { name: "descriptions were cut to their first sentence", tool: sentence, parameter: sentence },
    Rule { name: "descriptions of parameters were left out", tool: sentence, parameter: nothing },
];

/// Keys of a schema, apart from the description, that do not affect what is valid.
const NOTES: [&str; 6] = ["title", "$schema", "$comment", "examples", "example", "markdownDescription"];

/// An estimate of the tokens that the tools take in a prompt.
fn cost(tools: &Tools) -> u64 {
    tokens::usual(tools.iter().map(|tool| tokens::tool_bytes(&tool.name, &tool.description, &tool.schema)).sum())
}

/// Shortens the tools until they take at most `percent` of `context` (in tokens), or nothing is left to shorten. Returns a
/// warning that says what was done; `None`: they fit.
pub fn trim(chat: &mut ChatRequest, tools: &mut Tools, context: u64, percent: u64) -> Option<Note> {
    let most = context.saturating_mul(percent) / 100;
    let before = cost(tools);
    if before <= most {
        return None;
    }
    let mut done = "nothing in them can be shortened";
    for rule in &RULES {
        for tool in tools.iter_mut() {
            rule.apply(tool);
        }
        done = rule.name;
        if cost(tools) <= most {
            break;
        }
    }
    for own in &mut chat.tools {
        let Some(function) = own.get_mut("function").and_then(Value::as_object_mut) else { continue };
        let Some(tool) = function.get("name").and_then(Value::as_str).and_then(|name| tools.get(name)) else { continue };
        if function.contains_key("description") {
            function.insert("description".into(), tool.description.as_str().into());
        }
        if function.contains_key("parameters") {
            function.insert("parameters".into(), serde_json::from_str(&tool.schema).unwrap_or_default());
        }
    }
    let after = cost(tools);
    let text = format!(
        "the tools take about {before} of the model's {context} tokens of context, more than {percent} percent (`limits.tools_percent`); \
         the model gets about {after}: {done}"
    );
    Some(Note::Warning { code: "tools_trimmed", text })
}

impl Rule {
    fn apply(&self, tool: &mut Tool) {
        let description = (self.tool)(&tool.description).to_owned();
        tool.description = description;
        if let Ok(mut schema) = serde_json::from_str::<Value>(&tool.schema) {
            self.schema(&mut schema);
            tool.schema = schema.to_string().into();
        }
    }

    /// The descriptions in a schema, at any depth, but not its own.
    fn schema(&self, schema: &mut Value) {
        let mut is_root = true;
        each_schema(schema, &mut |object| {
            object.retain(|key, _| !NOTES.contains(&key.as_str()));
            if !std::mem::take(&mut is_root) {
                shortened(object, self.parameter);
            }
        });
    }
}

fn shortened(schema: &mut Map<String, Value>, shorten: fn(&str) -> &str) {
    // A property may be called so, too: then this is its schema.
    let Some(Value::String(text)) = schema.get("description") else { return };
    match shorten(text) {
        "" => _ = schema.shift_remove("description"),
        short if short.len() < text.len() => {
            let short = short.to_owned();
            schema.insert("description".into(), short.into());
        }
        _ => {}
    }
}

fn whole(text: &str) -> &str {
    text
}

fn nothing(_: &str) -> &str {
    ""
}

fn paragraph(text: &str) -> &str {
    let text = text.trim();
    text.split("\n\n").next().unwrap_or(text).trim_end()
}

/// Up to the first full stop that ends a sentence: one that a blank and no small letter follow.
fn sentence(text: &str) -> &str {
    let text = text.trim();
    let text = text.split('\n').next().unwrap_or(text).trim_end();
    let ends = text.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let end = ends.into_iter().find(|end| {
        let mut rest = text.get(*end..).unwrap_or_default().chars();
        rest.next().is_none_or(char::is_whitespace) && rest.next().is_none_or(|next| !next.is_lowercase())
    });
    // A first sentence of one word, such as `Optional.`, says too little.
    let end = end.filter(|end| text.get(..*end).is_some_and(|first| first.contains(' ')));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::ToolChoice;

    fn tool(at: usize) -> Tool {
        let long = "Where to look. This goes on for a while, e.g. with an example, and says nothing new about it.\n\nAnd a second paragraph.";
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "title": "Search", "type": "object",
            "properties": {
                "path": {"type": "string", "title": "Path", "description": long},
                "title": {"type": "string", "description": "Optional. The title to look for, where it is known. Leave it empty otherwise."},
                "mode": {"enum": ["fast", "exact"], "default": "fast", "description": long},
                "where": {"type": "array", "items": {"type": "object", "properties": {"key": {"type": "integer", "description": long}}, "required": ["key"]}},
            },
            "required": ["path"],
        });
        Tool::new(format!("search_{at}"), long, schema.to_string())
    }

    fn tools(count: usize) -> Tools {
        Tools::new((0..count).map(tool), ToolChoice::Auto)
    }

    /// A schema without any text for people.
    fn bare(schema: &Value) -> Value {
        let mut schema = schema.clone();
        Rule { name: "", tool: nothing, parameter: nothing }.schema(&mut schema);
        schema
    }

    #[test]
    fn what_a_call_is_made_of_is_never_touched() {
        for count in [1, 16, 60] {
            let before = tools(count);
            for percent in [1, 20, 50, 80, 100] {
                let mut after = before.clone();
                let mut chat = ChatRequest::default();
                let note = trim(&mut chat, &mut after, 8192, percent);
                assert_eq!(note.is_some(), cost(&before) > 8192 * percent / 100);
                for (before, after) in before.iter().zip(after.iter()) {
                    let read = |tool: &Tool| serde_json::from_str::<Value>(&tool.schema).unwrap();
                    assert_eq!((before.name.as_str(), bare(&read(before))), (after.name.as_str(), bare(&read(after))));
                    assert!(after.schema.len() <= before.schema.len() && !after.description.is_empty());
                    assert!(read(after).pointer("/properties/title/type").is_some(), "a property may be called `title`");
                }
                assert!(cost(&after) <= cost(&before));
            }
        }
    }

    #[test]
    fn what_was_trimmed_is_said_and_goes_into_the_clients_own_list() {
        let mut tools = tools(20);
        let function = |tool: &Tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "strict": true, "parameters": serde_json::from_str::<Value>(&tool.schema).unwrap()}});
        let mut chat = ChatRequest { tools: tools.iter().map(function).collect(), ..ChatRequest::default() };
        let Some(Note::Warning { code, text }) = trim(&mut chat, &mut tools, 4096, 70) else { panic!("they do not fit") };
        assert_eq!(code, "tools_trimmed");
        assert!(text.contains("4096 tokens") && text.contains("first sentence") && text.contains("tools_percent"), "{text}");
        assert!(cost(&tools) <= 2867, "{}", cost(&tools));
        let first = &chat.tools[0]["function"];
        assert_eq!((&first["description"], &first["strict"]), (&json!("Where to look."), &json!(true)));
        assert_eq!(first["parameters"]["properties"]["path"]["description"], "Where to look.");
        assert!(trim(&mut chat, &mut tools, 4096, 70).is_none(), "once is enough");
    }

    #[test]
    fn a_sentence_ends_where_the_next_begins() {
        for (text, expected) in [
            ("One. Two.", "One. Two."),
            ("Reads a file. Then more.", "Reads a file."),
            ("Reads e.g. a file. More.", "Reads e.g. a file."),
            ("Reads v1.2 of it", "Reads v1.2 of it"),
            ("Optional. The folder, if any.", "Optional. The folder, if any."),
            ("First line\nsecond line", "First line"),
            ("Größe in Bytes. Ändert nichts.", "Größe in Bytes."),
            ("", ""),
        ] {
            assert_eq!(sentence(text), expected, "{text}");
        }
    }
}
