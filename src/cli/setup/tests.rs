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
                json!({"models": [{"name": "demo/gemma3"}, {"name": "m:7b"}]})
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
    let configured = Configured { config: None, listen: Some(listen.into()) };
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
    let mut names: Vec<&str> = Names::Clients.list().collect();
    names.sort_unstable();
    assert!(names.iter().eq(all.keys()), "{names:?}");
    let mut names: Vec<&str> = Names::Agents.list().collect();
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
        assert!(again.lines().all(|line| line.ends_with("has it already")), "{again}");
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
