//! The fixer as a stage: calls as the model wrote them -> calls whose arguments are verified, or refusals. A call leaves
//! whole or not at all; everything else passes through unchanged.

use std::sync::Arc;

use super::{End, Report, Schemas, fix, name};
use crate::event::{Event, Sink, Tools, Why};

/// One call that went through the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The tool's name as it left the stage.
    pub name: String,
    /// The name as the model wrote it, where it differs.
    pub written: Option<String>,
    /// What was found and changed.
    pub report: Report,
}

/// Collects each call, fixes it against its tool's schema, and hands it on or refuses it.
#[derive(Debug)]
pub struct Fixer {
    tools: Arc<Tools>,
    schemas: Arc<Schemas>,
    open: Option<Open>,
    /// Index of the next call that leaves: refusals must not leave holes.
    next: u32,
    checked: Vec<Checked>,
}

/// A call that is being collected.
#[derive(Debug)]
struct Open {
    id: Option<String>,
    name: String,
    arguments: String,
}

// === impl Fixer ===

impl Fixer {
    /// A stage for one answer.
    pub fn new(tools: Arc<Tools>, schemas: Arc<Schemas>) -> Fixer {
        Fixer { tools, schemas, open: None, next: 0, checked: Vec::new() }
    }

    /// Takes the next event. A call that is open when the answer finishes was cut.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::CallStart { id, name, .. } => {
                self.open = Some(Open { id: id.map(str::to_owned), name: name.to_owned(), arguments: String::new() });
            }
            Event::CallArguments { json, .. } => {
                if let Some(open) = &mut self.open {
                    open.arguments.push_str(json);
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

    /// The calls of this answer so far, with their reports.
    pub fn checked(&self) -> &[Checked] {
        &self.checked
    }

    fn check(&mut self, end: End, extra: Option<&str>, out: &mut dyn Sink) {
        let Some(open) = self.open.take() else { return };
        let tools = Arc::clone(&self.tools);
        let (name, report) = match name::resolve(&tools, &open.name) {
            name::Resolved::Known { tool, .. } => {
                let schema = self.schemas.get(tool.checked_schema());
                (tool.name.as_str(), fix(&open.arguments, Some(&schema), &tool.keeps_null, end))
            }
            name::Resolved::Unknown { .. } => (open.name.as_str(), fix(&open.arguments, None, &[], end)),
        };
        match (report.accepted(), &report.why) {
            (Some(arguments), _) => {
                let index = self.next;
                self.next += 1;
                out.event(Event::CallStart { index, id: open.id.as_deref(), name });
                out.event(Event::CallArguments { index, json: arguments });
                out.event(Event::CallEnd { index, extra });
            }
            (None, why) => {
                let unknown = Why::Malformed(String::new());
                let raw = report.arguments.as_deref().unwrap_or(&open.arguments);
                out.event(Event::Refused { name, why: why.as_ref().unwrap_or(&unknown), raw });
            }
        }
        let written = (name != open.name).then(|| open.name.clone());
        self.checked.push(Checked { name: name.to_owned(), written, report });
    }
}
