//! `toolglot doctor`: reports which backends answer, how toolglot would ask each model and why, whether a client has found
//! the proxy, and at which addresses the proxy can be reached. `--try` also sends a model real requests. The report is for
//! people, or JSON.

use std::{io::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::{
    adapters,
    given::{self, Given},
    output,
    proxy::Proxy,
};
use crate::{
    backend::Kind,
    config::{Config, Environment},
    error::Error,
    openai::tokens,
    server::{
        self, App, Settings,
        survey::{self, Surveyed},
    },
};

mod addresses;
mod last;
pub(super) mod table;
#[cfg(test)]
mod tests;
mod trial;

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

/// What was found. `doctor`, `models` and `toolglot` alone print it, each in its way.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    toolglot: &'static str,
    pub(super) proxy: Proxy,
    /// Facts about this machine's addresses, one sentence each.
    addresses: Vec<String>,
    /// The backends with their models, without recordings.
    pub(super) backends: Vec<Surveyed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<trial::Trial>,
    /// An estimate of the tokens that the given tools cost; `None` if none were given.
    tools_cost: Option<u64>,
    /// Problems, each with its remedy. If there are any, the command exits with 1.
    problems: Vec<String>,
    /// Where backends are looked for, if none is configured.
    #[serde(skip)]
    pub(super) places: String,
}

impl Doctor {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let config = self.given.load_without_secrets(environment)?;
        let tools = self.tools.as_deref().map(given::tools).transpose()?;
        let report = super::block_on(async {
            let (app, mut report) = Report::look(config, environment, self.model.as_deref()).await?;
            report.tools_cost = tools.map(|tools| tokens::usual(json!(tools).to_string().len() as u64));
            if let (true, Some(model)) = (self.tried, &self.model) {
                let trial = trial::run(&app, model).await?;
                report.problems.extend(trial.problems());
                for backend in report.backends.iter().filter(|backend| !backend.models.is_empty()) {
                    last::keep(environment, &backend.name, &trial).await;
                }
                report.tried = Some(trial);
            }
            Ok(report)
        })?;
        output::print(out, &if self.json { output::json(&report)? } else { table::table(&report) })?;
        output::fail_with(report.problems.len())
    }
}

impl Report {
    /// Looks at the proxy, and at the backends of this configuration with their models, or only the models of this name.
    pub(super) async fn look(config: Config, environment: &Environment, model: Option<&str>) -> Result<(App, Report), Error> {
        let proxy = Proxy::look(&config.listen).await;
        let addresses = addresses::addresses(&addresses::Facts::of_this_machine(), &config.listen);
        let keys = config.access.missing.iter().map(|missing| missing.what.clone());
        let missing =
            config.backends.iter().filter_map(|backend| Some(format!("backend {}: {}", backend.name, backend.missing.as_ref()?)));
        let missing: Vec<String> = keys.chain(missing).map(|what| format!("{what}; `serve` does not start without it")).collect();
        let passed_over =
            config.passed_over.as_ref().map(|file| format!("{} belongs to another program and is not read", file.display()));
        // What is tried here is nothing for others to learn from.
        let config = Config { store: None, ..proxy.joined(config) };
        let app = server::app(Settings::of(config, environment))?;
        let mut backends = survey::survey(&app, model).await;
        for found in &mut backends {
            for model in &mut found.models {
                model.tried = last::of(environment, &found.name, &model.name).await;
            }
        }
        let places = survey::places(&app);
        let problems = [missing, survey::problems(&backends, model, &places)].concat();
        backends.retain(|found| found.backend.kind != Kind::Replay);
        let addresses = passed_over.into_iter().chain(addresses).collect();
        Ok((
            app,
            Report {
                toolglot: env!("CARGO_PKG_VERSION"),
                proxy,
                addresses,
                backends,
                tried: None,
                tools_cost: None,
                problems,
                places,
            },
        ))
    }
}
