//! The cells of the table (`scanner::verdict`) as answers: what becomes of a call in each place.

use super::{
    Arc, Channel, FinishReason, Item, MayAsk, Options, Scanner, Seen, Tool, ToolChoice, Tools, library, schemas, text, written,
};
use crate::event::Effect;

const CALL: &str = "{\"name\": \"wipe\", \"arguments\": {\"path\": \"a.db\"}}";
const MARKED: &str = "<tool_call>\n{\"name\": \"wipe\", \"arguments\": {\"path\": \"a.db\"}}\n</tool_call>";

fn read_with(effect: Effect, choice: ToolChoice, may_ask: MayAsk, answer: &str, reason: FinishReason) -> Seen {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer"}},"required":["path"]}"#;
    let tools = Arc::new(Tools::new([Tool { effect, ..Tool::new("wipe", "", schema) }], choice));
    let run = |pieces: &mut dyn Iterator<Item = &str>| {
        let options = Options { may_ask, ..Options::default() };
        let mut scanner =
            Scanner::new(Arc::clone(library().get("qwen2.5-coder").unwrap()), Arc::clone(&tools), schemas(), options);
        let mut seen = Seen::default();
        pieces.for_each(|piece| scanner.push(Channel::Content, piece, &mut seen));
        scanner.finish(reason, &mut seen);
        seen
    };
    let whole = run(&mut std::iter::once(answer));
    assert_eq!(run(&mut answer.split("").filter(|piece| !piece.is_empty())), whole, "{answer:?} in single characters");
    whole
}

fn read(may_ask: MayAsk, answer: &str) -> Seen {
    read_with(Effect::Writes, ToolChoice::Auto, may_ask, answer, FinishReason::Stop)
}

/// The calls, and whether one was refused.
fn outcome(seen: &Seen) -> (usize, bool) {
    (written(seen).len(), seen.items.contains(&Item::Refused))
}

fn is_call(answer: &str) {
    for may_ask in [MayAsk::Now, MayAsk::NoLonger, MayAsk::Never] {
        assert_eq!(outcome(&read(may_ask, answer)), (1, false), "{answer}");
    }
}

/// `else_calls`: how many calls there are if nobody can be asked.
fn is_asked_about(answer: &str, else_calls: usize) {
    assert_eq!(outcome(&read(MayAsk::Now, answer)), (0, true), "{answer}");
    for may_ask in [MayAsk::NoLonger, MayAsk::Never] {
        assert_eq!(outcome(&read(may_ask, answer)), (else_calls, false), "{answer}");
    }
}

fn is_text(answer: &str) {
    for may_ask in [MayAsk::Now, MayAsk::Never] {
        assert_eq!(read(may_ask, answer).items, text(answer).items, "{answer}");
    }
}

/// source: spec core, section 2.
#[test]
fn an_unmarked_call_that_fits() {
    is_call(CALL);
    is_call(&format!("I wipe it.\n\n{CALL}"));
    is_call(&format!("I wipe it.\n```json\n{CALL}\n```"));
    is_asked_about(&format!("{CALL}\nThis wipes the file."), 1);
    is_asked_about(&format!("I wipe it:\n{CALL}\nThis wipes the file."), 1);
    // A model that says that it does not mean the first one is not believed to mean the second.
    let twice = format!("{CALL}\nThis wipes the file.\n{CALL}\nThis wipes it again.");
    let asked = read(MayAsk::Now, &twice);
    assert_eq!((outcome(&asked), asked.text().contains(CALL)), ((0, true), true));
    assert_eq!(outcome(&read(MayAsk::Never, &twice)), (2, false));
    // Documentation is longer than a remark.
    is_text(&format!("{CALL}\n{}", "It is a form. ".repeat(40)));
    // Code is the end of the answer, or an example.
    is_text(&format!("So:\n```json\n{CALL}\n```\nThis wipes the file."));
    is_text(&format!("Write `{CALL}` for it."));
    is_text(&format!("> {CALL}\n\nsaid the log."));
    is_text(&format!("It is \"{CALL}\", nothing else."));
}

/// source: spec core, section 2.
#[test]
fn an_unmarked_call_that_does_not_fit() {
    let misfit = CALL.replace("\"a.db\"", "\"a.db\", \"depth\": \"deep\"");
    let lacks = CALL.replace("path", "file_to_wipe_now");
    for call in [misfit, lacks] {
        // What is wrong with it is the fixer's to say.
        assert_eq!(outcome(&read(MayAsk::Now, &call)), (1, false), "{call}");
        assert_eq!(read(MayAsk::Never, &call).items, text(&call).items, "{call}");
        is_text(&format!("{call}\nThat is the form."));
    }
    let unknown = CALL.replace("wipe", "burn");
    is_asked_about(&unknown, 0);
    is_text(&format!("I burn it.\n{unknown}"));
    is_text(&format!("{unknown}\nThat is the form."));
    is_text("{\"name\": \"burn\", \"arguments\": ");
    is_text(&CALL[..CALL.len() - 4]);
}

/// source: spec core, section 2.
#[test]
fn a_marked_call() {
    is_call(MARKED);
    is_call(&format!("I wipe it.\n{MARKED}\nThis wipes the file."));
    is_call(&format!("For example:\n{MARKED}\n{}", "It is a form. ".repeat(40)));
    is_text(&format!("```\n{MARKED}\n```\nThat is the form."));
    is_text(&format!("> {}", MARKED.replace('\n', "")));
    is_text(&format!("It is \"{}\" in one line.", MARKED.replace('\n', "")));
    is_text(&format!("It is `{}` in one line.", MARKED.replace('\n', "")));
    for unfit in [MARKED.replace("wipe", "burn"), MARKED.replace("path", "file_to_wipe_now")] {
        // The fixer and the gate ask.
        assert_eq!(outcome(&read(MayAsk::Now, &format!("{unfit}\nThat is it."))), (1, false), "{unfit}");
    }
}

/// source: spec core, section 2.
#[test]
fn a_tool_that_only_reads_is_not_asked_about_and_a_demanded_call_counts_anywhere() {
    let answer = format!("I look:\n{CALL}\nThis looks at the file.");
    let read_with = |effect, choice| read_with(effect, choice, MayAsk::Now, &answer, FinishReason::Stop);
    assert_eq!(outcome(&read_with(Effect::Reads, ToolChoice::Auto)), (1, false));
    assert_eq!(outcome(&read_with(Effect::Writes, ToolChoice::Required)), (1, false));
    assert_eq!(outcome(&read_with(Effect::Writes, ToolChoice::Auto)), (0, true));
}

/// source: spec core, section 2.
#[test]
fn a_limit_hides_what_would_follow() {
    let read = |answer: &str| read_with(Effect::Writes, ToolChoice::Auto, MayAsk::Now, answer, FinishReason::Length);
    assert_eq!(outcome(&read(CALL)), (1, false));
    let last = format!("I wipe it.\n{CALL}");
    assert_eq!(read(&last).items, text(&last).items);
    // Its arguments are whole, the call is not.
    assert_eq!(outcome(&read(MARKED.trim_end_matches("}\n</tool_call>"))), (0, true));
}

/// Texts of a fuzzer that made a reader of held calls slice backwards; shortened. source: own
#[test]
fn pieces_of_markers_in_any_order_are_read() {
    for (adapter, answer) in [
        (
            "generic",
            "<start_function_call>call:wipe{path:<escape>a<escape>}x<start_function_call>wipe{}<end_function_call>call:<call:wipe{}",
        ),
        (
            "inkling",
            "|{\"name\":\"wipe\"\"args\":}s<|content_invoke_tool_json|>{\"name\":\"w\"\"\":\"\"<|end_message|><|content_invoke_tool_json|>|{\"name\"}",
        ),
        (
            "longcat",
            "<{\"name\"\"wipe\"\"\":{\"a\"\"q\"}}_<longcat_tool_call>{\"name\"\"wipe\"</longcat_tool_call><longcat_tool_call>>{\"name\"\"wipe\"\"a\":\"\"}",
        ),
        (
            "minimax-m3",
            "[<invoke name=wipe</invoke>>]<]minimax[>[<invoke name=wipe>]<]minimax[>[</invoke>]<]minimax[>[<invoke name=wipe</invoke>",
        ),
    ] {
        let whole = super::read(adapter, false, answer);
        for at in (0..answer.len()).filter(|&at| answer.is_char_boundary(at)) {
            super::read(adapter, false, &answer[..at]);
        }
        assert_eq!(super::read(adapter, false, answer), whole);
    }
}
