//! Converts a JSON Schema to llama.cpp's grammar notation (GBNF) for the values that fit it. What the notation cannot express well
//! (patterns, bounds of numbers) is checked after the answer.
//!
//! The notation: <https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md>.

use std::{collections::HashMap, fmt::Write};

use serde_json::{Map, Value};

use crate::fix::View;

/// A grammar that is being written. Each rule is written once.
#[derive(Debug)]
pub(super) struct Grammar<'s> {
    text: String,
    rules: usize,
    /// The schema that references point into.
    root: &'s Value,
    /// The rule for each reference so far.
    known: HashMap<String, String>,
}

/// Whitespace is bounded, because small models can write it without end.
const COMMON: &str = r#"ws ::= | " " | "\n" [ \t]{0,16}
char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
string ::= "\"" char* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
member ::= string ws ":" ws value
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
value ::= object | array | string | number | boolean | null
"#;

/// The empty text, which ends a list of members.
const NOTHING: &str = "\"\"";
/// A schema with more alternatives than this is not spelled out.
const CHOICES: usize = 500;

impl<'s> Grammar<'s> {
    /// A grammar with the common rules only.
    pub(super) fn new() -> Grammar<'s> {
        Grammar { text: COMMON.to_owned(), rules: 0, root: &Value::Null, known: HashMap::new() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Adds a rule and returns its name.
    pub(super) fn rule(&mut self, body: &str) -> String {
        self.rules += 1;
        let name = format!("r{}", self.rules);
        self.named(&name, body);
        name
    }

    /// Adds a rule with this name.
    pub(super) fn named(&mut self, name: &str, body: &str) {
        let _ = writeln!(self.text, "{name} ::= {body}");
    }

    /// Adds the rule for a tool's arguments, an object, and returns its name.
    pub(super) fn arguments(&mut self, schema: &'s Value) -> String {
        (self.root, self.known) = (schema, HashMap::new());
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => self.object(schema, properties),
            // No properties: anything that the schema allows, or nothing for an empty schema.
            None if schema.as_object().is_some_and(|schema| !schema.is_empty()) => self.schema(schema),
            None => self.rule(r#""{" ws "}""#),
        }
    }

    /// Adds a rule for values that fit the schema, and returns its name.
    fn schema(&mut self, schema: &'s Value) -> String {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(reference);
        }
        if let Some(value) = schema.get("const") {
            return self.rule(&literal(&value.to_string()));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|values| values.len() <= CHOICES) {
            let values: Vec<String> = values.iter().map(|value| literal(&value.to_string())).collect();
            return self.rule(&values.join(" | "));
        }
        if let Some(choices) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array()) {
            let choices: Vec<String> = choices.iter().map(|choice| self.schema(choice)).collect();
            return self.rule(&choices.join(" | "));
        }
        if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            return self.schema(only);
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.typed(schema, kind),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<String> = kinds.iter().filter_map(Value::as_str).map(|kind| self.typed(schema, kind)).collect();
                self.rule(&kinds.join(" | "))
            }
            _ => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => self.object(schema, properties),
                None => "value".to_owned(),
            },
        }
    }

    /// The rule for values of this type that fit the schema.
    fn typed(&mut self, schema: &'s Value, kind: &str) -> String {
        match kind {
            "object" => match (schema.get("properties").and_then(Value::as_object), schema.get("additionalProperties")) {
                (Some(properties), _) => self.object(schema, properties),
                (None, Some(values @ Value::Object(_))) => {
                    let value = self.schema(values);
                    let member = format!(r#"string ws ":" ws {value}"#);
                    self.rule(&format!(r#""{{" ws ({member} (ws "," ws {member})*)? ws "}}""#))
                }
                (None, _) => "object".to_owned(),
            },
            "array" => {
                let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return "array".to_owned() };
                let item = self.schema(items);
                let bound = |key: &str| schema.get(key).and_then(Value::as_u64).filter(|bound| *bound <= 50);
                let least = bound("minItems").unwrap_or(0);
                let further = match (least.saturating_sub(1), bound("maxItems").map(|most| most.saturating_sub(1))) {
                    (least, Some(most)) if least <= most => format!("{{{least},{most}}}"),
                    (0, _) => "*".to_owned(),
                    (least, _) => format!("{{{least},}}"),
                };
                let some = format!(r#"{item} (ws "," ws {item}){further}"#);
                let some = if least == 0 { format!("({some})?") } else { some };
                self.rule(&format!(r#""[" ws {some} ws "]""#))
            }
            "string" | "integer" | "number" | "boolean" | "null" => kind.to_owned(),
            _ => "value".to_owned(),
        }
    }

    /// Members in declared order; optional ones may be missing. Each position has two rules for the rest, one before and one after
    /// the first member, because of the commas.
    fn object(&mut self, schema: &'s Value, properties: &'s Map<String, Value>) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let mut rest = [NOTHING.to_owned(), NOTHING.to_owned()];
        let members: Vec<(bool, String)> = properties
            .iter()
            .map(|(key, property)| {
                let listed = required.is_some_and(|required| required.iter().any(|name| name == key));
                // What may be null may be left out.
                let needed = listed && !View::within(property, self.root).root().may_be_null();
                let value = self.schema(property);
                (needed, format!(r#"{} ws ":" ws {value}"#, literal(&Value::from(key.as_str()).to_string())))
            })
            .collect();
        for (needed, member) in members.iter().rev() {
            let [first, later] = rest;
            let option = |skipped: &str| if *needed { String::new() } else { format!(" | {skipped}") };
            let next_first = self.rule(&format!("{member} {later}{}", option(&first)));
            let next_later = self.rule(&format!(r#"ws "," ws {member} {later}{}"#, option(&later)));
            rest = [next_first, next_later];
        }
        let [first, _] = rest;
        self.rule(&format!(r#""{{" ws {first} ws "}}""#))
    }

    /// The rule for a reference inside the schema, which may be recursive.
    fn reference(&mut self, reference: &str) -> String {
        if let Some(name) = self.known.get(reference) {
            return name.clone();
        }
        let Some(target) = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) else {
            return "value".to_owned();
        };
        self.rules += 1;
        let name = format!("d{}", self.rules);
        self.known.insert(reference.to_owned(), name.clone());
        let body = self.schema(target);
        self.named(&name, &body);
        name
    }
}

/// A text as a terminal of the grammar, which is written like a JSON string.
pub(super) fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(schema: &Value) -> Vec<String> {
        let mut grammar = Grammar::new();
        let top = grammar.arguments(schema);
        let text = grammar.into_text();
        let own = text.strip_prefix(COMMON).unwrap();
        own.lines().map(str::to_owned).chain([top]).collect()
    }

    #[test]
    fn members_come_in_declared_order_and_optional_ones_may_be_missing() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]});
        assert_eq!(
            rules(&schema),
            [
                r#"r1 ::= "\"b\"" ws ":" ws integer """#,
                r#"r2 ::= ws "," ws "\"b\"" ws ":" ws integer """#,
                r#"r3 ::= "\"a\"" ws ":" ws string r2 | r1"#,
                r#"r4 ::= ws "," ws "\"a\"" ws ":" ws string r2 | r2"#,
                r#"r5 ::= "{" ws r3 ws "}""#,
                "r5",
            ]
        );
    }

    #[test]
    fn what_a_schema_can_say_is_said() {
        let of = |property: Value| rules(&json!({"properties": {"x": property}, "required": ["x"]})).concat();
        for (property, expected) in [
            (json!({"enum": ["a\"b", 2, null]}), r#""\"a\\\"b\"" | "2" | "null""#),
            (json!({"const": "on"}), r#""\"on\"""#),
            (json!({"type": ["string", "null"]}), "string | null"),
            (json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}), "integer | boolean"),
            (json!({"type": "array", "items": {"type": "number"}}), r#""[" ws (number (ws "," ws number)*)? ws "]""#),
            (
                json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}),
                r#"number (ws "," ws number){1,1} ws"#,
            ),
            (json!({"type": "object"}), "object"),
            (json!({"type": "object", "additionalProperties": {"type": "integer"}}), r#"string ws ":" ws integer"#),
            (json!({"type": "object", "properties": {}}), r#""{" ws "" ws "}""#),
            (json!(true), "value"),
            (json!({"$ref": "elsewhere.json"}), "value"),
        ] {
            let rules = of(property.clone());
            assert!(rules.contains(expected), "{property}: {rules}");
        }
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let schema = json!({
            "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "key": {"type": "integer"}}, "required": ["key"]}},
            "properties": {"top": {"$ref": "#/$defs/tree"}},
        });
        let rules = rules(&schema);
        assert!(rules.len() < 20 && rules.iter().any(|rule| rule.starts_with("d1 ::= ")), "{rules:?}");
    }

    #[test]
    fn a_tool_without_parameters_takes_an_empty_object() {
        for schema in [json!({}), json!({"type": "object", "properties": {}})] {
            let rules = rules(&schema);
            assert!(rules[0].starts_with(r#"r1 ::= "{" ws"#) && rules[0].ends_with(r#"ws "}""#), "{rules:?}");
        }
    }
}
