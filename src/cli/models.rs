//! `toolglot models`: lists every model with its backend, its adapter, how toolglot would ask it, and the result of its last
//! trial. `--json` and `toolglot doctor` also say why.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::{
    doctor::Report,
    given::Given,
    output::{columns, json, print, remark},
};
use crate::{config::Environment, error::Error, server::survey::ModelReport};

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
    model: ModelReport,
}

const HEAD: [&str; 6] = ["MODEL", "BACKEND", "ADAPTER", "TOOLS", "CONTEXT", "TRIED"];

impl Models {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let config = self.given.load_without_secrets(environment)?;
        let Report { backends, places, .. } =
            super::block_on(async { Ok(Report::look(config, environment, None, &[]).await?.1) })?;
        if backends.is_empty() {
            return Err(Error::proxy(format!("no backend: looked for {places}")));
        }
        let mut rows = Vec::new();
        for found in backends {
            if let Some(error) = &found.error {
                remark(remarks, &format!("backend {} at {}: {error}", found.name, found.url));
            }
            rows.extend(found.models.into_iter().map(|model| Row { backend: found.name.clone(), model }));
        }
        print(out, &if self.json { json(&rows)? } else { table(&rows) })
    }
}

fn table(rows: &[Row]) -> String {
    let cells = |Row { backend, model }: &Row| {
        let context = model.context.map_or_else(|| "?".to_owned(), |context| context.to_string());
        let tried = model.tried.as_ref().map_or_else(|| "never".to_owned(), ToString::to_string);
        let (adapter, tools) = (&model.adapter.name, model.tools.as_str());
        [&model.name, backend, adapter, tools, &context, &tried].map(str::to_owned)
    };
    let all: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    columns(&all).map(|line| line + "\n").collect()
}
