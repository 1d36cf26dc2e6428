//! Tolerant JSON: finds where a value ends, reads damaged text into a tree, and reports each repair. It knows nothing of tools.

mod code;
pub(crate) mod decode;
pub mod extent;
pub(crate) mod lex;
pub(crate) mod number;
pub mod pointer;
pub mod read;
pub mod strict;
pub mod tree;

pub use code::Code;

/// An upper bound of the number of JSON values in a text, without building any: each takes some hundred bytes of memory, however
/// short it is.
pub fn values(text: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

/// Decodes one layer of JSON escapes. A backslash that begins no escape is kept.
pub fn unescape(text: &str) -> std::borrow::Cow<'_, str> {
    decode::decode(text, lex::Quote::Double).text
}

/// Decodes one layer of escapes of a Python string in single quotes (`\xXX` too).
pub fn unescape_python(text: &str) -> std::borrow::Cow<'_, str> {
    decode::decode(text, lex::Quote::Single).text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (body, least) in [("1", 1), ("[1,2,3]", 4), (r#"{"a":"[,{\\",,\"","b":[]}"#, 3), (r#"["\",",2]"#, 3)] {
            assert!(values(body.as_bytes()) >= least, "{body}");
        }
        assert_eq!(values(format!("[\"{}\"]", ",[{".repeat(1000)).as_bytes()), 2);
    }
}
