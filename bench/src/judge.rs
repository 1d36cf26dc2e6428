//! Compares an answer with what the task wants: the form and the values of calls, never the wording of text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    form::{Form, Made, Reply},
    task::{Call, Content, Task, Want},
    world::World,
};

/// What became of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// As it was wanted.
    Right,
    /// A call was executed that was not wanted, or files are neither as they were nor as they should be.
    Wrong,
    /// Nothing was executed that should have been, or the answer lacks a fact.
    Missed,
    /// The request failed.
    #[default]
    Error,
}

/// What is wrong with an answer whatever was wanted of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Faults {
    /// The user sees the text of a call.
    pub(crate) shown: bool,
    /// Calls of names that are not offered.
    pub(crate) unknown: usize,
    /// Calls whose arguments do not fit the tool's schema.
    pub(crate) invalid: usize,
}

impl Faults {
    /// Adds those of a further answer.
    pub(crate) fn add(&mut self, form: Form, task: &Task, reply: &Reply) {
        self.shown |= shows_a_call(task, &reply.text);
        for call in &reply.calls {
            match task.tools.iter().find(|tool| tool["name"] == call.name.as_str()) {
                None => self.unknown += 1,
                Some(tool) => self.invalid += usize::from(!fits(form, tool, &call.arguments)),
            }
        }
    }
}

/// Judges one answer to a task of one turn.
pub(crate) fn one(form: Form, task: &Task, reply: &Reply) -> Verdict {
    let matches = |wanted: &Call, made: &Made| same(form, task, wanted, made);
    let right = match &task.want {
        Want::Calls { calls } => {
            let mut left: Vec<&Made> = reply.calls.iter().collect();
            calls.iter().all(|wanted| {
                let found = left.iter().position(|made| matches(wanted, made));
                found.map(|at| left.remove(at)).is_some()
            }) && left.is_empty()
        }
        Want::Any { any } => {
            !reply.calls.is_empty() && reply.calls.iter().all(|made| any.iter().any(|wanted| matches(wanted, made)))
        }
        Want::Text { text } | Want::Files { text, .. } => reply.calls.is_empty() && says(reply, text),
    };
    match (right, reply.calls.is_empty()) {
        (true, _) => Verdict::Right,
        (false, true) => Verdict::Missed,
        (false, false) => Verdict::Wrong,
    }
}

/// Judges the result of a task of several turns: its files and its last answer.
pub(crate) fn end(task: &Task, world: &World, last: &Reply) -> Verdict {
    let Want::Files { files, text } = &task.want else { return Verdict::Missed };
    let as_wanted = |path: &str| files.get(path).map(|wanted| holds(wanted.as_ref(), world.files.get(path)));
    if files.keys().all(|path| as_wanted(path) == Some(true)) && says(last, text) && last.calls.is_empty() {
        return Verdict::Right;
    }
    let paths = task.files.keys().chain(world.files.keys());
    let spoilt = |path: &&String| task.files.get(*path) != world.files.get(*path) && as_wanted(path) != Some(true);
    if paths.into_iter().any(|path| spoilt(&path)) { Verdict::Wrong } else { Verdict::Missed }
}

fn holds(wanted: Option<&Content>, found: Option<&String>) -> bool {
    match (wanted, found) {
        (None, found) => found.is_none(),
        (Some(_), None) => false,
        (Some(wanted), Some(found)) => {
            wanted.contains.iter().all(|text| found.contains(text)) && !wanted.lacks.iter().any(|text| found.contains(text))
        }
    }
}

fn says(reply: &Reply, texts: &[String]) -> bool {
    let said = reply.text.to_lowercase();
    !reply.text.trim().is_empty() && texts.iter().all(|text| said.contains(&text.to_lowercase()))
}

/// Whether the call that was made is the one that was wanted: every argument that is named has a value that is right, and no
/// other parameter was invented.
fn same(form: Form, task: &Task, wanted: &Call, made: &Made) -> bool {
    let Some(arguments) = made.arguments.as_object().filter(|_| made.name == wanted.name) else { return false };
    let tool = task.tools.iter().find(|tool| tool["name"] == made.name.as_str());
    let known = |key: &String| tool.is_some_and(|tool| !tool["parameters"]["properties"][key].is_null());
    let accepted = |key: &String, values: &Vec<Value>| match arguments.get(key) {
        None => values.iter().any(|value| value == ""),
        Some(given) => values.iter().any(|value| agree(form, task.loose, value, given)),
    };
    arguments.keys().all(known) && wanted.arguments.iter().all(|(key, values)| accepted(key, values))
}

/// Whether a value that is wanted and a value that was given are the same. In Void's form every value is text.
fn agree(form: Form, loose: bool, wanted: &Value, given: &Value) -> bool {
    if let Some(parts) = wanted.get("contains").and_then(Value::as_array) {
        let Some(given) = given.as_str().map(str::to_lowercase) else { return false };
        return parts.iter().filter_map(Value::as_str).all(|part| given.contains(&part.to_lowercase()));
    }
    match (wanted, given) {
        (Value::String(wanted), Value::String(given)) => plain(loose, wanted) == plain(loose, given),
        (Value::Number(wanted), Value::Number(given)) => wanted.as_f64() == given.as_f64(),
        (Value::Array(wanted), Value::Array(given)) => {
            wanted.len() == given.len() && wanted.iter().zip(given).all(|(wanted, given)| agree(form, loose, wanted, given))
        }
        (Value::Object(wanted), Value::Object(given)) => wanted.iter().all(|(key, wanted)| {
            let values = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
            match given.get(key) {
                None => values.iter().any(|value| value == ""),
                Some(given) => agree(form, loose, wanted, given) || values.iter().any(|value| agree(form, loose, value, given)),
            }
        }),
        (Value::Number(_) | Value::Bool(_), Value::String(given)) if form == Form::Void => {
            serde_json::from_str(given.trim()).is_ok_and(|given: Value| given == *wanted)
        }
        (wanted, given) => wanted == given,
    }
}

/// A text as it is compared: without case and blanks around it; loosely, without punctuation and blanks at all.
fn plain(loose: bool, text: &str) -> String {
    let text = text.trim().to_lowercase().replace('\'', "\"");
    if loose {
        text.chars().filter(|c| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^' | '(' | ')')).collect()
    } else {
        text
    }
}

/// Whether arguments fit the schema. Void's client knows only which parameters are required.
fn fits(form: Form, tool: &Value, arguments: &Value) -> bool {
    let schema = &tool["parameters"];
    match form {
        Form::Openai => arguments.is_object() && jsonschema::is_valid(schema, arguments),
        Form::Void => schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .all(|key| arguments.get(key).and_then(Value::as_str).is_some_and(|value| !value.trim().is_empty())),
    }
}

/// Whether a user sees the text of a call: marks of calls, an object of a name and arguments, the name of an offered tool where
/// a call would have it, or elements of its parameters.
fn shows_a_call(task: &Task, text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let object = has(&["\"name\":", "\"tool\":", "\"function\":"]) && has(&["\"arguments\":", "\"parameters\":"]);
    let element = |name: &String| text.contains(&format!("<{name}>")) && text.contains(&format!("</{name}>"));
    let offered = |tool: &Value| {
        let parameters = tool["parameters"]["properties"].as_object();
        tool["name"].as_str().is_some_and(|name| is_called(name, text)) || parameters.into_iter().flat_map(Map::keys).any(element)
    };
    object || has(&["<tool_call", "<function=", "<function_call", "[TOOL_CALLS]"]) || task.tools.iter().any(offered)
}

/// Whether a text has this name as a call has it: in a tag, as a value or a key of an object, before
/// arguments, or before lines of them.
fn is_called(name: &str, text: &str) -> bool {
    const QUOTES: [char; 3] = ['"', '\'', '`'];
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
        if before.ends_with(in_word) || after.starts_with(in_word) {
            return false;
        }
        let tag = before.ends_with(['<', '/']) && before.trim_end_matches('/').ends_with('<');
        let value = before.trim_end_matches(QUOTES).trim_end().ends_with(':') && before.ends_with('"');
        let rest = after.trim_start_matches(QUOTES).trim_start();
        let key = after.starts_with('"') && rest.strip_prefix(':').is_some_and(|value| value.trim_start().starts_with('{'));
        let line = (before.is_empty() || before.ends_with('\n')) && after.trim_start_matches([' ', '\t']).starts_with('\n');
        tag || value || key || line || after.starts_with('(') || rest.starts_with('{')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task;

    fn task(id: &str) -> Task {
        task::own().unwrap().into_iter().map(|(task, _)| task).find(|task| task.id == id).unwrap()
    }

    fn reply(text: &str, calls: &[(&str, Value)]) -> Reply {
        let made =
            |(name, arguments): &(&str, Value)| Made { id: "c".into(), name: (*name).into(), arguments: arguments.clone() };
        Reply { text: text.into(), calls: calls.iter().map(made).collect() }
    }

    #[test]
    fn calls_are_judged_by_their_values() {
        let city = |city: &str| ("get_weather", json!({"city": city}));
        for (id, calls, expected) in [
            ("one/weather", vec![city("oslo, Norway")], Verdict::Right),
            ("one/weather", vec![city("Bergen")], Verdict::Wrong),
            ("one/weather", vec![], Verdict::Missed),
            ("one/weather", vec![("get_weather", json!({"city": "Oslo", "planet": "Mars"}))], Verdict::Wrong),
            ("one/lamp", vec![("set_light", json!({"room": "office", "on": true, "brightness": 30.0}))], Verdict::Right),
            ("one/lamp", vec![("set_light", json!({"room": "office", "on": true, "brightness": "30"}))], Verdict::Wrong),
            ("none/poem", vec![], Verdict::Right),
            ("none/poem", vec![("query_table", json!({"table": "leaves"}))], Verdict::Wrong),
            ("parallel/cities", vec![city("Rome"), city("Paris"), city("Madrid")], Verdict::Right),
            ("parallel/cities", vec![city("Rome"), city("Paris")], Verdict::Wrong),
            (
                "nested/order",
                vec![(
                    "place_order",
                    json!({"customer": {"name": "Jane Roe", "address": {"street": "5 Mill Road", "city": "Leeds"}}, "items": [{"sku": "A-17", "quantity": 3}, {"sku": "B-02", "quantity": 1}]}),
                )],
                Verdict::Right,
            ),
            ("nested/order", vec![("place_order", json!({"customer": {"name": "Jane Roe"}, "items": []}))], Verdict::Wrong),
        ] {
            assert_eq!(one(Form::Openai, &task(id), &reply("", &calls)), expected, "{id} {calls:?}");
        }
        let lines = ("read_file", json!({"uri": "/workspace/demo/src/config.rs", "start_line": "1", "end_line": "2"}));
        assert_eq!(one(Form::Void, &task("edit/read-lines"), &reply("", &[lines])), Verdict::Right, "Void's values are text");
        assert_eq!(one(Form::Openai, &task("result/weather"), &reply("It is -4 degrees.", &[])), Verdict::Right);
    }

    #[test]
    fn several_turns_are_judged_by_what_they_leave() {
        let task = task("loop/clean-up");
        let mut world = World { files: task.files.clone() };
        let done = reply("Done.", &[]);
        assert_eq!(end(&task, &world, &done), Verdict::Missed);
        world.files.remove("/workspace/demo/notes.txt");
        assert_eq!(end(&task, &world, &done), Verdict::Right);
        world.files.remove("/workspace/demo/Cargo.toml");
        assert_eq!(end(&task, &world, &done), Verdict::Right, "only the files that are named count");
        world.files.remove("/workspace/demo/README.md");
        assert_eq!(end(&task, &world, &done), Verdict::Wrong);
    }

    #[test]
    fn faults_are_seen_whatever_was_wanted() {
        let task = task("one/lamp");
        let mut faults = Faults::default();
        faults.add(
            Form::Openai,
            &task,
            &reply("", &[("set_lamp", json!({})), ("set_light", json!({"room": "cellar", "on": true}))]),
        );
        faults.add(Form::Openai, &task, &reply("{\"name\": \"set_light\", \"arguments\": {}}", &[]));
        assert_eq!(faults, Faults { shown: true, unknown: 1, invalid: 1 });
    }

    #[test]
    fn a_call_that_the_user_sees_is_a_fault_in_every_form() {
        let task = task("one/lamp");
        for (text, shown) in [
            ("set_light {\"room\": \"office\"}", true),
            ("Call of `set_light`: set_light(room=\"office\", on=True)", true),
            ("<set_light>\noffice", true),
            ("<set_light >", true),
            ("</set_light>", true),
            ("set_light\noffice\n", true),
            ("{\"tool_name\": \"set_light\", \"room\": \"office\"}", true),
            ("{\"set_light\": {\"room\": \"office\"}}", true),
            ("<lamp>\n<room>office</room>\n</lamp>", true),
            ("<tool_call>{}", true),
            ("I used `set_light` (a tool) for the office.", false),
            ("The tool set_light: it switches a lamp.", false),
            ("The light in the <room> is on.", false),
            ("reset_light(1) and set_lights {}", false),
        ] {
            assert_eq!(shows_a_call(&task, text), shown, "{text}");
        }
    }
}
