//! Mode `shell` for real: the block that a client shows is run in the shells of this machine, with hostile arguments, and the
//! tool gets exactly those; nothing else runs.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use toolglot::{
    config::{Config, Environment, Overrides},
    server,
};

use crate::{
    fake::{Fake, Script, Seen, Step},
    proxy::client,
};

const SHELLS: &[&str] = &["bash", "dash", "zsh", "ksh"];
const HOSTILE: &[&str] = &[
    "it's \"quoted\" `three` times",
    "$(touch pwned) `touch pwned` ${HOME} $HOME",
    "\"; touch pwned; echo \"",
    "'; touch pwned; echo '",
    "a\nb\r\nc\td",
    "\\ \\\\ \\' \\n",
    "%PATH% !! ^ & | < > * ? [a] {b,c} ~ # =",
    "漢字 🙂 \u{202e}evil",
    "-n --help",
];

/// A user's machine: the command in the PATH, a home, a proxy.
struct Machine {
    folder: tempfile::TempDir,
    url: String,
    fake: Fake,
}

// === impl Machine ===

impl Machine {
    /// A proxy with this configuration before a model that calls the tool with the words of the user.
    async fn start(settings: &str) -> Machine {
        let fake = Fake::start(|seen: &Seen| match seen.line.as_str() {
            "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
            "POST /api/chat" => {
                let body: Value = serde_json::from_str(&seen.body).unwrap();
                let user = |message: &&Value| message["role"] == "user";
                let said = body["messages"].as_array().unwrap().iter().rfind(user).unwrap()["content"].clone();
                let name = body["tools"].to_string();
                let name = name.split('"').find(|word| word.contains("get_employee_info")).unwrap_or("get_employee_info");
                let call = json!({"function": {"name": name, "arguments": {"employee_id": said}}});
                let message = json!({"role": "assistant", "content": "Let me ask.", "tool_calls": [call]});
                let line = json!({"message": message, "done": false});
                let end = json!({"message": {"content": ""}, "done": true, "done_reason": "stop"});
                Script::lines(vec![Step::Send(format!("{line}\n{end}\n"))])
            }
            _ => Script::json(404, "{}"),
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(folder.path().join("work")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_toolglot"), bin.join("toolglot")).unwrap();
        let file = folder.path().join("proxy.toml");
        std::fs::write(
            &file,
            format!("{settings}\n[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n[mcp]\nbuiltin_tools = true\n", fake.url),
        )
        .unwrap();
        let home = folder.path().to_str().unwrap();
        let environment = Environment::from([("HOME", home), ("PATH", bin.to_str().unwrap())]);
        let config = Config::load(&Overrides { file: Some(file), ..Overrides::default() }, &environment).unwrap();
        let settings = server::Settings { config, demo: false, record: None, ollama: String::new(), environment };
        let app = server::app(settings).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, server::router(app)).await.unwrap() });
        Machine { folder, url, fake }
    }

    async fn chat(&self, messages: Value, more: Value) -> Value {
        let mut body = json!({"model": "m", "messages": messages});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let request = client().post(format!("{}/shell/v1/chat/completions", self.url));
        let response = request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
        serde_json::from_str(&response.text().await.unwrap()).unwrap()
    }

    /// What the client shows for these words.
    async fn block(&self, words: &str) -> String {
        let answer = self.chat(json!([{"role": "user", "content": words}]), json!({})).await;
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
        answer["choices"][0]["message"]["content"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Runs a command line as the user's terminal would; `None` where there is no such shell.
    fn run(&self, shell: &str, command: &str) -> Option<Output> {
        let work = self.folder.path().join("work");
        let path = format!("{}:/usr/bin:/bin", self.folder.path().join("bin").display());
        let mut process = Command::new(shell);
        process.args(["-c", command]).current_dir(&work).env_clear().env("PATH", path).env("HOME", self.folder.path());
        let output = process.output().ok()?;
        assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0, "{shell} ran something else for {command}");
        Some(output)
    }

    fn state(&self) -> PathBuf {
        let data = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        self.folder.path().join(data).join("toolglot/state")
    }
}

/// The command in a fenced block.
fn command(shown: &str) -> &str {
    shown.split_once("```shell\n").and_then(|(_, rest)| rest.split_once("\n```")).unwrap_or_else(|| panic!("{shown}")).0
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shell_hands_over_exactly_the_arguments() {
    for form in ["id", "posix"] {
        let machine = Machine::start(&format!("shell_form = \"{form}\"")).await;
        let mut ran = 0;
        for shell in SHELLS {
            for hostile in HOSTILE {
                let shown = machine.block(hostile).await;
                let (before, line) = (shown.split("```").next().unwrap(), command(&shown).to_owned());
                assert_eq!(before.trim(), "Let me ask.");
                assert!(line.starts_with("toolglot call ") && !line.contains('\n'), "{line}");
                if form == "id" {
                    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
                    assert!(line.chars().all(plain), "no shell reads anything into it: {line}");
                }
                let Some(output) = machine.run(shell, &line) else { break };
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let answer: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{shell}: {said} {output:?}"));
                let expected = format!("there is no employee `{hostile}`; get_all_employees lists the ids");
                assert_eq!(answer["error"], expected.as_str(), "{shell}: {line}");
                assert_eq!(output.status.code(), Some(1), "a tool that failed is a command that failed");
                ran += 1;
            }
        }
        assert!(ran >= HOSTILE.len(), "no shell was found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_is_private_and_runs_once() {
    let machine = Machine::start("").await;
    let shown = machine.block("EMP001").await;
    let waiting: Vec<PathBuf> = std::fs::read_dir(machine.state()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!((waiting.len(), mode(&machine.state()), mode(&waiting[0])), (1, 0o700, 0o600));
    let line = command(&shown);
    let first = machine.run("sh", line).unwrap();
    assert!(first.status.success() && String::from_utf8_lossy(&first.stdout).contains("\"success\":true"), "{first:?}");
    assert_eq!(std::fs::read_dir(machine.state()).unwrap().count(), 0);
    let second = machine.run("sh", line).unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.code() == Some(1) && said.contains("it has run already"), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_past_is_the_call_again() {
    for (settings, terminal) in [("", false), ("shell_via = \"run_command\"", true)] {
        let machine = Machine::start(settings).await;
        let function =
            json!({"name": "run_command", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}});
        let more = if terminal { json!({"tools": [{"type": "function", "function": function}]}) } else { json!({}) };
        let first = machine.chat(json!([{"role": "user", "content": "EMP001"}]), more.clone()).await;
        let message = first["choices"][0]["message"].clone();
        let mut history = vec![json!({"role": "user", "content": "EMP001"}), message.clone()];
        if terminal {
            let call = &message["tool_calls"][0];
            let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            let line = arguments["command"].as_str().unwrap();
            assert_eq!(call["function"]["name"], "run_command");
            assert!(machine.run("sh", line).unwrap().status.success(), "{line}");
            history.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "$ it ran"}));
        }
        history.push(json!({"role": "user", "content": "and now?"}));
        machine.chat(json!(history), more).await;
        let sent: Value = serde_json::from_str(&machine.fake.seen("/api/chat").pop().unwrap().body).unwrap();
        let past = &sent["messages"][1];
        let name = past["tool_calls"][0]["function"]["name"].as_str().unwrap_or_else(|| panic!("{sent}"));
        assert!(name.contains("get_employee_info"), "{past}");
        assert_eq!(past["tool_calls"][0]["function"]["arguments"], json!({"employee_id": "EMP001"}));
        assert!(!past.to_string().contains("toolglot call"), "{past}");
        assert_eq!((&past["content"], &sent["messages"][2]["role"]), (&json!("Let me ask."), &json!("tool")));
    }
}

#[tokio::test]
async fn without_the_command_in_the_path_the_mode_is_refused_with_the_remedy() {
    let environment = Environment::from([("PATH", "/nonexistent"), ("HOME", "/nonexistent")]);
    for text in ["mode = \"shell\"", "[[route]]\nmodel = \"x\"\nmode = \"shell\""] {
        let error = Config::parse(text, None, &Overrides::default(), &environment).unwrap_err();
        assert!(error.message.contains("PATH") && error.message.contains("cargo install"), "{error}");
    }
    let proxy = crate::proxy::Proxy::start("[[backend]]\nkind = \"replay\"\n").await;
    let list: Value = proxy.get("/v1/models").send().await.unwrap().json().await.unwrap();
    let body = json!({"model": list["data"][0]["id"], "messages": [{"role": "user", "content": "x"}]});
    for request in [
        proxy.post("/shell/v1/chat/completions", &body),
        proxy.post("/v1/chat/completions", &body).header("x-toolglot-mode", "shell"),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 400);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["code"], "shell_not_available", "{error}");
    }
}
