//! What earlier refusals taught about a model at a backend, and how the next refusal adds to it.

use serde::{Deserialize, Serialize};

use super::{Backend, Capabilities, Model, Refusal, Rewrite, ToolMode, may_garble_tools};
use crate::store::{self, Key, Kind, Store};

/// How to ask a model at a backend, as learned from its refusals. Kept in the store for a day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Learned {
    /// How tools are offered.
    pub tools: ToolMode,
    /// Nobody has looked yet whether Ollama prints its tools as JSON (`backend::ollama`).
    pub tools_unseen: bool,
    /// What is changed in its requests.
    pub rewrites: Vec<Rewrite>,
    /// Its answers begin inside reasoning: the prompt opens it, and the backend does not separate it from the answer.
    pub reasoning_open: bool,
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
            // Refused again: calls and results have no role there either.
            Refusal::Form(Rewrite::Alternate) if self.needs(Rewrite::Alternate) => {
                return self.tools == ToolMode::Native && self.learn(Refusal::Tools);
            }
            Refusal::Form(Rewrite::Alternate) => {
                self.rewrite(Rewrite::FoldSystem);
                self.rewrite(Rewrite::Alternate);
            }
            Refusal::Form(Rewrite::NoPatterns) if self.needs(Rewrite::NoPatterns) => self.rewrite(Rewrite::PlainSchemas),
            Refusal::Form(rewrite) => self.rewrite(rewrite),
            Refusal::Field(name) if self.refused.len() < REFUSED && !self.refuses(&name) => self.refused.push(name),
            // It was left out, and that did not help.
            Refusal::Field(_) | Refusal::Fields => self.plain = true,
        }
        *self != before
    }

    /// Whether its requests are changed in this way.
    pub fn needs(&self, rewrite: Rewrite) -> bool {
        self.rewrites.contains(&rewrite)
    }

    /// Changes its requests in this way.
    pub fn rewrite(&mut self, rewrite: Rewrite) {
        if !self.needs(rewrite) {
            self.rewrites.push(rewrite);
        }
    }

    /// Whether it refused this field by name.
    pub fn refuses(&self, field: &str) -> bool {
        self.refused.iter().any(|refused| refused == field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_teaches_once() {
        let mut learned = Learned::default();
        assert!(learned.learn(Refusal::Tools));
        assert_eq!(learned.tools, ToolMode::Prompt);
        assert!(!learned.learn(Refusal::Tools), "the tools were in the prompt already");
        assert!(learned.learn(Refusal::Parser) && learned.tools == ToolMode::Raw && !learned.learn(Refusal::Parser));
        let system = || Refusal::Form(Rewrite::FoldSystem);
        assert!(learned.learn(system()) && !learned.learn(system()));
        // A template of two roles: first their order, then calls and results as text.
        let mut strict = Learned::default();
        let roles = || Refusal::Form(Rewrite::Alternate);
        assert!(strict.learn(roles()) && strict.tools == ToolMode::Native && strict.needs(Rewrite::FoldSystem));
        assert!(strict.learn(roles()) && strict.tools == ToolMode::Prompt);
        assert!(!strict.learn(roles()));
        // A grammar that fails without patterns too.
        let grammar = || Refusal::Form(Rewrite::NoPatterns);
        assert!(strict.learn(grammar()) && strict.learn(grammar()) && strict.needs(Rewrite::PlainSchemas));
        assert!(!strict.learn(grammar()));
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
            rewrites: vec![Rewrite::FoldSystem, Rewrite::ShortIds],
            reasoning_open: true,
            refused: vec!["seed".into()],
            plain: true,
            no_grammar: true,
        };
        let kept = serde_json::to_vec(&learned).unwrap();
        assert_eq!(serde_json::from_slice::<Learned>(&kept).unwrap(), learned);
        assert_eq!(serde_json::from_slice::<Learned>(b"{}").unwrap(), Learned::default());
    }
}
