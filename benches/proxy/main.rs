//! What toolglot costs beside a plain proxy: the same streams straight from a scripted backend, through the distribution's nginx,
//! and through toolglot, in turns within one run. Every figure is also given as a ratio to nginx in the same round.
//!
//! `cargo bench --bench proxy -- [--rounds N] [NAME ...]`      (Linux; needs `nginx`; names: see [`SCENARIOS`])
//!
//! nginx has one worker, toolglot `workers = 1`. Processor time is what the kernel counts for all threads of a process; the load and
//! the backend are threads of the bench and are not in it. Latencies are absolute: a piece carries the time at which the backend
//! wrote it. On a machine with two cores the load takes one of them, so latencies at saturation say little, processor time does.

#![allow(clippy::expect_used, reason = "a measurement ends where it cannot go on")]

use std::{
    io::{self, Write},
    time::Duration,
};

mod backend;
mod load;
mod parts;
mod relay;

use load::{Load, Outcome};
use parts::Target;

/// A row group of the table: what is asked, how often, and how many at once.
struct Scenario {
    name: &'static str,
    load: Load,
    /// Whose figures are of interest: by name in [`parts::targets`].
    targets: &'static [&'static str],
}

const PLAIN: &[&str] = &["direct", "nginx", "libraries alone", "toolglot"];
const ALL: &[&str] = &["direct", "nginx", "libraries alone", "toolglot", "with page", "with scraper", "react", "shell"];
const PACE: Duration = Duration::from_millis(20);
const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "paced", load: Load { streams: 200, at_once: 200, pieces: 150, pace: PACE, ..Load::CHAT }, targets: ALL },
    Scenario { name: "saturated", load: Load { streams: 600, at_once: 32, pieces: 400, ..Load::CHAT }, targets: ALL },
    Scenario { name: "one", load: Load { streams: 400, at_once: 1, pieces: 1, ..Load::CHAT }, targets: PLAIN },
    Scenario { name: "starts", load: Load { streams: 200, at_once: 200, pieces: 5, pace: PACE, ..Load::CHAT }, targets: PLAIN },
    Scenario { name: "tools", load: Load { streams: 100, at_once: 1, pieces: 1, large: true, ..Load::CHAT }, targets: PLAIN },
    Scenario {
        name: "ollama",
        load: Load { streams: 300, at_once: 32, pieces: 400, ndjson: true, ..Load::CHAT },
        targets: &["direct", "nginx", "toolglot, Ollama"],
    },
];
const ROUNDS: usize = 5;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut rounds, mut wanted) = (ROUNDS, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--relay" => {
                let mut port = || arguments.next().and_then(|port| port.parse().ok()).expect("--relay PORT BACKEND");
                return relay::serve(port(), port());
            }
            "--rounds" => rounds = arguments.next().and_then(|count| count.parse().ok()).expect("--rounds N"),
            name if SCENARIOS.iter().any(|scenario| scenario.name == name) => wanted.push(argument),
            other => return Err(io::Error::other(format!("there is no scenario {other}"))),
        }
    }
    let folder = tempfile::tempdir()?;
    let port = backend::start()?;
    let targets = parts::targets(folder.path(), port)?;
    memory(&targets)?;
    for scenario in SCENARIOS.iter().filter(|scenario| wanted.is_empty() || wanted.iter().any(|name| name == scenario.name)) {
        measure(scenario, &targets, rounds)?;
    }
    Ok(())
}

fn measure(scenario: &Scenario, targets: &[Target], rounds: usize) -> io::Result<()> {
    let targets: Vec<&Target> = targets.iter().filter(|target| scenario.targets.contains(&target.name)).collect();
    let mut measured: Vec<Vec<Outcome>> = targets.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for at in 0..targets.len() {
            // Another one begins each time.
            let at = (at + round) % targets.len();
            let outcome = load::run(&scenario.load, targets[at])?;
            // The first round is for everything that happens once.
            if round > 0 {
                measured[at].push(outcome);
            }
        }
    }
    let mut out = io::stdout();
    let Load { streams, at_once, pieces, .. } = scenario.load;
    writeln!(
        out,
        "\n### {}: {streams} answers of {pieces} pieces, {at_once} at once, medians of {rounds} rounds\n",
        scenario.name
    )?;
    if scenario.load.large {
        writeln!(
            out,
            "Parsing the body ({} bytes) once with serde_json takes {:.0} us.\n",
            scenario.load.body().len(),
            parse(&scenario.load)
        )?;
    }
    writeln!(
        out,
        "| | CPU us per piece | x nginx | CPU us per answer | first text p50 us | x nginx | piece p50 us | x nginx | resident MB |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    let nginx = targets.iter().position(|target| target.name == "nginx").expect("nginx is in every scenario");
    for (target, outcomes) in targets.iter().zip(&measured) {
        let figure = |of: fn(&Outcome) -> f64| median(outcomes.iter().map(of).collect());
        let ratio = |of: fn(&Outcome) -> f64| {
            median(outcomes.iter().zip(&measured[nginx]).map(|(ours, theirs)| of(ours) / of(theirs)).collect())
        };
        let row = [
            (1, figure(|outcome| outcome.processor / outcome.pieces)),
            (2, ratio(|outcome| outcome.processor / outcome.pieces)),
            (0, figure(|outcome| outcome.processor / outcome.answers)),
            (0, figure(|outcome| outcome.first)),
            (2, ratio(|outcome| outcome.first)),
            (0, figure(|outcome| outcome.piece)),
            (2, ratio(|outcome| outcome.piece)),
            (0, figure(|outcome| outcome.resident / 1e6)),
        ];
        let cell = |(digits, figure): (usize, f64)| if figure.is_nan() { "-".to_owned() } else { format!("{figure:.digits$}") };
        writeln!(out, "| {} | {} |", target.name, row.map(cell).join(" | "))?;
    }
    out.flush()
}

/// What a process holds before anything was asked of it, and what a connection costs that nobody uses.
fn memory(targets: &[Target]) -> io::Result<()> {
    const IDLE: usize = 500;
    let mut out = io::stdout();
    writeln!(out, "| | idle MB | kB per idle connection |\n|---|---|---|")?;
    for target in targets.iter().filter(|target| matches!(target.name, "nginx" | "toolglot")) {
        load::run(&Load { streams: 1, at_once: 1, pieces: 1, ..Load::CHAT }, target)?;
        let before = target.resident();
        let connections = load::idle(target, IDLE)?;
        let each = (target.resident() - before) / IDLE as f64;
        drop(connections);
        writeln!(out, "| {} | {:.0} | {:.1} |", target.name, before / 1e6, each / 1e3)?;
    }
    Ok(())
}

/// Microseconds to read the body into a tree.
fn parse(load: &Load) -> f64 {
    let body = load.body();
    let once = || {
        let begun = std::time::Instant::now();
        let value: serde_json::Value = serde_json::from_str(&body).expect("the body is JSON");
        std::hint::black_box(value);
        begun.elapsed().as_secs_f64() * 1e6
    };
    median((0..50).map(|_| once()).collect())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
