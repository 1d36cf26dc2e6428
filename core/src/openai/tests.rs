use serde_json::json;

use super::*;

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "é \u{1f600}", "parameters": {"type": "object"}}})
}

#[test]
fn of_a_field_that_is_there_twice_the_last_counts() {
    let body = format!(r#"{{"model":"m","tools":[{}],"messages":[],"tools":[{}]}}"#, tool("a"), tool("b"));
    let expected = ChatRequest::from_value(serde_json::from_str(&body).unwrap()).unwrap();
    let parsed = ChatRequest::parse(body.as_bytes()).unwrap();
    assert_eq!((&*parsed.tools, &parsed), ([tool("b")].as_slice(), &expected));
}

#[test]
fn half_an_emoji_in_a_tool_is_a_mark() {
    let body = br#"{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"a","description":"\ud83d"}}]}"#;
    let parsed = ChatRequest::parse(body).unwrap();
    assert_eq!(parsed.tools[0]["function"]["description"], "\u{fffd}");
}

#[test]
fn wrong_tools_are_wrong_at_their_place_in_the_body() {
    for (body, what) in [
        (r#"{"model":"m","messages":[],"tools":{}}"#, "`tools` must be an array"),
        (r#"{"model":"m","messages":[],"tools":[1e999]}"#, "at line 1 column 41"),
        ("{\"model\":\"m\",\n\"tools\":[1,]}", "at line 2 column 12"),
        (r#"{"model":"m","messages":[],"tools":"#, "EOF while parsing a value at line 1 column 35"),
        ("[1]", "a JSON object"),
    ] {
        let error = ChatRequest::parse(body.as_bytes()).unwrap_err();
        assert!(error.status == 400 && error.message.contains(what), "{body}: {error}");
    }
}
