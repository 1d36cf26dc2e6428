//! Finds faults of an adapter that parses: forms, globs and fingerprints that never apply because earlier ones match first,
//! and prompts that show calls which the scanner does not read.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    adapter::{Adapter, GENERIC, Library, render},
    error::Error,
    event::{Tool, ToolChoice, Tools},
    fix::Schemas,
    openai::ChatRequest,
    turn::answer::{self, Setup},
};

/// Name and arguments of a call.
type Called = (String, Value);

/// Names of adapters of a library, and what is wrong with them.
pub(super) fn library_faults(library: &Library, chosen: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let generic = library.get(GENERIC).map_or(0, |adapter| adapter.calls.len());
    // Compiled once.
    let (tools, schemas) = (Arc::new(tools()), Arc::new(Schemas::default()));
    let mut faults = Vec::new();
    for adapter in library.iter().filter(|adapter| chosen(&adapter.name)) {
        let own = if adapter.name == GENERIC { generic } else { adapter.calls.len().saturating_sub(generic) };
        let mut found = unreachable_forms(adapter, own);
        found.extend(empty_texts(adapter));
        if adapter.name != GENERIC {
            found.extend(never_chosen(adapter, library));
        }
        found.extend(round_trips(&Setup::new(Arc::clone(adapter), Arc::clone(&tools), Arc::clone(&schemas))));
        faults.extend(found.into_iter().map(|what| (adapter.name.clone(), what)));
    }
    faults
}

/// Forms and markers that never count because others come before them.
fn unreachable_forms(adapter: &Adapter, own: usize) -> Vec<String> {
    let forms = adapter.calls.get(..own).unwrap_or_default();
    let reasoning = adapter.framing.reasoning.as_ref();
    let is_of_reasoning = |marker: &&String| {
        !marker.is_empty() && reasoning.is_some_and(|region| region.open.contains(marker) || region.close.contains(marker))
    };
    let mut faults = Vec::new();
    for (later, form) in forms.iter().enumerate() {
        if let Some(earlier) = forms[..later].iter().position(|before| {
            before.syntax == form.syntax
                && before.fallback >= form.fallback
                && before.whole_answer <= form.whole_answer
                && (before.start_only, &before.section, &before.close) == (form.start_only, &form.section, &form.close)
                && form.open.iter().all(|marker| before.open.contains(marker))
                && form.stripped.iter().all(|marker| before.stripped.contains(marker))
                && form.fence.iter().all(|language| before.fence.contains(language))
        }) {
            faults.push(format!("[[call]] number {} is never reached: number {} reads the same", later + 1, earlier + 1));
        }
        for marker in form.section.iter().chain(&form.open).chain(&form.stripped).filter(is_of_reasoning) {
            let number = later + 1;
            faults.push(format!("the marker {marker:?} of [[call]] number {number} is a marker of reasoning too, which wins"));
        }
    }
    faults
}

/// Texts that are empty where an empty one means nothing.
fn empty_texts(adapter: &Adapter) -> Vec<String> {
    let lists = [
        ("models", &adapter.signs.models),
        ("templates", &adapter.signs.templates),
        ("shown_by", &adapter.signs.markers),
        ("preserve", &adapter.preserve),
    ];
    let empty = lists.into_iter().filter(|(_, list)| list.iter().any(|text| text.trim().is_empty()));
    empty.map(|(key, _)| format!("`{key}` holds an empty text")).collect()
}

/// Globs and fingerprints that another adapter takes away.
fn never_chosen(adapter: &Adapter, library: &Library) -> Vec<String> {
    let mut faults = Vec::new();
    if adapter.signs.models.is_empty() && adapter.signs.templates.is_empty() {
        faults.push("no model gets it: it has neither `models` nor `templates`".to_owned());
    }
    for glob in &adapter.signs.models {
        // Letters in place of the wildcards, one that no name has.
        let found = library.find(&glob.replace('*', "\u{2400}"), None);
        if found.adapter.name != adapter.name {
            faults.push(format!("the glob `{glob}` is shadowed by {}.toml: {}", found.adapter.name, found.why));
        }
    }
    if !adapter.signs.templates.is_empty() {
        let found = library.find("", Some(&adapter.signs.templates.join("\n")));
        if found.adapter.name != adapter.name {
            faults.push(format!("its `templates` are shadowed by {}.toml: {}", found.adapter.name, found.why));
        }
    }
    faults
}

/// The calls that its prompt shows to the model must be read back as they were.
fn round_trips(setup: &Setup) -> Vec<String> {
    if let Err(error) = setup.adapter.prompt.check() {
        return vec![error.message];
    }
    let mut faults = Vec::new();
    for (what, prose, calls) in samples(&setup.adapter) {
        for (own_form, mode) in [(false, "prompt"), (true, "raw")] {
            match round_trip(setup, own_form, prose, &calls) {
                Err(error) => faults.push(error.message),
                Ok(back) if back == calls => {}
                Ok(back) => faults.push(format!(
                    "[prompt] `call`: {what} is not read back in mode {mode}: wrote {}, read {}",
                    show(&calls),
                    show(&back)
                )),
            }
        }
    }
    faults.dedup();
    faults
}

fn tools() -> Tools {
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"}, "body": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
            "options": {"type": "object"}, "count": {"type": "integer"}, "draft": {"type": "boolean"},
        },
        "required": ["title"],
    });
    let note = Tool::new("write_note", "Writes a note.", schema.to_string());
    Tools::new([note, Tool::new("ping", "Answers.", r#"{"type":"object","properties":{}}"#)], ToolChoice::Auto)
}

/// Calls that a prompt must be able to show: what they are, the text before them, themselves.
fn samples(adapter: &Adapter) -> Vec<(&'static str, &'static str, Vec<Called>)> {
    let note = |arguments: Value| ("write_note".to_owned(), arguments);
    let nested = json!({"title": "t", "count": -3, "draft": false, "tags": ["a", "b c"], "options": {"depth": {"list": [1, null, {"x": ""}]}}});
    let odd = json!({"title": "Größe „7“ 🙂", "body": "line one\nline \"two\"\t{\"a\": [1]} \\ end"});
    vec![
        ("a call without arguments", "", vec![("ping".to_owned(), json!({}))]),
        ("a plain call", "", vec![note(json!({"title": "Shopping"}))]),
        ("a call behind prose", "I will write that down.", vec![note(json!({"title": "Shopping"}))]),
        ("a nested call", "", vec![note(nested)]),
        ("a call with odd characters", "", vec![note(odd)]),
        (
            "a call with markers inside of a string",
            "",
            vec![note(json!({"title": "markers", "body": adapter.markers().join(" ")}))],
        ),
        ("a pair of calls", "", vec![note(json!({"title": "one"})), note(json!({"title": "two", "count": 2}))]),
    ]
}

fn round_trip(setup: &Setup, own_form: bool, prose: &str, calls: &[Called]) -> Result<Vec<Called>, Error> {
    let wire = calls.iter().enumerate().map(|(at, (name, arguments))| {
        json!({"id": format!("call_{at}"), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
    });
    let assistant = json!({"role": "assistant", "content": prose, "tool_calls": wire.collect::<Vec<_>>()});
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "go"}, assistant]});
    let rendered = render::render(&setup.adapter, own_form, &ChatRequest::from_value(request)?, &setup.tools)?;
    let said = rendered.messages.iter().rev().find(|message| message.role == "assistant");
    let text = said.map(|message| message.content.to_text()).unwrap_or_default();
    let read = answer::calls(setup.clone(), &text);
    Ok(read.into_iter().map(|call| (call.name, serde_json::from_str(&call.arguments).unwrap_or_default())).collect())
}

fn show(calls: &[Called]) -> String {
    let list: Vec<String> = calls.iter().map(|(name, arguments)| format!("{name} {arguments}")).collect();
    if list.is_empty() { "no call".to_owned() } else { list.join(", ") }
}
