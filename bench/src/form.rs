//! A simulated client: how it offers tools, reads an answer, and returns results.

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::task::Task;
use toolglot::client::shape;

/// What kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Sends `tools` and reads `tool_calls`.
    Openai,
    /// Void: the tools are XML in the system text, and the first tag of a tool in the answer is executed.
    Void,
}

/// An answer, as the client reads it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reply {
    /// The text that the user sees.
    pub(crate) text: String,
    /// The calls that the client executes.
    pub(crate) calls: Vec<Made>,
}

/// A call that is executed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) name: String,
    /// `null` where what was sent is no JSON.
    pub(crate) arguments: Value,
}

/// Parameters of Void's tools that hold a path.
const PATHS: [&str; 2] = ["uri", "search_in_folder"];
const SYSTEM: &str = include_str!("../tasks/void_prompt.txt");
const DETAILS: &str = "Tool calling details:
    - To call a tool, write its name and parameters in one of the XML formats above.
    - After the tool call you must STOP and WAIT for the result.
    - All parameters are REQUIRED unless they are said to be optional.
    - You may write only ONE tool call, and it must be at the END of your answer.
    - The call is executed at once, and its result follows in the next user message.";

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Openai => "openai",
            Form::Void => "void",
        }
    }

    /// The conversation as this client begins it, with the calls and results that a task has.
    pub(crate) fn open(self, task: &Task) -> Vec<Value> {
        let editor = task.tools.iter().any(|tool| tool["name"] == "edit_file");
        let tools = match self {
            Form::Openai => String::new(),
            Form::Void => format!("\n\n        Available tools:\n\n    {}\n\n        {DETAILS}", void_tools(&task.tools)),
        };
        let system = editor.then(|| json!({"role": "system", "content": SYSTEM.replace("{tools}", &tools)}));
        let mut messages: Vec<Value> = system.into_iter().collect();
        let mut rest = task.messages.as_slice();
        while let [message, after @ ..] = rest {
            let calls: Vec<Made> = message["tool_calls"].as_array().into_iter().flatten().map(Made::read).collect();
            if self == Form::Openai || calls.is_empty() {
                messages.push(message.clone());
                rest = after;
                continue;
            }
            let (results, after) = after.split_at(calls.len().min(after.len()));
            let text = |value: &Value| value["content"].as_str().unwrap_or_default().to_owned();
            let results: Vec<String> = results.iter().map(text).collect();
            self.extend(&mut messages, &Reply { text: text(message), calls }, &results);
            rest = after;
        }
        messages
    }

    /// The request for the next answer.
    pub(crate) fn request(self, task: &Task, messages: &[Value]) -> Value {
        let mut body = json!({"messages": messages, "stream": false});
        if self == Form::Openai && !task.tools.is_empty() {
            body["tools"] = task.tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
        }
        body
    }

    /// What the client makes of `choices[0].message`.
    pub(crate) fn read(self, task: &Task, message: &Value) -> Reply {
        let text = message["content"].as_str().unwrap_or_default();
        match self {
            Form::Openai => Reply {
                text: text.to_owned(),
                calls: message["tool_calls"].as_array().into_iter().flatten().map(Made::read).collect(),
            },
            Form::Void => executed(&task.tools, text).unwrap_or_else(|| Reply { text: text.to_owned(), ..Reply::default() }),
        }
    }

    /// Appends an answer and the results of its calls, one each.
    pub(crate) fn extend(self, messages: &mut Vec<Value>, reply: &Reply, results: &[String]) {
        match self {
            Form::Openai => {
                let calls: Vec<Value> = reply.calls.iter().map(Made::write).collect();
                messages.push(json!({"role": "assistant", "content": reply.text, "tool_calls": calls}));
                let results = reply.calls.iter().zip(results);
                messages
                    .extend(results.map(|(call, result)| json!({"role": "tool", "tool_call_id": call.id, "content": result})));
            }
            Form::Void => {
                let calls: Vec<String> = reply.calls.iter().map(void_call).collect();
                let text = format!("{}\n\n{}", reply.text.trim_end(), calls.join("\n\n"));
                messages.push(json!({"role": "assistant", "content": text}));
                let results = reply.calls.iter().zip(results);
                let results: Vec<String> =
                    results.map(|(call, result)| format!("<{0}_result>\n{result}\n</{0}_result>", call.name)).collect();
                messages.push(json!({"role": "user", "content": results.join("\n\n")}));
            }
        }
    }
}

impl Made {
    fn read(call: &Value) -> Made {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        Made {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            arguments: serde_json::from_str(arguments).unwrap_or_default(),
        }
    }

    fn write(&self) -> Value {
        let function = json!({"name": self.name, "arguments": self.arguments.to_string()});
        json!({"id": self.id, "type": "function", "function": function})
    }
}

/// The tools as Void writes them into its prompt.
fn void_tools(tools: &[Value]) -> String {
    let blocks = tools.iter().enumerate().map(|(at, tool)| {
        let name = tool["name"].as_str().unwrap_or_default();
        let properties = tool["parameters"]["properties"].as_object().into_iter().flatten();
        let parameters =
            properties.map(|(key, schema)| format!("<{key}>{}</{key}>", schema["description"].as_str().unwrap_or_default()));
        let parameters = parameters.collect::<Vec<_>>().join("\n");
        let description = tool["description"].as_str().unwrap_or_default();
        format!("    {}. {name}\n    Description: {description}\n    Format:\n    <{name}>\n{parameters}\n    </{name}>", at + 1)
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// A path as Void opens it (`validateURI`, `URI.file`): it knows no relative ones.
fn opened(path: String) -> String {
    let path = path.trim();
    if path.is_empty() || path.starts_with('/') || path.contains("://") { path.to_owned() } else { format!("/{path}") }
}

/// A past call as Void writes it.
fn void_call(call: &Made) -> String {
    let parameters = call.arguments.as_object().into_iter().flatten();
    let parameters = parameters.map(|(key, value)| format!("<{key}>{}</{key}>", value.as_str().unwrap_or_default()));
    format!("    <{0}>\n{1}\n    </{0}>", call.name, parameters.collect::<Vec<_>>().join("\n"))
}

/// An answer with the call that Void executes: the first tag of an offered tool, wherever it is. Without a closing tag, the call
/// reaches to the end.
fn executed(tools: &[Value], text: &str) -> Option<Reply> {
    let names = tools.iter().filter_map(|tool| Some((tool["name"].as_str()?, tool)));
    let tags = names.filter_map(|(name, tool)| Some((text.find(&format!("<{name}>"))?, name, tool)));
    let (at, name, tool) = tags.min_by_key(|(at, ..)| *at)?;
    let body = text.get(at + name.len() + 2..)?;
    let body = body.get(..body.rfind(&format!("</{name}>")).unwrap_or(body.len()))?;
    let properties = tool["parameters"]["properties"].as_object().into_iter().flatten();
    let declared: Vec<&str> = properties.map(|(name, _)| name.as_str()).collect();
    let opened = |name: &str, value: String| if PATHS.contains(&name) { opened(value) } else { value };
    let values = shape::read_as_void(&declared, body).into_iter();
    let arguments = values.map(|(name, value)| (name.to_owned(), json!(opened(name, value)))).collect();
    let made = Made { id: String::new(), name: name.to_owned(), arguments: Value::Object(arguments) };
    Some(Reply { text: text.get(..at)?.to_owned(), calls: vec![made] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::{
        client::{self, Hints},
        openai::ChatRequest,
    };

    use crate::task;

    #[test]
    fn voids_prompt_and_history_are_recognised_as_voids() {
        let tasks = task::own().unwrap();
        let (task, _) = tasks.iter().find(|(task, _)| task.group() == "loop").unwrap();
        let mut messages = Form::Void.open(task);
        let answer = json!({"content": "I look.\n<read_file>\n<uri>/workspace/demo/a</uri>\n</read_file>"});
        let reply = Form::Void.read(task, &answer);
        assert_eq!((reply.text.as_str(), reply.calls[0].name.as_str()), ("I look.\n", "read_file"));
        assert_eq!(reply.calls[0].arguments, json!({"uri": "/workspace/demo/a"}));
        let relative = Form::Void.read(task, &json!({"content": "<read_file>\n<uri>src/a</uri>\n</read_file>"}));
        assert_eq!(relative.calls[0].arguments, json!({"uri": "/src/a"}), "Void looks for it at the root");
        Form::Void.extend(&mut messages, &reply, &["text".into()]);
        let mut body = Form::Void.request(task, &messages);
        body["model"] = json!("m");
        let incoming = client::read(ChatRequest::from_value(body).unwrap(), &Hints::default()).unwrap();
        assert_eq!(incoming.shape, shape::Kind::Void);
        assert_eq!(incoming.tools.len(), task.tools.len());
        assert_eq!(incoming.request.messages.iter().map(|message| message.tool_calls.len()).sum::<usize>(), 1);
    }

    #[test]
    fn openais_calls_are_read_and_given_back() {
        let task = &task::own().unwrap()[0].0;
        let call =
            json!({"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}});
        let reply = Form::Openai.read(task, &json!({"content": null, "tool_calls": [call]}));
        assert_eq!(reply.calls[0].arguments, json!({"city": "Oslo"}));
        let mut messages = Vec::new();
        Form::Openai.extend(&mut messages, &reply, &["snow".into()]);
        assert_eq!(messages[0]["tool_calls"][0], call);
        assert_eq!(messages[1], json!({"role": "tool", "tool_call_id": "c1", "content": "snow"}));
    }

    #[test]
    fn the_calls_and_results_of_a_task_are_played_in_voids_form() {
        let tasks = task::own().unwrap();
        let (task, _) = tasks.iter().find(|(task, _)| task.id == "finished/readme").unwrap();
        let [_, _, call, result] = &Form::Void.open(task)[..] else { panic!("four messages") };
        assert!(
            call["content"].as_str().unwrap().contains("<uri>/workspace/demo/README.md</uri>") && call["tool_calls"].is_null()
        );
        assert!(result["role"] == "user" && result["content"].as_str().unwrap().starts_with("<read_file_result>\n# Demo"));
    }
}
