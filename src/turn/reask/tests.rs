use super::*;
use crate::event::{FinishReason, ToolChoice};

fn tools() -> Tools {
    let schema = r#"{"type":"object","properties":{"uri":{"type":"string","description":"Where it is"},"line":{"type":"integer"}},"required":["uri"]}"#;
    let job = r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#;
    Tools::new(
        [
            Tool::new("read_file", "", schema),
            Tool::new("huge", "", format!("{{\"description\":\"{}\"}}", "x".repeat(5000))),
            Tool::new("run_command", "", job),
        ],
        ToolChoice::Auto,
    )
}

fn again(name: &str, why: Why, raw: &str, said: &str) -> [Message; 2] {
    messages(name, &why, raw, said, &tools(), None, 3)
}

#[test]
fn a_whole_object_is_shown_as_the_call_that_it_was() {
    let [asked, told] = again("read_file", Why::Schema("`line` is no number".into()), r#"{"uri":"a","line":"x"}"#, "Reading.");
    assert_eq!((asked.role.as_str(), asked.content.to_text().as_str()), ("assistant", "Reading."));
    assert_eq!(asked.tool_calls[0].arguments, r#"{"uri":"a","line":"x"}"#);
    assert_eq!((told.role.as_str(), told.tool_call_id.as_ref()), ("tool", Some(&asked.tool_calls[0].id)));
    let text = told.content.to_text();
    for part in ["read_file", "`line` is no number", r#""required":["uri"]"#] {
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
fn a_call_that_was_not_announced_may_be_left_out() {
    let [_, told] = again("read_file", Why::Unannounced(String::new()), r#"{"uri":"a"}"#, "So sieht er aus:");
    let text = told.content.to_text();
    assert!(text.ends_with("If it is, write only the call; if not, answer without it."), "{text}");
}

#[test]
fn a_missing_key_is_named_with_what_it_is() {
    let [_, told] = again("read_file", Why::Schema("`uri` is missing".into()), r#"{"line": 3}"#, "");
    let text = told.content.to_text();
    assert!(text.contains("Missing: `uri` (Where it is).") && !text.contains("\"required\""), "{text}");
}

#[test]
fn a_name_that_nobody_knows_is_answered_with_those_that_there_are() {
    let uri = r#"{"uri":"a.rs"}"#;
    for (written, raw, first, meant) in [
        ("reed_file", uri, "read_file", r#"{"name": "read_file", "arguments": {"uri":"a.rs"}}"#),
        ("run_tests", r#"{"command":"make"}"#, "run_command", r#"{"name": "run_command", "arguments": {"command":"make"}}"#),
        // What it needs was not given, and what was given may be meant for any of them.
        ("run_tests", "{}", "run_command", ""),
        ("git", uri, "read_file", ""),
    ] {
        let [_, told] = again(written, Why::UnknownTool(String::new()), raw, "");
        let text = told.content.to_text();
        assert!(text.contains(&format!("The tools are: {first}, ")) && text.contains(meant), "{text}");
        assert_eq!(text.contains("Did you mean"), !meant.is_empty(), "{text}");
        let program = " If git is a program, run it with run_command: its `command` is the whole command line. Call one";
        assert_eq!(text.contains(program), written == "git", "{text}");
        assert!(tools().iter().all(|tool| text.contains(&tool.name)) && !text.contains("..."), "{text}");
    }
}

#[test]
fn a_huge_schema_is_not_quoted() {
    let [_, told] = again("huge", Why::NotAnObject, "[]", "");
    assert!(told.content.to_text().len() < 300);
}

#[test]
fn a_conversation_in_the_clients_form_stays_in_it() {
    let form = Some(shape::Kind::Void);
    let make = r#"{"command":"make"}"#;
    let [asked, told] = messages("run_tests", &Why::UnknownTool(String::new()), make, "I test it.", &tools(), form, 3);
    assert!(asked.tool_calls.is_empty() && told.tool_call_id.is_none());
    assert!(asked.content.to_text().ends_with("I test it.\n<run_tests>\n<command>make</command>\n</run_tests>"), "{asked:?}");
    let text = told.content.to_text();
    assert!(text.contains("<run_command>\n<command>\nmake\n</command></run_command>"), "{text}");
    let [asked, _] = messages("read_file", &Why::Schema("no".into()), r#"{"uri":"a"}"#, "", &tools(), form, 3);
    assert_eq!(asked.content.to_text(), "<read_file>\n<uri>\na\n</uri></read_file>");
}

#[test]
fn a_call_that_was_not_closed_is_shown_in_the_clients_form() {
    let form = Some(shape::Kind::Void);
    let cut = Why::Truncated(FinishReason::Stop);
    for (raw, shown) in
        [("{\"", "<run_command>"), ("", "<run_command>"), (r#"{"command":"make" "#, "<run_command>\n<command>\nmake\n</command>")]
    {
        let [asked, told] = messages("run_command", &cut, raw, "", &tools(), form, 3);
        assert_eq!(asked.content.to_text(), shown, "{raw}");
        let text = told.content.to_text();
        assert!(text.contains("</run_command>") && !text.contains('{'), "{text}");
    }
    let [_, told] = messages("read_file", &Why::Schema("no".into()), r#"{"uri":1}"#, "", &tools(), form, 3);
    assert!(told.content.to_text().contains("`uri`, `line` (optional)"), "{told:?}");
}

#[test]
fn the_model_is_asked_to_use_its_results_after_them() {
    let results = |asked: &str| vec![Message::text("user", asked), Message::text("tool", "11.5 days\n")];
    let told = |asked: &str, offers: bool| {
        let mut messages = results(asked);
        wrap_up(&mut messages, offers);
        // Where a result is a user's message, so is this; the question stays the user's.
        tell(&mut messages, GO_ON);
        wrap_up(&mut messages, offers);
        assert_eq!(
            (messages.len(), messages[1].content.to_text().as_str(), messages[2].role.as_str()),
            (3, "11.5 days\n", "user")
        );
        messages[2].content.to_text()
    };
    let answer = "You have this result. Answer my question with it: How many?";
    assert_eq!(told("How many?", false), format!("{answer}\n\n{GO_ON}\n\n{answer}"));
    assert!(told("How many?", true).ends_with("with it, or call another tool if something is missing: How many?"));
    for long in ["x".repeat(QUESTION_BYTES + 1), " ".into()] {
        assert!(told(&long, false).ends_with("You have this result. Answer with it."));
    }
}

/// Tools whose names a backend cannot take, and a tool of a server.
fn renamed(choice: ToolChoice) -> Tools {
    let schema = r#"{"properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let tool = |name: &str, wire: &str| Tool { wire_name: wire.to_owned(), ..Tool::new(name, "", schema) };
    let list = |name: &str| Tool {
        origin: Origin::Registry { server: "store".into(), tool: name.to_owned() },
        ..Tool::new(format!("store__{name}"), "", "{}")
    };
    Tools::new([tool("fs.read", "fs_read"), tool("fs.write-x/y", "fs_write-x_y"), list("list"), list("look")], choice)
}

fn told(name: &str, why: Why, raw: &str, choice: ToolChoice) -> String {
    complaint(name, &why, raw, &renamed(choice), None)
}

#[test]
fn the_model_reads_the_names_that_it_was_offered() {
    let unknown = || Why::UnknownTool(String::new());
    let text = told("fs_raed", unknown(), r#"{"path":"x"}"#, ToolChoice::Auto);
    assert!(text.contains("The tools are: fs_read, fs_write-x_y, "), "{text}");
    assert!(text.contains(r#"{"name": "fs_read", "arguments": {"path":"x"}}"#) && !text.contains("fs.read"), "{text}");
    let text = told("fs.read", Why::Schema("no".into()), "{}", ToolChoice::Auto);
    assert!(text.starts_with("Error: the call of fs_read was not run: "), "{text}");
    // In the client's own prompt they have the client's names.
    let text = complaint("fs.read", &Why::Schema("no".into()), "{}", &renamed(ToolChoice::Auto), Some(shape::Kind::Void));
    assert!(text.starts_with("Error: the call of fs.read was not run: "), "{text}");
}

#[test]
fn no_call_is_suggested_that_means_something_else() {
    let unknown = || Why::UnknownTool(String::new());
    for (name, raw) in [
        // Only the server is the same.
        ("store__wipe", r#"{"what":"a"}"#),
        ("store__wipe", "{}"),
        // An argument would be lost.
        ("fs_raed", r#"{"path":"x","line":3}"#),
        ("list_things", r#"{"path":"x"}"#),
    ] {
        let text = told(name, unknown(), raw, ToolChoice::Auto);
        assert!(!text.contains("Did you mean") && text.contains("store__list"), "{name} {raw}: {text}");
    }
}

#[test]
fn a_model_that_must_call_is_not_told_to_answer_without() {
    let unknown = || Why::UnknownTool(String::new());
    let text = told("fly", unknown(), "{}", ToolChoice::Required);
    assert!(text.ends_with("Call one of these tools."), "{text}");
    let text = told("", unknown(), "{}", ToolChoice::Auto);
    assert!(text.starts_with("Error: the call has no name. The tools are: "), "{text}");
    assert!(text.ends_with(". Call one of these tools, or answer without a tool."), "{text}");
}
