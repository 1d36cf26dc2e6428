//! Prevents wrong calls at llama.cpp while the model is free to answer in text: once it has opened a call, it can only write the
//! name of an offered tool and arguments that fit its schema. The server accepts such a grammar (`grammar_lazy`,
//! `grammar_triggers`) only for text completions. So toolglot first asks for the prompt that the server's chat template makes
//! (`/apply-template`), then for its completion.

use serde_json::{Map, Value, json};

use super::{Kind, Prepared, Profile, Round, ToolMode, models::ask, request::parameters_of};
use crate::{
    adapter::{Adapter, Call, Syntax},
    error::Error,
    event::{ToolChoice, Tools},
    upstream::{Client, HttpRequest, Outgoing},
};

mod grammar;

use grammar::{Grammar, literal};

/// Types of triggers, with llama.cpp's numbers (`common_grammar_trigger_type`).
const WORD: u8 = 1;
const PATTERN: u8 = 2;
/// A larger grammar costs more than it prevents, in bytes.
const GRAMMAR_BYTES: usize = 256 * 1024;
/// Fields of a chat that a text completion does not have. All others are about sampling and are kept.
const CHAT_ONLY: [&str; 8] = [
    "messages", "tools", "tool_choice", "parallel_tool_calls", "chat_template_kwargs", "reasoning_effort", "reasoning_format",
    "max_tokens",
];
/// Fields that request another form of the answer.
const OTHER_FORMS: [&str; 6] = ["response_format", "grammar", "json_schema", "logprobs", "n", "logit_bias"];

/// The same request as a completion with a grammar that holds the model to its tools. `None` if that does not apply: another
/// server, no tools, a required call (the server handles that itself), the client's own form, an answer in another form, images,
/// a family whose calls are not JSON, a prompt that ends inside reasoning.
///
/// # Errors
/// The server refuses `/apply-template`, or cannot be reached.
pub async fn held(client: &Client, round: &Round<'_>, prepared: &Prepared) -> Result<Option<Prepared>, Error> {
    let Outgoing::Http(request) = &prepared.outgoing else { return Ok(None) };
    let Some(markers) = may_be_held(round).then(|| markers(round.adapter)).flatten() else { return Ok(None) };
    let several = round.chat.rest.get("parallel_tool_calls").and_then(Value::as_bool).unwrap_or(true);
    let parameters: Vec<(String, Value)> = round.tools.iter().map(|tool| (tool.wire_name.clone(), parameters_of(tool))).collect();
    let grammar = write(&parameters, &markers, several);
    if grammar.len() > GRAMMAR_BYTES {
        return Ok(None);
    }
    let asked = HttpRequest { url: format!("{}/apply-template", round.backend.origin()), ..request.clone() };
    let told = ask(client, round.backend, asked).await?;
    let prompt = told.get("prompt").and_then(Value::as_str);
    let prompt = prompt.ok_or_else(|| Error::backend("`/apply-template` gave no prompt"))?;
    let words = markers.iter().map(|(open, _)| json!({"type": WORD, "value": open}));
    let bare = json!({"type": PATTERN, "value": pattern(round.tools)});
    Ok(completion(round, prepared, "/completions", prompt, |body| {
        if let Some(limit) = body.get("max_tokens").cloned() {
            body.insert("n_predict".into(), limit);
        }
        body.retain(|field, _| !CHAT_ONLY.contains(&field.as_str()));
        body.insert("grammar".into(), grammar.into());
        body.insert("grammar_lazy".into(), true.into());
        body.insert("grammar_triggers".into(), words.chain([bare]).collect());
        body.insert("preserved_tokens".into(), preserved(round.adapter, &markers).into());
    }))
}

/// A prepared chat as a completion of the prompt that the server makes of it. `change` gets the fields of the chat. `None`: the
/// answer would begin inside reasoning, without a marker.
pub(super) fn completion(
    round: &Round<'_>,
    prepared: &Prepared,
    path: &str,
    prompt: &str,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Option<Prepared> {
    let Outgoing::Http(request) = &prepared.outgoing else { return None };
    let mut opens = round.adapter.framing.reasoning.iter().flat_map(|region| &region.open);
    if opens.any(|open| prompt.trim_end().ends_with(open.as_str())) {
        return None;
    }
    let mut body = serde_json::from_slice(&request.body).ok()?;
    change(&mut body);
    body.insert("prompt".into(), prompt.into());
    let url = format!("{}{path}", round.backend.url);
    let request = HttpRequest { url, body: Value::Object(body).to_string().into(), ..request.clone() };
    Some(Prepared { outgoing: Outgoing::Http(request), ..prepared.clone() })
}

/// Whether the server, the tools and the wanted answer are such that a grammar can hold the model.
fn may_be_held(round: &Round<'_>) -> bool {
    let llama = round.backend.kind == Kind::OpenAi && round.backend.profile == Profile::LlamaCpp;
    let free = round.offer && round.mode != ToolMode::Client && !round.tools.is_empty() && round.tools.choice == ToolChoice::Auto;
    let plain = !OTHER_FORMS.iter().any(|field| round.chat.rest.contains_key(*field));
    let mut parts = round.chat.messages.iter().flat_map(|message| message.content.parts());
    llama && free && plain && parts.all(|part| part.get("text").is_some()) && round.adapter.framing.recipient.is_none()
}

/// Whether a call in this form is one JSON object of name and arguments between markers.
fn is_plain_json(form: &Call) -> bool {
    let plain = matches!(&form.syntax, Syntax::Json(keys) if !keys.array && !keys.name_is_key && keys.header.is_empty());
    plain && form.open.iter().any(|open| !open.is_empty())
}

/// The openers of the family's own form, else of the first that it can read, each with what closes it; `None` if its calls are not
/// such JSON.
fn markers(family: &Adapter) -> Option<Vec<(String, String)>> {
    let own = family.own().first();
    let form = own.or_else(|| family.calls.iter().find(|form| is_plain_json(form))).filter(|form| is_plain_json(form))?;
    let close = |at: usize| form.close.get(at).or(form.close.last()).cloned().unwrap_or_default();
    let open = form.open.iter().enumerate().filter(|(_, open)| !open.is_empty());
    Some(open.map(|(at, open)| (open.clone(), close(at))).collect())
}

/// The tokens that the server must keep as text: the family's own ones and the markers.
fn preserved(family: &Adapter, markers: &[(String, String)]) -> Vec<String> {
    let markers = markers.iter().flat_map(|(open, close)| [open, close]);
    let mut all: Vec<String> = family.preserve.iter().chain(markers).filter(|text| !text.is_empty()).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// The grammar: calls between markers, or a bare call from its name on. Only further calls may follow.
fn write(tools: &[(String, Value)], markers: &[(String, String)], several: bool) -> String {
    let mut grammar = Grammar::new();
    let calls: Vec<String> = tools
        .iter()
        .map(|(name, parameters)| {
            let name = literal(&Value::from(name.as_str()).to_string());
            let arguments = grammar.arguments(parameters);
            grammar.rule(&format!(r#"{name} ws "," ws key ws ":" ws {arguments} ws "}}""#))
        })
        .collect();
    grammar.named("key", r#""\"arguments\"" | "\"parameters\"""#);
    grammar.named("named", &calls.join(" | "));
    grammar.named("call", r#""{" ws "\"name\"" ws ":" ws named"#);
    let marked = |(open, close): &(String, String)| format!("{} ws call ws {}", literal(open), literal(close));
    grammar.named("marked", &markers.iter().map(marked).collect::<Vec<_>>().join(" | "));
    let further = |call: &str| if several { format!(" ({call})*") } else { String::new() };
    grammar.named("bare", &format!(r#"named{} ws "```"? ws"#, further(r#"ws [,;]? ws call"#)));
    grammar.named("root", &format!("marked{} ws | bare", further("ws marked")));
    grammar.into_text()
}

/// The pattern of an answer that begins with a bare or fenced call of an offered tool. The grammar applies from the name on.
fn pattern(tools: &Tools) -> String {
    let names = tools.iter().map(|tool| regex::escape(&tool.wire_name)).collect::<Vec<_>>().join("|");
    format!(r#"^\s*(?:```\w*\s*)?\{{\s*"name"\s*:\s*("(?:{names})"\s*,\s*"(?:arguments|parameters)"\s*:)"#)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Tool;

    #[test]
    fn both_ways_into_a_call_lead_to_offered_names_only() {
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let markers = [("<tool_call>".to_owned(), "</tool_call>".to_owned())];
        let text = write(&[("get_weather".into(), parameters)], &markers, true);
        for line in [
            r#"named ::= r4"#,
            r#"r4 ::= "\"get_weather\"" ws "," ws key ws ":" ws r3 ws "}""#,
            r#"marked ::= "<tool_call>" ws call ws "</tool_call>""#,
            r#"root ::= marked (ws marked)* ws | bare"#,
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in:\n{text}");
        }
        assert!(write(&[], &markers, false).contains("root ::= marked ws | bare"));
    }

    #[test]
    fn a_bare_answer_is_held_only_from_an_offered_name_on() {
        let tools = Tools::new([Tool::new("get_weather", "", "{}"), Tool::new("a.b-c", "", "{}")], ToolChoice::Auto);
        let found = regex::Regex::new(&pattern(&tools)).unwrap();
        for (text, expected) in [
            (r#"{"name": "get_weather", "arguments": "#, true),
            ("```json\n{\"name\": \"a.b-c\",\n \"parameters\":", true),
            (r#"{"name": "my-package", "version": "#, false),
            (r#"{"name": "get_weather", "#, false),
            (r#"For example {"name": "get_weather", "arguments": "#, false),
            (r#"{"name": "aXb-c", "arguments": "#, false),
        ] {
            assert_eq!(found.is_match(text), expected, "{text}");
        }
    }
}
