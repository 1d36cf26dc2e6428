use super::*;
use crate::{
    backend::detect,
    upstream::{Timeouts, tests::fake::Fake},
};

fn client() -> Client {
    Client::new(Timeouts::default())
}

const OLLAMA: &[(&str, u16, &str)] = &[
    ("GET /api/version", 200, r#"{"version":"0.13.0"}"#),
    ("GET /api/tags", 200, r#"{"models":[{"name":"small:4b","model":"small:4b"},{"name":"mine:latest"}]}"#),
    (
        "POST /api/show",
        200,
        r#"{"template":"{{ .Prompt }}","parameters":"stop                           \"<end>\"\nnum_ctx                        16384",
            "capabilities":["completion","vision"],"details":{"parent_model":"","family":"f"},
            "model_info":{"general.architecture":"arch","general.basename":"Small","arch.context_length":131072}}"#,
    ),
];

const LLAMA: &[(&str, u16, &str)] = &[
    ("GET /v1/models", 200, r#"{"object":"list","data":[{"id":"alias","owned_by":"llamacpp","meta":{"n_ctx_train":40960}}]}"#),
    (
        "GET /props",
        200,
        r#"{"default_generation_settings":{"n_ctx":8192},"model_path":"/models/Small-4B-Q4.gguf","chat_template":"{%- if tools %}","modalities":{"vision":true}}"#,
    ),
];

const VLLM: &[(&str, u16, &str)] = &[(
    "GET /v1/models",
    200,
    r#"{"data":[{"id":"alias","owned_by":"vllm","root":"org/Small-4B","max_model_len":32768},{"id":"org/Small-4B","owned_by":"vllm","root":"org/Small-4B"}]}"#,
)];

const LM_STUDIO: &[(&str, u16, &str)] = &[
    ("GET /v1/models", 200, r#"{"data":[{"id":"small-4b","owned_by":"organization_owner"}]}"#),
    (
        "GET /api/v0/models",
        200,
        r#"{"data":[{"id":"small-4b","type":"vlm","capabilities":["tool_use"],"max_context_length":131072,"loaded_context_length":4096}]}"#,
    ),
];

const OTHER: &[(&str, u16, &str)] = &[("GET /v1/models", 200, r#"{"data":[{"id":"x","context_length":1000}]}"#)];

#[tokio::test]
async fn whoever_answers_is_recognised_and_described() {
    let tools = |tools, vision| Some(Capabilities { tools, thinking: false, vision });
    let cases = [
        (OLLAMA, Kind::Ollama, Profile::Generic, "small:4b", Some("Small"), tools(false, true), Some(131_072), true),
        (LLAMA, Kind::OpenAi, Profile::LlamaCpp, "alias", Some("Small-4B-Q4.gguf"), tools(true, true), Some(8192), true),
        (VLLM, Kind::OpenAi, Profile::Vllm, "alias", Some("org/Small-4B"), None, Some(32768), false),
        (LM_STUDIO, Kind::OpenAi, Profile::LmStudio, "small-4b", None, tools(true, true), Some(4096), false),
        (OTHER, Kind::OpenAi, Profile::Generic, "x", None, None, Some(1000), false),
    ];
    for (answers, kind, profile, first, base, capabilities, context, template) in cases {
        let fake = Fake::with_json(answers);
        for url in [fake.url.clone(), format!("{}/v1", fake.url)] {
            let found = detect(&client(), &Backend::open("found", Kind::OpenAi, &url)).await.expect("somebody is there");
            assert_eq!((found.kind, found.profile), (kind, profile));
            let suffix = if kind == Kind::Ollama { "" } else { "/v1" };
            assert_eq!(found.url, format!("{}{suffix}", fake.url));
            let listed = models(&client(), &found).await.expect("a list");
            assert_eq!(listed[0].id, first);
            let model = describe(&client(), &found, first).await.expect("facts");
            assert_eq!((model.base.as_deref(), model.capabilities, model.context), (base, capabilities, context), "{first}");
            assert_eq!((model.id.as_str(), model.template.is_some()), (first, template));
        }
    }
}

#[tokio::test]
async fn the_context_that_a_modelfile_sets_is_known() {
    let fake = Fake::with_json(OLLAMA);
    let backend = Backend::open("ollama", Kind::Ollama, &fake.url);
    assert_eq!(describe(&client(), &backend, "small:4b").await.expect("facts").context_set, Some(16_384));
    let parameters = json!({"parameters": "num_ctx_other 7\nstop \"a b\"\nrepeat_penalty                 1.05"});
    assert_eq!((parameter(&parameters, "num_ctx"), parameter(&parameters, "repeat_penalty")), (None, Some("1.05")));
}

#[tokio::test]
async fn a_list_that_fails_says_so() {
    let locked = Fake::with_json(&[("GET /v1/models", 401, r#"{"error":{"message":"no key","code":"invalid_api_key"}}"#)]);
    let backend = Backend::open("locked", Kind::OpenAi, format!("{}/v1", locked.url));
    let error = models(&client(), &backend).await.expect_err("locked");
    assert_eq!(
        (error.status, error.message.as_str(), error.code.as_deref()),
        (401, "the backend `locked` wants a key (`api_key_env`): no key", Some("invalid_api_key"))
    );
    let odd = Fake::with_json(&[("GET /v1/models", 200, "{}")]);
    let backend = Backend::open("odd", Kind::OpenAi, format!("{}/v1", odd.url));
    assert!(models(&client(), &backend).await.expect_err("no list").message.contains("`odd`"));
}

#[tokio::test]
async fn google_lists_what_can_chat() {
    let fake = Fake::with_json(&[(
        "GET /v1beta/models",
        200,
        r#"{"models":[{"name":"models/small-4b-it","inputTokenLimit":32768,"supportedGenerationMethods":["generateContent"]},
            {"name":"models/embed","supportedGenerationMethods":["embedContent"]}]}"#,
    )]);
    let backend = Backend::open("google", Kind::Google, format!("{}/v1beta", fake.url));
    let listed = models(&client(), &backend).await.expect("a list");
    assert_eq!(listed, [Model { context: Some(32768), ..Model::named("small-4b-it") }]);
}

#[tokio::test]
async fn what_ollama_has_loaded_is_known() {
    let fake = Fake::with_json(&[(
        "GET /api/ps",
        200,
        r#"{"models":[{"name":"small:4b","size":3000,"size_vram":2000,"context_length":8192},{"name":"old:latest","size":1,"size_vram":1}]}"#,
    )]);
    let backend = Backend::open("ollama", Kind::Ollama, &fake.url);
    let loaded = async |id| loaded(&client(), &backend, id).await.expect("an answer");
    assert_eq!(loaded("small:4b").await, Some(Loaded { context: Some(8192), size: 3000, vram: 2000 }));
    assert_eq!(loaded("old").await, Some(Loaded { context: None, size: 1, vram: 1 }));
    assert_eq!(loaded("other").await, None);
}
