//! `toolglot adapters`: lists the adapters, or says which one a model gets, why, and how well it is tested.

use std::{fmt::Write as _, io::Write, path::PathBuf, sync::Arc};

use clap::Args;
use serde_json::{Map, Value};

use super::output::{columns, print};
use crate::{
    adapter::{Adapter, Call, Found, Library, Written},
    config::{Config, Environment, Overrides},
    error::Error,
    server,
};

/// Lists the adapters, or tells which one a model gets.
#[derive(Debug, Args)]
pub struct Adapters {
    /// A model's name as its backend writes it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Print the list as a Markdown table, with a call of each family
    #[arg(long, conflicts_with = "model")]
    markdown: bool,
    /// A directory of adapter files that replace built-in ones of the same name [default: the one that `serve` uses]
    #[arg(long, value_name = "DIRECTORY")]
    adapters: Option<PathBuf>,
}

impl Adapters {
    /// Runs the command.
    ///
    /// # Errors
    /// What was wrong, for `main` to print.
    pub fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let library = match &self.adapters {
            Some(directory) => Library::with_overlay(directory)?,
            None => server::library(&Config::load(&Overrides { here: true, ..Overrides::default() }, environment)?)?,
        };
        let text = match &self.model {
            None if self.markdown => table(&library),
            None => list(&library),
            Some(model) => one(model, &library.find(model, None)),
        };
        print(out, &text)
    }
}

/// One line for each adapter.
fn list(library: &Library) -> String {
    let row = |adapter: &Arc<Adapter>| {
        let models = match adapter.signs.models.as_slice() {
            [] => "every model that no other adapter knows".to_owned(),
            models => models.join(" "),
        };
        [adapter.name.clone(), adapter.proven().0.to_owned(), models]
    };
    columns(&library.iter().map(row).collect::<Vec<_>>()).map(|line| line + "\n").collect()
}

/// One row of a Markdown table for each adapter.
fn table(library: &Library) -> String {
    let arguments = Map::from_iter([("city".to_owned(), Value::from("Oslo"))]);
    let call = [Written { name: "get_weather".to_owned(), id: Some("call1".to_owned()), arguments }];
    let code = |text: &str| {
        let (ticks, text) = (if text.contains('`') { "`` " } else { "`" }, text.replace('\n', "⏎").replace('|', "\\|"));
        format!("{ticks}{text}{}", ticks.chars().rev().collect::<String>())
    };
    let mut out = "| family | models | a call (⏎ is a line break) | evidence |\n|---|---|---|---|\n".to_owned();
    for adapter in library.iter() {
        let models = match adapter.signs.models.as_slice() {
            [] => "every other model".to_owned(),
            models => models.iter().map(|model| code(model)).collect::<Vec<_>>().join(" "),
        };
        let call = adapter.write(&call).map_or_else(|| "bare JSON, common tags".to_owned(), |text| code(&text));
        let _ = writeln!(out, "| {} | {models} | {call} | {} |", adapter.name, adapter.proven().0);
    }
    out
}

/// The adapter that reads the answers of this model, why, and how well it is tested.
fn one(model: &str, found: &Found) -> String {
    let (name, (word, meaning)) = (&found.adapter.name, found.adapter.proven());
    format!("model      {model}\nadapter    {name}: {}\nproof      {word}: {meaning}\n", found.why)
}

/// The texts that begin a call of this form.
pub(super) fn entries(call: &Call) -> String {
    let markers: Vec<String> = call.section.iter().chain(&call.open).filter(|marker| !marker.is_empty()).cloned().collect();
    let mut entries: Vec<String> = Some(quoted(&markers)).filter(|markers| !markers.is_empty()).into_iter().collect();
    for marker in &call.stripped {
        entries.push(if marker.is_empty() { "no marker".to_owned() } else { format!("{marker:?}, which is not a token") });
    }
    if !call.fence.is_empty() {
        entries.push("a code fence".to_owned());
    }
    if call.element {
        entries.push("a tag named after the tool".to_owned());
    }
    entries.join(", ")
}

fn quoted(markers: &[String]) -> String {
    markers.iter().map(|marker| format!("{marker:?}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
