//! `toolglot call` as a user or a shell block starts it: where the arguments come from, what is printed, how it ends.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use toolglot::store::{Files, Key, Kind, Store};

const MINA: &str = "{\"employee_id\": \"EMP001\"}";

fn call(home: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolglot"));
    command.arg("call").args(arguments).current_dir(home).env("HOME", home).env_remove("TOOLGLOT_LOG");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Who does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn arguments_come_from_the_line_a_file_or_standard_input() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.json"), MINA).unwrap();
    let bom = format!("\u{feff}{MINA}\n");
    for (arguments, input) in [
        (vec!["get_employee_info", MINA], ""),
        (vec!["get_employee_info", "-"], MINA),
        (vec!["get_employee_info", "-"], bom.as_str()),
        (vec!["get_employee_info", "--file", "a.json"], ""),
        (vec!["builtin.sqlite__get_employee_info", MINA], ""),
        // As a hand or a model writes it.
        (vec!["get_employee_info", "{employee_id: 'EMP001',}"], ""),
    ] {
        let output = call(home.path(), &arguments, input);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"));
        assert_eq!((output.status.code(), &said["result"]["name"]), (Some(0), &json!("Mina Park")), "{arguments:?}");
    }
    let none = call(home.path(), &["get_all_employees"], "");
    assert!(none.status.success() && String::from_utf8_lossy(&none.stdout).contains("Mina Park"), "{none:?}");
    let whole = call(home.path(), &["get_employee_info", MINA, "--json"], "");
    let whole: Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert!(whole["result"]["content"][0]["text"].as_str().unwrap().contains("Mina Park"), "{whole}");
}

#[test]
fn what_goes_wrong_is_said_and_is_a_failure() {
    let home = tempfile::tempdir().unwrap();
    let id = "get_employee_info-0123456789abcdefABCDEFgh";
    for (arguments, code, printed, said) in [
        (vec!["get_employee_info", "{\"employee_id\": \"EMP999\"}"], 1, "there is no employee", "get_employee_info failed"),
        (vec!["get_employee_info", "{}"], 1, "", "do not fit the tool's schema"),
        (vec!["get_employee_info", "[1, 2, 3]"], 1, "", "get_employee_info"),
        (vec!["no_such_tool", "{}"], 1, "", "there is no tool `no_such_tool`"),
        (vec!["get_employee_info", "--file", "missing.json"], 1, "", "missing.json: "),
        (vec![id], 1, "", "no call waits under"),
        (vec!["get_employee_info", MINA, "--timeout", "never"], 2, "", "--timeout"),
        (vec![], 2, "", "<NAME>"),
    ] {
        let output = call(home.path(), &arguments, "");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert!(out.contains(printed) && (!printed.is_empty() || out.is_empty()), "{arguments:?}: {out}");
        assert!(err.contains(said), "{arguments:?}: {err}");
    }
}

#[tokio::test]
async fn a_call_that_waits_too_long_has_expired() {
    let home = tempfile::tempdir().unwrap();
    let data = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    let state: PathBuf = home.path().join(data).join("toolglot/state");
    let id = "get_employee_info-0123456789abcdefABCDEFgh";
    let waiting = json!({"name": "get_employee_info", "arguments": MINA}).to_string();
    let keep = |ttl| {
        let (state, waiting) = (state.clone(), waiting.clone());
        async move { Files::new(state).put(Key::local(Kind::SpooledCall, id), waiting.into(), ttl).await }
    };
    assert!(keep(Duration::ZERO).await);
    std::thread::sleep(Duration::from_millis(1100));
    let late = call(home.path(), &[id], "");
    assert!(String::from_utf8_lossy(&late.stderr).contains("or has expired; ask the model for it again"), "{late:?}");
    assert_eq!((late.status.code(), std::fs::read_dir(&state).unwrap().count()), (Some(1), 0), "nothing of it is left");
    assert!(keep(Duration::from_secs(60)).await);
    assert!(call(home.path(), &[id], "").status.success());
    assert!(!call(home.path(), &[id], "").status.success(), "it runs once");
}

#[tokio::test]
async fn a_call_that_cannot_run_yet_still_waits() {
    let home = tempfile::tempdir().unwrap();
    let data = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    let files = Files::new(home.path().join(data).join("toolglot/state"));
    let (id, config) = ("get_employee_info-0123456789abcdefABCDEFgh", home.path().join("proxy.toml"));
    let waiting = json!({"name": "get_employee_info", "arguments": MINA, "config": config}).to_string();
    assert!(files.put(Key::local(Kind::SpooledCall, id), waiting.into(), Duration::from_secs(60)).await);
    // A configuration that cannot be read, and a tool that is not there: neither uses the call up.
    std::fs::write(&config, "nonsense = 1\n").unwrap();
    assert_eq!(call(home.path(), &[id], "").status.code(), Some(2));
    // A key of a backend is not needed to run a tool.
    std::fs::write(&config, "[[backend]]\nkind = \"ollama\"\napi_key_env = \"NOT_SET\"\n").unwrap();
    let ran = call(home.path(), &[id], "");
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("Mina Park"), "{ran:?}");
}
