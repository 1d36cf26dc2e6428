//! The tasks, and what counts as solved. toolglot's own tasks are data (`tasks/*.json`).

use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::form::Form;
use toolglot::error::Error;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Task {
    /// `group/name`.
    pub(crate) id: String,
    /// Each `{"name", "description", "parameters"}`.
    pub(crate) tools: Vec<Value>,
    /// The conversation so far, in OpenAI's form.
    pub(crate) messages: Vec<Value>,
    /// The files that its tools work on, by path; without them, a task is one answer.
    pub(crate) files: BTreeMap<String, String>,
    /// What counts as done.
    pub(crate) want: Want,
    /// Texts agree if letters and digits do, as the public questions define it.
    pub(crate) loose: bool,
}

/// What counts as done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Want {
    /// Exactly these calls, in any order. None: an answer without a call.
    Calls {
        calls: Vec<Call>,
    },
    Any {
        any: Vec<Call>,
    },
    /// At the end of several turns: what files contain (`null`: they are gone), and what the last answer says.
    Files {
        files: BTreeMap<String, Option<Content>>,
        #[serde(default)]
        text: Vec<String>,
    },
    /// An answer without a call that contains all of this.
    Text {
        text: Vec<String>,
    },
}

/// A call that is wanted. Each argument has a list of values that are right; `""` among them: it may be omitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: BTreeMap<String, Vec<Value>>,
}

/// What a file contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    pub(crate) contains: Vec<String>,
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

/// A file of tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    files: BTreeMap<String, String>,
    tools: Vec<Value>,
    tasks: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    /// Names of the file's tools; all, if none are named.
    #[serde(default)]
    tools: Vec<String>,
    /// What the user says, or ..
    user: Option<String>,
    /// .. the conversation so far.
    #[serde(default)]
    messages: Vec<Value>,
    want: Want,
}

/// The tasks of our own, each with the forms that it can be put in.
pub(crate) fn own() -> Result<Vec<(Task, &'static [Form])>, Error> {
    let sets: [(&str, &'static [Form]); 2] = [
        (include_str!("../tasks/calls.json"), &[Form::Openai]),
        (include_str!("../tasks/editor.json"), &[Form::Openai, Form::Void]),
    ];
    let mut tasks = Vec::new();
    for (text, forms) in sets {
        let file: File = serde_json::from_str(text).map_err(|error| Error::proxy(format!("the tasks: {error}")))?;
        let File { files, tools, tasks: entries } = file;
        tasks.extend(entries.into_iter().map(|entry| (entry.task(&tools, &files), forms)));
    }
    Ok(tasks)
}

impl Task {
    /// What its name begins with.
    pub(crate) fn group(&self) -> &str {
        self.id.split('/').next().unwrap_or(&self.id)
    }

    /// A task that has changed is another one.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        json!(self).to_string().hash(&mut hasher);
        hasher.finish()
    }
}

impl Entry {
    fn task(self, tools: &[Value], files: &BTreeMap<String, String>) -> Task {
        let named = |tool: &&Value| self.tools.is_empty() || self.tools.iter().any(|name| tool["name"] == **name);
        let user = self.user.map(|text| json!({"role": "user", "content": text}));
        let several = matches!(self.want, Want::Files { .. });
        Task {
            tools: tools.iter().filter(named).cloned().collect(),
            messages: self.messages.into_iter().chain(user).collect(),
            files: if several { files.clone() } else { BTreeMap::new() },
            id: self.id,
            want: self.want,
            loose: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_of_our_own_can_be_solved_with_its_tools() {
        let tasks = own().unwrap();
        assert!(tasks.len() >= 40, "{}", tasks.len());
        for (task, _) in &tasks {
            let (Want::Calls { calls: wanted } | Want::Any { any: wanted }) = &task.want else { continue };
            for call in wanted {
                let tool = task.tools.iter().find(|tool| tool["name"] == call.name.as_str());
                let tool = tool.unwrap_or_else(|| panic!("{}: {} is not offered", task.id, call.name));
                for key in call.arguments.keys() {
                    assert!(!tool["parameters"]["properties"][key].is_null(), "{}: {} has no {key}", task.id, call.name);
                }
                for key in tool["parameters"]["required"].as_array().unwrap() {
                    let free = call.arguments.is_empty();
                    assert!(free || call.arguments.contains_key(key.as_str().unwrap()), "{}: {key} is required", task.id);
                }
            }
        }
        let ids: std::collections::HashSet<&str> = tasks.iter().map(|(task, _)| task.id.as_str()).collect();
        assert_eq!(ids.len(), tasks.len(), "two tasks of one name");
    }
}
