use super::*;

fn run(model: Option<&str>) -> String {
    let adapters = Adapters { action: None, model: model.map(str::to_owned), template: None, overlay: Overlay::default() };
    run_all(adapters, "").0
}

/// What is said on standard output and on standard error.
fn run_all(adapters: Adapters, input: &str) -> (String, String) {
    let (mut out, mut log) = (Vec::new(), Vec::new());
    adapters.run(&Environment::default(), &mut input.as_bytes(), &mut out, &mut log).unwrap();
    (String::from_utf8(out).unwrap(), String::from_utf8(log).unwrap())
}

#[test]
fn a_model_is_told_its_adapter_the_reason_and_the_proof() {
    let text = run(Some("hf.co/someone/Kimi-K2-Thinking-GGUF:Q4_K_M"));
    for expected in [
        "kimi-k2: its name matches `*kimik2think*`",
        "proof      recorded",
        "a call in there counts if the reasoning is never closed",
        "<|tool_call_begin|>",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn an_unknown_model_is_told_so() {
    assert!(run(Some("my-own-finetune")).contains("generic: no adapter knows it"));
}

#[test]
fn the_list_has_a_line_for_every_adapter() {
    let text = run(None);
    assert_eq!(text.lines().count(), crate::seen::library().iter().count());
    assert!(text.lines().any(|line| line.starts_with("generic ") && line.contains("every model that no other adapter knows")));
}

#[test]
fn what_is_imported_is_an_adapter_and_what_is_left_out_is_said() {
    let template = r#"{"name_or_path": "lab/Parrot-7B", "response_template": {"start_anchor": "<|im_start|>assistant\n", "fields": {
        "tool_calls": {"open": "<say>", "close": "</say>", "repeats": true, "content": "json", "transform": {"function": "{content}"}},
        "citations": {"open": "<cite>", "close": "</cite>"},
        "content": {"close": "<|im_end|>"}}}}"#;
    let import = Action::Import { file: "-".into(), model: Vec::new() };
    let adapters = Adapters { action: Some(import), model: None, template: None, overlay: Overlay::default() };
    let (file, said) = run_all(adapters, template);
    assert!(said.contains("field `citations` is not read"), "{said}");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("parrot.toml"), file).unwrap();
    let overlay = || Overlay { adapters: Some(directory.path().to_owned()) };
    let model = Some("parrot-7b:q4".to_owned());
    let found = run_all(Adapters { action: None, model, template: None, overlay: overlay() }, "").0;
    assert!(found.contains("parrot: its name matches `Parrot-7B*`"), "{found}");
}
