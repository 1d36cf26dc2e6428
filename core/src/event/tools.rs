//! The tools of a request, as the client and the model know them.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

/// The effect of a tool. An unknown one counts as [`Effect::Writes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It may change something.
    #[default]
    Writes,
    /// It may destroy something that cannot be restored.
    Destroys,
}

impl Effect {
    /// All of them.
    pub const ALL: [Effect; 3] = [Effect::Reads, Effect::Writes, Effect::Destroys];

    /// The word in `mcp.json` and in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Reads => "reads",
            Effect::Writes => "writes",
            Effect::Destroys => "destroys",
        }
    }
}

/// Who runs a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// The client offered it and will run it.
    #[default]
    Client,
    /// It belongs to an MCP server of the registry, or is built in: toolglot can run it.
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
    /// The name as the backend can spell it; equal to `name` if possible.
    pub wire_name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the parameters, as JSON text; `{}` when the client sent none.
    pub schema: Arc<str>,
    /// The schema that the fixer uses instead, if the client's own has no types (an overlay of the client's shape); JSON text.
    pub fixing_schema: Option<Arc<str>>,
    /// Its effect.
    pub effect: Effect,
    /// Names of top-level parameters whose explicit `null` has a meaning (a tool policy merges it), so the fixer must keep it.
    pub keeps_null: Vec<String>,
    /// Names of top-level parameters with the path of a file or folder that the client opens without resolving it.
    pub paths: Vec<String>,
    /// Those of them that mean a folder only with a slash at the end.
    pub folders: Vec<String>,
    /// Who runs it.
    pub origin: Origin,
    /// The namespace in which the client offered it, and its name there; `name` joins both.
    pub namespace: Option<(String, String)>,
    /// The form in which the client takes the input of a call.
    pub input: Input,
    /// The checked schema as parsed by its first reader.
    pub parsed: Memo,
}

/// What was computed from a value on first use. Values that differ only in this are equal.
#[derive(Clone, Default)]
pub struct Memo(OnceLock<Arc<dyn Any + Send + Sync>>);

/// The form in which a client takes the input of a call. The model always writes an object of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    /// The object of arguments.
    #[default]
    Arguments,
    /// The text of the only argument, [`Input::TEXT`].
    Text,
    /// The text of the only argument, which is a patch (`*** Begin Patch` to `*** End Patch`).
    Patch,
    /// A patch for a client without a tool for patches: a command line in this parameter of this tool.
    PatchCommand {
        /// The client's tool that runs a command.
        tool: String,
        /// Its parameter for the command line.
        parameter: String,
    },
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

    /// The checked schema as parsed by `parse`, which is called once for a tool and its clones. All callers must use the same
    /// type.
    pub(crate) fn parsed<T: Send + Sync + 'static>(&self, parse: impl Fn(&str) -> T) -> Arc<T> {
        let schema = self.checked_schema();
        let kept = self.parsed.get(|| (Arc::clone(schema), Arc::new(parse(schema))));
        // A schema that was replaced since then is another one.
        let kept = kept.filter(|kept| Arc::ptr_eq(&kept.0, schema));
        kept.map_or_else(|| Arc::new(parse(schema)), |kept| Arc::clone(&kept.1))
    }
}

impl Memo {
    /// What `compute` returns, which is called once for a memo and its clones. All callers must use the same type.
    fn get<T: Send + Sync + 'static>(&self, compute: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.0.get_or_init(|| Arc::new(compute()))).downcast().ok()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Memo) -> bool {
        true
    }
}

impl Eq for Memo {}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}

/// The client's `tool_choice`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call is allowed, whatever the text looks like.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
}

/// The tools of one request, in the client's order. Names are unique: of two tools with one name, the first is kept. Clones share
/// the tools until one of them changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tools {
    table: Arc<Table>,
    /// The client's `tool_choice`.
    pub choice: ToolChoice,
    /// `tool_choice` leaves out some of the client's tools, so a call of a tool that is not here never reaches the client.
    pub is_limited: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Table {
    list: Vec<Tool>,
    /// Where each name is in the list.
    places: HashMap<String, usize>,
    spellings: Memo,
}

impl Tools {
    /// A table of these tools. A tool whose name is taken is dropped.
    pub fn new(tools: impl IntoIterator<Item = Tool>, choice: ToolChoice) -> Tools {
        let mut table = Tools { choice, ..Tools::default() };
        for tool in tools {
            table.add(tool);
        }
        table
    }

    /// Adds a tool. `false`: its name is taken, and nothing changes.
    pub fn add(&mut self, tool: Tool) -> bool {
        if self.get(&tool.name).is_some() {
            return false;
        }
        let Table { list, places, spellings } = Arc::make_mut(&mut self.table);
        places.insert(tool.name.clone(), list.len());
        list.push(tool);
        *spellings = Memo::default();
        true
    }

    /// Leaves only the tools with these names (not wire names; unknown ones are ignored): `tool_choice` permits no others. Sets
    /// `is_limited`. Calls of the others may still be in the history.
    pub fn limit(&mut self, names: &[&str]) {
        let all = std::mem::take(&mut self.table);
        self.is_limited = true;
        for tool in all.list.iter().filter(|tool| names.contains(&tool.name.as_str())) {
            self.add(tool.clone());
        }
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.table.places.get(name).and_then(|place| self.table.list.get(*place))
    }

    /// The tool of exactly this name or wire name.
    pub fn by_wire_name(&self, name: &str) -> Option<&Tool> {
        self.get(name).or_else(|| self.iter().find(|tool| tool.wire_name == name))
    }

    /// The tools in the client's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Tool> {
        self.table.list.iter()
    }

    /// The tools in the client's order, to complete them (wire names, overlays). Their names must not change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Tool> {
        let table = Arc::make_mut(&mut self.table);
        table.spellings = Memo::default();
        table.list.iter_mut()
    }

    /// What `spell` computes from the tools, which happens once for all clones.
    pub(crate) fn spellings<T: Send + Sync + Default + 'static>(&self, spell: impl FnOnce(&[Tool]) -> T) -> Arc<T> {
        self.table.spellings.get(|| spell(&self.table.list)).unwrap_or_default()
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.table.list.is_empty()
    }

    /// How many are offered.
    pub fn len(&self) -> usize {
        self.table.list.len()
    }

    /// Whether the client demands a call.
    pub fn must_call(&self) -> bool {
        !self.is_empty() && matches!(self.choice, ToolChoice::Required | ToolChoice::Named(_))
    }

    /// Whether calls are looked for: tools are offered, and `tool_choice` is not `none`.
    pub fn wanted(&self) -> bool {
        !self.is_empty() && self.choice != ToolChoice::None
    }
}
