//! Calls of registry tools for a client that has a shell and nothing else. The call leaves as a fenced shell block, or as a
//! call of the client's own terminal tool, which runs `toolglot call`. Calls of the client's own tools pass unchanged. By
//! default the command carries only an id, which every shell reads alike; the arguments are stored here for one use.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use crate::{
    client::compact::compact,
    config::{ShellForm, ShellVia},
    event::{Call, Event, FinishReason, Origin, Sink, Tools, Why},
    openai::answer::call_id,
};

pub mod history;
#[cfg(test)]
mod tests;

/// How calls become shell commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// The answer's id: ids of calls are derived from it, so it must not be guessable.
    pub answer: String,
    /// What the command contains.
    pub form: ShellForm,
    /// The configuration that a command without an id has to name.
    pub config: Option<PathBuf>,
    /// How the command reaches the shell.
    pub via: ShellVia,
}

/// A call that waits for `toolglot call <id>`. It must be stored before the bytes are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spooled {
    /// The id in the command.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments: JSON text.
    pub arguments: String,
}

/// The stage before the client's own shape.
#[derive(Debug)]
pub(super) struct Stage {
    shell: Shell,
    tools: Arc<Tools>,
    spooled: Vec<Spooled>,
    /// Number of calls so far, and of those that the client got as calls.
    seen: u32,
    passed: u32,
    /// The line breaks that the text so far needs before a block.
    gap: &'static str,
}

/// Void's own terminal tool, and its parameter for the command.
const TERMINAL: (&str, &str) = ("run_command", "command");
/// The beginning of every command. Never a path, because some clients cut paths out of blocks.
const COMMAND: &str = "toolglot call";
/// What comes before the configuration that a command names.
const CONFIG: &str = " --config ";
/// The beginning of every block.
const FENCE: &str = "```shell\n";
/// A terminal in line mode accepts about 4 kB at once, so longer commands contain only the id. In bytes.
const LONGEST_COMMAND: usize = 2000;

impl Stage {
    pub(super) fn new(shell: Shell, tools: Arc<Tools>) -> Stage {
        Stage { shell, tools, spooled: Vec::new(), seen: 0, passed: 0, gap: "" }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::Text(text) => self.say(text, out),
            Event::Call(call) if is_the_clients(&self.tools, call.name) => self.pass(call, out),
            Event::Call(call) => self.command(call, out),
            Event::Finish { reason: FinishReason::ToolCalls, usage } if self.passed == 0 => {
                out.event(Event::Finish { reason: FinishReason::Stop, usage });
            }
            event => out.event(event),
        }
    }

    pub(super) fn has_spooled(&self) -> bool {
        !self.spooled.is_empty()
    }

    pub(super) fn take_spooled(&mut self) -> Vec<Spooled> {
        std::mem::take(&mut self.spooled)
    }

    /// Passes a call on as a call.
    fn pass(&mut self, call: Call<'_>, out: &mut dyn Sink) {
        out.event(Event::Call(Call { index: self.passed, ..call }));
        self.passed += 1;
    }

    fn command(&mut self, call: Call<'_>, out: &mut dyn Sink) {
        let Call { name, arguments, .. } = call;
        if let Err(why) = runnable(&self.tools, name) {
            out.event(Event::Refused { name, why: &why, raw: arguments, written: arguments });
            return self.paragraph(&format!("{}\n", why.notice(name)), out);
        }
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        let posix = (self.shell.form == ShellForm::Posix).then(|| posix(name, arguments, self.shell.config.as_deref())).flatten();
        let command = posix.unwrap_or_else(|| {
            let id = spool_id(&self.shell.answer, self.seen, name);
            let command = format!("{COMMAND} {id}");
            self.spooled.push(Spooled { id, name: name.to_owned(), arguments: arguments.to_owned() });
            command
        });
        self.seen += 1;
        let (name, parameter) = TERMINAL;
        match self.shell.via {
            ShellVia::RunCommand if self.tools.get(name).is_some_and(|tool| tool.origin == Origin::Client) => {
                self.pass(Call::new(0, name, &json!({parameter: command}).to_string()), out);
            }
            // Also for a client that does not offer the tool.
            ShellVia::RunCommand | ShellVia::Block => self.paragraph(&format!("{FENCE}{command}\n```\n"), out),
        }
    }

    fn paragraph(&mut self, text: &str, out: &mut dyn Sink) {
        self.say(&format!("{}{text}", self.gap), out);
    }

    fn say(&mut self, text: &str, out: &mut dyn Sink) {
        if !text.is_empty() {
            self.gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
            out.event(Event::Text(text));
        }
    }
}

/// Whether the client runs the call: it is one of its own tools, or has an unknown name and the client offers any tool.
pub(super) fn is_the_clients(tools: &Tools, name: &str) -> bool {
    match tools.get(name) {
        Some(tool) => tool.origin == Origin::Client,
        None => tools.iter().any(|tool| tool.origin == Origin::Client),
    }
}

/// Whether toolglot can run a call that is not the client's.
pub(super) fn runnable(tools: &Tools, name: &str) -> Result<(), Why> {
    tools.get(name).map(|_| ()).ok_or_else(|| Why::UnknownTool(String::new()))
}

/// The id of a command: the tool's name, so that the user sees what will run, and 24 characters that cannot be guessed. No
/// character has a meaning in any shell.
fn spool_id(answer: &str, index: u32, name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let secret = call_id(&[b"spool", answer.as_bytes(), &index.to_le_bytes()]);
    format!("{}-{}", name.chars().map(safe).collect::<String>(), secret.strip_prefix("call_").unwrap_or(&secret))
}

/// The whole call as one command for a POSIX shell; `None` if that is not safe or too long.
fn posix(name: &str, arguments: &str, config: Option<&Path>) -> Option<String> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'));
    if !plain || name.starts_with(['-', '/']) {
        return None;
    }
    let mut command = format!("{COMMAND} {name} '{}'", typeable(&compact(arguments)));
    if let Some(config) = config {
        // A path has no other spelling.
        let path = config.to_str().filter(|path| typeable(path) == *path && !path.ends_with('\\'))?;
        command.push_str(&format!("{CONFIG}'{path}'"));
    }
    (command.len() <= LONGEST_COMMAND).then_some(command)
}

/// JSON text for single quotes, inside of which nothing else means anything, in no POSIX shell and not in fish. Escaped are the
/// quote and the backslash, which fish takes for its own before either of the two; the backtick, three of which end a block; and
/// characters that a terminal would interpret when the command is typed, or that could mislead the user.
fn typeable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        // Any other escape of JSON stays: fish leaves it alone.
        if c == '\\' {
            match rest.next() {
                Some('\\') => out.push_str("\\u005c"),
                Some(escaped) => out.extend([c, escaped]),
                None => out.push(c),
            }
            continue;
        }
        let acts = c.is_control()
            || matches!(c, '\'' | '`')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if acts {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}
