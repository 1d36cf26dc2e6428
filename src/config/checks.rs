//! Checks of a whole configuration.

use std::collections::HashSet;

use super::{Config, Limits};
use crate::error::Error;

/// What is wrong with a configuration, where nothing but the message is known.
pub(super) fn wrong<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::proxy(message))
}

impl Config {
    /// Checks the values.
    ///
    /// # Errors
    /// The first one that cannot be meant.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_shell()?;
        self.check_visitors()?;
        self.react.check()?;
        if self.retry > 3 {
            return wrong(format!("`retry` is {}: a whole number from 0 to 3 is wanted", self.retry));
        }
        let Limits { body_bytes, argument_bytes, connections, .. } = self.limits;
        let sizes = [("body_bytes", body_bytes), ("argument_bytes", argument_bytes), ("connections", connections)];
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return wrong(format!("`limits`: `{name}` must be at least 1"));
        }
        if let Some(name) = twice(self.backends.iter().map(|backend| backend.name.as_str())) {
            return wrong(format!("two backends are named `{name}`: give each a `name` of its own"));
        }
        if let Some(name) = twice(self.aliases.iter().map(|alias| alias.name.as_str())) {
            return wrong(format!(
                "two aliases are named `{name}`: give each a `name` of its own; only the first one would count"
            ));
        }
        for alias in &self.aliases {
            alias.check()?;
        }
        for route in &self.routes {
            let Some(wanted) = &route.backend else { continue };
            if !self.backends.iter().any(|backend| backend.name == *wanted) {
                let names: Vec<&str> = self.backends.iter().map(|backend| backend.name.as_str()).collect();
                let near = super::nearest(wanted, &names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                let model = &route.model;
                return wrong(format!("the route for `{model}` names the backend `{wanted}`, which is not configured{near}"));
            }
        }
        Ok(())
    }
}

/// The first name that is there more than once.
pub(super) fn twice<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.find(|name| !seen.insert(*name))
}
