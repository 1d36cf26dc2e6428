use serde_json::json;

use super::*;

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "é \u{1f600}", "parameters": {"type": "object"}}})
}

#[test]
fn a_request_is_the_same_whether_its_tools_are_known_or_not() {
    let lists = Lists::default();
    let messages = json!([{"role": "user", "content": "Hi"}]);
    for body in [
        json!({"model": "m", "messages": messages, "tools": [tool("a"), tool("b")], "stream": true, "x": [1.5]}),
        json!({"tools": [tool("a")], "model": "m", "messages": messages}),
        json!({"tools": [], "model": "m", "messages": messages}),
        json!({"tools": null, "model": "m", "messages": messages, "tool_choice": "auto"}),
        json!({"model": "m", "messages": messages}),
    ] {
        let expected = ChatRequest::from_value(body.clone()).unwrap();
        for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap(), body.to_string()] {
            let parsed = ChatRequest::parse(text.as_bytes(), &lists).unwrap();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(serde_json::to_string(&parsed).unwrap(), serde_json::to_string(&expected).unwrap());
        }
    }
}

#[test]
fn of_a_field_that_is_there_twice_the_last_counts() {
    let body = format!(r#"{{"model":"m","tools":[{}],"messages":[],"tools":[{}]}}"#, tool("a"), tool("b"));
    let expected = ChatRequest::from_value(serde_json::from_str(&body).unwrap()).unwrap();
    let parsed = ChatRequest::parse(body.as_bytes(), &Lists::default()).unwrap();
    assert_eq!((&*parsed.tools, &parsed), ([tool("b")].as_slice(), &expected));
}

#[test]
fn half_an_emoji_in_a_tool_is_a_mark_however_often_it_is_sent() {
    let lists = Lists::default();
    let body = br#"{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"a","description":"\ud83d"}}]}"#;
    for _ in 0..2 {
        let parsed = ChatRequest::parse(body, &lists).unwrap();
        assert_eq!(parsed.tools[0]["function"]["description"], "\u{fffd}");
    }
}

#[test]
fn wrong_tools_are_wrong_at_their_place_in_the_body() {
    let lists = Lists::default();
    for _ in 0..2 {
        for (body, what) in [
            (r#"{"model":"m","messages":[],"tools":{}}"#, "`tools` must be an array"),
            (r#"{"model":"m","messages":[],"tools":[1e999]}"#, "at line 1 column 41"),
            ("{\"model\":\"m\",\n\"tools\":[1,]}", "at line 2 column 12"),
            (r#"{"model":"m","messages":[],"tools":"#, "EOF while parsing a value at line 1 column 35"),
            ("[1]", "a JSON object"),
        ] {
            let error = ChatRequest::parse(body.as_bytes(), &lists).unwrap_err();
            assert!(error.status == 400 && error.message.contains(what), "{body}: {error}");
        }
    }
}
