//! `toolglot-bench live`: runs every task in every form and way, one at a time. Outcomes of earlier runs are reused.

use std::{
    collections::HashMap,
    fs,
    io::{IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    NAMES, Way, bfcl,
    form::{Form, Reply},
    judge::{self, Faults, Verdict},
    report::Report,
    task::{self, Task, Want},
    world::World,
};
use toolglot::{
    config::{self, Config, Environment, Overrides},
    error::Error,
};

/// Gives a model the same tasks straight and through the proxy, and recommends how to ask it.
#[derive(Debug, Args)]
pub(crate) struct Live {
    /// The configuration file [default: see `toolglot paths`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A backend in addition to those of the file: http://host:port, or with its kind: openai=http://host:port/v1
    #[arg(long, value_name = "[KIND=]URL")]
    backend: Vec<String>,
    /// The model, as its backend calls it
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The client that is played (may be given several times) [default: all]
    #[arg(long, value_name = "FORM")]
    form: Vec<Form>,
    /// How the model is asked: straight, or a value of `tools` on a route; can be repeated [default: all]
    #[arg(long, value_name = "WAY")]
    way: Vec<String>,
    /// Only tasks whose name matches, such as `one/*` (may be given several times)
    #[arg(long, value_name = "GLOB")]
    tasks: Vec<String>,
    /// The public questions of this folder too (the data of the Berkeley Function Calling Leaderboard)
    #[arg(long, value_name = "DIRECTORY")]
    bfcl: Option<PathBuf>,
    /// At most this many tasks of each group
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Run each task this many times, with different seeds
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u64,
    /// The temperature [default: 0, with --repeat 0.7]
    #[arg(long)]
    temperature: Option<f64>,
    /// Tokens that an answer may have
    #[arg(long, value_name = "TOKENS", default_value_t = 512)]
    max_tokens: u64,
    /// The file for outcomes, one JSON object per line. Tasks that it already contains are skipped
    #[arg(long, value_name = "FILE", default_value = "bench-live.jsonl")]
    results: PathBuf,
    /// Write the table as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What became of one task in one form and way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// What it is the outcome of; another task of the same name has another key.
    pub(crate) key: String,
    pub(crate) form: String,
    pub(crate) way: String,
    pub(crate) task: String,
    pub(crate) verdict: Verdict,
    #[serde(flatten)]
    pub(crate) faults: Faults,
    /// How often the model was asked again, hidden from the client.
    #[serde(default)]
    pub(crate) again: u64,
    /// Tokens that the model read and wrote, as the backend counts them.
    pub(crate) read: u64,
    pub(crate) wrote: u64,
    pub(crate) seconds: f64,
    /// What came, for people.
    pub(crate) came: Vec<String>,
}

/// How far a run has come.
struct Progress {
    begun: Instant,
    /// Number of tasks that the model was really asked.
    asked: u32,
    /// When it was said last.
    said: Option<Instant>,
}

/// What the results are good for.
const GO_ON: &str = "whenever it is interrupted, the same command goes on from there";
/// How often a run that nobody watches on a terminal says how far it is.
const SAY: Duration = Duration::from_secs(5);
/// Maximum number of answers in a task of several turns.
const TURNS: usize = 8;
/// A task ends when the same call is made this often in a row.
const SAME: usize = 3;

impl Live {
    pub(crate) fn run(self, environment: &Environment, out: &mut dyn Write, messages: &mut dyn Write) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::proxy(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let report = runtime.block_on(self.measure(environment, messages))?;
        if let Some(file) = &self.json {
            let text = serde_json::to_string_pretty(&report).map_err(|error| Error::proxy(error.to_string()))?;
            fs::write(file, text + "\n").map_err(|error| Error::proxy(format!("{}: {error}", file.display())))?;
        }
        out.write_all(report.table().as_bytes()).map_err(failed)
    }

    fn overrides(&self) -> Overrides {
        Overrides { file: self.config.clone(), backends: self.backend.clone(), ..Overrides::default() }
    }

    async fn measure(&self, environment: &Environment, messages: &mut dyn Write) -> Result<Report, Error> {
        let config = Config::load(&self.overrides(), environment)?;
        let forms = if self.form.is_empty() { vec![Form::Openai, Form::Void] } else { self.form.clone() };
        let tasks = self.tasks()?;
        let ways: Vec<String> =
            if self.way.is_empty() { NAMES.iter().map(|name| (*name).to_owned()).collect() } else { self.way.clone() };
        let itself = Way::open("straight", &self.model, &config, environment)?;
        itself.check(&self.model).await?;
        let ways = ways.iter().map(|name| Way::open(name, &self.model, &config, environment)).collect::<Result<Vec<_>, _>>()?;
        // Neighbours share their prompt's beginning, so that the backend's cache holds.
        let mut jobs = Vec::new();
        for form in &forms {
            // Only a client that brings a tool prompt can be asked in its own form.
            for way in ways.iter().filter(|way| *form != Form::Openai || way.name != "client") {
                let of_form = tasks.iter().filter(|(_, forms)| forms.contains(form));
                jobs.extend(of_form.flat_map(|(task, _)| (0..self.repeat).map(move |seed| (*form, way, task, seed))));
            }
        }
        let mut known = self.known()?;
        let mut kept =
            fs::OpenOptions::new().create(true).append(true).open(&self.results).map_err(|error| self.unusable(&error))?;
        let mut outcomes = Vec::new();
        // Whoever closed standard error does not want to see it.
        let file = self.results.display();
        let _ = writeln!(messages, "{} requests or more; the outcomes go into {file}; {GO_ON}", jobs.len());
        let mut progress = Progress { begun: Instant::now(), asked: 0, said: None };
        for (at, (form, way, task, seed)) in jobs.iter().enumerate() {
            progress.show(messages, at, jobs.len(), &format!("{} {} {}", form.name(), way.name, task.id));
            let key = self.key(*form, way, task, *seed);
            let outcome = match known.remove(&key) {
                Some(outcome) => outcome,
                None => {
                    progress.asked += 1;
                    let outcome = self.ask(key, *form, way, task, *seed).await;
                    let line = serde_json::to_string(&outcome).map_err(|error| self.unusable(&error))?;
                    writeln!(kept, "{line}").map_err(|error| self.unusable(&error))?;
                    outcome
                }
            };
            outcomes.push(outcome);
        }
        progress.show(messages, jobs.len(), jobs.len(), "");
        let _ = writeln!(messages, "the outcomes are in {file}; {GO_ON}");
        let mut chosen = Vec::new();
        for form in &forms {
            if let Some((task, _)) = tasks.iter().find(|(_, forms)| forms.contains(form)) {
                let mode = itself.planned(&self.body(*form, task, &form.open(task), 0)).await?;
                chosen.push((form.name().to_owned(), mode.as_str().to_owned()));
            }
        }
        Ok(Report::new(&self.model, &outcomes, &chosen))
    }

    fn tasks(&self) -> Result<Vec<(Task, &'static [Form])>, Error> {
        let mut tasks = task::own()?;
        if let Some(folder) = &self.bfcl {
            tasks.extend(bfcl::tasks(folder)?.into_iter().map(|task| (task, [Form::Openai].as_slice())));
        }
        tasks.retain(|(task, _)| self.tasks.is_empty() || self.tasks.iter().any(|glob| config::matches(glob, &task.id)));
        if let Some(limit) = self.limit {
            let mut sizes: HashMap<String, usize> = HashMap::new();
            tasks.iter().for_each(|(task, _)| *sizes.entry(task.group().to_owned()).or_default() += 1);
            let mut seen: HashMap<String, usize> = HashMap::new();
            // Evenly spread over the group.
            tasks.retain(|(task, _)| {
                let size = sizes.get(task.group()).copied().unwrap_or(1);
                let at = seen.entry(task.group().to_owned()).or_default();
                *at += 1;
                *at * limit / size > (*at - 1) * limit / size || size <= limit
            });
        }
        if tasks.is_empty() { Err(Error::proxy(format!("no task matches {}", self.tasks.join(", ")))) } else { Ok(tasks) }
    }

    /// One task from its first request to its verdict.
    async fn ask(&self, key: String, form: Form, way: &Way, task: &Task, seed: u64) -> Outcome {
        let mut outcome =
            Outcome { key, form: form.name().to_owned(), way: way.name.clone(), task: task.id.clone(), ..Outcome::default() };
        let begun = Instant::now();
        match self.turns(&mut outcome, form, way, task, seed).await {
            Ok(verdict) => outcome.verdict = verdict,
            Err(error) => outcome.came.push(format!("error {}: {}", error.status, error.message)),
        }
        outcome.seconds = begun.elapsed().as_secs_f64();
        outcome
    }

    async fn turns(&self, outcome: &mut Outcome, form: Form, way: &Way, task: &Task, seed: u64) -> Result<Verdict, Error> {
        let mut world = World { files: task.files.clone() };
        let mut messages = form.open(task);
        let mut last = Reply::default();
        let mut same = 0;
        for _ in 0..TURNS {
            let (completion, again) = way.ask(&self.body(form, task, &messages, seed)).await?;
            outcome.again += again;
            let count = |key: &str| completion["usage"][key].as_u64().unwrap_or_default();
            outcome.read += count("prompt_tokens");
            outcome.wrote += count("completion_tokens");
            let reply = form.read(task, &completion["choices"][0]["message"]);
            outcome.faults.add(form, task, &reply);
            outcome.came.push(shown(&reply));
            if !matches!(task.want, Want::Files { .. }) {
                return Ok(judge::one(form, task, &reply));
            }
            let again = reply
                .calls
                .iter()
                .map(|call| (&call.name, &call.arguments))
                .eq(last.calls.iter().map(|call| (&call.name, &call.arguments)));
            same = if again { same + 1 } else { 1 };
            let results: Vec<String> = reply.calls.iter().map(|call| world.run(&call.name, &call.arguments)).collect();
            form.extend(&mut messages, &reply, &results);
            last = reply;
            if last.calls.is_empty() || same == SAME {
                break;
            }
        }
        Ok(judge::end(task, &world, &last))
    }

    fn body(&self, form: Form, task: &Task, messages: &[Value], seed: u64) -> Value {
        let mut body = form.request(task, messages);
        body["model"] = json!(self.model);
        body["temperature"] = json!(self.temperature());
        body["seed"] = json!(seed + 1);
        body["max_tokens"] = json!(self.max_tokens);
        body
    }

    fn temperature(&self) -> f64 {
        self.temperature.unwrap_or(if self.repeat > 1 { 0.7 } else { 0.0 })
    }

    fn key(&self, form: Form, way: &Way, task: &Task, seed: u64) -> String {
        let (form, way, id, digest) = (form.name(), &way.name, &task.id, task.digest());
        format!("{} {form} {way} {id} {seed} {} {} {digest:016x}", self.model, self.temperature(), self.max_tokens)
    }

    /// The outcomes of earlier runs, except failed requests, which are repeated.
    fn known(&self) -> Result<HashMap<String, Outcome>, Error> {
        let text = match fs::read_to_string(&self.results) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
            Err(error) => return Err(self.unusable(&error)),
        };
        // The last line may be cut off, where a run was interrupted.
        let outcomes = text.lines().filter_map(|line| serde_json::from_str::<Outcome>(line).ok());
        Ok(outcomes.filter(|outcome| outcome.verdict != Verdict::Error).map(|outcome| (outcome.key.clone(), outcome)).collect())
    }

    fn unusable(&self, error: &dyn std::fmt::Display) -> Error {
        Error::proxy(format!("the results in {}: {error}", self.results.display()))
    }
}

impl Progress {
    /// Draws a bar on a terminal; elsewhere it is a line every few seconds.
    fn show(&mut self, messages: &mut dyn Write, done: usize, all: usize, now: &str) {
        const WIDTH: usize = 24;
        let left = all.saturating_sub(done) as u32;
        let left = (self.begun.elapsed() / self.asked.max(1) * left).as_secs();
        let left = if self.asked == 0 { String::new() } else { format!(", about {}:{:02} left", left / 60, left % 60) };
        // Whoever closed it does not want to see it.
        if std::io::stderr().is_terminal() {
            let filled = done * WIDTH / all.max(1);
            let end = if done == all { "\n" } else { "" };
            let bar = format!("[{}{}]", "#".repeat(filled), ".".repeat(WIDTH - filled));
            let _ = write!(messages, "\r\x1b[K{bar} {done}/{all}{left} {now}{end}");
        } else if done == all || self.said.is_none_or(|said| said.elapsed() >= SAY) {
            self.said = Some(Instant::now());
            let _ = writeln!(messages, "{done}/{all}{left} {now}");
        }
        let _ = messages.flush();
    }
}

/// An answer in one line.
fn shown(reply: &Reply) -> String {
    let calls = reply.calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
    let text = (!reply.text.trim().is_empty()).then(|| format!("text: {}", reply.text.trim()));
    let line = calls.chain(text).collect::<Vec<_>>().join("; ");
    let most = line.floor_char_boundary(600);
    line.get(..most).unwrap_or_default().to_owned()
}
