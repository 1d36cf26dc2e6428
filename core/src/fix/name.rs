//! Tool names: finds the offered tool that a written name means. Only spellings that cannot mean another tool are accepted.
//! Nothing is guessed by similarity, because the tool with the nearest name often does something else.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::event::{Origin, Tool, Tools, Why};

/// The tool that a written name means.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved<'t> {
    /// An offered tool.
    Known {
        /// The tool.
        tool: &'t Tool,
        /// Whether the name was written exactly as offered.
        exact: bool,
    },
    /// No offered tool.
    Unknown {
        /// Up to three similar names, nearest first, for the log and the notice to the user. The question to the model sorts
        /// the names by itself (`turn::reask`).
        near: Vec<&'t str>,
    },
}

/// A longer text is no other spelling of a name: APIs take at most 64 bytes, MCP 128.
const NAME_BYTES: usize = 512;

/// How many bytes of a name are compared with others to find the nearest.
const NEAR_BYTES: usize = 64;

/// Prefixes that models add to a name.
const PREFIXES: [&str; 20] = [
    "functions.", "functions/", "functions::", "functions:", "functions_", "function.", "function:", "function_", "default_api.",
    "api.", "tools.", "tools/", "tools_", "tool.", "tool:", "tool_", "call:", "namespace::", "mcp_", "builtin_",
];

/// A name of an offered tool, in the spellings that are compared.
#[derive(Debug)]
struct Offered {
    /// Where the tool is in the table.
    tool: usize,
    name: String,
    folded: String,
    /// The folded parts of the name, and all of them as one word.
    parts: Vec<String>,
    joined: String,
    /// What may follow a random prefix of Void, folded.
    bare: Option<String>,
}

/// The names of the offered tools, then their wire names that differ. They are spelt once for a table: an answer may name hundreds.
#[derive(Debug, Default)]
struct Names {
    list: Vec<Offered>,
    /// The parts of a tool's name at its server or in its namespace, and those with the server or namespace before them.
    registered: Vec<(usize, Vec<String>, Vec<String>)>,
}

impl Names {
    fn of(tools: &Tools) -> Arc<Names> {
        tools.spellings(|tools| {
            let list = tools.iter().enumerate().map(|(at, tool)| Offered::new(at, &tool.name)).collect();
            let mut names = Names { list, ..Names::default() };
            for (at, tool) in tools.iter().enumerate() {
                if tool.wire_name != tool.name {
                    names.list.push(Offered::new(at, &tool.wire_name));
                }
                if let (Origin::Registry { server: space, tool: name }, _) | (Origin::Client, Some((space, name))) =
                    (&tool.origin, &tool.namespace)
                {
                    let bare = parts(name);
                    names.registered.push((at, bare.clone(), [parts(space), bare].concat()));
                }
            }
            // One certain prefix shows that the client adds them. One in seven has no digit.
            if !names.list.iter().any(|offered| without_random_prefix(&offered.name).is_some()) {
                names.list.iter_mut().for_each(|offered| offered.bare = None);
            }
            names
        })
    }

    /// The only tool that has a name or wire name for which `fits` holds.
    fn unique(&self, fits: impl Fn(&Offered) -> bool) -> Option<usize> {
        let mut found = self.list.iter().filter(|offered| fits(offered)).map(|offered| offered.tool);
        let first = found.next()?;
        found.all(|tool| tool == first).then_some(first)
    }
}

impl Offered {
    fn new(tool: usize, name: &str) -> Offered {
        let bare = possible_random_prefix(name).map(|(_, bare)| fold(bare));
        let parts = parts(name);
        Offered { tool, name: name.to_owned(), folded: fold(name), joined: parts.concat(), parts, bare }
    }
}

/// Finds the offered tool that `written` means.
pub fn resolve<'t>(tools: &'t Tools, written: &str) -> Resolved<'t> {
    if let Some(tool) = tools.by_wire_name(written) {
        return Resolved::Known { tool, exact: true };
    }
    match known_tool(tools, written) {
        Some(tool) => Resolved::Known { tool, exact: false },
        None => Resolved::Unknown { near: near(tools, written) },
    }
}

/// Why a call of `written` is refused, if that means no offered tool.
pub fn unknown(tools: &Tools, written: &str) -> Option<Why> {
    match resolve(tools, written) {
        Resolved::Known { .. } => None,
        Resolved::Unknown { near } if near.is_empty() => Some(Why::UnknownTool(String::new())),
        Resolved::Unknown { near } => Some(Why::UnknownTool(format!("; near names: {}", near.join(", ")))),
    }
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
    let names = Names::of(tools);
    spellings(written).iter().find_map(|spelling| meant(tools, &names, spelling))
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

/// The offered tool that `written` means. Cheaper than [`resolve`], which also looks for similar names.
pub(crate) fn known_tool<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
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

/// Names that models use when they write their answer to the user in the form of a call, folded.
const ANSWERS: [&str; 9] =
    ["answer", "finalanswer", "response", "finalresponse", "reply", "respond", "message", "error", "errormessage"];

/// Whether `written` says that the arguments are the answer to the user, and is not the name of a tool.
pub fn means_answer(tools: &Tools, written: &str) -> bool {
    ANSWERS.contains(&fold(written).as_str()) && !is_known(tools, written)
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
    if name.is_empty() {
        return None;
    }
    if let Some(tool) = tools.by_wire_name(name) {
        return Some(tool);
    }
    if let Some((once, twice)) = name.split_at_checked(name.len() / 2)
        && once == twice
        && let Some(tool) = tools.by_wire_name(once)
    {
        return Some(tool);
    }
    let folded = fold(name);
    if folded.is_empty() {
        return None;
    }
    let parts = parts(name);
    let joined = parts.concat();
    let words = has_words(name);
    let found = names
        .unique(|offered| offered.folded == folded)
        .or_else(|| {
            let bare = folded.strip_suffix("tool").filter(|bare| !bare.is_empty())?;
            names.unique(|offered| offered.folded == bare)
        })
        .or_else(|| names.unique(|offered| offered.folded.strip_suffix("tool") == Some(folded.as_str())))
        .or_else(|| names.unique(|offered| offered.bare.as_ref() == Some(&folded)))
        .or_else(|| {
            let written = fold(without_random_prefix(name)?);
            names.unique(|offered| offered.bare.as_ref().unwrap_or(&offered.folded) == &written)
        })
        .or_else(|| {
            names.unique(|offered| {
                // Another separator after the server, or no server. A single word could mean anything.
                joined == offered.joined || offered.parts.len() > 1 && words && parts == offered.parts[1..]
            })
        })
        .or_else(|| registered(names, &parts))
        .or_else(|| without_shared_prefix(names, name))?;
    tools.iter().nth(found)
}

/// The only tool of a server or namespace that has this name there, written with or without the server or namespace.
fn registered(names: &Names, written: &[String]) -> Option<usize> {
    let letters = |parts: &[String]| parts.iter().map(String::len).sum::<usize>();
    let mut found = names.registered.iter().filter(|(_, bare, full)| {
        let is_joined = || letters(written) == letters(full) && written.concat() == full.concat();
        !written.is_empty() && (written == bare || written == full || is_joined())
    });
    let first = found.next()?;
    found.next().is_none().then_some(first.0)
}

/// The only tool whose name is `name` after a first word that another tool begins with too: `search_issues` for
/// `github_search_issues` beside `github_get_issue`. A single word could mean anything.
fn without_shared_prefix(names: &Names, name: &str) -> Option<usize> {
    fn prefix(offered: &Offered) -> Option<&str> {
        offered.name.split_once('_').map(|(prefix, _)| prefix)
    }
    let is_bare = |offered: &Offered| offered.name.split_once('_').is_some_and(|(_, bare)| bare == name);
    let tool = names.unique(|offered| has_words(name) && is_bare(offered))?;
    let is_shared = |own: &Offered| names.list.iter().filter(|other| prefix(other) == prefix(own)).count() > 1;
    names.list.iter().any(|own| is_bare(own) && is_shared(own)).then_some(tool)
}

/// The name in lower case, without `_`, `-`, `.`, spaces, and the backslashes that Markdown puts before `_`.
pub(crate) fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ' | '\\')) {
        if c.is_ascii() {
            folded.push(c.to_ascii_lowercase());
        } else {
            folded.extend(c.to_lowercase());
        }
    }
    folded
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

/// The folded parts (server and tool) of `server:tool`, `server.tool`, `server__tool` or `mcp__server__tool`.
fn parts(name: &str) -> Vec<String> {
    let name = name.replace("__", ":").replace("--", ":");
    let mut parts: Vec<String> = name.split([':', '.', '/']).map(fold).filter(|part| !part.is_empty()).collect();
    if parts.len() > 2 && parts[0] == "mcp" {
        parts.remove(0);
    }
    parts
}

/// Up to three offered names with the smallest edit distance, which is at most half the length.
fn near<'t>(tools: &'t Tools, written: &str) -> Vec<&'t str> {
    fn letters(folded: &str) -> &str {
        &folded[..folded.floor_char_boundary(NEAR_BYTES)]
    }
    let folded = fold(written);
    let written = letters(&folded);
    let names = Names::of(tools);
    let mut list: Vec<(usize, &str)> = tools
        .iter()
        .zip(&names.list)
        .map(|(tool, offered)| (strsim::levenshtein(written, letters(&offered.folded)), tool.name.as_str()))
        .filter(|(apart, name)| *apart * 2 <= name.len().max(written.len()))
        .collect();
    list.sort_by_key(|(apart, _)| *apart);
    list.into_iter().take(3).map(|(_, name)| name).collect()
}
