use std::collections::BTreeMap;

use super::{journal::Undone, *};

fn environment(home: &Path) -> Environment {
    let home = home.to_str().unwrap();
    Environment::from([("HOME", home), ("USERPROFILE", home)])
}

fn run(client: &str, home: &Path, write: bool) -> Result<(String, String), Error> {
    run_at("127.0.0.1:8123", client, home, write)
}

fn run_at(listen: &str, client: &str, home: &Path, write: bool) -> Result<(String, String), Error> {
    let configured = Configured { config: None, listen: Some(listen.into()) };
    let setup = Setup { client: client.into(), model: Some("m:7b".into()), configured, write };
    let environment = environment(home);
    let (mut out, mut remarks) = (Vec::new(), Vec::new());
    setup.run(&environment, &mut out, &mut remarks)?;
    Ok((String::from_utf8(out).unwrap(), String::from_utf8(remarks).unwrap()))
}

#[test]
fn every_client_is_told_the_address_and_the_model() {
    let home = tempfile::tempdir().unwrap();
    for (name, client) in toml::from_str::<BTreeMap<String, Client>>(CLIENTS).unwrap() {
        let (text, _) = run(&name, home.path(), false).unwrap();
        assert!(text.contains("127.0.0.1:8123") && text.starts_with(&client.title), "{text}");
        assert!(text.contains("m:7b") || name == "open-webui", "{text}");
        for left in ["{v1}", "{root}", "{port}", "{model}"] {
            assert!(!text.contains(left), "{text}");
        }
    }
    for (listen, shown) in [("0.0.0.0:81", "127.0.0.1:81/"), ("[::]:81", "127.0.0.1:81/"), ("192.168.1.5:81", "192.168.1.5:81/")]
    {
        assert!(run_at(listen, "continue", home.path(), false).unwrap().0.contains(shown), "{listen}");
    }
    assert!(run("emacs", home.path(), false).unwrap_err().message.contains("open-webui"));
    assert!(run("zed", home.path(), true).unwrap_err().message.contains("by hand"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is written unasked");
}

#[test]
fn what_is_to_be_copied_is_what_the_client_reads() {
    let home = tempfile::tempdir().unwrap();
    for (client, expected) in [("void", 2), ("zed", 2), ("opencode", 1), ("copilot", 1)] {
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
    for client in ["claude", "codex", "qwen"] {
        run(client, home.path(), true).unwrap();
        let (_, again) = run(client, home.path(), true).unwrap();
        assert!(again.lines().all(|line| line.ends_with("has it already")), "{again}");
    }
    let json = |path: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(home.path().join(path)).unwrap()).unwrap() };
    let claude = json(".claude/settings.json");
    assert_eq!((&claude["env"]["MINE"], &claude["permissions"]["allow"][0]), (&"1".into(), &"Read".into()));
    assert_eq!(
        (&claude["env"]["ANTHROPIC_MODEL"], &claude["env"]["ANTHROPIC_BASE_URL"]),
        (&"m:7b".into(), &"http://127.0.0.1:8123".into())
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
    let (_, said) = run("void", home.path(), true).unwrap();
    assert!(said.starts_with("installed"), "{said}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["toolglot"]["url"], "http://127.0.0.1:8123/mcp");
    assert!(run("void", home.path(), true).unwrap().1.contains("already"));

    let own = r#"{"mcpServers":{"mine":{"command":"x"},"toolglot":{"url":"http://old"}},"more":1}"#;
    std::fs::write(&file, own).unwrap();
    for backup in ["mcp.json.backup", "mcp.json.backup.1"] {
        std::fs::write(&file, own).unwrap();
        run("void", home.path(), true).unwrap();
        let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&written["mcpServers"]["mine"]["command"], &written["more"]), (&"x".into(), &1.into()));
        assert_eq!(std::fs::read_to_string(file.with_file_name(backup)).unwrap(), own);
    }
    std::fs::write(&file, "{ // mine\n}").unwrap();
    assert!(run("void", home.path(), true).unwrap_err().message.contains("by hand"));
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
    run_at("127.0.0.1:9", "claude", home, true).unwrap();
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
