//! What README.md and the pages under docs/ show: configurations can be read, commands and their options exist, those that
//! need neither model nor daemon run, and the example of a new adapter runs as it is written.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use toolglot::config::{Config, Environment, Overrides};

use crate::cli::{run, text};

/// A fenced block: the file and line that it begins in, its language, its text.
struct Block {
    place: String,
    language: String,
    text: String,
}

/// The fenced blocks of the README and of every page.
fn blocks() -> Vec<Block> {
    let mut pages = vec![("README.md".to_owned(), include_str!("../../README.md").to_owned())];
    for entry in fs::read_dir("docs").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    let mut blocks = Vec::new();
    for (page, text) in pages {
        let mut open: Option<(String, Block)> = None;
        for (number, line) in text.lines().enumerate() {
            open = match open.take() {
                None => match line
                    .strip_prefix("```")
                    .map(|rest| (rest, "`".repeat(3 + rest.len() - rest.trim_start_matches('`').len())))
                {
                    None => None,
                    Some((rest, fence)) => {
                        let language = rest.trim_start_matches('`').to_owned();
                        Some((fence, Block { place: format!("{page}:{}", number + 1), language, text: String::new() }))
                    }
                },
                Some((fence, block)) if line.trim_end() == fence => {
                    blocks.push(block);
                    None
                }
                Some((fence, mut block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                    Some((fence, block))
                }
            };
        }
        assert!(open.is_none(), "{page}: a fence is not closed");
    }
    assert!(blocks.len() > 12, "{} blocks found", blocks.len());
    blocks
}

#[test]
fn every_configuration_that_is_shown_can_be_read() {
    let environment = Environment::from([("HOME", "/nonexistent"), ("PATH", "/bin")]);
    let mut seen = 0;
    for block in blocks().iter().filter(|block| block.language == "toml") {
        // The keys that they name are on the reader's machine.
        let overrides = Overrides { without_secrets: true, ..Overrides::default() };
        let read = Config::parse(&block.text, None, &overrides, &environment);
        assert!(read.is_ok(), "{}: {}", block.place, read.unwrap_err());
        seen += 1;
    }
    assert!(seen > 1);
}

#[test]
fn every_command_that_is_shown_exists_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut seen = 0;
    for block in blocks().iter().filter(|block| block.language == "sh") {
        for line in block.text.lines() {
            let Some(rest) = line.strip_prefix("toolglot ") else { continue };
            let words: Vec<&str> =
                rest.split('#').next().unwrap_or(rest).split_whitespace().take_while(|word| *word != "--").collect();
            // `mcp` and `adapters` have commands of their own.
            let is_word = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
            let depth = match words.first() {
                Some(&("mcp" | "bench" | "service")) => 2,
                Some(&"adapters") if words.get(1).is_some_and(|word| is_word(&word)) => 2,
                _ => 1,
            };
            let command: Vec<String> = words.iter().take(depth).map(|word| (*word).to_owned()).collect();
            let help = helps.entry(command.clone()).or_insert_with(|| {
                let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
                arguments.push("--help");
                let output = run(Path::new(folder.path()), &arguments);
                assert!(output.status.success(), "{}: {line}: {}", block.place, text(&output.stderr));
                text(&output.stdout)
            });
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or(option);
                assert!(
                    help.contains(name),
                    "{}: `{line}` uses {name}, which `toolglot {}` does not know",
                    block.place,
                    command.join(" ")
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} commands found");
}

#[test]
fn every_list_of_servers_that_is_shown_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let mut seen = 0;
    for block in blocks().iter().filter(|block| block.language == "json" && block.text.contains("mcpServers")) {
        fs::write(&file, &block.text).unwrap();
        let output = run(folder.path(), &["check", file.to_str().unwrap()]);
        assert!(output.status.success(), "{}: {}", block.place, text(&output.stdout));
        seen += 1;
    }
    assert!(seen > 1, "{seen} lists found");
}

/// In the order of the pages, in one home. Needs a POSIX shell.
#[cfg(unix)]
#[test]
fn commands_that_need_neither_model_nor_daemon_run() {
    // The others need a model, a service of the system, a file of the reader, or an answer.
    let runs = ["paths", "init", "completions", "man", "mcp add", "mcp list", "mcp remove", "setup", "normalize"];
    let home = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_toolglot"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut seen = 0;
    for block in blocks().iter().filter(|block| block.language == "sh") {
        let begins = |line: &&str| {
            let command = line.strip_prefix("toolglot ").unwrap_or_default();
            let writes = command.starts_with("setup") && command.contains("--write");
            line.starts_with("echo ") || (!writes && runs.iter().any(|known| command.starts_with(known)))
        };
        for line in block.text.lines().filter(begins) {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-e", "-c", line]).current_dir(home.path()).env_clear();
            shell.env("PATH", &path).env("HOME", home.path()).env("NOTES_TOKEN", "x");
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{}: {line}: {}", block.place, text(&output.stderr));
            seen += 1;
        }
    }
    assert!(seen > 9, "{seen} commands run");
}

/// Needs a POSIX shell.
#[cfg(unix)]
#[test]
fn the_example_of_a_new_adapter_runs_as_it_is_written() {
    let block = blocks().into_iter().find(|block| block.text.contains("cat > mine/parrot.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_toolglot"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", &block.text]).current_dir(folder.path()).env_clear().env("PATH", path).env("HOME", folder.path());
    let output = shell.output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("call get_weather {\"city\": \"Oslo\"}") && said.contains("parrot"), "{said}");
}

/// Whether a text of Rust has this name as an item, a field, a variant or a method.
fn has_item(code: &str, name: &str) -> bool {
    let before = |at: usize| code[..at].trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (ahead, after) = (code[..at].ends_with(is_word), &code[at + name.len()..]);
        let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "use"];
        let declared = kinds.contains(&before(at).as_str()) || after.starts_with([':', ',', '(', ';']) || after.starts_with(" {");
        !ahead && !after.starts_with(is_word) && declared
    })
}

#[test]
fn every_item_that_the_architecture_names_exists() {
    let page = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let mut files = vec![PathBuf::from("src"), PathBuf::from("core/src")];
    let mut sources: Vec<(String, String)> = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.to_string_lossy().replace('\\', "/");
            sources.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    let is_path = |code: &&str| code.contains("::") && code.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
    let mut named = 0;
    for item in page.split('`').skip(1).step_by(2).filter(is_path) {
        let (parent, name) = item.rsplit_once("::").unwrap();
        let place = parent.replace("::", "/");
        let owner = parent.rsplit("::").next().unwrap();
        let is_there = |(path, code): &(String, String)| match owner.starts_with(char::is_uppercase) {
            true => code.contains(owner) && has_item(code, name),
            false => (path.contains(&format!("/{place}.rs")) || path.contains(&format!("/{place}/"))) && has_item(code, name),
        };
        assert!(sources.iter().any(is_there), "ARCHITECTURE.md names `{item}`, which there is not");
        named += 1;
    }
    assert!(named > 40, "{named} items found");
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let page = fs::read_to_string("SECURITY.md").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let mut named = 0;
    for row in rows.filter(|row| !row.starts_with("threat ")) {
        let tests = row.rsplit(" | ").next().unwrap();
        assert!(tests.contains('`') || tests == "same", "{row}: no test is named");
        for test in tests.split('`').skip(1).step_by(2) {
            let (file, test) = test.split_once(": ").unwrap_or((test, ""));
            let path =
                if file.starts_with("src/") || file.starts_with("core/") { file.to_owned() } else { format!("tests/{file}") };
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{row}: {path}: {error}"));
            let is_there = ["fn", "def"].iter().any(|word| text.contains(&format!("{word} {test}(")));
            assert!(test.is_empty() || is_there, "{path} has no test `{test}`");
            named += 1;
        }
    }
    assert!(named > 30, "{named} tests found");
}
