//! Detects JSON that is about tools and calls none: descriptions, schemas, records of calls, lists of names.

use super::{
    super::{
        members::{members, unquote},
        typing,
    },
    keys::{DESCRIPTION, RECORD, is_usual},
};
use crate::{
    adapter::JsonKeys,
    event::{Tool, Tools},
    fix::{View, fold, name::known_tool},
};

/// The `type` of a call contains one of these.
const CALL_TYPES: [&str; 4] = ["function", "tool", "call", "action"];
/// An object with more keys than this that no call has is data.
const MAX_UNKNOWN: usize = 1;

/// Whether an object with a tool's name and its arguments is the record of a call, the description of a tool, or other data: a node
/// of a workflow (`"type": "n8n-nodes-base.slack"`), a task of an editor. `name`, `arguments`: the keys of these two.
pub(super) fn reports(members: &[(String, &str)], name: &str, arguments: &str, tool: Option<&Tool>) -> bool {
    let view = View::of(tool);
    let beside = || members.iter().filter(|(key, _)| key != name && key != arguments && !typing::has(view.root(), key));
    let has = |key: &str| beside().any(|(known, _)| known == key);
    let is_of_another_type = |(key, value): &(String, &str)| {
        let value = value.to_lowercase();
        key == "type" && value.starts_with('"') && !CALL_TYPES.iter().any(|word| value.contains(word))
    };
    RECORD.into_iter().any(has)
        || DESCRIPTION.into_iter().any(|key| has(key) && (key != "description" || arguments == "parameters"))
        || beside().any(is_of_another_type)
        || beside().filter(|(key, _)| !is_usual(key)).count() > MAX_UNKNOWN
}

/// Whether an object that names a tool describes it instead of calling it: its result, its description, a package of that name. A
/// key of descriptions decides that, unless it is a parameter. If the tool requires nothing, all other keys must be parameters.
/// If it requires some, as many keys may be unknown as required ones are missing, because these may be misspelt; and any number
/// if the key of the name is not just `name`.
pub(super) fn describes(members: &[(String, &str)], name: &str, written: &str, tools: &Tools) -> bool {
    let Some(tool) = known_tool(tools, written) else { return false };
    let view = View::of(Some(tool));
    let known = |key: &str| is_usual(key) || view.root().keys().any(|known| fold(known) == fold(key));
    let unknown = members.iter().filter(|(key, _)| key != name && !known(key)).count();
    if members.iter().any(|(key, _)| DESCRIPTION.contains(&key.as_str()) && !known(key)) {
        return true;
    }
    let missing = view.root().required().filter(|required| !members.iter().any(|(key, _)| fold(key) == fold(required))).count();
    unknown > missing && (name == "name" || view.root().required().next().is_none())
}

/// Whether a list only names tools: each element contains a name and nothing else, and one of the tools requires parameters.
pub(super) fn lists_names(list: &[&str], keys: &JsonKeys, tools: &Tools) -> bool {
    let name = |element: &&str| match members(element)?.as_slice() {
        [(key, name)] if keys.name.contains(key) => Some(unquote(name)),
        _ => None,
    };
    let names: Option<Vec<String>> = list.iter().map(name).collect();
    let requires = |name: &String| View::of(known_tool(tools, name)).root().required().next().is_some();
    names.is_some_and(|names| names.len() > 1 && names.iter().any(requires))
}
