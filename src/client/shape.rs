//! How a client reads calls. A shape turns events into events that its client understands, and reads the tools and the
//! history that the client wrote in its own form.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use crate::{
    adapter::quote::Turns,
    client::{input, workspace::Workspace},
    config::ShellForm,
    event::{Effect, Event, Origin, Sink, Tools, Why},
    fix::{self, name::unknown},
    json::{
        strict,
        tree::{Member, Value as Json},
    },
    openai::Message,
};

pub(super) mod native;
pub mod shell;
pub(super) mod void;

use shell::{Shell, Spooled};
pub use void::{properties, read_as_void};

/// The known shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// OpenAI's `tool_calls`.
    #[default]
    Native,
    /// Void's elements in the text.
    Void,
}

/// Counts of what a shape changed or dropped, for traces and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls that were not delivered because the client takes fewer per answer.
    pub dropped: u32,
    /// Calls that the client's form cannot carry.
    pub refused: u32,
    /// Mentions of a tool's tag in text that the client would have executed.
    pub defused: u32,
    /// Pieces of text after a call that the client would have read as part of it.
    pub withheld: u32,
}

/// The stage between `turn::gate` and the front.
#[derive(Debug)]
pub struct Shape {
    carrier: Carrier,
    shell: Option<shell::Stage>,
    writer: Box<dyn Writer>,
}

/// Decides which calls a client's form can carry. `turn::gate` asks it, and asks the model again if a call cannot be carried.
#[derive(Debug, Clone, Default)]
pub struct Carrier {
    kind: Kind,
    /// Calls of the registry's tools leave as shell commands.
    in_shell: bool,
    tools: Arc<Tools>,
    workspace: Option<Arc<Workspace>>,
}

/// How calls are written.
trait Writer: std::fmt::Debug + Send {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink);
    fn counts(&self) -> Counts;
}

impl Shape {
    /// The stage for one answer to a client that offered these tools.
    pub fn new(kind: Kind, tools: Arc<Tools>, one_call: bool) -> Shape {
        let writer: Box<dyn Writer> = match kind {
            Kind::Native => Box::new(native::Writer::new(one_call)),
            Kind::Void => Box::new(void::Writer::new(Arc::clone(&tools))),
        };
        Shape { carrier: Carrier { kind, tools, ..Carrier::default() }, shell: None, writer }
    }

    /// The same stage for a client that reports this workspace.
    pub fn within(mut self, workspace: Option<Arc<Workspace>>) -> Shape {
        self.carrier.workspace = workspace;
        self
    }

    /// The same stage for a client whose shell runs the calls of the registry's tools.
    pub fn in_shell(mut self, mut shell: Shell) -> Shape {
        if self.carrier.kind != Kind::Native {
            shell.form = ShellForm::Id; // arguments in a command could be read as tags, or would be defused
        }
        self.carrier.in_shell = true;
        self.shell = Some(shell::Stage::new(shell, Arc::clone(&self.carrier.tools)));
        self
    }

    /// Takes an event, and passes on what the client sees.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        let writer = &mut self.writer;
        match &mut self.shell {
            Some(shell) => shell.event(event, &mut |event: Event<'_>| writer.event(event, out)),
            None => writer.event(event, out),
        }
    }

    /// Whether there are new calls that wait for `toolglot call`.
    pub fn has_spooled(&self) -> bool {
        self.shell.as_ref().is_some_and(shell::Stage::has_spooled)
    }

    /// Takes the new calls that wait for `toolglot call`. They must be stored before the bytes are sent.
    pub fn take_spooled(&mut self) -> Vec<Spooled> {
        self.shell.as_mut().map(shell::Stage::take_spooled).unwrap_or_default()
    }

    /// The carrier of this client's form. [`Shape::event`] refuses calls that it cannot carry with a notice.
    pub fn carrier(&self) -> Carrier {
        self.carrier.clone()
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.writer.counts()
    }
}

impl Carrier {
    /// The arguments to deliver, and why the model should confirm the call first (`None`: it need not). Relative paths are moved
    /// into the workspace, for clients that open them at the root of the file system, and a folder gets the slash that marks it.
    /// The reason is a doubtful path, or a name that is not offered.
    pub fn checked<'a>(&self, name: &str, arguments: &'a str) -> (Cow<'a, str>, Option<Why>) {
        let (mut whole, mut doubt) = (Cow::Borrowed(arguments), None);
        let known = self.tools.get(name).filter(|tool| !tool.paths.is_empty()).zip(self.workspace());
        let parsed = known.and_then(|known| Some((known, strict::parse(arguments)?.value)));
        let Some(((tool, workspace), Json::Object(members))) = parsed else { return (whole, self.strange(name)) };
        // The last one first, so that the places of the others stay. Only paths are written anew: numbers would lose digits.
        for Member { key, node, .. } in members.into_iter().rev() {
            let (key, Json::Text(path)) = (key.into_owned(), &node.value) else { continue };
            if !tool.paths.contains(&key) {
                continue;
            }
            let runner = self.tools.iter().find(|tool| fix::runs_programs(tool)).map(|tool| tool.name.as_str());
            let found = workspace.doubt(path, tool.effect != Effect::Reads, runner);
            doubt = found.map(|doubt| Why::Unsure(format!("`{key}` {doubt}"))).or(doubt);
            let placed = workspace.place(path);
            let as_folder = || workspace.as_folder(placed.as_deref().unwrap_or(path));
            let folder = tool.folders.contains(&key).then(as_folder).flatten();
            if let Some(placed) = folder.or(placed) {
                tracing::debug!(tool = name, "a path was completed");
                whole.to_mut().replace_range(node.start..node.end, &Value::String(placed).to_string());
            }
        }
        (whole, doubt.or_else(|| self.strange(name)))
    }

    /// The user's workspace, if the client reports it.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_deref()
    }

    /// The reason for doubt if the tool is not offered. In mode `react`, a name that is not in the table may mean a tool of the
    /// registry.
    fn strange(&self, name: &str) -> Option<Why> {
        let may_be_ours = || self.tools.iter().any(|tool| tool.origin != Origin::Client);
        if !self.tools.wanted() || self.tools.get(name).is_some() || may_be_ours() {
            return None;
        }
        unknown(&self.tools, name)
    }

    /// Checks that the client's form can carry the call.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn carries(&self, name: &str, arguments: &str) -> Result<(), Why> {
        if self.in_shell && !shell::is_the_clients(&self.tools, name) {
            return shell::runnable(&self.tools, name);
        }
        if self.tools.get(name).is_some_and(|tool| tool.origin != Origin::Client) {
            return Ok(()); // it never reaches the client
        }
        match self.kind {
            Kind::Native => match (self.strange(name).filter(|_| self.tools.is_limited), self.tools.get(name)) {
                (Some(why), _) => Err(why),
                (None, Some(tool)) => input::carries(&tool.input, arguments),
                (None, None) => Ok(()),
            },
            Kind::Void => void::expressible(&self.tools, name, arguments),
        }
    }
}

/// Breaks control tokens in the results that a client writes as text of the user. All other text stays byte for byte.
pub fn break_turns(kind: Kind, messages: &mut [Message], turns: &Turns) {
    if kind == Kind::Void {
        messages.iter_mut().for_each(|message| void::break_turns(message, turns));
    }
}

/// A call in this client's form; `None` if the form cannot carry it, or is not text.
pub fn written(kind: Kind, tools: &Tools, name: &str, arguments: &str) -> Option<String> {
    match kind {
        Kind::Native => None,
        Kind::Void => void::written(tools, name, arguments),
    }
}
