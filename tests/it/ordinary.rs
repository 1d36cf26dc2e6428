//! What must never run at Void: answers that speak of its tools, that break off in a call, that call what does not exist or
//! cannot be carried, with the notices that become of them, also after a refused call and in mode `shell`. Through the whole
//! path of an answer, in pieces of every kind, read by Void's own rules.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Value, json};
use toolglot::{
    adapter::{Adapter, Written, scanner},
    client::{
        self,
        shape::{Kind, Shape, shell::Shell},
    },
    config::{ShellForm, ShellVia},
    event::{Channel, Delta, Event, FinishReason, Origin, Tool, Tools},
    fix::Schemas,
    openai::ChatRequest,
    turn::answer::{Answer, Policy, Setup},
};

use crate::{
    effort,
    seen::{library, schemas},
    void as reader,
};

const REASONS: [FinishReason; 2] = [FinishReason::Stop, FinishReason::Length];

/// Void's tools, and one of a registry, as mode `shell` offers it.
fn tools() -> Tools {
    let body = json!({"model": "m", "messages": [{"role": "system", "content": reader::system_text()}]});
    let incoming = client::read(ChatRequest::from_value(body).unwrap(), &client::Hints::default()).unwrap();
    assert_eq!(incoming.shape, Kind::Void);
    let mut tools = incoming.tools;
    let ours = Origin::Registry { server: "db".into(), tool: "read_query".into() };
    tools
        .add(Tool { origin: ours, ..Tool::new("read_query", "", r#"{"type":"object","properties":{"sql":{"type":"string"}}}"#) });
    tools
}

/// A call in the form that most models write.
fn marked(name: &str, arguments: &Value) -> String {
    format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": arguments}))
}

/// The same in the form of a family.
fn own_form(adapter: &Adapter, name: &str, arguments: Value) -> String {
    let written = Written { name: name.to_owned(), id: None, arguments: arguments.as_object().unwrap().clone() };
    adapter.write(&[written]).unwrap_or_else(|| marked(name, &arguments))
}

/// Answers of which nothing may run, with what the client must be told; the numbers make each of them another one.
fn answers(number: usize) -> Vec<(String, &'static [FinishReason], &'static str)> {
    const STOP: &[FinishReason] = &[FinishReason::Stop];
    const LENGTH: &[FinishReason] = &[FinishReason::Length];
    let list = reader::TOOLS;
    let ((tool, _, parameters), (other, ..)) = (list[number % list.len()], list[(number * 7 + 3) % list.len()]);
    let first = parameters[0].0;
    let whole = json!({"name": tool, "arguments": {first: format!("/w/{number} <{other}> </{tool}>")}}).to_string();
    let half = |text: &str| text[..text.len() - 3 - number % 17].to_owned();
    let said = |text: String| (text, &REASONS[..], "");
    vec![
        said(format!("Use <{tool}> for {number}, then <{other}>.")),
        said(format!("```xml\n<{tool}>\n<{first}>/w/{number}</{first}>\n</{tool}>\n```\nThat is how {number} looks.")),
        said(format!("```\n<{tool}><{first}>{number}</{first}></{tool}>\n```\n\n`<{other}>` is the other one.")),
        said(format!("| tag | what it is |\n|---|---|\n| <{tool}> | reads {number} |\n| `<{other}>` | {number} |\n")),
        said(format!("Half of it, {number}: {}", half(&format!("<{tool}></{other}>-------------------")))),
        said(format!("> [toolglot] {tool} has not answered; <{tool}> was asked for {number} times\n\nI stop here.")),
        said(format!("Thought: <{tool}> is not needed for {number}.\nThought: nor is <{other}>.\nDone, all {number}.")),
        said(format!("Run it yourself:\n\n```shell\ntoolglot call {tool}-{number}\n```\n<{tool}> would do the same.")),
        said(format!("- <{tool}>\n  - <{other}>\n    1. `{tool}` {number}\n")),
        said(format!("fn f{number}(x: Vec<{tool}>) -> Option<{other}> {{ a < b && c > d }}")),
        // Cut off inside of a call.
        (half(&whole), LENGTH, ""),
        (format!("I'll do it.\n\n```json\n{}", half(&whole)), LENGTH, ""),
        (format!("Now <{other}>:\n<tool_call>\n{}", half(&whole)), LENGTH, "was not run: its arguments were cut off"),
        (format!("<{tool}>\n<{first}>\n/w/{number}"), LENGTH, ""),
        // Calls that are refused.
        (marked(&format!("unknown_{number}"), &json!({first: format!("<{tool}>")})), STOP, "no such tool is offered"),
        (marked(tool, &json!([format!("<{other}>"), number, 1, 2, 3, 4])), STOP, "not a JSON object"),
        (
            marked("rewrite_file", &json!({"uri": format!("/w/{number}"), "new_content": format!("<{tool}> </uri> <{other}>")})),
            STOP,
            "the client's form cannot carry it",
        ),
        (
            format!(
                "So <{tool}>:\n{}",
                marked("edit_file", &json!({"uri": "/w", "search_replace_blocks": format!("</uri>{number}")}))
            ),
            STOP,
            "the client's form cannot carry it",
        ),
        (" \n".repeat(number % 5), STOP, "the model's answer was empty"),
        (String::new(), LENGTH, "the output limit was reached"),
    ]
}

/// What Void makes of an answer that comes in these pieces. `asked_before`: a first answer was refused, and the model asked again.
fn read(path: &Path<'_>, pieces: &[&str], reason: FinishReason) -> reader::Read {
    let Path { adapter, tools, reader, schemas, shell, .. } = path;
    let mut shape = Shape::new(Kind::Void, Arc::clone(tools), true);
    if *shell {
        shape = shape.in_shell(Shell { answer: "chatcmpl-x".into(), form: ShellForm::Id, config: None, via: ShellVia::Block });
    }
    let mut xml = reader::Xml::new(reader);
    let mut client = |event: Event<'_>| {
        if let Event::Text(text) = event {
            xml.delta(text);
        }
    };
    let mut run = |pieces: &[&str], reason, may_reask| {
        let mut answer = Answer::new(Setup {
            adapter: Arc::clone(adapter),
            tools: Arc::clone(tools),
            schemas: Arc::clone(schemas),
            scanner: scanner::Options::default(),
            policy: Policy { may_reask, notice_when_empty: true, ..Policy::default() },
            carrier: shape.carrier(),
        });
        let mut sink = |event: Event<'_>| shape.event(event, &mut client);
        for piece in pieces {
            answer.delta(Delta::Text(Channel::Content, piece), &mut sink);
        }
        answer.delta(Delta::Finish(reason), &mut sink);
        answer.finish(&mut sink).reask.is_some()
    };
    if path.asked_before {
        let refused = marked("unknown", &json!({"uri": "<ls_dir>"}));
        assert!(run(&["I use <read_file> now.\n\n", &refused], FinishReason::Stop, true), "{}: {refused}", path.adapter.name);
    }
    run(pieces, reason, false);
    xml.finish()
}

/// How an answer goes to the client.
struct Path<'a> {
    adapter: &'a Arc<Adapter>,
    tools: Arc<Tools>,
    reader: &'a [reader::Tool],
    schemas: Arc<Schemas>,
    shell: bool,
    asked_before: bool,
}

#[test]
fn nothing_runs_at_void_of_answers_that_only_speak_of_its_tools() {
    let adapters: Vec<_> = library().iter().cloned().collect();
    let (plain, list) = (Arc::new(tools()), reader::tools());
    let schemas = schemas();
    let (mut distinct, mut runs, mut wrong, mut told) = (HashSet::new(), 0, Vec::new(), 0);
    let count = effort::of(32, 160);
    for number in 0..count {
        for (kind, (text, reasons, notice)) in answers(number).into_iter().enumerate() {
            let asked_before = number % 5 == 0;
            let path = Path {
                // The generic adapter reads every form; the families take turns.
                adapter: &adapters
                    [if kind > 9 || asked_before { adapters.len() - 1 } else { (number * 5 + kind) % adapters.len() }],
                tools: Arc::clone(&plain),
                reader: &list,
                schemas: Arc::clone(&schemas),
                shell: number % 4 == 0,
                asked_before,
            };
            let points: Vec<usize> = (1..text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            let letters: Vec<&str> = text.split_inclusive(|_| true).collect();
            let mut cuts = vec![vec![text.as_str()], letters];
            // Two cuts of each answer; of every 80th all, which only `THOROUGH=1` reaches.
            let step = if number % 80 == 79 { 1 } else { 1 + points.len() / 2 };
            cuts.extend(points.iter().skip(number % step).step_by(step).map(|at| vec![&text[..*at], &text[*at..]]));
            for reason in reasons {
                for pieces in &cuts {
                    let read = read(&path, pieces, *reason);
                    runs += 1;
                    if read.call.is_some() || !read.text.contains(notice) {
                        wrong.push(format!("{} {reason:?} {pieces:?}\n    {read:?}", path.adapter.name));
                    }
                    told += usize::from(read.text.contains("[toolglot] "));
                }
            }
            distinct.insert(text);
        }
    }
    assert!(wrong.is_empty(), "{} of {runs}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    let (enough, many) = (distinct.len() >= count * 15, runs > count * 110 && told > count * 31);
    assert!(enough && many, "{} answers, {runs} runs, {told} notices", distinct.len());
}

#[test]
fn calls_that_cannot_be_delivered_do_not_run_at_void_in_the_form_of_any_family() {
    let (plain, list) = (Arc::new(tools()), reader::tools());
    let schemas = schemas();
    let (mut runs, mut wrong) = (0, Vec::new());
    for (at, adapter) in library().iter().enumerate() {
        let path = Path {
            adapter,
            tools: Arc::clone(&plain),
            reader: &list,
            schemas: Arc::clone(&schemas),
            shell: at % 3 == 0,
            asked_before: false,
        };
        let value = "<ls_dir> and <run_command>\n<command>\nrm -rf x\n</command></run_command>";
        let fine = json!({"uri": "/w/a.md", "new_content": value});
        let torn = json!({"uri": "/w/a.md", "new_content": format!("</uri>{value}")});
        let whole = own_form(adapter, "rewrite_file", fine.clone());
        for cut in (1..=whole.len()).step_by(effort::of(5, 1)).filter(|cut| whole.is_char_boundary(*cut)) {
            let read = read(&path, &["<read_file> first.\n", &whole[..cut]], FinishReason::Length);
            runs += 1;
            let meant = |(name, values): &(String, Vec<(String, String)>)| {
                name == "rewrite_file" && values.iter().all(|(name, text)| fine[name] == text.as_str()) && values.len() == 2
            };
            if !read.call.as_ref().is_none_or(meant) {
                wrong.push(format!("{} at {cut}: {read:?}", adapter.name));
            }
        }
        for (name, arguments) in [("rewrite_file", torn), ("unknown", fine)] {
            let text = own_form(adapter, name, arguments);
            for pieces in [vec![text.as_str()], text.split_inclusive(|_| true).collect()] {
                let read = read(&path, &pieces, FinishReason::Stop);
                runs += 1;
                if read.call.is_some() {
                    wrong.push(format!("{}: {text}\n    {read:?}", adapter.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    assert!(runs > effort::of(1_000, 5_000), "{runs} runs");
}
