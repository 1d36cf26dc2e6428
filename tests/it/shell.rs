//! Mode `shell` for real: the block that a client shows is run in the shells of this machine, with hostile arguments, and the
//! tool gets exactly those; nothing else runs.

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use toolglot::{
    config::{Config, Environment, Overrides},
    server,
};

use crate::{
    fake::{Fake, Script, Seen, Step},
    proxy::client,
    void as reader,
};

/// Shells that read a command line as POSIX says. What is not installed is skipped, and that is said.
const SHELLS: &[&str] = &["bash", "dash", "zsh", "ksh"];
/// Shells that do not: they get the id alone.
const OTHERS: &[&str] = &["pwsh", "powershell"];
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
    "\"; rm -rf x",
    "!$ !-1 !touch ^a^b^ #{x} <(touch pwned) >pwned 2>&1 && touch pwned",
    "\u{1b}[A\u{3}\u{4}\u{15}touch pwned\u{7f}",
    "$env:HOME $(New-Item pwned) `n @{a=1} --% %USERPROFILE%",
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
        // What a hostile argument would remove.
        std::fs::write(folder.path().join("work/x"), "").unwrap();
        // A shell without a user's settings asks about them otherwise.
        std::fs::write(folder.path().join(".zshrc"), "").unwrap();
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
        let settings = server::Settings { ollama: String::new(), ..server::Settings::of(config, &environment) };
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

    /// The command that the client shows for these words.
    async fn line(&self, words: &str) -> String {
        let shown = self.block(words).await;
        assert_eq!(shown.split("```").next().unwrap().trim(), "Let me ask.");
        let line = command(&shown);
        assert!(line.starts_with("toolglot call ") && !line.contains('\n'), "{line}");
        line.to_owned()
    }

    /// Runs a command line; `None` where there is no such shell.
    fn run(&self, shell: &str, command: &str) -> Option<Output> {
        let output = match OTHERS.contains(&shell) {
            true => self.shell(shell).args(["-NoProfile", "-NonInteractive", "-Command", command]).output(),
            false => self.shell(shell).args(["-c", command]).output(),
        };
        self.nothing_else_ran(shell, command);
        output.ok()
    }

    /// Types lines into an interactive shell, where each may refer to those before it; `None` where there is no such shell.
    fn typed(&self, shell: &str, lines: &str) -> Option<Output> {
        let mut process = self.shell(shell);
        process.arg("-i").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = process.spawn().ok()?;
        running.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = running.wait_with_output().unwrap();
        self.nothing_else_ran(shell, lines);
        Some(output)
    }

    fn shell(&self, shell: &str) -> Command {
        let path = format!("{}:/usr/bin:/bin:/usr/local/bin", self.folder.path().join("bin").display());
        let mut process = Command::new(shell);
        process.current_dir(self.work()).env_clear().env("PATH", path).env("HOME", self.folder.path()).env("TERM", "dumb");
        process
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn nothing_else_ran(&self, shell: &str, command: &str) {
        let left: Vec<_> = std::fs::read_dir(self.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left == ["x"], "{shell} ran something else: {left:?} after {command}");
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

/// The tool's answers on standard output: one line each.
fn answers(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|answer| answer["error"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shell_hands_over_exactly_the_arguments() {
    let expected: Vec<String> =
        HOSTILE.iter().map(|hostile| format!("there is no employee `{hostile}`; get_all_employees lists the ids")).collect();
    for form in ["id", "posix"] {
        let machine = Machine::start(&format!("shell_form = \"{form}\"")).await;
        let (mut ran, mut missing) = (Vec::new(), Vec::new());
        for shell in SHELLS.iter().chain(if form == "id" { OTHERS } else { &[] }) {
            if machine.run(shell, "exit 0").is_none() {
                missing.push(*shell);
                continue;
            }
            // The id says nothing of the arguments: all of them in one shell, a few in the others.
            let few = form == "id" && !ran.is_empty();
            let (mut typed, mut meant) = (String::new(), Vec::new());
            for (hostile, expected) in HOSTILE.iter().zip(&expected).take(if few { 3 } else { HOSTILE.len() }) {
                let line = machine.line(hostile).await;
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
                assert!(form == "posix" || line.chars().all(plain), "no shell reads anything into it: {line}");
                assert_eq!(
                    line.contains("proxy.toml'"),
                    form == "posix",
                    "only the id says itself which configuration it is: {line}"
                );
                let output = machine.run(shell, &line).unwrap();
                assert_eq!(answers(&output), std::slice::from_ref(expected), "{shell}: {line} {output:?}");
                assert_eq!(output.status.code(), Some(1), "a tool that failed is a command that failed");
                if form == "posix" {
                    typed += &format!("{}\n", machine.line(hostile).await);
                    meant.push(expected.clone());
                }
            }
            if form == "posix" {
                let output = machine.typed(shell, &(typed + "exit\n")).unwrap();
                assert_eq!(answers(&output), meant, "{shell} -i: {output:?}");
            }
            ran.push(*shell);
        }
        assert!(!ran.is_empty(), "no shell was found");
        // Not `eprintln!`, which a test keeps to itself.
        let _ = writeln!(
            std::io::stderr(),
            "form {form}: blocks ran in {}; NOT INSTALLED, SKIPPED: {}",
            ran.join(", "),
            missing.join(", ")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_voids_terminal_the_command_runs_and_its_output_returns() {
    let machine = Machine::start("shell_via = \"run_command\"").await;
    let mut messages =
        vec![json!({"role": "system", "content": reader::system_text()}), json!({"role": "user", "content": "EMP001"})];
    let body = json!({"model": "m", "stream": true, "messages": messages});
    let request = client().post(format!("{}/shell/v1/chat/completions", machine.url)).header("content-type", "application/json");
    let sse = request.body(body.to_string()).send().await.unwrap().text().await.unwrap();
    let read = reader::read_xml(&sse, &reader::tools());
    let (name, values) = read.call.unwrap_or_else(|| panic!("{sse}"));
    let [(parameter, line)] = values.as_slice() else { panic!("{values:?}") };
    assert_eq!((read.text.as_str(), name.as_str(), parameter.as_str()), ("Let me ask.", "run_command", "command"));
    let output = machine.run("sh", line).unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("\"success\":true"), "{output:?}");

    // What Void sends next: the model sees its own call, and what it gave.
    messages.push(json!({"role": "assistant", "content": reader::remembered(&read.text, &name, &values)}));
    let shown = format!("$ {line}\n{said}\n(exit code 0)");
    messages.push(json!({"role": "user", "content": reader::result(&name, &shown)}));
    machine.chat(json!(messages), json!({})).await;
    let sent: Value = serde_json::from_str(&machine.fake.seen("/api/chat").pop().unwrap().body).unwrap();
    let past = &sent["messages"][2];
    let called = past["tool_calls"][0]["function"]["name"].as_str().unwrap_or_else(|| panic!("{sent}"));
    assert!(called.contains("get_employee_info"), "{past}");
    assert_eq!(past["tool_calls"][0]["function"]["arguments"], json!({"employee_id": "EMP001"}));
    assert_eq!((&sent["messages"][3]["role"], &sent["messages"][3]["content"]), (&json!("tool"), &json!(shown)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_call_says_that_it_runs_from_the_start_of_its_server_on() {
    let machine = Machine::start("").await;
    let registry = machine.folder.path().join("mcp.json");
    // It says nothing for a while, and ends at once when it is started again.
    let script = format!("mkdir '{}' && sleep 5.5", machine.folder.path().join("started").display());
    std::fs::write(&registry, json!({"mcpServers": {"slow": {"command": "sh", "args": ["-c", script]}}}).to_string()).unwrap();
    let line = format!("toolglot call slow__act --registry {}", registry.display());
    let output = tokio::task::spawn_blocking(move || machine.run("sh", &line).unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("toolglot: slow__act runs, 5 s"), "{said}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
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
