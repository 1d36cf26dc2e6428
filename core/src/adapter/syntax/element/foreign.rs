//! Reads an element in the form of a call whose tool is not offered: `<rename_file><uri>a.rs</uri></rename_file>`. No client
//! executes it, and a user would see the markup. So the model is told about it, as with an unknown name in JSON.

use serde_json::{Map, Value};

use crate::{
    adapter::{
        asides::CLIENT_RESULT,
        syntax::{Context, Parsed, blank, field::one_each, typing::Types},
    },
    event::Tools,
};

/// Maximum length of a tool's name, in bytes.
const NAME_BYTES: usize = 64;
/// Maximum length of such an element, in bytes.
const ELEMENT_BYTES: usize = 4096;

pub(super) enum Foreign {
    /// A call, and the end of its element.
    Call(Parsed, usize),
    Maybe,
    No,
}

/// Whether a tag may have a tool's name: an identifier without attributes. `text` follows the bracket.
pub(in crate::adapter) fn may_begin(text: &str, end: bool) -> bool {
    match name(text) {
        Name::Whole(_) => true,
        Name::Open => !end,
        Name::No => false,
    }
}

/// Reads the element that `text` begins with. It may contain only parameters of offered tools. An element without parameters must
/// have a name of several words and at most one line of text.
pub(super) fn read(text: &str, context: Context<'_>) -> Foreign {
    match element(text, context.tools) {
        None if context.end || text.len() > ELEMENT_BYTES => Foreign::No,
        None => Foreign::Maybe,
        Some(found) => found,
    }
}

/// `None`: more text is needed.
fn element(text: &str, tools: &Tools) -> Option<Foreign> {
    let tag = text[blank(text)..].chars().next()?;
    let inside = &text[blank(text) + tag.len_utf8()..];
    let name = match name(inside) {
        Name::Whole(name) if tag == '<' => name,
        Name::Open if tag == '<' => return None,
        _ => return Some(Foreign::No),
    };
    // The result of a call, which the model repeats.
    if inside[..=name.len()].strip_suffix(CLIENT_RESULT).is_some_and(|name| tools.get(name).is_some()) {
        return Some(Foreign::No);
    }
    let close = format!("</{name}>");
    let mut members = Map::new();
    let mut rest = &inside[name.len() + 1..];
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(&close) {
            let counts = !members.is_empty() || name.contains('_');
            let call = Parsed::new(name, Value::Object(members).to_string());
            return Some(if counts { Foreign::Call(call, text.len() - after.len()) } else { Foreign::No });
        }
        if close.starts_with(rest) {
            return None;
        }
        if !rest.starts_with('<') {
            let line = rest.find('<').unwrap_or(rest.len());
            if !members.is_empty() || !name.contains('_') || rest[..line].trim_end().contains('\n') {
                return Some(Foreign::No);
            }
            rest = &rest[line..];
            if !rest.is_empty() && !rest.starts_with(&close) && !close.starts_with(rest) {
                return Some(Foreign::No);
            }
            continue;
        }
        let key = match self::name(&rest[1..]) {
            Name::Whole(key) if tools.iter().any(|tool| Types::new(Some(tool)).has(key)) => key,
            Name::Open => return None,
            _ => return Some(Foreign::No),
        };
        let (value, after) = rest[key.len() + 2..].split_once(&format!("</{key}>"))?;
        members.insert(key.to_owned(), one_each(value, &["\r\n", "\n"]).into());
        rest = after;
    }
}

enum Name<'t> {
    Whole(&'t str),
    Open,
    No,
}

/// The length of a tag's name, which may be escaped for Markdown.
pub(in crate::adapter) fn name_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\\'))).unwrap_or(text.len())
}

/// The name in a tag without attributes.
fn name(text: &str) -> Name<'_> {
    let length = name_length(text);
    let name = &text[..length];
    if length > NAME_BYTES || name.starts_with(|c: char| !c.is_ascii_alphabetic()) {
        return Name::No;
    }
    match text[length..].chars().next() {
        Some('>') if length > 0 => Name::Whole(name),
        None => Name::Open,
        Some(_) => Name::No,
    }
}
