//! Void, as far as it reads answers: server-sent events in, what it shows and what it executes out. Written after the
//! rules of Void 1.4.9 (deltas one by one; first tool of the list found anywhere; parameters by search, ten at most).
//! Shared by several test programs, each of which uses a part.
#![allow(dead_code, unreachable_pub)]

use serde_json::Value;

/// A tool as Void knows it.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    /// Its opening tag.
    pub tag: String,
    /// Its parameters in declared order.
    pub parameters: Vec<String>,
}

impl Tool {
    pub fn new(name: &str, parameters: impl IntoIterator<Item = impl Into<String>>) -> Tool {
        Tool { name: name.into(), tag: format!("<{name}>"), parameters: parameters.into_iter().map(Into::into).collect() }
    }
}

/// What Void makes of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Read {
    /// The text that it shows.
    pub text: String,
    /// The reasoning that it shows.
    pub reasoning: String,
    /// The call that it executes.
    pub call: Option<(String, Vec<(String, String)>)>,
    /// The error that it shows instead.
    pub error: Option<String>,
}

/// XML mode, fed with the content of one delta at a time.
pub struct Xml<'a> {
    tools: &'a [Tool],
    everything: String,
    shown: String,
    waiting: String,
    found: Option<(usize, &'a Tool)>,
}

impl<'a> Xml<'a> {
    pub fn new(tools: &'a [Tool]) -> Xml<'a> {
        Xml { tools, everything: String::new(), shown: String::new(), waiting: String::new(), found: None }
    }

    pub fn delta(&mut self, new: &str) {
        self.everything += new;
        if self.found.is_some() {
            return;
        }
        self.waiting += new;
        if self.ends_in_a_partial_tag() {
            return;
        }
        self.shown += &std::mem::take(&mut self.waiting);
        for tool in self.tools {
            if let Some(at) = self.shown.find(&tool.tag) {
                self.found = Some((at, tool));
                self.shown.truncate(at);
                return;
            }
        }
    }

    /// A complete tag at the very end counts as partial, too.
    fn ends_in_a_partial_tag(&self) -> bool {
        let Some(last) = self.waiting.rfind('<') else { return false };
        self.tools.iter().any(|tool| tool.tag.starts_with(&self.waiting[last..]))
    }

    pub fn finish(mut self) -> Read {
        self.delta("");
        let call = self.found.map(|(at, tool)| (tool.name.clone(), values(tool, &self.everything[at..])));
        Read { text: self.shown.trim_end().to_owned(), call, ..Read::default() }
    }
}

/// The parameters of the call that `text` begins with.
fn values(tool: &Tool, text: &str) -> Vec<(String, String)> {
    let Tool { name, parameters, .. } = tool;
    let body = &text[name.len() + 2..];
    let body = &body[..body.rfind(&format!("</{name}>")).unwrap_or(body.len())];
    let mut found: Vec<(String, String)> = Vec::new();
    let mut position = 0;
    for round in 1.. {
        if round > 10 || parameters.is_empty() {
            break;
        }
        let open = parameters.iter().find(|name| body[position..].contains(&format!("<{name}>")));
        let Some(open) = open else {
            if let Some(last) = found.last_mut() {
                last.1 += &body[position..];
            }
            break;
        };
        position += body[position..].find(&format!("<{open}>")).unwrap() + open.len() + 2;
        found.retain(|(name, _)| name != open);
        let close = parameters.iter().find(|name| body[position..].contains(&format!("</{name}>")));
        let Some(close) = close else {
            found.push((open.clone(), body[position..].to_owned()));
            break;
        };
        let end = position + body[position..].find(&format!("</{close}>")).unwrap();
        found.push((open.clone(), body[position..end].to_owned()));
        position = end + close.len() + 3;
    }
    for (_, value) in &mut found {
        if let Some(newline) = value.find('\n')
            && value[..newline].trim().is_empty()
        {
            *value = value[newline + 1..].to_owned();
        }
        if let Some(newline) = value.rfind('\n')
            && value[newline + 1..].trim().is_empty()
        {
            value.truncate(newline);
        }
    }
    found
}

/// Reads a whole stream in XML mode, chunk by chunk.
pub fn read_xml(sse: &str, tools: &[Tool]) -> Read {
    let mut xml = Xml::new(tools);
    let mut reasoning = String::new();
    let error = chunks(sse, |delta| {
        reasoning += delta["reasoning_content"].as_str().unwrap_or_default();
        xml.delta(delta["content"].as_str().unwrap_or_default());
    });
    verdict(Read { reasoning, error, ..xml.finish() })
}

/// Reads a whole stream in native mode: text, and the call at index 0 with everything concatenated.
pub fn read_native(sse: &str) -> Read {
    let mut read = Read::default();
    let (mut name, mut arguments) = (String::new(), String::new());
    read.error = chunks(sse, |delta| {
        read.reasoning += delta["reasoning_content"].as_str().unwrap_or_default();
        read.text += delta["content"].as_str().unwrap_or_default();
        for call in delta["tool_calls"].as_array().into_iter().flatten().filter(|call| call["index"] == 0) {
            name += call["function"]["name"].as_str().unwrap_or_default();
            arguments += call["function"]["arguments"].as_str().unwrap_or("[object Object]");
        }
    });
    // Arguments that are not an object make the call vanish without a word.
    if let (false, Ok(Value::Object(object))) = (name.is_empty(), serde_json::from_str(&arguments)) {
        let values = object.into_iter().map(|(name, value)| match value {
            Value::String(text) => (name, text),
            other => (name, other.to_string()),
        });
        read.call = Some((name, values.collect()));
    }
    verdict(read)
}

fn verdict(read: Read) -> Read {
    let empty = read.text.is_empty() && read.reasoning.is_empty() && read.call.is_none();
    match read.error {
        Some(error) => Read { error: Some(error), call: None, ..Read::default() },
        None if empty => Read { error: Some("Void: Response from model was empty.".into()), ..read },
        None => read,
    }
}

fn chunks(sse: &str, mut delta: impl FnMut(&Value)) -> Option<String> {
    for line in sse.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
        let Some(data) = line.strip_prefix("data: ") else { return Some(format!("the SDK does not know the line {line:?}")) };
        if data == "[DONE]" {
            break;
        }
        let chunk: Value = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => return Some(error.to_string()),
        };
        if let Some(error) = chunk.get("error") {
            return Some(error["message"].as_str().unwrap_or_default().to_owned());
        }
        let Some(choices) = chunk["choices"].as_array() else { return Some("no choices".into()) };
        if let Some(choice) = choices.first() {
            delta(&choice["delta"]);
        }
    }
    None
}

/// A tool as Void's prompt describes it: name, description, parameters with their descriptions in order.
pub type Described = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Void's built-in tools and one of an MCP server, described in our words.
pub const TOOLS: &[Described] = &[
    (
        "read_file",
        "Gives the whole text of a file.",
        &[
            ("uri", "Where the file is."),
            ("start_line", "Optional. The first line wanted."),
            ("end_line", "Optional. The last line wanted."),
            ("page_number", "Optional. The page, from 1."),
        ],
    ),
    ("ls_dir", "Lists a folder.", &[("uri", "Optional. The folder; empty means all."), ("page_number", "Optional. The page.")]),
    ("get_dir_tree", "Draws a folder as a tree.", &[("uri", "The folder.")]),
    (
        "search_pathnames_only",
        "Finds files by name.",
        &[("query", "What to look for."), ("include_pattern", "Optional. A glob."), ("page_number", "Optional. The page.")],
    ),
    (
        "search_for_files",
        "Finds files by content.",
        &[
            ("query", "What to look for."),
            ("search_in_folder", "Optional. Where."),
            ("is_regex", "Optional. Whether the query is a pattern."),
            ("page_number", "Optional. The page."),
        ],
    ),
    (
        "search_in_file",
        "Finds lines in a file.",
        &[("uri", "The file."), ("query", "What to look for."), ("is_regex", "Optional. Whether the query is a pattern.")],
    ),
    ("read_lint_errors", "Gives what the linter says.", &[("uri", "The file.")]),
    ("create_file_or_folder", "Makes an empty file, or a folder where the path ends with a slash.", &[("uri", "The path.")]),
    (
        "delete_file_or_folder",
        "Removes something.",
        &[("uri", "The path."), ("is_recursive", "Optional. true: with everything in it.")],
    ),
    (
        "edit_file",
        "Changes parts of a file.",
        &[
            ("uri", "The file."),
            (
                "search_replace_blocks",
                "Blocks of this form:\n<<<<<<< ORIGINAL\nold lines\n=======\nnew lines\n>>>>>>> UPDATED\n\nRules:\n\n1. Old lines are copied exactly.\n\n2. Blocks do not overlap.",
            ),
        ],
    ),
    ("rewrite_file", "Replaces a file.", &[("uri", "The file."), ("new_content", "The new text, all of it.")]),
    ("run_command", "Runs a command and waits.", &[("command", "The command."), ("cwd", "Optional. Where to run it.")]),
    (
        "run_persistent_command",
        "Runs a command in an open terminal.",
        &[("command", "The command."), ("persistent_terminal_id", "Which terminal.")],
    ),
    ("open_persistent_terminal", "Opens a terminal that stays.", &[("cwd", "Optional. Where.")]),
    ("kill_persistent_terminal", "Closes a terminal.", &[("persistent_terminal_id", "Which terminal.")]),
    (
        "q7w2zz_find_page",
        "Looks into the handbook.",
        &[("words", "{\"type\":\"string\",\"description\":\"Words to look for\"}"), ("limit", "{\"type\":\"integer\"}")],
    ),
];

/// The tools as the reader takes them.
pub fn tools() -> Vec<Tool> {
    TOOLS.iter().map(|(name, _, params)| Tool::new(name, params.iter().map(|(name, _)| *name))).collect()
}

/// A system text with Void's tool prompt in it.
pub fn system_text() -> String {
    let blocks: Vec<String> = TOOLS
        .iter()
        .enumerate()
        .map(|(at, (name, description, params))| {
            let params: Vec<String> = params.iter().map(|(name, text)| format!("\n<{name}>{text}</{name}>")).collect();
            format!(
                "    {}. {name}\n    Description: {description}\n    Format:\n    <{name}>{}\n    </{name}>",
                at + 1,
                params.concat()
            )
        })
        .collect();
    format!(
        "You help with code.\n\nThe machine:\n<system_info>\n- plan9\n</system_info>\n\n\n        Available tools:\n\n    {}\n\n        Tool calling details:\n    - One call, at the end.\n    - Then wait.\n\n\nMind:\n1. Be kind.\n\n2. Only use ONE tool call at a time.\n\n<files_overview>\nwork/\n</files_overview>",
        blocks.join("\n\n")
    )
}

/// What Void writes into its history for an answer with a call.
pub fn remembered(text: &str, name: &str, values: &[(String, String)]) -> String {
    let values: Vec<String> = values.iter().map(|(name, value)| format!("\n<{name}>{value}</{name}>")).collect();
    format!("{text}\n\n{}", format!("    <{name}>{}\n    </{name}>", values.concat()).replacen('\t', "  ", 1))
}

/// What Void writes into its history for a result.
pub fn result(name: &str, content: &str) -> String {
    format!("<{name}_result>\n{content}\n</{name}_result>")
}
