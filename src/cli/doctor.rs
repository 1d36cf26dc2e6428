//! `toolglot doctor`: reports which backends answer, how toolglot would ask each model and why, whether a client has found
//! the proxy, and at which addresses the proxy can be reached. `--try` also sends a model real requests. The report is for
//! people, or JSON.

use std::{io::Write, path::PathBuf, time::Duration};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{
    adapters,
    given::{self, Given},
    output,
};
use crate::{
    backend::{self, Kind},
    config::{Config, Environment, Listen},
    error::Error,
    redact,
    server::{
        self, App, Settings,
        survey::{self, Spoken, Surveyed},
    },
    upstream::{Client, HttpRequest, Outgoing, Timeouts},
};

mod addresses;
mod last;
mod table;
#[cfg(test)]
mod tests;
mod trial;

use last::LastTrial;

/// Looks at backends, models and clients, and says what is wrong.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    given: Given,
    /// Look only at this model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Send the model a few real requests with tools, and say what came back
    #[arg(long = "try", requires = "model")]
    tried: bool,
    /// A JSON file with tools in OpenAI's form: report how many tokens they cost each model
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Write one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// The report.
#[derive(Debug, Serialize)]
struct Report {
    toolglot: &'static str,
    proxy: Proxy,
    /// Facts about this machine's addresses, one sentence each.
    addresses: Vec<String>,
    backends: Vec<Backend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<trial::Trial>,
    /// Problems, each with its remedy. If there are any, the command exits with 1.
    problems: Vec<String>,
}

/// The proxy that clients talk to.
#[derive(Debug, Serialize)]
struct Proxy {
    url: String,
    /// Its version, if it runs.
    running: Option<String>,
    /// How often clients asked for the list of models, and for answers.
    lists: u64,
    chats: u64,
    /// The conclusion, for people.
    verdict: String,
}

/// A backend in the report.
#[derive(Debug, Serialize)]
pub(super) struct Backend {
    pub(super) name: String,
    pub(super) url: String,
    kind: &'static str,
    version: Option<String>,
    reachable: bool,
    pub(super) error: Option<String>,
    /// Number of models that it lists.
    listed: usize,
    pub(super) models: Vec<Model>,
}

/// A model, and how toolglot would ask it.
#[derive(Debug, Serialize)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) adapter: String,
    adapter_why: String,
    pub(super) proof: &'static str,
    proof_means: &'static str,
    pub(super) tools: &'static str,
    pub(super) tools_why: &'static str,
    capabilities: Option<Vec<&'static str>>,
    /// Its context, in tokens.
    pub(super) context: Option<u64>,
    /// The result of the last `doctor --try`.
    pub(super) tried: Option<LastTrial>,
    /// Tokens that the given tools cost.
    tools_cost: Option<u64>,
    notes: Vec<String>,
}

/// How long to wait for the proxy.
const PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_BYTES: usize = 64 * 1024;
const SHOWN_CHARS: usize = 500;

// === impl Doctor ===

impl Doctor {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let config = self.given.load_without_secrets(environment)?;
        let json = self.json;
        let report = super::block_on(self.look(config, environment))?;
        output::print(out, &if json { output::json(&report)? } else { table::table(&report) })?;
        output::fail_with(report.problems.len())
    }

    async fn look(self, config: Config, environment: &Environment) -> Result<Report, Error> {
        let tools = self.tools.as_deref().map(given::tools).transpose()?.unwrap_or_default();
        let proxy = Proxy::look(&config.listen).await;
        let addresses = addresses::addresses(&addresses::Facts::of_this_machine(), &config.listen);
        let missing = config.backends.iter().filter_map(|backend| {
            Some(format!("backend {}: {}; `serve` does not start without it", shown(&backend.name), backend.missing.as_ref()?))
        });
        let missing: Vec<String> = missing.collect();
        let passed_over =
            config.passed_over.as_ref().map(|file| format!("{} belongs to another program and is not read", file.display()));
        let (app, surveyed) = surveyed(config, environment, self.model.as_deref(), &tools).await?;
        let mut backends = Vec::new();
        for found in surveyed.iter().filter(|found| found.backend.kind != Kind::Replay) {
            backends.push(Backend::of(found, environment).await);
        }
        let mut report = Report {
            toolglot: env!("CARGO_PKG_VERSION"),
            problems: [missing, survey::problems(&surveyed, self.model.as_deref(), &survey::places(&app))].concat(),
            backends,
            proxy,
            addresses: passed_over.into_iter().chain(addresses).collect(),
            tried: None,
        };
        if let (true, Some(model)) = (self.tried, &self.model) {
            let trial = trial::run(&app, model).await;
            report.problems.extend(trial.problems());
            for backend in report.backends.iter().filter(|backend| !backend.models.is_empty()) {
                LastTrial::keep(environment, &backend.name, model, &trial).await;
            }
            report.tried = Some(trial);
        }
        Ok(report)
    }
}

/// The backends of this configuration with their models, and how toolglot would ask them.
pub(super) async fn surveyed(
    config: Config,
    environment: &Environment,
    model: Option<&str>,
    tools: &[Value],
) -> Result<(App, Vec<Surveyed>), Error> {
    // What is tried here is nothing for others to learn from.
    let config = Config { store: None, ..config };
    let app = server::app(Settings::of(config, environment))?;
    let surveyed = survey::survey(&app, model, tools).await?;
    Ok((app, surveyed))
}

// === impl Proxy ===

impl Proxy {
    /// Asks the address at which clients expect the proxy.
    async fn look(listen: &Listen) -> Proxy {
        let address = listen.addresses.first().map(|address| {
            if address.ip().is_unspecified() { format!("127.0.0.1:{}", address.port()) } else { address.to_string() }
        });
        let url = format!("http://{}", address.unwrap_or_default());
        let health = health(&url).await;
        let running = health.as_ref().and_then(|health| health.get("toolglot")?.as_str()).map(str::to_owned);
        let count = |what: &str| health.as_ref().and_then(|health| health.get("requests")?.get(what)?.as_u64()).unwrap_or(0);
        let (lists, chats) = (count("models"), count("chats"));
        let verdict = match (&running, &health, lists, chats) {
            (None, None, ..) => "nothing runs there: start `toolglot serve`".to_owned(),
            (None, Some(_), ..) => {
                "something else answers there: `toolglot serve` says what, and takes another port with --listen".to_owned()
            }
            (Some(_), _, 0, 0) => format!(
                "it runs, and no client has asked it for anything: enter {url}/v1 as the OpenAI base URL; Void finds it by itself under vLLM"
            ),
            (Some(_), _, lists, 0) => format!(
                "a client has read the list of models ({lists} times) and never asked for an answer: in Void choose the entry under vLLM"
            ),
            (Some(_), _, _, chats) => format!("clients have asked for {chats} answers"),
        };
        Proxy { url, running, lists, chats, verdict }
    }
}

async fn health(url: &str) -> Option<Value> {
    let client = Client::new(Timeouts { connect: PATIENCE, idle: PATIENCE });
    let mut response = client.send(&Outgoing::Http(HttpRequest::get(format!("{url}/healthz")))).await.ok()?;
    let body = response.collect(ANSWER_BYTES).await.unwrap_or_default();
    Some(serde_json::from_slice(&body).unwrap_or_default())
}

// === impl Backend ===

impl Backend {
    /// The backend with its models and their last trials.
    pub(super) async fn of(found: &Surveyed, environment: &Environment) -> Backend {
        let mut models: Vec<Model> = found.models.iter().map(Model::from).collect();
        for model in &mut models {
            model.tried = LastTrial::of(environment, &shown(&found.backend.name), &model.name).await;
        }
        Backend {
            name: shown(&found.backend.name),
            url: shown(&found.backend.url),
            kind: found.backend.traits().title,
            version: found.version.as_deref().map(shown),
            reachable: found.error.is_none(),
            error: found.error.clone(),
            listed: found.listed,
            models,
        }
    }
}

// === impl Model ===

impl From<&Spoken> for Model {
    fn from(spoken: &Spoken) -> Model {
        let (proof, proof_means) = spoken.reader.adapter.proven();
        let can = |can: backend::Capabilities| {
            let all = [(can.tools, "tools"), (can.thinking, "thinking"), (can.vision, "vision")];
            all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect()
        };
        Model {
            name: shown(&spoken.model.id),
            adapter: spoken.reader.adapter.name.clone(),
            adapter_why: spoken.reader.why.clone(),
            proof,
            proof_means,
            tools: spoken.tools.as_str(),
            tools_why: spoken.why,
            capabilities: spoken.model.capabilities.map(can),
            context: spoken.model.context,
            tried: None,
            tools_cost: spoken.cost,
            notes: spoken.notes.iter().map(|note| shown(note)).collect(),
        }
    }
}

/// Text of a backend as one line.
fn shown(text: &str) -> String {
    redact::shown(text, SHOWN_CHARS)
}
