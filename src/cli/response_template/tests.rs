use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    adapter::{Scanner, scanner::Options},
    event::{Channel, Event, FinishReason, Tool, ToolChoice, Tools},
    fix::Fixer,
    seen::{Seen, schemas},
};

fn tools() -> Tools {
    let sow = json!({"type": "object", "properties": {
        "plant": {"type": "string"}, "rows": {"type": "integer"}, "deep": {"type": "boolean"},
        "spots": {"type": "array", "items": {"type": "integer"}}, "soil": {"type": "object"}}, "required": ["plant"]});
    let weed = json!({"type": "object", "properties": {}});
    Tools::new([Tool::new("sow", "", sow.to_string()), Tool::new("weed", "", weed.to_string())], ToolChoice::Auto)
}

fn read_pieces<'t>(adapter: &Arc<Adapter>, pieces: impl IntoIterator<Item = &'t str>) -> Seen {
    let (tools, schemas) = (Arc::new(tools()), schemas());
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::clone(&tools), Arc::clone(&schemas), Options::default());
    let mut fixer = Fixer::new(tools, schemas);
    let mut seen = Seen::default();
    let mut fixed = |event: Event<'_>| fixer.event(event, &mut seen);
    for piece in pieces {
        scanner.push(Channel::Content, piece, &mut fixed);
    }
    scanner.finish(FinishReason::Stop, &mut fixed);
    seen.sound()
}

fn calls(seen: &Seen) -> Vec<(String, Value)> {
    seen.calls().into_iter().map(|(name, arguments)| (name, serde_json::from_str(&arguments).unwrap())).collect()
}

/// The same however it is cut.
fn read(adapter: &Arc<Adapter>, text: &str) -> Seen {
    let whole = read_pieces(adapter, [text]);
    for cut in (1..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
        assert_eq!(read_pieces(adapter, [&text[..cut], &text[cut..]]), whole, "cut at {cut} of {text:?}");
    }
    whole
}

fn imported(config: &Value) -> (Arc<Adapter>, Imported) {
    let imported = import(&config.to_string(), &[]).unwrap_or_else(|error| panic!("{error}\n{config:#}"));
    (Arc::new(Adapter::parse("imported", &imported.file, &[]).unwrap()), imported)
}

fn wrapped() -> Value {
    json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}})
}

fn template(tool_calls: Value) -> Value {
    json!({"response_template": {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|turn|>gardener\n",
        "fields": {
            "reasoning_content": {"open": "<muse>", "close_pattern": r"</muse>\s*", "content": "text"},
            "tool_calls": tool_calls,
            "content": {"close_pattern": r"\s*(?:<\|over\|>|<\|end_of_text\|>)", "content": "text"},
        },
    }})
}

/// What the template is, its calls' field, and what a model writes with it: two calls, of `sow` and of `weed`.
fn shapes() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "json in tags",
            json!({"open": "<act>", "close_pattern": r"</act>\s*", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": "{content}"}}),
            "<act>\n{\"name\": \"sow\", \"arguments\": {\"plant\": \"leek\", \"rows\": 3}}\n</act>\n<act>{\"name\": \"weed\", \"arguments\": {}}</act>",
        ),
        (
            "one array, other keys",
            json!({"open": "<|do|>", "close_pattern": r"(?:<\|done\|>|$)", "content": "json", "transform_each": true,
                "transform": {"type": "function", "function": {"name": "{chore}", "arguments": "{details}"}}}),
            "<|do|>[{\"chore\": \"sow\", \"details\": {\"plant\": \"leek\", \"rows\": 3}}, {\"chore\": \"weed\", \"details\": {}}]<|done|>",
        ),
        (
            "other keys by a path",
            json!({"open": ["<act>", "<ACT>"], "close": ["</act>", "</ACT>"], "repeats": true, "content": "json",
                "transform": {"function": {"name": "{content.chore}", "arguments": "{content.details}"}}}),
            "<ACT>{\"chore\": \"sow\", \"details\": {\"plant\": \"leek\", \"rows\": 3}}</ACT><act>{\"chore\": \"weed\", \"details\": {}}</act>",
        ),
        (
            "the name, then json",
            json!({"open_pattern": r"<\|act\|>chores\.(?P<name>\w+)<\|with\|>", "close": "<|done|>", "repeats": true,
                "content": "json", "transform": wrapped()}),
            "<|act|>chores.sow<|with|>{\"plant\": \"leek\", \"rows\": 3}<|done|><|act|>weed<|with|>{}<|done|>",
        ),
        (
            "a section, and an id that holds the name",
            json!({"open_pattern": r"(?:<\|acts\|>\s*)?<\|act\|>(?P<id>chores\.(?P<name>\w+):\d+)<\|with\|>",
                "close_pattern": r"<\|done\|>(?:\s*<\|all_done\|>)?", "repeats": true, "content": "json",
                "transform": {"type": "function", "id": "{id}", "function": {"name": "{name}", "arguments": "{content}"}}}),
            "<|acts|><|act|>chores.sow:0<|with|>{\"plant\": \"leek\", \"rows\": 3}<|done|><|act|>chores.weed:1<|with|>{}<|done|><|all_done|>",
        ),
        (
            "bare keys and other quotes",
            json!({"open_pattern": r"<\|act>do:(?P<name>\w+)", "close": "<act|>", "repeats": true, "content": "json",
                "content_args": {"unquoted_keys": true, "string_delims": [["<|'|>", "<|'|>"]]}, "transform": wrapped()}),
            "<|act>do:sow{plant:<|'|>leek<|'|>,rows:3}<act|><|act>do:weed{}<act|>",
        ),
        (
            "a tag for each argument",
            json!({"open_pattern": r"\s*<act>\s*<chore=(?P<name>[^>\n]+)>", "close_pattern": r"</chore>\s*</act>",
                "repeats": true, "content": "xml-inline", "transform": wrapped(),
                "content_args": {"tag_pattern": r"<detail=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</detail>"}}),
            "<act>\n<chore=sow>\n<detail=plant>\nleek\n</detail>\n<detail=rows>\n3\n</detail>\n</chore>\n</act>\n<act>\n<chore=weed>\n</chore>\n</act>",
        ),
        (
            "the same, closed by the outer tag",
            json!({"open_pattern": r"<act>\s*<chore=(?P<name>[^\n>]+)>", "close_pattern": r"</act>\s*", "repeats": true,
                "content": "xml-inline", "transform": wrapped(), "content_args": {
                "tag_pattern": r"<detail=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</detail>",
                "value_parser": {"name": "json", "args": {"allow_non_json": true}}}}),
            "<act>\n<chore=sow>\n<detail=plant>\nleek\n</detail>\n<detail=rows>\n3\n</detail>\n</chore>\n</act>\n<act><chore=weed></chore></act>",
        ),
        (
            "attributes and a type",
            json!({"open_pattern": r#"(?:\n\n)?(?:<｜Q｜acts>\s*)?<｜Q｜act name="(?P<name>[^"]+)">\s*"#,
                "close_pattern": r"\s*</｜Q｜act>\s*(?:</｜Q｜acts>)?", "repeats": true, "content": "xml-inline",
                "transform": wrapped(), "content_args": {
                "tag_pattern": r#"<｜Q｜detail name="(?P<key>[^"]+)" string="(?:true|false)">(?P<value>.*?)</｜Q｜detail>"#}}),
            "<｜Q｜acts>\n<｜Q｜act name=\"sow\">\n<｜Q｜detail name=\"plant\" string=\"true\">leek</｜Q｜detail>\n<｜Q｜detail name=\"rows\" string=\"false\">3</｜Q｜detail>\n</｜Q｜act>\n<｜Q｜act name=\"weed\">\n</｜Q｜act>\n</｜Q｜acts>",
        ),
        (
            "keys and values",
            json!({"open_pattern": r"<act>(?P<name>\S+)\n?", "close_pattern": r"</act>\s*", "repeats": true,
                "content": "xml-inline", "transform": wrapped(),
                "content_args": {"tag_pattern": r"<k>(?P<key>[^<]+)</k>\s*\n<v>(?P<value>.*?)</v>"}}),
            "<act>sow\n<k>plant</k>\n<v>leek</v>\n<k>rows</k>\n<v>3</v>\n</act>\n<act>weed\n</act>",
        ),
        (
            "python",
            json!({"open_pattern": r"(?:<\|act\|>\[|,\s*)(?P<name>\w+)\(", "close_pattern": r"\)(?:\]<\|done\|>)?\s*",
                "repeats": true, "content": "xml-inline", "transform": wrapped(),
                "content_args": {"tag_pattern": r"(?P<key>\w+)=(?P<value>'[^']*'|[^,)]*)"}}),
            "<|act|>[sow(plant='leek', rows=3), weed()]<|done|>",
        ),
        (
            "an object that the pattern begins",
            json!({"open_pattern": r#"<act>\s*\{"chore":\s*"(?P<name>[^"]+)",\s*"details":\s*"#,
                "close_pattern": r"\}\s*</act>", "repeats": true, "content": "json", "transform": wrapped()}),
            "<act>{\"chore\": \"sow\", \"details\": {\"plant\": \"leek\", \"rows\": 3}}</act><act>{\"chore\": \"weed\", \"details\": {}}</act>",
        ),
    ]
}

#[test]
fn an_imported_template_reads_what_its_models_write() {
    for (what, field, written) in shapes() {
        let (adapter, imported) = imported(&template(field));
        let text = format!("<muse>\nIs it warm enough?\n</muse>\n\nOff I go.\n{written}<|over|>");
        let seen = read(&adapter, &text);
        let expected = [("sow".to_owned(), json!({"plant": "leek", "rows": 3})), ("weed".to_owned(), json!({}))];
        assert_eq!(calls(&seen), expected, "{what}:\n{}", imported.file);
        assert_eq!((seen.reasoning().trim(), seen.text().trim()), ("Is it warm enough?", "Off I go."), "{what}");
    }
}

#[test]
fn ids_that_a_template_keeps_are_kept() {
    let (_, field, written) = shapes().remove(4);
    let seen = read(&imported(&template(field)).0, written);
    let ids: Vec<Option<&str>> = seen.all_calls().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("chores.sow:0"), Some("chores.weed:1")]);
    let around = |open: &str| {
        template(json!({"open_pattern": open, "close": "<|done|>", "repeats": true, "content": "json",
            "transform": {"id": "{id}", "function": {"name": "{name}", "arguments": "{content}"}}}))
    };
    for (open, written) in [
        (r"\[ACT\](?P<name>\w+)\[NO\](?P<id>\w+)\[WITH\]", "[ACT]sow[NO]a1b2[WITH]{\"plant\": \"leek\"}<|done|>"),
        (r"<\|act\|>(?P<id>\w+)<\|name\|>(?P<name>\w+)<\|with\|>", "<|act|>a1b2<|name|>sow<|with|>{\"plant\": \"leek\"}<|done|>"),
    ] {
        let (adapter, imported) = imported(&around(open));
        let seen = read(&adapter, written);
        assert_eq!(seen.all_calls().next().unwrap().id.as_deref(), Some("a1b2"), "{open}\n{}", imported.file);
        assert_eq!(calls(&seen), [("sow".to_owned(), json!({"plant": "leek"}))], "{open}\n{}", imported.file);
    }
}

#[test]
fn messages_with_headers_become_recipients() {
    let headed = json!({"response_template": {"start_anchor": "<|start|>gardener", "fields": {
        "thinking": {"open": "<|row|>thoughts<|message|>", "close_pattern": r"<\|end\|>\s*", "content": "text"},
        "content": {"open": "<|row|>answer<|message|>", "close_pattern": r"<\|fin\|>\s*", "content": "text"},
        "tool_calls": {"open_pattern": r"to=chores\.(?P<name>\S+?)<\|row\|>work\s+json<\|message\|>",
            "close_pattern": r"<\|go\|>\s*", "repeats": true, "content": "json", "transform": wrapped()},
    }}});
    let (adapter, imported) = imported(&headed);
    let written = "<|row|>thoughts<|message|>Leeks.<|end|><|start|>gardener to=chores.sow<|row|>work json<|message|>{\"plant\": \"leek\"}<|go|>";
    let seen = read(&adapter, written);
    assert_eq!((seen.reasoning().as_str(), seen.text().as_str(), seen.calls().len()), ("Leeks.", "", 1), "{}", imported.file);
    assert_eq!(
        read(&adapter, "<|row|>thoughts<|message|>Hm.<|end|><|start|>gardener<|row|>answer<|message|>Done.<|fin|>").text(),
        "Done."
    );

    let bodies = json!({"response_template": {"start_anchor": "<|start|>gardener", "fields": {
        "reasoning_content": {"open_pattern": r"to=me<\|message\|>", "close": "<|pause|>"},
        "content": {"open_pattern": r"to=you<\|message\|>", "close": ["<|fin|>", "<|pause|>"]},
        "tool_calls": {"open_pattern": r#"<lab:act\b[^>]*?\bname="(?P<name>[^"]+)">"#, "close": "</lab:act>", "repeats": true,
            "content": "xml-inline", "transform": wrapped(), "content_args": {
            "tag_pattern": r#"<lab:detail\b[^>]*?\bname="(?P<key>[^"]+)"[^>]*?>(?P<value>.*?)</lab:detail>"#}},
    }}});
    let (adapter, imported) = super::tests::imported(&bodies);
    let written = " to=me<|message|>Leeks.<|pause|><|start|>gardener to=chores<|message|><lab:act name=\"sow\"><lab:detail name=\"plant\">leek</lab:detail></lab:act><|pause|>";
    let seen = read(&adapter, written);
    assert_eq!((seen.reasoning().as_str(), seen.text().trim(), seen.calls().len()), ("Leeks.", "", 1), "{}", imported.file);
    assert_eq!(calls(&seen)[0].1, json!({"plant": "leek"}));
}

#[test]
fn the_tokenizer_s_tokens_are_preserved_or_dropped() {
    let mut config = template(shapes().remove(0).1);
    let more = json!({
        "name_or_path": "gardens/Leek-3B-Instruct", "eos_token": {"content": "<|over|>"},
        "added_tokens_decoder": {"7": {"content": "<act>", "special": true}, "8": {"content": "</act>", "special": true}, "9": {"content": "<k>", "special": false}},
        "chat_template": "{% for m in messages %}<|turn|>{{ m.role }}{% endfor %} call with <act>",
    });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (adapter, imported) = imported(&config);
    assert_eq!(
        (adapter.signs.models.as_slice(), adapter.signs.templates.as_slice()),
        (&["Leek-3B-Instruct*".to_owned()][..], &["<act>".to_owned()][..])
    );
    assert_eq!(adapter.preserve, ["</act>", "<act>"], "{}", imported.file);
    assert_eq!(adapter.framing.drop, ["<|over|>", "<|turn|>gardener\n", "<|end_of_text|>"]);
    assert!(imported.file.starts_with("# Imported from the response_template of Leek-3B-Instruct.\n"), "{}", imported.file);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
}

#[test]
fn what_cannot_be_expressed_is_named_with_its_field() {
    let calls = |field: Value| template(field);
    for (config, expected) in [
        (json!([]), "not a JSON object"),
        (json!({"chat_template": ""}), "response_template: there is none"),
        (json!({"response_template": {"fields": {}, "start": 1}}), "the key `start` is not known"),
        (json!({"response_template": {"fields": {}, "version": 2}}), "only version 1"),
        (calls(json!({"open": "<a>", "close": "</a>", "shape": 1})), "field `tool_calls`: the key `shape` is not known"),
        (
            calls(json!({"open": "<a>", "close": "</a>", "content": "kv-lines"})),
            "field `tool_calls`: the content parser `kv-lines` cannot",
        ),
        (calls(json!({"close": "</a>", "content": "json"})), "field `tool_calls`: has nothing that opens it"),
        (
            calls(json!({"open": "<a>", "open_pattern": "<a>", "content": "json"})),
            "field `tool_calls`: has both `open` and `open_pattern`",
        ),
        (
            calls(json!({"open_pattern": "(<a>", "content": "json"})),
            "field `tool_calls`: `open_pattern` has a `(` that is never closed",
        ),
        (
            calls(
                json!({"open_pattern": "<a>(?P<tool>x)", "close": "</a>", "content": "json", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}),
            ),
            "field `tool_calls`: its opening pattern has no group for the tool's name",
        ),
        (
            calls(json!({"open": "<a>", "close": "</a>", "content": "json", "transform": {"tool": "{content}"}})),
            "field `tool_calls`: `transform` does not say",
        ),
        (
            calls(
                json!({"open_pattern": "<a>(?P<name>x)", "close": "</a>", "content": "json", "content_args": {"string_delims": [["<", ">"]]}, "transform": wrapped()}),
            ),
            "field `tool_calls`: `string_delims` that differ",
        ),
        (
            calls(json!({"open_pattern": "<a>(?P<name>x)>", "close": "</a>", "content": "xml-inline", "transform": wrapped()})),
            "without a `tag_pattern`",
        ),
        (
            calls(
                json!({"open_pattern": "<a>(?P<name>x)>", "close": "</a>", "content": "xml-inline", "transform": wrapped(), "content_args": {"tag_pattern": "<(?P<value>x)=(?P<key>y)>"}}),
            ),
            "field `tool_calls`: `tag_pattern` has the value before the key",
        ),
        (json!({"response_template": {"fields": {"thinking": {"open": "<t>"}}}}), "field `thinking`: its end is not a text"),
    ] {
        let error = import(&config.to_string(), &[]).expect_err(expected);
        assert!(error.message.contains(expected), "expected {expected:?}, got {error}");
    }
}

#[test]
fn what_is_left_out_is_said() {
    let config = json!({"response_template": {"start_anchor": "A:", "defaults": {"role": "assistant", "mood": "sunny"}, "fields": {
        "thinking": {"open_pattern": r"(?=[\s\S]*?</muse>)", "close": "</muse>"},
        "quotes": {"open": "<q>", "close": "</q>", "optional": false},
        "tool_calls": {"open_pattern": r"<a name=(?P<name>\w+)>", "close": "</a>", "content": "xml-inline", "transform": wrapped(),
            "content_args": {"tag_pattern": r"<(?P<key>\w+)>\s*(?P<value>.*?)</p>", "merge_duplicates": true}}}}});
    let said = imported(&config).1.warnings.join("\n");
    for expected in [
        "field `quotes` is not read",
        "field `quotes`: `optional = false`",
        "`defaults`: `mood`",
        "field `thinking` has no text that opens it: <muse> is taken",
        "only one is kept",
        "one newline at each end is cut",
        "no model gets this adapter",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in\n{said}");
    }
}

#[test]
fn a_pattern_never_stops_the_import() {
    for pattern in [
        "", "(", ")", "[", "a{", "(?P<", "(?P<a>", "\\", "(?<x>y)|z", "((((((((((((((((((((", "[]a]+", "(?i)x", "a|b|c", "[^",
        "(?#c)", "\\q",
    ] {
        let _ = import(&template(json!({"open_pattern": pattern, "close": "x", "content": "json"})).to_string(), &[]);
    }
    let many = "(?:a|b|c|d)".repeat(40);
    assert!(import(&template(json!({"open_pattern": many, "close": "x"})).to_string(), &[]).is_err());
}
