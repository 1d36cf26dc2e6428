//! Serves one session of the engine over standard input and output, one message per line.

use std::{collections::HashSet, time::Duration};

use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Engine, NotTaken, sessions::with_service_info};
use crate::{
    error::Error,
    wire::{Frames, Framing},
};

/// The largest message, in bytes.
const LINE_BYTES: usize = 16 * 1024 * 1024;
/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 * 1024;
/// How long answers may take after the end of the input.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

impl Engine {
    /// Serves one client over these streams until its input ends and everything that it asked is answered, for at most 60 s after
    /// the last message.
    ///
    /// # Errors
    /// A message is too large, or the output cannot be written.
    pub async fn stdio(&self, mut input: impl AsyncRead + Unpin, mut output: impl AsyncWrite + Unpin) -> Result<(), Error> {
        let broken = |error: std::io::Error| Error::proxy(format!("standard output: {error}"));
        let mut session = self.open(None);
        let mut lines = Frames::new(Framing::Lines, LINE_BYTES);
        let mut open: HashSet<RequestId> = HashSet::new();
        let mut ended = false;
        while !ended || !open.is_empty() {
            let room = lines.room();
            room.reserve(READ_BYTES);
            let event = tokio::select! {
                read = input.read_buf(room), if !ended => Event::Read(read.unwrap_or(0)),
                message = session.output.recv() => Event::Answer(message.map(Box::new)),
                () = tokio::time::sleep(LAST_ANSWERS), if ended => Event::Answer(None),
            };
            match event {
                Event::Read(count) => {
                    ended = count == 0;
                    loop {
                        let line = match lines.next()? {
                            None if ended => lines.finish(),
                            next => next,
                        };
                        let Some(line) = line else { break };
                        let error = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
                            Ok(message) => {
                                if let ClientJsonRpcMessage::Request(request) = &message {
                                    open.insert(request.id.clone());
                                }
                                match self.enqueue(&session.id, message) {
                                    Ok(()) => continue,
                                    Err(NotTaken::UnknownSession) => return Ok(()),
                                    Err(NotTaken::Busy) => json!({"code": -32000, "message": "too many messages wait"}),
                                }
                            }
                            Err(what) => json!({"code": -32700, "message": format!("this is not a message: {what}")}),
                        };
                        let text = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
                        write(&mut output, text).await.map_err(broken)?;
                    }
                }
                Event::Answer(None) => return Ok(()),
                Event::Answer(Some(message)) => {
                    match message.as_ref() {
                        ServerJsonRpcMessage::Response(response) => drop(open.remove(&response.id)),
                        ServerJsonRpcMessage::Error(error) => drop(error.id.as_ref().map(|id| open.remove(id))),
                        _ => {}
                    }
                    let text =
                        serde_json::to_string(&with_service_info(*message)).map_err(|error| Error::proxy(error.to_string()))?;
                    write(&mut output, text).await.map_err(broken)?;
                }
            }
        }
        Ok(())
    }
}

enum Event {
    Read(usize),
    Answer(Option<Box<ServerJsonRpcMessage>>),
}

async fn write(output: &mut (impl AsyncWrite + Unpin), mut line: String) -> std::io::Result<()> {
    line.push('\n');
    output.write_all(line.as_bytes()).await?;
    output.flush().await
}
