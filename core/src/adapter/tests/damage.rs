//! Calls with one slip in their brackets, commas or tags: what the model wrote arrives, or nothing does.

use super::{Seen, library, read_with};
use crate::{
    adapter::{Syntax, write::Written},
    event::{Tool, ToolChoice, Tools},
    fix::{End, Schemas, Verdict, fix},
};

fn tools() -> Tools {
    let schema = r#"{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place"]}"#;
    Tools::new([Tool::new("forecast", "Tells the weather.", schema)], ToolChoice::Auto)
}

/// Name and arguments of the only call; `None` if there is none, or if it is torn or cut.
fn call(seen: &Seen) -> Option<(String, serde_json::Value)> {
    let mut calls = seen.all_calls().filter(|call| call.whole);
    let call = calls.next()?;
    assert!(calls.next().is_none(), "{seen:?}");
    let arguments = fix(&call.arguments, None, &[], End::Closed).arguments?;
    Some((call.name.clone(), serde_json::from_str(&arguments).unwrap()))
}

#[test]
fn a_number_in_the_head_of_a_call_is_no_argument() {
    let schema = r#"{"type":"object","properties":{"cell":{"type":"string"},"index":{"type":"integer"}},"required":["cell"]}"#;
    let tools = || Tools::new([Tool::new("insert", "", schema)], ToolChoice::Auto);
    let argument = |key: &str, kind: &str, value: &str| {
        format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|>")
    };
    for (more, want) in [
        (String::new(), serde_json::json!({"cell": "a"})),
        (argument("index", "number", "7"), serde_json::json!({"cell": "a", "index": 7})),
    ] {
        let text = format!(
            "<|open|>tools<|sep|><|open|>call tool=\"insert\" index=\"1\"<|sep|>{}{more}<|close|>call<|sep|><|close|>tools<|sep|>",
            argument("cell", "string", "a")
        );
        assert_eq!(call(&read_with(tools(), "kimi-k3", false, &text)), Some(("insert".to_owned(), want)), "{text}");
    }
}

#[test]
fn an_invocation_may_be_in_the_tag_of_another_family() {
    let text = "<tool_call>\n<invoke name=\"forecast\">\n<parameter name=\"place\">Turku</parameter>\n</invoke>\n</tool_call>";
    for adapter in ["qwen3-coder", "hermes", "generic"] {
        let seen = read_with(tools(), adapter, false, text);
        assert_eq!((call(&seen).map(|(name, _)| name), seen.text()), (Some("forecast".to_owned()), String::new()), "{adapter}");
    }
}

#[test]
fn an_empty_value_with_a_tag_twice_is_not_delivered() {
    let page = |adapter: &str, text: &str| {
        let schema = r#"{"type":"object","properties":{"html":{"type":"string"}},"required":["html"]}"#;
        let seen = read_with(Tools::new([Tool::new("set_page", "", schema)], ToolChoice::Auto), adapter, false, text);
        call(&seen).map(|(_, arguments)| arguments["html"].as_str().unwrap().to_owned())
    };
    // One of the two tags may be the value: the page would be emptied, or hold the tag.
    for (adapter, text) in [
        ("generic", "<set_page>\n<html></html></html>\n</set_page>"),
        ("generic", "<set_page>\n<html>\n</html>\n</html>\n</set_page>"),
        ("generic", "<set_page>\n<html><html></html>\n</set_page>"),
        ("qwen3-coder", "<function=set_page>\n<parameter=html>\n</parameter>\n</parameter>\n</function>"),
        ("glm", "<tool_call>set_page\n<arg_key>html</arg_key>\n<arg_value></arg_value></arg_value>\n</tool_call>"),
    ] {
        assert_eq!(page(adapter, text), None, "{text}");
    }
    assert_eq!(page("generic", "<set_page>\n<html></html>\n</set_page>"), Some(String::new()));
    // The value itself is not in doubt here.
    assert_eq!(page("generic", "<set_page>\n<html>Hello</html></html>\n</set_page>").as_deref(), Some("Hello"));
}

#[test]
fn the_closing_tag_of_another_element_is_no_content() {
    for text in [
        "<invoke name=\"forecast\">\n<parameter name=\"place\">Turku</invoke>\n<parameter name=\"days\">2</parameter>\n</invoke>",
        "<invoke name=\"forecast\">\n<parameter name=\"place\">Turku</place-name>\n<parameter name=\"days\">2</parameter>\n</invoke>",
    ] {
        assert_eq!(call(&read_with(tools(), "minimax-m2", false, text)), None, "{text}");
    }
    let list = "<tool_call>\n<function=forecast>\n<parameter name=\"place\" value=\"\\\"Turku\\\"\"/>\n</function>\n</tool_call>";
    assert_eq!(
        call(&read_with(tools(), "hermes", false, list)).map(|(_, arguments)| arguments["place"].clone()),
        Some("\"Turku\"".into())
    );
}

#[test]
fn one_slip_does_not_lose_a_parameter() {
    let want = Some(("forecast".to_owned(), serde_json::json!({"place": "Turku", "days": 2})));
    for (adapter, text) in [
        ("hermes", "<tool_call>\nforecast( place = \"Turku\" , days = 2 )\n</tool_call>"),
        ("hermes", "forecast {\"place\": \"Turku\", \"days\": 2}"),
        ("gemma4", "<|tool_call>call:forecast{place:<|\"|>Turku<|\"|>,,days:2}<tool_call|>"),
        (
            "qwen3-coder",
            "<function=forecast>\n<parameter=place>\nTurku\n</parameter>\n<parameter days>\n2\n</parameter>\n</function>",
        ),
        (
            "glm",
            "<tool_call>forecast\n<arg_key>place</arg_key>\n<arg_value>Turku\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
        ),
    ] {
        assert_eq!(call(&read_with(tools(), adapter, false, text)), want, "{adapter}: {text}");
    }
}

#[test]
fn twins_of_tags_are_no_part_of_a_value() {
    let want = Some(("forecast".to_owned(), serde_json::json!({"place": "Turku", "days": 2})));
    for (adapter, text) in [
        (
            "qwen3-coder",
            "<function=forecast>\n<parameter=place>\nTurku\n</parameter>\n</parameter>\n<parameter=days>2</parameter>\n</function>",
        ),
        ("qwen3-coder", "<function=forecast>\n<parameter=place>\nTurku\n</place>\n<parameter=days>2</days>\n</function>"),
        (
            "qwen3-coder",
            "<function=forecast>\n<parameter=place><![CDATA[Turku]]></parameter>\n<parameter=days>2</parameter>\n</function>",
        ),
        (
            "minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"forecast\">\n<parameter name=\"place\" value=\"Turku\"/>\n<parameter name=\"days\" value=\"2\"></parameter>\n</invoke>\n</minimax:tool_call>",
        ),
    ] {
        assert_eq!(call(&read_with(tools(), adapter, false, text)), want, "{adapter}: {text}");
    }
}

#[test]
fn a_misspelt_tag_of_another_parameter_is_no_part_of_a_value() {
    for text in [
        "<function=forecast>\n<parameter=place>\nTurku\n</parameter>\n<days>\n2\n</days>\n</function>",
        "<function=forecast>\n<parameter=place>\nTurku\n</parameter>\n<parm=days>\n2\n</parameter>\n</function>",
        "<function=forecast>\n<parameter=place>\nTurku\n</parameter>\n<parameter_days>2</parameter>\n</function>",
    ] {
        let seen = read_with(tools(), "qwen3-coder", false, text);
        let place = call(&seen).map(|(_, arguments)| arguments["place"].clone());
        assert!(place.is_none_or(|place| place == "Turku"), "{seen:?}");
    }
}

const WAYS: [&str; 5] = ["blanks before the end", "upper case", "blanks around the sign", "two blanks", "two brackets"];

fn spelt(way: &str, tag: &str) -> String {
    match way {
        "blanks before the end" => format!("{} >", &tag[..tag.len() - 1]),
        "upper case" => match tag.split_once(['=', ' ']) {
            Some((name, rest)) => format!("{}{}{rest}", name.to_uppercase(), &tag[name.len()..=name.len()]),
            None => tag.to_uppercase(),
        },
        "blanks around the sign" => tag.replacen('=', " = ", 1),
        "two blanks" => tag.replacen(' ', "  ", 1),
        _ => format!("<{tag}"),
    }
}

/// No family with tags reads another value from its own call with a tag spelt in another way.
#[test]
fn tags_spelt_in_other_ways_hold_the_same_values() {
    let arguments = serde_json::json!({"place": "Turku, Finland", "days": 2});
    let serde_json::Value::Object(members) = &arguments else { unreachable!() };
    let written = [Written { name: "forecast".to_owned(), id: None, arguments: members.clone() }];
    let mut families = 0;
    for adapter in library().iter() {
        let tagged = adapter.own().iter().any(|call| matches!(&call.syntax, Syntax::Tagged(_)));
        let Some(text) = adapter.write(&written).filter(|text| tagged && !text.contains(['|', '｜'])) else { continue };
        families += 1;
        // The tags of arguments, from the first one on.
        let tags: Vec<(usize, usize)> = text
            .match_indices('<')
            .filter_map(|(at, _)| Some((at, at + text[at..].find('>')? + 1)))
            .filter(|&(at, end)| ["param", "arg"].iter().any(|name| text[at..end].contains(name)))
            .collect();
        for &(at, end) in &tags {
            // Two brackets before a closing tag: the first one belongs to the value.
            for way in WAYS.iter().filter(|&&way| way != "two brackets" || !text[at..].starts_with("</")) {
                let other = format!("{}{}{}", &text[..at], spelt(way, &text[at..end]), &text[end..]);
                let seen = read_with(tools(), &adapter.name, false, &other);
                if let Some((_, got)) = call(&seen) {
                    assert_eq!(got, arguments, "{}, {way}: {other}", adapter.name);
                }
            }
        }
    }
    assert!(families > 4, "{families}");
}

/// A call in the form of every family, with one character of its syntax removed or doubled: hardly ever does another value arrive.
#[test]
fn one_character_too_few_or_too_many_changes_no_value() {
    let schema = r#"{"type":"object","properties":{"place":{"type":"string"},"note":{"type":"string"},"days":{"type":"integer"}},"required":["place"]}"#;
    let tools = || Tools::new([Tool::new("forecast", "Tells the weather.", schema)], ToolChoice::Auto);
    let checked = Schemas::default().get(&std::sync::Arc::from(schema));
    let arguments = serde_json::json!({"place": "Turku Finland", "days": 2, "note": "here and there"});
    let serde_json::Value::Object(members) = &arguments else { unreachable!() };
    let call = [Written { name: "forecast".to_owned(), id: None, arguments: members.clone() }];
    let (mut delivered, mut wrong) = (0, Vec::new());
    for adapter in library().iter() {
        // A special token is written whole or not at all.
        let Some(text) = adapter.write(&call).filter(|text| !text.contains(['|', '\u{ff5c}'])) else { continue };
        let places = text.char_indices().filter(|(_, c)| c.is_ascii_punctuation()).map(|(at, _)| at);
        // A bracket before a closing tag belongs to the value.
        let places = places.filter(|&at| !text[at..].starts_with("</"));
        for (index, at) in places.enumerate() {
            let (before, after) = text.split_at(at);
            let damaged =
                if index % 4 < 2 { format!("{before}{}", &after[1..]) } else { format!("{before}{}{after}", &after[..1]) };
            // So does one after an opening tag.
            if damaged.len() > text.len() && after.starts_with('>') && !after[1..].starts_with(['<', ']']) {
                continue;
            }
            let seen = read_with(tools(), &adapter.name, false, &damaged);
            for call in seen.all_calls().filter(|call| call.whole && call.name == "forecast") {
                let report = fix(&call.arguments, Some(&checked), &[], End::Closed);
                // A guess is asked about.
                let Some(got) = report.accepted().filter(|_| report.verdict != Verdict::Guess) else { continue };
                delivered += 1;
                let got: serde_json::Map<String, serde_json::Value> = serde_json::from_str(got).unwrap();
                if got.iter().any(|(key, value)| arguments.get(key) != Some(value)) {
                    wrong.push(format!("{}: {damaged}\n  {got:?}", adapter.name));
                }
            }
        }
    }
    assert!(delivered > 200, "{delivered}");
    assert!(wrong.len() * 50 <= delivered, "{} of {delivered}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Models wrap the arguments as code would. Each member inside the brackets is a part of them.
#[test]
fn arguments_in_the_brackets_of_code_keep_all_members() {
    let schema = r#"{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array"}},"required":["place"]}"#;
    let tools = || Tools::new([Tool::new("forecast", "Tells the weather.", schema)], ToolChoice::Auto);
    let checked = Schemas::default().get(&std::sync::Arc::from(schema));
    let members = r#"{"place": "Turku, (old) town", "tags": ["a", {"b": 1}], "days": 2}"#;
    let expected: serde_json::Value = serde_json::from_str(members).unwrap();
    for wrapped in [format!("({members})"), format!("json.dumps({members})"), format!("JSON.stringify({members}, null, 2)")] {
        for text in [
            format!("<tool_call>{{\"name\": \"forecast\", \"arguments\": {wrapped}}}</tool_call>"),
            format!("<tool_call>{{\"arguments\": {wrapped}, \"name\": \"forecast\"}}</tool_call>"),
        ] {
            let seen = read_with(tools(), "hermes", false, &text);
            let call = seen.all_calls().next().unwrap_or_else(|| panic!("{text}: {seen:?}"));
            let report = fix(&call.arguments, Some(&checked), &[], End::Closed);
            let got = report.accepted().map(|got| serde_json::from_str(got).unwrap());
            assert_eq!(got, Some(expected.clone()), "{text}: {report:?}");
        }
    }
}
