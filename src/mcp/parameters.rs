//! Applies an operator's policy for a tool's parameters. It determines the schema that the model sees, and turns the model's
//! arguments into those that the tool gets. Whether a tool may run at all is a `registry::Permission`.
//!
//! Three kinds of values meet: the model's own (*signature*), defaults that the model sees (*signature defaults*), and values
//! that it never sees (*internal*). For each parameter, the model's value takes precedence over a signature default, that over an
//! internal value, and that over the tool's own default.
//!
//! ```json
//! "tools": {
//!   "mail_*": {
//!     "parameters": {
//!       "tenant": {"override": "acme"},
//!       "token": {"hide": true, "default_from": {"env": "MAIL_TOKEN"}},
//!       "limit": {"default": 20},
//!       "Period": {"targetParam": "filter", "targetServiceFactor": "period"}
//!     },
//!     "mcp_service_factors": {
//!       "period": {"source": "signature_defaults", "parameters": {"days": {"default": 7}}},
//!       "columns": {"source": "internal", "targetParam": "select", "parameters": {"subject": {"default": true}}}
//!     }
//!   }
//! }
//! ```
//!
//! The keywords `targetParam`, `targetServiceFactor` and `mcp_service_factors` may also be inside a tool's input schema.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

mod apply;
#[cfg(test)]
mod tests;
mod view;

pub use apply::{Applied, Values, merge_parameter, merge_tool};
pub use view::View;

/// The policy for the parameters of one tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// By the name that the model sees.
    parameters: Vec<(String, Parameter)>,
    factors: Vec<(String, Factor)>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Parameter {
    hide: bool,
    #[serde(deserialize_with = "literal")]
    default: Option<Source>,
    default_from: Option<Source>,
    /// The value, whatever the model gives.
    #[serde(rename = "override", deserialize_with = "literal")]
    fixed: Option<Source>,
    #[serde(rename = "override_from")]
    fixed_from: Option<Source>,
    /// The tool's own name of it.
    #[serde(rename = "targetParam")]
    target: Option<String>,
    /// The factor that belongs to it.
    #[serde(rename = "targetServiceFactor")]
    factor: Option<String>,
}

/// A named set of values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Factor {
    source: Seen,
    #[serde(rename = "targetParam")]
    target: Option<String>,
    #[serde(rename = "parameters", deserialize_with = "defaults")]
    values: Map<String, Value>,
    /// Whether it is from the operator's file, not from the tool's schema.
    #[serde(skip)]
    configured: bool,
}

/// Whether the model sees the values of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Seen {
    Internal,
    SignatureDefaults,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    #[serde(skip)]
    Literal(Value),
    #[serde(rename = "env")]
    Variable(String),
    /// Relative to the registry's file.
    File(PathBuf),
    /// A header of the chat request, if it is one of the trusted ones.
    Header(String),
}

const TARGET: &str = "targetParam";
const FACTOR: &str = "targetServiceFactor";
const FACTORS: &str = "mcp_service_factors";

impl Policy {
    /// Reads an operator's decision.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(value: &Value) -> Result<Policy, String> {
        let object = value.as_object().ok_or("must be an object with `parameters` or `mcp_service_factors`")?;
        if let Some(key) = object.keys().find(|key| !["parameters", FACTORS].contains(&key.as_str())) {
            return Err(format!("`{key}` is unknown; there are `parameters` and `{FACTORS}`"));
        }
        let mut factors: Vec<(String, Factor)> = each(object, FACTORS)?;
        factors.iter_mut().for_each(|(_, factor)| factor.configured = true);
        Ok(Policy { parameters: each(object, "parameters")?, factors })
    }

    /// Reads the keywords inside a tool's input schema; what is malformed there is left alone.
    pub fn of_schema(schema: &Value) -> Policy {
        let keywords = |property: &Value| {
            let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
            Parameter { target: text(TARGET), factor: text(FACTOR), ..Parameter::default() }
        };
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let parameters = properties.map(|(name, property)| (name.clone(), keywords(property)));
        let parameters = parameters.filter(|(_, parameter)| *parameter != Parameter::default()).collect();
        let factors = schema.as_object().and_then(|schema| each(schema, FACTORS).ok()).unwrap_or_default();
        Policy { parameters, factors }
    }

    /// Lays another policy over this one: its parameters and factors take the place of those of the same name.
    pub fn overlay(&mut self, over: &Policy) {
        overlay(&mut self.parameters, &over.parameters);
        overlay(&mut self.factors, &over.factors);
    }

    fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|(own, _)| own == name).map(|(_, parameter)| parameter)
    }

    fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|(own, _)| own == name).map(|(_, factor)| factor)
    }

    /// The factor of a property: the one that it names, else the one named exactly like it, else `<property>_defaults` if
    /// it holds signature defaults or `<property>_internal` if it holds internal values. Never by type.
    fn factor_of(&self, property: &str) -> Option<&Factor> {
        if let Some(named) = self.parameter(property).and_then(|parameter| parameter.factor.as_deref()) {
            return self.factor(named);
        }
        self.factor(property)
            .or_else(|| self.factor(&format!("{property}_defaults")).filter(|factor| !factor.is_internal()))
            .or_else(|| self.factor(&format!("{property}_internal")).filter(|factor| factor.is_internal()))
    }

    /// The tool's own name of what the model sees under this name.
    fn target_of<'a>(&'a self, property: &'a str) -> &'a str {
        self.parameter(property).and_then(|parameter| parameter.target.as_deref()).unwrap_or(property)
    }
}

impl Parameter {
    fn usual(&self) -> Option<&Source> {
        self.default.as_ref().or(self.default_from.as_ref())
    }

    fn forced(&self) -> Option<&Source> {
        self.fixed.as_ref().or(self.fixed_from.as_ref())
    }
}

impl Factor {
    fn is_internal(&self) -> bool {
        self.source == Seen::Internal
    }
}

/// The members of the object under this key.
fn each<T: DeserializeOwned>(object: &Map<String, Value>, key: &str) -> Result<Vec<(String, T)>, String> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    let members = value.as_object().ok_or(format!("`{key}` must be an object"))?;
    let read = |(name, value): (&String, &Value)| match value {
        Value::Object(_) => match T::deserialize(value) {
            Ok(read) => Ok((name.clone(), read)),
            Err(error) => Err(format!("`{key}.{name}`: {error}")),
        },
        _ => Err(format!("`{key}.{name}` must be an object")),
    };
    members.iter().map(read).collect()
}

fn literal<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Source>, D::Error> {
    Value::deserialize(from).map(|value| Some(Source::Literal(value)))
}

fn defaults<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    let parameters = Map::deserialize(from)?;
    Ok(parameters.into_iter().filter_map(|(name, parameter)| Some((name, parameter.get("default")?.clone()))).collect())
}

fn overlay<T: Clone>(own: &mut Vec<(String, T)>, over: &[(String, T)]) {
    for (name, value) in over {
        match own.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.clone(),
            None => own.push((name.clone(), value.clone())),
        }
    }
}
