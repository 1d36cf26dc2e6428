//! `toolglot models`: lists every model with its backend, its adapter, how toolglot would ask it, and the result of its last
//! trial. `toolglot doctor` also says why.

use std::io::Write;

use clap::Args;

use super::{
    doctor::Report,
    given::Given,
    output::{columns, print, remark},
};
use crate::{config::Environment, error::Error, server::survey::ModelReport};

#[derive(Debug, Args)]
pub(super) struct Models {
    #[command(flatten)]
    given: Given,
}

const HEAD: [&str; 6] = ["MODEL", "BACKEND", "ADAPTER", "TOOLS", "CONTEXT", "TRIED"];

impl Models {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let config = self.given.load_without_secrets(environment)?;
        let Report { backends, places, .. } = super::block_on(async { Ok(Report::look(config, environment, None).await?.1) })?;
        if backends.is_empty() {
            return Err(Error::proxy(format!("no backend: looked for {places}")));
        }
        let mut rows = vec![HEAD.map(str::to_owned)];
        for found in &backends {
            if let Some(error) = &found.error {
                remark(remarks, &format!("backend {} at {}: {error}", found.name, found.url));
            }
            rows.extend(found.models.iter().map(|model| row(&found.name, model)));
        }
        print(out, &columns(&rows).map(|line| line + "\n").collect::<String>())
    }
}

fn row(backend: &str, model: &ModelReport) -> [String; 6] {
    let context = model.context.map_or_else(|| "?".to_owned(), |context| context.to_string());
    let tried = model.tried.as_deref().unwrap_or("never");
    [&model.name, backend, &model.adapter.name, model.tools.as_str(), &context, tried].map(str::to_owned)
}
