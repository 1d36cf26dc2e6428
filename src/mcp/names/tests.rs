use super::{resolve, wire_names};
use crate::mcp::response::ServiceInfo;

/// What `resolve` finds among these tools.
fn found<'t>(written: &str, offered: &'t [(ServiceInfo, String)], context: &[ServiceInfo]) -> Option<&'t ServiceInfo> {
    let offered: Vec<_> = offered.iter().map(|(service, wire)| (service, wire.as_str())).collect();
    resolve(written, &offered, context)
}

fn offered(list: &[(&str, &str)]) -> Vec<(ServiceInfo, String)> {
    let services: Vec<ServiceInfo> = list
        .iter()
        .map(|(server, tool)| match server.strip_prefix("builtin.") {
            Some(server) => ServiceInfo::built_in(server, *tool),
            None => ServiceInfo::external(*server, *tool),
        })
        .collect();
    let names = wire_names(&services);
    services.into_iter().zip(names).collect()
}

#[test]
fn every_qualified_spelling_leads_to_its_tool() {
    let offered = offered(&[
        ("files", "read_file"),
        ("files", "list"),
        ("remote", "read_file"),
        ("my.server", "do.it"),
        ("a", "b__c"),
        ("a__b", "c"),
        ("builtin.sqlite", "search_docs"),
    ]);
    let table = [
        ("files__read_file", "files__read_file"),
        ("files.read_file", "files__read_file"),
        ("remote__read_file", "remote__read_file"),
        ("my.server.do.it", "my.server__do.it"),
        ("my.server__do.it", "my.server__do.it"),
        ("my_server__do_it", "my.server__do.it"),
        ("builtin.sqlite__search_docs", "builtin.sqlite__search_docs"),
        ("builtin_sqlite__search_docs", "builtin.sqlite__search_docs"),
        ("sqlite.search_docs", "builtin.sqlite__search_docs"),
        // Bare where only one server has it.
        ("list", "files__list"),
        ("search_docs", "builtin.sqlite__search_docs"),
        // Void's prefix.
        ("k3x9ab_list", "files__list"),
        ("k3x9ab_files__read_file", "files__read_file"),
    ];
    for (written, expected) in table {
        assert_eq!(found(written, &offered, &[]).map(ServiceInfo::full_name).as_deref(), Some(expected), "{written}");
    }
    for written in [
        // Several servers have it.
        "read_file", "k3x9ab_read_file", // Another system's.
        "tauri:read_file", "tauri:list", "nothing", // No digit: the word may say what the tool does.
        "delete_list", "other__list", "K3X9AB_list", "k3x9a_list", "k3x9ab_", "",
    ] {
        assert_eq!(found(written, &offered, &[]), None, "{written}");
    }
}

#[test]
fn a_bare_name_means_the_server_of_the_last_result() {
    let offered = offered(&[("files", "read_file"), ("remote", "read_file"), ("remote", "stat"), ("builtin.files", "read_file")]);
    let of = |server: &str| ServiceInfo::external(server, "list");
    let name = |context: &[ServiceInfo]| found("read_file", &offered, context).map(ServiceInfo::full_name).unwrap_or_default();
    assert_eq!(name(&[of("files")]), "files__read_file");
    assert_eq!(name(&[of("remote"), of("files")]), "remote__read_file");
    assert_eq!(name(&[of("gone"), of("files")]), "files__read_file");
    assert_eq!(name(&[ServiceInfo::built_in("files", "x")]), "builtin.files__read_file");
    assert_eq!(name(&[]), "");
}

#[test]
fn a_separator_belongs_to_the_longest_server_name() {
    let offered = offered(&[("a", "b__c"), ("a__b", "c"), ("a", "x")]);
    let of = |written: &str| found(written, &offered, &[]).unwrap();
    let exact = of("a__b__c");
    assert_eq!((exact.server.as_str(), exact.tool.as_str()), ("a", "b__c"), "the exact full name comes first, in order");
    assert_eq!((of("a.b__c").server.as_str(), of("a__b.c").server.as_str()), ("a", "a__b"));
}

#[test]
fn wire_names_fit_and_are_never_shared() {
    let long = "x".repeat(90);
    let tools: Vec<ServiceInfo> = [
        ("a.b", "c"),
        ("a_b", "c"),
        ("plain", "tool"),
        ("server", long.as_str()),
        ("ünï", "ö"),
        ("", ""),
        ("a", "b__c"),
        ("a__b", "c"),
    ]
    .iter()
    .map(|(server, tool)| ServiceInfo::external(*server, *tool))
    .collect();
    let wires = wire_names(&tools);
    for wire in &wires {
        assert!(
            (1..=64).contains(&wire.len()) && wire.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
            "{wire}"
        );
    }
    assert_eq!(wires[2], "plain__tool");
    let mut unique = wires.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), tools.len(), "{wires:?}");
    // The order does not matter.
    let backwards: Vec<ServiceInfo> = tools.iter().rev().cloned().collect();
    let mut again = wire_names(&backwards);
    again.reverse();
    assert_eq!(again, wires);
}
