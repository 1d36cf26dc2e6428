//! `[[route]]`: settings for the models whose name matches a glob.

use serde::{Deserialize, Serialize};

use super::Mode;

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
pub(crate) fn matches(glob: &str, name: &str) -> bool {
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
