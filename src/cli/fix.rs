//! `toolglot fix`: broken arguments on stdin -> fixed arguments on stdout, with the report of what was changed.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::event::FinishReason;
use crate::fix::{End, Fix, Report, Schemas, Verdict, fix};

/// Arguments of `toolglot fix`.
#[derive(Debug, Clone, Default, Args)]
pub struct FixArgs {
    /// JSON Schema of the tool's parameters; without it only the syntax is repaired
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// One JSON object per line: {"id", "arguments", "schema"?, "finish_reason"?}
    #[arg(long, conflicts_with = "schema")]
    pub jsonl: bool,
}

/// One line of `--jsonl` input.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    id: serde_json::Value,
    arguments: String,
    schema: Option<Box<RawValue>>,
    finish_reason: Option<String>,
    #[serde(default)]
    keeps_null: Vec<String>,
}

/// One line of `--jsonl` output.
#[derive(Serialize)]
struct Answer<'r> {
    id: &'r serde_json::Value,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    confidence: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Change<'r>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    dropped: &'r [String],
}

/// One change in the output.
#[derive(Serialize)]
struct Change<'r> {
    rule: &'static str,
    level: &'static str,
    path: &'r str,
    at: [usize; 2],
    note: &'r str,
}

/// Runs the command. Exit code 0: arguments were printed; 1: they were refused (with `--jsonl` always 0).
pub fn run(args: &FixArgs, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<ExitCode, Error> {
    if args.jsonl { lines(input, out) } else { one(args, input, out) }
}

fn lines(input: &mut dyn BufRead, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let schemas = Schemas::default();
    for (number, line) in input.lines().enumerate() {
        let line = line.map_err(failed)?;
        if line.trim().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_str(&line).map_err(|error| Error::client(format!("line {}: {error}", number + 1)))?;
        let schema = row.schema.as_ref().map(|schema| schemas.get(&Arc::from(schema.get())));
        let end = row.finish_reason.as_deref().map_or(End::Whole, |reason| End::Cut(finish_reason(reason)));
        let report = fix(&row.arguments, schema.as_deref(), &row.keeps_null, end);
        let arguments = report.accepted().map(one_line);
        let arguments = arguments.as_deref().map(serde_json::from_str::<&RawValue>).transpose();
        let answer = Answer {
            id: &row.id,
            verdict: report.verdict.as_str(),
            arguments: arguments.map_err(|error| Error::proxy(format!("line {}: the fixer wrote no JSON: {error}", number + 1)))?,
            why: report.why.as_ref().map(ToString::to_string),
            confidence: report.confidence(),
            fixes: report.fixes.iter().map(change).collect(),
            dropped: &report.dropped,
        };
        serde_json::to_writer(&mut *out, &answer).map_err(|error| failed(error.into()))?;
        out.write_all(b"\n").map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

fn one(args: &FixArgs, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let schemas = Schemas::default();
    let schema = match &args.schema {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Error::client(format!("cannot read {}: {error}", path.display())))?;
            if let Err(error) = serde_json::from_str::<serde_json::Value>(&text) {
                return Err(Error::client(format!("{} is not JSON: {error}", path.display())));
            }
            Some(schemas.get(&Arc::from(text)))
        }
    };
    let mut source = String::new();
    input.read_to_string(&mut source).map_err(failed)?;
    let report = fix(&source, schema.as_deref(), &[], End::Whole);
    write_report(&report, out).map_err(failed)?;
    out.flush().map_err(failed)?;
    Ok(if report.verdict == Verdict::Refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if let Some(arguments) = report.accepted() {
        writeln!(out, "{arguments}")?;
    }
    match &report.why {
        Some(why) => writeln!(out, "{}: {why}", report.verdict.as_str())?,
        None => writeln!(out, "{} (confidence {})", report.verdict.as_str(), report.confidence())?,
    }
    for fix in &report.fixes {
        let path = if fix.path.is_empty() { "/" } else { &fix.path };
        writeln!(out, "  {:<4} {:<8} {path}  bytes {}..{}  {}", fix.rule, fix.level.as_str(), fix.at.start, fix.at.end, fix.note)?;
    }
    for path in &report.dropped {
        writeln!(out, "  left out {path}")?;
    }
    Ok(())
}

fn change(fix: &Fix) -> Change<'_> {
    Change { rule: fix.rule, level: fix.level.as_str(), path: &fix.path, at: [fix.at.start, fix.at.end], note: &fix.note }
}

/// The same JSON on one line. Newlines in it stand between tokens; what some readers take for a line end is in a string.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").replace('\u{85}', "\\u0085")
}

/// What is not known ended too early.
fn finish_reason(name: &str) -> FinishReason {
    match name {
        "stop" => FinishReason::Stop,
        "tool_calls" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Length,
    }
}

fn failed(error: io::Error) -> Error {
    Error::proxy(format!("input or output failed: {error}"))
}
