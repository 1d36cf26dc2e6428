//! How much is held, and what becomes of what is longer.

use std::sync::Arc;

use super::{Options, Scanner, library};
use crate::{
    event::{Channel, Event, FinishReason, Tool, ToolChoice, Tools},
    seen::schemas,
};

/// What leaves, a line for each call and refusal, text merged; the same whole and in single characters.
fn read(adapter: &str, options: &Options, text: &str) -> Vec<String> {
    let whole = read_in(adapter, options, [text]);
    let single: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(whole, read_in(adapter, options, single.iter().map(String::as_str)), "cut into characters");
    whole
}

fn read_in<'t>(adapter: &str, options: &Options, pieces: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let schema = r#"{"type":"object","properties":{"note":{"type":"string"},"on":{"type":"boolean"}}}"#;
    let tools = Arc::new(Tools::new([Tool::new("lamp", "", schema)], ToolChoice::Auto));
    let adapter = Arc::clone(library().get(adapter).unwrap());
    let mut scanner = Scanner::new(adapter, tools, schemas(), options.clone());
    let (mut out, mut text): (Vec<String>, bool) = (Vec::new(), false);
    let mut sink = |event: Event<'_>| {
        let line = match event {
            Event::Text(piece) if text => return out.last_mut().unwrap().push_str(piece),
            Event::Text(piece) => piece.to_owned(),
            Event::Call(call) => format!("call {}", call.name),
            Event::Refused { name, why, .. } => format!("refused {name}: {why}"),
            _ => return,
        };
        text = matches!(event, Event::Text(_));
        out.push(line);
    };
    for piece in pieces {
        scanner.push(Channel::Content, piece, &mut sink);
    }
    scanner.finish(FinishReason::Stop, &mut sink);
    out
}

fn hermes(note: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"lamp\", \"arguments\": {{\"note\": \"{note}\"}}}}\n</tool_call>")
}

#[test]
fn a_call_that_is_longer_than_the_limit_of_arguments_is_refused() {
    let options = Options { argument_bytes: 200, ..Options::default() };
    assert_eq!(read("hermes", &options, &hermes(&"x".repeat(100))), ["call lamp"]);
    let tagged = format!("<tool_call>\n<function=lamp>\n<parameter=note>\n{}\n</parameter>\n</function>\n", "x".repeat(300));
    let dict = format!("<|tool_call>call:lamp{{note:<|\"|>{}<|\"|>}}<tool_call|>", "x".repeat(300));
    let header = format!("<|channel|>commentary to=functions.lamp<|message|>{{\"note\": \"{}\"}}<|call|>", "x".repeat(300));
    let element = format!("<lamp>\n<note>{}</note>\n</lamp>", "x".repeat(300));
    let element_alone = element.clone();
    for (adapter, call) in [
        ("hermes", hermes(&"x".repeat(300))),
        ("qwen3-coder", tagged),
        ("gemma4", dict),
        ("gpt-oss", header),
        ("generic", element),
    ] {
        // Nobody knows where such a call ends: what follows may be the rest of it. An element without a marker comes first.
        let prose = if call == element_alone { "" } else { "Now the lamp." };
        let expected = ["Now the lamp.", "refused lamp: its arguments are larger than 200 bytes"];
        let seen = read(adapter, &options, &format!("{prose}{call}\nDone. {}", hermes("more")));
        assert_eq!(seen, expected[usize::from(prose.is_empty())..], "{adapter}");
    }
}

#[test]
fn what_has_no_known_name_is_text_beyond_the_limit() {
    let options = Options { held_bytes: 200, ..Options::default() };
    for (adapter, text) in [
        (
            "hermes",
            format!("<tool_call>{{\"arguments\": {{\"note\": \"{}\"}}, \"name\": \"lamp\"}}</tool_call>", "x".repeat(300)),
        ),
        ("generic", format!("{{\"arguments\": {{\"note\": \"{}\"}}, \"name\": \"lamp\"}}", "x".repeat(300))),
        ("mistral", format!("[TOOL_CALLS][{{\"arguments\": {{\"note\": \"{}\"}}, \"name\": \"lamp\"}}]", "x".repeat(300))),
    ] {
        assert_eq!(read(adapter, &options, &text), [text.as_str()], "{adapter}");
    }
}

#[test]
fn a_call_is_found_behind_much_that_looked_like_one() {
    let options = Options { held_bytes: 2_000, ..Options::default() };
    let open = "{\"name\": ".repeat(20_000);
    let seen = read_in("hermes", &options, [format!("{open}\n{}", hermes("behind")).as_str()]);
    assert_eq!(seen, [open.trim_end().to_owned(), "call lamp".to_owned()]);
}

#[test]
fn a_value_that_is_no_call_has_none_inside() {
    let inner = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    for text in [
        format!("[{{\"id\": 1}}, {inner}]"),
        format!("{{\"name\": {{\"id\": {inner}}}}}"),
        format!("Look: [{inner}, {{\"id\": 1}}]"),
    ] {
        assert_eq!(read("hermes", &Options::default(), &text), [text.as_str()]);
    }
    // After it there may be one.
    let text = format!("{{\"name\": {{\"id\": 1}}}}\n{inner}");
    assert_eq!(read("hermes", &Options::default(), &text).last().map(String::as_str), Some("call lamp"));
}

#[test]
fn prose_leaves_with_the_piece_that_brought_it() {
    // Piece, and what has left behind it. A mark is held only where it may begin something.
    let steps = [
        ("About ~", "About ~"),
        ("5 km~~", "About ~5 km~~"),
        (" or <", "About ~5 km~~ or"),
        ("6 km.\n~", "About ~5 km~~ or <6 km."),
        ("~~\ncode\n~~~\nx", "About ~5 km~~ or <6 km.\n~~~\ncode\n~~~\nx"),
    ];
    let tools = Arc::new(Tools::new([Tool::new("lamp", "", "{}")], ToolChoice::Auto));
    let adapter = Arc::clone(library().get("hermes").unwrap());
    let mut scanner = Scanner::new(adapter, tools, schemas(), Options::default());
    let mut left = String::new();
    for (piece, expected) in steps {
        scanner.push(Channel::Content, piece, &mut |event: Event<'_>| {
            if let Event::Text(text) = event {
                left.push_str(text);
            }
        });
        assert_eq!(left, expected, "behind {piece:?}");
    }
}
