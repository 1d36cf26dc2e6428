//! `toolglot normalize`: shows what a client would get for a model's text (or a backend's frames). For a person, it reads one
//! text from standard input. For test suites, it reads and writes JSON lines.

use std::{
    io::{BufRead, Write},
    path::PathBuf,
    sync::Arc,
};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::{given, output};
use crate::{
    adapter::{Found, Library, scanner},
    backend::{Decoder, Dialect},
    client::{self, compact::compact},
    error::{Blame, Error},
    event::{Channel, Delta, Event, FinishReason, Sink},
    fix::{Checked, Schemas},
    openai::ChatRequest,
    turn::answer::{Answer, Setup},
};

/// Shows what the proxy makes of a model's text.
#[derive(Debug, Args)]
pub struct Normalize {
    /// Read JSON lines {id, model, tools, text | chunks | frames + backend, finish_reason?, reasoning_open?}, write one JSON line each.
    /// A line that cannot be read gets {id, error}, and the others are answered; the exit code is then 1.
    #[arg(long)]
    jsonl: bool,
    /// The model's name; decides which adapter reads the text.
    #[arg(long, required_unless_present = "jsonl")]
    model: Option<String>,
    /// A JSON file with the offered tools in OpenAI's form.
    #[arg(long)]
    tools: Option<PathBuf>,
    /// The answer begins inside reasoning.
    #[arg(long)]
    reasoning_open: bool,
    /// A directory of adapter files that replace built-in ones of the same name.
    #[arg(long, value_name = "DIRECTORY")]
    adapters: Option<PathBuf>,
    /// Why the answer ended: stop, length, tool_calls or content_filter.
    #[arg(long, default_value = "stop")]
    finish_reason: String,
}

/// An answer to normalize.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    id: Value,
    model: String,
    tools: Vec<Value>,
    text: Option<String>,
    chunks: Option<Vec<String>>,
    frames: Option<Vec<Value>>,
    backend: Option<String>,
    finish_reason: Option<String>,
    reasoning_open: bool,
    tool_choice: Option<Value>,
}

/// What a client would get.
#[derive(Default, Serialize)]
struct Normalized {
    id: Value,
    content: String,
    reasoning: String,
    tool_calls: Vec<Call>,
    finish_reason: Option<&'static str>,
}

/// A call with its arguments as they are: a number may have more digits than a float holds.
#[derive(Serialize)]
struct Call {
    name: String,
    arguments: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl Normalize {
    /// Runs the command.
    ///
    /// # Errors
    /// What was wrong, for `main` to print.
    pub fn run(self, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), Error> {
        let library = match &self.adapters {
            Some(directory) => Library::with_overlay(directory)?,
            None => Library::embedded()?,
        };
        if self.jsonl {
            let mut failed = 0;
            for row in output::rows::<Row>(input) {
                let (id, answer) = match row {
                    Ok(row) => (row.id.clone(), normalize(&library, &row).map(|(answer, _)| answer)),
                    Err(error) if error.blame == Blame::Client => (Value::Null, Err(error)),
                    Err(error) => return Err(error),
                };
                failed += usize::from(answer.is_err());
                match answer {
                    Ok(answer) => output::row(out, &Normalized { id, ..answer })?,
                    Err(error) => output::row(out, &json!({"id": id, "error": error.message}))?,
                }
            }
            out.flush().map_err(output::broken)?;
            return output::fail_with(failed);
        }
        let text = output::typed(input, "the model's text")?;
        let row = Row {
            model: self.model.unwrap_or_default(),
            tools: self.tools.as_deref().map(given::tools).transpose()?.unwrap_or_default(),
            text: Some(text),
            finish_reason: Some(self.finish_reason),
            reasoning_open: self.reasoning_open,
            ..Row::default()
        };
        let found = library.find(&row.model, None);
        let (answer, checked) = normalize(&library, &row)?;
        write_for_people(out, &found, &answer, &checked).map_err(output::broken)
    }
}

fn normalize(library: &Library, row: &Row) -> Result<(Normalized, Vec<Checked>), Error> {
    let request = json!({"model": if row.model.is_empty() { "unknown" } else { &row.model }, "messages": [], "tools": row.tools, "tool_choice": row.tool_choice});
    let incoming = client::read(ChatRequest::from_value(request)?, &client::Hints::default())?;
    let mut answer = Answer::new(Setup {
        scanner: scanner::Options { reasoning_open: row.reasoning_open, ..scanner::Options::default() },
        ..Setup::new(library.find(&row.model, None).adapter, Arc::new(incoming.tools), Arc::new(Schemas::default()))
    });
    let mut collected = Normalized::default();
    if let Some(frames) = &row.frames {
        let dialect = match row.backend.as_deref() {
            Some("ollama") => Dialect::Ollama,
            Some("google") => Dialect::Google,
            _ => Dialect::OpenAi,
        };
        let mut decoder = Decoder::new(dialect);
        for frame in frames {
            decoder.frame(frame.to_string().as_bytes(), &mut |delta| answer.delta(delta, &mut collected))?;
        }
        // Rows of a suite may omit the end; what was read counts.
        let _ = decoder.finish(&mut |delta| answer.delta(delta, &mut collected));
    } else {
        let text = row.text.as_slice();
        for piece in row.chunks.as_deref().unwrap_or(text) {
            answer.delta(Delta::Text(Channel::Content, piece), &mut collected);
        }
        answer.delta(Delta::Finish(finish_reason(row.finish_reason.as_deref())?), &mut collected);
    }
    let outcome = answer.finish(&mut collected);
    Ok((collected, outcome.checked))
}

fn finish_reason(word: Option<&str>) -> Result<FinishReason, Error> {
    let Some(word) = word else { return Ok(FinishReason::Stop) };
    let known = FinishReason::ALL.map(FinishReason::as_str).join(", ");
    FinishReason::named(word).ok_or_else(|| Error::client(format!("unknown finish_reason `{word}`; known: {known}")))
}

fn write_for_people(output: &mut dyn Write, found: &Found, answer: &Normalized, checked: &[Checked]) -> std::io::Result<()> {
    writeln!(output, "adapter    {} ({})", found.adapter.name, found.why)?;
    for (label, text) in [("reasoning", &answer.reasoning), ("content", &answer.content)] {
        if !text.is_empty() {
            writeln!(output, "{label:10} {text:?}")?;
        }
    }
    for call in &answer.tool_calls {
        writeln!(output, "call       {} {}", call.name, call.arguments)?;
    }
    for call in checked {
        writeln!(output, "verdict    {} {}", call.name, call.report.verdict.as_str())?;
        for fix in &call.report.fixes {
            writeln!(output, "           {} at {}..{}: {}", fix.rule, fix.at.start, fix.at.end, fix.note)?;
        }
    }
    writeln!(output, "finish     {}", answer.finish_reason.unwrap_or_default())
}

impl Sink for Normalized {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.content.push_str(text),
            Event::Reasoning(text) => self.reasoning.push_str(text),
            Event::Call(call) => {
                let arguments = RawValue::from_string(compact(call.arguments)).unwrap_or_default();
                self.tool_calls.push(Call { name: call.name.to_owned(), arguments, id: call.id.map(str::to_owned) });
            }
            Event::Refused { .. } | Event::Note(_) => {}
            Event::Finish { reason, .. } => self.finish_reason = Some(reason.as_str()),
        }
    }
}
