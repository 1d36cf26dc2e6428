use super::*;

fn on(system: System, variables: &[(&str, &str)]) -> Environment {
    Environment::on(system, variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// A folder with these programs, and its name.
fn programs(names: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let file = folder.path().join(name);
        std::fs::write(&file, "").unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn windows_does_not_tell_cases_apart_and_others_do() {
    let variables = [("Path", r"C:\bin"), ("SystemRoot", r"C:\Windows"), ("EMPTY", "")];
    let windows = on(System::Windows, &variables);
    assert_eq!(
        (windows.get("PATH"), windows.get("SYSTEMROOT"), windows.get("empty")),
        (Some(r"C:\bin"), Some(r"C:\Windows"), None)
    );
    assert_eq!(windows.with([("path", "x")]).get("Path"), Some("x"));
    let unix = on(System::Unix, &variables);
    assert_eq!((unix.get("PATH"), unix.get("Path")), (None, Some(r"C:\bin")));
}

#[test]
fn a_command_of_windows_is_found_by_its_extension() {
    let (folder, path) = programs(&["npx.cmd", "npx", "toolglot.exe", "tool.exe.bat", "both.exe", "both.com"]);
    let windows = on(System::Windows, &[("Path", &format!(r"C:\nowhere;{path}")), ("PathExt", ".COM;.EXE;.BAT;.CMD")]);
    for (command, found) in [
        ("npx", Some("npx.cmd")),
        ("npx.CMD", None),
        ("npx.cmd", Some("npx.cmd")),
        ("toolglot", Some("toolglot.exe")),
        ("both", Some("both.com")),
        ("missing", None),
    ] {
        // This test may run where files are told apart by case.
        let found = found.or((cfg!(windows) && command == "npx.CMD").then_some("npx.CMD"));
        assert_eq!(windows.find(command), found.map(|name| folder.path().join(name)), "{command}");
    }
    let without = on(System::Windows, &[("PATH", &path)]);
    assert_eq!(without.find("npx"), Some(folder.path().join("npx.cmd")));
    assert_eq!(on(System::Windows, &[]).find("npx"), None);
}

#[test]
#[cfg(unix)]
fn elsewhere_a_program_is_what_may_be_run() {
    let (first, one) = programs(&["text"]);
    std::fs::set_permissions(first.path().join("text"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let (second, two) = programs(&["text", "npx.cmd"]);
    let unix = on(System::Unix, &[("PATH", &format!("{one}::{two}"))]);
    assert_eq!(unix.find("text"), Some(second.path().join("text")));
    assert_eq!(unix.find("npx"), None);
    let whole = second.path().join("text");
    assert_eq!(unix.find(whole.to_str().unwrap()), Some(whole));
}

#[test]
fn each_system_has_its_folders() {
    let slashes = |path: Option<PathBuf>| path.map(|path| path.to_string_lossy().replace('\\', "/"));
    for (system, variables, settings, data) in [
        (System::Unix, &[("HOME", "/h")][..], "/h/.config", "/h/.local/share"),
        (System::Unix, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")], "/c", "/d"),
        (System::MacOs, &[("HOME", "/h")], "/h/Library/Application Support", "/h/Library/Application Support"),
        (System::Windows, &[("UserProfile", "C:/u")], "C:/u/AppData/Roaming", "C:/u/AppData/Local"),
        (System::Windows, &[("AppData", "C:/r"), ("LocalAppData", "C:/l"), ("HOME", "/h")], "C:/r", "C:/l"),
    ] {
        let environment = on(system, variables);
        assert_eq!(slashes(environment.settings_directory()).as_deref(), Some(settings), "{system:?}");
        assert_eq!(slashes(environment.data_directory()).as_deref(), Some(data), "{system:?}");
    }
}
