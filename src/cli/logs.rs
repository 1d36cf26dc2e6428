//! `toolglot logs`: the last lines of the log of the running proxy, and those to come.

use std::{io::Write, time::Duration};

use clap::Args;

use super::{
    given::Configured,
    output::broken,
    proxy::{PATIENCE, url},
};
use crate::{
    config::Environment,
    error::Error,
    upstream::{Client, HttpRequest, Outgoing, Timeouts},
};

#[derive(Debug, Args)]
pub(super) struct Logs {
    #[command(flatten)]
    configured: Configured,
}

/// How long the proxy may be silent.
const SILENCE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Logs {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let url = url(&self.configured.load(environment)?.listen);
        super::block_on(async {
            let client = Client::new(Timeouts { connect: PATIENCE, idle: SILENCE });
            let sent = client.send(&Outgoing::Http(HttpRequest::get(format!("{url}/ui/log")))).await;
            let mut answer = sent.map_err(|_| Error::proxy(format!("no proxy runs at {url}: `toolglot serve` starts one")))?;
            let fault = match answer.status.as_u16() {
                200 => "",
                401 | 403 => "wants the key of a client: look at its own terminal or log file, or at `toolglot service logs`",
                _ => "has no log to follow: `toolglot doctor` says what it is",
            };
            if !fault.is_empty() {
                return Err(Error::proxy(format!("what runs at {url} {fault}")));
            }
            let mut lines = bytes::BytesMut::new();
            // Where it ends or is killed, the log ends.
            while answer.body.read(&mut lines).await.is_ok_and(|read| read > 0) {
                out.write_all(&lines.split()).and_then(|()| out.flush()).map_err(broken)?;
            }
            Ok(())
        })
    }
}
