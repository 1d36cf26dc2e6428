//! `[[route]]`: settings for the models whose name matches a glob. `[[alias]]`: further names of models, for clients that judge a
//! model by its name.

use serde::{Deserialize, Serialize};

use super::{Config, Mode};
use crate::error::Error;

/// A rule for the models whose name matches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// A glob over the model's name, case ignored.
    pub model: String,
    /// The backend that serves it.
    pub backend: Option<String>,
    /// The adapter that reads it, instead of the one that its name selects.
    pub adapter: Option<String>,
    /// The mode of its requests.
    pub mode: Option<Mode>,
    /// How tools are offered to it, whatever the backend reports or refuses.
    pub tools: Option<ToolMode>,
}

/// How the tools are offered to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolMode {
    /// The request's `tools` go to the backend.
    #[default]
    Native,
    /// The tools are written into the prompt, because the model has no native tools.
    Prompt,
    /// The tools are written into the prompt, with calls in the family's own form, because the backend's parser destroys them.
    Raw,
    /// The client's own tool prompt and history pass unchanged, and the model answers in the client's form.
    Client,
}

impl ToolMode {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolMode::Native => "native",
            ToolMode::Prompt => "prompt",
            ToolMode::Raw => "raw",
            ToolMode::Client => "client",
        }
    }
}

/// Whether a glob (`*` any text, `?` one character) matches the whole name, case ignored.
pub fn matches(glob: &str, name: &str) -> bool {
    let glob: Vec<char> = glob.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // Greedy with one point of return: the last star, and how much of the name it has taken.
    let (mut g, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(&expected) if expected == '?' || Some(&expected) == name.get(n) => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                g = at + 1;
                n = taken + 1;
            }
        }
    }
    glob.get(g..).is_some_and(|rest| rest.iter().all(|&rest| rest == '*'))
}

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
