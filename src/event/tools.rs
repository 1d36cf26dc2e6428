//! The tools of a request, as client and model know them.

use std::{
    any::Any,
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{Arc, OnceLock},
};

use super::Workspace;

/// What a tool does to the world. Unknown counts as [`Effect::Writes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// Looks only.
    Reads,
    /// May change something.
    #[default]
    Writes,
    /// May destroy something that cannot be brought back.
    Destroys,
}

/// Who runs a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// The client offered it and will run it.
    #[default]
    Client,
    /// It is in our registry of MCP servers; we can run it.
    Registry {
        /// The server's name in the registry.
        server: String,
        /// The tool's name at that server.
        tool: String,
    },
}

/// One offered tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    /// The name that the client (or the registry) uses.
    pub name: String,
    /// The name in the charset of the backend; equal to `name` unless the backend cannot spell it.
    pub wire_name: String,
    /// What the tool is for, as the model is told.
    pub description: String,
    /// The JSON Schema of the parameters, as JSON text; `{}` when the client sent none.
    pub schema: Arc<str>,
    /// The schema that the fixer uses where the client's own has no types (an overlay of the client's shape); JSON text.
    pub fixing_schema: Option<Arc<str>>,
    /// What it does to the world.
    pub effect: Effect,
    /// Parameters whose explicit `null` is an input of its own (a tool policy merges it) and must survive the fixer.
    pub keeps_null: Vec<String>,
    /// Parameters that hold the path of a file or a folder, which the client opens as it is.
    pub paths: Vec<String>,
    /// Who runs it.
    pub origin: Origin,
    /// The namespace in which the client offered it, and its name there; `name` joins both.
    pub namespace: Option<(String, String)>,
    /// What the client takes as the input of a call.
    pub input: Input,
    /// The checked schema as its first reader has parsed it.
    pub parsed: Parsed,
}

/// A schema text and what was made of it, at the first time that somebody needed it. Tools that differ only in this are equal.
#[derive(Clone, Default)]
pub struct Parsed(OnceLock<(Arc<str>, Arc<dyn Any + Send + Sync>)>);

/// What a client takes as the input of a call. The model always writes an object of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    /// The arguments.
    #[default]
    Arguments,
    /// The text of the only argument, [`Input::TEXT`].
    Text,
    /// The same, and the text is a patch (`*** Begin Patch` to `*** End Patch`).
    Patch,
    /// The same, for a client that has no tool for patches: a command line in this parameter of this tool.
    PatchCommand {
        /// The client's tool that runs a command.
        tool: String,
        /// Its parameter for the command line.
        parameter: String,
    },
    /// A command for a shell, as words: the arguments of a `local_shell_call`.
    LocalShell,
}

impl Input {
    /// The argument that holds the text.
    pub const TEXT: &str = "input";

    /// Whether the model writes a patch.
    pub fn is_patch(&self) -> bool {
        matches!(self, Input::Patch | Input::PatchCommand { .. })
    }
}

impl Tool {
    /// A tool of the client: name, description and JSON Schema text.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: impl Into<Arc<str>>) -> Tool {
        let name = name.into();
        Tool { wire_name: name.clone(), name, description: description.into(), schema: schema.into(), ..Tool::default() }
    }

    /// The schema that arguments are fixed and checked against.
    pub fn checked_schema(&self) -> &Arc<str> {
        self.fixing_schema.as_ref().unwrap_or(&self.schema)
    }

    /// What `parse` makes of the checked schema. It is called once for a tool and its clones, and always for the same type.
    pub(crate) fn parsed<T: Send + Sync + 'static>(&self, parse: impl Fn(&str) -> T) -> Arc<T> {
        let schema = self.checked_schema();
        let (of, parsed) = self.parsed.0.get_or_init(|| (Arc::clone(schema), Arc::new(parse(schema))));
        // A schema that was replaced since then is another one.
        let kept = Some(parsed).filter(|_| Arc::ptr_eq(of, schema));
        kept.and_then(|kept| Arc::clone(kept).downcast().ok()).unwrap_or_else(|| Arc::new(parse(schema)))
    }
}

impl PartialEq for Parsed {
    fn eq(&self, _: &Parsed) -> bool {
        true
    }
}

impl Eq for Parsed {}

impl fmt::Debug for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Parsed(..)" } else { "Parsed" })
    }
}

/// What the client said about using tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No calls, whatever the text looks like.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

/// The tools of one request: one table, in the client's order, names unique (the first of two wins).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tools {
    list: Vec<Tool>,
    /// Where each name is in the list.
    places: HashMap<String, usize>,
    /// What the client said about using them.
    pub choice: ToolChoice,
    /// Where the client's user works, if it said so.
    pub workspace: Option<Workspace>,
}

impl Tools {
    /// A table of these tools; a later tool with a name that is there already is left out.
    pub fn new(tools: impl IntoIterator<Item = Tool>, choice: ToolChoice) -> Tools {
        let mut table = Tools { choice, ..Tools::default() };
        for tool in tools {
            table.add(tool);
        }
        table
    }

    /// Adds a tool; `false` if its name is taken (the first one wins).
    pub fn add(&mut self, tool: Tool) -> bool {
        let Entry::Vacant(place) = self.places.entry(tool.name.clone()) else { return false };
        place.insert(self.list.len());
        self.list.push(tool);
        true
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.places.get(name).and_then(|place| self.list.get(*place))
    }

    /// The tool of exactly this name or wire name.
    pub fn by_wire_name(&self, name: &str) -> Option<&Tool> {
        self.get(name).or_else(|| self.list.iter().find(|tool| tool.wire_name == name))
    }

    /// The tools in the client's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Tool> {
        self.list.iter()
    }

    /// The tools in the client's order, to be completed (wire names, overlays). Their names must stay.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Tool> {
        self.list.iter_mut()
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many are offered.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether calls are looked for at all: tools are offered and the client did not forbid them.
    pub fn wanted(&self) -> bool {
        !self.is_empty() && self.choice != ToolChoice::None
    }
}
