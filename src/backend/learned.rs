//! What is known of how a model at a backend wants to be spoken to, and how a refusal adds to it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Backend, Capabilities, Refusal, ToolMode};
use crate::store::{Key, Kind};

/// How a model at a backend wants to be spoken to, as far as it had to refuse something to make it known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Learned {
    /// How tools are offered.
    #[serde(with = "tool_mode")]
    pub tools: ToolMode,
    /// It has no system role.
    pub fold_system: bool,
    /// Its template takes user and assistant in turns only.
    pub alternate: bool,
    /// Its answers begin inside reasoning: the prompt opens it, and the backend leaves it to us to find its end.
    pub reasoning_open: bool,
    /// It does not think, and refuses to be asked to.
    pub no_thinking: bool,
    /// It can be told whether to think, not how much.
    pub no_effort: bool,
    /// It refuses fields that it does not know.
    pub plain: bool,
    /// Its server takes no grammar that begins with a call.
    pub no_grammar: bool,
}

// === impl Learned ===

impl Learned {
    /// Where it is kept.
    pub fn key(tenant: &str, backend: &Backend, model: &str) -> Key {
        Key { tenant: tenant.to_owned(), kind: Kind::Learned, id: format!("{}\n{}\n{model}", backend.name, backend.url) }
    }

    /// What the backend itself says about the model.
    pub fn told(capabilities: Option<Capabilities>) -> Learned {
        let tools = match capabilities {
            Some(Capabilities { tools: false, .. }) => ToolMode::Prompt,
            _ => ToolMode::Native,
        };
        Learned { tools, ..Learned::default() }
    }

    /// Draws the conclusion from a refusal; `false` if it teaches nothing new, so that asking again would change nothing.
    pub fn learn(&mut self, refusal: Refusal) -> bool {
        let before = *self;
        match refusal {
            Refusal::Tools if self.tools == ToolMode::Native => self.tools = ToolMode::Prompt,
            Refusal::Parser if self.tools == ToolMode::Native => self.tools = ToolMode::Raw,
            Refusal::Tools | Refusal::Parser => {}
            Refusal::System => self.fold_system = true,
            Refusal::Roles if !self.alternate => (self.alternate, self.fold_system) = (true, true),
            // Still: calls and results have no role there either.
            Refusal::Roles if self.tools == ToolMode::Native => self.tools = ToolMode::Prompt,
            Refusal::Roles => {}
            Refusal::Thinking => self.no_thinking = true,
            Refusal::Effort => self.no_effort = true,
            Refusal::Fields => self.plain = true,
        }
        *self != before
    }

    /// Leaves out of a request what the model refuses to be told of thinking. One that only knows whether to think thinks by
    /// itself.
    pub fn without_refused(&self, fields: &mut Map<String, Value>) {
        let is_level = |value: &Value| value.as_str().is_some_and(|level| level != "none");
        for field in ["think", "reasoning_effort"] {
            if self.no_thinking || self.no_effort && fields.get(field).is_some_and(is_level) {
                fields.shift_remove(field);
            }
        }
    }
}

/// [`ToolMode`] as the store keeps it.
mod tool_mode {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::backend::ToolMode;

    pub(super) fn serialize<S: Serializer>(mode: &ToolMode, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(mode.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolMode, D::Error> {
        // A word of another version means that nothing is known.
        Ok(match String::deserialize(deserializer)?.as_str() {
            "prompt" => ToolMode::Prompt,
            "raw" => ToolMode::Raw,
            _ => ToolMode::Native,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_teaches_once() {
        let mut learned = Learned::default();
        assert!(learned.learn(Refusal::Tools));
        assert_eq!(learned.tools, ToolMode::Prompt);
        assert!(!learned.learn(Refusal::Tools), "the tools were in the prompt already");
        assert!(!learned.learn(Refusal::Parser));
        assert!(learned.learn(Refusal::System) && !learned.learn(Refusal::System));
        // A template of two roles: first their order, then calls and results as text.
        let mut strict = Learned::default();
        assert!(strict.learn(Refusal::Roles) && strict.tools == ToolMode::Native && strict.alternate);
        assert!(strict.learn(Refusal::Roles) && strict.tools == ToolMode::Prompt);
        assert!(!strict.learn(Refusal::Roles));
        assert!(strict.learn(Refusal::Fields) && !strict.learn(Refusal::Fields));
    }

    #[test]
    fn what_was_learned_survives_the_store() {
        let learned = Learned {
            tools: ToolMode::Raw,
            fold_system: true,
            alternate: true,
            reasoning_open: true,
            no_thinking: false,
            no_effort: true,
            plain: true,
            no_grammar: true,
        };
        let kept = serde_json::to_vec(&learned).unwrap();
        assert_eq!(serde_json::from_slice::<Learned>(&kept).unwrap(), learned);
        assert_eq!(serde_json::from_slice::<Learned>(b"{}").unwrap(), Learned::default());
    }

    #[test]
    fn a_level_of_thinking_that_is_refused_is_left_out_and_a_switch_stays() {
        let fitted = |learned: Learned, fields: serde_json::Value| {
            let mut fields = fields.as_object().cloned().unwrap_or_default();
            learned.without_refused(&mut fields);
            serde_json::Value::Object(fields)
        };
        let switch = Learned { no_effort: true, ..Learned::default() };
        assert_eq!(fitted(switch, json!({"reasoning_effort": "high", "think": "low", "seed": 1})), json!({"seed": 1}));
        for kept in [json!({"reasoning_effort": "none"}), json!({"think": false}), json!({"think": true})] {
            assert_eq!(fitted(switch, kept.clone()), kept);
            assert_eq!(fitted(Learned { no_thinking: true, ..switch }, kept), json!({}));
        }
    }
}
