//! Who may use the server, and what a request may choose: client keys, and the modes that are open to requests.

use std::{fmt, path::Path};

use sha2::{Digest, Sha256};

use super::{Config, Environment, Mode};
use crate::error::Error;

/// Who may use the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// The keys that clients use; none: nobody needs one.
    pub keys: Vec<ClientKey>,
    /// Other machines may use the server without a key.
    pub insecure: bool,
    /// The modes that a request may choose by its path or header; `None`: all. Those of the configuration are always open.
    pub modes: Option<Vec<Mode>>,
}

/// A key of a client, by the name of whoever holds it. Only the hash of the key is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientKey {
    /// Who holds it, for the log and for what is kept per caller. Two keys may have one name.
    pub name: String,
    digest: [u8; 32],
}

/// The name of a key that was written without one.
const UNNAMED: &str = "client";

// === impl Access ===

impl Access {
    /// The name of the key that was given. Takes the same time wherever keys differ.
    pub fn name_of(&self, given: &str) -> Option<&str> {
        let given: [u8; 32] = Sha256::digest(given).into();
        let opens = |key: &ClientKey| key.digest.iter().zip(given).fold(0, |differ, (own, given)| differ | (own ^ given)) == 0;
        // Every key is looked at, whichever fits.
        self.keys.iter().fold(None, |found, key| if opens(key) { Some(key.name.as_str()) } else { found })
    }
}

// === impl Config ===

impl Config {
    /// Fails (code `configuration`) if other machines could use the server and nobody said that they may.
    pub fn check_exposure(&self) -> Result<(), Error> {
        let Access { keys, insecure, .. } = &self.access;
        if *insecure || !keys.is_empty() || !self.listen.is_beyond_loopback() {
            return Ok(());
        }
        let address = self.listen.addresses.first().map(ToString::to_string).unwrap_or_default();
        Err(Error::proxy(format!(
            "`listen` is {address}: other machines can reach it, and no client needs a key. Name the keys in `api_keys_file` or \
             `api_key_env`, or set `insecure = true` if everybody in that network may use your models and tools"
        ))
        .with_code("configuration"))
    }
}

/// The keys of a file and of a variable.
pub(super) fn keys(
    file: Option<&Path>,
    variable: Option<&str>,
    base: &Path,
    environment: &Environment,
) -> Result<Vec<ClientKey>, Error> {
    let mut keys = Vec::new();
    if let Some(file) = file {
        let file = base.join(file);
        let text = std::fs::read_to_string(&file)
            .map_err(|error| Error::proxy(format!("`api_keys_file`: cannot read {}: {error}", file.display())))?;
        keys.extend(ClientKey::read_all(&text, "api_keys_file")?);
    }
    if let Some(variable) = variable {
        let text = environment
            .get(variable)
            .ok_or_else(|| Error::proxy(format!("`api_key_env`: the environment variable `{variable}` is not set")))?;
        keys.extend(ClientKey::read_all(text, "api_key_env")?);
    }
    Ok(keys)
}

// === impl ClientKey ===

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
        Ok(ClientKey { name: name.to_owned(), digest: Sha256::digest(key).into() })
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(access.name_of(given), name, "{given}");
        }
        assert!(!format!("{access:?}").contains("k-1"));
        for wrong in ["", "# only a comment", "ann:", ":key", "ann:a b"] {
            let error = ClientKey::read_all(wrong, "api_keys_file").unwrap_err();
            assert!(error.message.contains("name:key") && !error.message.contains("a b"), "{error}");
        }
    }
}
