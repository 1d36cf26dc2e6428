use serde_json::json;

use super::*;

/// One without a home: nothing of the machine that the tests run on is read.
fn environment() -> Environment {
    Environment::default()
}

fn run(directory: Option<&Path>) -> (bool, String) {
    let mut out = Vec::new();
    let passed = Check { path: directory.map(Path::to_owned), update: false }.run(&environment(), &mut out).is_ok();
    (passed, String::from_utf8(out).unwrap())
}

fn fault_of(file: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("mine.toml"), file).unwrap();
    let (passed, text) = run(Some(directory.path()));
    assert!(!passed, "no fault was found in\n{file}");
    text
}

#[test]
fn the_built_in_adapters_have_no_faults() {
    let (passed, text) = run(None);
    assert!(passed, "{text}");
}

#[test]
fn a_file_of_ones_own_passes() {
    let directory = tempfile::tempdir().unwrap();
    let file =
        "models = [\"mymodel*\"]\nproof = \"doc\"\n[[call]]\nopen = \"<<call>>\"\nclose = \"<<end>>\"\nsyntax = \"json\"\n";
    std::fs::write(directory.path().join("mine.toml"), file).unwrap();
    let (passed, text) = run(Some(directory.path()));
    assert!(passed && text.starts_with("1 adapters of ") && text.ends_with(" checked, 0 faults\n"), "{text}");
}

#[test]
fn each_kind_of_fault_is_named_with_its_file() {
    let cases = [
        ("an unknown key", "proof = \"doc\"\nmodel = [\"x\"]\n", "unknown field `model`"),
        (
            "a key of another syntax",
            "models = [\"x\"]\nproof = \"doc\"\n[[call]]\nopen = \"<a>\"\nsyntax = \"json\"\ncdata = true\n",
            "`cdata` means nothing",
        ),
        ("an empty marker", "models = [\"x\"]\nproof = \"doc\"\ndrop = [\"\"]\n", "empty marker"),
        ("an empty glob", "models = [\"x\", \" \"]\nproof = \"doc\"\n", "`models` holds an empty text"),
        ("a file for no model", "proof = \"doc\"\n", "no model gets it"),
        (
            "a form behind its twin",
            "models = [\"x\"]\nproof = \"doc\"\n[[call]]\nopen = [\"<a>\", \"<b>\"]\nsyntax = \"json\"\n[[call]]\nopen = \"<b>\"\nsyntax = \"json\"\n",
            "number 2 is never reached",
        ),
        (
            "a marker that opens reasoning too",
            "models = [\"x\"]\nproof = \"doc\"\n[reasoning]\nopen = \"<a>\"\nclose = \"</a>\"\n[[call]]\nopen = \"<a>\"\nsyntax = \"json\"\n",
            "a marker of reasoning too",
        ),
        (
            "a call that is not read back",
            "models = [\"x\"]\nproof = \"doc\"\n[prompt]\ncall = \"Please run {{ name }} with {{ arguments_json }}, thanks\"\n",
            "a plain call is not read back",
        ),
        ("a template that cannot be read", "models = [\"x\"]\nproof = \"doc\"\n[prompt]\ncall = \"{{ name\"\n", "[prompt] call"),
    ];
    for (what, file, expected) in cases {
        let text = fault_of(file);
        assert!(text.contains("mine.toml:") && text.contains(expected), "{what}: expected {expected:?}, got\n{text}");
    }
}

#[test]
fn a_glob_that_another_file_takes_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.toml"), "models = [\"family*\"]\nproof = \"doc\"\n").unwrap();
    std::fs::write(directory.path().join("b.toml"), "models = [\"family*\"]\nproof = \"doc\"\n").unwrap();
    let (passed, text) = run(Some(directory.path()));
    assert!(!passed && text.contains("a.toml:1: the glob `family*` is shadowed by b.toml"), "{text}");
}

#[test]
fn every_broken_file_is_named_at_once() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.toml"), "nonsense").unwrap();
    std::fs::write(directory.path().join("b.toml"), "more nonsense").unwrap();
    let (_, text) = run(Some(directory.path()));
    assert!(text.contains("a.toml") && text.contains("b.toml") && text.contains("2 faults"), "{text}");
}

#[test]
fn a_fault_is_told_with_the_line_it_is_on() {
    let call = "[[call]]\nopen = \"<a>\"\nsyntax = \"json\"\n";
    for (file, expected) in [
        ("proof = \"doc\"\n\nmodel = [\"x\"]\n".to_owned(), "mine.toml:3: unknown field `model`"),
        ("proof = \"doc\"\n\nmodel = [\"x\"]\n".to_owned(), "did you mean `models`?"),
        ("proof = \"rumour\"\n".to_owned(), "mine.toml:1: unknown value `rumour`"),
        (format!("models = [\"x\"]\nproof = \"doc\"\n{call}{call}"), "mine.toml:6: [[call]] number 2 is never reached"),
        (format!("models = [\"x\"]\nproof = \"doc\"\n{call}\n[[call]]\nsyntax = \"json\"\n"), "mine.toml:7: [[call]] number 2"),
    ] {
        let text = fault_of(&file);
        assert!(text.contains(expected), "expected {expected:?}, got\n{text}");
    }
}

#[test]
fn one_adapter_file_is_checked_alone() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.toml"), "nonsense").unwrap();
    std::fs::write(directory.path().join("b.toml"), "models = [\"b\"]\nproof = \"rumour\"\n").unwrap();
    let (passed, text) = run(Some(&directory.path().join("b.toml")));
    assert!(!passed && text.contains("b.toml:2:") && !text.contains("a.toml"), "{text}");
}

#[test]
fn a_configuration_is_checked_with_all_that_it_names() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("proxy.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(Some(&file))
    };
    for (text, expected) in [
        ("mode = \"rewrite\"\nretrys = 2\n", "proxy.toml:2: unknown field `retrys`"),
        ("mode = \"rewrite\"\nretry = 9\n", "proxy.toml:2: `retry` is 9"),
        ("\n[[route]]\nmodel = \"*\"\nadapter = \"nonsense\"\n", "proxy.toml:4: the route for `*` names adapter `nonsense`"),
        ("[[route]]\nmodel = \"*\"\nbackend = \"olama\"\n[[backend]]\nkind = \"ollama\"\n", "proxy.toml:3: "),
        ("adapters = \"not-here\"\n", "proxy.toml:1: `adapters`: "),
        ("retry = 1\napi_keys_file = \"none.txt\"\n", "proxy.toml:2: `api_keys_file`: cannot read"),
        ("[[key]]\nname = \"ann\"\n", "proxy.toml:2: the key of `ann`: say in `key_env` or `key_file`"),
        ("[[key]]\nname = \"ann\"\nkey_file = \"none.txt\"\n", "the key of `ann`: the file"),
        ("profile = \"emacs\"\n", "proxy.toml:1: `profile` names the client `emacs`"),
        ("[react]\nservers = [\"notes\"]\n", "proxy.toml:2: `react.servers` names the MCP server `notes`"),
        (
            "[[backend]]\nkind = \"ollama\"\nheaders = { \"bad header\" = \"x\" }\n",
            "proxy.toml:3: backend `ollama`: `headers`: `bad header` is not the name of a header",
        ),
    ] {
        let (passed, said) = check(text);
        assert!(!passed && said.contains(expected), "{text:?}: expected {expected:?}, got\n{said}");
    }
    // A variable may be set where it serves. Then other machines need a key.
    for text in ["listen = \"0.0.0.0:8000\"\napi_key_env = \"NOT_SET\"\n", "[[key]]\nname = \"ann\"\nkey_env = \"NOT_SET\"\n"] {
        let (passed, said) = check(text);
        assert!(passed && said.contains("not checked") && said.contains("NOT_SET"), "{text}: {said}");
    }
    // Its adapters and its registry are read too.
    std::fs::create_dir(directory.path().join("adapters")).unwrap();
    std::fs::write(directory.path().join("adapters/mine.toml"), "models = [\"x\"]\nproof = \"rumour\"\n").unwrap();
    std::fs::write(
        directory.path().join("mcp.json"),
        "[\n  {\"name\": \"one\"},\n  {\"name\": \"two\", \"url\": \"http://h/\"}\n]\n",
    )
    .unwrap();
    let (passed, said) = check("adapters = \"adapters\"\n[mcp]\nregistry = \"mcp.json\"\n");
    assert!(!passed && said.contains("mine.toml:2: ") && said.contains("mcp.json:2: one: "), "{said}");
    assert!(said.contains("2 faults"), "{said}");
    std::fs::write(directory.path().join("mcp.json"), "[{\"name\": \"two\", \"url\": \"http://h/\"}]\n").unwrap();
    let (passed, said) = check("[mcp]\nregistry = \"mcp.json\"\n[react]\nservers = [\"two\", \"three\"]\n");
    assert!(!passed && said.contains("proxy.toml:4: `react.servers` names the MCP server `three`"), "{said}");
    assert!(said.contains("1 fault"), "{said}");
}

#[test]
fn a_fault_of_a_configuration_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("proxy.toml");
    for (text, expected) in [
        ("retry = 9\n", ":1: `retry`"),
        ("[react]\nrounds = 0\n", ":2: `react.rounds`"),
        ("[react]\n\ntools_percent = 0\n", ":3: `react.tools_percent`"),
        ("[limits]\nbody_bytes = 0\n", ":2: `limits`"),
        ("[limits]\n\nconnections = 0\n", ":3: `limits`"),
        // Keys and types come before values.
        ("retry = 9\nretrys = 2\n", ":2: unknown"),
        ("retry = 2\n[react\n", ":2: "),
        ("allowed_hosts = [\"http://a\"]\n", ":1: `allowed_hosts`"),
        ("[[backend]]\nname = \"a\"\n", ":1: backend `a` needs a `url`"),
        ("[[alias]]\nname = \"a\"\nmodel = \"b\"\n[[alias]]\nname = \"a\"\nmodel = \"c\"\n", ":2: two aliases are named `a`"),
        ("[[key]]\nname = \"ann\"\nkey_env = \"A\"\n[[key]]\nname = \"ann\"\nkey_env = \"B\"\n", ":2: two keys are named `ann`"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (passed, said) = run(Some(&file));
        assert!(!passed && said.contains(&format!("proxy.toml{expected}")), "{text}: expected {expected:?}, got\n{said}");
        assert!(said.ends_with(" checked, 1 fault\n"), "{said}");
    }
}

#[test]
fn a_configuration_is_no_adapter_whatever_its_tables_hold() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("proxy.toml");
    std::fs::write(directory.path().join("ann.key"), "k-1\n").unwrap();
    std::fs::write(&file, "[[key]]\nname = \"ann\"\nkey_file = \"ann.key\"\nmodels = [\"qwen*\"]\n").unwrap();
    let (passed, said) = run(Some(&file));
    assert!(passed && said.contains("proxy.toml") && !said.contains("adapters of"), "{said}");
}

#[test]
fn servers_of_one_name_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mcp.json");
    for text in [
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}",
        "[{\"name\": \"a\", \"url\": \"http://x/\"}, {\"name\": \"a\", \"url\": \"http://y/\"}]",
    ] {
        std::fs::write(&file, text).unwrap();
        let (passed, said) = run(Some(&file));
        assert!(!passed && said.contains("mcp.json:1: a: another entry is named") && said.contains("1 fault"), "{said}");
    }
}

#[test]
fn a_registry_that_cannot_be_read_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mcp.json");
    std::fs::write(&file, "{\"mcpServers\": {\n").unwrap();
    let (passed, text) = run(Some(&file));
    assert!(!passed && text.contains("mcp.json"), "{text}");
    assert!(!run(Some(&directory.path().join("none.json"))).0);
}

#[test]
fn a_fixture_beside_an_adapter_is_its_proof() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write(
        "mine.toml",
        "models = [\"mine*\"]\nproof = \"doc\"\n[[call]]\nopen = \"<<do>>\"\nclose = \"<<done>>\"\nsyntax = \"json\"\n",
    );
    let request = json!({"model": "mine:7b", "messages": [{"role": "user", "content": "go"}], "tools": [
        {"type": "function", "function": {"name": "sow", "parameters": {"type": "object", "properties": {}}}}]});
    let recorded = format!(
        "# mine/one\n=== request\n{request}\n=== stream text\nOff. <<do>>{{\"name\": \"sow\", \"arguments\": {{}}}}<<done>>\n"
    );
    std::fs::create_dir(directory.path().join("mine")).unwrap();
    write("mine/one.txt", &recorded);
    let (passed, text) = run(Some(directory.path()));
    assert!(passed && text.contains("1 fixtures, 1 of them without expected events (`--update` writes them)"), "{text}");
    // Written down, it holds.
    let mut out = Vec::new();
    Check { path: Some(directory.path().to_owned()), update: true }.run(&environment(), &mut out).unwrap();
    let written = std::fs::read_to_string(directory.path().join("mine/one.txt")).unwrap();
    assert!(written.ends_with("=== events\ntext \"Off.\"\ncall sow {}\nfinish tool_calls\n"), "{written}");
    let (passed, text) = run(Some(directory.path()));
    assert!(passed && text.ends_with("1 fixtures checked, 0 faults\n"), "{text}");
    // And is named when it breaks.
    write("mine/one.txt", &written.replace("call sow", "call reap"));
    let (passed, text) = run(Some(directory.path()));
    assert!(!passed && text.contains("one.txt: events: expected") && text.contains("call sow {}"), "{text}");
    write("mine/one.txt", "=== request\nnonsense\n");
    assert!(run(Some(directory.path())).1.contains("one.txt: fixture, line 1"));
}
