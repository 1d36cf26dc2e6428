//! The proxy that runs on this machine, as its own `/healthz` describes it: whether it runs, who has asked it, which backends it
//! has. `doctor`, `models`, `toolglot` alone, `logs` and `purge` look at it.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::{
    config::{self, Config, Listen},
    server::only_listed,
    upstream::{Client, HttpRequest, Outgoing, Timeouts},
};

/// The proxy that clients talk to.
#[derive(Debug, Serialize)]
pub(super) struct Proxy {
    pub(super) url: String,
    /// Its version, if it runs.
    pub(super) running: Option<String>,
    /// How often clients asked for the list of models, and for answers.
    lists: u64,
    chats: u64,
    /// The conclusion, for people.
    pub(super) verdict: String,
    /// Its backends: name and URL.
    #[serde(skip)]
    backends: Vec<(String, String)>,
}

/// How long to wait for the proxy.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_BYTES: usize = 64 * 1024;

impl Proxy {
    /// Asks the address at which clients expect the proxy.
    pub(super) async fn look(listen: &Listen) -> Proxy {
        let url = url(listen);
        let (answers, health) = health(&url).await.map_or((false, Value::Null), |health| (true, health));
        let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
        let running = text(&health, "toolglot");
        let count = |what: &str| health["requests"][what].as_u64().unwrap_or(0);
        let backends = health["backends"].as_array().into_iter().flatten();
        let backends = backends.filter_map(|backend| Some((text(backend, "name")?, text(backend, "url")?))).collect();
        let (lists, chats) = (count("models"), count("chats"));
        let verdict = match (&running, answers, lists, chats) {
            (None, false, ..) => "nothing runs there: start `toolglot serve`".to_owned(),
            (None, true, ..) => {
                "something else answers there: `toolglot serve` says what, and takes another port with --listen".to_owned()
            }
            (Some(_), _, 0, 0) => format!(
                "it runs, and no client has asked it for anything: enter {url}/v1 as the OpenAI base URL; Void finds it by itself under vLLM"
            ),
            (Some(_), _, lists, 0) => only_listed(lists),
            (Some(_), _, _, chats) => format!("clients have asked for {chats} answers"),
        };
        Proxy { url, running, lists, chats, verdict, backends }
    }

    /// The configuration with the backends that the running proxy has besides: it may have been started with others.
    pub(super) fn joined(&self, mut config: Config) -> Config {
        for (name, url) in self.backends.iter().filter(|(_, url)| url.starts_with("http")) {
            if !config.backends.iter().any(|known| known.url == *url) {
                config.backends.push(config::Backend::open(name, None, url));
            }
        }
        config
    }
}

/// The address at which this machine reaches the proxy.
pub(super) fn url(listen: &Listen) -> String {
    format!("http://{}", super::setup::reachable(listen))
}

async fn health(url: &str) -> Option<Value> {
    let client = Client::new(Timeouts { connect: PATIENCE, idle: PATIENCE });
    let mut response = client.send(&Outgoing::Http(HttpRequest::get(format!("{url}/healthz")))).await.ok()?;
    let body = response.collect(ANSWER_BYTES).await.unwrap_or_default();
    Some(serde_json::from_slice(&body).unwrap_or_default())
}
