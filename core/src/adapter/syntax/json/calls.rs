//! Extracts the calls from one JSON value: the keys of name and arguments, and what may be wrapped around them.

use super::{
    super::{
        Context, Parsed, Step, WORD_BYTES,
        members::{elements, is_closed, members, object, unquote},
        python, typing, unclosed,
    },
    keys::{ARGUMENT_KEYS, BUNDLE, IDS, MESSAGE, NAME_KEYS, OTHER_KEYS, UNSURE_NAMES, WRAPPERS, is_usual},
};
use crate::{
    adapter::JsonKeys,
    event::{Tool, ToolChoice, Tools},
    fix::{
        End, Verdict, View, fix, fold,
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

impl Found {
    /// The one call in a value.
    fn one(name: &str, arguments: &str) -> Vec<Found> {
        vec![Found { call: Parsed::new(name, arguments), closed: is_closed(arguments) }]
    }
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
        let Layer { context, open, .. } = self;
        // It was escaped as a whole.
        if value.starts_with(['"', '\'']) {
            return self.inner(unquote(value).trim());
        }
        if let Some(list) = elements(value) {
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
        self.in_object(value, &members(value)?)
    }

    /// The calls in an object.
    fn in_object(self, value: &str, members: &[(String, &str)]) -> Option<Vec<Found>> {
        let Layer { keys, context, .. } = self;
        let get = |key: &str| member(members, key);
        let known = |name: &str| is_known(context.tools, name);
        let said = members.first().filter(|(key, _)| MESSAGE.contains(&key.as_str())).map_or("", |(_, value)| *value);
        // A message whose text is nothing but calls of offered tools: `{"content": "{\"name\": ..}"}`. Source: toolcall-repair-bench 45
        // and 59, Qwen3.5 9B.
        if members.len() == 1
            && said.starts_with('"')
            && let Some(found) = self.inner(said).filter(|found| found.iter().all(|found| known(&found.call.name)))
        {
            return Some(found);
        }
        if let Some(wrapped) = wrapped(members).filter(|value| value.starts_with(['{', '[', '"'])) {
            let found = self.inner(wrapped).or_else(|| without_braces(wrapped, context.tools));
            // A string that is no call may be the name.
            if found.is_some() || !wrapped.starts_with('"') {
                return found;
            }
        }
        let unsure = || UNSURE_NAMES.into_iter().find_map(|key| Some((key, get(key).filter(|name| known(&unquote(name)))?)));
        if let Some(named) = find(members, &keys.name).or_else(unsure) {
            return self.of_name(named, value, members);
        }
        let (name, arguments) = match (members, &context.tools.choice) {
            ([(name, arguments)], _) if arguments.starts_with('{') && (keys.name_is_key || context.tools.get(name).is_some()) => {
                (name, *arguments)
            }
            (_, ToolChoice::Named(name)) if !context.marked => (name, value),
            _ => return None,
        };
        Some(Found::one(name, arguments))
    }

    /// The call in an object in which `key` has the name, or the calls in it if they are there.
    fn of_name(self, (key, name): (&str, &str), value: &str, members: &[(String, &str)]) -> Option<Vec<Found>> {
        let Layer { keys, context, open, .. } = self;
        let id = IDS.into_iter().find_map(|key| member(members, key));
        let id = id.filter(|id| keys.keep_id && id.starts_with('"') && is_closed(id)).map(unquote);
        if name.starts_with('{') {
            let mut inner = self.inner(name)?;
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
        let tool = known_tool(context.tools, &written);
        let given = find(members, &keys.arguments);
        // A member with two values: the fixer decides about it.
        let twice =
            |&(key, first): &(&str, &str)| members.iter().any(|(known, value)| known == key && value.trim() != first.trim());
        if let Some((key, _)) = [Some((key, name)), given].into_iter().flatten().find(twice) {
            let arguments = object(members.iter().filter(|(known, _)| known == key));
            return Some(vec![Found { call: Parsed { name: written, id, arguments }, closed: is_closed(value) }]);
        }
        let is_name = written.contains(char::is_alphanumeric) && !written.starts_with('<') && !written.contains(['"', '{', '}']);
        let is_described = member(members, "description").is_some() && !typing::has(View::of(tool).root(), "description");
        let describes =
            || !context.marked && (is_described || given.is_none() && describes(members, key, &written, context.tools));
        if !is_name || describes() {
            return None;
        }
        let (arguments, closed) = match given {
            Some((_, arguments)) => (arguments.to_owned(), is_closed(arguments)),
            None if open && !is_closed(value) => (unclosed(&flattened(members, key, tool)), false),
            None => (flattened(members, key, tool), true),
        };
        Some(vec![Found { call: Parsed { name: written, id, arguments }, closed }])
    }
}

/// The call in a wrapper that lacks the braces around its name and arguments: `{"tool_call": "f": {..}}`. Source:
/// toolcall-repair-bench 147, Gemma 4 E2B.
fn without_braces(wrapped: &str, tools: &Tools) -> Option<Vec<Found>> {
    let braced = format!("{{{wrapped}}}");
    let [(name, arguments)] = &members(&braced)?[..] else { return None };
    (is_known(tools, name) && arguments.starts_with('{')).then(|| Found::one(name, arguments))
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
            found.call.arguments = unclosed(&found.call.arguments);
        }
    }
    found.iter().all(|found| is_known(context.tools, &found.call.name)).then_some(found)
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

/// The value of the wrapper in an object.
fn wrapped<'t>(members: &[(String, &'t str)]) -> Option<&'t str> {
    let written = |wrapper: &str| members.iter().find(|(key, _)| fold(key) == fold(wrapper)).map(|(_, value)| *value);
    WRAPPERS.into_iter().find_map(written)
}

/// The first of these keys that is present, and its value.
fn find<'k, 't>(members: &[(String, &'t str)], keys: &'k [String]) -> Option<(&'k str, &'t str)> {
    keys.iter().find_map(|key| Some((key.as_str(), member(members, key)?)))
}

/// The arguments as an object, if they are beside the name. A key that calls have too (`id`) is an argument if the tool requires
/// it.
fn flattened(members: &[(String, &str)], name: &str, tool: Option<&Tool>) -> String {
    let view = View::of(tool);
    let is_argument = |key: &str| !OTHER_KEYS.contains(&key) || view.root().required().any(|required| required == key);
    object(members.iter().filter(|(key, _)| key != name && is_argument(key)))
}

/// Whether an object that names a tool describes it instead of calling it: its result, its description, a package of that name.
/// If the tool requires nothing, all other keys must be parameters. If it requires some, as many keys may be unknown as required
/// ones are missing, because these may be misspelt; and any number if the key of the name is not just `name`.
fn describes(members: &[(String, &str)], name: &str, written: &str, tools: &Tools) -> bool {
    let Some(tool) = known_tool(tools, written) else { return false };
    let view = View::of(Some(tool));
    let known = |key: &str| is_usual(key) || view.root().keys().any(|known| fold(known) == fold(key));
    let unknown = members.iter().filter(|(key, _)| key != name && !known(key)).count();
    let missing = view.root().required().filter(|required| !members.iter().any(|(key, _)| fold(key) == fold(required))).count();
    unknown > missing && (name == "name" || view.root().required().next().is_none())
}
