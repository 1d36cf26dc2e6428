use super::*;

#[test]
fn every_agent_is_told_the_address_the_model_and_its_context() {
    let place = Place { address: "127.0.0.1:8123".parse().unwrap(), model: "m:7b".into(), context: 16384 };
    for (name, agent) in toml::from_str::<BTreeMap<String, Agent>>(AGENTS).unwrap() {
        let told: Vec<String> = agent.environment.values().chain(&agent.arguments).map(|text| place.fill(text)).collect();
        let all = told.join("\n");
        assert!(all.contains("http://127.0.0.1:8123") && all.contains("m:7b"), "{}: {all}", name);
        for left in ["{v1}", "{root}", "{port}", "{model}", "{context}"] {
            assert!(!all.contains(left), "{}: {all}", name);
        }
        for text in told.iter().filter(|text| text.starts_with('{')) {
            serde_json::from_str::<serde_json::Value>(text).unwrap();
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let run = |agent: &str| Run { agent: agent.into(), model: None, configured: Configured::default(), arguments: Vec::new() };
    let environment = Environment::from([("PATH", "/nowhere")]);
    assert!(run("emacs").run(&environment).unwrap_err().message.contains("claude, codex"));
    assert!(run("codex").run(&environment).unwrap_err().message.contains("npm install"));
}
