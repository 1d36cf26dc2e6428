//! Tool names: what the model wrote -> the offered tool that it means. Only spellings that cannot mean another tool are
//! folded; nothing is guessed by similarity, because the nearest name often does something else.

#[cfg(test)]
mod tests;

use crate::event::{Origin, Tool, Tools};

/// Which tool a written name means.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved<'t> {
    /// This one.
    Known {
        /// The tool.
        tool: &'t Tool,
        /// Whether the name was written exactly as offered.
        exact: bool,
    },
    /// None of the offered ones.
    Unknown {
        /// Up to three names that look alike, nearest first: for the error that the model is told.
        near: Vec<&'t str>,
    },
}

/// Prefixes that models put before a name.
const PREFIXES: [&str; 14] = [
    "functions.", "functions/", "functions::", "functions:", "function.", "function:", "default_api.", "api.", "tools.",
    "tools/", "tool.", "tool:", "call:", "namespace::",
];

/// A name of an offered tool.
struct Offered<'t> {
    tool: &'t Tool,
    name: &'t str,
    folded: String,
}

// === impl Offered ===

impl<'t> Offered<'t> {
    /// The tool's name, and its wire name where that is another one.
    fn names(tool: &'t Tool) -> impl Iterator<Item = Offered<'t>> {
        let wire = Some(tool.wire_name.as_str()).filter(|wire| *wire != tool.name);
        std::iter::once(tool.name.as_str()).chain(wire).map(move |name| Offered { tool, name, folded: fold(name) })
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

/// Whether `written` means an offered tool only without what is before it, which in code is an object of its own: `client.read_file`.
pub(crate) fn is_method(tools: &Tools, written: &str) -> bool {
    tools.by_wire_name(written).is_none() && spelt(tools, written).is_none() && in_namespace(tools, written).is_some()
}

/// The offered tool that this means, in another spelling.
fn spelt<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
    spellings(written).iter().find_map(|spelling| meant(tools, spelling))
}

/// The offered tool whose name of several words follows a namespace that nobody offers: `github.create_issue`.
fn in_namespace<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
    let (space, name) = written.trim().rsplit_once(['.', '/', ':'])?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_space = !space.is_empty() && space.split(['.', '/', ':']).all(|part| part.chars().all(is_word));
    tools.by_wire_name(name).filter(|_| is_space && has_words(name))
}

/// The offered tool that `written` means. Cheaper than [`resolve`], which also looks for names that are near.
pub(crate) fn known_tool<'t>(tools: &'t Tools, written: &str) -> Option<&'t Tool> {
    tools.by_wire_name(written).or_else(|| spelt(tools, written)).or_else(|| in_namespace(tools, written))
}

/// Whether `written` means an offered tool.
pub fn is_known(tools: &Tools, written: &str) -> bool {
    known_tool(tools, written).is_some()
}

/// What models write in the place of a name to say that they call nothing, folded.
const NOTHING: [&str; 13] = [
    "none", "null", "nothing", "notool", "notools", "nofunction", "nocall", "notoolcall", "nofunctioncall", "notoolneeded",
    "nofunctionneeded", "noaction", "notapplicable",
];

/// Whether `written` says that no tool is called. Not where a tool has this name.
pub fn means_none(tools: &Tools, written: &str) -> bool {
    NOTHING.contains(&fold(written).as_str()) && !is_known(tools, written)
}

/// What models write in the place of a name when they put their answer to the user into the form of a call, folded.
const ANSWERS: [&str; 9] =
    ["answer", "finalanswer", "response", "finalresponse", "reply", "respond", "message", "error", "errormessage"];

/// Whether `written` says that the arguments are the answer. Not where a tool has this name.
pub fn means_answer(tools: &Tools, written: &str) -> bool {
    ANSWERS.contains(&fold(written).as_str()) && !is_known(tools, written)
}

/// The name without what models put around it, from the longest form to the shortest.
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
    // A namespace that is the tool's own name, or the first part of it.
    if let Some((space, rest)) = name.split_once('.')
        && rest.split('.').next() == Some(space)
    {
        list.push(rest);
    }
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        name = rest;
        list.push(name);
    }
    list
}

/// The one tool that this spelling means: exactly, written twice, or folded.
fn meant<'t>(tools: &'t Tools, name: &str) -> Option<&'t Tool> {
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
    let offered: Vec<Offered<'_>> = tools.iter().flat_map(Offered::names).collect();
    unique(&offered, |offered| offered.folded == folded)
        .or_else(|| {
            let bare = folded.strip_suffix("tool").filter(|bare| !bare.is_empty())?;
            unique(&offered, |offered| offered.folded == bare)
        })
        .or_else(|| unique(&offered, |offered| offered.folded.strip_suffix("tool") == Some(folded.as_str())))
        .or_else(|| unique(&offered, |offered| random_prefix(offered.name).is_some_and(|bare| fold(bare) == folded)))
        .or_else(|| {
            let bare = fold(random_prefix(name)?);
            unique(&offered, |offered| match random_prefix(offered.name) {
                Some(rest) => fold(rest) == bare,
                None => offered.folded == bare,
            })
        })
        .or_else(|| {
            let parts = parts(name);
            unique(&offered, |offered| {
                let offered = self::parts(offered.name);
                // With another separator after the server, or without it: one word alone may mean anything.
                let bare = || has_words(name) && parts == offered[1..];
                parts.concat() == offered.concat() || offered.len() > 1 && bare()
            })
        })
        .or_else(|| registered(tools, name))
}

/// The only tool of a server or namespace that is called so there, with or without the name of that.
fn registered<'t>(tools: &'t Tools, name: &str) -> Option<&'t Tool> {
    let parts = parts(name);
    let mut found = tools.iter().filter(|tool| {
        let (server, tool) = match (&tool.origin, &tool.namespace) {
            (Origin::Registry { server, tool }, _) => (server, tool),
            (Origin::Client, Some((namespace, tool))) => (namespace, tool),
            (Origin::Client, None) => return false,
        };
        let bare = self::parts(tool);
        let full = [self::parts(server), bare.clone()].concat();
        !parts.is_empty() && (parts == bare || parts == full || parts.concat() == full.concat())
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The only tool whose name or wire name satisfies `fits`.
fn unique<'t>(offered: &[Offered<'t>], fits: impl Fn(&Offered<'t>) -> bool) -> Option<&'t Tool> {
    let mut found = offered.iter().filter(|offered| fits(offered)).map(|offered| offered.tool);
    let first = found.next()?;
    found.all(|tool| std::ptr::eq(tool, first)).then_some(first)
}

/// The name without case, without `_`, `-`, `.` and spaces, and without the backslashes that Markdown puts before `_`.
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

/// A name after a random prefix of exactly six letters or digits, as Void puts before the tools of MCP servers. One of them
/// must be a digit: `delete_card` is not `card` with a random prefix.
fn random_prefix(name: &str) -> Option<&str> {
    let (prefix, bare) = name.split_once('_')?;
    let random = prefix.len() == 6
        && prefix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && prefix.bytes().any(|byte| byte.is_ascii_digit());
    (random && !bare.is_empty()).then_some(bare)
}

/// Whether a name has more than one word.
fn has_words(name: &str) -> bool {
    let mut letters = name.trim_matches(|c: char| !c.is_alphanumeric()).chars();
    letters.next();
    letters.any(|c| c.is_uppercase() || matches!(c, '_' | '-')) && name.contains(char::is_lowercase)
}

/// The folded parts of a name of the form `server:tool`, `server.tool`, `server__tool`, `mcp__server__tool`: server and tool.
fn parts(name: &str) -> Vec<String> {
    let name = name.replace("__", ":").replace("--", ":");
    let mut parts: Vec<String> = name.split([':', '.', '/']).map(fold).filter(|part| !part.is_empty()).collect();
    if parts.len() > 2 && parts[0] == "mcp" {
        parts.remove(0);
    }
    parts
}

/// Up to three offered names by edit distance, at most half of the letters apart.
fn near<'t>(tools: &'t Tools, written: &str) -> Vec<&'t str> {
    let folded: Vec<char> = fold(written).chars().take(64).collect();
    let mut list: Vec<(usize, &str)> = tools
        .iter()
        .map(|tool| (distance(&folded, &fold(&tool.name).chars().take(64).collect::<Vec<_>>()), tool.name.as_str()))
        .filter(|(apart, name)| *apart * 2 <= name.len().max(folded.len()))
        .collect();
    list.sort_by_key(|(apart, _)| *apart);
    list.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
