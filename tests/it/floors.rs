//! The rules that no compiler checks: who may import whom, where state may live, where tasks may start, and that no model's
//! name is known to the code (comments may cite them).

use std::{fs, path::Path};

/// The floor of each module. A module imports only from lower floors.
const FLOORS: &[(&str, u8)] = &[
    ("event", 0),
    ("json", 0),
    ("wire", 0),
    ("error", 0),
    ("redact", 0),
    ("atomic", 0),
    ("watch", 0),
    ("dial", 0),
    ("store", 0),
    ("lock", 0),
    ("openai", 1),
    ("schema", 1),
    ("fix", 1),
    ("builtin", 1),
    ("config", 1),
    ("fixture", 1),
    ("same", 1),
    ("adapter", 2),
    ("reader", 2),
    ("normalizer", 3),
    ("mcp", 2),
    ("upstream", 3),
    ("backend", 3),
    ("client", 3),
    ("plan", 4),
    ("turn", 4),
    ("recorded", 4),
    ("server", 5),
    ("cli", 6),
    ("main", 6),
    ("toml_error", 0),
    ("lib", 7),
];

/// Imports on the same floor that are allowed, beside anything -> `event`, `error`.
const SIDEWAYS: &[(&str, &str)] = &[
    ("error", "redact"),
    ("store", "atomic"),
    ("store", "lock"),
    ("fixture", "openai"),
    ("fix", "schema"),
    ("adapter", "reader"),
    ("reader", "adapter"),
    ("backend", "upstream"),
    ("turn", "plan"),
    ("recorded", "turn"),
    ("main", "cli"),
];

/// Where a lock may guard state: the store, and caches that may be lost at any time.
const LOCKS: &[&str] = &[
    "core/src/lock.rs",           // how a lock is taken
    "core/src/redact.rs",         // the values that no text may show
    "core/src/schema/cache.rs",   // compiled schemas
    "src/store/memory.rs",        // the store of a single process
    "src/store/redis.rs",         // when the log last heard of its absence
    "src/upstream/idle.rs",       // connections between two requests, for seconds
    "src/server/run.rs",          // when a thread last waited for events
    "src/server/log.rs",          // the last lines of the log
    "src/server/account.rs",      // what became of a request, until its end
    "src/server/unknown.rs",      // which unknown paths were logged
    "src/server/page/turns.rs",   // the rows of the page, and what was said in the latest turns
    "src/server/page/kept.rs",    // the same of one turn, while it runs
    "src/server/page/bypass.rs",  // until when what passes as it is
    "src/server/backends.rs",     // the models of each backend, for seconds
    "src/mcp/engine/requests.rs", // the services of a session's last results
    "src/mcp/engine/sessions.rs", // when sessions were last used, and the queues of the legacy ones
    "src/mcp/pool.rs",            // connections
    "src/mcp/pool/connection.rs", // a server's list of tools, until it is stale
    "src/mcp/pool/fault.rs",      // why a connection ended
    "src/mcp/pool/process.rs",    // a child's input: one writer at a time
    "src/mcp/registry.rs",        // one writer of the registry's file at a time
    "src/cli/doctor/trial.rs",    // what a trial has seen, until its answer is judged
    "src/cli/log.rs",             // one writer of the log's file at a time
];

/// Where a task may start that outlives the request.
const TASKS: &[&str] = &[
    "src/server/connection.rs", // a client's connection
    "src/server/apart.rs",      // requests with large bodies, which end with their client
    "src/server/run.rs",        // the threads that serve
    "src/server/otel.rs",       // spans on their way to the collector
    "src/upstream/idle.rs",     // closing connections that are not used again
    "src/mcp/engine/http.rs",   // edits of the registry's file
    "src/store/files.rs",       // reading and writing of files
    "src/store/redis.rs",       // the connection to the shared store
    "src/mcp/engine.rs",        // the loop of a session of our MCP server
    "src/mcp/pool.rs",          // SQLite, which blocks
    "src/mcp/pool/slot.rs",     // connecting to an MCP server
    "src/turn/react/flight.rs", // calls with effects whose client has left
];

/// The most lines of code of each room of the core, without tests, comments and blank lines. A change that needs more says why.
const BUDGETS: &[(&[&str], usize)] = &[
    (&["core/src/adapter/scanner"], 2000),
    (&["core/src/adapter/syntax", "core/src/reader"], 3514),
    (&["core/src/adapter"], 1900),
    (&["core/src/fix", "core/src/schema"], 3000),
    (&["core/src/json"], 2004),
    (&["core/src/event"], 447),
];

/// Parts of the names of model families.
const FAMILIES: &str = "gemma qwen llama3 llama-3 llama_3 mistral mixtral ministral devstral deepseek kimi hermes granite gpt-oss \
                        phi4 phi-4 command-r nemotron smollm internlm minimax glm harmony";

struct Source {
    /// Relative to the package, with forward slashes.
    path: String,
    /// The top-level module that it belongs to.
    module: String,
    /// Its code without comments and without the tests at its end.
    code: String,
}

#[test]
fn imports_go_down() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(floor) = floor(&source.module) else {
            wrong.push(format!(
                "{}: module `{}` has no floor; add it to FLOORS and to ARCHITECTURE.md",
                source.path, source.module
            ));
            continue;
        };
        for target in imports(&source) {
            if target == source.module || target == "event" || target == "error" {
                continue;
            }
            match self::floor(&target) {
                Some(lower) if lower < floor => {}
                Some(_) if SIDEWAYS.contains(&(source.module.as_str(), target.as_str())) => {}
                Some(_) => wrong.push(format!("{}: imports `{target}`, which is not below `{}`", source.path, source.module)),
                None => {} // a macro or an item of the crate's root
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn state_is_in_named_places() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (at, line) in source.code.lines().enumerate() {
            // A constant that is built at its first use is no state.
            let is_static = line.split_once("static ").is_some_and(|(before, item)| {
                ["", "pub", "pub(crate)", "pub(super)"].contains(&before.trim()) && !item.contains(": LazyLock<")
            });
            if is_static || ["thread_local!", "lazy_static"].iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}:{}: global state: {}", source.path, at + 1, line.trim()));
            }
            if ["Mutex<", "RwLock<"].iter().any(|word| line.contains(word)) && !LOCKS.contains(&source.path.as_str()) {
                wrong.push(format!("{}:{}: state behind a lock outside the named places: {}", source.path, at + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_stays_within_its_budgets() {
    let mut lines = vec![0; BUDGETS.len()];
    for source in sources() {
        // The longest prefix is the room.
        let length =
            |at: &usize| BUDGETS[*at].0.iter().filter(|room| source.path.starts_with(**room)).map(|room| room.len()).max();
        let room = (0..BUDGETS.len()).filter(|at| length(at).is_some()).max_by_key(length);
        let code = source.code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        if let Some(room) = room {
            lines[room] += code.lines().filter(|line| !line.trim().is_empty()).count();
        }
    }
    for ((rooms, most), lines) in BUDGETS.iter().zip(lines) {
        assert!(lines > 0 && lines <= *most, "{rooms:?} has {lines} lines of code, of at most {most}");
    }
}

#[test]
fn no_task_outlives_its_request() {
    let starts = [
        "tokio::spawn", "task::spawn", "spawn_blocking", "spawn_local", "thread::spawn", "thread::Builder", "runtime.spawn",
        "JoinSet",
    ];
    let wrong: Vec<String> =
        lines_with(&starts).filter(|(path, _)| !TASKS.contains(&path.as_str())).map(|(_, line)| line).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_config_reads_the_environment() {
    let wrong: Vec<String> = lines_with(&["env::var", "env::set_var"])
        .filter(|(path, _)| !path.starts_with("src/config"))
        .map(|(_, line)| line)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn models_are_data() {
    let families: Vec<&str> = FAMILIES.split_whitespace().collect();
    // The one syntax that data cannot express is named after its own specification, not after a model.
    let syntax = |path: &str, line: &str| path.starts_with("core/src/adapter") && line.to_lowercase().contains("harmony");
    let named = |line: &str| families.iter().any(|family| line.to_lowercase().contains(family));
    let wrong: Vec<String> =
        lines_where(named).filter(|(path, line)| !syntax(path, line)).map(|(_, line)| format!("names a model: {line}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut wrong = Vec::new();
    for source in sources_with_comments() {
        if !source.code.starts_with("//!") {
            wrong.push(format!("{}: does not open with `//!`", source.path));
        }
        let lines = source.code.lines().count();
        if lines > 450 {
            wrong.push(format!("{}: {lines} lines: two rooms", source.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines of code that contain one of the words, each with its file and as a message.
fn lines_with(words: &[&str]) -> impl Iterator<Item = (String, String)> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    lines_where(move |line| words.iter().any(|word| line.contains(word.as_str())))
}

fn lines_where(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    sources().flat_map(move |source| {
        let lines = source.code.lines().enumerate().filter(|(_, line)| wanted(line));
        lines.map(|(at, line)| (source.path.clone(), format!("{}:{}: {}", source.path, at + 1, line.trim()))).collect::<Vec<_>>()
    })
}

fn floor(module: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == module).map(|(_, floor)| *floor)
}

/// The top-level modules that a file names: `use crate::a::b`, `use crate::{a, b::c}`, `crate::a::b` in code; in the binary
/// also `toolglot::a`.
fn imports(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let roots: &[&str] = if source.module == "main" { &["crate::", "toolglot::"] } else { &["crate::"] };
    for root in roots {
        for (at, _) in source.code.match_indices(root) {
            let before = source.code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
                continue;
            }
            let rest = &source.code[at + root.len()..];
            match rest.strip_prefix('{') {
                None => found.push(identifier(rest)),
                Some(group) => {
                    let mut depth = 0;
                    let mut start = true;
                    for (at, c) in group.char_indices() {
                        match c {
                            '{' => depth += 1,
                            '}' if depth == 0 => break,
                            '}' => depth -= 1,
                            ',' if depth == 0 => start = true,
                            c if start && depth == 0 && !c.is_whitespace() => {
                                found.push(identifier(&group[at..]));
                                start = false;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn sources() -> impl Iterator<Item = Source> {
    sources_with_comments().map(|mut source| {
        source.code = source.code.lines().map(without_comment).collect::<Vec<_>>().join("\n");
        source
    })
}

/// The line up to `//`, if that is not inside a string (an even number of quotes comes before it).
fn without_comment(line: &str) -> &str {
    let comment = line.match_indices("//").find(|(at, _)| line[..*at].matches('"').count().is_multiple_of(2));
    comment.map_or(line, |(at, _)| &line[..at])
}

/// All files of both packages except tests.
fn sources_with_comments() -> impl Iterator<Item = Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    collect(&root.join("core/src"), &mut files);
    assert!(files.len() > 5, "no sources found");
    files.into_iter().filter_map(move |file| {
        let path = file.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/");
        if path.ends_with("/tests.rs") || path.contains("/tests/") {
            return None;
        }
        let module = path.trim_start_matches("core/").trim_start_matches("src/").split(['/', '.']).next()?.to_owned();
        Some(Source { code: fs::read_to_string(&file).ok()?, path, module })
    })
}

fn collect(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn the_reader_of_imports_reads() {
    let source = |code: &str| Source { path: "src/x.rs".into(), module: "x".into(), code: code.into() };
    assert_eq!(imports(&source("use crate::{a::{b, c}, d, e::f};")), ["a", "d", "e"]);
    assert_eq!(imports(&source("use crate::plan::Plan; fn f() -> crate::turn::T {}")), ["plan", "turn"]);
    assert_eq!(imports(&source("let x = mycrate::a;")), Vec::<String>::new());
    assert_eq!(without_comment("let a = \"http://x\"; // why"), "let a = \"http://x\"; ");
}
