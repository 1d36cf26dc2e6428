//! `toolglot models`: lists every model with its backend, its adapter, how toolglot would ask it and why, and the result of
//! its last trial.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::{
    doctor::{self, Model},
    given::Given,
    output::{columns, json, print},
};
use crate::{
    backend::Kind,
    config::{Config, Environment},
    error::Error,
    server::survey,
};

/// `toolglot models`.
#[derive(Debug, Args)]
pub(super) struct Models {
    #[command(flatten)]
    given: Given,
    /// Write one JSON array instead of a table
    #[arg(long)]
    json: bool,
}

/// A model of a backend.
#[derive(Debug, Serialize)]
struct Row {
    backend: String,
    #[serde(flatten)]
    model: Model,
}

const HEAD: [&str; 8] = ["MODEL", "BACKEND", "ADAPTER", "PROOF", "TOOLS", "CONTEXT", "TRIED", "WHY"];

// === impl Models ===

impl Models {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let config = self.given.load_without_secrets(environment)?;
        let rows = super::block_on(rows(config, environment, remarks))?;
        print(out, &if self.json { json(&rows)? } else { table(&rows) })
    }
}

async fn rows(config: Config, environment: &Environment, remarks: &mut dyn Write) -> Result<Vec<Row>, Error> {
    let (app, surveyed) = doctor::surveyed(config, environment, None, &[]).await?;
    let mut rows = Vec::new();
    // Nobody is left to hear that standard error is closed.
    let mut remark = |text: String| _ = writeln!(remarks, "toolglot: {text}");
    let real = surveyed.iter().filter(|found| found.backend.kind != Kind::Replay);
    for found in real.clone() {
        let backend = doctor::Backend::of(found, environment).await;
        if let Some(error) = &backend.error {
            remark(format!("backend {} at {}: {error}", backend.name, backend.url));
        }
        rows.extend(backend.models.into_iter().map(|model| Row { backend: backend.name.clone(), model }));
    }
    if real.count() == 0 {
        return Err(Error::proxy(format!("no backend: looked for {}", survey::places(&app).join(", "))));
    }
    Ok(rows)
}

fn table(rows: &[Row]) -> String {
    let cells = |Row { backend, model }: &Row| {
        let context = model.context.map_or_else(|| "?".to_owned(), |context| context.to_string());
        let tried = model.tried.as_ref().map_or_else(|| "never".to_owned(), ToString::to_string);
        let words = [&model.name, backend, &model.adapter, model.proof, model.tools, &context, &tried, model.tools_why];
        words.map(str::to_owned)
    };
    let all: Vec<[String; 8]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    columns(&all).map(|line| line + "\n").collect()
}
