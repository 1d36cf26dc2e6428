//! Calls as tags, through the scanner and the built-in files: what is read, however the text is cut, and that a call which
//! is cut off is never taken for one that is whole.

use std::sync::Arc;

use proptest::{prelude::*, test_runner::TestRunner};

use crate::{
    adapter::{Adapter, Scanner, scanner::Options},
    effort,
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    pieces::{self, PIECES},
    seen::{Seen, library, schemas},
};

/// The calls that ended, or those that did not, as `name arguments`.
fn written(seen: &Seen, whole: bool) -> Vec<String> {
    seen.all_calls().filter(|call| call.whole == whole).map(ToString::to_string).collect()
}

fn tools() -> Tools {
    let save = r#"{"type":"object","properties":{"path":{"type":"string"},"body":{"type":"string"},"mode":{"type":"integer"}},"required":["path"]}"#;
    let tree = r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}},"node":{"type":"object","properties":{"n":{"type":"integer"}}},"any":{}}}"#;
    let list =
        [Tool::new("save", "", save), Tool::new("now", "", r#"{"type":"object","properties":{}}"#), Tool::new("tree", "", tree)];
    Tools::new(list, ToolChoice::Auto)
}

fn run<'a>(adapter: &Arc<Adapter>, tools: &Tools, pieces: impl Iterator<Item = &'a str>) -> Seen {
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::new(tools.clone()), schemas(), Options::default());
    let mut seen = Seen::default();
    pieces.for_each(|piece| scanner.push(Channel::Content, piece, &mut seen));
    scanner.finish(FinishReason::Stop, &mut seen);
    seen
}

/// The calls of a text: the same whole and in single characters; cut off anywhere, only whole calls of it count as whole.
fn calls(adapter: &str, text: &str) -> Seen {
    let adapter = library().get(adapter).unwrap_or_else(|| panic!("no adapter {adapter}"));
    let tools = tools();
    let whole = run(adapter, &tools, std::iter::once(text));
    let characters: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(run(adapter, &tools, characters.iter().map(String::as_str)), whole, "in characters: {text:?}");
    for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
        for call in run(adapter, &tools, std::iter::once(&text[..at])).calls() {
            assert!(whole.calls().contains(&call), "cut at {at}: {call:?} is no call of {text:?}");
        }
    }
    whole
}

#[test]
fn calls_are_read_as_their_families_write_them() {
    for (adapter, text, expected) in [
        // Names and keys with quotes, blanks and attributes.
        ("qwen3-coder", "<function=\"save\">\n<parameter=\"path\">\nx\n</parameter>\n</function>", r#"save {"path":"x"}"#),
        ("qwen3-coder", "<function= save >\n<parameter= path >\nx\n</parameter>\n</function>", r#"save {"path":"x"}"#),
        ("qwen3-coder", "<tool_call>\n<function=save\n<parameter=path>\nx\n</parameter>\n</function>", r#"save {"path":"x"}"#),
        (
            "minimax-m2",
            "<invoke name='save' id=\"7\"><parameter type=\"a\" name=\"path\">x</parameter></invoke>",
            r#"save {"path":"x"}"#,
        ),
        (
            "minimax-m2",
            "<invoke name='save' id=\"7\"><parameter name=path type=\"a\">x</parameter></invoke>",
            r#"save {"path":"x"}"#,
        ),
        ("minimax-m2", "<invoke name=\"now\"/>", "now {}"),
        (
            "minimax-m2",
            "<invoke name=\"save\"><parameter name=\"path\">x</parameter><parameter name=\"body\"/></invoke>",
            r#"save {"path":"x","body":""}"#,
        ),
        // Types.
        (
            "deepseek-dsml",
            "<｜DSML｜invoke name=\"save\"><｜DSML｜parameter name=\"path\" string='true'>7</｜DSML｜parameter><｜DSML｜parameter string=\"false\"",
            "",
        ),
        (
            "glm",
            "<tool_call>save<arg_key>path</arg_key><arg_value>7</arg_value><arg_key>mode</arg_key><arg_value> 7 </arg_value></tool_call>",
            r#"save {"path":"7","mode":7}"#,
        ),
        (
            "glm",
            "<tool_call>tree<arg_key>any</arg_key><arg_value>{'a': [True, None]}</arg_value></tool_call>",
            r#"tree {"any":{"a":[true,null]}}"#,
        ),
        // Newlines as two characters between tags.
        ("glm", "<tool_call>save\\n<arg_key>path</arg_key>\\n<arg_value>x</arg_value>\\n</tool_call>", r#"save {"path":"x"}"#),
        ("glm", "<tool_call>save</arg_key><arg_key>path</arg_key><arg_value>x</arg_value></tool_call>", r#"save {"path":"x"}"#),
        ("minicpm5", "<functionĠname=\"save\">Ċ<paramĠname=\"path\">x</param>Ċ</function>", r#"save {"path":"x"}"#),
        // The opening marker twice, the name alone, a name that nobody offers.
        ("glm", "<tool_call><tool_call>now</tool_call>", "now {}"),
        ("glm", "<tool_call>now\n</tool_call>", "now {}"),
        (
            "glm",
            "<tool_call>delete_all<arg_key>sure</arg_key><arg_value>yes</arg_value></tool_call>",
            r#"delete_all {"sure":"yes"}"#,
        ),
        ("glm", "Write <tool_call>name</tool_call> in your answer.", ""),
        // JSON in the place of the tags; broken quotes in it are left to the fixer.
        ("glm", "<tool_call>save\n{\"path\": \"x\"}\n</tool_call>", r#"save {"path": "x"}"#),
        ("minimax-m2", "<invoke name=\"save\">{\"path\": \"say \"}\" now\"}</invoke>", r#"save {"path": "say "}" now"}"#),
        // Closing tags that are missing.
        ("qwen3-coder", "<tool_call>\n<function=now>\n<tool_call>\n<function=now>\n</function>\n</tool_call>", "now {}|now {}"),
        (
            "seed-oss",
            "<seed:tool_call><function=save><parameter=path>x<parameter=mode>1</parameter></function></seed:tool_call>",
            r#"save {"path":"x","mode":1}"#,
        ),
        (
            "hunyuan3",
            "<tool_calls><tool_call>save<tool_sep><arg_key>path</arg_key><arg_value>x</tool_call></tool_calls>",
            r#"save {"path":"x"}"#,
        ),
        // What looks like a parameter and is none of this tool, or was there already, is content.
        (
            "qwen3-coder",
            "<function=save>\n<parameter=path>\na\n<parameter=color>\nb\n</parameter>\n</function>",
            r#"save {"path":"a\u000a<parameter=color>\u000ab"}"#,
        ),
        // A head without structure after it is prose.
        ("qwen3-coder", "The <function=save> tag comes first.", ""),
        ("minicpm5", "<function name=\"save\"><param>x</param></function>", ""),
        // Elements.
        ("generic", "<save><path>x</path><body>\n a\n</body></save>", r#"save {"path":"x","body":" a"}"#),
        ("generic", "<save>{\"path\": \"x\"}</save>", r#"save {"path": "x"}"#),
        (
            "generic",
            "<save><body><![CDATA[</body></save>]]></body><path>x</path></save>",
            r#"save {"body":"</body></save>","path":"x"}"#,
        ),
        ("generic", "Use <save> for that, or <now>", ""),
        // Nested elements.
        (
            "minimax-m3",
            &m3("<tree>@<list>@</list>@<node>text@<n>1@</n>@</node>@</tree>"),
            r#"tree {"list":[],"node":{"n":1,"$text":"text"}}"#,
        ),
        (
            "minimax-m3",
            &m3("<tree>@<list>@<item>1@</item>@</list>@<any>@<k>1@</k>@</any>@</tree>"),
            r#"tree {"list":["1"],"any":{"k":1}}"#,
        ),
        ("minimax-m3", &m3("<save>@<path>x@</path>now the mode@<mode>1@</mode>@</save>"), r#"save {"path":"x","mode":1}"#),
        ("minimax-m3", &m3("<save>@<path>x@</save>"), r#"save {"path":"x"}"#),
    ] {
        let seen = calls(adapter, text);
        assert_eq!(written(&seen, true).join("|").replace("\": ", "\":"), expected.replace("\": ", "\":"), "{adapter}: {text}");
        if expected.is_empty() && written(&seen, false).is_empty() {
            assert_eq!(seen.text(), text, "{adapter}: text that is no call stays as it is");
        }
    }
}

/// One call of MiniMax M3: `@` stands for the token before every tag, the outermost element for the call.
fn m3(text: &str) -> String {
    let name = text.trim_start_matches('<').split('>').next().unwrap();
    let inner = &text[name.len() + 2..text.len() - name.len() - 4];
    format!("@<tool_call>\n@<invoke name=\"{name}\">{inner}@</invoke>\n@</tool_call>").replace('@', "]<]minimax[>[")
}

#[test]
fn a_value_may_hold_a_whole_call_of_its_own_family() {
    for (adapter, call) in [
        (
            "qwen3-coder",
            "<tool_call>\n<function=save>\n<parameter=path>\nP\n</parameter>\n<parameter=body>\nB\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "seed-oss",
            "<seed:tool_call><function=save><parameter=path>P</parameter><parameter=body>B</parameter></function></seed:tool_call>",
        ),
        (
            "minimax-m2",
            "<minimax:tool_call><invoke name=\"save\"><parameter name=\"path\">P</parameter><parameter name=\"body\">B</parameter></invoke></minimax:tool_call>",
        ),
        (
            "deepseek-dsml",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"save\">\n<｜DSML｜parameter name=\"path\" string=\"true\">P</｜DSML｜parameter>\n<｜DSML｜parameter name=\"body\" string=\"true\">B</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ),
        (
            "glm",
            "<tool_call>save<arg_key>path</arg_key><arg_value>P</arg_value><arg_key>body</arg_key><arg_value>B</arg_value></tool_call>",
        ),
        ("minicpm5", "<function name=\"save\"><param name=\"path\">P</param><param name=\"body\">B</param></function>"),
        ("generic", "<save><path>P</path><body>B</body></save>"),
    ] {
        let inner = format!("before {call} after");
        let seen = calls(adapter, &call.replace('B', &inner));
        let body = super::super::typing::verbatim(&inner);
        assert_eq!(written(&seen, true), [format!("save {{\"path\":\"P\",\"body\":{body}}}")], "{adapter}");
    }
}

/// The last closing tag that structure follows ends a value. What is in quotes is content; any other closing tag inside is content only
/// if no parameter is missing that its neighbour may have been.
#[test]
fn a_value_may_hold_its_own_closing_tag() {
    let qwen = |body: &str, more: &str| {
        let tags = format!("<parameter=path>\na\n</parameter>\n<parameter=body>\n{body}\n</parameter>\n{more}");
        ("qwen3-coder", format!("<tool_call>\n<function=save>\n{tags}</function>\n</tool_call>"))
    };
    let minimax = |body: &str| {
        let tags = format!("<parameter name=\"path\">a</parameter>\n<parameter name=\"body\">{body}</parameter>");
        ("minimax-m2", format!("<minimax:tool_call>\n<invoke name=\"save\">\n{tags}\n</invoke>\n</minimax:tool_call>"))
    };
    let glm = |body: &str| {
        let tags = "<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>body</arg_key>\n<arg_value>";
        ("glm", format!("<tool_call>save\n{tags}{body}</arg_value>\n</tool_call>"))
    };
    let mode = "<parameter=mode>\n1\n</parameter>\n";
    for ((adapter, text), body) in [
        (qwen("s = '</parameter>'\nprint(s)", ""), Some("s = '</parameter>'\nprint(s)")),
        (qwen("a = \"</parameter>\"", ""), Some("a = \"</parameter>\"")),
        (qwen("<x>\n</parameter>\n</x>", mode), Some("<x>\n</parameter>\n</x>")),
        (qwen("<x>\n</parameter>\n</x>", ""), None),
        (minimax("s = '</parameter>'\nprint(s)"), Some("s = '</parameter>'\nprint(s)")),
        (minimax("<parameter>\n  <b></b>\n</parameter>"), Some("<parameter>\n  <b></b>\n</parameter>")),
        (minimax("a</parameter> b"), None),
        (glm("s = `</arg_value>`, s"), Some("s = `</arg_value>`, s")),
        (glm("a</arg_value>\nb"), None),
        // The closing tag of the call in a value that its own tag ends.
        (qwen("# Doc\n</function>\n</tool_call>\nmore", ""), Some("# Doc\n</function>\n</tool_call>\nmore")),
        (minimax("# Doc\n</invoke>\n</minimax:tool_call>\nmore"), Some("# Doc\n</invoke>\n</minimax:tool_call>\nmore")),
    ] {
        let adapter = library().get(adapter).unwrap();
        let whole = run(adapter, &tools(), std::iter::once(text.as_str()));
        let characters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(run(adapter, &tools(), characters.iter().map(String::as_str)), whole, "in characters: {text:?}");
        let arguments = whole.calls().into_iter().map(|(_, arguments)| serde_json::from_str(&arguments).unwrap());
        let bodies: Vec<serde_json::Value> = arguments.map(|value: serde_json::Value| value["body"].clone()).collect();
        assert_eq!(bodies, body.map(serde_json::Value::from).into_iter().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn what_only_the_end_of_the_text_closes_is_handed_on_as_cut() {
    for (adapter, text, expected) in [
        // After a value: only the brace is missing. Inside of one: nothing may complete it.
        ("qwen3-coder", "<function=save>\n<parameter=path>\nx\n</parameter>\n", r#"save {"path":"x" "#),
        ("qwen3-coder", "<function=save>\n<parameter=path>\nx } ", "save {\""),
        ("qwen3-coder", "<function=save>\n", "save {\""),
        ("qwen3-coder", "<tool_call>\n<function=sa", " "),
        ("glm", "<tool_call>save<arg_key>path</arg_key><arg_value>x</arg_value><arg_key>bo", "save {\""),
        ("minimax-m2", "<invoke name=\"save\">{\"path\": \"x\"}", r#"save {"path": "x""#),
        // Without a marker it is text.
        ("generic", "<save><path>x</path>", ""),
        ("minimax-m3", "]<]minimax[>[<invoke name=\"save\">]<]minimax[>[<path>x]<]minimax[>[</path>", r#"save {"path":"x" "#),
    ] {
        let seen = calls(adapter, text);
        assert_eq!((written(&seen, true).len(), written(&seen, false).join("|").as_str()), (0, expected), "{adapter}: {text}");
    }
}

/// Any soup of tags: nothing panics, and the cuts do not matter.
#[test]
fn soup_is_read_alike_however_it_is_cut() {
    let adapters = ["qwen3-coder", "glm", "minimax-m2", "minimax-m3", "generic"].map(|name| library().get(name).unwrap());
    let tags: Vec<&str> = PIECES.iter().copied().filter(|piece| piece.contains(['<', '>']) || piece.len() < 3).collect();
    let tools = pieces::tools();
    let config = ProptestConfig { cases: effort::cases(500, 2000), failure_persistence: None, ..ProptestConfig::default() };
    let soup = (prop::collection::vec(0..tags.len(), 1..14), 1usize..5, 0..adapters.len());
    let outcome = TestRunner::new(config).run(&soup, |(picks, size, which)| {
        let text: String = picks.into_iter().map(|at| tags[at]).collect();
        let characters: Vec<char> = text.chars().collect();
        let parts: Vec<String> = characters.chunks(size).map(|piece| piece.iter().collect()).collect();
        let whole = run(adapters[which], &tools, std::iter::once(text.as_str()));
        let cut = run(adapters[which], &tools, parts.iter().map(String::as_str));
        prop_assert_eq!(whole, cut, "{} {:?}", adapters[which].name, text);
        Ok(())
    });
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
}

#[test]
fn words_that_look_like_a_tag_are_content() {
    for value in ["use <parameter>", "a <parameter> b", "no parameter", "parameter>"] {
        let text = format!("<tool_call>\n<function=save>\n<parameter=path>\n{value}\n</parameter>\n</function>\n</tool_call>");
        assert_eq!(
            written(&calls("qwen3-coder", &text), true),
            [format!("save {}", serde_json::json!({"path": value}))],
            "{text}"
        );
    }
}

#[test]
fn half_a_tag_is_no_name() {
    for text in [
        "<tool_call>\nfunction=save>\n<parameter=path>\nx\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function==save>\n<parameter=path>\nx\n</parameter>\n</function>\n</tool_call>",
    ] {
        let calls = written(&calls("qwen3-coder", text), true);
        assert!(calls.iter().all(|call| call.starts_with("save ")), "{text}: {calls:?}");
    }
}

/// A parameter's name may hold signs; only what begins like a tag ends it.
#[test]
fn a_key_with_signs_is_a_key() {
    let tool = Tool::new("set", "", r#"{"type":"object","properties":{"a<1>":{"type":"string"},"b>c":{"type":"string"}}}"#);
    let text = "<tool_call>set\n<arg_key>a<1></arg_key>\n<arg_value>x</arg_value>\n<arg_key>b>c</arg_key>\n<arg_value>y</arg_value></tool_call>";
    let seen = run(library().get("glm").unwrap(), &Tools::new([tool], ToolChoice::Auto), std::iter::once(text));
    assert_eq!(written(&seen, true), [r#"set {"a<1>":"x","b>c":"y"}"#]);
}
