//! Turns the tools of a request into functions: a namespace becomes part of the name, and a tool that takes text becomes a
//! function with one argument. [`super::items()`] translates calls back, and this file translates the history.

use serde_json::{Value, json};

use super::Special;
use crate::{
    client::front::{conversation, not_offered, schema},
    error::Error,
    event::{Input, Note},
    openai::{NAME_BYTES, ToolCall, distinct},
};

/// The tool for patches, and the first and last line of one.
const APPLY_PATCH: &str = "apply_patch";
/// Tools of a client that run a command line, each with its parameter.
const SHELLS: &[(&str, &str)] = &[("exec_command", "cmd"), ("shell_command", "command")];
/// An example of a patch, which small models need.
const PATCH_EXAMPLE: &str =
    "Creates, changes and deletes files by a patch. `input` is the whole patch. Paths are relative. Example:
*** Begin Patch
*** Add File: hello.txt
+Hello
*** Update File: src/app.py
@@ def greet():
-    print(\"Hi\")
+    print(\"Hello\")
*** Delete File: old.txt
*** End Patch";

#[derive(Debug, Default)]
pub(super) struct Offered {
    /// As functions of OpenAI's chat API.
    pub(super) functions: Vec<Value>,
    pub(super) special: Vec<Special>,
    pub(super) warnings: Vec<Note>,
}

impl Offered {
    /// Reads `tools`. `speaks_of_patches`: the client's own prompt tells the model to use `apply_patch`; where it offers
    /// only a shell, the tool is offered in its place.
    pub(super) fn read(tools: &[Value], speaks_of_patches: bool) -> Result<Offered, Error> {
        let mut offered = Offered::default();
        for (at, tool) in tools.iter().enumerate() {
            offered.add(at, tool, None)?;
        }
        if speaks_of_patches && !offered.has(APPLY_PATCH) {
            let shell = SHELLS.iter().find(|(name, _)| offered.has(name));
            if let Some((tool, parameter)) = shell {
                let input = Input::PatchCommand { tool: (*tool).into(), parameter: (*parameter).into() };
                offered.text(APPLY_PATCH.to_owned(), PATCH_EXAMPLE, None, input);
            }
        }
        Ok(offered)
    }

    fn add(&mut self, at: usize, tool: &Value, namespace: Option<&str>) -> Result<(), Error> {
        let field = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = field("name");
        match field("type") {
            "function" | "custom" | "namespace" if name.is_empty() => {
                return Err(Error::client(format!("`tools[{at}].name` must be a non-empty string")));
            }
            "function" => self.function(at, tool, name, namespace)?,
            "custom" => {
                let (input, description) = match name {
                    APPLY_PATCH => (Input::Patch, PATCH_EXAMPLE.to_owned()),
                    _ => (Input::Text, with_grammar(field("description"), &tool["format"])),
                };
                self.text(flat(namespace, name), &description, split(namespace, name), input);
            }
            "namespace" => {
                for inner in tool.get("tools").and_then(Value::as_array).into_iter().flatten() {
                    self.add(at, inner, Some(name))?;
                }
            }
            other => self.warnings.push(not_offered(at, other)),
        }
        Ok(())
    }

    fn function(&mut self, at: usize, tool: &Value, name: &str, namespace: Option<&str>) -> Result<(), Error> {
        let flat = flat(namespace, name);
        let mut function = json!({"name": flat, "parameters": schema(&format!("tools[{at}]"), tool, "parameters")?});
        for field in ["description", "strict"] {
            if let Some(value) = tool.get(field).filter(|value| value.is_string() || **value == json!(true)) {
                function[field] = value.clone();
            }
        }
        self.functions.push(json!({"type": "function", "function": function}));
        if let Some(namespace) = split(namespace, name) {
            self.special.push(Special { name: flat, namespace: Some(namespace), input: Input::Arguments });
        }
        Ok(())
    }

    fn text(&mut self, name: String, description: &str, namespace: Option<(String, String)>, input: Input) {
        let what = if input.is_patch() { "The whole patch, from *** Begin Patch to *** End Patch" } else { "The whole input" };
        let text = json!({"type": "string", "description": what});
        let parameters = json!({"type": "object", "properties": {Input::TEXT: text}, "required": [Input::TEXT], "additionalProperties": false});
        let function = json!({"name": name, "description": description, "parameters": parameters});
        self.functions.push(json!({"type": "function", "function": function}));
        self.special.push(Special { name, namespace, input });
    }

    fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function["function"]["name"] == name)
    }

    fn input(&self, name: &str) -> Option<&Input> {
        self.special.iter().find(|special| special.name == name).map(|special| &special.input)
    }

    /// A call in the history, as the model wrote it: a command line that was made of a patch is a patch again.
    pub(super) fn call(&self, item: &Value) -> Option<ToolCall> {
        let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = field("call_id").to_owned();
        let name = flat(item.get("namespace").and_then(Value::as_str), field("name"));
        let (name, arguments) = match field("type") {
            "function_call" => {
                let patch = || match self.input(APPLY_PATCH)? {
                    Input::PatchCommand { tool, parameter } if *tool == name => {
                        let arguments: Value = serde_json::from_str(field("arguments")).ok()?;
                        patch_of(arguments.get(parameter)?.as_str()?).map(|patch| json!({Input::TEXT: patch}).to_string())
                    }
                    _ => None,
                };
                match patch() {
                    Some(patch) => (APPLY_PATCH.to_owned(), patch),
                    None => (name, conversation::arguments(&item["arguments"])),
                }
            }
            "custom_tool_call" => (name, json!({Input::TEXT: field("input")}).to_string()),
            // A tool that ran elsewhere, when the conversation was OpenAI's.
            other if !id.is_empty() => {
                let input = item.get("action").or_else(|| item.get("operation"));
                (other.strip_suffix("_call")?.to_owned(), input?.to_string())
            }
            _ => return None,
        };
        Some(ToolCall { id, name, arguments, extra: None })
    }
}

/// The name under which the model knows a tool: prefixed with its namespace.
pub(super) fn flat(namespace: Option<&str>, name: &str) -> String {
    let Some(namespace) = namespace else { return name.to_owned() };
    let whole = format!("{namespace}__{name}");
    if whole.len() > NAME_BYTES { distinct(&whole, &whole) } else { whole }
}

fn split(namespace: Option<&str>, name: &str) -> Option<(String, String)> {
    namespace.map(|namespace| (namespace.to_owned(), name.to_owned()))
}

/// The description of a tool, with the grammar of its text.
fn with_grammar(description: &str, format: &Value) -> String {
    let field = |name: &str| format.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        "grammar" => {
            format!("{description}\n`input` must follow this grammar ({}):\n{}", field("syntax"), field("definition"))
        }
        _ => description.to_owned(),
    }
}

/// The command line that applies a patch. Each line of a patch begins with `*`, `@`, `+`, `-` or a space, so that none of
/// them ends the here-document; quoted, it is taken as it is.
pub(super) fn patch_command(patch: &str) -> String {
    format!("{COMMAND}{}\nEOF", patch.trim_end_matches('\n'))
}

/// The patch of such a command line.
fn patch_of(command: &str) -> Option<&str> {
    command.strip_prefix(COMMAND)?.strip_suffix("\nEOF")
}

const COMMAND: &str = "apply_patch <<'EOF'\n";
