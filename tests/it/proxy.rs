//! The running proxy between a scripted backend and an HTTP client: what passes, what is refused, what an error looks like.

use std::time::Duration;

use serde_json::{Value, json};
use toolglot::{
    config::{Config, Environment, Overrides},
    server,
};

use crate::fake::{Fake, Script, Seen, Step};

mod access;
mod again;
mod backends;
mod chat;
mod choice;
mod faults;
mod fields;
mod lenient;
mod messages;
mod ollama;
mod page;
mod prefix;
mod prevention;
mod recover;
mod requests;
mod responses;
mod silent;
mod slow;
mod strict;
mod traces;
mod visible;
mod void;

/// A proxy on a free port.
pub(crate) struct Proxy {
    pub(crate) url: String,
    client: reqwest::Client,
}

impl Proxy {
    /// A proxy with this configuration.
    pub(crate) async fn start(config: &str) -> Proxy {
        Proxy::with(config, &Environment::from([("A_KEY", "s3cret-key")])).await
    }

    /// A proxy with this configuration in this environment.
    async fn with(config: &str, environment: &Environment) -> Proxy {
        let config = Config::parse(config, None, &Overrides::default(), environment).unwrap();
        let app = server::app(server::Settings {
            ollama: "http://127.0.0.1:9".into(),
            ..server::Settings::of(config, &Environment::default())
        })
        .unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, server::router(app)).await.unwrap() });
        Proxy::at(url)
    }

    /// A proxy that runs at this URL.
    pub(crate) fn at(url: String) -> Proxy {
        Proxy { url, client: client() }
    }

    pub(crate) fn post(&self, path: &str, body: impl ToString) -> reqwest::RequestBuilder {
        self.client.post(format!("{}{path}", self.url)).header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }
}

pub(crate) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Without TLS: parsing the system's certificates takes longer than most tests.
    reqwest::Client::builder().no_proxy().tls_certs_only([]).pool_max_idle_per_host(0).build().unwrap()
}

/// A proxy with one backend of kind `openai` that answers lists with `m` and `n`, everything else with `script`.
async fn with_openai(script: impl Fn(&Seen) -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"object":"list","data":[{"id":"m"},{"id":"org/n:q4"}]}"#),
        _ => script(seen),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nname = \"b\"\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
    (proxy, fake)
}

/// A proxy with one Ollama that has the model `m` and answers everything else with `script`.
pub(crate) async fn before_ollama(script: impl Fn(&Seen) -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        _ => script(seen),
    })
    .await;
    (Proxy::start(&format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url)).await, fake)
}

/// Status and body as JSON.
async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: no JSON: {text}")))
}
