//! The stage: what leaves it for what goes in.

use super::*;
use crate::event::{FinishReason, Tool, ToolChoice};

fn fixer() -> Fixer {
    let schema = r#"{"type":"object","properties":{"town":{"type":"string"},"nights":{"type":"integer"}},"required":["town"]}"#;
    let tools = Tools::new([Tool::new("book_room", "", schema), Tool::new("stop", "", "{}")], ToolChoice::Auto);
    Fixer::new(Arc::new(tools), Arc::new(Schemas::default()))
}

fn call<'a>(index: u32, name: &'a str, arguments: &'a str) -> Event<'a> {
    Event::Call(Call::new(index, name, arguments))
}

fn finish(reason: FinishReason) -> Event<'static> {
    Event::Finish { reason, usage: None }
}

fn run(fixer: &mut Fixer, events: Vec<Event<'_>>) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        fixer.event(event, &mut |event: Event<'_>| {
            lines.push(match event {
                Event::Call(Call { index, id, name, arguments, extra, cut: None }) => {
                    let extras: String = [id, extra].into_iter().flatten().map(|extra| format!(" {extra}")).collect();
                    format!("call {index} {name} {arguments}{extras}")
                }
                Event::Refused { name, why, raw, .. } => format!("refused {name} {why:?} {raw}"),
                Event::Text(text) => format!("text {text}"),
                Event::Finish { reason, .. } => format!("finish {}", reason.as_str()),
                other => format!("{other:?}"),
            });
        });
    }
    lines
}

#[test]
fn a_call_leaves_whole_with_its_resolved_name() {
    let written = Call::new(0, "functions.bookRoom", "{'town': 'Turku', 'nights': '2'}");
    let written = Event::Call(Call { id: Some("call_7"), extra: Some("opaque"), ..written });
    let mut fixer = fixer();
    assert_eq!(
        run(&mut fixer, vec![Event::Text("Booking."), written, finish(FinishReason::ToolCalls)]),
        ["text Booking.", "call 0 book_room {\"town\":\"Turku\",\"nights\":2} call_7 opaque", "finish tool_calls"]
    );
    let [checked] = fixer.checked() else { panic!("{:?}", fixer.checked()) };
    assert_eq!((checked.name.as_str(), checked.written.as_deref()), ("book_room", Some("functions.bookRoom")));
    assert_eq!(checked.report.verdict, Verdict::Coerced);
}

#[test]
fn refusals_leave_no_hole_in_the_numbers() {
    let events = vec![
        call(0, "book_room", "{\"town\":\"Turku\"}"),
        call(1, "book_room", "{\"nights\":2}"),
        call(2, "book_room", "{\"town\":\"Oulu\"}"),
    ];
    let lines = run(&mut fixer(), events);
    assert_eq!(lines[0], "call 0 book_room {\"town\":\"Turku\"}");
    assert!(lines[1].starts_with("refused book_room Schema("), "{lines:?}");
    assert!(lines[1].ends_with("{\"nights\":2}"));
    assert_eq!(lines[2], "call 1 book_room {\"town\":\"Oulu\"}");
}

#[test]
fn a_call_without_its_end_was_cut() {
    for (reason, arguments, refused) in [
        (FinishReason::Length, "{\"town\":\"Tur", true),
        (FinishReason::Stop, "{\"town\":\"Tur", true),
        (FinishReason::Length, "{\"town\":\"Turku\"", true),
        (FinishReason::Stop, "{\"town\":\"Turku\"", true),
        (FinishReason::Stop, "{\"town\":\"Turku\"}", false),
        (FinishReason::Length, "{\"town\":\"Turku\"}", false),
        (FinishReason::Length, "", true),
    ] {
        let cut = Call { cut: Some(reason), ..Call::new(0, "book_room", arguments) };
        let lines = run(&mut fixer(), vec![Event::Call(cut), finish(reason)]);
        assert_eq!(lines[0].starts_with("refused book_room Truncated"), refused, "{reason:?} {arguments:?} {lines:?}");
        assert_eq!(lines.last().unwrap(), &format!("finish {}", reason.as_str()));
    }
}

#[test]
fn unknown_names_pass_as_written() {
    let lines = run(&mut fixer(), vec![call(0, "bookTrain", "{from: 'Turku',}")]);
    assert_eq!(lines, ["call 0 bookTrain {\"from\":\"Turku\"}"]);
    let lines = run(&mut fixer(), vec![call(0, "bookTrain", "no arguments at all")]);
    assert!(lines[0].starts_with("refused bookTrain Malformed"), "{lines:?}");
}

#[test]
fn a_tool_without_parameters() {
    for source in ["", "{}", "null", " "] {
        let lines = run(&mut fixer(), vec![call(0, "stop", source)]);
        assert_eq!(lines, ["call 0 stop {}"], "{source:?}");
    }
}

#[test]
fn arguments_beyond_the_limit_are_not_repaired() {
    let mut fixer = Fixer { limit: 100, ..fixer() };
    let lines = run(&mut fixer, vec![call(0, "book_room", &format!("{{\"town\":\"{}\"}}", "x".repeat(200)))]);
    assert!(lines[0].starts_with("refused book_room TooLarge(100)"), "{lines:?}");
}

/// Collects what is logged, as text.
#[derive(Default)]
struct Log(std::sync::Mutex<String>);

impl tracing::field::Visit for &Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut visit = self;
        event.record(&mut visit);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn the_log_shows_no_values() {
    // With a single dispatcher, a thread that reaches a place of the code first decides for all threads whether it is logged.
    let _second = tracing::Dispatch::new(Log::default());
    for source in ["{'town': 'Turku'}", "{\"town\":\"Turku\",\"nights\":\"Turku\"}", "{\"town\":\"see \"Turku\"\"}"] {
        let log = Arc::new(Log::default());
        tracing::subscriber::with_default(Arc::clone(&log), || {
            run(&mut fixer(), vec![call(0, "book_room", source)]);
        });
        let text = log.0.lock().unwrap();
        assert!(text.contains("rule=") || text.contains("refused"), "{text}");
        assert!(!text.contains("Turku"), "{source}: {text}");
    }
}

#[test]
fn calls_and_names_are_counted() {
    let tally = Arc::new(Tally::default());
    let mut fixer = Fixer { tally: Arc::clone(&tally), ..fixer() };
    run(&mut fixer, vec![call(0, "functions.bookRoom", "{'town': 'Turku'}")]);
    run(&mut fixer, vec![call(1, "book_room", "{\"nights\": 2}")]);
    assert_eq!(tally.rules().collect::<Vec<_>>(), [("M1", 1), ("S5", 2)]);
    assert!(tally.verdicts().any(|counted| counted == ("refused", 1)));
}

#[test]
fn a_guess_is_asked_about_unless_the_tool_only_reads() {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
    let reads = Tool { effect: Effect::Reads, ..Tool::new("read", "", schema) };
    let tools = Arc::new(Tools::new([Tool::new("write", "", schema), reads], ToolChoice::Auto));
    let mut fixer = Fixer::new(tools, Arc::new(Schemas::default()));
    let events = vec![
        call(0, "write", r#"{"path":"C:\new\table.txt"}"#),
        call(1, "read", r#"{"path":"C:\new\table.txt"}"#),
        call(2, "write", r#"{"path":"C:\\new\\table.txt"}"#),
    ];
    let lines = run(&mut fixer, events);
    assert!(lines[0].starts_with("refused write Guess(") && lines[0].contains("/path"), "{lines:?}");
    let escaped = r#"{"path":"C:\\new\\table.txt"}"#;
    assert!(lines[0].ends_with(escaped), "{lines:?}");
    assert_eq!(lines[1..], [format!("call 0 read {escaped}"), format!("call 1 write {escaped}")]);
    // Where a value ends is a guess too; a conversion that the schema asks for is none.
    let written = [r#"{"path":"say "hi" now"}"#, r#"{"path":["a"}"#, r#"{"path":"a","path":"b"}"#, r#"{"path":7}"#];
    let sure = written.map(|written| run(&mut fixer, vec![call(3, "write", written)])[0].starts_with("call"));
    assert_eq!(sure, [false, false, false, true]);
}

#[test]
fn a_call_that_lost_a_value_is_asked_about_unless_its_tool_only_reads() {
    let schema = r#"{"type":"object","properties":{"town":{"type":"string"}},"required":["town"],"additionalProperties":false}"#;
    let asked = |effect: Effect, arguments: &str| {
        let tools = Tools::new([Tool { effect, ..Tool::new("raze", "", schema) }], ToolChoice::Auto);
        let lines = run(&mut Fixer::new(Arc::new(tools), Arc::default()), vec![call(0, "raze", arguments)]);
        lines[0].starts_with("refused raze Unsure(")
            && lines[0].contains("`dry_run`")
            && lines[0].ends_with(r#"{"town":"Turku"}"#)
    };
    let written = r#"{"town":"Turku","dry_run":true}"#;
    assert_eq!(Effect::ALL.map(|effect| asked(effect, written)), [false, true, true]);
    assert!(!asked(Effect::Writes, r#"{"town":"Turku","dry_run":null}"#));
}
