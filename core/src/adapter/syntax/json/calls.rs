//! Extracts the calls from one JSON value: the keys of name and arguments, and what may be wrapped around them.

use serde_json::Value;

use super::{
    super::{
        Context, Parsed, Step, UNFINISHED, WORD_BYTES,
        members::{elements, is_closed, is_open, members, unquote},
        python,
        typing::Types,
        unclosed,
        value::is_json,
    },
    described::{describes, is_schema, lists_names, reports},
    flags,
    keys::{
        ARGUMENT_KEYS, BUNDLE, CALLS_A_TOOL, IDS, NAME_KEYS, OTHER_KEYS, RECORD, SAID, UNSURE_NAMES, WHOLE_MESSAGE, WRAPPERS,
        is_usual,
    },
};
use crate::{
    adapter::JsonKeys,
    event::{ToolChoice, Tools},
    fix::{
        End, Verdict, fix, fold,
        name::{is_known, known_tool},
    },
    json::Code,
};

/// Maximum depth of wrappers.
const NESTED_WRAPPERS: usize = 4;

/// A call in a value. `closed`: the model closed its name and arguments.
#[derive(Default)]
pub(super) struct Found {
    pub(super) call: Parsed,
    pub(super) closed: bool,
}

impl JsonKeys {
    /// The keys of calls if the adapter specifies none.
    pub(in crate::adapter) fn usual() -> JsonKeys {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        JsonKeys {
            name: owned(&NAME_KEYS),
            arguments: owned(&ARGUMENT_KEYS),
            name_is_key: false,
            array: false,
            keep_id: false,
            header: Vec::new(),
        }
    }
}

/// The calls in one value. `None`: it does not have the form of a call. `open`: the text may end inside the value, and only what
/// was closed of the last call is returned.
pub(super) fn calls(value: &str, keys: &JsonKeys, context: Context<'_>, open: bool) -> Option<Vec<Found>> {
    Layer { keys, context, depth: 0, open }.calls(value)
}

/// How a value is read that `depth` wrappers are around.
#[derive(Clone, Copy)]
struct Layer<'a> {
    keys: &'a JsonKeys,
    context: Context<'a>,
    depth: usize,
    /// The text may end inside the value.
    open: bool,
}

impl Layer<'_> {
    /// The calls in a value inside of this one.
    fn inner(self, value: &str) -> Option<Vec<Found>> {
        let inner = Layer { depth: self.depth + 1, ..self };
        if inner.depth > NESTED_WRAPPERS { None } else { inner.calls(value) }
    }

    fn calls(self, value: &str) -> Option<Vec<Found>> {
        let Layer { keys, context, open, .. } = self;
        if let Some(plain) = decoded(value) {
            return self.inner(plain.trim());
        }
        if let Some(list) = elements(value) {
            if !context.marked && lists_names(&list, keys, context.tools) {
                return None;
            }
            let last = list.len().wrapping_sub(1);
            let found: Option<Vec<Vec<Found>>> = list
                .into_iter()
                .enumerate()
                .map(|(at, element)| {
                    let unread = || (open && at == last).then(|| vec![Found::default()]);
                    Layer { open: open && at == last, ..self }.inner(element).or_else(unread)
                })
                .collect();
            return found.map(|found| found.into_iter().flatten().collect::<Vec<_>>()).filter(|found| !found.is_empty());
        }
        if !value.starts_with('{') {
            return in_python(value, context);
        }
        if let Some(plain) = flags::plain(value, context.tools) {
            return self.inner(&plain);
        }
        self.in_object(value, &members(value)?)
    }

    /// The calls in an object.
    fn in_object(self, value: &str, members: &[(String, &str)]) -> Option<Vec<Found>> {
        let Layer { keys, context, .. } = self;
        if let Some(found) = self.in_said(members) {
            return Some(found);
        }
        // Data, unless calls are in it.
        if !context.marked && members.first().is_some_and(|(key, _)| SAID.contains(&key.as_str())) && wrapped(members).is_none() {
            return None;
        }
        let get = |key: &str| member(members, key);
        if let Some(wrapped) = wrapped(members).filter(|value| value.starts_with(['{', '[', '"'])) {
            let record = !context.marked && RECORD.into_iter().any(|key| get(key).is_some());
            let found = if record { None } else { self.inner(wrapped).or_else(|| without_braces(wrapped, context.tools)) };
            // A string that is no call may be the name.
            if found.is_some() || !wrapped.starts_with('"') {
                return found;
            }
        }
        if let [(key, message)] = members
            && key == WHOLE_MESSAGE
        {
            return self.inner(message);
        }
        if let Some(params) = get("params").filter(|_| get("method").is_some_and(|method| unquote(method) == CALLS_A_TOOL)) {
            return self.inner(params);
        }
        let unsure = || {
            UNSURE_NAMES.into_iter().find_map(|key| Some((key, get(key).filter(|name| is_known(context.tools, &unquote(name)))?)))
        };
        if let Some(named) = find(members, &keys.name).or_else(unsure) {
            return self.of_name(named, value, members);
        }
        if let [(name, arguments)] = members
            && arguments.starts_with('{')
            && (keys.name_is_key || context.tools.get(name).is_some())
        {
            let call = Parsed::new(name, *arguments);
            return Some(vec![Found { call, closed: is_closed(arguments) }]);
        }
        match &context.tools.choice {
            ToolChoice::Named(name) if !context.marked => {
                let call = Parsed::new(name, value);
                Some(vec![Found { call, closed: is_closed(value) }])
            }
            _ => None,
        }
    }

    /// The calls in a message that is an object, if its text is nothing else: `{"content": "{\"name\": ..}"}`. All must be of offered
    /// tools. Source: toolcall-repair-bench 45 and 59, Qwen3.5 9B.
    fn in_said(self, members: &[(String, &str)]) -> Option<Vec<Found>> {
        let [(key, said)] = members else { return None };
        let calls = || self.inner(said).filter(|found| found.iter().all(|found| is_known(self.context.tools, &found.call.name)));
        if SAID.contains(&key.as_str()) && said.starts_with('"') { calls() } else { None }
    }

    /// The call in an object in which `key` has the name, or the calls in it if they are there.
    fn of_name(self, (key, name): (&str, &str), value: &str, members: &[(String, &str)]) -> Option<Vec<Found>> {
        let Layer { keys, context, open, .. } = self;
        let id = IDS.into_iter().find_map(|key| member(members, key));
        let id = id.filter(|id| keys.keep_id && id.starts_with('"') && is_closed(id)).map(unquote);
        if name.starts_with('{') {
            let mut inner = match arguments_beside(members, name, keys) {
                Some((name, arguments)) => {
                    vec![Found { call: Parsed::new(&name, arguments), closed: is_closed(arguments) }]
                }
                None => self.inner(name)?,
            };
            inner.iter_mut().for_each(|found| found.call.id = found.call.id.take().or_else(|| id.clone()));
            return Some(inner);
        }
        if name.starts_with('[') || name.len() > WORD_BYTES {
            return None;
        }
        if open && !is_closed(name) {
            return Some(vec![Found::default()]);
        }
        let written = unquote(name);
        // Two names are two calls or none.
        if let Some((_, other)) = members.iter().find(|(known, other)| known == key && unquote(other) != written) {
            return Some(vec![Found { call: Parsed { name: written, id, arguments: twice(key, [name, other]) }, closed: true }]);
        }
        // A name may be quoted twice.
        let written = match written.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(inner) => inner.to_owned(),
            None => written,
        };
        let given = find(members, &keys.arguments);
        if let Some((key, first)) = given
            && let Some((_, other)) = members.iter().find(|(known, other)| known == key && other.trim() != first.trim())
        {
            let call = Parsed { name: written, id, arguments: twice(key, [first, other]) };
            return Some(vec![Found { call, closed: is_closed(value) }]);
        }
        let describes = || !context.marked && describes(members, key, &written, context.tools);
        let (arguments, closed) = match given {
            Some((at, _)) if !context.marked && reports(members, key, at, known_tool(context.tools, &written)) => return None,
            Some((_, arguments)) if member(members, "description").is_some() && is_schema(arguments) => return None,
            Some((at, arguments)) if is_closed(arguments) => {
                let beside = members.iter().filter(|(other, _)| other != key && other != at);
                let whole = with_members_beside(arguments, beside, &written, context.tools);
                // A brace is missing, perhaps one of the arguments. The fixer knows where that makes a difference.
                let doubtful = is_open(value) && may_lack_brace(&whole, &written, context.tools);
                (if doubtful { without_brace(whole) } else { whole }, true)
            }
            Some((_, arguments)) => (arguments.to_owned(), false),
            None if describes() => return None,
            None if open && !is_closed(value) => (unclosed(&flattened(members, key, &written, context.tools)), false),
            None => (flattened(members, key, &written, context.tools), true),
        };
        let is_name = written.contains(char::is_alphanumeric) && !written.starts_with('<') && !written.contains(['"', '{', '}']);
        is_name.then(|| vec![Found { call: Parsed { name: written, id, arguments }, closed }])
    }
}

/// The call in a wrapper that lacks the braces around its name and arguments: `{"tool_call": "f": {..}}`. Source:
/// toolcall-repair-bench 147, Gemma 4 E2B.
fn without_braces(wrapped: &str, tools: &Tools) -> Option<Vec<Found>> {
    let braced = format!("{{{wrapped}}}");
    let [(name, arguments)] = &members(&braced)?[..] else { return None };
    let found = || Found { call: Parsed::new(name, *arguments), closed: is_closed(arguments) };
    (is_known(tools, name) && arguments.starts_with('{')).then(|| vec![found()])
}

/// An object in which a key has two values. The fixer decides about it.
fn twice(key: &str, [first, other]: [&str; 2]) -> String {
    format!("{{\"{key}\": {first}, \"{key}\": {other}}}")
}

/// The value of a member of an object.
fn member<'t>(members: &[(String, &'t str)], key: &str) -> Option<&'t str> {
    members.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
}

/// The calls in a value whose syntax must be repaired, without a guess: `{"name" "f", "arguments": {..}}`. All must be of offered
/// tools. A call that the repair closed is not `closed`.
pub(super) fn repaired(value: &str, keys: &JsonKeys, context: Context<'_>) -> Option<Vec<Found>> {
    let report = fix(value, None, &[], End::Closed);
    let plain = report.accepted().filter(|_| matches!(report.verdict, Verdict::Lossless | Verdict::Coerced))?;
    let mut found = calls(plain, keys, context, false)?;
    let mended = |rule: Code| report.fixes.iter().any(|fix| fix.rule == rule);
    for found in &mut found {
        found.closed &= !mended(Code::X2);
        if mended(Code::S12) || mended(Code::X2) {
            found.call.arguments = without_brace(std::mem::take(&mut found.call.arguments));
        }
    }
    found.iter().all(|found| is_known(context.tools, &found.call.name)).then_some(found)
}

/// Decodes a value that was escaped as a whole: a call as a JSON string.
fn decoded(value: &str) -> Option<String> {
    if value.starts_with(['"', '\'']) { Some(unquote(value)) } else { half_escaped(value) }
}

/// Decodes an object whose last member is escaped as if inside a string: `{"name": "f", "arguments": {\"a\": 1}}`. `None`: the
/// result is not strict JSON.
fn half_escaped(value: &str) -> Option<String> {
    let at = value.find("{\\\"").filter(|&at| value[..at].trim_end().ends_with(':') && !is_json(value))?;
    let member: String = serde_json::from_str(&format!("\"{}\"", &value[at..])).ok()?;
    let whole = format!("{}{member}", &value[..at]);
    is_json(&whole).then_some(whole)
}

/// Python calls that are a whole string.
fn in_python(text: &str, context: Context<'_>) -> Option<Vec<Found>> {
    match python::read(text, Context { marked: false, close: &[], end: true, ..context }) {
        Step::Done { calls, end } if text[end..].trim().is_empty() => {
            Some(calls.into_iter().map(|call| Found { call, closed: true }).collect())
        }
        _ => None,
    }
}

/// Unpacks a call of `multi_tool_use.parallel`, however the model names it. Any other call is returned as it is.
pub(crate) fn bundled(call: Parsed, context: Context<'_>) -> Vec<Parsed> {
    if !call.arguments.contains(BUNDLE) || is_known(context.tools, &call.name) {
        return vec![call];
    }
    let members = members(&call.arguments).unwrap_or_default();
    let list = member(&members, BUNDLE).filter(|list| list.starts_with('['));
    match list.and_then(|list| calls(list, &JsonKeys::usual(), context, false)) {
        Some(found) => found.into_iter().map(|found| found.call).collect(),
        None => vec![call],
    }
}

/// The name in a value that may be incomplete.
pub(super) fn written_name(value: &str, keys: &JsonKeys, depth: usize) -> Option<String> {
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || c == '[');
    let members = members(value)?;
    match wrapped(&members).or_else(|| find(&members, &keys.name).map(|(_, value)| value)) {
        Some(inner) if inner.starts_with(['{', '[']) => {
            (depth < NESTED_WRAPPERS).then(|| written_name(inner, keys, depth + 1))?
        }
        Some(name) => (name.len() <= WORD_BYTES).then(|| unquote(name)),
        None => {
            let wraps = |(key, value): &(String, &str)| value.starts_with('{') && !keys.arguments.contains(key);
            members.into_iter().next().filter(wraps).map(|(name, _)| name)
        }
    }
}

/// Whether a key is one of [`WRAPPERS`], in any spelling.
pub(super) fn wraps(key: &str) -> bool {
    WRAPPERS.into_iter().any(|known| fold(known) == fold(key))
}

/// The value of the wrapper in an object.
fn wrapped<'t>(members: &[(String, &'t str)]) -> Option<&'t str> {
    let written = |wrapper: &str| members.iter().find(|(key, _)| fold(key) == fold(wrapper)).map(|(_, value)| *value);
    WRAPPERS.into_iter().find_map(written)
}

/// The first of these keys that is present, and its value.
fn find<'k, 't>(members: &[(String, &'t str)], keys: &'k [String]) -> Option<(&'k str, &'t str)> {
    keys.iter().find_map(|key| Some((key.as_str(), member(members, key)?)))
}

/// The name in an object that holds nothing else of a call, and the arguments beside that object:
/// `{"function": {"name": f}, "parameters": {..}}`.
fn arguments_beside<'t>(members: &[(String, &'t str)], object: &str, keys: &JsonKeys) -> Option<(String, &'t str)> {
    let inner = self::members(object)?;
    let (_, arguments) = find(members, &keys.arguments).filter(|(_, arguments)| arguments.starts_with('{'))?;
    let is_type = |key: &str| OTHER_KEYS.contains(&key) || keys.name.iter().any(|name| name == key);
    let (_, name) = find(&inner, &keys.name).filter(|(_, name)| name.starts_with('"') && is_closed(name))?;
    inner.iter().all(|(key, _)| is_type(key)).then(|| (unquote(name), arguments))
}

/// Adds parameters that are beside the arguments: `{"name": f, "arguments": {"a": 1}, "b": 2}`. Beside arguments that are no object,
/// nobody knows what they are.
fn with_members_beside<'m>(
    arguments: &str,
    beside: impl Iterator<Item = &'m (String, &'m str)>,
    name: &str,
    tools: &Tools,
) -> String {
    let Some(tool) = known_tool(tools, name) else { return arguments.to_owned() };
    let types = Types::new(Some(tool));
    let given = members(arguments).unwrap_or_default();
    let lacks = |key: &str| types.has(key) && !is_usual(key) && !given.iter().any(|(known, _)| known == key);
    let mut whole = if matches!(arguments, "\"\"" | "[]") { "{}".to_owned() } else { arguments.to_owned() };
    for (key, value) in beside.filter(|(key, _)| lacks(key)) {
        let Some(open) = whole.trim_end().strip_suffix('}') else { return UNFINISHED.to_owned() };
        let comma = if open.trim_end().ends_with(['{', ',']) { "" } else { ", " };
        whole = format!("{open}{comma}{}: {value}}}", Value::from(key.as_str()));
    }
    whole
}

/// Whether a missing brace may be one of the arguments: they contain other containers, or the id of the call.
fn may_lack_brace(arguments: &str, name: &str, tools: &Tools) -> bool {
    let nested = arguments.strip_prefix('{').is_some_and(|inside| inside.contains(['{', '[']));
    let given = || members(arguments).unwrap_or_default();
    is_known(tools, name) && (nested || given().iter().any(|(key, _)| IDS.contains(&key.as_str())))
}

/// Removes the last brace of an object.
fn without_brace(object: String) -> String {
    object.strip_suffix('}').map(str::to_owned).unwrap_or(object)
}

/// The arguments as an object, if they are beside the name. A key that calls have too (`id`) is an argument if the tool requires
/// it.
fn flattened(members: &[(String, &str)], name: &str, written: &str, tools: &Tools) -> String {
    let types = Types::new(known_tool(tools, written));
    let is_argument = |key: &str| !OTHER_KEYS.contains(&key) || types.required().any(|required| required == key);
    let rest: Vec<String> = members
        .iter()
        .filter(|(key, _)| key != name && is_argument(key))
        .map(|(key, value)| format!("{}: {value}", Value::from(key.as_str())))
        .collect();
    format!("{{{}}}", rest.join(", "))
}
