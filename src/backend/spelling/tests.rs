use super::*;
use crate::{
    backend::{Kind, Profile},
    event::{Tool, ToolChoice},
};

fn spelled_by(kind: Kind, profile: Profile, names: &[&str]) -> Vec<String> {
    spelled_in(Names::Any, kind, profile, names)
}

fn spelled_in(letters: Names, kind: Kind, profile: Profile, names: &[&str]) -> Vec<String> {
    let backend = Backend { profile, ..Backend::open("test", kind, "http://x") };
    let mut tools = Tools::new(names.iter().map(|name| Tool::new(*name, "", "{}")), ToolChoice::Auto);
    spell(&backend, letters, &mut tools);
    let once: Vec<String> = tools.iter().map(|tool| tool.wire_name.clone()).collect();
    spell(&backend, letters, &mut tools);
    assert_eq!(tools.iter().map(|tool| tool.wire_name.clone()).collect::<Vec<_>>(), once, "the same every time");
    for tool in tools.iter() {
        assert_eq!(tools.by_wire_name(&tool.wire_name).map(|found| &found.name), Some(&tool.name), "the way back");
    }
    once
}

#[test]
fn names_fit_their_backend() {
    let names = ["read_file", "getHTTPPage2", "files.read", "größe", "7zip"];
    assert_eq!(spelled_by(Kind::Ollama, Profile::Generic, &names), names);
    assert_eq!(spelled_by(Kind::OpenAi, Profile::Vllm, &names), ["read_file", "getHTTPPage2", "files_read", "gr__e", "7zip"]);
    assert_eq!(
        spelled_by(Kind::OpenAi, Profile::LmStudio, &names),
        ["read_file", "get_http_page2", "files_read", "gr__e", "7zip"]
    );
    assert_eq!(spelled_by(Kind::Google, Profile::Generic, &names), ["read_file", "getHTTPPage2", "files.read", "gr__e", "_7zip"]);
}

#[test]
fn names_that_would_be_alike_stay_apart() {
    let spelled = spelled_by(Kind::OpenAi, Profile::Generic, &["a.b", "a/b", "a b"]);
    assert_eq!(spelled[0], "a_b");
    assert!(spelled[1].starts_with("a_b_") && spelled[2].starts_with("a_b_") && spelled[1] != spelled[2], "{spelled:?}");
    let long = "x".repeat(80);
    let longer = format!("{long}y");
    let spelled = spelled_by(Kind::Google, Profile::Generic, &[&long, &longer]);
    assert!(spelled.iter().all(|name| name.len() <= NAME_BYTES) && spelled[0] != spelled[1], "{spelled:?}");
}

#[test]
fn the_name_of_one_tool_is_never_the_wire_name_of_another() {
    for names in [["delete.files", "delete_files"], ["Read", "read"], ["readFile", "read_file"]] {
        for names in [names, [names[1], names[0]]] {
            for profile in [Profile::Generic, Profile::LmStudio] {
                let spelled = spelled_by(Kind::OpenAi, profile, &names);
                let other = |at: usize| names[1 - at] == spelled[at];
                assert!(!other(0) && !other(1) && spelled[0] != spelled[1], "{names:?}: {spelled:?}");
            }
        }
    }
    // Of a tool that is not offered any more, only its old calls are left.
    let backend = Backend::open("test", Kind::OpenAi, "http://x");
    let tools = Tools::new([Tool::new("delete_files", "", "{}")], ToolChoice::Auto);
    let old = |name| spelt_apart(&backend, Names::Any, name, &tools);
    assert!(old("delete.files").starts_with("delete_files_") && old("read.files") == "read_files");
}

#[test]
fn names_fit_the_family_of_the_model() {
    let names = ["read-file", "files.read", "7zip", "plain_name"];
    let spelled = |letters, kind| spelled_in(letters, kind, Profile::Generic, &names);
    assert_eq!(spelled(Names::Word, Kind::Ollama), ["read_file", "files_read", "7zip", "plain_name"]);
    assert_eq!(spelled(Names::Identifier, Kind::Ollama), ["read_file", "files_read", "_7zip", "plain_name"]);
    assert_eq!(spelled(Names::Identifier, Kind::OpenAi), ["read_file", "files_read", "_7zip", "plain_name"]);
}
