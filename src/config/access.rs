//! Who may use the server, and what a request may choose: client keys with their tenants, and the modes that requests may
//! name.

use std::{fmt, net::IpAddr, num::NonZeroU32, path::PathBuf, sync::Arc};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{
    Config, Mode, Secret,
    checks::{twice, wrong},
    matches,
    raw::Options,
    secret::{Source, variable_name},
};
use crate::{atomic, error::Error};

/// Who may use the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// The keys of clients. Empty, and none missing: no key is needed.
    pub keys: Vec<ClientKey>,
    /// The keys that could not be read, if that is not an error ([`super::Overrides::without_secrets`]).
    pub missing: Vec<Missing>,
    /// Whether other machines may use the server without a key.
    pub insecure: bool,
    /// The modes that a request may choose by its path or header; `None`: all. Modes set in the configuration are always allowed.
    pub modes: Option<Vec<Mode>>,
}

/// Keys of clients that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Why.
    pub what: String,
    /// They would be in a file, and not in a variable.
    pub in_file: bool,
}

/// A key of a client. Only the hash of the key is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientKey {
    /// The owner of the key. Two keys may belong to one tenant.
    pub tenant: Arc<Tenant>,
    digest: [u8; 32],
}

/// A user of the server, with its permissions: a table `[[key]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Its name, for the log and the metrics; `""` for the one local user.
    pub name: String,
    /// Where its key is; both `None` once it was read.
    key_env: Option<String>,
    key_file: Option<PathBuf>,
    prefix: Option<String>,
    /// Globs over the names (or aliases) of the models that it may use; `None`: all.
    pub models: Option<Vec<String>>,
    /// The modes that it may use; `None`: all.
    pub modes: Option<Vec<Mode>>,
    /// The MCP servers whose tools it may use; `None`: all.
    pub mcp_servers: Option<Vec<String>>,
    /// Maximum number of requests about models per minute, to all instances together.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Whether it may read the metrics and change the registry of MCP servers.
    #[serde(default)]
    pub operator: bool,
}

/// The name of a key that was written without one.
const UNNAMED: &str = "client";

impl Access {
    /// The owner of a key; `None`: no client has it. Takes the same time wherever keys differ.
    pub fn tenant_of(&self, given: &str) -> Option<&Arc<Tenant>> {
        let given: [u8; 32] = Sha256::digest(given).into();
        let opens = |key: &ClientKey| key.digest.iter().zip(given).fold(0, |differ, (own, given)| differ | (own ^ given)) == 0;
        // Every key is looked at, whichever fits.
        self.keys.iter().fold(None, |found, key| if opens(key) { Some(&key.tenant) } else { found })
    }
}

impl Tenant {
    /// A tenant that may use everything.
    pub fn named(name: impl Into<String>) -> Tenant {
        Tenant {
            name: name.into(),
            key_env: None,
            key_file: None,
            prefix: None,
            models: None,
            modes: None,
            mcp_servers: None,
            requests_per_minute: None,
            operator: true,
        }
    }

    /// The prefix of its keys in the store. Tenants with the same prefix share their state.
    pub fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or(&self.name)
    }

    /// Whether it may use a model. `own`: the model's own name. `called`: the name that the client used.
    pub fn may_use(&self, own: &str, called: &str) -> bool {
        let fits = |glob: &String| matches(glob, own) || matches(glob, called);
        self.models.as_ref().is_none_or(|models| models.iter().any(fits))
    }

    /// Whether it may use the tools of this MCP server.
    pub fn may_use_server(&self, name: &str) -> bool {
        self.mcp_servers.as_ref().is_none_or(|own| own.iter().any(|own| own == name))
    }

    /// Those of the wanted MCP servers (`None`: all) that it may use; `None`: all.
    pub fn servers(&self, wanted: Option<&[String]>) -> Option<Vec<String>> {
        in_both(wanted, self.mcp_servers.as_deref())
    }
}

/// What two lists allow, in the order of the first; `None`: everything.
pub fn in_both(asked: Option<&[String]>, allowed: Option<&[String]>) -> Option<Vec<String>> {
    match (asked, allowed) {
        (Some(asked), Some(allowed)) => Some(asked.iter().filter(|name| allowed.contains(name)).cloned().collect()),
        (one, other) => one.or(other).map(<[String]>::to_vec),
    }
}

impl Default for Tenant {
    /// The one local user.
    fn default() -> Tenant {
        Tenant::named("")
    }
}

impl Config {
    /// Checks that other machines cannot use the server without a key.
    ///
    /// # Errors
    /// `configuration` if `listen` is beyond loopback, there is no key, and `insecure` is not set.
    pub fn check_exposure(&self) -> Result<(), Error> {
        let Access { keys, missing, insecure, .. } = &self.access;
        if *insecure || !keys.is_empty() || !missing.is_empty() || !self.listen.is_beyond_loopback() {
            return Ok(());
        }
        let address = self.listen.addresses.first().map(ToString::to_string).unwrap_or_default();
        Err(Error::proxy(format!(
            "`listen` is {address}: other machines can reach it, and no client needs a key. Name the keys in `api_keys_file`, \
             `api_key_env` or `[[key]]`, or set `insecure = true` if everybody in that network may use your models and tools"
        ))
        .with_code("configuration"))
    }

    /// Checks that names of hosts and origins of pages can be met at all: they are compared as a whole.
    pub(super) fn check_visitors(&self) -> Result<(), Error> {
        let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let is_host = |text: &str| is_name(text) || text.parse::<IpAddr>().is_ok();
        if let Some(host) = self.allowed_hosts.iter().find(|host| !is_host(host)) {
            let what = "is not the name of a host: write each name in full, without scheme and port (\"box.lan\")";
            return wrong(format!("`allowed_hosts`: `{host}` {what}"));
        }
        // Pages in a sandbox and files have the origin `null`.
        let is_origin = |text: &str| {
            let place = |rest: &str| !rest.is_empty() && !rest.contains(['/', '*', '?', '#', ' ']);
            text == "null" || text.split_once("://").is_some_and(|(scheme, rest)| !scheme.contains('*') && place(rest))
        };
        if let Some(origin) = self.allowed_origins.iter().find(|origin| !is_origin(origin)) {
            let what = "is not the origin of a page: write each in full, with scheme and without path (\"https://chat.example\")";
            return wrong(format!("`allowed_origins`: `{origin}` {what}"));
        }
        Ok(())
    }
}

/// The keys of the file, the variable and the tables, and those that are missing.
pub(super) fn keys(raw: &Options, source: Source<'_>) -> Result<(Vec<ClientKey>, Vec<Missing>), Error> {
    let (mut keys, mut missing) = (Vec::new(), Vec::new());
    let mut lacks = |what: String, in_file: bool| {
        if !source.without_secrets {
            return wrong(what);
        }
        missing.push(Missing { what, in_file });
        Ok(())
    };
    if let Some(file) = &raw.api_keys_file {
        let file = source.base.join(file);
        match atomic::read(&file) {
            Ok(text) => keys.extend(ClientKey::read_all(&text, "api_keys_file")?),
            Err(error) => lacks(format!("`api_keys_file`: cannot read {}: {error}", file.display()), true)?,
        }
    }
    if let Some(variable) = &raw.api_key_env {
        match source.environment.get(variable) {
            Some(text) => keys.extend(ClientKey::read_all(text, "api_key_env")?),
            None => lacks(format!("`api_key_env`: the environment variable `{}` is not set", variable_name(variable)), false)?,
        }
    }
    // A name is also the prefix of what is kept, so that two people of one name would share it, and their rate limit.
    if let Some(tenant) = raw.tenants.iter().find(|tenant| keys.iter().any(|key| key.tenant.name == tenant.name)) {
        return wrong(format!(
            "a `[[key]]` is named `{}` as a key of `api_keys_file` or `api_key_env` is: give each a name of its own",
            tenant.name
        ));
    }
    if let Some(name) = twice(raw.tenants.iter().map(|tenant| tenant.name.as_str())) {
        return wrong(format!(
            "two keys are named `{name}`: give each a `name` of its own; with one `prefix` they share what is kept"
        ));
    }
    for tenant in &raw.tenants {
        let of_tenant = |what: String| format!("the key of `{}`: {what}", tenant.name);
        tenant.check().or_else(|what| wrong(of_tenant(what)))?;
        match Secret::read("key", tenant.key_env.as_deref(), tenant.key_file.as_deref(), source) {
            Ok(None) => {}
            Ok(Some(key)) => keys.push(tenant.with(&key).or_else(|what| wrong(of_tenant(what)))?),
            Err(what) => lacks(of_tenant(what), tenant.key_file.is_some())?,
        }
    }
    for (at, key) in keys.iter().enumerate() {
        if let Some(other) = keys.iter().take(at).find(|other| other.digest == key.digest && other.tenant != key.tenant) {
            let (one, two) = (&other.tenant.name, &key.tenant.name);
            return wrong(format!("`{one}` and `{two}` have the same key: give each one of its own"));
        }
    }
    Ok((keys, missing))
}

impl Tenant {
    /// What is wrong with the table, whatever its key is.
    fn check(&self) -> Result<(), String> {
        for (field, text) in [("name", self.name.as_str()), ("prefix", self.prefix())] {
            if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
                return Err(format!("its `{field}` must consist of letters, digits, `.`, `_` and `-`"));
            }
        }
        match (&self.key_env, &self.key_file) {
            (None, None) => Err("say in `key_env` or `key_file` which variable or file holds it".into()),
            _ => Ok(()),
        }
    }

    /// The tenant with its key.
    fn with(&self, key: &Secret) -> Result<ClientKey, String> {
        if !key.reveal().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a key consists of visible ASCII characters, without spaces".into());
        }
        let tenant = Tenant { key_env: None, key_file: None, ..self.clone() };
        Ok(ClientKey { tenant: Arc::new(tenant), digest: Sha256::digest(key.reveal()).into() })
    }
}

impl ClientKey {
    /// Keys, one per line or separated by commas, each `name:key` or a bare key; `#` begins a comment line.
    fn read_all(text: &str, source: &str) -> Result<Vec<ClientKey>, Error> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let entries = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|entry| !entry.is_empty());
        let keys: Vec<ClientKey> = entries.map(|entry| ClientKey::read(entry, source)).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(Error::proxy(format!("`{source}` holds no key: write one per line, as `name:key`")));
        }
        Ok(keys)
    }

    fn read(entry: &str, source: &str) -> Result<ClientKey, Error> {
        let (name, key) = entry.split_once(':').map_or((UNNAMED, entry), |(name, key)| (name.trim(), key.trim()));
        // The entry is not shown: it holds the key.
        if name.is_empty() || key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let what = "an entry is not `name:key` (a key consists of visible ASCII characters, without spaces and commas)";
            return Err(Error::proxy(format!("`{source}`: {what}")));
        }
        Ok(ClientKey { tenant: Arc::new(Tenant::named(name)), digest: Sha256::digest(key).into() })
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({})", self.tenant.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    #[test]
    fn keys_are_named_and_told_apart() {
        let access = Access {
            keys: ClientKey::read_all("# ours\nann: k-1\nann:k-2, bob:k:3\n\nbare\n", "x").unwrap(),
            ..Access::default()
        };
        for (given, name) in [
            ("k-1", Some("ann")),
            ("k-2", Some("ann")),
            ("k:3", Some("bob")),
            ("bare", Some("client")),
            ("k", None),
            ("", None),
            ("k-11", None),
        ] {
            assert_eq!(access.tenant_of(given).map(|tenant| tenant.name.as_str()), name, "{given}");
        }
        assert!(!format!("{access:?}").contains("k-1"));
        for wrong in ["", "# only a comment", "ann:", ":key", "ann:a b"] {
            let error = ClientKey::read_all(wrong, "api_keys_file").unwrap_err();
            assert!(error.message.contains("name:key") && !error.message.contains("a b"), "{error}");
        }
    }
    fn parse(text: &str) -> Result<Access, String> {
        let environment = Environment::from([("HOME", "/h"), ("ANN", "k-ann"), ("BOB", "k-bob"), ("SPACE", "a b")]);
        let parsed = Config::parse(text, None, &super::super::Overrides::default(), &environment);
        parsed.map(|config| config.access).map_err(|error| error.message)
    }

    #[test]
    fn a_tenant_has_what_its_table_says_and_nothing_else() {
        let access = parse(
            r#"
            [[key]]
            name = "ann"
            key_env = "ANN"
            prefix = "team-a"
            models = ["small*", "fast"]
            modes = ["rewrite"]
            mcp_servers = ["notes", "files"]
            requests_per_minute = 30
            [[key]]
            name = "bob"
            key_env = "BOB"
            "#,
        )
        .unwrap();
        let (ann, bob) = (access.tenant_of("k-ann").unwrap(), access.tenant_of("k-bob").unwrap());
        assert_eq!((ann.name.as_str(), ann.prefix(), bob.prefix()), ("ann", "team-a", "bob"));
        assert_eq!((ann.modes.clone(), ann.requests_per_minute.map(u32::from)), (Some(vec![Mode::Rewrite]), Some(30)));
        for (own, called, may) in
            [("small:8b", "small:8b", true), ("big", "fast", true), ("SMALL", "x/SMALL", true), ("big", "big", false)]
        {
            assert_eq!(ann.may_use(own, called), may, "{own} {called}");
            assert!(bob.may_use(own, called));
        }
        let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(ann.servers(None), names(&["notes", "files"]));
        assert_eq!(ann.servers(names(&["mail", "files"]).as_deref()), names(&["files"]));
        assert_eq!((bob.servers(None), bob.servers(names(&["mail"]).as_deref())), (None, names(&["mail"])));
        assert!(!ann.operator && !bob.operator && Tenant::default().operator && Tenant::named("x").operator);
        assert!(!format!("{access:?}").contains("k-ann"));
    }

    #[test]
    fn a_table_that_cannot_be_meant_is_an_error() {
        for (wrong, names) in [
            ("name = \"ann\"", "key_env"),
            ("name = \"ann\"\nkey_env = \"NOBODY\"", "NOBODY"),
            ("name = \"ann\"\nkey_env = \"SPACE\"", "visible"),
            ("name = \"a b\"\nkey_env = \"ANN\"", "`name`"),
            ("name = \"a\"\nkey_env = \"ANN\"\nprefix = \"\"", "`prefix`"),
            ("name = \"a\"\nkey_env = \"ANN\"\nmodel = []", "models"),
            ("name = \"a\"\nkey_env = \"ANN\"\n[[key]]\nname = \"b\"\nkey_env = \"ANN\"", "same key"),
            ("name = \"client\"\nkey_env = \"ANN\"\n", "a name of its own"),
        ] {
            let error = parse(&format!("api_key_env = \"BOB\"\n[[key]]\n{wrong}")).unwrap_err();
            assert!(error.contains(names) && !error.contains("k-ann"), "{wrong}: {error}");
        }
    }
}
