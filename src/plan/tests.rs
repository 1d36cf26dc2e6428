use super::*;
use crate::config::{Environment, Overrides};

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
    let adapter = |text: &str, name: &str, model: Model| reader(&config(text), library, name, &model).adapter.name.clone();
    let route = "[[route]]\nmodel = \"gemma*\"\nadapter = \"generic\"\n";
    let alias = Model { base: Some("gemma-3-12b-it".into()), ..Model::named("my-alias") };
    assert_eq!(adapter("", "gemma3:12b", Model::named("gemma3:12b")), "gemma3");
    assert_eq!(adapter(route, "gemma3:12b", Model::named("gemma3:12b")), "generic");
    assert_eq!(adapter("", "my-alias", alias), "gemma3");
    assert_eq!(adapter("", "my-alias", Model::named("my-alias")), "generic");
}

#[test]
fn an_alias_is_read_as_what_it_was_made_from() {
    let library = crate::seen::library();
    let adapter = |name: &str, base: Option<&str>| {
        let model = Model { base: base.map(str::to_owned), ..Model::named(name) };
        reader(&config(""), library, name, &model).adapter.name.clone()
    };
    assert_eq!(adapter("gemma3:4b", Some("Something-Else")), "gemma3", "the name comes first");
    assert_eq!(adapter("my-coder", Some("Gemma-3-4B-it-Q4_K_M.gguf")), "gemma3");
    assert_eq!(adapter("my-coder", None), adapter("my-coder", Some("unheard-of")));
}
