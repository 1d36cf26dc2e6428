//! Serves one session of the engine over standard input and output, one message per line, as the SDK does it: lines that are no
//! JSON are passed over, and answers that are still due at the end of the input get a few seconds.

use std::{io, sync::Arc};

use rmcp::{
    RoleServer, ServiceExt,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::{Engine, requests::Requests, sessions::with_service_info};

/// The SDK's transport, with the origin of each item where clients look for it.
struct Lines<R: AsyncRead, W: AsyncWrite>(AsyncRwTransport<RoleServer, R, W>);

impl Engine {
    /// Serves one client over these streams until its input ends.
    pub async fn stdio(&self, input: impl AsyncRead + Send + Unpin + 'static, output: impl AsyncWrite + Send + Unpin + 'static) {
        // The last line may lack its end.
        let lines = Lines(AsyncRwTransport::new_server(input.chain(&b"\n"[..]), output));
        match Requests::new(Arc::clone(&self.shared)).serve(lines).await {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!(%error, "an MCP session was not begun"),
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.0.send(with_service_info(message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.0.receive().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.0.close().await
    }
}
