//! `toolglot` alone, on a terminal: what runs, what was found, and what to do next.

use std::{fmt::Write as _, io::Write};

use super::{
    doctor::{Report, table::backend_line},
    given::Configured,
    output::print,
};
use crate::{config::Environment, error::Error};

/// Names at most this many models of a backend.
const SHOWN: usize = 4;
/// What to do next: whether the proxy runs, whether it has models, and the commands.
const NEXT: [(bool, bool, &str); 4] = [
    (
        false,
        true,
        "next      toolglot serve                start the proxy
          toolglot run claude           Claude Code on these models (codex, opencode, ..)
          toolglot setup CLIENT         the settings for another client",
    ),
    (
        true,
        true,
        "next      toolglot run claude           Claude Code on these models (codex, opencode, ..)
          toolglot setup CLIENT         the settings for another client
          toolglot logs                 follow what it does",
    ),
    (
        false,
        false,
        "next      toolglot serve --demo         try it on recorded answers, without a model
          toolglot serve --backend URL  with a model server at another address
          toolglot doctor               what was looked for, and what is wrong",
    ),
    (
        true,
        false,
        "next      toolglot doctor               what was looked for, and what is wrong
          toolglot logs                 follow what it does
          toolglot setup CLIENT         the settings for a client",
    ),
];

pub(super) fn run(environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
    let config = Configured::default().load_own(environment, &mut std::io::stderr())?;
    let report = super::block_on(async { Ok(Report::look(config, environment, None, &[]).await?.1) })?;
    print(out, &shown(&report))
}

fn shown(Report { proxy, backends, places, .. }: &Report) -> String {
    let mut out = format!("toolglot {}: tool calls of local models, in the form that the client executes\n\n", super::VERSION);
    let running = match &proxy.running {
        Some(version) => format!("runs at {} (version {version}), with its page there", proxy.url),
        None => format!("does not run ({})", proxy.url),
    };
    let _ = writeln!(out, "proxy     {running}");
    for backend in backends {
        let names: Vec<&str> = backend.models.iter().map(|model| model.name.as_str()).take(SHOWN).collect();
        let more = if backend.listed > names.len() { ", .." } else { "" };
        let names = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
        let _ = writeln!(out, "backend   {}{names}", backend_line(backend));
    }
    if backends.is_empty() {
        let _ = writeln!(out, "backend   none yet: looked for {places}");
    }
    let has_models = backends.iter().any(|found| found.listed > 0);
    let now = (proxy.running.is_some(), has_models);
    let next = NEXT.iter().find(|(runs, has, _)| (*runs, *has) == now).map(|(.., text)| *text);
    let _ = writeln!(out, "{}\n\n`toolglot --help` lists all commands", next.unwrap_or_default());
    out
}
