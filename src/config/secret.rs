//! Passwords and keys, which the configuration names and never holds.

use std::{fmt, path::Path};

use sha2::{Digest, Sha256};

use super::Environment;
use crate::{atomic, redact};

/// Where a configuration comes from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The folder that paths in it are relative to.
    pub(super) base: &'a Path,
    pub(super) environment: &'a Environment,
    /// Whether a missing secret is not an error ([`super::Overrides::without_secrets`]).
    pub(super) without_secrets: bool,
}

/// A text that must not be printed.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text from being printed.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// A key or a password, which is masked in all that leaves from now on.
    pub fn key(text: impl Into<String>) -> Secret {
        let text = text.into();
        redact::learn(&text);
        Secret(text)
    }

    /// The value of a header or a variable: masked in the same way if its name says that it is a secret, or if it looks like one.
    pub fn named(name: &str, text: impl Into<String>) -> Secret {
        let text = text.into();
        redact::learn_named(name, &text);
        Secret(text)
    }

    /// Reads the secret from a variable (`NAME_env`) or a file (`NAME_file`, relative to the configuration's folder); `None` if
    /// neither is named.
    ///
    /// # Errors
    /// Which of them is missing or wrong.
    pub(super) fn read(
        name: &str,
        variable: Option<&str>,
        file: Option<&Path>,
        source: Source<'_>,
    ) -> Result<Option<Secret>, String> {
        match (variable, file) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(format!("it is in `{name}_env` or in `{name}_file`, not in both")),
            (Some(variable), None) => match source.environment.get(variable) {
                Some(text) => Ok(Some(Secret::key(text))),
                None => Err(format!("the environment variable {variable} of `{name}_env` is not set")),
            },
            (None, Some(file)) => {
                let file = source.base.join(file);
                let text =
                    atomic::read(&file).map_err(|error| format!("the file {} of `{name}_file`: {error}", file.display()))?;
                match text.trim() {
                    "" => Err(format!("the file {} of `{name}_file` is empty", file.display())),
                    text => Ok(Some(Secret::key(text))),
                }
            }
        }
    }

    /// The text. Only for the code that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a header `Authorization` has it as its bearer token. Takes the same time wherever the two differ.
    pub fn is_bearer_of(&self, authorization: &str) -> bool {
        bearer(authorization).is_some_and(|given| Sha256::digest(given) == Sha256::digest(&self.0))
    }
}

/// The token of a header `Authorization: Bearer TOKEN` (RFC 6750, section 2.1).
pub fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
