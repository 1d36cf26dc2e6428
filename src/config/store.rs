//! `store`: the address of the state that several instances share.

use super::{Secret, raw::Options, secret::Source};
use crate::{
    error::Error,
    store::{PATIENCE, Place},
};

/// A shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedStore {
    /// `redis://` or `rediss://` with everything but the password.
    pub url: String,
    /// The password.
    pub password: Option<Secret>,
    /// Whether it is a cluster.
    pub cluster: bool,
    /// Why the password is missing, if that is not an error ([`super::Overrides::without_secrets`]).
    pub missing: Option<String>,
}

impl SharedStore {
    /// The store that the configuration names, if any.
    pub(super) fn read(raw: &Options, source: Source<'_>) -> Result<Option<SharedStore>, Error> {
        let (variable, file) = (raw.store_password_env.as_deref(), raw.store_password_file.as_deref());
        let Some(url) = &raw.store else {
            if variable.is_some() || file.is_some() || raw.store_cluster {
                return Err(Error::proxy(
                    "there is no `store` for `store_password_env`, `store_password_file` or `store_cluster`",
                ));
            }
            return Ok(None);
        };
        let hosts = url.strip_prefix("redis://").or_else(|| url.strip_prefix("rediss://"));
        let Some(hosts) = hosts.filter(|hosts| !hosts.is_empty() && !hosts.contains(char::is_whitespace)) else {
            return Err(Error::proxy(
                "`store` is not the URL of a Redis server; write it as redis://host:6379, with TLS as rediss://host:6379",
            ));
        };
        let (user, hosts) = hosts.rsplit_once('@').unwrap_or(("", hosts));
        if user.contains(':') {
            return Err(Error::proxy(
                "`store` holds a password; name the variable or the file that has it in `store_password_env` or `store_password_file`",
            ));
        }
        if hosts.contains(',') && !raw.store_cluster {
            return Err(Error::proxy("`store` names several servers: only a cluster has them (`store_cluster = true`)"));
        }
        let (password, missing) = match Secret::read("store_password", variable, file, source) {
            Ok(password) => (password, None),
            Err(what) if source.without_secrets => (None, Some(what)),
            Err(what) => return Err(Error::proxy(format!("the password of `store`: {what}"))),
        };
        Ok(Some(SharedStore { url: url.clone(), password, cluster: raw.store_cluster, missing }))
    }

    /// Its address for [`crate::store`].
    ///
    /// # Errors
    /// `configuration` if the password is missing.
    pub fn place(&self) -> Result<Place<'_>, Error> {
        match &self.missing {
            Some(what) => Err(Error::proxy(format!("the password of `store`: {what}")).with_code("configuration")),
            None => Ok(Place {
                url: &self.url,
                password: self.password.as_ref().map(Secret::reveal),
                cluster: self.cluster,
                patience: PATIENCE,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Config, Environment, Overrides};

    #[test]
    fn a_shared_store_is_a_url_and_its_password_is_elsewhere() {
        let environment = Environment::from([("HOME", "/h"), ("PASSWORD", "s3cret")]);
        let parse = |text: &str, without_secrets| {
            let overrides = Overrides { without_secrets, ..Overrides::default() };
            Config::parse(text, Some(Path::new("/etc/tg/proxy.toml")), &overrides, &environment)
        };
        assert_eq!(parse("", false).unwrap().store, None);
        let store =
            parse("store = \"rediss://app@cache:6380/1\"\nstore_password_env = \"PASSWORD\"", false).unwrap().store.unwrap();
        let place = store.place().unwrap();
        assert_eq!((place.url, place.password, place.cluster), ("rediss://app@cache:6380/1", Some("s3cret"), false));
        assert!(!format!("{store:?}").contains("s3cret"));
        for (wrong, names) in [
            ("store = \"cache:6379\"", "redis://host"),
            ("store = \"redis://\"", "redis://host"),
            ("store = \"redis://:hunter2@cache\"", "store_password_file"),
            ("store = \"redis://a,b\"", "store_cluster"),
            ("store = \"redis://a\"\nstore_password_env = \"NOT_SET\"", "NOT_SET"),
            ("store = \"redis://a\"\nstore_password_file = \"none\"", "/etc/tg/none"),
            ("store_cluster = true", "no `store`"),
        ] {
            let error = parse(wrong, false).unwrap_err();
            assert!(error.message.contains(names) && !error.message.contains("hunter2"), "{error}");
        }
        let missing = parse("store = \"redis://a\"\nstore_password_env = \"NOT_SET\"", true).unwrap().store.unwrap();
        assert!(missing.place().unwrap_err().message.contains("NOT_SET"));
    }
}
