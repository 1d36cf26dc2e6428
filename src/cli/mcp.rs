//! `toolglot mcp`: edits the registry, lists the tools of its servers, and runs toolglot's own MCP server over standard input
//! and output.

use std::{fmt::Write as _, io::Write, path::PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{
    block_on,
    call::{self, PATIENCE, Source},
    output::{columns, fail_with, print, read, remark},
};
use crate::{
    config::Environment,
    error::Error,
    mcp::{
        catalogue::{Catalogue, Offered},
        engine::Engine,
        pool::{BUILT_IN, Status},
        registry::{Imported, Permission, Registry},
    },
    redact,
};

/// Manages MCP servers.
#[derive(Debug, Args)]
pub struct Mcp {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the registered servers
    List(Json),
    /// Register a server: `add NAME URL`, or `add NAME -- COMMAND ARGUMENTS`
    #[command(
        override_usage = "toolglot mcp add [OPTIONS] <NAME> <URL>\n       toolglot mcp add [OPTIONS] <NAME> -- <COMMAND> [ARGUMENTS]..."
    )]
    Add(Add),
    /// Remove a server
    Remove {
        /// Its name
        name: String,
    },
    /// Import the servers of another client
    Import {
        /// A file, or one of claude (Claude Code), claude-desktop, cursor, vscode, void
        from: String,
    },
    /// Connect to all servers, and list their tools and what offering them costs
    Tools(Json),
    /// Accept the current tools of a server after their definitions have changed
    Accept {
        /// Its name
        server: String,
        /// Only this tool
        tool: Option<String>,
    },
    /// Serve MCP over standard input and output
    Serve(Serve),
}

#[derive(Debug, Args)]
struct Json {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Add {
    /// The name
    name: String,
    /// The URL
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// The transport [default: detected]
    #[arg(long = "type", value_name = "http|sse", requires = "url")]
    kind: Option<String>,
    /// A header for every request; `${VARIABLE}` is expanded when it is used
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// A variable for the command
    #[arg(long, value_name = "NAME=VALUE", requires = "command")]
    env: Vec<String>,
    /// Believe the server's hints about what its tools do
    #[arg(long)]
    trust: bool,
    /// Replace the whole entry of this name
    #[arg(long)]
    replace: bool,
    /// The command
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct Serve {
    /// Also offer the tools of the registry
    #[arg(long)]
    gateway: bool,
    /// Return failures as ordinary text, for clients that lose the text of errors
    #[arg(long)]
    errors_as_text: bool,
}

const DESCRIPTION_CHARS: usize = 60;

impl Mcp {
    /// Runs the command. Data goes to `out`, remarks to `remarks`.
    ///
    /// # Errors
    /// What was wrong, for `main` to print.
    pub fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let source = self.source;
        let registry = || Registry::open(source.config(environment)?.mcp.registry, environment.clone());
        let text = match self.command {
            Command::List(format) => {
                let pool = source.pool(environment)?;
                format.print(&pool.status(), Status::to_value, servers)
            }
            Command::Add(add) => {
                let (name, entry) = (&add.name, add.entry()?);
                registry()?.add(name, &entry, add.replace).map_err(|error| match error.status {
                    409 => Error { message: format!("{}; `--replace` replaces it", error.message), ..error },
                    _ => error,
                })?;
                format!("{name} is registered; `toolglot mcp tools` shows what it offers\n")
            }
            Command::Remove { name } => {
                registry()?.remove(&name)?;
                format!("{name} is removed\n")
            }
            Command::Import { from } => import(&registry()?, &from, environment, remarks)?,
            Command::Tools(format) => {
                let config = source.config(environment)?;
                let has_ours = config.mcp.builtin_tools;
                let pool = call::whole_pool(config, environment)?;
                let offered = block_on(async {
                    let offered = pool.tools(None, PATIENCE).await;
                    pool.shut_down().await;
                    Ok(offered)
                })?;
                for problem in &offered.problems {
                    remark(remarks, &format!("{}: {}", problem.server, problem.message));
                }
                let text = format.print(&offered.tools, |one| tool(one, has_ours), |_| tools(&offered, has_ours));
                print(out, &text)?;
                return fail_with(offered.problems.len());
            }
            Command::Accept { server, tool } => {
                let pool = source.pool(environment)?;
                block_on(async {
                    let accepted = pool.accept(&server, tool.as_deref()).await;
                    pool.shut_down().await;
                    accepted
                })?;
                format!("accepted: {server}{}\n", tool.map(|tool| format!("__{tool}")).unwrap_or_default())
            }
            Command::Serve(serve) => return serve.run(&source, environment),
        };
        print(out, &text)
    }
}

impl Add {
    fn entry(&self) -> Result<Map<String, Value>, Error> {
        let pairs = |option: &str, list: &[String], separator: char| {
            let read = |pair: &String| {
                let (name, value) = pair.split_once(separator)?;
                Some((name.trim().to_owned(), json!(value.trim())))
            };
            let pairs: Option<Map<String, Value>> = list.iter().map(read).collect();
            pairs.ok_or_else(|| Error::client(format!("{option}: write it as NAME{separator}VALUE")))
        };
        let mut entry = match &self.url {
            Some(url) => json!({"type": self.kind, "url": url, "headers": pairs("--header", &self.header, ':')?}),
            None => {
                let (command, arguments) = self.command.split_first().ok_or_else(|| Error::client("there is no command"))?;
                json!({"command": command, "args": arguments, "env": pairs("--env", &self.env, '=')?})
            }
        };
        if self.trust {
            entry["toolglot"] = json!({"trust": true});
        }
        let mut entry: Map<String, Value> = serde_json::from_value(entry).unwrap_or_default();
        // What was not given is not written.
        entry.retain(|_, value| !value.is_null() && *value != json!({}));
        Ok(entry)
    }
}

impl Serve {
    fn run(self, source: &Source, environment: &Environment) -> Result<(), Error> {
        let config = source.config(environment)?;
        let pool = call::pool(&config, environment)?;
        let mut options = config.mcp.serving;
        options.gateway |= self.gateway;
        options.errors_as_text |= self.errors_as_text;
        block_on(async {
            let engine = Engine::new(pool.clone(), options);
            let registry = pool.registry().clone();
            tokio::select! {
                () = engine.stdio(tokio::io::stdin(), tokio::io::stdout()) => {}
                // Without hot reload it still serves.
                () = async { if registry.watch().await.is_err() { std::future::pending().await } } => {}
                () = pool.follow() => {}
            }
            pool.shut_down().await;
            Ok(())
        })
    }
}

impl Json {
    fn print<T>(&self, all: &[T], json: impl Fn(&T) -> Value, text: impl Fn(&[T]) -> String) -> String {
        if self.json { format!("{}\n", Value::Array(all.iter().map(json).collect())) } else { text(all) }
    }
}

fn import(registry: &Registry, from: &str, environment: &Environment, remarks: &mut dyn Write) -> Result<String, Error> {
    let file = known_file(from, environment).unwrap_or_else(|| PathBuf::from(from));
    let text = read(&file)?;
    let Imported { taken, known, ours, left_out } =
        registry.import(&text).map_err(|error| Error { message: format!("{}: {}", file.display(), error.message), ..error })?;
    for (name, key) in left_out {
        remark(remarks, &format!("{name}: `{key}` is not taken over; {} is the place to decide that", registry.file().display()));
    }
    let known = known.iter().map(|name| (name, "there is a server of this name already (or its name is not allowed)"));
    for (name, why) in ours.iter().map(|name| (name, "it is toolglot itself")).chain(known) {
        remark(remarks, &format!("{name}: {why}; left out"));
    }
    let snapshot = registry.snapshot();
    let mut out = String::new();
    for name in taken {
        // What a command is must be seen before it is first started.
        let usable = snapshot.servers.iter().find(|server| server.name == name).map(|server| redact::line(&server.address));
        let line = usable.or_else(|| {
            let entry = snapshot.unusable.iter().find(|entry| entry.name == name)?;
            Some(format!("{} ({})", redact::line(&entry.address), entry.error.as_deref().unwrap_or("switched off")))
        });
        let _ = writeln!(out, "{name}: {}", line.unwrap_or_default());
    }
    if out.is_empty() {
        remark(remarks, &format!("{} has no server that is not registered already", file.display()));
    }
    Ok(out)
}

/// Where well-known clients keep their servers.
fn known_file(client: &str, environment: &Environment) -> Option<PathBuf> {
    let (home, settings) = (environment.home()?, environment.settings_directory()?);
    Some(match client {
        "claude" => home.join(".claude.json"),
        "claude-desktop" => settings.join("Claude/claude_desktop_config.json"),
        "cursor" => home.join(".cursor/mcp.json"),
        "vscode" => settings.join("Code/User/mcp.json"),
        "void" => home.join(".void-editor/mcp.json"),
        _ => return None,
    })
}

fn servers(all: &[Status]) -> String {
    if all.is_empty() {
        return "no MCP server is registered; `toolglot mcp add NAME URL` registers one\n".into();
    }
    let row = |status: &Status| {
        let what = match (&status.error, status.state) {
            (Some(error), state) => format!("({state}: {error})"),
            (None, "disabled") => "(switched off)".into(),
            _ => String::new(),
        };
        [status.name.clone(), format!("{}  {what}", status.address)]
    };
    columns(&all.iter().map(row).collect::<Vec<_>>()).map(|line| line + "\n").collect()
}

fn tools(offered: &Catalogue, has_ours: bool) -> String {
    let row = |tool: &Offered| {
        let first = redact::shown(tool.description.lines().next().unwrap_or_default(), DESCRIPTION_CHARS);
        let name = redact::line(&tool.service.full_name());
        [name, tool.tokens().to_string(), tool.effect.as_str().into(), may(tool, has_ours).into(), first]
    };
    let total: u64 = offered.tools.iter().map(Offered::tokens).sum();
    let head = ["tool", "tokens", "does", "may", "description"].map(str::to_owned);
    let all = ["all".into(), total.to_string(), String::new(), String::new(), "(an estimate: four bytes a token)".into()];
    let rows: Vec<[String; 5]> = [head].into_iter().chain(offered.tools.iter().map(row)).chain([all]).collect();
    let mut out: String = columns(&rows).map(|line| line + "\n").collect();
    if !has_ours && offered.tools.iter().any(|tool| tool.service.server == BUILT_IN) {
        out.push_str("off: no model gets it, only `toolglot call` runs it; `builtin_tools = true` in `[mcp]` offers it\n");
    }
    out
}

fn tool(tool: &Offered, has_ours: bool) -> Value {
    json!({
        "name": tool.service.full_name(), "wire_name": tool.wire_name, "server": tool.service.server, "tool": tool.service.tool,
        "description": tool.description, "tokens": tool.tokens(), "effect": tool.effect.as_str(), "permission": may(tool, has_ours),
        "parameters": serde_json::from_str::<Value>(&tool.schema).unwrap_or(Value::Null),
    })
}

fn may(tool: &Offered, has_ours: bool) -> &'static str {
    match tool.permission {
        _ if tool.service.server == BUILT_IN && !has_ours => "off",
        Permission::Allow => "run",
        Permission::Ask => "ask",
        Permission::Deny => "never",
    }
}
