//! Slips in the tags around names, parameters and calls.

use super::{Seen, read_beside, text, written};
use crate::event::Tool;

fn read(adapter: &str, text: &str) -> Seen {
    let lamp = r#"{"type":"object","properties":{"room":{"type":"string"},"level":{"type":"integer"}},"required":["room"]}"#;
    read_beside(Tool::new("lamp", "Lights a lamp.", lamp), adapter, text)
}

/// The complete calls of an answer that has no text.
fn calls(adapter: &str, text: &str) -> Option<String> {
    let seen = read(adapter, text);
    let calls = written(&seen);
    let alone = calls.len() == seen.items.len() && calls.iter().all(|(_, whole)| *whole);
    alone.then(|| calls.iter().map(|(call, _)| call.replace("\": ", "\":")).collect::<Vec<_>>().join("; "))
}

#[test]
fn a_value_in_the_tag_of_its_parameter_is_read_or_refused() {
    let written = |tag: &str| {
        let tagged =
            format!("<tool_call>\n<function=note>\n<parameter=path>\na.md\n</parameter>\n{tag}\n</function>\n</tool_call>");
        calls("qwen3-coder", &tagged)
    };
    let note = |words: &str| Some(format!(r#"note {{"path":"a.md","words":"{words}"}}"#));
    for (tag, words) in [
        ("<parameter=words=tea>\n</parameter>", "tea"),
        ("<parameter=words=tea></parameter>", "tea"),
        ("<parameter=words=tea>", "tea"),
        ("<parameter=words = tea and = milk>\n</parameter>", "tea and = milk"),
        ("<parameter=words=\"tea\">\n</parameter>", "tea"),
        ("<parameter=words='tea'/>", "tea"),
        ("<parameter=words value=\"tea\"/>", "tea"),
        ("<parameter=words value=\"tea\">\n</parameter>", "tea"),
        ("<parameter=words value=\"tea\">", "tea"),
        ("<parameter words=\"tea\"/>", "tea"),
        ("<parameter name=\"words=tea\"></parameter>", "tea"),
        ("<parameter=parameter=words>\ntea\n</parameter>", "tea"),
        ("<parameter=name=words>\ntea\n</parameter>", "tea"),
        ("<parameter=words type=\"string\">\ntea\n</parameter>", "tea"),
        // An empty value is meant.
        ("<parameter=words>\n</parameter>", ""),
        ("<parameter=words/>", ""),
        ("<parameter=words type=\"string\"/>", ""),
    ] {
        assert_eq!(written(tag), note(words), "{tag}");
    }
    for tag in [
        "<parameter=words=tea>\nand milk\n</parameter>",
        "<parameter=words value=\"tea\">\nmilk\n</parameter>",
        "<parameter=words value=\"tea > milk\"/>",
        "<parameter=words value=tea and milk/>",
        "<parameter=words value=tea/milk>\n</parameter>",
        "<parameter=words=tea/>",
        "<parameter=words tea/>",
        "<parameter=words \"tea\">\n</parameter>",
    ] {
        assert_eq!(written(tag), None, "{tag}");
    }
}

#[test]
fn a_name_in_another_tag_is_read_with_its_parameters() {
    let body = "\n<parameter=room>\nhall\n</parameter>\n";
    for text in [
        format!("<parameter=lamp>{body}</function>"),
        format!("<parameter=lamp>{body}</function>\n</tool_call>"),
        format!("<tool_call>\n<parameter=lamp>{body}</function>\n</tool_call>"),
        format!("<lamp>{body}</lamp>"),
        format!("<tool=lamp>{body}</tool>"),
        format!("<function: lamp>{body}</function>"),
        format!("<function lamp>{body}</function>"),
        "<lamp>\n<parameter name=\"room\">hall</parameter>\n</lamp>".to_owned(),
    ] {
        for adapter in ["qwen3-coder", "llama3"] {
            assert_eq!(calls(adapter, &text).as_deref(), Some(r#"lamp {"room":"hall"}"#), "{adapter}: {text}");
        }
    }
    for shown in [
        "<parameter=lamp>\nhall\n</parameter>".to_owned(),
        "<parameter=lamp>\n</parameter>".to_owned(),
        "<parameter=rooms>\n<parameter=room>\nhall\n</parameter>\n</function>".to_owned(),
        "First <lamp>, then <parameter=room>hall</parameter> and </lamp>.".to_owned(),
    ] {
        assert_eq!(read("qwen3-coder", &shown), text(&shown));
    }
}

#[test]
fn parameters_may_have_their_own_tags_beside_the_usual_ones() {
    let both = Some(r#"lamp {"room":"hall","level":3}"#);
    for text in [
        "<invoke name=\"lamp\">\n<room>hall</room>\n<parameter name=\"level\">3</parameter>\n</invoke>",
        "<invoke name=\"lamp\">\n<parameter name=\"room\">hall</parameter>\n<level>3</level>\n</invoke>",
        "<function=lamp>\n<room>hall</room>\n<parameter=level>\n3\n</parameter>\n</function>",
        "<lamp>\n<room>hall</room>\n<parameter=level>\n3\n</parameter>\n</lamp>",
    ] {
        assert_eq!(calls("llama3", text).as_deref(), both, "{text}");
    }
    let object = "<function=lamp>\n<arguments>{\"room\": \"hall\", \"level\": 3}</arguments>\n</function>";
    for adapter in ["qwen3-coder", "llama3"] {
        assert_eq!(calls(adapter, object).as_deref(), Some(r#"lamp {"room":"hall", "level":3}"#), "{adapter}");
        let marked = format!("<tool_call>\n{object}\n</tool_call>");
        assert_eq!(calls(adapter, &marked).as_deref(), Some(r#"lamp {"room":"hall", "level":3}"#), "{adapter}");
    }
    // In a value they are content.
    let content = "<parameter name=\"words\">x</parameter> and <words>y</words>";
    let text = format!("<note>\n<path>a.md</path>\n<words>{content}</words>\n</note>");
    let words = content.replace('"', "\\\"");
    assert_eq!(calls("llama3", &text), Some(format!(r#"note {{"path":"a.md","words":"{words}"}}"#)));
    // The content of the first element holds the name of the second.
    let nested = "<note>\n<words>\n<a>\n<path>x</path>\n</a>\n</words>\n<path>\na.md\n</path>\n</note>";
    assert_eq!(calls("llama3", nested), None);
    // A parameter that is given twice.
    for torn in [
        "<function=lamp>\n<parameter=room>\nhall\n</parameter>\n<room>attic</room>\n</function>",
        "<function=lamp>\n<parameter=level>3</parameter>\n<room>hall</room>\n<room>attic</room>\n</function>",
    ] {
        for adapter in ["qwen3-coder", "llama3"] {
            assert_eq!(calls(adapter, &format!("<tool_call>\n{torn}\n</tool_call>")), None, "{adapter}: {torn}");
        }
    }
}

#[test]
fn openers_around_openers_belong_to_the_call() {
    let tagged =
        |room: &str| format!("<tool_call>\n<function=lamp>\n<parameter=room>\n{room}\n</parameter>\n</function>\n</tool_call>");
    let pairs = "<tool_call>lamp\n<arg_key>room</arg_key>\n<arg_value>hall</arg_value>\n</tool_call>";
    let named = "<tool_call>\n<name>lamp</name>\n<arguments>{\"room\": \"hall\"}</arguments>\n</tool_call>";
    for adapter in ["qwen3-coder", "hermes", "glm", "deepseek-dsml", "minimax-m2"] {
        for block in ["tool_calls", "function_calls", "tool_use", "tools", "tool_call"] {
            for call in [tagged("hall").as_str(), pairs, named] {
                let text = format!("<{block}>\n{call}\n</{block}>");
                assert_eq!(calls(adapter, &text).as_deref(), Some(r#"lamp {"room":"hall"}"#), "{adapter}: {text}");
            }
            let plan = format!("<{block}>\n{}\n{}\n</{block}>", tagged("hall"), tagged("attic"));
            let both = r#"lamp {"room":"hall"}; lamp {"room":"attic"}"#;
            assert_eq!(calls(adapter, &plan).as_deref(), Some(both), "{adapter}: {plan}");
        }
    }
}

#[test]
fn bars_of_all_kinds_are_equal_before_the_names_of_tags() {
    let call = |open: &str, close: &str, block: &str| {
        let inner = format!(
            "<{open}invoke name=\"lamp\">\n<{open}parameter name=\"room\" string=\"true\">hall</{close}parameter>\n</{close}invoke>"
        );
        if block.is_empty() { inner } else { format!("<{open}{block}>\n{inner}\n</{close}{block}>") }
    };
    let bars = [
        "\u{ff5c}DSML\u{ff5c}",
        "|DSML|",
        "||DSML||",
        "\u{ff5c}\u{ff5c}DSML\u{ff5c}\u{ff5c}",
        " | DSML | ",
        "| DSML |",
        " |DSML| ",
        "|dsml|",
    ];
    for block in ["tool_calls", "tool_use", ""] {
        for open in bars {
            for close in [open, bars[0], ""] {
                let text = call(open, close, block);
                for adapter in ["deepseek-dsml", "llama3"] {
                    assert_eq!(calls(adapter, &text).as_deref(), Some(r#"lamp {"room":"hall"}"#), "{adapter}: {text}");
                }
            }
        }
    }
    let text = call("", bars[0], "");
    assert_eq!(calls("deepseek-dsml", &text).as_deref(), Some(r#"lamp {"room":"hall"}"#), "{text}");
}

#[test]
fn tags_without_bars_are_content_of_a_call_with_bars() {
    let words = "<invoke name='x'>\n<parameter name='y'>z</parameter>\n</invoke>\n</parameter>\n</invoke>";
    let tag = |name: &str| format!("\u{ff5c}DSML\u{ff5c}{name}");
    let [invoke, parameter] = [tag("invoke"), tag("parameter")];
    let text = format!(
        "<{invoke} name=\"note\">\n<{parameter} name=\"path\">a.md</{parameter}>\n<{parameter} name=\"words\">{words}</{parameter}>\n</{invoke}>"
    );
    let escaped = words.replace('\n', "\\u000a");
    assert_eq!(calls("deepseek-dsml", &text), Some(format!(r#"note {{"path":"a.md","words":"{escaped}"}}"#)));
}

#[test]
fn tags_of_other_forms_are_content_of_a_value() {
    let bars = "\u{ff5c}DSML\u{ff5c}";
    for words in [
        format!("<{bars}invoke name='lamp'>\n<{bars}parameter name='room'>x</{bars}parameter>\n</{bars}invoke>"),
        format!("x</{bars}parameter>\n</{bars}invoke>"),
        "</parameter>\n<path>b.md</path>".to_owned(),
    ] {
        let text = format!(
            "<invoke name=\"note\">\n<parameter name=\"path\">a.md</parameter>\n<parameter name=\"words\">{words}</parameter>\n</invoke>"
        );
        let want = format!(r#"note {{"path":"a.md","words":"{}"}}"#, words.replace('\n', "\\u000a"));
        assert_eq!(calls("llama3", &text), Some(want));
    }
    let text = "<note>\n<path>a.md</path>\n<words></words>\n</function></words>\n</note>";
    assert_eq!(calls("llama3", text).as_deref(), Some(r#"note {"path":"a.md","words":"</words>\u000a</function>"}"#));
}

#[test]
fn a_closing_tag_alone_is_text() {
    for name in ["invoke", "parameter", "tool_calls"] {
        let log = format!("The log ends here:\n</\u{ff5c}DSML\u{ff5c}{name}>\nNothing comes after it.");
        assert_eq!(read("deepseek-dsml", &log), text(&log));
    }
}
