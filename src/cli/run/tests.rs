use super::*;

fn place(context: Option<u64>) -> Place {
    let address = "127.0.0.1:8123".parse().unwrap();
    Place { address, model: "m:7b".into(), context, home: "/h".into(), profile: "/h/agents/x".into() }
}

#[test]
fn every_agent_is_told_the_address_the_model_and_its_context() {
    for (name, agent) in clients::agents().unwrap() {
        for context in [Some(16384), None] {
            let place = place(context);
            let mut told: Vec<String> = agent.environment.values().chain(&agent.arguments).map(|text| place.fill(text)).collect();
            told.extend(agent.files.iter().map(|file| file.over("", &place).unwrap()));
            let all = told.join("\n");
            assert!(all.contains("http://127.0.0.1:8123") && all.contains("m:7b"), "{name}: {all}");
            for left in ["{v1}", "{root}", "{port}", "{model}", "{context}", "{output}", "{home}", "{profile}"] {
                assert!(!all.contains(left), "{name}: {all}");
            }
            for text in told.iter().filter(|text| text.trim_start().starts_with('{')) {
                serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
            }
        }
    }
}

/// What it keeps in its folder stays: its conversations and what the user has chosen.
#[test]
fn the_private_folder_gets_what_the_agent_reads() {
    let room = tempfile::tempdir().unwrap();
    let agent = clients::agents().unwrap().remove("pi").unwrap();
    std::fs::write(room.path().join("models.json"), r#"{"mine": 1}"#).unwrap();
    profile(&agent, &place(None), room.path()).unwrap();
    let written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(room.path().join("models.json")).unwrap()).unwrap();
    assert_eq!((&written["mine"], &written["providers"]["toolglot"]["models"][0]["id"]), (&1.into(), &"m:7b".into()));
    assert!(profile(&agent, &place(None), std::path::Path::new("relative")).unwrap_err().message.contains("HOME"));
}

#[test]
fn what_is_missing_is_named() {
    let run = Run { agent: Some("codex".into()), model: None, configured: Configured::default(), arguments: Vec::new() };
    let environment = Environment::from([("PATH", "/nowhere")]);
    let any = Run { agent: None, model: None, configured: Configured::default(), arguments: Vec::new() };
    for (run, said) in [(run, "npm install"), (any, "none of the agents")] {
        assert!(run.run(&environment, &mut Vec::new()).unwrap_err().message.contains(said), "{said}");
    }
}

/// source: `toolglot run claude` without a backend started the agent on a recording, silently
#[test]
fn a_recording_is_meant_only_where_it_is_named() {
    let error = no_backend(&["demo/gemma3".to_owned()]).message;
    assert!(error.contains("ollama serve") && error.contains("--model demo/gemma3"), "{error}");
}
