//! Elements as small models write them where the client's prompt asks for elements: what the client would execute is a call,
//! repaired from the tool's parameters; what only mentions a tool is text.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    adapter::{
        Adapter, Scanner,
        scanner::{MayAsk, Options},
    },
    event::{Channel, Event, FinishReason, Tool, ToolChoice, Tools},
    fix::Fixer,
    seen::{Seen, library, schemas},
};

fn tools() -> Tools {
    let text = |required: &[&str], optional: &[(&str, &str)]| {
        let mut properties: serde_json::Map<String, Value> =
            required.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        properties.extend(optional.iter().map(|(key, kind)| ((*key).to_owned(), json!({"type": kind}))));
        json!({"type": "object", "properties": properties, "required": required}).to_string()
    };
    Tools::new(
        [
            Tool::new("open_note", "", text(&["note_path"], &[("from_line", "integer")])),
            Tool::new("run_job", "", text(&["command"], &[("folder", "string")])),
            Tool::new("find_text", "", text(&["query"], &[("is_regex", "boolean"), ("in_folder", "string")])),
            Tool::new("write_note", "", text(&["note_path", "body"], &[])),
            Tool::new("list_notes", "", text(&[], &[])),
            Tool::new("list_folder", "", text(&[], &[("folder_path", "string"), ("page", "integer")])),
        ],
        ToolChoice::Auto,
    )
}

fn adapter() -> Arc<Adapter> {
    library().find("my-own-model", None).adapter
}

/// What an answer holds where the client executes elements, cut into pieces of so many characters.
fn scan(text: &str, reason: FinishReason, piece: usize) -> Seen {
    let options = Options { elements: true, may_ask: MayAsk::Now, ..Options::default() };
    super::super::tests::scan(&adapter(), tools(), &options, text, reason, piece)
}

/// The calls of an answer, however it was cut.
fn calls(text: &str) -> Vec<(String, Value)> {
    let read = |piece: usize| {
        let seen = scan(text, FinishReason::Stop, piece);
        let calls = seen.calls().into_iter().map(|(name, json)| (name, serde_json::from_str(&json).unwrap_or_default()));
        (calls.collect::<Vec<(String, Value)>>(), seen.text(), seen.refused())
    };
    let whole = read(usize::MAX);
    for piece in [1, 2, 7] {
        assert_eq!(read(piece), whole, "{text:?} in pieces of {piece}");
    }
    whole.0
}

#[test]
fn a_careless_element_is_read_by_the_tools_parameters() {
    let note = || ("open_note", json!({"note_path": "a/b.md"}));
    let job = || ("run_job", json!({"command": "make all"}));
    let find = || ("find_text", json!({"query": "if a < b", "is_regex": false}));
    for (text, (name, arguments)) in [
        // As the prompt wants it.
        ("<open_note>\n<note_path>a/b.md</note_path>\n</open_note>", note()),
        // The body is the one parameter that the tool needs.
        ("<run_job>\nmake all\n</run_job>", job()),
        ("I build it.\n\n<run_job>make all</run_job>\n\nThis takes a while.", job()),
        ("<open_note>a/b.md</open_note>", note()),
        // Attributes.
        ("<find_text query=\"if a < b\" is_regex=\"false\"></find_text>", find()),
        ("<open_note note_path=\"a/b.md\"/>", note()),
        ("<open_note note_path='a/b.md' />\nDone.", note()),
        // Tags that are misspelt, missing or unclosed.
        ("<open_note>\n<notePath>a/b.md</notePath>\n</open_note>", note()),
        ("<open_note>\n<note_path>a/b.md\n</open_note>\nThat shows the note.", note()),
        // Tags of another form.
        ("<run_job>\n<parameter name=\"command\">make all</parameter>\n</run_job>", job()),
        ("<run_job>\n<parameter=command>make all</parameter>\n</run_job>", job()),
        ("<run_job>\n<parameter=command>\nmake all\n</parameter>\n</run_job>", job()),
        ("<open_note >\n<note_path>a/b.md</note_path>\n</open_note >", note()),
        // JSON inside of the tag.
        ("<find_text>\n{\"query\": \"if a < b\", \"is_regex\": false}\n</find_text>", find()),
        // Code fences, with prose around them.
        ("First:\n\n```xml\n<run_job>\n<command>make all</command>\n</run_job>\n```\n\nThat builds it.", job()),
        ("```xml\n<run_job>\nmake all\n</run_job>\n```", job()),
        ("```\n<run_job>\nmake all\n</run_job>\n```", job()),
        ("```shell\n<run_job>\nmake all\n</run_job>\n```\nDone.", job()),
        // No parameters.
        ("<list_notes>\n</list_notes>", ("list_notes", json!({}))),
        ("<list_notes/>", ("list_notes", json!({}))),
        ("<list_notes></list_notes> lists them.", ("list_notes", json!({}))),
        // A tool that needs nothing: a line is its first parameter.
        ("<list_folder>\nnotes/a\n</list_folder>", ("list_folder", json!({"folder_path": "notes/a"}))),
        ("<list_folder>\n<page>2</page>\n</list_folder>", ("list_folder", json!({"page": 2}))),
        ("<list_folder></list_folder>", ("list_folder", json!({}))),
        // The forms of the models count beside it.
        ("```json\n{\"name\": \"run_job\", \"arguments\": {\"command\": \"make all\"}}\n```", job()),
    ] {
        assert_eq!(calls(text), [(name.to_owned(), arguments)], "{text:?}");
    }
}

#[test]
fn a_mention_is_no_call() {
    for text in [
        "To run something I would use <run_job> with a command. Shall I?",
        "`<run_job>make all</run_job>` builds it.",
        "Use <open_note> for notes and <run_job> for jobs.\nBoth need one parameter.",
        "Call <run_job>make all</run_job> to build, or ask me.",
        "<run_job",
        "<run_job>",
        "Use <run-job> for jobs, <open\\_note> for notes.",
        "<div class=\"x\">\n<p>make all</p>\n</div>",
        "That is done by <list_notes>",
        "<list_folder>",
        "<list_folder>\n<page>",
        "<unknown>\nmake all\n</unknown>",
        "```rust\nlet a: Vec<run_job> = b;\n```",
        "```rust\nlet a = 1;\n<run_job>\nmake all\n</run_job>\n```",
    ] {
        assert_eq!(calls(text), [], "{text:?}");
    }
}

#[test]
fn an_element_of_another_name_is_text() {
    for text in
        ["<build_all>\n</build_all>", "<rename_note>\n<note_path>a.md</note_path>\n</rename_note>", "<div>\n<p>Hello</p>\n</div>"]
    {
        assert_eq!(scan(text, FinishReason::Stop, 3).text(), text);
    }
}

#[test]
fn what_was_cut_or_torn_does_not_run() {
    let write = "<write_note>\n<note_path>a.md</note_path>\n<body>\none\ntwo\n</body>\n</write_note>";
    assert_eq!(calls(write), [("write_note".to_owned(), json!({"note_path": "a.md", "body": "one\ntwo"}))]);
    // Not closed by the model: a further parameter may have been to come.
    for open in ["<run_job>\n<command>make all", "<run_job>\n<command>make all</command>"] {
        assert_eq!(calls(open), [], "{open:?}");
    }
    for end in 1..write.len() {
        let seen = scan(&write[..end], FinishReason::Length, usize::MAX);
        let complete = end >= write.len() - "</write_note>".len();
        assert!(complete || seen.calls().is_empty(), "{:?} ran as {seen:?}", &write[..end]);
    }
    for text in [
        "<list_folder>\nnotes/a\nnotes/b\n</list_folder>",
        // Which of the two is meant?
        "<write_note>\na.md\n</write_note>",
        // Tags inside of what would be the one parameter.
        "<run_job>\n<b class=\"x\">make all</b>\n</run_job>",
        "<run_job>\n<one>\n<two>make all</two>\n<three>x</three>\n</one>\n</run_job>",
        // A text of several lines that nothing closes.
        "<write_note>\n<note_path>a.md</note_path>\n<body>\none\ntwo\n</write_note>\nThat is the note.",
        "<write_note>\n<note_path>a.md</note_path>\n<note_path>b.md</note_path>\nx\n</write_note>",
    ] {
        let seen = scan(text, FinishReason::Stop, 3);
        assert!(seen.calls().is_empty() && seen.refused() == 1, "{text:?}: {seen:?}");
    }
}

/// Void executes an opening tag. Here the answer may have been cut off after it: the model is asked, and delivered if it ends so
/// again.
#[test]
fn elements_of_the_parameters_own_name_are_content() {
    let note = |body: &str| format!("<write_note>\n<note_path>a.md</note_path>\n<body>\n{body}\n</body>\n</write_note>");
    for body in ["<html><body>a</body></html>", "<p>\n<body>a</body>\n<body>b</body>\n<body>c</body></p>"] {
        assert_eq!(calls(&note(body)), [("write_note".to_owned(), json!({"note_path": "a.md", "body": body}))]);
    }
    // Two values of one parameter.
    let text = note("a</body>\n<body>b");
    assert_eq!(calls(&text), []);
}

#[test]
fn an_empty_value_with_a_tag_twice_is_asked_for_again() {
    let note = |body: &str| format!("<write_note>\n<note_path>a.md</note_path>\n{body}\n</write_note>");
    for body in ["<body></body></body>", "<body>\n</body>\n</body>"] {
        let text = note(body);
        assert_eq!((calls(&text), scan(&text, FinishReason::Stop, 5).refused()), (vec![], 1), "{text}");
    }
    for (body, value) in [("<body></body>", ""), ("<body>x</body></body>", "x")] {
        assert_eq!(calls(&note(body)), [("write_note".to_owned(), json!({"note_path": "a.md", "body": value}))]);
    }
}

#[test]
fn an_opening_tag_that_ends_the_answer_twice_is_the_call_of_a_tool_that_needs_nothing() {
    let again = |text: &str, told: &str, reason: FinishReason| {
        let (tools, schemas) = (Arc::new(tools()), schemas());
        let options = Options { elements: true, may_ask: MayAsk::Now, ..Options::default() };
        let mut scanner = Scanner::new(adapter(), Arc::clone(&tools), Arc::clone(&schemas), options);
        let (mut fixer, mut seen) = (Fixer::new(tools, schemas), Seen::default());
        fixer.unclosed = Some(told.to_owned());
        let mut out = |event: Event<'_>| fixer.event(event, &mut seen);
        scanner.push(Channel::Content, text, &mut out);
        scanner.finish(reason, &mut out);
        out(Event::Finish { reason, usage: None });
        seen.calls()
    };
    for (text, told, reason, calls) in [
        ("<list_folder>", "list_folder", FinishReason::Stop, 1),
        ("I look.\n```xml\n<list_notes>\n", "list_notes", FinishReason::Stop, 1),
        ("<list_folder>", "list_notes", FinishReason::Stop, 0),
        ("<list_folder>", "list_folder", FinishReason::Length, 0),
        ("<run_job>", "run_job", FinishReason::Stop, 0),
        ("<run_job>\n<command>make all</command>", "run_job", FinishReason::Stop, 1),
        // The command may not be all of it.
        ("<run_job>\n<command>make al", "run_job", FinishReason::Stop, 0),
        ("<run_job>\n<command>make all</", "run_job", FinishReason::Stop, 0),
        ("<write_note>\n<note_path>a.md</note_path>\n<body>one", "write_note", FinishReason::Stop, 0),
        ("<write_note>\n<note_path>a.md</note_path>\n<body>one <b>two</b>", "write_note", FinishReason::Stop, 0),
    ] {
        assert_eq!(again(text, told, reason).len(), calls, "{text:?} {reason:?}");
    }
}

#[test]
fn a_result_in_the_clients_form_is_data() {
    let call = "<run_job>\n<command>make all</command>\n</run_job>";
    let other = "<run_job>\n<command>make install</command>\n</run_job>";
    for (text, count) in [
        (format!("{call}\n<run_job_result>\n{other}\n</run_job_result>"), 1),
        (format!("{call}\n<open_note_result>\nok\n</open_note_result>\n{other}"), 1),
        (format!("{call}\n{other}"), 2),
        (format!("It said:\n<run_job_result>\n{other}\n</run_job_result>\nSo it is done."), 0),
        (format!("It said:\n<run_job_result>\nok\n</run_job_result>\nNow:\n{call}\nThen I look."), 1),
    ] {
        assert_eq!(calls(&text).len(), count, "{text}");
    }
}
