//! toolglot on a user's machine: where its files are, the service, what it tells at its start, and how it leaves.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    cli::{Running, run, text, toolglot},
    fake::{Fake, Script, Seen},
};

/// What a command prints, where it ends well.
fn prints(home: &Path, words: &[&str]) -> String {
    let output = run(home, words);
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn paths(home: &Path, folder: &Path) -> Value {
    let output = toolglot(home, &["paths", "--json"]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    Value::Object(list.iter().map(|place| (place["what"].as_str().unwrap().to_owned(), place["path"].clone())).collect())
}

#[test]
fn files_do_not_move_with_the_working_directory() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path().join("home");
    let work = room.path().join("work");
    for folder in [&home, &work] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let at_home = paths(&home, &home);
    assert_eq!(paths(&home, &work), at_home);
    // A configuration of this folder is used, and the registry stays where it is.
    std::fs::write(work.join("proxy.toml"), "retry = 2\n").unwrap();
    let here = paths(&home, &work);
    assert_eq!(here["configuration"], json!(work.join("proxy.toml").canonicalize().unwrap()));
    for what in ["registry", "adapters", "state", "database"] {
        assert_eq!(here[what], at_home[what], "{what}");
        assert!(here[what].as_str().unwrap().contains("toolglot"), "{here}");
    }
    // One of another program is named, and nothing of it counts.
    std::fs::write(work.join("proxy.toml"), "[upstream]\nserver = 1\n").unwrap();
    let foreign = paths(&home, &work);
    assert_eq!(foreign["configuration"], at_home["configuration"]);
    let said = text(&toolglot(&home, &["check"]).current_dir(&work).output().unwrap().stdout);
    assert!(said.contains("proxy.toml (not checked: it belongs to another program)"), "{said}");
}

#[test]
fn a_configuration_is_written_once_and_found_from_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let said = prints(home.path(), &["init"]);
    let file = said.trim().strip_prefix("installed in ").unwrap();
    assert_eq!(paths(home.path(), home.path())["configuration"], file);
    let all_comments = std::fs::read_to_string(file).unwrap();
    assert!(all_comments.lines().next().unwrap().contains("toolglot"), "found again by its first line");
    std::fs::write(file, "retry = 9\n").unwrap();
    let refused = run(home.path(), &["check"]);
    assert!(refused.status.code() == Some(2) && text(&refused.stdout).contains(":1: `retry` is 9"), "{}", text(&refused.stdout));
    assert!(text(&refused.stderr).contains("toolglot: 1 fault\n"), "{}", text(&refused.stderr));
    let again = run(home.path(), &["init"]);
    assert!(again.status.code() == Some(1) && text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "retry = 9\n");
    assert!(prints(home.path(), &["init", "--force"]).contains(".backup"));
    assert_eq!(std::fs::read_to_string(format!("{file}.backup")).unwrap(), "retry = 9\n");
    assert_eq!(paths(home.path(), home.path())["configuration"], file);
    // The variable names another one.
    std::fs::write(home.path().join("other.toml"), "retry = 8\n").unwrap();
    let other = toolglot(home.path(), &["paths"]).env("TOOLGLOT_CONFIG", "other.toml").output().unwrap();
    assert!(text(&other.stderr).contains("other.toml:1: `retry` is 8"), "{}", text(&other.stderr));
}

/// An Ollama with a model of a known family and one that nobody knows.
fn ollama(seen: &Seen) -> Script {
    match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        "GET /api/tags" => {
            Script::json(200, r#"{"models":[{"name":"gemma3:4b"},{"name":"zork:1b"},{"name":"a"},{"name":"b"},{"name":"c"}]}"#)
        }
        "POST /api/show" if seen.body.contains("gemma3") => Script::json(
            200,
            r#"{"capabilities":["completion"],"model_info":{"general.architecture":"g","g.context_length":8192}}"#,
        ),
        "POST /api/show" => Script::json(200, r#"{"capabilities":["completion","tools"]}"#),
        "POST /api/chat" => {
            Script::json(200, r#"{"message":{"role":"assistant","content":"Hello."},"done":true,"done_reason":"stop"}"#)
        }
        _ => Script::json(404, "{}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_with_their_way_and_their_last_trial() {
    let fake = Fake::start(ollama).await;
    let home = tempfile::tempdir().unwrap();
    let backend = format!("ollama={}", fake.url);
    let room = home.path().to_owned();
    let (before, after) = tokio::task::spawn_blocking(move || {
        let models = || prints(&room, &["models", "--backend", &backend]);
        let before = models();
        run(&room, &["doctor", "--listen", ":9", "--backend", &backend, "--model", "zork:1b", "--try"]);
        (before, models())
    })
    .await
    .unwrap();
    let row = |table: &str, model: &str| -> Vec<String> {
        let line = table.lines().find(|line| line.starts_with(model)).unwrap_or_else(|| panic!("{table}"));
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(row(&before, "gemma3:4b"), ["gemma3:4b", "ollama", "gemma3", "prompt", "8192", "never"]);
    let unknown = row(&before, "zork:1b");
    assert_eq!(unknown[2..4], ["generic", "native"], "{before}");
    assert!(row(&after, "zork:1b").iter().any(|cell| cell.contains(" of 5 today")), "{after}");
    assert!(row(&after, "gemma3:4b").contains(&"never".to_owned()), "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_words_are_a_dozen_lines() {
    let fake = Fake::start(ollama).await;
    let home = tempfile::tempdir().unwrap();
    let backend = format!("ollama={}", fake.url);
    std::fs::write(home.path().join("proxy.toml"), "retry = 1\n").unwrap();
    let mut command = toolglot(home.path(), &["serve", "--listen", "127.0.0.1:0", "--backend", &backend]);
    let running = Running::of(&mut command, "more: `toolglot models`");
    let said = running.said();
    assert!(said.lines().count() <= 12, "{said}");
    for expected in [
        &format!("page: {}/", running.url()),
        "    gemma3:4b: tools in the prompt (the backend says that it takes no tools); read as gemma3\n",
        "    zork:1b: native tools (the backend says that it takes tools); read as generic\n",
        "Codex: toolglot run codex\n",
        "and 2 more: `toolglot models`\n",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "no colours outside of a terminal");
}

#[test]
fn shells_and_man_know_every_command() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = prints(home.path(), &["completions", shell]);
        assert!(script.contains("service") && script.contains("listen"), "{shell}");
    }
    prints(home.path(), &["man", "pages"]);
    for page in ["toolglot.1", "toolglot-serve.1", "toolglot-mcp-add.1"] {
        let text = std::fs::read_to_string(home.path().join("pages").join(page)).unwrap();
        assert!(text.contains(".SH NAME") || text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    let version = prints(home.path(), &["--version"]);
    let words: Vec<&str> = version.split_whitespace().collect();
    assert_eq!(words[..2], ["toolglot", env!("CARGO_PKG_VERSION")]);
    assert!(version.contains(std::env::consts::ARCH), "the system that it was built for: {version}");
}

/// With commands that write down what they are asked.
#[cfg(target_os = "linux")]
#[test]
fn the_service_is_installed_started_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let log = home.path().join("asked");
    let script = format!("#!/bin/sh\necho \"$(basename \"$0\") $*\" >> '{}'\n", log.display());
    for name in ["systemctl", "journalctl"] {
        let file = bin.join(name);
        std::fs::write(&file, &script).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let config = "[[backend]]\nname = \"far\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\napi_key_env = \"THE_KEY\"\n";
    std::fs::write(home.path().join("proxy.toml"), config).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let service = |words: &[&str]| {
        let mut command = toolglot(home.path(), &["service"]);
        command.args(words).env("PATH", &path).env("THE_KEY", "x").output().unwrap()
    };
    let early = service(&["start"]);
    assert!(early.status.code() == Some(1) && text(&early.stderr).contains("service install"), "{}", text(&early.stderr));
    let installed = service(&["install", "--listen", ":8123"]);
    let said = text(&installed.stderr);
    assert!(installed.status.success(), "{said}");
    assert!(said.contains("listens on port 8123") && said.contains("enable-linger"), "{said}");
    assert!(said.contains("backend far: the environment variable THE_KEY") && said.contains("`api_key_file`"), "{said}");
    let unit = home.path().join(".config/systemd/user/toolglot.service");
    let written = std::fs::read_to_string(&unit).unwrap();
    let file = home.path().canonicalize().unwrap().join("proxy.toml");
    assert!(written.contains(&format!("\"serve\" \"--config\" \"{}\" \"--listen\" \":8123\"\n", file.display())), "{written}");
    assert!(written.contains(&format!("Environment=\"PATH={path}\"\n")) && !written.contains("THE_KEY"), "{written}");
    for words in ["stop", "start", "status", "logs", "uninstall"] {
        assert!(service(&[words]).status.success(), "{words}");
    }
    assert!(!unit.exists());
    let asked = std::fs::read_to_string(&log).unwrap();
    let asked: Vec<&str> = asked.lines().map(|line| line.split(" --user ").last().unwrap()).collect();
    let unit = "toolglot.service";
    let expected = [
        "daemon-reload".to_owned(),
        format!("enable {unit}"),
        format!("restart {unit}"),
        format!("stop {unit}"),
        format!("start {unit}"),
        format!("--no-pager status {unit}"),
        format!("--no-pager --lines 100 --unit {unit}"),
        format!("disable --now {unit}"),
        "daemon-reload".to_owned(),
    ];
    assert_eq!(asked, expected);
}

#[test]
fn purge_leaves_the_user_as_before() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{\"theme\": \"dark\"}").unwrap();
    prints(home.path(), &["init"]);
    let other = tempfile::tempdir().unwrap();
    let proxy = Running::of(&mut toolglot(other.path(), &["serve", "--demo", "--listen", "127.0.0.1:0"]), "curl ");
    let address = proxy.url().trim_start_matches("http://").trim_end_matches('/');
    prints(home.path(), &["setup", "claude", "--write", "--model", "demo/gemma3", "--listen", address]);
    prints(home.path(), &["setup", "void", "--write", "--listen", ":9"]);
    prints(home.path(), &["mcp", "add", "notes", "http://127.0.0.1:1/mcp"]);
    let asked = run(home.path(), &["purge"]);
    assert!(asked.status.code() == Some(1) && text(&asked.stdout).contains("settings.json"), "{}", text(&asked.stdout));
    prints(home.path(), &["purge", "--yes"]);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{\"theme\": \"dark\"}");
    let mut left: Vec<String> = Vec::new();
    let mut folders = vec![home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                left.push(path.strip_prefix(home.path()).unwrap().display().to_string());
            }
        }
    }
    assert_eq!(left, [Path::new(".claude").join("settings.json").display().to_string()]);
}

#[test]
fn a_log_goes_to_a_file() {
    let home = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(home.path(), &["serve", "--listen", &address, "--log-file", "logs/a.log"]);
    assert_eq!(output.status.code(), Some(3));
    let log = std::fs::read_to_string(home.path().join("logs/a.log")).unwrap();
    assert!(log.contains("is taken"), "{log}");
}

/// A log at the limit of the system for the size of a file ends nothing but the log.
#[cfg(unix)]
#[tokio::test]
async fn a_log_that_may_not_grow_does_not_end_the_server() {
    let home = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (listen, url) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/nothing"));
    let words = ["serve", "-vv", "--listen", &listen, "--log-file", "a.log"];
    let mut child = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 16; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_toolglot")])
        .args(words)
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("OLLAMA_HOST", "127.0.0.1:9")
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let (client, log) = (crate::proxy::client(), home.path().join("a.log"));
    let size = || std::fs::metadata(&log).map_or(0, |log| log.len());
    let (mut asked, mut before) = (0, 0);
    while asked < 300 && child.try_wait().unwrap().is_none() {
        match client.get(format!("{url}{asked}")).header("origin", "http://evil.example").send().await {
            Ok(_) => asked += 1,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
        before = before.max(size());
    }
    let lives = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lives && before > 4000, "{asked} requests, {before} bytes of log");
}
