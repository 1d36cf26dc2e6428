//! The public questions of the Berkeley Function Calling Leaderboard, read from a folder of its data: files of questions
//! (`BFCL_v4_simple_python.json`, one JSON object per line) and, below `possible_answer/`, files of the same names.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json};

use crate::task::{Call, Task, Want};
use toolglot::error::Error;

#[derive(Deserialize)]
struct Question {
    id: String,
    question: Vec<Vec<Value>>,
    function: Value,
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    ground_truth: Truth,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Truth {
    Calls(Vec<BTreeMap<String, BTreeMap<String, Vec<Value>>>>),
    /// Texts, or what several turns do: judged in another way.
    Other(IgnoredAny),
}

/// The questions of one turn that a folder has: those with an answer, and those for which no call is right.
pub(crate) fn tasks(folder: &Path) -> Result<Vec<Task>, Error> {
    let fail = |path: &Path, error: &dyn std::fmt::Display| Error::proxy(format!("{}: {error}", path.display()));
    let entries = fs::read_dir(folder).map_err(|error| fail(folder, &error))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut tasks = Vec::new();
    for path in paths {
        let Some(name) = path.file_stem().and_then(|name| name.to_str()).filter(|name| name.starts_with("BFCL_")) else {
            continue;
        };
        let group = name.splitn(3, '_').nth(2).unwrap_or(name).to_owned();
        let none = group.ends_with("irrelevance");
        let answers = folder.join("possible_answer").join(path.file_name().unwrap_or_default());
        if !none && !answers.is_file() {
            continue; // questions of several turns, and those that are judged in another way
        }
        let answers: Vec<Answer> = if none { Vec::new() } else { lines(&answers).map_err(|error| fail(&answers, &error))? };
        let answers: BTreeMap<&str, Vec<Call>> =
            answers.iter().filter_map(|answer| Some((answer.id.as_str(), answer.calls()?))).collect();
        if !none && answers.is_empty() {
            continue;
        }
        let questions: Vec<Question> = lines(&path).map_err(|error| fail(&path, &error))?;
        tasks.extend(questions.into_iter().filter_map(|question| {
            let calls = if none { Vec::new() } else { answers.get(question.id.as_str())?.clone() };
            question.task(&group, calls)
        }));
    }
    if tasks.is_empty() {
        return Err(fail(folder, &"no file of questions here (BFCL_v4_*.json, with possible_answer/ beside them)"));
    }
    Ok(tasks)
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))).collect()
}

impl Question {
    /// `None` for a question of several turns.
    fn task(self, group: &str, calls: Vec<Call>) -> Option<Task> {
        let [messages] = <[Vec<Value>; 1]>::try_from(self.question).ok()?;
        let functions = match self.function {
            Value::Array(functions) => functions,
            one => vec![one],
        };
        Some(Task {
            id: format!("{group}/{}", self.id),
            tools: functions.into_iter().map(tool).collect(),
            messages,
            files: BTreeMap::new(),
            want: Want::Calls { calls },
            loose: true,
        })
    }
}

impl Answer {
    /// `None` where no calls are the answer.
    fn calls(&self) -> Option<Vec<Call>> {
        let Truth::Calls(calls) = &self.ground_truth else { return None };
        let calls = calls.iter().flatten();
        Some(calls.map(|(name, arguments)| Call { name: spelled(name), arguments: arguments.clone() }).collect())
    }
}

/// OpenAI's names have no dots.
fn spelled(name: &str) -> String {
    name.replace('.', "_")
}

fn tool(mut function: Value) -> Value {
    let name = spelled(function["name"].as_str().unwrap_or_default());
    let mut parameters = function["parameters"].take();
    as_json_schema(&mut parameters);
    json!({"name": name, "description": function["description"], "parameters": parameters})
}

/// The questions name some types in Python's way.
fn as_json_schema(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    let kind = match object.get("type").and_then(Value::as_str) {
        Some("dict") => Some("object"),
        Some("float") => Some("number"),
        Some("tuple") => Some("array"),
        Some("any") => {
            object.shift_remove("type");
            None
        }
        _ => None,
    };
    if let Some(kind) = kind {
        object.insert("type".into(), json!(kind));
    }
    for part in ["items", "additionalProperties"] {
        object.get_mut(part).map(as_json_schema);
    }
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    properties.map(Map::values_mut).into_iter().flatten().for_each(as_json_schema);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_become_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("possible_answer")).unwrap();
        write(
            "BFCL_v4_simple_python.json",
            r#"{"id": "s_0", "question": [[{"role": "user", "content": "Area?"}]], "function": [{"name": "area.of", "description": "d", "parameters": {"type": "dict", "properties": {"sides": {"type": "array", "items": {"type": "float"}}}, "required": ["sides"]}}]}"#,
        );
        write(
            "possible_answer/BFCL_v4_simple_python.json",
            r#"{"id": "s_0", "ground_truth": [{"area.of": {"sides": [[1, 2]], "unit": ["m", ""]}}]}"#,
        );
        write("BFCL_v4_irrelevance.json", r#"{"id": "i_0", "question": [[{"role": "user", "content": "Hi"}]], "function": []}"#);
        write("notes.json", "no question");
        write("BFCL_v4_memory.json", r#"{"id": "m_0", "question": [[]], "scenario": "s"}"#);
        write("possible_answer/BFCL_v4_memory.json", r#"{"id": "m_0", "ground_truth": ["Michael"], "source": "s"}"#);
        let tasks = tasks(folder.path()).unwrap();
        assert_eq!(tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["irrelevance/i_0", "simple_python/s_0"]);
        assert_eq!(tasks[0].want, Want::Calls { calls: vec![] });
        assert_eq!(tasks[1].tools[0]["name"], "area_of");
        assert_eq!(tasks[1].tools[0]["parameters"]["properties"]["sides"]["items"]["type"], "number");
        let Want::Calls { calls } = &tasks[1].want else { panic!() };
        assert_eq!((calls[0].name.as_str(), calls[0].arguments["unit"].len()), ("area_of", 2));
        write("BFCL_v4_simple_python.json", "{");
        assert!(super::tasks(folder.path()).unwrap_err().message.contains("line 1"));
    }
}
