//! A model that neither its name nor its template tells shows its family by a marker that no other family writes.

use super::{library, read_with};
use crate::{
    adapter::write::Written,
    effort,
    event::{Tool, ToolChoice, Tools},
};

fn tools() -> Tools {
    let schema = r#"{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place"]}"#;
    Tools::new([Tool::new("forecast", "Tells the weather.", schema)], ToolChoice::Auto)
}

#[test]
fn an_unknown_model_is_read_as_the_family_that_it_shows() {
    let serde_json::Value::Object(arguments) = serde_json::json!({"place": "Turku", "days": 2}) else { unreachable!() };
    let call = [Written { name: "forecast".to_owned(), id: None, arguments }];
    let mut shown = 0;
    for adapter in library().iter() {
        let Some(text) =
            adapter.write(&call).filter(|text| adapter.signs.markers.iter().any(|marker| text.starts_with(marker.as_str())))
        else {
            continue;
        };
        shown += 1;
        for text in [text.clone(), format!("Let me look.\n{text}")] {
            let seen = read_with(tools(), "generic", false, &text);
            let calls: Vec<_> = seen.all_calls().filter(|call| call.whole).map(ToString::to_string).collect();
            let known = read_with(tools(), &adapter.name, false, &text);
            assert_eq!(calls, known.all_calls().map(ToString::to_string).collect::<Vec<_>>(), "{}: {text}", adapter.name);
            assert_eq!((calls.len(), seen.text()), (1, known.text()), "{}: {text}", adapter.name);
        }
    }
    assert!(shown > 15, "{shown}");
}

#[test]
fn a_model_of_one_family_is_read_as_another_that_it_shows() {
    let serde_json::Value::Object(arguments) = serde_json::json!({"place": "Turku", "days": 2}) else { unreachable!() };
    let call = [Written { name: "forecast".to_owned(), id: None, arguments }];
    let shows = |adapter: &crate::adapter::Adapter, text: &str| {
        adapter.signs.markers.iter().any(|marker| text.starts_with(marker.as_str()))
    };
    let forms: Vec<String> =
        library().iter().filter_map(|adapter| adapter.write(&call).filter(|text| shows(adapter, text))).collect();
    for (number, adapter) in library().iter().enumerate() {
        let every = effort::of(4, 1);
        // Markers of its own are read in its own way.
        for text in forms.iter().skip(number % every).step_by(every).filter(|text| {
            !adapter
                .own()
                .iter()
                .flat_map(|own| own.open.iter().chain(&own.section))
                .any(|own| !own.is_empty() && text.starts_with(own.as_str()))
        }) {
            for text in [text.clone(), format!("I look.\n\n{text}")] {
                let seen = read_with(tools(), &adapter.name, false, &text);
                let calls: Vec<_> = seen.all_calls().filter(|call| call.whole).map(|call| call.name.clone()).collect();
                assert_eq!(calls, ["forecast"], "{}: {text}", adapter.name);
                assert!(["", "I look."].contains(&seen.text().trim()), "{}: {text}: {}", adapter.name, seen.text());
            }
        }
    }
}

#[test]
fn reasoning_of_an_unknown_model_is_no_text() {
    for text in [
        "[THINK]Hm.[/THINK]Hello.",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
    ] {
        let seen = read_with(tools(), "generic", false, text);
        assert_eq!((seen.text().as_str(), seen.reasoning().as_str()), ("Hello.", "Hm."), "{text}");
    }
}

#[test]
fn markers_in_reasoning_show_nothing() {
    for marker in ["<|channel|>analysis<|message|>", "[TOOL_CALLS]", "<|START_ACTION|>"] {
        let text = format!("<think>\nIt writes\n{marker}\nHm.\n</think>\nHello.");
        let seen = read_with(tools(), "hermes", false, &text);
        assert_eq!((seen.text().trim(), seen.all_calls().count()), ("Hello.", 0), "{text}: {seen:?}");
    }
}

#[test]
fn a_marker_that_is_only_spoken_of_shows_nothing() {
    for text in [
        "The tokens <|channel|> and <|message|> divide messages, <|end|> ends them.",
        "It writes `[TOOL_CALLS]` first, then <|end|>.",
        "```\n<|start|>assistant<|channel|>final<|message|>\n```\nThat is <|end|>.",
    ] {
        let seen = read_with(tools(), "generic", false, text);
        assert_eq!((seen.text().as_str(), seen.all_calls().count()), (text, 0));
    }
}

#[test]
fn no_two_families_are_shown_by_one_marker() {
    let mut all: Vec<(&str, &str)> = library()
        .iter()
        .flat_map(|adapter| adapter.signs.markers.iter().map(|marker| (marker.as_str(), adapter.name.as_str())))
        .collect();
    all.sort_unstable();
    let twice: Vec<_> = all.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn a_marker_after_a_whole_sentence_is_the_models_own() {
    let calls = [
        "[TOOL_CALLS]forecast[ARGS]{\"place\": \"Turku\"}",
        "<|tool_call>call:forecast{place:<|\"|>Turku<|\"|>}<tool_call|>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>forecast<｜tool▁sep｜>{\"place\": \"Turku\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<|tool_call_start|>[forecast(place=\"Turku\")]<|tool_call_end|>",
    ];
    for call in calls {
        for lead in ["I look it up now.", "Okay:", "Sure!"] {
            let seen = read_with(tools(), "hermes", false, &format!("{lead} {call}"));
            let names: Vec<_> = seen.all_calls().map(|call| call.name.clone()).collect();
            assert_eq!((names.as_slice(), seen.text()), (&["forecast".to_owned()][..], lead.to_owned()), "{lead} {call}");
        }
    }
}

#[test]
fn tokens_that_a_sentence_or_code_shows_are_content() {
    for (adapter, answer) in [
        ("lfm2", "let raw = r#\"<|tool_call_start|>[forecast(place='x')]<|tool_call_end|>\"#;\nassert!(parse(raw));"),
        (
            "deepseek-v3.1",
            "The tokens <｜tool▁calls▁begin｜>, <｜tool▁call▁begin｜>, <｜tool▁sep｜>, <｜tool▁call▁end｜>, mark calls.",
        ),
        ("gemma4", "Gemma quotes strings with <|\"|> and closes a call with <tool_call|>."),
        ("gpt-oss", "A call ends with \"<|call|>\" and a message ends with \"<|end|>\"."),
    ] {
        assert_eq!(read_with(tools(), adapter, false, answer).text(), answer, "{adapter}");
    }
    // Leaked ones are not.
    assert_eq!(read_with(tools(), "gemma4", false, "It is warm. <tool_call|>").text().trim_end(), "It is warm.");
    assert_eq!(read_with(tools(), "hermes", false, "It is warm. <|im_end|>").text().trim_end(), "It is warm.");
}
