//! Further names of models, for clients that judge a model by its name: maps the name that a client sees to the model's own
//! name.

use super::{Config, Mode};
use crate::error::Error;

/// A further name under which models are offered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// The name that clients see and write. Its `*` matches the same text as the one in `model`.
    pub name: String,
    /// The model's own name, with at most one `*` for any text.
    pub model: String,
    /// The mode of requests under this name.
    pub mode: Option<Mode>,
}

impl Alias {
    pub(super) fn check(&self) -> Result<(), Error> {
        let stars = |text: &str| text.matches('*').count();
        if stars(&self.name) != stars(&self.model) || stars(&self.name) > 1 {
            return Err(Error::proxy(format!(
                "the alias `{}` of `{}`: both have one `*`, for the same text, or none",
                self.name, self.model
            )));
        }
        if self.name.is_empty() || self.model.is_empty() || self.name == self.model {
            Err(Error::proxy(format!("the alias `{}` of `{}` is no other name", self.name, self.model)))
        } else {
            Ok(())
        }
    }
}

impl Config {
    /// The model's own name for a name that a client wrote: that of its alias, else the same name.
    pub fn own_name(&self, written: &str) -> String {
        let meant = self.aliases.iter().find_map(|alias| exchange(&alias.name, &alias.model, written));
        meant.unwrap_or_else(|| written.to_owned())
    }

    /// The mode of the alias that a client wrote, if it sets one.
    pub fn mode_of_name(&self, written: &str) -> Option<Mode> {
        self.aliases.iter().find(|alias| exchange(&alias.name, &alias.model, written).is_some())?.mode
    }

    /// The further names of a model.
    pub fn further_names(&self, model: &str) -> impl Iterator<Item = String> {
        self.aliases.iter().filter_map(move |alias| exchange(&alias.model, &alias.name, model))
    }
}

/// What `name` is called on the other side, if it fits `from`: the text of its `*` in the place of the one in `to`.
fn exchange(from: &str, to: &str, name: &str) -> Option<String> {
    match (from.split_once('*'), to.split_once('*')) {
        (Some((before, after)), Some((new_before, new_after))) => {
            let text = name.strip_prefix(before)?.strip_suffix(after)?;
            Some(format!("{new_before}{text}{new_after}"))
        }
        _ => (from == name).then(|| to.to_owned()),
    }
}
