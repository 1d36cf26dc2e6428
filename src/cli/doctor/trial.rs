//! Sends a model a few real requests with tools and describes each answer: the call or text, the form it was written in, its
//! repairs, and what the user can do about a failure.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::adapters;
use crate::{
    adapter::{Adapter, Call},
    backend::{Dialect, ToolMode},
    error::Error,
    event::{Channel, Delta, Tools},
    fix::Checked,
    lock::Hold,
    openai::ChatRequest,
    recorded, redact,
    server::{
        App,
        survey::{self, Tried},
    },
    turn::tap::Tap,
};

/// What became of all requests.
#[derive(Debug, Serialize)]
pub(super) struct Trial {
    pub(super) model: String,
    /// How tools were offered in the end.
    pub(super) tools: &'static str,
    /// What the model's refusals taught about its requests, in words.
    pub(super) learned: Vec<&'static str>,
    pub(super) attempts: Vec<Attempt>,
}

/// What became of one request.
#[derive(Debug, Default, Serialize)]
pub(super) struct Attempt {
    /// What was asked for, in words.
    pub(super) asked: String,
    /// It came back as it should.
    pub(super) good: bool,
    /// What came back, in words.
    pub(super) came: String,
    /// How the call was written, if there was one.
    pub(super) form: Option<String>,
    /// What was changed in it.
    pub(super) fixed: Vec<String>,
    /// What the user can do.
    pub(super) remedy: Option<String>,
}

/// The requests (`trial.json`).
#[derive(Deserialize)]
struct Script {
    tools: Value,
    cases: Vec<Case>,
}

/// A request, and what should come of it.
#[derive(Deserialize)]
struct Case {
    asked: String,
    messages: Value,
    /// The call that should come back: name and arguments, where `null` matches any text. `None`: text, and no call.
    call: Option<(String, Value)>,
}

/// Collects what the proxy does not pass on.
struct Watch(Arc<Mutex<Upstream>>);

/// What the backend sent in each round, and what was changed in it.
#[derive(Default)]
struct Upstream {
    rounds: Vec<(Dialect, Vec<u8>)>,
    fixed: Vec<String>,
}

/// How long a model may load, think and answer.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Room for reasoning, a call and code in it.
const TOKENS: u64 = 2048;
const SHOWN_CHARS: usize = 160;

pub(super) async fn run(app: &App, model: &str) -> Result<Trial, Error> {
    let Script { tools, cases } = serde_json::from_str(include_str!("trial.json"))
        .map_err(|error| Error::proxy(format!("the requests inside of this program are broken: {error}")))?;
    let found = survey::survey(app, Some(model)).await;
    let spoken = found.into_iter().flat_map(|found| found.models).next();
    let told = spoken.as_ref().map_or(ToolMode::Native, |spoken| spoken.tools);
    let adapter = spoken.map(|spoken| spoken.adapter);
    let mut trial = Trial { model: model.to_owned(), tools: told.as_str(), learned: Vec::new(), attempts: Vec::new() };
    for case in cases {
        let seen = Arc::<Mutex<Upstream>>::default();
        let watch = Watch(Arc::clone(&seen));
        let request = json!({"model": model, "messages": case.messages, "tools": tools, "temperature": 0, "max_tokens": TOKENS});
        let asked = async { survey::ask(app, ChatRequest::from_value(request)?, Some(Box::new(watch))).await };
        let late = |_| Err(Error::backend(format!("no answer within {} minutes", PATIENCE.as_secs() / 60)));
        let tried = timeout(PATIENCE, asked).await.unwrap_or_else(late);
        let upstream = std::mem::take(&mut *seen.hold());
        let attempt = match tried {
            Ok(tried) => {
                trial.tools = tried.learned.tools.as_str();
                trial.learned = tried.learned.rewrites.iter().map(|rewrite| rewrite.title()).collect();
                judge(&case, &tried, upstream, adapter.as_deref(), told)
            }
            Err(error) => failed(&case, &error),
        };
        let broken = attempt.came.starts_with("error");
        trial.attempts.push(attempt);
        if broken && trial.attempts.len() == 1 {
            break; // the others would fail in the same way, each after a long wait
        }
    }
    Ok(trial)
}

fn judge(case: &Case, tried: &Tried, upstream: Upstream, adapter: Option<&Adapter>, told: ToolMode) -> Attempt {
    let (written, is_native) = upstream.read();
    let choice = &tried.completion["choices"][0];
    let text = choice["message"]["content"].as_str().unwrap_or_default();
    let cut = choice["finish_reason"] == "length";
    fn function(call: &Value) -> Option<(&str, &str)> {
        Some((call["function"]["name"].as_str()?, call["function"]["arguments"].as_str()?))
    }
    let called: Vec<(&str, &str)> =
        choice["message"]["tool_calls"].as_array().into_iter().flatten().filter_map(function).collect();
    let calls: Vec<String> = called.iter().map(|(name, arguments)| format!("{name} {}", shown(arguments))).collect();
    let came = if !calls.is_empty() {
        format!("a call: {}", calls.join(", "))
    } else if text.is_empty() {
        "nothing".to_owned()
    } else {
        format!("text: {}", shown(text))
    };
    let good = match &case.call {
        None => called.is_empty() && !text.trim().is_empty() && !text.starts_with("[toolglot]"),
        Some((name, arguments)) => called.iter().any(|(called, given)| called == name && agrees(arguments, given)),
    };
    let remedy = (!good).then(|| match &case.call {
        _ if cut => "the output limit cut the answer: allow more tokens (`num_predict`, `max_tokens`), or switch its reasoning off".to_owned(),
        None if !called.is_empty() => "it calls a tool where none is needed, as small models do: a larger model, or fewer tools".to_owned(),
        None => "it said nothing that could be shown: look at the backend's log, and at its chat template".to_owned(),
        Some(_) if !called.is_empty() => "the call is not the one that was asked for: a larger or less quantised model".to_owned(),
        Some((name, _)) if written.contains(name) => format!(
            "it wrote something about {name} that no adapter reads as a call: record it (`toolglot record`) and add its form to an adapter"
        ),
        Some(_) => {
            let other = match tried.learned.tools {
                ToolMode::Native => "try `tools = \"prompt\"` on a route for it, or another model",
                ToolMode::Prompt if told == ToolMode::Native => "try `tools = \"raw\"` on a route for it, or another model",
                ToolMode::Prompt | ToolMode::Raw | ToolMode::Client => "small models often do that: try a larger one, or one that was trained on tools",
            };
            format!("it did not call at all: {other}")
        }
    });
    let form = (!called.is_empty()).then(|| match is_native {
        true => "a call that the backend itself had read".to_owned(),
        false => format!("text: {}", form(adapter, &written)),
    });
    Attempt { asked: case.asked.clone(), good, came, form, fixed: upstream.fixed, remedy }
}

fn failed(case: &Case, error: &Error) -> Attempt {
    let remedy = match (error.code.as_deref(), error.status) {
        (Some("backend_unreachable"), _) => "start the backend, or correct its `url`",
        (Some("model_not_found"), _) | (_, 404) => "load or pull the model at its backend",
        (Some("context_length_exceeded"), _) => "load the model with a larger context",
        (_, 401 | 403) => "give the backend's key by `api_key_env`",
        (_, 429) => "the backend's quota is used up: wait, or set `requests_per_minute`",
        (Some("backend_timeout"), _) | (_, 504) => "the backend is too slow or stuck: look at its log",
        _ => "look at the backend's log",
    };
    let came = format!("error {}: {}", error.status, shown(&error.message));
    Attempt { asked: case.asked.clone(), came, remedy: Some(remedy.to_owned()), ..Attempt::default() }
}

/// Whether the arguments hold what was asked for; `null` agrees with any text that is not empty.
fn agrees(wanted: &Value, given: &str) -> bool {
    let given: Value = serde_json::from_str(given).unwrap_or_default();
    let Some(wanted) = wanted.as_object() else { return false };
    wanted.iter().all(|(key, value)| match (value, given.get(key)) {
        (Value::Null, Some(Value::String(text))) => !text.trim().is_empty(),
        (Value::String(value), Some(Value::String(text))) => text.to_lowercase().contains(&value.to_lowercase()),
        (value, given) => given == Some(value),
    })
}

/// The form whose marker is in the text: those with markers first, the bare ones last.
fn form(adapter: Option<&Adapter>, text: &str) -> String {
    let marker = |marker: &&String| !marker.is_empty() && text.contains(marker.as_str());
    let marked = |call: &&Call| call.section.iter().chain(&call.open).any(|text| marker(&text));
    let fenced = |call: &&Call| call.fence.iter().any(|language| text.contains(&format!("```{language}\n")));
    let stripped = |call: &&Call| call.stripped.iter().any(|text| marker(&text));
    let calls = || adapter.iter().flat_map(|adapter| &adapter.calls).map(Arc::as_ref);
    let found = calls().find(marked).or_else(|| calls().find(fenced)).or_else(|| calls().find(stripped));
    match found {
        Some(call) => adapters::entries(call),
        None if text.trim_start().starts_with('{') => "bare JSON".to_owned(),
        None => "no marker".to_owned(),
    }
}

fn shown(text: &str) -> String {
    redact::shown(&text.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN_CHARS)
}

impl Trial {
    /// The number of requests that ended as expected.
    pub(super) fn good(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.good).count()
    }

    /// The attempts that failed, for the list of problems.
    pub(super) fn problems(&self) -> Vec<String> {
        let bad = self.attempts.iter().filter(|attempt| !attempt.good);
        bad.map(|attempt| format!("{}: {} came as {}", self.model, attempt.asked, attempt.came)).collect()
    }
}

impl Upstream {
    /// Reads the backend's bytes once more: the text of all rounds, and whether the backend itself had read a call.
    fn read(&self) -> (String, bool) {
        let (mut all, mut is_native) = (String::new(), false);
        for (dialect, bytes) in &self.rounds {
            // What was not finished has been judged by the turn.
            let _ = recorded::read(Some(*dialect), [bytes.as_slice()], &mut |delta: Delta<'_>| match delta {
                Delta::Text(Channel::Content, text) => all.push_str(text),
                Delta::Call(_) => is_native = true,
                _ => {}
            });
        }
        (all, is_native)
    }
}

impl Tap for Watch {
    fn round(&mut self, _: &ChatRequest, _: &Tools, dialect: Dialect) {
        self.0.hold().rounds.push((dialect, Vec::new()));
    }

    fn upstream(&mut self, bytes: &[u8]) {
        self.0.hold().rounds.last_mut().into_iter().for_each(|(_, all)| all.extend_from_slice(bytes));
    }

    fn checked(&mut self, Checked { name, written, report }: &Checked) {
        let name = written.iter().map(|written| format!("the name {written} into {name}"));
        let place = |path: &str| if path.is_empty() { String::new() } else { format!("{path}: ") };
        let arguments = report.fixes.iter().map(|fix| format!("{}{}", place(&fix.path), fix.note));
        self.0.hold().fixed.extend(name.chain(arguments));
    }
}
