//! The input of a call for clients that do not take arguments: a text, or the action of a local shell.

use serde_json::{Map, Value, json};

use crate::event::{Input, Why};

/// Characters that a shell reads and the name of a program does not have.
const SHELL_ONLY: &[char] = &['|', '&', ';', '<', '>', '$', '`'];
/// The action's field for the folder, and names for it that models know from other tools.
pub(super) const FOLDER: &str = "working_directory";
const FOLDERS: &[&str] = &[FOLDER, "workdir", "cwd"];

/// Whether a call with these arguments has an input of this form; `Err` says what it lacks.
pub(super) fn carries(input: &Input, arguments: &str) -> Result<(), Why> {
    let (found, what) = match input {
        Input::Arguments => return Ok(()),
        Input::Text | Input::Patch | Input::PatchCommand { .. } => (text(arguments).is_some(), Input::TEXT),
        Input::LocalShell => (shell_action(arguments).is_some(), "command"),
    };
    if found { Ok(()) } else { Err(Why::Inexpressible(format!("it has no `{what}`"))) }
}

/// The text that the arguments hold: the argument [`Input::TEXT`], or the only one under any name. Else the arguments as the
/// model wrote them. `None`: there are none.
pub(super) fn text(arguments: &str) -> Option<String> {
    let Ok(Value::Object(given)) = serde_json::from_str(arguments) else {
        return Some(arguments.to_owned()).filter(|text| !text.trim().is_empty());
    };
    let only = || given.values().next().filter(|_| given.len() == 1);
    match given.get(Input::TEXT).or_else(only) {
        Some(Value::String(text)) => Some(text.clone()),
        _ if given.is_empty() => None,
        _ => Some(arguments.to_owned()),
    }
}

/// The action of a `local_shell_call`, as OpenAI's API and Codex have it: the command is a list of words, `env` is required.
/// `None`: there is no command.
pub(super) fn shell_action(arguments: &str) -> Option<Value> {
    let mut given: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let command = words(given.shift_remove("command")?)?;
    let mut action = json!({"type": "exec", "command": command});
    let folders: Vec<Value> = FOLDERS.iter().filter_map(|name| given.shift_remove(*name)).collect();
    if let Some(folder) = folders.into_iter().find(Value::is_string) {
        action[FOLDER] = folder;
    }
    let env = given.shift_remove("env").filter(|env| env.as_object().is_some_and(|env| env.values().all(Value::is_string)));
    action["env"] = env.unwrap_or_else(|| json!({}));
    given.shift_remove("type");
    for (name, value) in given {
        action[name] = value;
    }
    Some(action)
}

/// A command as words. A single text that no program is called by is a command line, which only a shell can read.
fn words(command: Value) -> Option<Vec<String>> {
    let words = match command {
        Value::String(line) => vec![line],
        Value::Array(words) => words.into_iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        _ => return None,
    };
    match words.as_slice() {
        [] => None,
        [line] if line.trim().is_empty() => None,
        [line] if line.contains(|c: char| c.is_whitespace() || SHELL_ONLY.contains(&c)) => {
            Some(vec!["bash".into(), "-lc".into(), line.clone()])
        }
        _ => Some(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_under_any_name_and_never_empty() {
        for (arguments, wanted) in [
            (r#"{"input":"x()"}"#, Some("x()")),
            (r#"{"code":"x()"}"#, Some("x()")),
            (r#"{"input":"x()","why":"to test"}"#, Some("x()")),
            (r#"{"code":"x()","why":"to test"}"#, Some(r#"{"code":"x()","why":"to test"}"#)),
            (r#"{"code":{"a":1}}"#, Some(r#"{"code":{"a":1}}"#)),
            ("x()", Some("x()")),
            ("{}", None),
            ("", None),
        ] {
            assert_eq!(text(arguments).as_deref(), wanted, "{arguments}");
            assert_eq!(carries(&Input::Text, arguments).is_ok(), wanted.is_some(), "{arguments}");
        }
    }

    #[test]
    fn a_shell_action_has_the_fields_of_the_api() {
        let folder = |name: &str| json!({"command": ["rm", "-r", "b"], name: "/tmp/s", "timeout_ms": 5}).to_string();
        for name in FOLDERS {
            let wanted =
                json!({"type": "exec", "command": ["rm", "-r", "b"], "working_directory": "/tmp/s", "env": {}, "timeout_ms": 5});
            assert_eq!(shell_action(&folder(name)), Some(wanted));
        }
        for (command, wanted) in [
            (json!("ls -l"), json!(["bash", "-lc", "ls -l"])),
            (json!(["ls -l"]), json!(["bash", "-lc", "ls -l"])),
            (json!(["ls|wc"]), json!(["bash", "-lc", "ls|wc"])),
            (json!(["ls"]), json!(["ls"])),
            (json!(["echo", "a b"]), json!(["echo", "a b"])),
        ] {
            let action = shell_action(&json!({"command": command, "env": {"A": "b"}}).to_string()).unwrap();
            assert_eq!((&action["command"], &action["env"]), (&wanted, &json!({"A": "b"})));
        }
        for nothing in ["{}", r#"{"command":[]}"#, r#"{"command":""}"#, r#"{"command":[1]}"#] {
            assert!(carries(&Input::LocalShell, nothing).is_err(), "{nothing}");
        }
    }
}
