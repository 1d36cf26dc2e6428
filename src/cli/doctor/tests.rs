use super::addresses::{Facts, addresses};
use crate::config::Listen;

#[test]
fn where_it_runs_decides_how_it_is_reached() {
    let routes = "Iface\tDestination\tGateway\nlo\t0000007F\t00000000\neth0\t00000000\t01D014AC\n".to_owned();
    let everywhere: Listen = "0.0.0.0:9000".parse().expect("an address");
    for (facts, listen, expected, not) in [
        (Facts::default(), Listen::default(), vec!["from this machine: http://127.0.0.1:8000/v1"], "WSL"),
        (
            Facts { version: "Linux version 6.6 (Microsoft@Microsoft.com)".into(), routes: routes.clone(), ..Facts::default() },
            Listen::default(),
            vec!["from Windows, http://localhost:8000/v1", "servers of Windows are at 172.20.208.1"],
            "container",
        ),
        (
            Facts { container: true, routes, ..Facts::default() },
            Listen::default(),
            vec!["host.docker.internal or 172.20.208.1", "not reachable", "0.0.0.0:8000"],
            "WSL",
        ),
        (Facts { docker: true, ..Facts::default() }, Listen::default(), vec!["from a container", "needs listen = "], "WSL"),
        (
            Facts { docker: true, ..Facts::default() },
            everywhere,
            vec!["http://host.docker.internal:9000/v1", "other machines"],
            "needs",
        ),
    ] {
        let said = addresses(&facts, &listen).join("\n");
        assert!(expected.iter().all(|text| said.contains(text)) && !said.contains(not), "{said}");
    }
}
