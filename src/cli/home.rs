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
/// What to do next, in this order: whether the proxy runs (`None`: either), whether it has models, the command, and what it does.
const NEXT: [(Option<bool>, bool, &str, &str); 9] = [
    (Some(false), true, "serve", "start the proxy"),
    (None, true, "run claude", "Claude Code on these models (codex, opencode, ..)"),
    (None, true, "setup CLIENT", "the settings for another client"),
    (Some(true), true, "logs", "follow what it does"),
    (Some(false), false, "serve --demo", "try it on recorded answers, without a model"),
    (Some(false), false, "serve --backend URL", "with a model server at another address"),
    (None, false, "doctor", "what was looked for, and what is wrong"),
    (Some(true), false, "logs", "follow what it does"),
    (Some(true), false, "setup CLIENT", "the settings for a client"),
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
    let is_next = |runs: Option<bool>, has: bool| runs.is_none_or(|runs| runs == proxy.running.is_some()) && has == has_models;
    let mut label = "next";
    for (_, _, command, what) in NEXT.into_iter().filter(|(runs, has, ..)| is_next(*runs, *has)) {
        let _ = writeln!(out, "{label:10}toolglot {command:21}{what}");
        label = "";
    }
    out.push_str("\n`toolglot --help` lists all commands\n");
    out
}
