//! What earlier refusals taught about a model at a backend, and how the next refusal adds to it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Backend, Capabilities, Model, Refusal, ToolMode, may_garble_tools};
use crate::store::{self, Key, Kind, Store};

/// How to ask a model at a backend, as learned from its refusals. Kept in the store for a day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Learned {
    /// How tools are offered.
    pub tools: ToolMode,
    /// Nobody has looked yet whether Ollama prints its tools as JSON (`backend::ollama`).
    pub tools_unseen: bool,
    /// It has no system role: system text joins the first user turn.
    pub fold_system: bool,
    /// Its chat template requires user and assistant to alternate.
    pub alternate: bool,
    /// Its answers begin inside reasoning: the prompt opens it, and the backend does not separate it from the answer.
    pub reasoning_open: bool,
    /// It refuses requests to reason.
    pub no_thinking: bool,
    /// Its reasoning can be switched on and off, but has no levels.
    pub no_effort: bool,
    /// Names of the fields that it refused, at most 16.
    pub refused: Vec<String>,
    /// It refuses unknown fields, and did not say which ones.
    pub plain: bool,
    /// Its server refuses the grammars of `backend::prevent`.
    pub no_grammar: bool,
}

/// Most fields of [`Learned::refused`]. A server that refuses more gets only those that every server knows.
const REFUSED: usize = 16;

impl Learned {
    /// Its key in the store.
    pub fn key(tenant: &str, backend: &Backend, model: &str) -> Key {
        Key { tenant: tenant.to_owned(), kind: Kind::Learned, id: format!("{}\n{}\n{model}", backend.name, backend.url) }
    }

    /// What is known about a model that the backend calls `name`: what was learned, else what its backend reports.
    pub async fn of(store: &dyn Store, tenant: &str, backend: &Backend, name: &str, model: &Model) -> Learned {
        let kept = store::read(store, &Learned::key(tenant, backend, name)).await;
        kept.unwrap_or_else(|| Learned::told(backend, model))
    }

    /// What follows from the backend's own report about the model.
    pub fn told(backend: &Backend, model: &Model) -> Learned {
        let tools = match model.capabilities {
            Some(Capabilities { tools: false, .. }) => ToolMode::Prompt,
            _ => ToolMode::Native,
        };
        Learned { tools, tools_unseen: may_garble_tools(backend, model), ..Learned::default() }
    }

    /// The same with what the model's route says about tools. `client` says only what becomes of a client's own tool prompt.
    pub fn on_route(self, tools: Option<ToolMode>) -> Learned {
        match tools.filter(|tools| *tools != ToolMode::Client) {
            Some(tools) => Learned { tools, tools_unseen: false, ..self },
            None => self,
        }
    }

    /// Why tools are offered so, in words. `route`: what the model's route says about tools.
    pub fn why(&self, route: Option<ToolMode>, model: &Model) -> &'static str {
        match (self.tools, model.capabilities) {
            (tools, _) if route == Some(tools) => "its route in the configuration says so",
            (ToolMode::Native, Some(Capabilities { tools: true, .. })) => "the backend says that it takes tools",
            (ToolMode::Native, None) => "the backend does not say; if it refuses tools, they go into the prompt",
            (ToolMode::Prompt, Some(Capabilities { tools: false, .. })) => "the backend says that it takes no tools",
            (ToolMode::Prompt, _) => "learned in the last day: the backend refuses the model's tools or garbles them",
            (ToolMode::Raw, _) => "learned in the last day: the backend's own parser fails on the model's calls",
            // The backend has described the model in another way since.
            (ToolMode::Native | ToolMode::Client, _) => "learned in the last day",
        }
    }

    /// Learns whether the backend prints the tools so that the model can read them.
    pub fn saw_tools(&mut self, garbled: bool) {
        self.tools_unseen = false;
        if garbled {
            self.learn(Refusal::Tools);
        }
    }

    /// Learns from a refusal. `false`: it teaches nothing new, so asking again would fail in the same way.
    pub fn learn(&mut self, refusal: Refusal) -> bool {
        let before = self.clone();
        match refusal {
            Refusal::Tools if self.tools == ToolMode::Native => self.tools = ToolMode::Prompt,
            // It reads every answer, also where the tools are in the prompt.
            Refusal::Parser => self.tools = ToolMode::Raw,
            Refusal::Tools => {}
            Refusal::System => self.fold_system = true,
            Refusal::Roles if !self.alternate => (self.alternate, self.fold_system) = (true, true),
            // Refused again: calls and results have no role there either.
            Refusal::Roles if self.tools == ToolMode::Native => self.tools = ToolMode::Prompt,
            Refusal::Roles => {}
            Refusal::Thinking => self.no_thinking = true,
            Refusal::Effort => self.no_effort = true,
            Refusal::Field(name) if self.refused.len() < REFUSED && !self.refuses(&name) => self.refused.push(name),
            // It was left out, and that did not help.
            Refusal::Field(_) | Refusal::Fields => self.plain = true,
        }
        *self != before
    }

    /// Whether it refused this field by name.
    pub fn refuses(&self, field: &str) -> bool {
        self.refused.iter().any(|refused| refused == field)
    }

    /// Removes the fields about reasoning that the model refuses. A model without levels then reasons as it does by default.
    pub fn without_refused(&self, fields: &mut Map<String, Value>) {
        let is_level = |value: &Value| value.as_str().is_some_and(|level| level != "none");
        for field in ["think", "reasoning_effort"] {
            if self.no_thinking || self.no_effort && fields.get(field).is_some_and(is_level) {
                fields.shift_remove(field);
            }
        }
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
        assert!(learned.learn(Refusal::Parser) && learned.tools == ToolMode::Raw && !learned.learn(Refusal::Parser));
        assert!(learned.learn(Refusal::System) && !learned.learn(Refusal::System));
        // A template of two roles: first their order, then calls and results as text.
        let mut strict = Learned::default();
        assert!(strict.learn(Refusal::Roles) && strict.tools == ToolMode::Native && strict.alternate);
        assert!(strict.learn(Refusal::Roles) && strict.tools == ToolMode::Prompt);
        assert!(!strict.learn(Refusal::Roles));
        assert!(strict.learn(Refusal::Fields) && !strict.learn(Refusal::Fields));
        // A field that is refused again although it was left out, and a server that refuses whatever comes.
        let mut named = Learned::default();
        assert!(named.learn(Refusal::Field("user".into())) && named.refuses("user") && !named.plain);
        assert!(named.learn(Refusal::Field("user".into())) && named.plain && !named.learn(Refusal::Field("user".into())));
        let mut endless = Learned::default();
        let refused = (0..100).take_while(|at| endless.learn(Refusal::Field(format!("f{at}")))).count();
        assert_eq!((refused, endless.plain), (REFUSED + 1, true));
    }

    #[test]
    fn what_was_learned_survives_the_store() {
        let learned = Learned {
            tools: ToolMode::Raw,
            tools_unseen: true,
            fold_system: true,
            alternate: true,
            reasoning_open: true,
            no_thinking: false,
            no_effort: true,
            refused: vec!["seed".into()],
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
        assert_eq!(fitted(switch.clone(), json!({"reasoning_effort": "high", "think": "low", "seed": 1})), json!({"seed": 1}));
        for kept in [json!({"reasoning_effort": "none"}), json!({"think": false}), json!({"think": true})] {
            assert_eq!(fitted(switch.clone(), kept.clone()), kept);
            assert_eq!(fitted(Learned { no_thinking: true, ..switch.clone() }, kept), json!({}));
        }
    }
}
