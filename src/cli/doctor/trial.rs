//! Sends a model a few real requests with tools and describes each answer: the call or text, the form it was written in, its
//! repairs, and what the user can do about a failure.

use std::{
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
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
#[derive(Debug, Serialize)]
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

/// Collects what the proxy does not pass on, and hands it over when the turn is over.
struct Watch {
    round: Option<(Dialect, Vec<u8>)>,
    upstream: Upstream,
    over: Sender<Upstream>,
}

/// What the backend sent, all rounds together.
#[derive(Default)]
struct Upstream {
    text: String,
    native: bool,
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
    let mut trial = Trial { model: model.to_owned(), tools: "native", learned: Vec::new(), attempts: Vec::new() };
    let found = survey::survey(app, Some(model), &[]).await.unwrap_or_default();
    let spoken = found.into_iter().flat_map(|found| found.models).next();
    let told = spoken.as_ref().map_or(ToolMode::Native, |spoken| spoken.tools);
    let adapter = spoken.map(|spoken| spoken.adapter);
    trial.tools = told.as_str();
    for case in cases {
        let (over, seen) = mpsc::channel();
        let watch = Watch { round: None, upstream: Upstream::default(), over };
        let request = json!({"model": model, "messages": case.messages, "tools": tools, "temperature": 0, "max_tokens": TOKENS});
        let tried = match ChatRequest::from_value(request) {
            Ok(chat) => match timeout(PATIENCE, survey::ask(app, chat, Some(Box::new(watch)))).await {
                Ok(tried) => tried,
                Err(_) => Err(Error::backend(format!("no answer within {} minutes", PATIENCE.as_secs() / 60))),
            },
            Err(error) => Err(error),
        };
        let upstream = seen.try_recv().unwrap_or_default();
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
        Some((name, _)) if upstream.text.contains(name) => format!(
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
    let form = (!called.is_empty()).then(|| {
        if upstream.native {
            "a call that the backend itself had read".to_owned()
        } else {
            format!("text: {}", form(adapter, &upstream.text))
        }
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
    Attempt {
        asked: case.asked.clone(),
        good: false,
        came: format!("error {}: {}", error.status, shown(&error.message)),
        form: None,
        fixed: Vec::new(),
        remedy: Some(remedy.to_owned()),
    }
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

impl Watch {
    /// Reads the backend's bytes once more.
    fn read(&mut self) {
        let Some((dialect, bytes)) = self.round.take() else { return };
        let Upstream { text: all, native, .. } = &mut self.upstream;
        // What was not finished has been judged by the turn.
        let _ = recorded::stream(dialect, [bytes.as_slice()], &mut |delta: Delta<'_>| match delta {
            Delta::Text(Channel::Content, text) => all.push_str(text),
            Delta::Call(_) => *native = true,
            _ => {}
        });
    }
}

impl Tap for Watch {
    fn round(&mut self, _: &ChatRequest, _: &Tools, dialect: Dialect) {
        self.read();
        self.round = Some((dialect, Vec::new()));
    }

    fn upstream(&mut self, bytes: &[u8]) {
        self.round.iter_mut().for_each(|(_, all)| all.extend_from_slice(bytes));
    }

    fn checked(&mut self, Checked { name, written, report }: &Checked) {
        let name = written.iter().map(|written| format!("the name {written} into {name}"));
        let arguments = report
            .fixes
            .iter()
            .map(|fix| if fix.path.is_empty() { fix.note.to_string() } else { format!("{}: {}", fix.path, fix.note) });
        self.upstream.fixed.extend(name.chain(arguments));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.read();
        // Whoever gave up waiting has dropped the other end.
        let _ = self.over.send(std::mem::take(&mut self.upstream));
    }
}
