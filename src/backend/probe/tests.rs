use super::*;
use crate::{
    config::Secret,
    upstream::{Timeouts, tests::fake::Fake},
};

fn client() -> Client {
    Client::new(Timeouts::default())
}

fn at(url: &str) -> Backend {
    Backend { api_key: Some(Secret::new("s3cret")), ..Backend::open("found", Kind::OpenAi, url) }
}

#[tokio::test]
async fn nobody_or_something_else_is_not_a_backend() {
    assert!(detect(&client(), &at("http://127.0.0.1:1")).await.is_none());
    let web = Fake::with_json(&[("GET /", 200, "<html>hello</html>")]);
    assert!(detect(&client(), &at(&web.url)).await.is_none());
    // It answers everything, and says nothing.
    let polite = Fake::with_json(&[("GET /v1/models", 200, "{}"), ("GET /api/version", 200, "{}"), ("GET /models", 200, "{}")]);
    assert!(detect(&client(), &at(&polite.url)).await.is_none());
}

#[tokio::test]
async fn google_is_recognised_by_the_names_in_its_list() {
    let fake = Fake::with_json(&[("GET /v1beta/models", 200, r#"{"models":[{"name":"models/small-4b-it"}]}"#)]);
    let found = detect(&client(), &at(&format!("{}/v1beta", fake.url))).await.expect("somebody is there");
    assert_eq!((found.kind, found.url), (Kind::Google, format!("{}/v1beta", fake.url)));
    assert_eq!(found.api_key.as_ref().map(Secret::reveal), Some("s3cret"), "what is configured stays");
}

#[tokio::test]
async fn servers_tell_their_versions_in_places_of_their_own() {
    let fake = Fake::with_json(&[
        ("GET /api/version", 200, r#"{"version":"0.13.0"}"#),
        ("GET /props", 200, r#"{"build_info":"b7000-abc"}"#),
        ("GET /version", 200, r#"{"version":"0.33.0"}"#),
        ("GET /get_server_info", 200, r#"{"version":"0.5.23"}"#),
    ]);
    for (kind, profile, expected) in [
        (Kind::Ollama, Profile::Generic, Some("0.13.0")),
        (Kind::OpenAi, Profile::LlamaCpp, Some("b7000-abc")),
        (Kind::OpenAi, Profile::Vllm, Some("0.33.0")),
        (Kind::OpenAi, Profile::Sglang, Some("0.5.23")),
        (Kind::OpenAi, Profile::LmStudio, None),
        (Kind::Google, Profile::Generic, None),
    ] {
        let backend = Backend { profile, ..Backend::open("x", kind, &fake.url) };
        assert_eq!(version(&client(), &backend).await.as_deref(), expected, "{kind:?} {profile:?}");
    }
}
