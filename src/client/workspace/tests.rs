use super::*;

#[test]
fn a_path_that_can_only_mean_the_workspace_is_placed_in_it() {
    let words = "Create src/util.rs and /srv/x.txt, then look at etc/hosts, `docs/a.md`. docs is a folder. Add the folders logs and var: the folder logs, the folder var.";
    let demo = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Workspace::new("/workspace/demo/", names, vec!["src".into()], words.into()).unwrap()
    };
    for (path, expected) in [
        ("src/main.rs", Some("/workspace/demo/src/main.rs")),
        ("./src/", Some("/workspace/demo/src/")),
        ("././a b.txt", Some("/workspace/demo/a b.txt")),
        (".", Some("/workspace/demo")),
        (".github/ci.yml", Some("/workspace/demo/.github/ci.yml")),
        ("docs/", Some("/workspace/demo/docs/")),
        // The client's overview of files begins with the name of the folder.
        ("demo/src", Some("/workspace/demo/src")),
        ("demo", Some("/workspace/demo")),
        ("workspace", Some("/workspace/demo")),
        ("workspace/src", Some("/workspace/demo/src")),
        ("demo2/src", Some("/workspace/demo/demo2/src")),
        // The user named it without the slash.
        ("/src/util.rs", Some("/workspace/demo/src/util.rs")),
        ("/docs/a.md", Some("/workspace/demo/docs/a.md")),
        // The name of the folder twice, before something that is in the folder.
        ("/workspace/demo/demo/src/main.rs", Some("/workspace/demo/src/main.rs")),
        ("/workspace/demo/demo/src", Some("/workspace/demo/src")),
        ("workspace/demo/src/main.rs", Some("/workspace/demo/src/main.rs")),
        ("workspace/demo/new.rs", Some("/workspace/demo/demo/new.rs")),
        ("/workspace/demo/demo/new.rs", None),
        ("/workspace/demo/demo", None),
        ("/workspace/demo/demo/", None),
        ("/workspace/demo/demo/demo/src", None),
        ("/workspace/demo/../demo/demo/src", None),
        ("/workspace/demo2/demo/src", None),
        // As it is: absolute, somebody else's, outside, or not clear.
        ("/workspace/demo/src/main.rs", None),
        ("/workspace/demo", None),
        ("/workspace/other.rs", None),
        ("/src/other.rs", None),
        ("/util.rs", None),
        ("/srv/x.txt", None),
        ("/etc/hosts", None),
        ("/docs", None),
        ("/logs", Some("/workspace/demo/logs")),
        ("/logs/", Some("/workspace/demo/logs/")),
        ("/var", None),
        ("//src/util.rs", None),
        ("", None),
        ("../x", None),
        ("src/../../x", None),
        ("~/x", None),
        ("$HOME/x", None),
        ("file:///workspace/x", None),
        ("C:\\x", None),
        ("c:/x", None),
        ("\\\\server\\x", None),
        ("src/a\nb", None),
    ] {
        assert_eq!(demo(&["demo", "workspace"]).place(path).as_deref(), expected, "{path}");
    }
    assert_eq!(demo(&[]).place("demo/src"), None, "it may be a folder in the folder");
    assert_eq!(demo(&[]).place("src").as_deref(), Some("/workspace/demo/src"));
    let windows = Workspace::new("c:\\work\\demo", vec!["demo".into()], vec!["src".into()], String::new()).unwrap();
    assert_eq!(windows.place("src\\main.rs").as_deref(), Some("c:\\work\\demo\\src\\main.rs"));
    assert_eq!(windows.place("demo/src").as_deref(), Some("c:\\work\\demo\\src"));
    assert_eq!(windows.place("D:\\x"), None);
    assert_eq!(windows.place("C:/Work/demo/demo/src/a"), Some("c:\\work\\demo\\src/a".into()));
    assert_eq!(Workspace::new("demo", Vec::new(), Vec::new(), String::new()), None);
    assert_eq!(Workspace::new("NO FOLDERS OPEN", Vec::new(), Vec::new(), String::new()), None);
}

#[test]
fn what_the_user_calls_a_folder_is_one() {
    let as_folder = |words: &str, path: &str| {
        Workspace::new("/w/demo", Vec::new(), Vec::new(), words.into()).unwrap().as_folder(path).is_some()
    };
    for (words, path) in [
        ("Create a folder docs in the workspace.", "/w/demo/docs"),
        ("Add a folder `docs`, then look at it.", "/w/demo/docs"),
        ("Make a new directory called \"build\".", "/w/demo/build"),
        ("I need the tests/data folder.", "/w/demo/tests/data"),
        ("Create the folder /w/demo/src/net.", "/w/demo/src/net"),
        ("Create src/net/ for me", "/w/demo/src/net"),
        ("Please create the Directory .github", "/w/demo/.github"),
        ("Create an empty folder with the name logs.", "/w/demo/logs"),
        ("Lege einen Ordner namens bilder an.", "/w/demo/bilder"),
        ("Crée le dossier images.", "/w/demo/images"),
    ] {
        assert!(as_folder(words, path), "{words}");
    }
    for (words, path) in [
        ("Create a file docs in the workspace.", "/w/demo/docs"),
        ("Create the file notes in the folder docs.", "/w/demo/docs/notes"),
        ("Create LICENSE.", "/w/demo/LICENSE"),
        ("Delete the folder tmp, then create a file tmp.", "/w/demo/tmp"),
        ("Create a folder docs.", "/w/demo/docs/"),
        ("Create a folder docs.", "/w/demo/docs2"),
        ("Which folder has util.rs? Create util.rs there.", "/w/demo/util.rs"),
        ("Create a folder.", ""),
    ] {
        assert!(!as_folder(words, path), "{words}");
    }
}

#[test]
fn a_path_in_doubt_is_a_command_or_leads_out_of_the_workspace() {
    let demo = |words: &str| Workspace::new("/workspace/demo", Vec::new(), Vec::new(), words.into()).unwrap();
    for (path, writes, doubted) in [
        ("rustc --version", false, true),
        ("cargo -q build", true, true),
        ("notes - old.txt", true, false),
        ("my notes.txt", true, false),
        ("src/my file -draft.txt", true, false),
        ("draft -- final", true, true),
        ("/workspace/docs", true, true),
        ("/workspace/docs", false, false),
        ("/workspace/demo2/a", true, true),
        ("/workspace/demo/../a", true, true),
        ("/workspace/demo/docs", true, false),
        ("/workspace/demo", true, false),
        ("src/a.rs", true, false),
        ("", true, false),
    ] {
        assert_eq!(demo("Create the folder docs.").doubt(path, writes, None).is_some(), doubted, "{path}");
    }
    for (words, path, doubted) in [
        ("Write it to /tmp/out.txt.", "/tmp/out.txt", false),
        ("Put the three files into `/tmp/out`", "/tmp/out/a/b.txt", false),
        ("Put the three files into /tmp/out", "/tmp/outer/a.txt", true),
        ("Write /tmp/out.txt", "/tmp/other.txt", true),
        ("one / two", "/tmp/other.txt", true),
    ] {
        assert_eq!(demo(words).doubt(path, true, None).is_some(), doubted, "{words}: {path}");
    }
    let meant = |path: &str| demo("").beside(path);
    assert_eq!(meant("/workspace/docs").as_deref(), Some("/workspace/demo/docs"));
    assert_eq!(meant("/workspace/demo2/a.rs").as_deref(), Some("/workspace/demo/demo2/a.rs"));
    assert_eq!((meant("/etc/hosts"), meant("/workspace/demo/../a")), (None, None));
    let windows = Workspace::new("c:\\work\\demo", Vec::new(), Vec::new(), String::new()).unwrap();
    let doubts = |path: &str| windows.doubt(path, true, None).is_some();
    assert!(!doubts("C:\\Work\\demo\\a.txt") && !doubts("c:/work/demo/a.txt") && doubts("c:\\work\\a.txt"));
}

#[test]
fn a_mention_is_a_whole_path() {
    for (text, found) in [
        ("src/a.rs", true),
        ("(src/a.rs).", true),
        ("see `src/a.rs`: it", true),
        ("in src/a.rs/", true),
        ("/src/a.rs", false),
        ("my-src/a.rs", false),
        ("src/a.rs.bak", false),
        ("src/a.rsx", false),
        ("./src/a.rs", false),
        ("", false),
    ] {
        assert_eq!(mentions(text, "src/a.rs"), found, "{text}");
    }
}
