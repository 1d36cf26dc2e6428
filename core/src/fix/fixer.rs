//! The repair as a stage of the stream: takes calls as the model wrote them, emits calls with checked arguments, or refusals. A
//! call leaves as a whole or not at all. All other events pass unchanged.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tracing::{debug, info, warn};

use super::ending::cut;
use super::placeholder::are_placeholders;
use super::{Code, End, Report, Schema, Schemas, Tally, Verdict, fix, markup, name, patch};
use crate::event::{ARGUMENT_BYTES, Call, Effect, Event, FinishReason, Sink, Tool, Tools, Why};

/// A call that went through the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The tool's name after resolution.
    pub name: String,
    /// The name as the model wrote it, if it differs.
    pub written: Option<String>,
    /// The report on its arguments.
    pub report: Report,
}

/// Repairs each call against its tool's schema, and delivers or refuses it.
#[derive(Debug)]
pub struct Fixer {
    tools: Arc<Tools>,
    schemas: Arc<Schemas>,
    /// Longest argument text that is repaired, in bytes. More than [`ARGUMENT_BYTES`] has no effect.
    pub limit: usize,
    /// Counts the calls of this stage.
    pub tally: Arc<Tally>,
    /// The tool whose call the model was told to complete. If this answer leaves its call unclosed again, that is how the model
    /// writes calls, and the missing brackets are added.
    pub unclosed: Option<String>,
    /// The markup of the family's calls, which no value of a native call should hold.
    pub markers: Arc<[String]>,
    /// Whether the events that follow come from the backend's own parser.
    pub native: bool,
    /// Index of the next delivered call. Refusals leave no gaps.
    next: u32,
    checked: Vec<Checked>,
}

impl Fixer {
    /// A stage for one answer. The limit is [`ARGUMENT_BYTES`], and the log shows no values.
    pub fn new(tools: Arc<Tools>, schemas: Arc<Schemas>) -> Fixer {
        Fixer {
            tools,
            schemas,
            limit: ARGUMENT_BYTES,
            tally: Arc::default(),
            unclosed: None,
            markers: Arc::default(),
            native: false,
            next: 0,
            checked: Vec::new(),
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::Call(call) => self.check(call, out),
            other => out.event(other),
        }
    }

    /// The calls of this answer so far, delivered and refused.
    pub fn checked(&self) -> &[Checked] {
        &self.checked
    }

    /// Checks a call, and delivers or refuses it.
    fn check(&mut self, call: Call<'_>, out: &mut dyn Sink) {
        let tools = Arc::clone(&self.tools);
        let tool = name::known_tool(&tools, call.name);
        let again = tool.is_some_and(|tool| self.unclosed.as_deref() == Some(tool.name.as_str()));
        let end = match call.cut {
            None => End::Closed,
            Some(FinishReason::Stop | FinishReason::ToolCalls) if again => End::CutAgain,
            Some(reason) => End::Cut(reason),
        };
        let (name, report) = match tool {
            // An empty name is never a call.
            _ if call.name.trim().is_empty() => {
                let nameless = || Why::UnknownTool(": the call has no name".to_owned());
                ("", Report::refused(cut(end).unwrap_or_else(nameless)))
            }
            _ if call.arguments.len() > self.limit.min(ARGUMENT_BYTES) => (call.name, Report::refused(Why::TooLarge(self.limit))),
            Some(tool) => {
                let schema = self.schemas.get(tool.checked_schema());
                (tool.name.as_str(), self.checked_against(tool, &schema, call.arguments, end))
            }
            // Its parameters are unknown, but arguments are always an object.
            None => {
                let schema = self.schemas.get(&Arc::from("{}"));
                (call.name, fix(call.arguments, Some(&schema), &[], end))
            }
        };
        self.tally.count(&report);
        if call.name != name {
            self.tally.count_rule(Code::M1);
            info!(rule = Code::M1.as_str(), tool = name, written = call.name, "tool name resolved");
        }
        self.log(call.arguments, name, &report);
        let reads = tool.is_some_and(|tool| tool.effect == Effect::Reads);
        let unsure = if reads { None } else { unsure(&report) };
        match (report.why.as_ref().or(unsure.as_ref()), report.arguments.as_deref()) {
            (None, Some(arguments)) => {
                out.event(Event::Call(Call { index: self.next, name, arguments, cut: None, ..call }));
                self.next += 1;
            }
            (Some(why), arguments) => {
                let written = call.arguments;
                out.event(Event::Refused { name, why, raw: arguments.unwrap_or(written), written });
            }
            // Cannot happen: a report without a reason has arguments.
            (None, None) => {}
        }
        let written = (name != call.name).then(|| call.name.to_owned());
        self.checked.push(Checked { name: name.to_owned(), written, report });
    }

    /// The report on the arguments of an offered tool. What reaches the fixer is not always what the model wrote: a backend's parser
    /// leaves markup of the form in it.
    fn checked_against(&self, tool: &Tool, schema: &Schema, arguments: &str, end: End) -> Report {
        let markers = if self.native { &*self.markers } else { &[] };
        let before = match markup::cleaned(arguments, markers) {
            Ok(before) => before,
            Err(why) => return Report::refused(why),
        };
        let source = before.as_ref().map_or(arguments, |(source, _)| source);
        let mut report = patch::fix(tool, source, end).unwrap_or_else(|| fix(source, Some(schema), &tool.keeps_null, end));
        if let Some((_, fix)) = before {
            report.add(fix);
        }
        match report.arguments.as_deref().is_some_and(|arguments| are_placeholders(arguments, tool)) {
            true => Report::refused(Why::Placeholders),
            false => report,
        }
    }

    /// Logs the call, and each change according to its level.
    fn log(&self, arguments: &str, tool: &str, report: &Report) {
        for fix in &report.fixes {
            let (rule, path, note) = (fix.rule.as_str(), fix.path.as_str(), &fix.note);
            let (start, end) = (fix.at.start, fix.at.end);
            match fix.level {
                Verdict::Clean | Verdict::Lossless => debug!(tool, rule, path, start, end, "{note}"),
                Verdict::Coerced => info!(tool, rule, path, start, end, "{note}"),
                Verdict::Guess | Verdict::Refused => warn!(tool, rule, path, start, end, "{note}"),
            }
        }
        let verdict = report.verdict.as_str();
        match &report.why {
            Some(why) => {
                warn!(tool, verdict, bytes = arguments.len(), before = digest(arguments), "call refused: {why}")
            }
            None if report.verdict == Verdict::Clean => debug!(tool, verdict, bytes = arguments.len(), "call checked"),
            None => info!(
                tool,
                verdict,
                confidence = report.confidence(),
                bytes = arguments.len(),
                before = digest(arguments),
                after = digest(report.arguments.as_deref().unwrap_or_default()),
                dropped = report.dropped.len(),
                "call fixed"
            ),
        }
    }
}

/// Why the model has to confirm these arguments before a tool with effects gets them: a wrong path means a wrong file, and a call
/// without its `dry_run` is another call.
pub fn unsure(report: &Report) -> Option<Why> {
    if !report.lost.is_empty() {
        let keys = report.lost.iter().map(|path| format!("`{}`", path.trim_start_matches('/')));
        let keys = keys.collect::<Vec<_>>().join(", ");
        return Some(Why::Unsure(format!(
            "the tool does not know {keys}, and without that the call may do something else. If it is right without {keys}, write the \
             whole call again without; if not, do not call this tool"
        )));
    }
    let fix = report.fixes.iter().find(|fix| fix.level == Verdict::Guess)?;
    let place = if fix.path.is_empty() { "/" } else { fix.path.as_str() };
    let what = match fix.rule {
        Code::T2b => "a backslash that is an escape or a character",
        _ => &*fix.note,
    };
    Some(Why::Guess(format!("they can be read in several ways ({what}, at {place}). Write the whole call again as strict JSON")))
}

/// The first 8 bytes of a text's SHA-256, to recognise it without showing it.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
