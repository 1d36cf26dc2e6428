//! What Void does with an answer, by its own rules: the call that it executes, and the text that it shows.

use super::tags;
use crate::event::Tools;

/// A call that Void executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// The position of its tag in the answer. Void shows the text before it.
    pub at: usize,
    /// The tool.
    pub name: String,
    /// The parameters that Void found, as text.
    pub values: Vec<(String, String)>,
}

/// The call that Void executes in an answer: the first tag of an offered tool, wherever it is. A missing closing tag means that
/// the call reaches to the end.
pub fn executed(tools: &Tools, text: &str) -> Option<Executed> {
    let tags = tools.iter().filter_map(|tool| Some((text.find(&format!("<{}>", tool.name))?, tool)));
    let (at, tool) = tags.min_by_key(|(at, _)| *at)?;
    let body = text.get(at + tool.name.len() + 2..)?;
    let body = body.get(..body.rfind(&format!("</{}>", tool.name)).unwrap_or(body.len()))?;
    let schema: serde_json::Value = serde_json::from_str(&tool.schema).unwrap_or_default();
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let declared: Vec<&str> = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect();
    let values = tags::read_as_void(&declared, body);
    let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Some(Executed { at, name: tool.name.clone(), values })
}
