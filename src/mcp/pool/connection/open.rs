//! Opens a [`Connection`] to a server of the registry. It tries the newest dialect and revision first, then the older ones.

use std::{collections::HashMap, sync::Mutex};

use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::{
    ClientCacheConfig,
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient},
    transport::{StreamableHttpClientTransport, Transport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use url::Url;

use super::{
    super::{causes, fault::Fault, http::Http, lenient::Lenient, process::Process, sse::Sse},
    Connection, Listener,
};
use crate::{
    config::{Environment, Secret},
    dial::Clients,
    error::Error,
    mcp::registry::{Dialect, Launch, Server, Target},
};

impl Connection {
    /// Connects. The caller bounds the time.
    pub(in crate::mcp::pool) async fn open(
        server: &Server,
        environment: &Environment,
        clients: &Clients,
    ) -> Result<Connection, Error> {
        match &server.target {
            Target::Process(launch) => newest_first(|lifecycle| Connection::process(launch, environment, lifecycle)).await,
            Target::Remote { url, dialect, headers } => {
                let (headers, client) = (header_map(headers)?, clients.of(url)?);
                match dialect {
                    Dialect::Http => Connection::http(url, headers, client).await,
                    Dialect::Sse => Connection::sse(url, headers, client).await,
                    Dialect::Detect => match Connection::http(url, headers.clone(), client).await {
                        Ok(connection) => Ok(connection),
                        Err(http) => Connection::sse(url, headers, client).await.map_err(|sse| {
                            if http.message == sse.message {
                                http
                            } else {
                                Error::tool(format!("as streamable HTTP: {http}; as HTTP with SSE: {sse}"))
                            }
                        }),
                    },
                }
            }
        }
    }

    async fn process(launch: &Launch, environment: &Environment, lifecycle: ClientLifecycleMode) -> Result<Connection, Error> {
        let fault = Fault::default();
        let process = Process::start(launch, environment, fault.clone())
            .map_err(|error| Error::tool(format!("`{}` cannot be started: {error}", launch.command)))?;
        Connection::over("stdio", process, lifecycle, fault).await
    }

    async fn http(url: &Url, headers: Headers, client: &reqwest::Client) -> Result<Connection, Error> {
        newest_first(|lifecycle| {
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers.clone());
            let fault = Fault::default();
            let client = Http::new(client.clone(), fault.clone());
            async { Connection::over("http", StreamableHttpClientTransport::with_client(client, config), lifecycle, fault).await }
        })
        .await
    }

    async fn sse(url: &Url, headers: Headers, client: &reqwest::Client) -> Result<Connection, Error> {
        let fault = Fault::default();
        let transport = Sse::connect(client.clone(), url, HeaderMap::from_iter(headers), fault.clone()).await?;
        Connection::over("sse", transport, ClientLifecycleMode::Initialize, fault).await
    }

    async fn over(
        dialect: &'static str,
        transport: impl Transport<RoleClient> + 'static,
        lifecycle: ClientLifecycleMode,
        fault: Fault,
    ) -> Result<Connection, Error> {
        match Listener::default().serve_with_lifecycle(Lenient::new(transport), lifecycle).await {
            Ok(service) => {
                // Ours knows when a fresh list is needed.
                service.set_response_cache_config(ClientCacheConfig::disabled()).await;
                Ok(Connection { service, dialect, listing: Mutex::default(), fault })
            }
            Err(error) => {
                let is_there = !matches!(
                    error,
                    ClientInitializeError::TransportError { .. } | ClientInitializeError::LegacyFallbackFailed { .. }
                );
                let reason = fault.describe();
                let puzzled = is_there || reason.is_some();
                let error = Error::tool(reason.unwrap_or_else(|| opening_failed(&error)));
                Err(if puzzled { error.with_code(PUZZLED) } else { error })
            }
        }
    }
}

type Headers = HashMap<HeaderName, HeaderValue>;

/// The code of errors that mean: the server is there and did not take the greeting.
const PUZZLED: &str = "mcp_greeting";

/// The newest revision if the server knows it, else the older ones; then the older greeting alone, which is worth a second
/// connection: a server of the old days may die of the first question of the new ones, or answer it with nonsense. The first error
/// is the one that tells.
async fn newest_first<F: Future<Output = Result<Connection, Error>>>(
    open: impl Fn(ClientLifecycleMode) -> F,
) -> Result<Connection, Error> {
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    match open(newest).await {
        Err(error) if error.code.as_deref() == Some(PUZZLED) => open(ClientLifecycleMode::Initialize).await.map_err(|_| error),
        opened => opened,
    }
}

/// Why a server could not be greeted, in words without the SDK's types.
fn opening_failed(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => causes(error.error.as_ref()),
        ClientInitializeError::JsonRpcError(error) => error.message.clone().into_owned(),
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            match (opening_failed(discover), opening_failed(fallback)) {
                (newest, older) if newest == older => newest,
                (newest, older) => format!("{newest}; in the older way: {older}"),
            }
        }
        other => causes(other),
    }
}

fn header_map(headers: &[(String, Secret)]) -> Result<Headers, Error> {
    let read = |(name, value): &(String, Secret)| {
        let wrong = || Error::tool(format!("the header `{name}` cannot be sent"));
        let mut text = HeaderValue::from_str(value.reveal()).map_err(|_| wrong())?;
        text.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, text))
    };
    headers.iter().map(read).collect()
}
