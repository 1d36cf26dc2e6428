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
