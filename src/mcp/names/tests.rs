use super::{Meaning, resolve, wire_names};
use crate::mcp::response::ServiceInfo;

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
        let Meaning::Tool(found) = resolve(written, &offered, &[]) else { panic!("{written}") };
        assert_eq!(found.full_name(), expected, "{written}");
    }
    for (written, expected) in [
        ("read_file", Meaning::Ambiguous),
        ("k3x9ab_read_file", Meaning::Ambiguous),
        ("tauri:read_file", Meaning::Foreign),
        ("tauri:list", Meaning::Foreign),
        ("nothing", Meaning::Unknown),
        ("other__list", Meaning::Unknown),
        ("K3X9AB_list", Meaning::Unknown),
        ("k3x9a_list", Meaning::Unknown),
        ("k3x9ab_", Meaning::Unknown),
        ("", Meaning::Unknown),
    ] {
        assert_eq!(resolve(written, &offered, &[]), expected, "{written}");
    }
}

#[test]
fn a_bare_name_means_the_server_of_the_last_result() {
    let offered = offered(&[("files", "read_file"), ("remote", "read_file"), ("remote", "stat"), ("builtin.files", "read_file")]);
    let of = |server: &str| ServiceInfo::external(server, "list");
    let name = |context: &[ServiceInfo]| match resolve("read_file", &offered, context) {
        Meaning::Tool(found) => found.full_name(),
        other => format!("{other:?}"),
    };
    assert_eq!(name(&[of("files")]), "files__read_file");
    assert_eq!(name(&[of("remote"), of("files")]), "remote__read_file");
    assert_eq!(name(&[of("gone"), of("files")]), "files__read_file");
    assert_eq!(name(&[ServiceInfo::built_in("files", "x")]), "builtin.files__read_file");
    assert_eq!(name(&[]), "Ambiguous");
}

#[test]
fn a_separator_belongs_to_the_longest_server_name() {
    let offered = offered(&[("a", "b__c"), ("a__b", "c"), ("a", "x")]);
    let Meaning::Tool(found) = resolve("a__b__c", &offered, &[]) else { panic!() };
    assert_eq!((found.server.as_str(), found.tool.as_str()), ("a", "b__c"), "the exact full name comes first, in order");
    let Meaning::Tool(found) = resolve("a.b__c", &offered, &[]) else { panic!() };
    assert_eq!(found.server, "a");
    let Meaning::Tool(found) = resolve("a__b.c", &offered, &[]) else { panic!() };
    assert_eq!(found.server, "a__b");
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
