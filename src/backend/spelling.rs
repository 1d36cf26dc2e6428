//! Spells tool names in the letters that a backend and a model accept. Requests contain the tools' `wire_name`s, and names in
//! answers are resolved by them, so the client only ever sees its own names.

use std::collections::HashSet;

use super::Backend;
use crate::{
    adapter::Names,
    event::{Tool, Tools},
    openai::{NAME_BYTES, distinct},
};

#[cfg(test)]
mod tests;

/// Gives each tool a wire name that the backend accepts and the model's family can write: its own name if possible. A name that
/// one tool has is never the wire name of another, because the model's call would run the other one. The result depends only on
/// the names of the tools, so it is the same in every request.
pub fn spell(backend: &Backend, names: Names, tools: &mut Tools) {
    let mut taken: HashSet<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    let mut wire_name = |tool: &Tool| {
        let plain = spelt(backend, names, &tool.name);
        let name = if plain != tool.name && taken.contains(&plain) { distinct(&plain, &tool.name) } else { plain };
        taken.insert(name.clone());
        name
    };
    let wire_names: Vec<String> = tools.iter().map(&mut wire_name).collect();
    // Usually all of them keep their names, and the table is shared with other requests.
    if tools.iter().zip(&wire_names).all(|(tool, name)| tool.wire_name == *name) {
        return;
    }
    for (tool, name) in tools.iter_mut().zip(wire_names) {
        tool.wire_name = name;
    }
}

/// The wire name of a tool that is not offered any more. No offered tool has it.
pub(super) fn spelt_apart(backend: &Backend, names: Names, name: &str, tools: &Tools) -> String {
    let plain = spelt(backend, names, name);
    if tools.by_wire_name(&plain).is_some() { distinct(&plain, name) } else { plain }
}

/// The wire name of a tool, if no other tool has it.
fn spelt(backend: &Backend, names: Names, name: &str) -> String {
    let plain = limited(names, (backend.traits().spelling)(name));
    if plain.len() > NAME_BYTES { distinct(&plain, name) } else { plain }
}

/// Letters, digits, `_` and `-`.
pub(super) fn plain(name: &str) -> String {
    letters(name, "-")
}

/// Letters, digits, `_`, `-` and `.`, beginning with a letter or `_`.
pub(super) fn google(name: &str) -> String {
    let plain = letters(name, "-.");
    if plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') { plain } else { format!("_{plain}") }
}

/// The name in the letters of the model's family.
fn limited(names: Names, name: String) -> String {
    match names {
        Names::Any => name,
        Names::Identifier if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{}", letters(&name, "")),
        Names::Word | Names::Identifier => letters(&name, ""),
    }
}

/// The name with `_` in the place of everything that is no letter, no digit and none of these signs.
fn letters(name: &str, signs: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || signs.contains(c) { c } else { '_' }).collect()
}

/// Snake case: LM Studio converts every name to it (`readFile`, `Read-File`: `read_file`), so toolglot does it first and can map the
/// name back.
pub(super) fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            out.push('_');
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let after_small = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        let before_small = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let after_capital = before.is_some_and(char::is_ascii_uppercase);
        if letter.is_ascii_uppercase() && (after_small || (after_capital && before_small)) {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
