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
            (Some(variable), None) => match source.environment.get(variable).unwrap_or_default().trim() {
                "" => Err(format!("the environment variable {} of `{name}_env` is not set", variable_name(variable))),
                text => Ok(Some(Secret::key(text))),
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

/// The name of a variable for a message, unless it may be a key that somebody wrote in its place.
pub(super) fn variable_name(name: &str) -> &str {
    let has = |what: fn(&char) -> bool| name.chars().any(|c| what(&c));
    let is_name = !has(|c| !c.is_ascii_alphanumeric() && *c != '_');
    let is_random = has(char::is_ascii_lowercase) && has(char::is_ascii_digit);
    if is_name && !is_random { name } else { "(not shown: the name of a variable is expected, and this may be a key)" }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Overrides};

    const BACKEND: &str = "[[backend]]\nname = \"b\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\n";

    fn parse(text: &str) -> Result<Config, String> {
        let environment = Environment::from([("K", " sk-of-the-variable\n"), ("BLANK", " \n")]);
        Config::parse(text, None, &Overrides::default(), &environment).map_err(|error| error.message)
    }

    #[test]
    fn a_key_of_a_variable_is_trimmed_and_then_masked() {
        let config = parse(&format!("{BACKEND}api_key_env = \"K\"\n")).unwrap();
        assert_eq!(config.backends[0].key.as_ref().map(Secret::reveal), Some("sk-of-the-variable"));
        assert_eq!(redact::known("wrong key sk-of-the-variable."), "wrong key ***.");
        assert!(parse(&format!("{BACKEND}api_key_env = \"BLANK\"\n")).unwrap_err().contains("BLANK"));
        assert_eq!(parse("[mcp]\ntoken_env = \"K\"\n").unwrap().mcp.serving.token.unwrap().reveal(), "sk-of-the-variable");
    }

    #[test]
    fn a_key_in_the_place_of_a_variables_name_is_not_repeated() {
        for key in ["sk-pasted-here-12345", "hf_abcDEFghi123", "pass word"] {
            for text in [
                format!("{BACKEND}api_key_env = \"{key}\"\n"),
                format!("api_key_env = \"{key}\"\n"),
                format!("[[key]]\nname = \"ann\"\nkey_env = \"{key}\"\n"),
                format!("[mcp]\ntoken_env = \"{key}\"\n"),
            ] {
                let error = parse(&text).unwrap_err();
                assert!(!error.contains(key) && error.contains("may be a key"), "{error}");
            }
        }
        assert!(parse(&format!("{BACKEND}api_key_env = \"MY_KEY_2\"\n")).unwrap_err().contains("MY_KEY_2"));
    }
}
