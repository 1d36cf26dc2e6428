use super::{
    definition::{Job, bytes},
    steps::{Verb, steps, words},
    *,
};

fn job() -> Job {
    Job {
        command: ["/home/ana b/100%/$x/tool\"glot", "serve", "--config", r"C:\a & b\"].map(str::to_owned).into(),
        variables: vec![("PATH".into(), "/usr/bin:/home/ana b/50%<>".into())],
        user: r"BOX\ana & co".into(),
    }
}

fn text(system: System) -> String {
    let bytes = bytes(system, &job());
    if system != System::Windows {
        return String::from_utf8(bytes).unwrap();
    }
    let units: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap().strip_prefix('\u{feff}').unwrap().to_owned()
}

/// The texts between two marks.
fn between<'t>(text: &'t str, open: &'t str, close: &'t str) -> Vec<&'t str> {
    text.split(open).skip(1).map(|rest| rest.split(close).next().unwrap()).collect()
}

#[test]
fn a_unit_escapes_what_systemd_would_read() {
    let unit = text(System::Unix);
    assert!(unit.contains(r#"ExecStart="/home/ana b/100%%/$$x/tool\"glot" "serve" "--config" "C:\\a & b\\""#), "{unit}");
    assert!(unit.contains("Environment=\"PATH=/usr/bin:/home/ana b/50%%<>\"\n"), "{unit}");
    assert!(unit.contains("Restart=on-failure\n") && unit.ends_with("[Install]\nWantedBy=default.target\n"), "{unit}");
}

/// Asks systemd itself, where it is installed.
#[cfg(target_os = "linux")]
#[test]
fn systemd_accepts_the_unit() {
    let Some(verify) = Environment::of_process().find("systemd-analyze") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolglot.service");
    let job = Job { command: vec![std::env::current_exe().unwrap().display().to_string(), "serve".into()], ..job() };
    std::fs::write(&file, bytes(System::Unix, &job)).unwrap();
    let said = Command::new(verify).args(["verify", "--user"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    // A machine without a session of this user has no manager that could verify; what it says of this unit counts.
    assert!(!said.contains("toolglot.service"), "{said}");
}

#[test]
fn a_launch_agent_holds_each_word_for_itself() {
    let agent = text(System::MacOs);
    let strings = between(&agent, "<string>", "</string>");
    assert_eq!(strings[0], "io.github.toolglot");
    assert_eq!(strings[1..5], ["/home/ana b/100%/$x/tool&quot;glot", "serve", "--config", r"C:\a &amp; b\"], "{agent}");
    assert_eq!(strings[5], "/usr/bin:/home/ana b/50%&lt;&gt;");
    for tag in ["dict", "array", "plist"] {
        assert_eq!(agent.matches(&format!("<{tag}")).count(), agent.matches(&format!("</{tag}>")).count(), "{agent}");
    }
}

#[test]
fn a_task_starts_at_the_logon_of_this_user_alone() {
    let task = text(System::Windows);
    assert_eq!(between(&task, "<UserId>", "</UserId>"), [r"BOX\ana &amp; co"; 2]);
    let arguments = between(&task, "<Arguments>", "</Arguments>")[0].replace("&quot;", "\"").replace("&amp;", "&");
    assert_eq!(arguments, r#"--headless "/home/ana b/100%/$x/tool\"glot" "serve" "--config" "C:\a & b\\""#);
    assert!(task.contains("<RunLevel>LeastPrivilege</RunLevel>") && !task.contains("Password"), "{task}");
}

#[test]
fn every_system_writes_before_it_starts_and_stops_before_it_removes() {
    for system in [System::Unix, System::MacOs, System::Windows] {
        let may_fail = |step: &&str| step.starts_with('-');
        let install = steps(system, &Verb::Install(Configured::default()));
        assert_eq!(install[0], "write", "{system:?}");
        assert!(!install.last().is_some_and(may_fail), "{system:?}: a failed start is told");
        let uninstall = steps(system, &Verb::Uninstall);
        assert!(may_fail(&uninstall[0]) && uninstall.contains(&"remove"), "{system:?}");
        for verb in [Verb::Start, Verb::Stop, Verb::Status, Verb::Logs] {
            let steps = steps(system, &verb);
            assert!(steps.len() == 1 && !may_fail(&steps[0]) && steps[0].contains(' '), "{system:?} {verb:?}: {steps:?}");
        }
    }
    let words = |system, at: usize| {
        let step = steps(system, &Verb::Install(Configured::default()))[at].trim_start_matches('-');
        words(step, Path::new("/f g"), 501)
    };
    assert_eq!(words(System::Unix, 2), ["systemctl", "--user", "enable", "toolglot.service"]);
    assert_eq!(words(System::MacOs, 1), ["launchctl", "bootout", "gui/501/io.github.toolglot"]);
    assert_eq!(words(System::MacOs, 2), ["launchctl", "bootstrap", "gui/501", "/f g"]);
    assert_eq!(words(System::Windows, 2), ["schtasks", "/Create", "/F", "/TN", "toolglot", "/XML", "/f g"]);
}

#[test]
fn the_definition_is_where_each_system_looks() {
    let on = |system, home: &str| {
        let variables = [("HOME", home), ("USERPROFILE", home)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = Environment::on(system, variables);
        let slashes = |path: PathBuf| path.to_string_lossy().replace('\\', "/");
        (slashes(file(&environment).unwrap()), log_file(&environment).map(slashes))
    };
    assert_eq!(on(System::Unix, "/h"), ("/h/.config/systemd/user/toolglot.service".into(), None));
    let log = Some("/h/Library/Application Support/toolglot/service.log".to_owned());
    assert_eq!(on(System::MacOs, "/h"), ("/h/Library/LaunchAgents/io.github.toolglot.plist".into(), log));
    let (task, log) = on(System::Windows, "C:/h");
    assert_eq!(
        (task.as_str(), log.as_deref()),
        ("C:/h/AppData/Local/toolglot/service.xml", Some("C:/h/AppData/Local/toolglot/service.log"))
    );
}
