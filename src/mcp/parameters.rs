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
    factors: Vec<Factor>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Parameter {
    /// The tool's own name of it.
    target: Option<String>,
    /// The factor that belongs to it.
    factor: Option<String>,
    hide: bool,
    default: Option<Source>,
    /// The value, whatever the model gives (`override`).
    fixed: Option<Source>,
}

/// A named set of values.
#[derive(Debug, Clone, PartialEq)]
struct Factor {
    name: String,
    internal: bool,
    target: Option<String>,
    values: Map<String, Value>,
    /// Whether it is from the operator's file, not from the tool's schema.
    configured: bool,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Literal(Value),
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
        let mut policy = Policy::default();
        for (key, value) in object {
            match key.as_str() {
                "parameters" => {
                    for (name, value) in value.as_object().ok_or("`parameters` must be an object")? {
                        let parameter = Parameter::parse(value).map_err(|error| format!("`parameters.{name}`: {error}"))?;
                        policy.parameters.push((name.clone(), parameter));
                    }
                }
                FACTORS => policy.factors = factors(value, true)?,
                _ => return Err(format!("`{key}` is unknown; there are `parameters` and `{FACTORS}`")),
            }
        }
        Ok(policy)
    }

    /// Reads the keywords inside a tool's input schema; what is malformed there is left alone.
    pub fn of_schema(schema: &Value) -> Policy {
        let mut policy = Policy::default();
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
                let parameter = Parameter { target: text(TARGET), factor: text(FACTOR), ..Parameter::default() };
                if parameter != Parameter::default() {
                    policy.parameters.push((name.clone(), parameter));
                }
            }
        }
        if let Some(value) = schema.get(FACTORS) {
            policy.factors = factors(value, false).unwrap_or_default();
        }
        policy
    }

    /// Lays another policy over this one: its parameters and factors take the place of those of the same name.
    pub fn overlay(&mut self, over: &Policy) {
        for (name, parameter) in &over.parameters {
            match self.parameters.iter_mut().find(|(own, _)| own == name) {
                Some((_, own)) => *own = parameter.clone(),
                None => self.parameters.push((name.clone(), parameter.clone())),
            }
        }
        for factor in &over.factors {
            match self.factors.iter_mut().find(|own| own.name == factor.name) {
                Some(own) => *own = factor.clone(),
                None => self.factors.push(factor.clone()),
            }
        }
    }

    fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|(own, _)| own == name).map(|(_, parameter)| parameter)
    }

    fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// The factor of a property: the one that it names, else the one named exactly like it, else `<property>_defaults` if
    /// it holds signature defaults or `<property>_internal` if it holds internal values. Never by type.
    fn factor_of(&self, property: &str) -> Option<&Factor> {
        if let Some(named) = self.parameter(property).and_then(|parameter| parameter.factor.as_deref()) {
            return self.factor(named);
        }
        self.factor(property)
            .or_else(|| self.factor(&format!("{property}_defaults")).filter(|factor| !factor.internal))
            .or_else(|| self.factor(&format!("{property}_internal")).filter(|factor| factor.internal))
    }

    /// The tool's own name of what the model sees under this name.
    fn target_of<'a>(&'a self, property: &'a str) -> &'a str {
        self.parameter(property).and_then(|parameter| parameter.target.as_deref()).unwrap_or(property)
    }
}

impl Parameter {
    fn parse(value: &Value) -> Result<Parameter, String> {
        let object = value.as_object().ok_or("must be an object")?;
        let mut parameter = Parameter::default();
        for (key, value) in object {
            let text = || value.as_str().map(str::to_owned).ok_or(format!("`{key}` must be a string"));
            match key.as_str() {
                TARGET => parameter.target = Some(text()?),
                FACTOR => parameter.factor = Some(text()?),
                "hide" => parameter.hide = value.as_bool().ok_or("`hide` must be true or false")?,
                "default" => parameter.default = Some(Source::Literal(value.clone())),
                "default_from" => parameter.default = Some(Source::parse(value)?),
                "override" => parameter.fixed = Some(Source::Literal(value.clone())),
                "override_from" => parameter.fixed = Some(Source::parse(value)?),
                _ => {
                    return Err(format!(
                        "`{key}` is unknown; there are `hide`, `default`, `default_from`, `override`, `override_from`, `{TARGET}`, `{FACTOR}`"
                    ));
                }
            }
        }
        Ok(parameter)
    }
}

impl Source {
    fn parse(value: &Value) -> Result<Source, String> {
        let wrong = || "write it as {\"env\": \"NAME\"}, {\"file\": \"path\"} or {\"header\": \"name\"}".to_owned();
        let object = value.as_object().filter(|object| object.len() == 1).ok_or_else(wrong)?;
        let (kind, name) = object.iter().next().ok_or_else(wrong)?;
        let name = name.as_str().ok_or_else(wrong)?;
        match kind.as_str() {
            "env" => Ok(Source::Variable(name.to_owned())),
            "file" => Ok(Source::File(PathBuf::from(name))),
            "header" => Ok(Source::Header(name.to_ascii_lowercase())),
            _ => Err(wrong()),
        }
    }
}

fn factors(value: &Value, configured: bool) -> Result<Vec<Factor>, String> {
    let object = value.as_object().ok_or(format!("`{FACTORS}` must be an object"))?;
    object
        .iter()
        .map(|(name, value)| Factor::parse(name, value, configured).map_err(|error| format!("`{FACTORS}.{name}`: {error}")))
        .collect()
}

impl Factor {
    fn parse(name: &str, value: &Value, configured: bool) -> Result<Factor, String> {
        let internal = match value.get("source").and_then(Value::as_str) {
            Some("internal") => true,
            Some("signature_defaults") => false,
            _ => return Err("`source` must be \"internal\" or \"signature_defaults\"".into()),
        };
        let mut values = Map::new();
        for (key, parameter) in value.get("parameters").and_then(Value::as_object).ok_or("`parameters` must be an object")? {
            if let Some(default) = parameter.get("default") {
                values.insert(key.clone(), default.clone());
            }
        }
        let target = value.get(TARGET).and_then(Value::as_str).map(str::to_owned);
        Ok(Factor { name: name.to_owned(), internal, target, values, configured })
    }
}
