use std::{
    io::{BufRead, BufReader, Read},
    net::TcpListener,
};

use serde_json::{Value, json};

use super::{journal::Undone, *};

fn environment(home: &Path) -> Environment {
    let home = home.to_str().unwrap();
    Environment::from([("HOME", home), ("USERPROFILE", home)])
}

/// A proxy that has the model `m:7b`, with a context of 16384 tokens or an unknown one.
fn proxy(context: Option<u64>) -> String {
    proxy_with("m:7b", context)
}

fn proxy_with(model: &'static str, context: Option<u64>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut head) = (String::new(), String::new());
            while stream.read_line(&mut line).unwrap() > 2 {
                head += &std::mem::take(&mut line).to_lowercase();
            }
            let length = head.split_once("content-length: ").map_or(0, |(_, rest)| rest.lines().next().unwrap().parse().unwrap());
            stream.read_exact(&mut vec![0; length]).unwrap();
            let facts = context.map(|context| json!({"general.architecture": "m", "m.context_length": context}));
            let answer = if head.starts_with("get /api/tags") {
                json!({"models": [{"name": "demo/gemma3"}, {"name": model}]})
            } else {
                json!({"model_info": facts.unwrap_or_else(|| json!({}))})
            };
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            stream.get_mut().write_all((head + &answer).as_bytes()).unwrap();
        }
    });
    address
}

fn run(client: &str, home: &Path, write: bool) -> Result<(String, String), Error> {
    run_at(&proxy(Some(16384)), Some("m:7b"), client, home, write)
}

fn run_at(listen: &str, model: Option<&str>, client: &str, home: &Path, write: bool) -> Result<(String, String), Error> {
    let configured = Configured { listen: Some(listen.into()), ..Configured::default() };
    let setup = Setup { client: client.into(), model: model.map(str::to_owned), configured, write };
    let environment = environment(home);
    let (mut out, mut remarks) = (Vec::new(), Vec::new());
    setup.run(&environment, &mut out, &mut remarks)?;
    Ok((String::from_utf8(out).unwrap(), String::from_utf8(remarks).unwrap()))
}

#[test]
fn every_client_is_told_the_address_and_the_model() {
    let home = tempfile::tempdir().unwrap();
    let (known, unknown) = (proxy(Some(16384)), proxy(None));
    for (name, client) in clients::all().unwrap() {
        for address in [&known, &unknown] {
            let (text, _) = run_at(address, None, &name, home.path(), false).unwrap();
            assert!(text.contains(address) && text.starts_with(&client.title), "{text}");
            assert!(text.contains("m:7b") || name == "open-webui", "{text}");
            for left in ["{v1}", "{root}", "{port}", "{model}", "{context}", "{output}", "{home}", "32768"] {
                assert!(!text.contains(left), "{text}");
            }
        }
    }
    for (listen, shown) in [("0.0.0.0:81", "127.0.0.1:81/"), ("[::]:81", "127.0.0.1:81/"), ("192.0.2.5:81", "192.0.2.5:81/")] {
        assert!(run_at(listen, None, "continue", home.path(), false).unwrap().0.contains(shown), "{listen}");
    }
    assert!(run("zed", home.path(), true).unwrap_err().message.contains("by hand"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is written unasked");
}

/// source: a user's real settings got `"ANTHROPIC_MODEL": "MODEL"`, exit status 0
#[test]
fn a_model_that_nobody_has_is_not_written() {
    let home = tempfile::tempdir().unwrap();
    let nobody = "127.0.0.1:9";
    let refused = |listen: &str, model, said: &str| {
        for client in ["claude", "codex", "qwen", "pi", "opencode"] {
            let error = run_at(listen, model, client, home.path(), true).unwrap_err().message;
            assert!(error.contains("nothing was written") && error.contains(said), "{error}");
        }
    };
    refused(nobody, None, "toolglot serve");
    refused(nobody, Some("m:7b"), "toolglot serve");
    refused(&proxy(None), Some("nope"), "there are: demo/gemma3, m:7b");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    let (text, said) = run_at(nobody, None, "claude", home.path(), false).unwrap();
    assert!(text.contains("\"MODEL\"") && said.contains("MODEL stands for"), "{said}");
    // The tools of toolglot in Void need no model.
    run_at(nobody, None, "void", home.path(), true).unwrap();
}

/// source: `setup` stated 32768 tokens that `models` did not know
#[test]
fn a_context_is_stated_where_it_is_known() {
    let home = tempfile::tempdir().unwrap();
    let (known, unknown) = (proxy(Some(16384)), proxy(None));
    let limit = |address: &str, home: &Path| -> Value {
        run_at(address, None, "opencode", home, true).unwrap();
        let text = std::fs::read_to_string(home.join(".config/opencode/opencode.json")).unwrap();
        let settings: Value = serde_json::from_str(&text).unwrap();
        settings["provider"]["toolglot"]["models"]["m:7b"]["limit"].clone()
    };
    assert_eq!(limit(&unknown, home.path()), Value::Null);
    assert_eq!(limit(&known, home.path()), json!({"context": 16384, "output": 4096}));
    let (text, said) = run_at(&unknown, None, "zed", home.path(), false).unwrap();
    assert!(text.contains("\"max_tokens\": CONTEXT") && said.contains("CONTEXT stands for"), "{text}{said}");
}

#[test]
fn shells_complete_every_name() {
    let all = clients::all().unwrap();
    let agents = clients::agents().unwrap();
    let mut names: Vec<&str> = clients::names().collect();
    names.sort_unstable();
    assert!(names.iter().eq(all.keys()), "{names:?}");
    let mut names: Vec<&str> = clients::agent_names().collect();
    names.sort_unstable();
    assert!(names.iter().eq(agents.keys()), "{names:?}");
}

#[test]
fn what_is_to_be_copied_is_what_the_client_reads() {
    let home = tempfile::tempdir().unwrap();
    for (client, expected) in [("void", 2), ("zed", 2), ("opencode", 1), ("copilot-chat", 1)] {
        let (text, _) = run(client, home.path(), false).unwrap();
        let paragraphs = text.split("\n\n").map(str::trim).filter(|text| text.starts_with(['{', '"']));
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with('{') && line.ends_with('}'));
        let mut read = 0;
        for json in paragraphs.chain(lines.filter(|_| client == "void")) {
            // Members of a file that exists are without its braces.
            let json = if json.starts_with('{') { json.to_owned() } else { format!("{{{json}}}") };
            serde_json::from_str::<Value>(&json).unwrap_or_else(|error| panic!("{client}: {error}: {json}"));
            read += 1;
        }
        assert_eq!(read, expected, "{text}");
    }
}

#[test]
fn agents_get_files_that_they_can_read() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let own = r#"{"permissions":{"allow":["Read"]},"env":{"MINE":"1","ANTHROPIC_MODEL":"opus"}}"#;
    std::fs::write(&settings, own).unwrap();
    let address = proxy(Some(16384));
    let run = |client: &str| run_at(&address, None, client, home.path(), true).unwrap();
    for client in ["claude", "codex", "qwen"] {
        run(client);
        let (_, again) = run(client);
        // The tests run in a folder with a `proxy.toml`.
        let mut said = again.lines().filter(|line| !line.contains("is not used by this command"));
        assert!(said.all(|line| line.ends_with("has it already")), "{again}");
    }
    let json = |path: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(home.path().join(path)).unwrap()).unwrap() };
    let claude = json(".claude/settings.json");
    assert_eq!((&claude["env"]["MINE"], &claude["permissions"]["allow"][0]), (&"1".into(), &"Read".into()));
    assert_eq!(
        (&claude["env"]["ANTHROPIC_MODEL"], &claude["env"]["ANTHROPIC_BASE_URL"]),
        (&"m:7b".into(), &format!("http://{address}").into())
    );
    assert_eq!(std::fs::read_to_string(settings.with_file_name("settings.json.backup")).unwrap(), own);
    let codex: toml::Value =
        toml::from_str(&std::fs::read_to_string(home.path().join(".codex/toolglot.config.toml")).unwrap()).unwrap();
    let catalog = codex["model_catalog_json"].as_str().unwrap();
    let catalog: Value = serde_json::from_str(&std::fs::read_to_string(catalog).unwrap()).unwrap();
    assert_eq!((catalog["models"][0]["slug"].as_str(), codex["model"].as_str()), (Some("m:7b"), Some("m:7b")));
    assert_eq!(json(".qwen/settings.json")["security"]["auth"]["selectedType"], "openai");
}

#[test]
fn voids_file_is_changed_where_it_must_and_kept_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".void-editor/mcp.json");
    let address = proxy(None);
    let run = || run_at(&address, None, "void", home.path(), true);
    let (_, said) = run().unwrap();
    assert!(said.contains("installed"), "{said}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["toolglot"]["url"], format!("http://{address}/mcp"));
    assert!(run().unwrap().1.contains("already"));

    let own = r#"{"mcpServers":{"mine":{"command":"x"},"toolglot":{"url":"http://old"}},"more":1}"#;
    std::fs::write(&file, own).unwrap();
    for backup in ["mcp.json.backup", "mcp.json.backup.1"] {
        std::fs::write(&file, own).unwrap();
        run().unwrap();
        let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&written["mcpServers"]["mine"]["command"], &written["more"]), (&"x".into(), &1.into()));
        assert_eq!(std::fs::read_to_string(file.with_file_name(backup)).unwrap(), own);
    }
    std::fs::write(&file, "{ // mine\n}").unwrap();
    assert!(run().unwrap_err().message.contains("by hand"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ // mine\n}");
}

/// What taking our part out of this file of Claude Code would leave.
fn undone(home: &Path) -> Option<Undone> {
    let journal = Journal::read(&environment(home)).unwrap();
    let entry = journal.entries.iter().find(|entry| entry.file == home.join(".claude/settings.json")).unwrap();
    entry.undoing().unwrap()
}

#[test]
fn what_was_written_can_be_taken_out_again() {
    let room = tempfile::tempdir().unwrap();
    let home = room.path();
    let settings = home.join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let own = "{\"env\":{\"MINE\":\"1\",\"ANTHROPIC_MODEL\":\"opus\"}}";
    std::fs::write(&settings, own).unwrap();
    run("claude", home, true).unwrap();
    assert_eq!(undone(home), Some(Undone::Text(own.into())), "byte for byte, where nobody changed it since");
    // Written again for another address: what we wrote first is not what the user had.
    run_at(&proxy(None), None, "claude", home, true).unwrap();
    assert_eq!(undone(home), Some(Undone::Text(own.into())));
    // Changed by the user since then: only what is still ours goes.
    let mut now: Value = serde_json::from_str(&std::fs::read_to_string(&settings).unwrap()).unwrap();
    now["env"]["ANTHROPIC_BASE_URL"] = "http://other".into();
    now["theme"] = "dark".into();
    std::fs::write(&settings, now.to_string()).unwrap();
    let Some(Undone::Text(text)) = undone(home) else { panic!() };
    let left: Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({"env": {"MINE": "1", "ANTHROPIC_MODEL": "opus", "ANTHROPIC_BASE_URL": "http://other"}, "theme": "dark"});
    assert_eq!(left, expected);
    std::fs::remove_file(&settings).unwrap();
    assert_eq!(undone(home), None);
}

#[test]
fn a_file_that_held_nothing_else_goes() {
    let room = tempfile::tempdir().unwrap();
    for client in ["claude", "codex", "void"] {
        run(client, room.path(), true).unwrap();
    }
    let journal = Journal::read(&environment(room.path())).unwrap();
    assert_eq!(journal.entries.len(), 4);
    for entry in &journal.entries {
        assert_eq!(entry.undoing().unwrap(), Some(Undone::Removed), "{}", entry.file.display());
    }
    // A file of another form that the user changed is left alone.
    let codex = &journal.entries.iter().find(|entry| entry.file.ends_with("toolglot.config.toml")).unwrap();
    std::fs::write(&codex.file, "model = \"mine\"\n").unwrap();
    assert_eq!(codex.undoing().unwrap(), Some(Undone::Foreign));
}

/// Names with which a backend left its place in the settings of a client, or made the client put something into it.
const HOSTILE: [&str; 5] = [
    r#"m"},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"id"}]}]},"env":{"A":""#,
    "m\"\nnotify = [\"sh\", \"-c\", \"id\"]\nx = \"",
    r#"m": {}}}},"mcp":{"evil":{"type":"local","command":["id"]}},"provider":{"toolglot":{"models":{"m"#,
    "{file:~/.ssh/id_ed25519}",
    "--yolo",
];

#[test]
fn a_models_name_does_not_leave_its_place_in_any_file_or_setting() {
    let place = |model: &str| Place {
        address: "127.0.0.1:8123".parse().unwrap(),
        model: model.into(),
        context: Some(16384),
        home: "/h".into(),
        profile: "/h/agents/x".into(),
    };
    let parsed = |name: &str, text: &str| -> Value {
        match name.rsplit('.').next() {
            Some("toml") => serde_json::to_value(toml::from_str::<toml::Value>(text).unwrap()).unwrap(),
            // No string of ours has several lines.
            Some("yml" | "yaml") => text
                .lines()
                .map(|line| {
                    let (key, value) = line.split_once(':').unwrap();
                    json!([key, serde_json::from_str(value).unwrap_or_else(|_| json!(value))])
                })
                .collect(),
            _ => serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}: {text}")),
        }
    };
    for (name, client) in clients::all().unwrap() {
        let run = client.run.iter();
        let files = client.files.iter().chain(run.clone().flat_map(|agent| &agent.files));
        let written = |model: &str| -> Vec<(String, String)> {
            let of_files = files.clone().map(|file| (file.path.clone(), file.over("", &place(model)).unwrap()));
            let settings = run.clone().flat_map(|agent| &agent.environment).filter(|(_, text)| text.contains('"'));
            of_files.chain(settings.map(|(name, text)| (name.clone(), place(model).fill(text)))).collect()
        };
        for hostile in HOSTILE.into_iter().chain(["{home}{profile}", "a\\", "\u{85}\u{2028}\u{7f}\t"]) {
            let inner = serde_json::to_string(hostile).unwrap();
            for ((file, plain), (_, text)) in written("PLAIN").iter().zip(written(hostile)) {
                let expected = parsed(file, plain).to_string().replace("PLAIN", &inner[1..inner.len() - 1]);
                assert_eq!(parsed(file, &text), serde_json::from_str::<Value>(&expected).unwrap(), "{name}: {file}: {text}");
            }
        }
    }
}

#[test]
fn a_name_that_is_more_than_a_name_gets_into_no_settings() {
    for hostile in HOSTILE {
        let home = tempfile::tempdir().unwrap();
        let address = proxy_with(hostile, None);
        for model in [None, Some(hostile)] {
            let error = run_at(&address, model, "claude", home.path(), true).unwrap_err();
            assert!(error.message.contains("nothing was written") && error.message.contains("[[alias]]"), "{error}");
        }
        assert!(!home.path().join(".claude").exists());
        let (text, said) = run_at(&address, None, "copilot", home.path(), false).unwrap();
        assert!(text.contains("COPILOT_MODEL=MODEL") && said.contains("[[alias]]"), "{text}{said}");
    }
}

#[test]
fn several_at_once_are_all_in_the_journal() {
    let room = tempfile::tempdir().unwrap();
    let address = proxy(None);
    let clients = ["claude", "codex", "crush", "qwen", "opencode", "kilo", "pi", "openclaw"];
    std::thread::scope(|scope| {
        for client in clients {
            let (home, address) = (room.path(), &address);
            scope.spawn(move || run_at(address, None, client, home, true).unwrap());
        }
    });
    let journal = Journal::read(&environment(room.path())).unwrap();
    for client in clients {
        assert!(journal.entries.iter().any(|entry| entry.client == client), "{client}");
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_undone_or_kept_is_not_written() {
    let room = tempfile::tempdir().unwrap();
    let file = |name: &str| room.path().join(name);
    let refused = |own: &str, said: &str| {
        let error = run("claude", room.path(), true).unwrap_err();
        assert!(error.message.contains(said), "{error}");
        assert_eq!(std::fs::read_to_string(file(".claude/settings.json")).unwrap(), own);
        assert_eq!(std::fs::read_dir(file(".claude")).unwrap().count(), 1, "no copy is left");
    };
    std::fs::create_dir_all(file(".claude")).unwrap();
    std::fs::create_dir_all(file(".local/share")).unwrap();
    // No room for the journal.
    std::os::unix::fs::symlink("nowhere", file(".local/share/toolglot")).unwrap();
    std::fs::write(file(".claude/settings.json"), r#"{"mine":1}"#).unwrap();
    refused(r#"{"mine":1}"#, "setup.json");
    std::fs::remove_file(file(".local/share/toolglot")).unwrap();
    // A number that would lose its digits.
    let long = r#"{"mine":[12345678901234567890123]}"#;
    std::fs::write(file(".claude/settings.json"), long).unwrap();
    refused(long, "number");
    // A link stays a link.
    std::fs::remove_file(file(".claude/settings.json")).unwrap();
    std::os::unix::fs::symlink("nowhere.json", file(".claude/settings.json")).unwrap();
    let error = run("claude", room.path(), true).unwrap_err();
    assert!(error.message.contains("link") && file(".claude/settings.json").is_symlink(), "{error}");
    assert_eq!(Journal::read(&environment(room.path())).unwrap().entries.len(), 0);
    // The name of a copy that leads elsewhere is taken.
    std::fs::remove_file(file(".claude/settings.json")).unwrap();
    std::fs::write(file(".claude/settings.json"), "{}").unwrap();
    std::os::unix::fs::symlink("elsewhere", file(".claude/settings.json.backup")).unwrap();
    assert!(run("claude", room.path(), true).unwrap().1.contains("settings.json.backup.1"));
    assert!(!file(".claude/elsewhere").exists());
}
