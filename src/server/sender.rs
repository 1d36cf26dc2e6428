//! Who sent a request, and what the sender may do.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use super::state::App;
use crate::{
    config::{Config, Mode, Tenant},
    error::Error,
    store::{Key, Kind},
};

/// The local address that a client has connected to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local(pub(super) SocketAddr);

/// The sender of a request, as identified by the checks.
#[derive(Debug, Clone, Default)]
pub(super) struct Sender {
    /// The owner of its key; the one local user if no key is required.
    pub(super) tenant: Arc<Tenant>,
    /// Whether it is a page of another server on this machine, which may use models but not tools.
    pub(super) is_neighbour: bool,
}

const MINUTE: Duration = Duration::from_secs(60);

impl Sender {
    /// Counts a request about a model.
    ///
    /// # Errors
    /// 429 if the sender exceeds its `requests_per_minute`, counted over all instances.
    pub(super) async fn count(&self, app: &App) -> Result<(), Error> {
        let Some(most) = self.tenant.requests_per_minute else { return Ok(()) };
        let key = Key { tenant: self.tenant.name.clone(), kind: Kind::Requests, id: String::new() };
        let (count, left) = app.turns.store.count(&key, MINUTE).await;
        if count <= u64::from(most.get()) {
            return Ok(());
        }
        let seconds = left.as_secs() + 1;
        let what = format!("your key is for {most} requests per minute; the next one is possible in {seconds} s");
        let mut error = Error::client(what).with_status(429).with_code("rate_limit_exceeded");
        error.headers.push(("retry-after".into(), seconds.to_string()));
        Err(error)
    }

    /// Checks the mode. `asked`: the mode that the request itself chose.
    ///
    /// # Errors
    /// 403 if the sender may not use the mode, or the request may not choose it.
    pub(super) fn check(&self, config: &Config, asked: Option<Mode>, mode: Mode) -> Result<(), Error> {
        if let (Some(asked), Some(open)) = (asked, &config.access.modes)
            && !open.contains(&asked)
        {
            let open: Vec<&str> = open.iter().map(|mode| mode.name()).collect();
            let what =
                format!("requests may not choose mode `{}` here; `modes` in proxy.toml has: {}", asked.name(), open.join(", "));
            return Err(Error::client(what).with_status(403).with_code("mode_not_allowed"));
        }
        if let Some(own) = self.tenant.modes.as_ref().filter(|own| !own.contains(&mode)) {
            let own: Vec<&str> = own.iter().map(|mode| mode.name()).collect();
            let what = format!("your key is not for mode `{}`; it is for: {}", mode.name(), own.join(", "));
            return Err(Error::client(what).with_status(403).with_code("mode_not_allowed"));
        }
        if self.is_neighbour && matches!(mode, Mode::Shell | Mode::React) {
            let what = "a web page may not use mode `react` or `shell`, which act on this machine; if it is yours, add its origin to \
                        `allowed_origins` in proxy.toml";
            return Err(Error::client(what).with_status(403).with_code("origin_not_allowed"));
        }
        Ok(())
    }
}
