//! The binary as a user starts it: what it says, how it ends.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    fake::{Fake, Script, Step},
    proxy::client,
};

/// The binary, far from any configuration and any backend of this machine.
pub(crate) fn toolglot(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolglot"));
    command.args(arguments).current_dir(directory).env("OLLAMA_HOST", "127.0.0.1:9").env("HOME", directory);
    for name in ["TOOLGLOT_LOG", "TOOLGLOT_CONFIG", "TOOLGLOT_LISTEN", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server under way. It is ended with the test.
pub(crate) struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
    url: String,
}

impl Running {
    /// Starts and waits until standard error contains `until`.
    fn start(directory: &Path, arguments: &[&str], until: &str) -> Running {
        Running::of(&mut toolglot(directory, arguments), until)
    }

    pub(crate) fn of(command: &mut Command, until: &str) -> Running {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = Arc::new(Mutex::new(String::new()));
        let heard = said.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *heard.lock().unwrap() += &(line + "\n");
            }
        });
        let mut running = Running { child, said, url: String::new() };
        let started = Instant::now();
        while !running.said().contains(until) {
            assert!(started.elapsed() < Duration::from_secs(20), "said only: {}", running.said());
            std::thread::sleep(Duration::from_millis(10));
        }
        running.url = running.said().split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap().to_owned();
        running
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    async fn wait_for(&self, text: &str) {
        for _ in 0..1000 {
            if self.said().contains(text) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{text} is not in: {}", self.said());
    }

    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
    }

    /// Sends a signal by its name.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn ended(&mut self, within: Duration) -> i32 {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap();
            }
            assert!(started.elapsed() < within, "still running");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Output {
    toolglot(directory, arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_that_the_demonstration_prints_shows_a_call() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::start(directory.path(), &["serve", "--demo", "--listen", "127.0.0.1:0"], "curl ");
    assert!(
        running.said().contains("Void: Settings > Models > Providers > vLLM > Endpoint: http://localhost:"),
        "{}",
        running.said()
    );
    let said = running.said();
    if let Some(second) = said.split_whitespace().find(|word| word.starts_with("http://[::1]:")) {
        let list = client().get(format!("{second}/v1/models")).send().await.unwrap();
        assert_eq!(list.status(), 200, "both families are served");
    }
    let line = said.lines().find(|line| line.starts_with("curl ")).unwrap();
    assert!(line.contains("\"demo/gemma3\""), "the fenced call of the README: {line}");
    let url = line.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let body = line.split_once("-d '").unwrap().1.trim_end_matches('\'').replace(r"'\''", "'");
    let answer =
        client().post(url).header("content-type", "application/json").body(body).send().await.unwrap().text().await.unwrap();
    assert!(answer.contains("\"tool_calls\":[{") && answer.contains("\"finish_reason\":\"tool_calls\""), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_starts_later_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut command = toolglot(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let running = Running::of(command.env("OLLAMA_HOST", &free), "curl ");
    assert!(
        running.said().contains(&format!("no backend yet: looked for ollama at http://{free}, lm-studio at")),
        "{}",
        running.said()
    );
    let _fake = Fake::start_at(&free, |_| Script::json(200, r#"{"models":[{"name":"late"}]}"#)).await;
    running.wait_for(&format!("ollama at http://{free}: late")).await;
    let list = client().get(format!("{}/v1/models", running.url)).send().await.unwrap().text().await.unwrap();
    assert!(list.contains("\"late\"") && list.matches("\"id\"").count() == 1, "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_models_stay_out_of_a_user_s_list() {
    let fake = Fake::start(|_| Script::json(200, r#"{"models":[{"name":"mine"}]}"#)).await;
    let backend = format!("ollama={}", fake.url);
    let directory = tempfile::tempdir().unwrap();
    for (demo, recorded) in [(None, false), (Some("--demo"), true)] {
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--backend", &backend];
        arguments.extend(demo);
        let running = Running::start(directory.path(), &arguments, ": mine");
        let list: Value =
            serde_json::from_str(&client().get(format!("{}/v1/models", running.url)).send().await.unwrap().text().await.unwrap())
                .unwrap();
        let models = list["data"].as_array().unwrap();
        assert_eq!(models[0]["id"], "mine");
        assert_eq!(models.len() > 1, recorded, "{list}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_never_exchanged_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    let first = Running::start(directory.path(), &["serve", "--listen", "127.0.0.1:0"], "OpenAI base URL");
    let vllm = Fake::start(|seen| match seen.line.as_str() {
        "GET /version" => Script::json(200, r#"{"version":"0.33.0"}"#),
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"x","owned_by":"vllm"}]}"#),
        _ => Script::json(404, "{}"),
    })
    .await;
    let ollama = Fake::start(|_| Script::json(200, r#"{"version":"0.12.0"}"#)).await;
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let mute_url = format!("http://{}", mute.local_addr().unwrap());
    for (url, who) in [
        (&first.url, "without a configuration file)"),
        (&vllm.url, "answers vLLM (version 0.33.0)"),
        (&ollama.url, "answers Ollama (version 0.12.0)"),
        (&mute_url, "something that does not speak HTTP"),
    ] {
        let address = url.trim_start_matches("http://").to_owned();
        let path = directory.path().to_owned();
        let output = tokio::task::spawn_blocking(move || run(&path, &["serve", "--listen", &address])).await.unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        let next = url.rsplit(':').next().unwrap().parse::<u16>().unwrap() + 1;
        for expected in [who, &format!("toolglot serve --listen 127.0.0.1:{next}"), &format!("http://localhost:{next}")] {
            assert!(said.contains(expected), "{said} should contain {expected}");
        }
    }
}

#[test]
fn a_wrong_configuration_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("proxy.toml"), "mode = \"rewrite\"\nretrys = 2\n").unwrap();
    let output = run(directory.path(), &["serve"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("proxy.toml:2: unknown field `retrys`") && said.contains("did you mean `retry`?"), "{said}");
    for (config, expected) in
        [("[[route]]\nmodel = \"*\"\nadapter = \"nonsense\"\n", "adapter `nonsense`"), ("adapters = \"not-here\"\n", "not-here")]
    {
        std::fs::write(directory.path().join("proxy.toml"), config).unwrap();
        let output = run(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    std::fs::write(directory.path().join("tools.json"), "{}").unwrap();
    for (words, expected) in [
        (&["normalize", "--model", "m", "--tools", "tools.json"][..], "tools.json: a JSON array of tools is wanted"),
        (&["call", "x", "--timeout", "soon"], "a number of seconds is wanted"),
        (&["serve", "--backend", "http://127.0.0.1:99999"], "write it as http://host:port"),
        (&["mcp", "add", "x", "npx"], "`npx` is not a URL; write it as http://host:port/path"),
        (&["mcp", "add", "x", "http://x", "--header", "k"], "--header: write it as NAME:VALUE"),
        (&["setup"], "possible values: void"),
    ] {
        let said = text(&run(directory.path(), words).stderr);
        assert!(said.contains(expected), "{words:?} should say {expected}: {said}");
    }
    assert_eq!(run(directory.path(), &["serve", "--config", "none.toml"]).status.code(), Some(2));
    assert_eq!(run(directory.path(), &["serve", "--what"]).status.code(), Some(2));
}

#[test]
fn the_example_configuration_is_valid_with_every_key_in_force() {
    let directory = tempfile::tempdir().unwrap();
    let example = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/proxy.toml")).unwrap();
    // Keys and tables come after "# " in lines of their own.
    let all: Vec<&str> = example
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| {
            line.starts_with('[')
                || line.split_once(" = ").is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        })
        .collect();
    assert!(all.len() > 15, "{all:?}");
    let text = all.join("\n");
    std::fs::write(directory.path().join("far.key"), "secret\n").unwrap();
    std::fs::write(directory.path().join("keys.txt"), "cara: k-1\n").unwrap();
    let parse = |text: &str| {
        toolglot::config::Config::parse(
            text,
            Some(&directory.path().join("proxy.toml")),
            &toolglot::config::Overrides { without_secrets: true, ..toolglot::config::Overrides::default() },
            &toolglot::config::Environment::from([("SOME_KEY", "x"), ("SOME_KEYS", "bob:k-2"), ("SOME_TOKEN", "x")]),
        )
    };
    let config = parse(&text);
    assert!(config.is_ok(), "{config:?}\n{text}");
    // An unknown key is told which ones there are: each of them is shown, in its own table.
    for table in ["", "[[key]]", "[[backend]]", "[[route]]", "[[alias]]", "[react]", "[limits]", "[mcp]"] {
        let refused = parse(&format!("{table}\nunheard_of = 1\n")).unwrap_err().message;
        assert!(refused.contains(":2: unknown field `unheard_of`"), "{table}: {refused}");
        let known = refused.split_once("there are:").map_or("", |(_, known)| known);
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        assert!(known.len() > 1, "{table}: {refused}");
        for key in known {
            let mut at = "";
            let shown = all.iter().any(|&line| {
                if line.starts_with('[') {
                    at = line;
                }
                let header = [format!("[{key}]"), format!("[[{key}]]")].iter().any(|header| table.is_empty() && line == *header);
                header || (at == table && line.starts_with(&format!("{key} = ")))
            });
            assert!(shown, "`{key}` of {table:?} is not in proxy.toml");
        }
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_lets_running_answers_end() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => Script::lines(vec![
            Step::Send("{\"message\":{\"content\":\"one \"}}\n".into()),
            Step::Wait(Duration::from_millis(700)),
            Step::Send("{\"message\":{\"content\":\"two\"},\"done\":true,\"done_reason\":\"stop\"}\n".into()),
        ]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let backend = format!("ollama={}", fake.url);
    let mut running = Running::start(directory.path(), &["serve", "--listen", "127.0.0.1:0", "--backend", &backend], ": m");
    let chat = client()
        .post(format!("{}/v1/chat/completions", running.url))
        .header("content-type", "application/json")
        .body(json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]}).to_string());
    let answer = tokio::spawn(async move { chat.send().await.unwrap().text().await.unwrap() });
    fake.wait_for("/api/chat").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.terminate();
    let answer = answer.await.unwrap();
    assert!(answer.contains("two") && answer.ends_with("data: [DONE]\n\n"), "{answer}");
    assert_eq!(running.ended(Duration::from_secs(5)), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_holds_the_bytes_and_no_secret() {
    let lines = [
        "{\"message\":{\"content\":\"one \"},\"done\":false}\n",
        "{\"message\":{\"content\":\"two\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    ];
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"org/m:1b"}]}"#),
        "POST /api/chat" => {
            Script::lines(vec![Step::Send(lines[0].into()), Step::Wait(Duration::from_millis(300)), Step::Send(lines[1].into())])
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let backend = format!("ollama={}", fake.url);
    let arguments = ["record", "--into", "here", "--listen", "127.0.0.1:0", "--backend", &backend];
    let running = Running::start(directory.path(), &arguments, ": org/m:1b");
    let tool = json!({"type": "function", "function": {"name": "f", "description": "does f", "parameters": {"type": "object"}}});
    let body = json!({"model": "org/m:1b", "user": "a-secret-name", "temperature": 0.5, "tools": [tool], "messages": [{"role": "user", "content": "x"}]});
    client()
        .post(format!("{}/v1/chat/completions", running.url))
        .header("content-type", "application/json")
        .header("authorization", "Bearer a-secret-key")
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    // The recording is written when the turn is over, which the client may see a moment earlier.
    crate::mcp::eventually("a recording", || recordings(&directory.path().join("here")).len() == 1).await;
    let written = std::fs::read_to_string(&recordings(&directory.path().join("here"))[0]).unwrap();
    assert!(!written.contains("secret"), "{written}");
    let fixture = toolglot::fixture::Fixture::parse(&written).unwrap();
    let round = &fixture.rounds[0];
    assert_eq!(text(&round.reads.bytes), lines.concat());
    let pauses: Vec<Duration> = round.reads.iter().map(|(after, _)| after).collect();
    assert!(pauses.len() == 2 && pauses[1] >= Duration::from_millis(100), "{pauses:?}");
    assert_eq!((&*round.request.tools, round.request.rest["temperature"].as_f64()), ([tool].as_slice(), Some(0.5)));
}

/// The recordings in a folder, without those that are still being written.
fn recordings(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|file| !file.file_name().unwrap().to_string_lossy().starts_with('.')).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_kept_however_the_turn_ends() {
    let line = "{\"message\":{\"content\":\"half of it, with k3y-of-the-backend \"},\"done\":false}\n";
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" if seen.body.contains("breaks") => Script::lines(vec![Step::Send(line.into()), Step::Break]),
        "POST /api/chat" => Script::lines(vec![Step::Send(line.into()), Step::Hang]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let config = format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\napi_key_env = \"THE_KEY\"\n", fake.url);
    std::fs::write(directory.path().join("proxy.toml"), config).unwrap();
    let mut command = toolglot(directory.path(), &["record", "--into", "here", "--listen", "127.0.0.1:0"]);
    let running = Running::of(command.env("THE_KEY", "k3y-of-the-backend"), ": m");
    let folder = directory.path().join("here");
    for (at, what) in ["breaks", "hangs"].into_iter().enumerate() {
        let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": what}]});
        let request = client().post(format!("{}/v1/chat/completions", running.url()));
        let mut response = request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
        response.chunk().await.unwrap();
        drop(response);
        crate::mcp::eventually(what, || recordings(&folder).len() == at + 1).await;
    }
    for file in recordings(&folder) {
        let written = std::fs::read_to_string(&file).unwrap();
        let fixture = toolglot::fixture::Fixture::parse(&written).unwrap();
        assert!(fixture.title.ends_with(", broken off"), "{}", fixture.title);
        assert!(text(&fixture.rounds[0].reads.bytes).contains("half of it, with ***") && !written.contains("k3y"), "{written}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        }
    }
}

#[test]
fn fix_says_by_its_exit_code_whether_there_are_arguments() {
    let directory = tempfile::tempdir().unwrap();
    for (source, code) in [("{'a': 1}", 0), ("no arguments at all", 1)] {
        let mut child = toolglot(directory.path(), &["fix"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{source}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = toolglot(directory.path(), &["normalize", "--jsonl"]).stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    for id in 0..2000 {
        // The other side may be gone already; that is the point.
        if writeln!(input, "{}", json!({"id": id, "model": "m", "tools": [], "text": "x".repeat(200)})).is_err() {
            break;
        }
    }
    drop(input);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// A suite of rows is answered row by row: one that cannot be read says so, and those after it are answered.
#[test]
fn a_row_that_cannot_be_normalized_does_not_end_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = toolglot(directory.path(), &["normalize", "--jsonl"]).stdin(Stdio::piped()).spawn().unwrap();
    let unnamed = json!({"type": "function", "function": {"name": ""}});
    let rows = [
        json!({"id": 1, "model": "m", "frames": [{"error": {"message": "out of memory"}}]}).to_string(),
        json!({"id": 2, "model": "m", "tools": [unnamed], "text": "a"}).to_string(),
        "{".to_owned(),
        json!({"id": 4, "model": "m", "text": "b"}).to_string(),
    ];
    child.stdin.take().unwrap().write_all(rows.join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed: Vec<(&Value, bool)> = answers.iter().map(|answer| (&answer["id"], answer["error"].is_string())).collect();
    let (one, two, four) = (json!(1), json!(2), json!(4));
    assert_eq!(failed, [(&one, true), (&two, true), (&Value::Null, true), (&four, false)], "{answers:?}");
    assert_eq!((&answers[3]["content"], output.status.code()), (&json!("b"), Some(1)));
}

#[test]
fn commands_that_do_not_serve_need_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let config = "api_key_env = \"NO_KEY\"\n[[backend]]\nname = \"far\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\napi_key_env = \"NOT_SET\"\n";
    std::fs::write(directory.path().join("proxy.toml"), config).unwrap();
    for (arguments, code, said) in [
        (&["check"][..], 0, "`api_key_env`: the environment variable `NO_KEY` is not set"),
        (&["doctor"], 1, "the environment variable `NO_KEY` is not set; `serve` does not start without it"),
        (&["setup", "zed"][..], 0, "http://127.0.0.1:8000"),
        (&["check"], 0, "the environment variable NOT_SET"),
        (&["call", "get_all_employees"], 0, "Mina Park"),
        (&["doctor"], 1, "far: the environment variable NOT_SET of `api_key_env` is not set"),
        (&["serve"], 2, "the environment variable NOT_SET"),
    ] {
        let output = toolglot(directory.path(), arguments).output().unwrap();
        let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), all.contains(said)), (Some(code), true), "{arguments:?}: {all}");
    }
}

#[test]
fn a_command_line_that_lacks_something_is_told_what() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, home, code, said) in [
        (&[][..], true, 2, "For developers:\n  normalize "),
        (&["init"], false, 1, "set HOME, or name a file"),
        (&["update"], true, 0, "git pull && cargo build --release"),
        (&["mcp", "add", "x"], true, 2, "toolglot mcp add [OPTIONS] <NAME> -- <COMMAND> [ARGUMENTS]..."),
        (&["logs", "--listen", "127.0.0.1:9"], true, 1, "no proxy runs at http://127.0.0.1:9: `toolglot serve` starts one"),
    ] {
        let mut command = toolglot(directory.path(), arguments);
        if !home {
            command.env_remove("HOME").env_remove("USERPROFILE").env_remove("APPDATA").env_remove("LOCALAPPDATA");
        }
        let output = command.output().unwrap();
        let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), all.contains(said)), (Some(code), true), "{arguments:?}: {all}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is written into the working directory");
}

/// One proxy with a backend that no configuration names: every command knows it.
#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_what_the_commands_tell_of() {
    let name = "a-model-with-a-rather-long-name:30b";
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        "GET /api/tags" => Script::json(200, json!({"models": [{"name": name}]}).to_string()),
        "POST /api/chat" => Script::lines(vec![Step::Send(
            "{\"message\":{\"content\":\"Hello.\"},\"done\":true,\"done_reason\":\"stop\"}\n".into(),
        )]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("new/x.log");
    std::fs::create_dir_all(directory.path().join(".config/toolglot")).unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--backend", &fake.url, "--log-file", log.to_str().unwrap()];
    let running = Running::start(directory.path(), &arguments, &format!(": {name}"));
    assert!(running.said().contains("makes the folder"), "{}", running.said());
    let address = running.url().trim_start_matches("http://").to_owned();
    let command = |arguments: &[&str]| {
        let mut command = toolglot(directory.path(), arguments);
        command.env("TOOLGLOT_LISTEN", &address).spawn().unwrap().wait_with_output()
    };
    let models = command(&["models"]).unwrap();
    let table = text(&models.stdout);
    assert!(models.status.success() && table.contains(name), "{table}{}", text(&models.stderr));
    assert!(table.lines().all(|line| line.len() <= 110), "a long name, and it fits into two thirds of what it was: {table}");
    let doctor = text(&command(&["doctor"]).unwrap().stdout);
    assert!(doctor.contains("Ollama 0.13.0") && doctor.contains("no problem found"), "{doctor}");

    let mut following = toolglot(directory.path(), &["logs", "--listen", &address]).spawn().unwrap();
    let body = json!({"model": name, "messages": [{"role": "user", "content": "x"}]}).to_string();
    let chat = client().post(format!("{}/v1/chat/completions", running.url())).header("content-type", "application/json");
    assert_eq!(chat.body(body).send().await.unwrap().status(), 200);
    let mut line = String::new();
    BufReader::new(following.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let facts = line.split_once("Z ").unwrap().1.trim_end();
    assert!(facts.starts_with(&format!("turn model={name} backend=")) && facts.ends_with(" finish=stop"), "{line}");
    assert!(facts.len() < 140 && !facts.contains("id="), "{line}");
    following.kill().unwrap();
    following.wait().unwrap();

    let purge = text(&command(&["purge", "--yes"]).unwrap().stdout);
    assert!(purge.contains(&format!("toolglot runs at {}, and goes on", running.url())), "{purge}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_at_once() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => Script::lines(vec![Step::Send("{\"message\":{\"content\":\"endless \"}}\n".into()), Step::Hang]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let backend = format!("ollama={}", fake.url);
    let mut running = Running::start(directory.path(), &["serve", "--listen", "127.0.0.1:0", "--backend", &backend], ": m");
    let chat = client()
        .post(format!("{}/v1/chat/completions", running.url()))
        .header("content-type", "application/json")
        .body(json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]}).to_string());
    let mut answer = chat.send().await.unwrap();
    answer.chunk().await.unwrap();
    running.terminate();
    running.wait_for("a second signal ends them at once").await;
    let told = Instant::now();
    running.terminate();
    running.ended(Duration::from_secs(5));
    assert!(told.elapsed() < Duration::from_millis(900), "{:?}", told.elapsed());
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_session_the_service_says_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("systemctl");
    let fails = "#!/bin/sh\necho 'Failed to connect to user scope bus via local transport: No medium found' >&2\nexit 1\n";
    std::fs::write(&program, fails).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (verb, code) in [("install", 1), ("uninstall", 0)] {
        let output = toolglot(directory.path(), &["service", verb]).env("PATH", directory.path()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.matches("No medium found").count()), (Some(code), 1), "{verb}: {said}");
        assert!(said.contains("log in as this user"), "{verb}: {said}");
    }
}
