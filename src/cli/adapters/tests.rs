use super::*;

fn run(model: Option<&str>) -> String {
    let adapters = Adapters { model: model.map(str::to_owned), markdown: false, adapters: None };
    let mut out = Vec::new();
    adapters.run(&Environment::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_model_is_told_its_adapter_the_reason_and_the_proof() {
    let text = run(Some("hf.co/someone/Kimi-K2-Thinking-GGUF:Q4_K_M"));
    for expected in ["kimi-k2: its name matches `*kimik2think*`", "proof      recorded"] {
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

/// `toolglot adapters --markdown` prints the table of docs/adapters.md.
#[test]
fn the_documented_table_is_that_of_the_data() {
    let page = include_str!("../../../docs/adapters.md");
    let written = table(crate::seen::library());
    assert!(page.contains(&written), "put this table into docs/adapters.md:\n{written}");
}
