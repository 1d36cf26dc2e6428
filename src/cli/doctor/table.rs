//! Formats a report for people: the facts in columns, the reasons below them, the problems last.

use std::fmt::Write as _;

use super::{Report, trial::Trial};
use crate::{
    cli::output::columns,
    server::survey::{ModelReport, Surveyed},
};

pub(super) fn table(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "toolglot   {}", report.toolglot);
    let running = report.proxy.running.as_ref().map(|version| format!(" (version {version})")).unwrap_or_default();
    let _ = writeln!(out, "proxy      {}{running}\n           {}", report.proxy.url, report.proxy.verdict);
    for (at, address) in report.addresses.iter().enumerate() {
        let _ = writeln!(out, "{:10} {address}", if at == 0 { "addresses" } else { "" });
    }
    for backend in &report.backends {
        backend_lines(backend, report.tools_cost, &mut out);
    }
    if let Some(trial) = &report.tried {
        trial_lines(trial, &mut out);
    }
    if report.problems.is_empty() {
        out.push_str("\nno problem found\n")
    } else {
        out.push_str("\nproblems\n");
        for problem in &report.problems {
            let _ = writeln!(out, "  {problem}");
        }
    }
    out
}

/// A backend in a line.
fn backend_line(backend: &Surveyed) -> String {
    let Surveyed { name, url, kind, version, error, listed, .. } = backend;
    let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let state = match error {
        Some(_) => "does not answer".to_owned(),
        None if *listed == 1 => "1 model".to_owned(),
        None => format!("{listed} models"),
    };
    format!("{name}: {kind}{version} at {url}, {state}")
}

fn backend_lines(backend: &Surveyed, tools_cost: Option<u64>, out: &mut String) {
    let Surveyed { note, listed, models, .. } = backend;
    let _ = writeln!(out, "\nbackend    {}", backend_line(backend));
    if let Some(note) = note {
        let _ = writeln!(out, "      note: {note}");
    }
    if models.is_empty() {
        return;
    }
    // A column that nobody has asked for is empty, its head included.
    let costs = tools_cost.map_or("", |_| "TOOLS COST");
    let head = ["MODEL", "ADAPTER", "PROOF", "TOOLS", "CONTEXT", "CAN", costs].map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(models.iter().map(|model| row(model, tools_cost))).collect();
    for (at, line) in columns(&rows).enumerate() {
        let _ = writeln!(out, "  {line}");
        if let Some(model) = at.checked_sub(1).and_then(|at| models.get(at)) {
            let _ = writeln!(out, "      adapter: {}; {}", model.adapter_why, model.proof_means);
            let _ = writeln!(out, "      tools: {}", model.tools_why);
            if let Some(tried) = &model.tried {
                let _ = writeln!(out, "      tried: {tried}");
            }
            for note in &model.notes {
                let _ = writeln!(out, "      note: {note}");
            }
        }
    }
    if models.len() < *listed {
        let _ = writeln!(out, "  and {} more", listed - models.len());
    }
}

fn row(model: &ModelReport, tools_cost: Option<u64>) -> [String; 7] {
    let unknown = || "?".to_owned();
    let can = match &model.capabilities {
        None => unknown(),
        Some(list) if list.is_empty() => "text".to_owned(),
        Some(list) => list.join(" "),
    };
    let cost = tools_cost.map(|cost| match model.context {
        Some(context) if context > 0 => format!("{cost} ({} %)", cost * 100 / context),
        _ => cost.to_string(),
    });
    [
        model.name.clone(),
        model.adapter.name.clone(),
        model.proof.to_owned(),
        model.tools.as_str().to_owned(),
        model.context.map_or_else(unknown, |context| context.to_string()),
        can,
        cost.unwrap_or_default(),
    ]
}

fn trial_lines(trial: &Trial, out: &mut String) {
    let Trial { model, tools, learned, attempts } = trial;
    let (good, all) = (trial.good(), attempts.len());
    let _ = writeln!(out, "\ntried      {model}: {good} of {all} as they should be; tools: {tools}");
    for learned in learned {
        let _ = writeln!(out, "  learned: {learned}");
    }
    for attempt in attempts {
        let _ = writeln!(out, "  {:4} {}", if attempt.good { "ok" } else { "NOT" }, attempt.asked);
        let _ = writeln!(out, "       came: {}", attempt.came);
        if let Some(form) = &attempt.form {
            let _ = writeln!(out, "       form: {form}");
        }
        for fixed in &attempt.fixed {
            let _ = writeln!(out, "       fixed: {fixed}");
        }
        if let Some(remedy) = &attempt.remedy {
            let _ = writeln!(out, "       remedy: {remedy}");
        }
    }
}
