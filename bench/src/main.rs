//! `toolglot-bench`: measurements with real models, straight or through the proxy in one of its ways to offer tools.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use serde::Deserialize;
use serde_json::Value;

use toolglot::{
    backend::ToolMode,
    config::{Config, Environment, Route},
    error::Error,
    openai::ChatRequest,
    server::{self, App, Settings, survey},
};

mod bfcl;
mod form;
mod judge;
mod live;
mod report;
mod task;
mod world;

/// Measures models with real requests, straight and through the proxy.
#[derive(Debug, Parser)]
#[command(name = "toolglot-bench", version, max_term_width = 100)]
enum Bench {
    /// Give a model the same tasks straight and through the proxy, and recommend how to ask it
    Live(live::Live),
}

fn main() -> ExitCode {
    let Bench::Live(live) = Bench::parse();
    match live.run(&Environment::of_process(), &mut io::stdout().lock(), &mut io::stderr().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to hear that standard error is closed.
            let _ = writeln!(io::stderr(), "toolglot-bench: {}", error.message);
            ExitCode::FAILURE
        }
    }
}

/// A way to the model.
pub(crate) struct Way {
    /// `straight`, or what `tools` on a route says.
    pub(crate) name: String,
    app: App,
}

/// The ways there are, in the order of the table.
pub(crate) const NAMES: [&str; 5] = ["straight", "native", "prompt", "raw", "client"];

impl Way {
    /// Opens the way: a server of its own, so that nothing is learned from another one.
    pub(crate) fn open(name: &str, model: &str, config: &Config, environment: &Environment) -> Result<Way, Error> {
        let mut config = Config { store: None, ..config.clone() };
        if let Some(tools) = mode(name)? {
            let own = config.route(model).cloned();
            let route = Route { model: model.to_owned(), tools: Some(tools), ..own.unwrap_or_else(|| empty(model)) };
            config.options.routes.insert(0, route);
        }
        Ok(Way { name: name.to_owned(), app: server::app(Settings::of(config, environment))? })
    }

    /// Fails if no backend lists the model: each task would take its time to fail.
    pub(crate) async fn check(&self, model: &str) -> Result<(), Error> {
        let found = survey::survey(&self.app, Some(model)).await;
        match found.iter().all(|found| found.models.is_empty()) {
            true => Err(Error::client(survey::problems(&found, Some(model), &survey::places(&self.app)).join("\n"))),
            false => Ok(()),
        }
    }

    /// The completion in OpenAI's form, and how often the model was asked again for it.
    pub(crate) async fn ask(&self, body: &Value) -> Result<(Value, u64), Error> {
        if self.name == "straight" {
            return Ok((survey::straight(&self.app, body).await?, 0));
        }
        let tried = survey::ask(&self.app, ChatRequest::from_value(body.clone())?, None).await?;
        Ok((tried.completion, tried.asked_again))
    }

    /// How tools would be offered to the model for this request.
    pub(crate) async fn planned(&self, body: &Value) -> Result<ToolMode, Error> {
        Ok(survey::planned(&self.app, ChatRequest::from_value(body.clone())?).await?.tool_mode())
    }
}

/// What a way's name means on a route; `None`: it is the straight one.
fn mode(name: &str) -> Result<Option<ToolMode>, Error> {
    if name == "straight" {
        return Ok(None);
    }
    let mode = ToolMode::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name));
    mode.map(Some).map_err(|_| Error::proxy(format!("there is no way `{name}`; there are: {}", NAMES.join(", "))))
}

fn empty(model: &str) -> Route {
    Route { model: model.to_owned(), backend: None, adapter: None, mode: None, tools: None }
}
