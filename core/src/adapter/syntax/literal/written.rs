//! The text of a string. The fixer may read an escape as two characters (`C:\new`), but never a character that is there as itself: a
//! line break between quotes is a line break.

use crate::{
    adapter::syntax::typing::verbatim,
    json::{decode::code_unit, unescape_python},
};

/// The JSON text of a string with the escapes of Python and JSON. An escape that JSON has too stays one, which the fixer may doubt.
/// Any other backslash stays.
pub(super) fn escaped(source: &str) -> String {
    let (mut json, mut rest) = (String::from("\""), source);
    let write = |json: &mut String, raw: &str| {
        let text = verbatim(raw);
        json.push_str(&text[1..text.len() - 1]);
    };
    while let Some((before, tail)) = rest.split_once('\\') {
        write(&mut json, before);
        let length = match tail.bytes().next() {
            Some(b'n' | b't' | b'r' | b'b' | b'f') => {
                json.push_str(&rest[before.len()..before.len() + 2]);
                1
            }
            Some(b'u') if code_unit(rest, before.len()).is_some() => {
                json.push_str(&rest[before.len()..before.len() + 6]);
                5
            }
            Some(b'\n') => 1,
            Some(kind @ (b'\\' | b'\'' | b'"' | b'x')) => {
                let escape = rest.get(before.len()..before.len() + if kind == b'x' { 4 } else { 2 }).unwrap_or("\\");
                write(&mut json, &unescape_python(escape));
                escape.len() - 1
            }
            _ => {
                write(&mut json, "\\");
                0
            }
        };
        rest = &tail[length..];
    }
    write(&mut json, rest);
    json.push('"');
    json
}
