//! `toolglot adapters`: which adapter a model gets, why, and how well that one is proven; without a model, all of them.

use std::{fmt::Write as _, io::Write, path::PathBuf};

use clap::Args;

use crate::{
    adapter::{Call, Found, Inside, Library, Proof},
    error::Error,
};

/// Lists the adapters, or tells which one a model gets.
#[derive(Debug, Args)]
pub struct Adapters {
    /// A model's name as its backend writes it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The model's chat template: it says more than a name
    #[arg(long, value_name = "FILE", requires = "model")]
    template: Option<PathBuf>,
    /// A directory of adapter files that go over the built-in ones
    #[arg(long, value_name = "DIRECTORY")]
    adapters: Option<PathBuf>,
}

// === impl Adapters ===

impl Adapters {
    /// Runs the command.
    pub fn run(self, out: &mut dyn Write) -> Result<(), Error> {
        let library = match &self.adapters {
            Some(directory) => Library::with_overlay(directory)?,
            None => Library::embedded()?,
        };
        let text = match &self.model {
            None => list(&library),
            Some(model) => {
                let template = match &self.template {
                    None => None,
                    Some(path) => Some(
                        std::fs::read_to_string(path).map_err(|error| Error::client(format!("{}: {error}", path.display())))?,
                    ),
                };
                one(model, &library.find(model, template.as_deref()))
            }
        };
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Error::proxy(format!("adapters: {error}")))
    }
}

/// One line for each adapter.
fn list(library: &Library) -> String {
    let width = library.iter().map(|adapter| adapter.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for adapter in library.iter() {
        let models = if adapter.models.is_empty() {
            "every model that no other adapter knows".to_owned()
        } else {
            adapter.models.join(" ")
        };
        let _ = writeln!(out, "{:width$}  {:8}  {models}", adapter.name, proof(adapter.proof).0);
    }
    out
}

/// Everything that decides how the answers of this model are read.
fn one(model: &str, found: &Found) -> String {
    let adapter = &found.adapter;
    let (word, meaning) = proof(adapter.proof);
    let mut out = String::new();
    let _ = writeln!(out, "model      {model}");
    let _ = writeln!(out, "adapter    {}: {}", adapter.name, found.why);
    let _ = writeln!(out, "proof      {word}: {meaning}");
    if let Some(reasoning) = &adapter.reasoning {
        let inside = match reasoning.tool_call_inside {
            Inside::Ignore => "a call in there is a draft",
            Inside::ImplicitEnd => "a call in there ends it",
            Inside::PromoteAtEnd => "a call in there counts if nothing else comes",
            Inside::Parse => "a call in there counts",
        };
        let _ = writeln!(out, "reasoning  {} ... {}; {inside}", reasoning.open.join(" or "), reasoning.close.join(" or "));
    }
    for (at, call) in adapter.calls.iter().enumerate() {
        let label = if at == 0 { "calls" } else { "or" };
        let _ = writeln!(out, "{label:10} {}", entries(call));
    }
    out
}

/// What begins a call of this form.
pub(super) fn entries(call: &Call) -> String {
    let quoted = |marker: &String| format!("{marker:?}");
    let mut entries: Vec<String> =
        call.section.iter().chain(&call.open).filter(|marker| !marker.is_empty()).map(quoted).collect();
    for marker in &call.stripped {
        entries.push(if marker.is_empty() { "no marker".to_owned() } else { format!("{marker:?}, which is no token") });
    }
    if !call.fence.is_empty() {
        entries.push("a code fence".to_owned());
    }
    if call.element {
        entries.push("a tag named after the tool".to_owned());
    }
    entries.join(", ")
}

/// The word for a level of proof, and what it means.
pub(super) fn proof(proof: Proof) -> (&'static str, &'static str) {
    match proof {
        Proof::Doc => ("doc", "written from the vendor's documentation, never seen at work"),
        Proof::Suite => ("suite", "passes the cases of servers that run the family"),
        Proof::Recorded => ("recorded", "checked against recorded answers of real models"),
        Proof::Live => ("live", "checked against a running model"),
    }
}

#[cfg(test)]
mod tests;
