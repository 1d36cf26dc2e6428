//! `toolglot fix`: repairs the arguments of a call and reports each change. For a person, it reads one text from standard
//! input, writes the arguments to standard output and the report to standard error. For test suites, it reads and writes JSON
//! lines.

#[cfg(test)]
mod tests;

use std::{
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::output;
use crate::{
    error::Error,
    event::FinishReason,
    fix::{self, End, Report, Schema, Schemas},
};

/// Repairs the arguments of one tool call.
#[derive(Debug, Default, Args)]
pub struct Fix {
    /// Read JSON lines {id, arguments, schema?, keeps_null?, finish_reason?}, write one JSON line each.
    #[arg(long, conflicts_with_all = ["schema", "finish_reason"])]
    jsonl: bool,
    /// A file with the JSON Schema of the tool's parameters; without it only the syntax is repaired.
    #[arg(long)]
    schema: Option<PathBuf>,
    /// Why the stream ended inside the call: stop, length, tool_calls or content_filter. Without it the text is whole.
    #[arg(long)]
    finish_reason: Option<String>,
}

/// One line of `--jsonl` input.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    id: Value,
    arguments: String,
    schema: Option<Box<RawValue>>,
    finish_reason: Option<String>,
    #[serde(default)]
    keeps_null: Vec<String>,
}

/// One line of `--jsonl` output.
#[derive(Serialize)]
struct Answer<'r> {
    id: &'r Value,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    confidence: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    dropped: &'r [String],
}

impl Fix {
    /// Runs the command: reads `input` to its end, writes data to `out` and a person's report to `notes`.
    ///
    /// # Errors
    /// The arguments are refused, unless the input is JSON lines; a stream fails.
    pub fn run(&self, input: &mut dyn BufRead, out: &mut dyn Write, notes: &mut dyn Write) -> Result<(), Error> {
        if self.jsonl {
            return lines(input, out);
        }
        let schema = self.schema.as_deref().map(schema).transpose()?;
        let source = output::typed(input, "the arguments")?;
        let report = fix::fix(&source, schema.as_deref(), &[], end(self.finish_reason.as_deref()));
        if let Some(arguments) = report.accepted() {
            writeln!(out, "{arguments}").map_err(output::broken)?;
        }
        write_report(&report, notes).map_err(output::broken)?;
        match &report.why {
            None => Ok(()),
            Some(why) => Err(Error::client(format!("refused: {why}"))),
        }
    }
}

fn lines(input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), Error> {
    let schemas = Schemas::default();
    let change = |fix: &fix::Fix| json!({"rule": fix.rule.as_str(), "level": fix.level.as_str(), "path": &*fix.path, "at": [fix.at.start, fix.at.end], "note": fix.note});
    for row in output::rows::<Row>(input) {
        let row = row?;
        let schema = row.schema.as_ref().map(|schema| schemas.get(&Arc::from(schema.get())));
        let report = fix::fix(&row.arguments, schema.as_deref(), &row.keeps_null, end(row.finish_reason.as_deref()));
        let arguments = report.accepted().map(one_line);
        let arguments = arguments.as_deref().map(serde_json::from_str::<&RawValue>).transpose();
        let answer = Answer {
            id: &row.id,
            verdict: report.verdict.as_str(),
            arguments: arguments.map_err(|error| Error::proxy(error.to_string()))?,
            why: report.why.as_ref().map(ToString::to_string),
            confidence: report.confidence(),
            fixes: report.fixes.iter().map(change).collect(),
            dropped: &report.dropped,
        };
        output::row(out, &answer)?;
    }
    Ok(())
}

fn schema(path: &Path) -> Result<Arc<Schema>, Error> {
    let text = output::read(path)?;
    serde_json::from_str::<Value>(&text).map_err(|error| Error::client(format!("{}: {error}", path.display())))?;
    Ok(Schemas::default().get(&Arc::from(text)))
}

fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} (confidence {})", report.verdict.as_str(), report.confidence())?;
    for fix in &report.fixes {
        let (level, at, note) = (fix.level.as_str(), &fix.at, &fix.note);
        let path = if fix.path.is_empty() { "/" } else { &fix.path };
        writeln!(out, "  {:<4} {level:<8} {path}  bytes {}..{}  {note}", fix.rule, at.start, at.end)?;
    }
    for path in &report.dropped {
        writeln!(out, "  left out {path}")?;
    }
    Ok(())
}

/// The same JSON on one line. Newlines in it are between tokens; what some readers take for a line end is in a string.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").replace('\u{85}', "\\u0085")
}

/// No reason: the text is whole. A reason that is not known ended it too early.
fn end(finish_reason: Option<&str>) -> End {
    finish_reason.map_or(End::Whole, |reason| End::Cut(FinishReason::named(reason).unwrap_or(FinishReason::Length)))
}
