use super::*;
use crate::event::{Tool, ToolChoice};

fn tools() -> Tools {
    let schema = r#"{"type":"object","required":["uri"]}"#;
    Tools::new([Tool::new("read_file", "", schema), Tool::new("huge", "", "x".repeat(5000))], ToolChoice::Auto)
}

fn again(name: &str, why: Why, raw: &str, said: &str) -> [Message; 2] {
    messages(&Reask { name: name.into(), why, raw: raw.into() }, said, &tools(), 3)
}

#[test]
fn a_whole_object_is_shown_as_the_call_that_it_was() {
    let [asked, told] = again("read_file", Why::Schema("`uri` is missing".into()), r#"{"url":"a"}"#, "Reading.");
    assert_eq!((asked.role.as_str(), asked.content.to_text().as_str()), ("assistant", "Reading."));
    assert_eq!(asked.tool_calls[0].arguments, r#"{"url":"a"}"#);
    assert_eq!((told.role.as_str(), told.tool_call_id.as_ref()), ("tool", Some(&asked.tool_calls[0].id)));
    let text = told.content.to_text();
    for part in ["read_file", "`uri` is missing", r#""required":["uri"]"#] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(again("read_file", Why::NotAnObject, "{}", ""), again("read_file", Why::NotAnObject, "{}", ""), "a pure function");
}

#[test]
fn what_is_no_object_is_shown_as_the_text_that_it_was() {
    let [asked, told] = again("read_file", Why::Malformed("a brace".into()), r#"{"uri": "a"#, "Reading.");
    assert_eq!(asked.content.to_text(), "Reading.\n{\"uri\": \"a");
    assert!(asked.tool_calls.is_empty());
    assert_eq!(told.role, "user");
}

#[test]
fn a_name_that_nobody_knows_is_answered_with_those_that_there_are() {
    let [_, told] = again("reed", Why::UnknownTool(String::new()), "{}", "");
    assert!(told.content.to_text().contains("read_file, huge"));
}

#[test]
fn a_huge_schema_is_not_quoted() {
    let [_, told] = again("huge", Why::NotAnObject, "[]", "");
    assert!(told.content.to_text().len() < 300);
}
