use std::path::Path;

use super::{Mcp, RegistryHttp};
use crate::config::{Config, Environment, Overrides, Secret};

fn parse(text: &str) -> Result<Mcp, String> {
    let environment =
        Environment::from([("HOME", "/home/u"), ("XDG_CONFIG_HOME", "/conf"), ("XDG_DATA_HOME", "/data"), ("A_TOKEN", "t0ken")]);
    let parsed = Config::parse(text, Some(Path::new("/etc/tg/proxy.toml")), &Overrides::default(), &environment);
    parsed.map(|config| config.mcp).map_err(|error| error.message)
}

#[test]
fn everything_is_in_the_users_folders_and_nothing_is_offered_unasked() {
    let mcp = parse("").unwrap();
    assert_eq!(
        (mcp.registry.as_path(), mcp.database.as_path()),
        (Path::new("/conf/toolglot/mcp.json"), Path::new("/data/toolglot/db/mcp_data.db"))
    );
    assert!(!mcp.builtin_tools && !mcp.serving.gateway && !mcp.serving.errors_as_text && mcp.serving.trusted_headers.is_empty());
    assert_eq!((mcp.serving.registry_http, mcp.serving.token), (RegistryHttp::On, None));
}

#[test]
fn every_key_acts() {
    let mcp = parse(
        r#"
        [mcp]
        registry = "servers.json"
        builtin_tools = true
        database = "/var/lib/own.db"
        serve_registry = true
        errors_as_text = true
        registry_http = "token"
        token_env = "A_TOKEN"
        trusted_headers = ["X-User"]
        "#,
    )
    .unwrap();
    assert_eq!(
        (mcp.registry.as_path(), mcp.database.as_path()),
        (Path::new("/etc/tg/servers.json"), Path::new("/var/lib/own.db"))
    );
    assert!(mcp.builtin_tools && mcp.serving.gateway && mcp.serving.errors_as_text);
    assert_eq!((mcp.serving.registry_http, mcp.serving.token.as_ref().map(Secret::reveal)), (RegistryHttp::Token, Some("t0ken")));
    assert_eq!(mcp.serving.trusted_headers, ["x-user"], "names of headers have no case");
    assert!(!format!("{mcp:?}").contains("t0ken"));
}

#[test]
fn a_token_must_be_there_where_one_is_wanted() {
    for (text, expected) in [
        ("[mcp]\nregistry_http = \"token\"\n", "say in `mcp.token_env` which variable holds it"),
        ("[mcp]\ntoken_env = \"NO_SUCH\"\n", "`NO_SUCH` is not set"),
        ("[mcp]\nregistry_http = \"maybe\"\n", "maybe"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
