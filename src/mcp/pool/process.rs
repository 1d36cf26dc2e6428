//! A transport over a child's standard input and output, one JSON-RPC message per line. It replaces the SDK's, because an
//! operator wants to know more: the last lines on standard error, lines that were too long, lines that were not JSON. The
//! child gets a minimal environment and its own process group, which ends with the connection, and with this process however
//! that ends: on Unix a shell waits for it ([`guard`]), on Windows the system closes the job.

use std::{borrow::Cow, io, process::Stdio, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{Mutex, Notify},
};

use super::{MESSAGE_BYTES, fault::Fault};
use crate::{
    config::Environment,
    mcp::registry::Launch,
    wire::{Frames, Framing},
};

/// A running child process as a transport.
pub(super) struct Process {
    child: Box<dyn ChildWrapper>,
    input: Arc<Input>,
    output: Option<ChildStdout>,
    lines: Frames,
    errors: Option<ChildStderr>,
    error_lines: Frames,
    /// Outlives this process to kill the group. Killed itself where the group is.
    #[cfg(unix)]
    guard: Option<tokio::process::Child>,
    /// Nothing of the group is left to be killed.
    ended: bool,
    fault: Fault,
}

/// Where messages to a child are written.
struct Input {
    pipe: Mutex<Option<ChildStdin>>,
    /// The child does not read any more.
    broken: Notify,
}

/// What a child may know of our environment: what it needs to find programs, files, languages and the way out.
const INHERITED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "APPDATA", "LOCALAPPDATA",
    "COMSPEC", "HOMEDRIVE", "HOMEPATH", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE",
    "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR",
];

/// The variable with the servers inside of which this process runs.
const INSIDE: &str = "TOOLGLOT_INSIDE";

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 * 1024;
/// How long a child may take to end by itself, then after a polite signal.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long what a dying child wrote may still be on its way.
const LAST_WORDS: Duration = Duration::from_millis(200);

impl Process {
    /// Starts the command, but not inside of itself: it may be toolglot's own MCP server, which starts what is registered.
    pub(super) fn start(launch: &Launch, environment: &Environment, fault: Fault) -> io::Result<Process> {
        let own = launch.environment.iter().map(|(name, value)| (name.as_str(), value.reveal()));
        let identity = format!("{:?}", (&launch.command, &launch.arguments, &launch.folder, own.clone().collect::<Vec<_>>()));
        let identity = format!("{:x}", Sha256::digest(identity));
        let inside = environment.get(INSIDE).unwrap_or_default();
        if inside.split(',').any(|one| one == identity) {
            return Err(io::Error::other("it is not started inside of itself"));
        }
        // Windows itself finds programs that end in `.exe` only, and `npx` is `npx.cmd`.
        let found = if cfg!(windows) { environment.with(own.clone()).find(&launch.command) } else { None };
        let mut start = Command::new(found.unwrap_or_else(|| launch.command.clone().into()));
        start.args(&launch.arguments).env_clear();
        start.envs(INHERITED.iter().filter_map(|name| Some((name, environment.get(name)?))));
        start.envs(own).env(INSIDE, format!("{inside},{identity}"));
        if let Some(folder) = &launch.folder {
            start.current_dir(folder);
        }
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut wrapped = CommandWrap::from(start);
        wrapped.wrap(KillOnDrop);
        #[cfg(unix)]
        wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        wrapped.wrap(process_wrap::tokio::JobObject);
        let mut child = wrapped.spawn()?;
        Ok(Process {
            #[cfg(unix)]
            guard: child.id().and_then(guard),
            input: Arc::new(Input { pipe: Mutex::new(child.stdin().take()), broken: Notify::new() }),
            output: child.stdout().take(),
            lines: Frames::new(Framing::Lines, MESSAGE_BYTES),
            errors: child.stderr().take(),
            error_lines: Frames::new(Framing::Lines, MESSAGE_BYTES),
            child,
            ended: false,
            fault,
        })
    }

    /// The next line of standard output; `None` at its end. May be dropped at any time without losing a byte.
    async fn line(&mut self) -> Option<Bytes> {
        let input = Arc::clone(&self.input);
        let mut patience = Duration::MAX;
        loop {
            match self.lines.next() {
                Ok(Some(line)) => return Some(Bytes::copy_from_slice(line)),
                Ok(None) => {}
                Err(_) => {
                    self.fault.set(format!("it sent a message of more than {MESSAGE_BYTES} bytes"));
                    return None;
                }
            }
            tokio::select! {
                read = read(&mut self.output, self.lines.room()) => {
                    if read == 0 {
                        return None;
                    }
                }
                read = read(&mut self.errors, self.error_lines.room()), if self.errors.is_some() => match read {
                    0 => self.errors = None,
                    _ => self.note_errors(),
                },
                // Usually it is dying, and its output ends in the next moment.
                () = input.broken.notified(), if patience == Duration::MAX => patience = LAST_WORDS,
                () = tokio::time::sleep(patience) => {
                    self.fault.set("the process does not read its input any more");
                    return None;
                }
            }
        }
    }

    fn note_errors(&mut self) {
        loop {
            match self.error_lines.next() {
                Ok(Some(line)) => self.fault.line(&String::from_utf8_lossy(line)),
                Ok(None) => return,
                Err(_) => self.error_lines = Frames::new(Framing::Lines, MESSAGE_BYTES),
            }
        }
    }

    /// The output has ended: what the process says about it.
    async fn note_end(&mut self) {
        // What it wrote just before it died may still be on its way.
        while self.errors.is_some() {
            match tokio::time::timeout(LAST_WORDS, read(&mut self.errors, self.error_lines.room())).await {
                Ok(0) | Err(_) => break,
                Ok(_) => self.note_errors(),
            }
        }
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(Ok(status)) => {
                self.fault.set(format!("the process ended ({status})"));
                self.kill();
            }
            _ => self.fault.set("the process closed its output"),
        }
    }

    /// Ends everything in the group, also what the child started and left behind. Once: a group that is gone leaves its
    /// number to others.
    fn kill(&mut self) {
        if !self.ended {
            self.ended = true;
            // It fails where nobody is left.
            let _ = self.child.start_kill();
            // Before its input ends: the number of the group may be another's by then.
            #[cfg(unix)]
            if let Some(mut guard) = self.guard.take() {
                let _ = guard.start_kill();
            }
        }
    }
}

/// Starts a shell that kills this process group as soon as its input ends. Only this process can end it, by its own end: after
/// SIGKILL, too, when nothing of it runs any more. `None` where there is no shell.
#[cfg(unix)]
fn guard(group: u32) -> Option<tokio::process::Child> {
    const SCRIPT: &str = "trap '' HUP INT TERM; read -r never; kill -s KILL -- \"-$1\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "sh", &group.to_string()]).env_clear().current_dir("/").process_group(0).kill_on_drop(true);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.spawn().inspect_err(|error| tracing::debug!(%error, "nothing ends an MCP server if toolglot is killed")).ok()
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Transport<RoleClient> for Process {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut pipe = input.pipe.lock().await;
            let Some(open) = pipe.as_mut() else { return Ok(()) };
            let written = async {
                open.write_all(&line).await?;
                open.flush().await
            };
            if written.await.is_err() {
                // Why is known where the output ends: the exit status, the last words.
                pipe.take();
                input.broken.notify_one();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(line) = self.line().await else {
                self.note_end().await;
                return None;
            };
            if let Some(message) = self.fault.message(&line) {
                return Some(message);
            }
            // Very many lines that are no messages may be there at once.
            tokio::task::consume_budget().await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // As the specification says: input closed, then a polite signal, then the other one; all of it to the whole group.
        self.input.pipe.lock().await.take();
        if !self.ended && tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            #[cfg(unix)]
            {
                const TERMINATE: i32 = 15;
                if self.child.signal(TERMINATE).is_ok() {
                    let _ = tokio::time::timeout(PATIENCE, self.child.wait()).await;
                }
            }
        }
        self.kill();
        // So that no zombie stays.
        let _ = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        Ok(())
    }
}

/// Bytes read; 0 at the end, also where there is nothing to read from or reading fails.
async fn read(from: &mut Option<impl tokio::io::AsyncRead + Unpin>, into: &mut BytesMut) -> usize {
    into.reserve(READ_BYTES);
    match from {
        Some(from) => from.read_buf(into).await.unwrap_or(0),
        None => 0,
    }
}
