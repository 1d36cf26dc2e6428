use super::*;

#[test]
fn a_refusal_teaches_once() {
    let mut learned = Learned::default();
    assert!(learned.learn(Refusal::Tools));
    assert_eq!(learned.tools, ToolMode::Prompt);
    assert!(!learned.learn(Refusal::Tools), "the tools were in the prompt already");
    assert!(!learned.learn(Refusal::Parser));
    assert!(learned.learn(Refusal::System) && !learned.learn(Refusal::System));
}

#[test]
fn what_was_learned_survives_the_store() {
    let learned = Learned { tools: ToolMode::Raw, fold_system: true, no_thinking: false };
    let kept = serde_json::to_vec(&learned).unwrap();
    assert_eq!(serde_json::from_slice::<Learned>(&kept).unwrap(), learned);
    assert_eq!(serde_json::from_slice::<Learned>(b"{}").unwrap(), Learned::default());
}

#[test]
fn an_alias_is_read_as_what_it_was_made_from() {
    let library = Library::embedded().unwrap();
    let adapter = |name: &str, base: Option<&str>| {
        let model = Model { base: base.map(str::to_owned), ..Model::named(name) };
        adapter_of(&library, name, &model).name.clone()
    };
    assert_eq!(adapter("gemma3:4b", Some("Something-Else")), "gemma3", "the name comes first");
    assert_eq!(adapter("my-coder", Some("Gemma-3-4B-it-Q4_K_M.gguf")), "gemma3");
    assert_eq!(adapter("my-coder", None), adapter("my-coder", Some("unheard-of")));
}
