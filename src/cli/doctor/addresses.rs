//! Words what the system tells about this machine's addresses: on a plain machine, in WSL, in a container, with Docker. Finds no
//! server: `server::backends` does.
//! Half of all first starts fail because of a wrong address.

use std::{net::Ipv4Addr, path::Path};

use crate::config::Listen;

/// What the system tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// `/proc/version`.
    pub(super) version: String,
    /// `/proc/net/route`.
    pub(super) routes: String,
    /// There is a `/.dockerenv` or its like.
    pub(super) container: bool,
    /// Docker or its like is installed on this machine.
    pub(super) docker: bool,
}

impl Facts {
    pub(super) fn of_this_machine() -> Facts {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let there = |paths: &[&str]| paths.iter().any(|path| Path::new(path).exists());
        Facts {
            version: read("/proc/version"),
            routes: read("/proc/net/route"),
            container: there(&["/.dockerenv", "/run/.containerenv"]),
            docker: there(&["/var/run/docker.sock", "/run/podman/podman.sock"]),
        }
    }

    fn wsl(&self) -> bool {
        self.version.to_lowercase().contains("microsoft")
    }

    /// The machine on the other side of the default route: of WSL, Windows; of a container, its host.
    fn gateway(&self) -> Option<Ipv4Addr> {
        self.routes.lines().skip(1).find_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let (target, gateway) = (fields.next()?, fields.next()?);
            // Written as the machine holds it: the lowest byte comes first.
            let address = u32::from_str_radix(gateway, 16).ok().filter(|_| target == "00000000")?;
            (address != 0).then(|| Ipv4Addr::from(address.swap_bytes()))
        })
    }
}

/// One sentence for each way in or out.
pub(super) fn addresses(facts: &Facts, listen: &Listen) -> Vec<String> {
    let port = listen.port();
    let local = listen.addresses.iter().all(|address| address.ip().is_loopback());
    let mut out = vec![format!("from this machine: http://127.0.0.1:{port}/v1")];
    let everywhere = format!("listen = \"0.0.0.0:{port}\", `api_keys_file` and its name in `allowed_hosts`");
    if facts.container {
        let gateway = facts.gateway().map(|gateway| format!(" or {gateway}")).unwrap_or_default();
        out.push(format!("this is a container: servers of its host are at host.docker.internal{gateway}, not at 127.0.0.1"));
        if local {
            out.push(format!("from outside of the container: not reachable; set {everywhere}, and publish the port"));
        }
    }
    if facts.wsl() {
        out.push(format!("this is WSL: from Windows, http://localhost:{port}/v1 is forwarded to here"));
        if let Some(windows) = facts.gateway() {
            out.push(format!(
                "servers of Windows are at {windows} (or at 127.0.0.1 with `networkingMode=mirrored`); there an Ollama needs OLLAMA_HOST=0.0.0.0"
            ));
        }
    }
    if facts.docker && !facts.container {
        let how = if local { format!("; needs {everywhere} (host.docker.internal)") } else { String::new() };
        out.push(format!("from a container on this machine: http://host.docker.internal:{port}/v1{how}"));
    }
    if !local {
        out.push(format!("from other machines: http://ADDRESS:{port}/v1, for the names in `allowed_hosts`"));
    }
    out
}
