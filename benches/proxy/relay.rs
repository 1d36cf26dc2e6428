//! What the libraries cost by themselves: hyper's server and tokio's sockets as in toolglot, with nothing between them. It reads
//! no event, checks nothing and logs nothing, so no program on these libraries costs less per piece. For each request it opens a
//! connection to the backend; the other two keep theirs.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWriteExt, ReadBuf},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    task::JoinSet,
};

use super::load::Framed;

/// The answer of the backend, without its frames.
struct Relayed {
    backend: TcpStream,
    framed: Framed,
}

/// Relays requests to the port `backend` until the process is killed.
pub(super) fn serve(port: u16, backend: u16) -> io::Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let mut connections = JoinSet::new();
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let service = service_fn(move |request| relay(request, backend));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).writev(false);
            connections.spawn(http.serve_connection(TokioIo::new(socket), service));
        }
    })
}

async fn relay(request: Request<Incoming>, backend: u16) -> io::Result<Response<Relayed>> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let mut backend = TcpStream::connect(("127.0.0.1", backend)).await?;
    backend.set_nodelay(true)?;
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    backend.write_all(&[head.as_bytes(), &body].concat()).await?;
    Ok(Response::new(Relayed { backend, framed: Framed::default() }))
}

impl Body for Relayed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Relayed { backend, framed } = self.get_mut();
        let mut text = Vec::new();
        while text.is_empty() && !framed.ended {
            let mut read = [0; 4096];
            let mut into = ReadBuf::new(&mut read);
            ready!(Pin::new(&mut *backend).poll_read(cx, &mut into))?;
            if into.filled().is_empty() {
                return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
            }
            framed.held.extend_from_slice(into.filled());
            framed.take(&mut text);
        }
        Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text.into()))))
    }
}
