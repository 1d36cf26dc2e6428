use serde_json::json;

use super::*;
use crate::{
    backend::Refusal,
    client::{self, Hints},
    config::{Environment, Overrides},
};

fn config(text: &str) -> Config {
    Config::parse(text, None, &Overrides::default(), &Environment::default()).unwrap()
}

#[test]
fn the_nearest_wish_decides_the_mode() {
    let mixed = config(
        "mode = \"off\"\n[[route]]\nmodel = \"a*\"\nmode = \"rewrite\"\n[[route]]\nmodel = \"b*\"\nadapter = \"generic\"\n",
    );
    for (model, asked, expected) in [
        ("a1", None, Mode::Rewrite),
        ("a1", Some(Mode::Off), Mode::Off),
        ("b1", None, Mode::Off),
        ("c1", None, Mode::Off),
        ("c1", Some(Mode::Rewrite), Mode::Rewrite),
    ] {
        assert_eq!(mode(&mixed, model, asked), expected, "{model} {asked:?}");
    }
    assert_eq!(mode(&config(""), "x", None), Mode::Rewrite);
}

#[test]
fn the_adapter_comes_from_the_route_else_from_what_is_known_of_the_model() {
    let library = crate::seen::library();
    let adapter = |text: &str, name: &str, model: Model| {
        let request = ChatRequest::from_value(json!({"model": name, "messages": []})).unwrap();
        let incoming = client::read(request, &Hints::default()).unwrap();
        let backend = Arc::new(Backend::open("b", crate::backend::Kind::OpenAi, "http://b/v1"));
        let (learned, caller, passed) = (Learned::default(), Caller::default(), Passed::default());
        plan(
            &config(text),
            library,
            Request {
                incoming,
                mode: Mode::Rewrite,
                front: front::Kind::OpenAi,
                backend,
                learned,
                model: &model,
                caller,
                passed,
                react: None,
            },
        )
        .map(|plan| plan.adapter.name.clone())
    };
    let route = "[[route]]\nmodel = \"gemma*\"\nadapter = \"generic\"\n";
    let alias = Model { base: Some("gemma-3-12b-it".into()), ..Model::named("my-alias") };
    assert_eq!(adapter("", "gemma3:12b", Model::named("gemma3:12b")).unwrap(), "gemma3");
    assert_eq!(adapter(route, "gemma3:12b", Model::named("gemma3:12b")).unwrap(), "generic");
    assert_eq!(adapter("", "my-alias", alias).unwrap(), "gemma3");
    assert_eq!(adapter("", "my-alias", Model::named("my-alias")).unwrap(), "generic");
    let wrong = adapter("[[route]]\nmodel = \"*\"\nadapter = \"nonsense\"\n", "x", Model::named("x")).unwrap_err();
    assert!(wrong.message.contains("nonsense"), "{wrong}");
}

#[test]
fn a_refusal_teaches_once() {
    let mut learned = Learned::default();
    assert!(learned.learn(Refusal::Tools));
    assert_eq!(learned.tools, ToolMode::Prompt);
    assert!(!learned.learn(Refusal::Tools), "the tools were in the prompt already");
    assert!(!learned.learn(Refusal::Parser));
    assert!(learned.learn(Refusal::System) && !learned.learn(Refusal::System));
    // A template of two roles: first their order, then calls and results as text.
    let mut strict = Learned::default();
    assert!(strict.learn(Refusal::Roles) && strict.tools == ToolMode::Native && strict.alternate);
    assert!(strict.learn(Refusal::Roles) && strict.tools == ToolMode::Prompt);
    assert!(!strict.learn(Refusal::Roles));
    assert!(strict.learn(Refusal::Fields) && !strict.learn(Refusal::Fields));
}

#[test]
fn what_was_learned_survives_the_store() {
    let learned = Learned {
        tools: ToolMode::Raw,
        fold_system: true,
        alternate: true,
        reasoning_open: true,
        no_thinking: false,
        no_effort: true,
        plain: true,
        no_grammar: true,
    };
    let kept = serde_json::to_vec(&learned).unwrap();
    assert_eq!(serde_json::from_slice::<Learned>(&kept).unwrap(), learned);
    assert_eq!(serde_json::from_slice::<Learned>(b"{}").unwrap(), Learned::default());
}

#[test]
fn an_alias_is_read_as_what_it_was_made_from() {
    let library = crate::seen::library();
    let adapter = |name: &str, base: Option<&str>| {
        let model = Model { base: base.map(str::to_owned), ..Model::named(name) };
        reader(&config(""), library, name, &model).unwrap().adapter.name.clone()
    };
    assert_eq!(adapter("gemma3:4b", Some("Something-Else")), "gemma3", "the name comes first");
    assert_eq!(adapter("my-coder", Some("Gemma-3-4B-it-Q4_K_M.gguf")), "gemma3");
    assert_eq!(adapter("my-coder", None), adapter("my-coder", Some("unheard-of")));
}

#[test]
fn a_level_of_thinking_that_is_refused_is_left_out_and_a_switch_stays() {
    let fitted = |learned: Learned, fields: serde_json::Value| {
        let mut fields = fields.as_object().cloned().unwrap_or_default();
        learned.without_refused(&mut fields);
        serde_json::Value::Object(fields)
    };
    let switch = Learned { no_effort: true, ..Learned::default() };
    assert_eq!(fitted(switch, json!({"reasoning_effort": "high", "think": "low", "seed": 1})), json!({"seed": 1}));
    for kept in [json!({"reasoning_effort": "none"}), json!({"think": false}), json!({"think": true})] {
        assert_eq!(fitted(switch, kept.clone()), kept);
        assert_eq!(fitted(Learned { no_thinking: true, ..switch }, kept), json!({}));
    }
}
