//! A value comes out as the model wrote it, or not at all: contents full of markers, in the form of each family, intact, with quotes
//! that are not escaped, and truncated.

use std::sync::Arc;

use serde_json::{Value, json};
use toolglot::{
    adapter::{Adapter, Written, scanner::Options},
    event::{FinishReason, Tool, ToolChoice, Tools},
};

use crate::{
    effort,
    properties::run_with,
    seen::{Seen, library},
};

/// Contents of files and commands as people write them.
const CONTENTS: [&str; 38] = [
    "grep -rn \"</div>\" src",
    "s += \"</li>\";\nreturn s;\n",
    "grep -c \"//\" main.js",
    "app.get(\"/*\", handle);\napp.listen(80);\n",
    "case \"+\": return a;\n",
    "echo \"}}\" >> page.tmpl",
    "echo \"}\" >> a.js; echo \"]\" >> b.js",
    "echo \"```\" >> notes.md",
    "stop = [\"<|im_end|>\", \"</s>\"]\nprint(stop)\n",
    "x = dict(a=\"b\", c=\"d\")\n",
    "Rules: `{\"s\": x\"}` is broken, `{\"s\": \"x\"}` is not.\n",
    "sep = \"</tool_call>\\n<tool_call>\"\nprint(sep)\n",
    "if (x <",
    "for (i = 0; i <",
    "<tools>\n<tool>saw</tool>\n<tool>axe</tool>\n</tools>\n",
    "# Use\n<write_file>\n<path>a.py</path>\n<content>\nprint(1)\n</content>\n</write_file>\nThen wait.\n",
    "<invoke name=\"run\">\n<parameter name=\"c\">ls</parameter>\n</invoke>\nand more\n",
    "<function=run>\n<parameter=c>\nls\n</parameter>\n</function>\nand more\n",
    "Use <param name=\"a\">1</param>\n</function>\nand stop.\n",
    "call:get{city:<|\"|>Oslo<|\"|>} y\n",
    "[TOOL_CALLS]run[ARGS]{\"c\": \"ls\"}\n",
    "{\"name\": \"write_file\", \"arguments\": {\"path\": \"b\", \"content\": \"c\"}}\n",
    "\"\"\"Docs.\n\nMore.\n\"\"\"\nimport os\n",
    "<|channel|>commentary to=functions.run<|message|>{}<|call|>\n",
    "a,b\n\"x\",\"y \"\"z\"\"\"\n",
    "t = \"</parameter>\\n</function>\\n</tool_call>\"\nprint(t)\n",
    "t = \"</parameter>\\n</invoke>\"\nprint(t)\n",
    "t = '</arg_value>\n</tool_call>'\nprint(t)\n",
    "END = \"</parameter>\\n</function>\"\n\nThen:\n\n<tool_call>\n{\"name\": \"run_command\", \"arguments\": {\"command\": \"rm b\"}}\n</tool_call>\n\nend\n",
    "cat > a <<EOF\n<function=write_file>\n<parameter=path>b</parameter>\n<parameter=content>in</parameter>\n</function>\nEOF\n",
    "parts = data.split(\"}{\")\nprint(parts)\n",
    "join(\"}}, {{\")\n",
    "echo \"}, {\" >> list.txt",
    "x = [f(\"a\")]\ny = 1\n",
    "#[serde(rename = \"x\")]\nstruct A;\n",
    "md = \"```python\" + x\nprint(md)\n",
    "tags: [\"a, b\", \"c\"]\nnext: 'd'\n",
    "{% if tools %}<tool_call>\n{{ name }}\n</tool_call>{% endif %}\n",
];

fn tools() -> Tools {
    let two = json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"]});
    let one = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    Tools::new([Tool::new("write_file", "", two.to_string()), Tool::new("run_command", "", one.to_string())], ToolChoice::Auto)
}

fn read(adapter: &Arc<Adapter>, text: &str, reason: FinishReason) -> Seen {
    run_with(adapter, &Options::default(), [text], reason, tools())
}

/// The calls of one content, as objects.
fn calls(content: &str) -> [(&'static str, Value); 2] {
    [("write_file", json!({"path": "src/a.txt", "content": content})), ("run_command", json!({"command": content}))]
}

/// Whether all that is delivered of `text` is this call, framing of its text aside.
fn is_faithful(adapter: &Arc<Adapter>, text: &str, reason: FinishReason, arguments: &Value) -> bool {
    let trimmed = |value: &Value| -> Vec<(String, String)> {
        let members = value.as_object().unwrap().iter();
        members.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().trim_matches('\n').to_owned())).collect()
    };
    let seen = read(adapter, text, reason);
    seen.calls().iter().all(|(_, got)| trimmed(&serde_json::from_str(got).unwrap()) == trimmed(arguments))
}

/// Every family's own text of a call.
fn written() -> impl Iterator<Item = (&'static Arc<Adapter>, String, Value)> {
    library().iter().flat_map(|adapter| {
        CONTENTS.into_iter().flat_map(calls).filter_map(move |(name, arguments)| {
            let object = arguments.as_object().unwrap().clone();
            let text = adapter.write(&[Written { name: name.to_owned(), id: None, arguments: object }])?;
            Some((adapter, text, arguments))
        })
    })
}

fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn a_value_full_of_markers_comes_out_as_it_is() {
    let mut wrong = Vec::new();
    for (adapter, text, arguments) in written().step_by(effort::of(3, 1)) {
        if !is_faithful(adapter, &text, FinishReason::Stop, &arguments) {
            wrong.push(format!("{}: {text:?}: {:?}", adapter.name, read(adapter, &text, FinishReason::Stop).calls()));
        }
    }
    report(&wrong);
}

#[test]
fn quotes_that_are_not_escaped_never_cut_a_value() {
    let mut wrong = Vec::new();
    for (adapter, text, arguments) in written().step_by(effort::of(3, 1)).filter(|(_, text, _)| text.contains("\\\"")) {
        let unescaped = text.replace("\\\"", "\"");
        let in_lines = unescaped.replace("\\n", "\n");
        let texts = if text.contains("\\\\") { vec![unescaped] } else { vec![unescaped, in_lines] };
        for text in texts {
            if !is_faithful(adapter, &text, FinishReason::Stop, &arguments) {
                wrong.push(format!("{}: {text:?}: {:?}", adapter.name, read(adapter, &text, FinishReason::Stop).calls()));
            }
        }
    }
    report(&wrong);
}

#[test]
fn a_truncated_value_never_runs() {
    const STEP: usize = 37;
    let mut wrong = Vec::new();
    for (adapter, text, arguments) in written().step_by(effort::of(5, 1)) {
        for text in [text.clone(), text.replace("\\\"", "\"")] {
            for end in (text.len() / 2..text.len()).step_by(STEP).map(|end| text.floor_char_boundary(end)) {
                // What ends in a brace may be a whole object, with or without a comma.
                if !text[..end].trim_end_matches(',').ends_with('}')
                    && !is_faithful(adapter, &text[..end], FinishReason::Length, &arguments)
                {
                    wrong.push(format!("{}: {:?}", adapter.name, &text[..end]));
                    break;
                }
            }
        }
    }
    report(&wrong);
}
