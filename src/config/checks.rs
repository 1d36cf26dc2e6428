//! Checks of a whole configuration. Each fault is collected, so that `toolglot check` names all of them at once.

use super::{Config, Limits};
use crate::error::Error;

/// The faults of a configuration, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Error>);

impl Faults {
    /// The value, or `None` and one fault more.
    pub(super) fn sift<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// A fault of which nothing but the message is known.
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.0.push(Error::proxy(message));
    }

    /// The value, if there is no fault.
    pub(super) fn end<T>(self, value: T) -> Result<T, Vec<Error>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

impl Config {
    /// Adds what is wrong with the values. `knows_backends`: each table of a backend could be read.
    pub(super) fn check(&self, knows_backends: bool, faults: &mut Faults) {
        faults.sift(self.check_shell());
        self.check_visitors(faults);
        if self.retry > 3 {
            faults.add(format!("`retry` is {}: a whole number from 0 to 3 is wanted", self.retry));
        }
        let Limits { body_bytes, argument_bytes, connections, .. } = self.limits;
        for (name, size) in [("body_bytes", body_bytes), ("argument_bytes", argument_bytes), ("connections", connections)] {
            if size == 0 {
                faults.add(format!("`limits`: `{name}` must be at least 1"));
            }
        }
        for name in twice(self.backends.iter().map(|backend| backend.name.as_str())) {
            faults.add(format!("two backends are named `{name}`: give each a `name` of its own"));
        }
        for name in twice(self.aliases.iter().map(|alias| alias.name.as_str())) {
            faults.add(format!("two aliases are named `{name}`: give each a `name` of its own; only the first one would count"));
        }
        for alias in &self.aliases {
            faults.sift(alias.check());
        }
        for route in self.routes.iter().filter(|_| knows_backends) {
            let Some(wanted) = &route.backend else { continue };
            if !self.backends.iter().any(|backend| backend.name == *wanted) {
                let names: Vec<&str> = self.backends.iter().map(|backend| backend.name.as_str()).collect();
                let near = super::nearest(wanted, &names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                let model = &route.model;
                faults.add(format!("the route for `{model}` names the backend `{wanted}`, which is not configured{near}"));
            }
        }
    }
}

/// The names that are there more than once, each of them once.
pub(super) fn twice<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let (mut seen, mut twice) = (Vec::new(), Vec::new());
    for name in names {
        if seen.contains(&name) && !twice.contains(&name) {
            twice.push(name);
        }
        seen.push(name);
    }
    twice
}
