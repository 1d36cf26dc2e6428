//! What a value is where its tags, its quotes or its characters are not the form's own: exactly what the model wrote, or refused.
//! Each row is read whole and in single characters.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    adapter::{
        Adapter, Scanner,
        scanner::{MayAsk, Options},
    },
    event::{Channel, Event, FinishReason, Tool, ToolChoice, Tools},
    fix::Fixer,
    seen::{Seen, library, schemas},
};

fn tools() -> Tools {
    let schema = |required: &[&str], optional: &[&str]| {
        let all = required.iter().chain(optional);
        let properties: serde_json::Map<String, Value> =
            all.map(|key| ((*key).to_owned(), json!({"type": if *key == "timeout" { "integer" } else { "string" }}))).collect();
        json!({"type": "object", "properties": properties, "required": required}).to_string()
    };
    let list = [
        Tool::new("rewrite_file", "", schema(&["uri", "new_content"], &[])),
        Tool::new("delete_file_or_folder", "", schema(&["uri"], &["is_recursive"])),
        Tool::new("run_command", "", schema(&["command"], &["cwd", "timeout"])),
        Tool::new("edit", "", schema(&["path", "old", "new"], &[])),
        Tool::new("put", "", schema(&["path", "content"], &[])),
        Tool::new("erase", "", schema(&["path"], &[])),
        Tool::new(
            "add",
            "",
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}"#,
        ),
        Tool::new("print", "", schema(&["text"], &[])),
        Tool::new("web-search", "", schema(&["query"], &["timeout"])),
    ];
    Tools::new(list, ToolChoice::Auto)
}

/// What an answer holds, cut into pieces of so many characters.
pub(super) fn scan(
    adapter: &Arc<Adapter>,
    tools: Tools,
    options: &Options,
    text: &str,
    reason: FinishReason,
    piece: usize,
) -> Seen {
    let (tools, schemas) = (Arc::new(tools), schemas());
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::clone(&tools), Arc::clone(&schemas), options.clone());
    let (mut fixer, mut seen) = (Fixer::new(tools, schemas), Seen::default());
    let mut out = |event: Event<'_>| fixer.event(event, &mut seen);
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(piece) {
        scanner.push(Channel::Content, &piece.iter().collect::<String>(), &mut out);
    }
    scanner.finish(reason, &mut out);
    out(Event::Finish { reason, usage: None });
    seen
}

/// The calls of an answer, and whether one was refused. An adapter with a `*` belongs to a client that executes elements.
fn read(adapter: &str, text: &str, reason: FinishReason) -> (Vec<(String, Value)>, bool) {
    let elements = adapter.ends_with('*');
    let adapter = library().get(adapter.trim_end_matches('*')).unwrap_or_else(|| panic!("no adapter {adapter}"));
    let options = Options { elements, may_ask: MayAsk::Now, ..Options::default() };
    let run = |piece: usize| scan(adapter, tools(), &options, text, reason, piece);
    let (whole, pieces) = (run(usize::MAX), run(1));
    assert_eq!(whole, pieces, "in characters: {text}");
    let calls = whole.calls().into_iter().map(|(name, json)| (name, serde_json::from_str(&json).unwrap_or_default()));
    (calls.collect(), whole.refused() > 0)
}

/// An adapter, a text, and the one call in it.
type Row<'r> = (&'r str, &'r str, Option<(&'r str, Value)>);
/// Writes a call with a path and a content.
type Form = fn(&str, &str) -> String;

/// Asserts that each text is the one call, or is refused (`None`).
#[track_caller]
fn check(rows: &[Row<'_>]) {
    for (adapter, text, want) in rows {
        let (calls, refused) = read(adapter, text, FinishReason::Stop);
        match want {
            Some((name, arguments)) => assert_eq!(calls, [((*name).to_owned(), arguments.clone())], "{adapter}: {text}"),
            None => assert!(calls.is_empty() && refused, "{adapter}: {text}\n{calls:?}"),
        }
    }
}

/// Asserts that a text holds neither a call nor anything that is refused.
#[track_caller]
fn is_text(text: &str) {
    assert_eq!(read("generic", text, FinishReason::Stop), (Vec::new(), false), "{text}");
}

#[test]
fn a_wrong_closing_tag_is_no_part_of_a_value() {
    let uri = |close: &str| format!("<rewrite_file>\n<uri>/w/x.txt{close}\n<new_content>\na\nb\n</new_content>\n</rewrite_file>");
    let want = ("rewrite_file", json!({"uri": "/w/x.txt", "new_content": "a\nb"}));
    for close in ["</uri>", "</parameter>"] {
        check(&[("generic*", &uri(close), Some(want.clone()))]);
    }
    for close in
        ["</path>", "</url>", "</uris>", "</URI>", "</ uri>", "</command>", "<\\/uri>", "<uri>", "</uri`>", "/uri>", "<\\uri>"]
    {
        check(&[("generic*", &uri(close), None)]);
    }
    for close in ["<uri>", "</path>", "<\\/uri>", "</url>", "/uri>"] {
        for more in ["", "<is_recursive>true</is_recursive>\n"] {
            let text = format!("<delete_file_or_folder>\n<uri>/w/x.txt{close}\n{more}</delete_file_or_folder>");
            check(&[("generic*", &text, None)]);
        }
    }
    for close in ["<\\/command>", "<command>", "/command>", "<\\command>", "</COMMAND>"] {
        for more in ["", "<cwd>/w</cwd>\n"] {
            let text = format!("<run_command>\n<command>rm -rf build{close}\n{more}</run_command>");
            check(&[("generic*", &text, None)]);
        }
    }
    check(&[
        // A folder that has the parameter's name.
        (
            "generic*",
            "<run_command>\n<command>cat /etc/command\n<cwd>/w</cwd>\n</run_command>",
            Some(("run_command", json!({"command": "cat /etc/command", "cwd": "/w"}))),
        ),
        // Text of several lines.
        ("generic*", "<rewrite_file>\n<new_content>\na\nb\n</content>\n<uri>/w/x.txt</uri>\n</rewrite_file>", None),
        (
            "generic*",
            "<run_command>\n<command>echo '<b>x</b>'</command>\n<cwd>/w</cwd>\n</run_command>",
            Some(("run_command", json!({"command": "echo '<b>x</b>'", "cwd": "/w"}))),
        ),
    ]);
    let erased = Some(("erase", json!({"path": "/tmp/x"})));
    for (open, close, tail) in [
        ("<tool_call>\n<function=erase>\n<parameter=path>", "parameter>", "\n</function>\n</tool_call>"),
        (
            "<minimax:tool_call>\n<invoke name=\"erase\">\n<parameter name=\"path\">",
            "parameter>",
            "\n</invoke>\n</minimax:tool_call>",
        ),
    ] {
        check(&[("generic", &format!("{open}/tmp/x<\\/{close}{tail}"), None)]);
    }
    let dsml = |close: &str| {
        let open = "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"erase\">\n<｜DSML｜parameter name=\"path\" string=\"true\">";
        format!("{open}/tmp/x{close}\n</｜DSML｜invoke>\n</｜DSML｜function_calls>")
    };
    check(&[("deepseek-dsml", &dsml("</｜DSML|parameter>"), erased)]);
    for close in ["</｜DSML｜param>", "</|DSML|param>", "</｜DSML｜parameters>", "<\\/｜DSML｜parameter>"] {
        check(&[("deepseek-dsml", &dsml(close), None)]);
    }
}

#[test]
fn a_value_may_hold_a_closing_tag_of_its_parameters_name() {
    let forms: [(&str, Form); 3] = [
        ("qwen3-coder", |path, content| {
            format!(
                "<tool_call>\n<function=put>\n<parameter=path>\n{path}\n</parameter>\n<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
            )
        }),
        ("glm", |path, content| {
            format!(
                "<tool_call>put\n<arg_key>path</arg_key>\n<arg_value>{path}</arg_value>\n<arg_key>content</arg_key>\n<arg_value>{content}</arg_value>\n</tool_call>"
            )
        }),
        ("generic", |path, content| {
            format!(
                "<function_calls>\n<invoke name=\"put\">\n<parameter name=\"path\">{path}</parameter>\n<parameter name=\"content\">{content}</parameter>\n</invoke>\n</function_calls>"
            )
        }),
    ];
    for (adapter, form) in forms {
        for content in [
            "Add the missing </content>",
            "</content>",
            "A call ends like this:\n</content>\n\n</put>\nThen comes the result.",
            "</content>\n\n</put></function> ends a call",
            "<content>x</content>",
            // Sections that are content too.
            "<![CDATA[ opens, ]]> closes a section",
            "<![CDATA[a]]>\n</description>",
        ] {
            if adapter == "glm" && content.contains("CDATA") {
                continue;
            }
            check(&[(adapter, &form("a.md", content), Some(("put", json!({"path": "a.md", "content": content}))))]);
        }
    }
    check(&[(
        "qwen3-coder",
        "<function=put>\n<parameter=path>\na.md\n</path>\n<parameter=content>\nx\n</content>\n</function>",
        Some(("put", json!({"path": "a.md", "content": "x"}))),
    )]);
}

#[test]
fn a_raw_character_is_itself_in_every_form() {
    for raw in ["x\ny", "x\ty", "x\u{c}y", "src\nnew", "\\alpha\nnu is", "C:\\new\ntable", "C:\\Users\\x\nb"] {
        let want = Some(("erase", json!({"path": raw})));
        check(&[
            ("gemma4", &format!("<|tool_call>call:erase{{path:<|\"|>{raw}<|\"|>}}<tool_call|>"), want.clone()),
            (
                "functiongemma",
                &format!("<start_function_call>call:erase{{path:<escape>{raw}<escape>}}<end_function_call>"),
                want.clone(),
            ),
        ]);
        // Python has escapes.
        let escaped = raw.replace('\\', "\\\\");
        check(&[
            ("lfm2", &format!("<|tool_call_start|>[erase(path='{escaped}')]<|tool_call_end|>"), want.clone()),
            ("lfm2", &format!("<|tool_call_start|>[erase(path=\"\"\"{escaped}\"\"\")]<|tool_call_end|>"), want.clone()),
            ("llama4", &format!("<|python_start|>[erase(path='{escaped}')]<|python_end|>"), want),
        ]);
    }
    // A backslash that the model wrote may be a character: it is asked.
    check(&[("lfm2", "<|tool_call_start|>[erase(path='C:\\new\\table.txt')]<|tool_call_end|>", None)]);
}

#[test]
fn entities_are_decoded_where_the_whole_call_is_escaped() {
    let call = |old: &str, new: &str| {
        format!(
            "<minimax:tool_call>\n<invoke name=\"edit\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"old\">{old}</parameter>\n<parameter name=\"new\">{new}</parameter>\n</invoke>\n</minimax:tool_call>"
        )
    };
    for (old, new, want) in [
        ("Tom & Jerry", "Tom &amp; Jerry", ["Tom & Jerry", "Tom &amp; Jerry"]),
        ("sed 's/&lt;/LT/g'", "x", ["sed 's/&lt;/LT/g'", "x"]),
        ("a &lt; b", "a &gt; b", ["a &lt; b", "a &gt; b"]),
        ("&lt;b&gt; &amp;&amp; x", "&quot;", ["<b> && x", "\""]),
    ] {
        check(&[("minimax-m2", &call(old, new), Some(("edit", json!({"path": "a", "old": want[0], "new": want[1]}))))]);
    }
}

#[test]
fn a_marked_call_with_a_bare_body_is_the_call_or_refused() {
    let run = |command: &str| Some(("run_command", json!({"command": command})));
    check(&[
        ("qwen3-coder", "<tool_call>\n<function=run_command>\nls -l\n</function>\n</tool_call>", run("ls -l")),
        ("qwen3-coder", "<function=run_command>\nls -l\n</function>", run("ls -l")),
        ("qwen3-coder", "<tool_call>\n<function=erase>a.txt</function>\n</tool_call>", Some(("erase", json!({"path": "a.txt"})))),
        ("generic", "<tool_call>\n<function=run_command>\nls -l\n</function>\n</tool_call>", run("ls -l")),
        ("generic", "<tool_call>run_command\nls -l\n</tool_call>", run("ls -l")),
        ("generic", "<function=run_command>\nls -l\n</function>", run("ls -l")),
        ("qwen3-coder", "<tool_call>\n<function=add>\n3, 4\n</function>\n</tool_call>", None),
        ("qwen3-coder", "<tool_call>\n<function=put>\na.txt\n</function>\n</tool_call>", None),
    ]);
}

#[test]
fn other_forms_of_calls_are_read() {
    let run = |command: &str| Some(("run_command", json!({"command": command})));
    check(&[
        ("olmo3", "<function_calls>print(text=\"hi\")</function_calls>", Some(("print", json!({"text": "hi"})))),
        ("generic", "Thought: I need it.\nAction: run_command\nAction Input: rm -rf build\n", run("rm -rf build")),
        (
            "generic",
            "{\"content\": null, \"tool_calls\": [{\"name\": \"run_command\", \"arguments\": {\"command\": \"ls\"}}]}",
            run("ls"),
        ),
        (
            "generic",
            "{\"text\": \"ok\", \"function_call\": {\"name\": \"run_command\", \"arguments\": {\"command\": \"ls\"}}}",
            run("ls"),
        ),
        // The arguments of a cut object are no parameter.
        ("minicpm5", "<function name=\"put\"><param name=\"arguments\">{\"path\": \"x\", \"content\": \"Par</function>", None),
    ]);
    for data in ["{\"content\": \"x\", \"name\": \"erase\", \"path\": \"x\"}", "{\"text\": \"a\", \"n\": 1}"] {
        is_text(data);
    }
}

#[test]
fn a_line_after_its_marker_is_the_value_as_it_stands() {
    let run = |command: &str| Some(("run_command", json!({"command": command})));
    for (input, want) in [
        ("\"hello\" > a.txt\n", run("\"hello\" > a.txt")),
        ("[ -f a ] && rm a\n", run("[ -f a ] && rm a")),
        ("\"ls -l\"", run("ls -l")),
        ("\"{\\\"command\\\": \\\"ls\\\"}\"\n", run("ls")),
    ] {
        check(&[("generic", &format!("Thought: I do it.\nAction: run_command\nAction Input: {input}"), want)]);
    }
}
