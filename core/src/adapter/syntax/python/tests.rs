use std::sync::Arc;

use crate::{
    adapter::{Scanner, scanner::Options},
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    seen::{Seen, library, schemas},
};

/// What an answer of this model holds, cut into pieces of so many bytes.
fn scan(model: &str, text: &str, piece: usize) -> Seen {
    let schema = r#"{"type":"object","properties":{"bed":{"type":"string"},"tags":{"type":"array"}},"required":["bed"]}"#;
    let tools = Tools::new([Tool::new("water_bed", "", schema), Tool::new("list_beds", "", "{}")], ToolChoice::Auto);
    let adapter = library().find(model, None).adapter;
    let mut scanner = Scanner::new(adapter, Arc::new(tools), schemas(), Options::default());
    let mut seen = Seen::default();
    for piece in text.as_bytes().chunks(piece) {
        scanner.push(Channel::Content, std::str::from_utf8(piece).unwrap(), &mut seen);
    }
    scanner.finish(FinishReason::Stop, &mut seen);
    seen
}

#[test]
fn code_and_prose_that_look_like_a_call_are_text() {
    for text in [
        "water_bed(bed) takes a bed.",
        "water_bed() needs a bed",
        "water_bed",
        "list_beds is a tool",
        "Call water_bed(bed=\"x\")",
        "[unknown(bed=\"x\")]",
        "beds = list_beds()",
        "[1, 2, 3]",
        "Beds are listed by\nprint(list_beds())",
        "[x](y)",
    ] {
        for piece in [1, 3, 1000] {
            let seen = scan("my-own-model", text, piece);
            assert_eq!((seen.text().as_str(), seen.all_calls().count()), (text, 0), "pieces of {piece}");
        }
    }
}

#[test]
fn a_call_that_is_the_whole_answer_counts() {
    for (text, calls) in [
        ("water_bed(bed=\"x\")", &["water_bed"][..]),
        ("water_bed(\"x\")\nlist_beds()\n", &["water_bed", "list_beds"]),
        ("water_bed({'bed': 'x'})", &["water_bed"]),
        ("[list_beds(), water_bed(bed='x')]", &["list_beds", "water_bed"]),
        ("functions.list_beds()", &["functions.list_beds"]),
        ("print(list_beds())", &["list_beds"]),
        ("```python\nwater_bed(bed=\"x\")\n```", &["water_bed"]),
        ("```\nwater_bed(bed=\"x\")\nlist_beds()\n```\n", &["water_bed", "list_beds"]),
        ("```tool_code\nb = list_beds()\nprint(b) \n```", &["list_beds"]),
        ("```tool_code\nprint(default_api.water_bed(bed='x'))\n```\n", &["default_api.water_bed"]),
    ] {
        for piece in [1, 3, 1000] {
            let seen = scan("gemma3", text, piece);
            let names: Vec<&str> = seen.all_calls().map(|call| call.name.as_str()).collect();
            assert_eq!(names, calls, "{text} in pieces of {piece}");
        }
    }
}

/// Written by hand or by a model that slipped: read alike however the text is cut.
#[test]
fn slips_in_python_are_mended_or_refused() {
    for (arguments, expected) in [
        ("bed='x', tags=['a',, 'b']", Some(r#"{"bed":"x","tags":["a","b"]}"#)),
        ("bed='x',, tags=['a']", Some(r#"{"bed":"x","tags":["a"]}"#)),
        ("bed='it's', tags=['x', None]", Some(r#"{"bed":"it's","tags":["x",null]}"#)),
        ("bed=' '', tags=['x', None]", None),
        ("bed='x', tags=['print('a')']", Some(r#"{"bed":"x","tags":["print('a')"]}"#)),
        ("bed=\"\"x\", tags=['y']", None),
        ("bed=x.txt'", None),
        (r"bed='print('a')\n', tags=['x']", Some(r#"{"bed":'print(\'a\')\n',"tags":["x"]}"#)),
        ("bed='a, b,, c'", Some(r#"{"bed":"a, b,, c"}"#)),
    ] {
        let text = format!("<function_calls>water_bed({arguments})</function_calls>");
        for piece in [1, 3, 1000] {
            let seen = scan("olmo-3:7b", &text, piece);
            let read: Vec<String> = seen.all_calls().filter(|call| call.whole).map(|call| call.arguments.clone()).collect();
            assert_eq!(read, expected.into_iter().map(str::to_owned).collect::<Vec<_>>(), "{text} in pieces of {piece}");
        }
    }
}
