//! Tool names: finds the offered tool that a written name means. Only spellings that cannot mean another tool are accepted.
//! Nothing is guessed by similarity, because the tool with the nearest name often does something else.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::{Origin, Tool, Tools, Why};

/// A longer text is no other spelling of a name: APIs take at most 64 bytes, MCP 128.
const NAME_BYTES: usize = 512;

/// How many bytes of a name are compared with others to find the nearest.
pub const NEAR_BYTES: usize = 64;

/// Prefixes that models add to a name.
const PREFIXES: [&str; 20] = [
    "functions.", "functions/", "functions::", "functions:", "functions_", "function.", "function:", "function_", "default_api.",
    "api.", "tools.", "tools/", "tools_", "tool.", "tool:", "tool_", "call:", "namespace::", "mcp_", "builtin_",
];

/// Folded spellings of the offered tools: the place of the only tool that one means, or `None` if there are several.
type Spellings = HashMap<String, Option<usize>>;

/// What the offered tools may be called. They are spelt once for a table: an answer may name hundreds.
#[derive(Debug, Default)]
struct Names {
    /// What is certain.
    certain: Spellings,
    /// Names without their server, or without a first word that several tools share. As a single word, they could mean anything.
    of_words: Spellings,
}

fn names(tools: &Tools) -> Arc<Names> {
    tools.spellings(|tools| {
        let written: Vec<(usize, &str)> =
            tools.iter().enumerate().flat_map(|(at, tool)| [(at, tool.name.as_str()), (at, tool.wire_name.as_str())]).collect();
        let of = |spell: &dyn Fn(&str) -> Option<String>| -> Vec<(usize, String)> {
            written.iter().filter_map(|(at, name)| Some((*at, spell(name)?))).collect()
        };
        // One certain prefix shows that the client adds them. One in seven has no digit.
        let are_random = written.iter().any(|(_, name)| without_random_prefix(name).is_some());
        let mut prefixes: HashMap<&str, usize> = HashMap::new();
        for (prefix, _) in tools.iter().filter_map(|tool| tool.name.split_once('_')) {
            *prefixes.entry(prefix).or_default() += 1;
        }
        let without_shared = |name: &str| {
            let (_, own) = name.split_once('_').filter(|(prefix, own)| has_words(own) && prefixes.get(prefix) > Some(&1))?;
            Some(fold(own))
        };
        let mut names = Names::default();
        // What is nearer to the name comes first.
        add(&mut names.certain, of(&|name| Some(fold(name))));
        add(&mut names.certain, of(&|name| fold(name).strip_suffix("tool").map(str::to_owned)));
        add(&mut names.certain, of(&|name| possible_random_prefix(name).filter(|_| are_random).map(|(_, bare)| fold(bare))));
        add(&mut names.certain, of(&|name| Some(joined(name))));
        add(&mut names.certain, registered(tools));
        add(&mut names.of_words, of(&|name| without_server(name).map(joined)));
        add(&mut names.of_words, of(&without_shared));
        names
    })
}

/// Adds spellings of tools that mean nothing so far.
fn add(names: &mut Spellings, spellings: Vec<(usize, String)>) {
    let mut new = Spellings::new();
    for (tool, spelling) in spellings.into_iter().filter(|(_, spelling)| !names.contains_key(spelling)) {
        new.entry(spelling).and_modify(|other| *other = other.filter(|other| *other == tool)).or_insert(Some(tool));
    }
    names.extend(new);
}

/// The names that tools have at their server or in their namespace, without and with it.
fn registered(tools: &[Tool]) -> Vec<(usize, String)> {
    let named = tools.iter().enumerate().filter_map(|(at, tool)| match (&tool.origin, &tool.namespace) {
        (Origin::Registry { server: space, tool: name }, _) | (Origin::Client, Some((space, name))) => Some((at, space, name)),
        _ => None,
    });
    let spelt = |(at, space, name): (usize, &String, &String)| {
        let own = joined(name);
        [(at, own.clone()), (at, joined(space) + &own)]
    };
    named.flat_map(spelt).collect()
}

/// Why a call of `written` is refused, if that means no offered tool: the nearest names are for the log and the notice to the user.
pub fn unknown(tools: &Tools, written: &str) -> Option<Why> {
    let near = known_tool(tools, written).is_none().then(|| near(tools, written).join(", "))?;
    Some(Why::UnknownTool(if near.is_empty() { near } else { format!("; near names: {near}") }))
}

/// Whether `written` means an offered tool only without what comes before the last separator. In code that is an object:
/// `client.read_file`.
pub(crate) fn is_method(tools: &Tools, written: &str) -> bool {
    tools.by_wire_name(written).is_none() && spelt(tools, written).is_none() && in_namespace(tools, written).is_some()
}

/// The offered tool that `written` means in another spelling.
fn spelt<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
    if written.len() > NAME_BYTES {
        return None;
    }
    let names = names(tools);
    spellings(written).into_iter().filter(|spelling| !spelling.is_empty()).find_map(|spelling| meant(tools, &names, spelling))
}

/// The offered tool whose name, of several words, follows a namespace that nobody offers: `github.create_issue`,
/// `mcp__files__read_file`.
fn in_namespace<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
    let written = written.trim();
    let (space, name) = written.rsplit_once("__").or_else(|| written.rsplit_once(['.', '/', ':']))?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_space = !space.is_empty() && space.split(['.', '/', ':']).all(|part| part.chars().all(is_word));
    tools.by_wire_name(name).filter(|_| is_space && has_words(name))
}

/// The offered tool that `written` means.
pub fn known_tool<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
    tools.by_wire_name(written).or_else(|| spelt(tools, written)).or_else(|| in_namespace(tools, written))
}

/// Whether `written` means an offered tool.
pub fn is_known(tools: &Tools, written: &str) -> bool {
    known_tool(tools, written).is_some()
}

/// Names that say that nothing is called, folded.
const NOTHING: [&str; 13] = [
    "none", "null", "nothing", "notool", "notools", "nofunction", "nocall", "notoolcall", "nofunctioncall", "notoolneeded",
    "nofunctionneeded", "noaction", "notapplicable",
];

/// Whether `written` says that no tool is called, and is not the name of a tool.
pub fn means_none(tools: &Tools, written: &str) -> bool {
    NOTHING.contains(&fold(written).as_str()) && !is_known(tools, written)
}

/// The name without what models add to it, from the longest form to the shortest.
fn spellings(written: &str) -> Vec<&str> {
    let mut name = written.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*'));
    if let Some(end) = name.find("<|").or_else(|| name.find("</")) {
        name = name[..end].trim_end();
    }
    name = name.strip_suffix("()").unwrap_or(name);
    if let Some((head, tail)) = name.rsplit_once(':')
        && !tail.is_empty()
        && tail.bytes().all(|byte| byte.is_ascii_digit())
    {
        name = head;
    }
    name = name.trim_end_matches([':', ',', ';', '(']).trim();
    let mut list = vec![name];
    // A namespace that repeats the tool's name, or the first part of it.
    if let Some((space, rest)) = name.split_once('.')
        && rest.split('.').next() == Some(space)
    {
        list.push(rest);
    }
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        name = rest;
        list.push(name);
    }
    // The number of a call in an id whose signs were replaced: `functions_read_file_0`.
    if list.len() > 1
        && let Some((head, number)) = name.rsplit_once('_')
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        list.push(head);
    }
    list
}

/// The only tool that this spelling means: exact, written twice, or folded.
fn meant<'t>(tools: &'t Tools, names: &Names, name: &str) -> Option<&'t Tool> {
    let once = || name.split_at_checked(name.len() / 2).filter(|(once, twice)| once == twice);
    let exact = tools.by_wire_name(name).or_else(|| once().and_then(|(once, _)| tools.by_wire_name(once)));
    let folded = fold(name);
    let bare = folded.strip_suffix("tool").map(str::to_owned);
    let keys = [Some(folded), bare, without_random_prefix(name).map(fold), Some(joined(name))];
    let of_words = |key: &String| names.of_words.get(key).filter(|_| has_words(name));
    let meant = |key: &String| names.certain.get(key).or_else(|| of_words(key)).copied().flatten();
    let found = || keys.iter().flatten().filter(|key| !key.is_empty()).find_map(meant);
    exact.or_else(|| tools.iter().nth(found()?))
}

/// The name in lower case, without `_`, `-`, `.`, spaces, and the backslashes that Markdown puts before `_`.
pub(crate) fn fold(name: &str) -> String {
    crate::schema::fold(&name.replace(['.', '\\'], ""))
}

/// The name without a random prefix of six letters or digits, which Void adds to the tools of MCP servers. One of the six must be
/// a digit: `delete_card` is not `card` with a random prefix.
pub fn without_random_prefix(name: &str) -> Option<&str> {
    let (prefix, bare) = possible_random_prefix(name)?;
    prefix.bytes().any(|byte| byte.is_ascii_digit()).then_some(bare)
}

/// What may be a random prefix of Void, and the rest of the name. The prefix may also be a word.
fn possible_random_prefix(name: &str) -> Option<(&str, &str)> {
    let (prefix, bare) = name.split_once('_')?;
    let fits = prefix.len() == 6 && prefix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (fits && !bare.is_empty()).then_some((prefix, bare))
}

/// Whether a name has more than one word.
fn has_words(name: &str) -> bool {
    let mut letters = name.trim_matches(|c: char| !c.is_alphanumeric()).chars();
    letters.next();
    letters.any(|c| c.is_uppercase() || matches!(c, '_' | '-')) && name.contains(char::is_lowercase)
}

/// The server and the tool in `server:tool`, `server.tool`, `server__tool` or `server--tool`.
fn at_server(name: &str) -> Option<(&str, &str)> {
    let cuts = ["__", "--", ":", ".", "/"].into_iter().filter_map(|separator| name.split_once(separator));
    cuts.min_by_key(|(server, _)| server.len())
}

/// The name without its server, and without the `mcp` before that.
fn without_server(name: &str) -> Option<&str> {
    match at_server(name)? {
        ("mcp", own) => without_server(own).or(Some(own)),
        (_, own) => Some(own),
    }
}

/// The folded name as one word, whatever separates the server from the tool.
fn joined(name: &str) -> String {
    match at_server(name) {
        Some(("mcp", own)) if at_server(own).is_some() => joined(own),
        _ => fold(&name.replace([':', '/'], "")),
    }
}

/// Up to three offered names with the smallest edit distance, which is at most half the length.
fn near<'t>(tools: &'t Tools, written: &str) -> Vec<&'t str> {
    let letters = |name: &str| {
        let mut folded = fold(name);
        folded.truncate(folded.floor_char_boundary(NEAR_BYTES));
        folded
    };
    let written = letters(written);
    let distance = |tool: &'t Tool| (strsim::levenshtein(&written, &letters(&tool.name)), tool.name.as_str());
    let mut list: Vec<(usize, &str)> =
        tools.iter().map(distance).filter(|(apart, name)| *apart * 2 <= name.len().max(written.len())).collect();
    list.sort_by_key(|(apart, _)| *apart);
    list.into_iter().take(3).map(|(_, name)| name).collect()
}
