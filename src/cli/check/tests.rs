use super::*;

fn run(directory: Option<&Path>) -> (bool, String) {
    let mut out = Vec::new();
    let passed = Check { directory: directory.map(Path::to_owned) }.run(&mut out).is_ok();
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
    assert_eq!(run(Some(directory.path())), (true, "1 adapters checked, 0 faults\n".to_owned()));
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
        assert!(text.starts_with("mine.toml: ") && text.contains(expected), "{what}: expected {expected:?}, got\n{text}");
    }
}

#[test]
fn a_glob_that_another_file_takes_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.toml"), "models = [\"family*\"]\nproof = \"doc\"\n").unwrap();
    std::fs::write(directory.path().join("b.toml"), "models = [\"family*\"]\nproof = \"doc\"\n").unwrap();
    let (passed, text) = run(Some(directory.path()));
    assert!(!passed && text.contains("a.toml: the glob `family*` is shadowed by b.toml"), "{text}");
}

#[test]
fn every_broken_file_is_named_at_once() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.toml"), "nonsense").unwrap();
    std::fs::write(directory.path().join("b.toml"), "more nonsense").unwrap();
    let (_, text) = run(Some(directory.path()));
    assert!(text.contains("a.toml") && text.contains("b.toml") && text.contains("2 faults"), "{text}");
}
