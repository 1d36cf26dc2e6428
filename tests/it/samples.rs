//! Every adapter against itself: calls written in the family's own form are read back as the same calls, alone and in a row,
//! with prose before and after, at every cut; and none of it is a call where a document shows it.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Map, Value, json};
use toolglot::{
    adapter::{Adapter, Written, scanner},
    event::{FinishReason, Tool, ToolChoice, Tools},
};

use crate::{
    effort,
    properties::run_with,
    seen::{Seen, library},
};

fn tools() -> Arc<Tools> {
    static TOOLS: OnceLock<Arc<Tools>> = OnceLock::new();
    Arc::clone(TOOLS.get_or_init(|| Arc::new(offered())))
}

fn offered() -> Tools {
    let write = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "line": {"type": "integer"}, "force": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}}, "options": {"type": "object", "properties": {
            "mode": {"type": "string"}, "depth": {"type": "integer"}}}}, "required": ["path"]});
    let list = json!({"type": "object", "properties": {}});
    Tools::new([Tool::new("write_file", "", write.to_string()), Tool::new("list_files", "", list.to_string())], ToolChoice::Auto)
}

fn call(name: &str, arguments: Value) -> Written {
    let Value::Object(arguments) = arguments else { return Written::default() };
    Written { name: name.to_owned(), id: Some("a1B2c3D4e".into()), arguments }
}

/// What is written: a label and the calls.
fn samples(adapter: &Adapter) -> Vec<(String, Vec<Written>)> {
    let marker = adapter.markers().into_iter().find(|marker| marker.len() > 3).unwrap_or_default();
    let one = |label: &str, arguments: Value| (label.to_owned(), vec![call("write_file", arguments)]);
    vec![
        one("single", json!({"path": "src/main.rs", "content": "fn main() {}", "line": 3, "force": true})),
        one("unicode", json!({"path": "økonomi/東京.txt", "content": "🌍 ünïcode"})),
        one("nested", json!({"path": "a", "tags": ["x", "y z"], "options": {"mode": "fast", "depth": 2}})),
        one("quotes", json!({"path": "a b/c.txt", "content": "say \"hi\" & it's <b>bold</b>"})),
        one("lines", json!({"path": "x", "content": "first\n\n  second\n}\n]"})),
        one("a marker inside", json!({"path": "x", "content": format!("write {marker} here")})),
        one("empty values", json!({"path": "", "tags": [], "options": {}})),
        ("no arguments".into(), vec![call("list_files", json!({}))]),
        (
            "parallel".into(),
            vec![
                call("write_file", json!({"path": "one"})),
                call("list_files", json!({})),
                call("write_file", json!({"path": "two"})),
            ],
        ),
    ]
}

fn expected(calls: &[Written]) -> Vec<(String, Map<String, Value>)> {
    calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect()
}

fn found(seen: &Seen) -> Vec<(String, Map<String, Value>)> {
    seen.calls().into_iter().map(|(name, arguments)| (name, serde_json::from_str(&arguments).unwrap())).collect()
}

fn read(adapter: &Arc<Adapter>, pieces: &[&str]) -> Seen {
    run_with(adapter, &scanner::Options::default(), pieces.iter().copied(), FinishReason::Stop, tools())
}

/// The calls in the family's own form, and whether that has a marker; bare JSON where it has none that can carry them.
fn written(adapter: &Adapter, calls: &[Written]) -> (String, bool) {
    let marked = adapter.framing.recipient.is_some()
        || adapter.calls.first().is_some_and(|form| !form.open.is_empty() || !form.section.is_empty());
    match adapter.write(calls) {
        Some(text) => (text, marked),
        None => {
            let json = |call: &Written| json!({"name": call.name, "arguments": call.arguments}).to_string();
            (calls.iter().map(json).collect::<Vec<_>>().join("\n"), false)
        }
    }
}

#[test]
fn what_is_written_in_a_family_s_form_is_read_back() {
    let adapters: Vec<_> = library().iter().collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(adapter) = adapters.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = read_back(adapter);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

/// What is not read back as it was written.
fn read_back(adapter: &Arc<Adapter>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for (label, calls) in samples(adapter) {
        let (text, marked) = written(adapter, &calls);
        // Without a marker a call is at the start or at the end; which of them is the form's own affair.
        for (place, whole, said) in [
            ("alone", text.clone(), ""),
            ("after prose", format!("Let me do that.\n\n{text}"), "Let me do that."),
            ("before an invented result", format!("{text}\n\nThe file was written."), ""),
        ] {
            if place != "alone" && !marked {
                continue;
            }
            let seen = read(adapter, &[&whole]);
            if found(&seen) != expected(&calls) || (place == "after prose" && seen.text().trim_end() != said) {
                wrong.push(format!(
                    "{}: {label}, {place}: {whole:?}\n    read as {:?}, text {:?}",
                    adapter.name,
                    seen.calls(),
                    seen.text()
                ));
                continue;
            }
            // All cuts of the call itself, where no earlier sample begins alike; of the others, and usually, a part of them.
            let alike = before.iter().map(|before| common(before, &whole)).max().unwrap_or(0);
            let (is_thorough, every) = effort::of((false, 61), (true, 7));
            let some = |cut: usize| (is_thorough && place == "alone" && cut > alike) || cut % every == label.len() % every;
            for cut in (1..whole.len()).filter(|&cut| whole.is_char_boundary(cut) && some(cut)) {
                if read(adapter, &[&whole[..cut], &whole[cut..]]) != seen {
                    wrong.push(format!("{}: {label}, {place}: differs when cut at {cut}: {whole:?}", adapter.name));
                    break;
                }
            }
        }
        before.push(text);
    }
    wrong
}

/// How many bytes two texts begin with alike.
fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// Around the whole answer, a fence or inline code is framing. With prose after it the same call is an example.
#[test]
fn a_wrap_around_the_whole_answer_is_framing() {
    let mut wrong = Vec::new();
    for adapter in library().iter() {
        let calls = vec![call("write_file", json!({"path": "src/main.rs", "line": 3}))];
        let (text, _) = written(adapter, &calls);
        // A token that is never content shows no call, in code or elsewhere.
        let begins =
            |marker: &String| !adapter.framing.drop.contains(marker) && !marker.is_empty() && text.starts_with(marker.as_str());
        if !adapter.calls.first().is_some_and(|form| form.section.iter().chain(&form.open).any(begins)) {
            continue;
        }
        let one_line = !text.contains(['\n', '`']);
        for (open, close, possible) in [
            ("```xml\n", "\n```", !text.contains("```")),
            ("~~~\r\n", "\r\n~~~\r\n", !text.contains("~~~")),
            ("`", "`", one_line),
            ("``", "``\n", one_line),
        ] {
            let whole = format!("{open}{text}{close}");
            let seen = read(adapter, &[&whole]);
            if possible && (found(&seen) != expected(&calls) || !seen.text().trim().is_empty()) {
                wrong.push(format!("{}: {whole:?}\n    {:?}, text {:?}", adapter.name, seen.calls(), seen.text()));
            }
            let example = format!("{whole} is how it is written.");
            let options = scanner::Options { framing: false, ..scanner::Options::default() };
            let seen = run_with(adapter, &options, [example.as_str()], FinishReason::Stop, tools());
            if possible && (!seen.calls().is_empty() || seen.text() != example) {
                wrong.push(format!("{}: {example:?}\n    {:?}, text {:?}", adapter.name, seen.calls(), seen.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

#[test]
fn a_call_is_held_beyond_what_is_held_of_unknown_names() {
    let mut wrong = Vec::new();
    for adapter in library().iter() {
        let calls = vec![call("write_file", json!({"path": "notes.txt", "content": "one more line of text\n".repeat(200)}))];
        let Some(text) = adapter.write(&calls) else { continue };
        let options = scanner::Options { held_bytes: 400, ..scanner::Options::default() };
        let pieces: Vec<String> = text.chars().collect::<Vec<char>>().chunks(5).map(|piece| piece.iter().collect()).collect();
        let seen = run_with(adapter, &options, pieces.iter().map(String::as_str), FinishReason::Stop, tools());
        if found(&seen).len() != 1 || found(&seen)[0].1["path"] != calls[0].arguments["path"] {
            wrong.push(format!("{}: {:?} gave {:?}", adapter.name, &text[..text.len().min(80)], seen.calls()));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_call_that_is_cut_off_is_never_delivered() {
    let mut wrong = Vec::new();
    for adapter in library().iter() {
        let calls =
            vec![call("write_file", json!({"path": "src/main.rs", "content": "fn main() {\n    run(\"x\");\n}", "line": 12}))];
        let (text, _) = written(adapter, &calls);
        for cut in (1..text.len()).step_by(effort::of(5, 1)).filter(|&cut| text.is_char_boundary(cut)) {
            let options = scanner::Options::default();
            let seen = run_with(adapter, &options, [&text[..cut]], FinishReason::Length, tools());
            if !seen.calls().is_empty() && found(&seen) != expected(&calls) {
                wrong.push(format!("{}: cut at {cut}: {:?} gave {:?}", adapter.name, &text[..cut], seen.calls()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}
