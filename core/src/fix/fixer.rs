//! The repair as a stage of the stream: takes calls as the model wrote them, emits calls with checked arguments, or refusals. A
//! call leaves as a whole or not at all. All other events pass unchanged.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tracing::{debug, info, warn};

use super::placeholder::are_placeholders;
use super::{Code, End, MAX_BYTES, Report, Schema, Schemas, Tally, Verdict, envelope, fix, markup, name, patch};
use crate::event::{Effect, Event, FinishReason, Sink, Tool, Tools, Why};

/// Longest excerpt of a value in the log, in characters.
const EXCERPT: usize = 80;

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

/// Collects each call, repairs it against its tool's schema, and delivers or refuses it.
#[derive(Debug)]
pub struct Fixer {
    tools: Arc<Tools>,
    schemas: Arc<Schemas>,
    /// Longest argument text that is collected, in bytes.
    limit: usize,
    /// Whether the log may show values.
    excerpts: bool,
    tally: Arc<Tally>,
    /// The tool whose call was left unclosed in the previous answer.
    unclosed: Option<String>,
    /// The markup of the family's calls, which no value of a native call should hold.
    markers: Vec<String>,
    /// Whether the backend itself has read the call that passes.
    native: bool,
    open: Option<Open>,
    /// Index of the next delivered call. Refusals leave no gaps.
    next: u32,
    checked: Vec<Checked>,
}

/// The call being collected.
#[derive(Debug)]
struct Open {
    id: Option<String>,
    name: String,
    arguments: String,
    too_large: bool,
}

impl Fixer {
    /// A stage for one answer. The limit is [`MAX_BYTES`], and the log shows no values.
    pub fn new(tools: Arc<Tools>, schemas: Arc<Schemas>) -> Fixer {
        Fixer {
            tools,
            schemas,
            limit: MAX_BYTES,
            excerpts: false,
            tally: Arc::default(),
            unclosed: None,
            markers: Vec::new(),
            native: false,
            open: None,
            next: 0,
            checked: Vec::new(),
        }
    }

    /// Sets the limit for the arguments of one call, in bytes (at most [`MAX_BYTES`]).
    pub fn with_limit(mut self, bytes: usize) -> Fixer {
        self.limit = bytes.min(MAX_BYTES);
        self
    }

    /// Sets whether the log may show what was changed, and thus pieces of the user's data.
    pub fn with_excerpts(mut self, excerpts: bool) -> Fixer {
        self.excerpts = excerpts;
        self
    }

    /// Sets the counters for the calls of this stage.
    pub fn with_tally(mut self, tally: Arc<Tally>) -> Fixer {
        self.tally = tally;
        self
    }

    /// Sets the tool whose call the model was told to complete. If this answer leaves its call unclosed again, that is how the
    /// model writes calls, and the missing brackets are added.
    pub fn with_unclosed(mut self, tool: Option<String>) -> Fixer {
        self.unclosed = tool;
        self
    }

    /// Sets the markup of the family's calls. Native calls are looked through for it.
    pub fn with_markers(mut self, markers: Vec<String>) -> Fixer {
        self.markers = markers;
        self
    }

    /// Says whether the events that follow come from the backend's own parser.
    pub fn set_native(&mut self, native: bool) {
        self.native = native;
    }

    /// Takes the next event. A call that is open at [`Event::Finish`] was truncated.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::CallStart { id, name, .. } => {
                self.open =
                    Some(Open { id: id.map(str::to_owned), name: name.to_owned(), arguments: String::new(), too_large: false });
            }
            Event::CallArguments { json, .. } => {
                if let Some(open) = &mut self.open {
                    open.too_large |= open.arguments.len() + json.len() > self.limit;
                    if !open.too_large {
                        open.arguments.push_str(json);
                    }
                }
            }
            Event::CallEnd { extra, .. } => self.check(End::Closed, extra, out),
            Event::Finish { reason, .. } => {
                self.check(End::Cut(reason), None, out);
                out.event(event);
            }
            other => out.event(other),
        }
    }

    /// The calls of this answer so far, delivered and refused.
    pub fn checked(&self) -> &[Checked] {
        &self.checked
    }

    /// Checks the collected call, and delivers or refuses it.
    fn check(&mut self, end: End, extra: Option<&str>, out: &mut dyn Sink) {
        let Some(open) = self.open.take() else { return };
        let tools = Arc::clone(&self.tools);
        let resolved = name::resolve(&tools, &open.name);
        let again = |name: &str| match end {
            End::Cut(FinishReason::Stop | FinishReason::ToolCalls) if self.unclosed.as_deref() == Some(name) => End::CutAgain,
            end => end,
        };
        let reads = matches!(&resolved, name::Resolved::Known { tool, .. } if tool.effect == Effect::Reads);
        let (name, report) = match resolved {
            // An empty name is never a call.
            _ if open.name.trim().is_empty() => {
                let why = match end {
                    End::Cut(reason) => Why::Truncated(reason),
                    _ => Why::UnknownTool(": the call has no name".to_owned()),
                };
                ("", Report::refused(why))
            }
            _ if open.too_large => (open.name.as_str(), Report::refused(Why::TooLarge(self.limit))),
            name::Resolved::Known { tool, .. } => {
                let schema = self.schemas.get(tool.checked_schema());
                (tool.name.as_str(), self.checked_against(tool, &schema, &open.arguments, again(&tool.name)))
            }
            // Its parameters are unknown, but arguments are always an object.
            name::Resolved::Unknown { .. } => {
                let schema = self.schemas.get(&Arc::from("{}"));
                (open.name.as_str(), fix(&open.arguments, Some(&schema), &[], end))
            }
        };
        self.tally.count(&report);
        if open.name != name {
            self.tally.count_rule(Code::M1);
        }
        self.log(&open, name, &report);
        let unsure = if reads { None } else { unsure(&report) };
        match (report.why.as_ref().or(unsure.as_ref()), report.arguments.as_deref()) {
            (None, Some(arguments)) => {
                out.call(self.next, open.id.as_deref(), (name, arguments), extra);
                self.next += 1;
            }
            (Some(why), arguments) => {
                let written = open.arguments.as_str();
                out.event(Event::Refused { name, why, raw: arguments.unwrap_or(written), written });
            }
            // Cannot happen: a report without a reason has arguments.
            (None, None) => {}
        }
        let written = (name != open.name).then(|| open.name.clone());
        self.checked.push(Checked { name: name.to_owned(), written, report });
    }

    /// The report on the arguments of an offered tool. What reaches the fixer is not always what the model wrote: a backend's parser
    /// leaves markup of the form in it, and the readers keep a parameter named `arguments`.
    fn checked_against(&self, tool: &Tool, schema: &Schema, arguments: &str, end: End) -> Report {
        let before = if self.native {
            match markup::cleaned(arguments, &self.markers).transpose() {
                Ok(cleaned) => cleaned,
                Err(why) => return Report::refused(why),
            }
        } else {
            envelope::only_wrapped(arguments, schema)
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
    fn log(&self, open: &Open, tool: &str, report: &Report) {
        if open.name != tool {
            info!(rule = Code::M1.as_str(), tool, written = open.name, "tool name resolved");
        }
        for fix in &report.fixes {
            let (rule, path, note) = (fix.rule.as_str(), fix.path.as_str(), &fix.note);
            let (start, end) = (fix.at.start, fix.at.end);
            let excerpt = if self.excerpts { excerpt(&open.arguments, start, end) } else { String::new() };
            match fix.level {
                Verdict::Clean | Verdict::Lossless => debug!(tool, rule, path, start, end, excerpt, "{note}"),
                Verdict::Coerced => info!(tool, rule, path, start, end, excerpt, "{note}"),
                Verdict::Guess | Verdict::Refused => warn!(tool, rule, path, start, end, excerpt, "{note}"),
            }
        }
        let verdict = report.verdict.as_str();
        match &report.why {
            Some(why) => {
                warn!(tool, verdict, bytes = open.arguments.len(), before = digest(&open.arguments), "call refused: {why}")
            }
            None if report.verdict == Verdict::Clean => debug!(tool, verdict, bytes = open.arguments.len(), "call checked"),
            None => info!(
                tool,
                verdict,
                confidence = report.confidence(),
                bytes = open.arguments.len(),
                before = digest(&open.arguments),
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
        let keys: Vec<String> = report.lost.iter().map(|path| format!("`{}`", path.trim_start_matches('/'))).collect();
        let keys = keys.join(", ");
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

/// The beginning of the changed text.
fn excerpt(source: &str, start: usize, end: usize) -> String {
    source.get(start..end).unwrap_or_default().chars().take(EXCERPT).collect()
}
