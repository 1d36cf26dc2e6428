//! What is measured: nginx and toolglot as processes, and how the load reaches them.

use std::{
    fs,
    io::{self, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    rc::Rc,
    thread,
    time::Duration,
};

/// One way to the backend.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) port: u16,
    /// In front of the paths of OpenAI's API.
    pub(super) prefix: &'static str,
    /// `None`: straight to the backend, whose cost is not measured.
    part: Option<Rc<Part>>,
}

/// A running program.
struct Part(Child);

/// All ways to the backend at `port`.
pub(super) fn targets(folder: &Path, port: u16) -> io::Result<Vec<Target>> {
    let nginx = free()?;
    let nginx = Target { name: "nginx", port: nginx, prefix: "", part: Some(Rc::new(start_nginx(folder, nginx, port)?)) };
    let openai = format!("kind = \"openai\"\nurl = \"http://127.0.0.1:{port}/v1\"");
    let alone = free()?;
    let alone = Target { name: "libraries alone", port: alone, prefix: "", part: Some(Rc::new(start_relay(alone, port)?)) };
    let plain = start_toolglot(folder, "toolglot", &openai)?;
    let (page, scraped) = (start_toolglot(folder, "with page", &openai)?, start_toolglot(folder, "with scraper", &openai)?);
    let ollama = format!("kind = \"ollama\"\nurl = \"http://127.0.0.1:{port}\"");
    let ollama = start_toolglot(folder, "toolglot, Ollama", &ollama)?;
    watch(page.port, "/ui/events", None);
    watch(scraped.port, "/metrics", Some(Duration::from_secs(1)));
    let within = |name, prefix| Target { name, prefix, port: plain.port, part: plain.part.clone() };
    let (react, shell) = (within("react", "/react"), within("shell", "/shell"));
    let direct = Target { name: "direct", port, prefix: "", part: None };
    Ok(vec![direct, nginx, alone, plain, page, scraped, react, shell, ollama])
}

fn start_nginx(folder: &Path, port: u16, backend: u16) -> io::Result<Part> {
    let configuration = format!(
        "worker_processes 1; daemon off; pid nginx.pid; error_log nginx.err warn;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n\
           access_log off; tcp_nodelay on; keepalive_requests 1000000; client_max_body_size 16m;\n\
           client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n\
           upstream backend {{ server 127.0.0.1:{backend}; keepalive 512; keepalive_requests 1000000; }}\n\
           server {{\n\
             listen 127.0.0.1:{port};\n\
             location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; }}\n\
           }}\n\
         }}\n"
    );
    fs::write(folder.join("nginx.conf"), configuration)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).args(["-c", "nginx.conf"]);
    start(command, port)
}

/// This program again, as [`super::relay`].
fn start_relay(port: u16, backend: u16) -> io::Result<Part> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--relay", &port.to_string(), &backend.to_string()]);
    start(command, port)
}

fn start_toolglot(folder: &Path, name: &'static str, backend: &str) -> io::Result<Target> {
    let (port, home) = (free()?, folder.join(name));
    fs::create_dir(&home)?;
    fs::write(home.join("proxy.toml"), format!("workers = 1\n[[backend]]\nname = \"models\"\n{backend}\n"))?;
    let program = Path::new(env!("CARGO_BIN_EXE_toolglot"));
    let mut command = Command::new(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--config"]).arg(home.join("proxy.toml"));
    // Mode `shell` wants the program in PATH.
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap_or(folder).display());
    command.env("HOME", &home).env("PATH", path);
    Ok(Target { name, port, prefix: "", part: Some(Rc::new(start(command, port)?)) })
}

/// Starts a program and waits until it listens.
fn start(mut command: Command, port: u16) -> io::Result<Part> {
    let part = Part(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(part);
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(io::Error::other(format!("{command:?} does not listen")))
}

fn free() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Reads a path on a thread of its own, once to its end or again and again.
fn watch(port: u16, path: &'static str, every: Option<Duration>) {
    let read = move || -> io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        io::copy(&mut stream, &mut io::sink()).map(drop)
    };
    thread::spawn(move || {
        while read().is_ok() {
            thread::sleep(every.unwrap_or(Duration::from_secs(1)));
        }
    });
}

// === impl Target ===

impl Target {
    /// Microseconds of the processor so far, of the process and its children.
    pub(super) fn processor(&self) -> f64 {
        self.sum(|id| {
            let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
            let spent = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
            spent.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e3
        })
    }

    /// Bytes in memory, of the process and its children.
    pub(super) fn resident(&self) -> f64 {
        self.sum(|id| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() * 1024.0
        })
    }

    fn sum(&self, of: impl Fn(u32) -> f64) -> f64 {
        let Some(part) = &self.part else { return f64::NAN };
        let id = part.0.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        of(id) + children.split_whitespace().filter_map(|id| id.parse().ok()).map(of).sum::<f64>()
    }
}

// === impl Part ===

impl Drop for Part {
    fn drop(&mut self) {
        // nginx ends its worker on SIGTERM only.
        let _ended = Command::new("kill").arg(self.0.id().to_string()).status();
        let _reaped = self.0.wait();
    }
}
