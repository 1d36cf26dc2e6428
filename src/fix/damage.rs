//! Readings that are better explained by a damaged bracket, comma or quote: what follows it became part of a string, or lies outside of
//! the object. Such a call is refused, because its values are not what the model wrote.

use super::report::Fix;
use super::schema::Schema;
use crate::json::Code;
use crate::json::read::{Guide, Reading, Shape};
use crate::json::tree::{Member, Node, Value};

/// Longest key that is looked for, in bytes.
const KEY_BYTES: usize = 64;

/// What the strings and keys of a reading are checked against.
struct Source<'c> {
    text: &'c str,
    schema: &'c Schema,
}

/// An object around the strings that are looked at, or the place where one was expected.
struct Around<'a, 's> {
    shape: Shape,
    members: &'a [Member<'s>],
    outer: Option<&'a Around<'a, 's>>,
}

/// What is wrong with a reading of `text[start..]`; `None` if nothing is.
pub(super) fn damage(reading: &Reading<'_>, text: &str, start: usize, schema: &Schema) -> Option<String> {
    let top = schema.rule(schema.top());
    for outside in [&text[..start], text.get(reading.end..).unwrap_or_default()] {
        if let Some(key) = keys(outside, false).find(|key| top.named(key).is_some()) {
            return Some(format!("`{key}` is outside of the object"));
        }
    }
    if !reading.repairs.iter().any(|repair| matches!(repair.rule, Code::T3 | Code::X3)) {
        return None;
    }
    let expected = Around { shape: schema.top(), members: &[], outer: None };
    let around = if matches!(reading.root.value, Value::Object(_)) { None } else { Some(&expected) };
    Source { text, schema }.fault(&reading.root, schema.top(), around, false)
}

/// Whether a value was converted that the reader had to put together: a list as text whose brackets or quotes are repaired.
pub(super) fn is_converted_after_repair(fixes: &[Fix]) -> bool {
    let of = |codes: &'static [Code]| fixes.iter().filter(|fix| codes.contains(&fix.rule) && !fix.path.is_empty());
    of(&[Code::K5b, Code::K6, Code::K11]).any(|converted| {
        of(&[Code::S12, Code::S16, Code::S19, Code::X3])
            .any(|repaired| repaired.path.starts_with(&*converted.path) || converted.path.starts_with(&*repaired.path))
    })
}

// === impl Source ===

impl Source<'_> {
    /// What is wrong with the strings and keys of `node`; `listed`: it is an element of a list.
    fn fault(&self, node: &Node<'_>, shape: Shape, around: Option<&Around<'_, '_>>, listed: bool) -> Option<String> {
        match &node.value {
            Value::Object(members) => {
                let around = Around { shape, members, outer: around };
                let rule = self.schema.rule(shape);
                members.iter().find_map(|Member { key, node, .. }| {
                    let torn = key.contains('"') && rule.named(key).is_none() && !rule.properties.is_empty();
                    let torn = torn.then(|| "a quote ends a key or is part of it".to_owned());
                    torn.or_else(|| self.fault(node, self.schema.member(shape, key), Some(&around), false))
                })
            }
            Value::Array(items) => items.iter().find_map(|item| self.fault(item, self.schema.item(shape), around, true)),
            Value::Text(_) if !node.exact => {
                let source = self.text.get(node.start..node.end)?;
                // `"f", "days"}: 7`: the key ends the string.
                let last = source.rsplit_once('"').filter(|(before, _)| before.trim_end().ends_with(','));
                let last = last.map(|(_, key)| key);
                if let Some(key) = keys(source, true).chain(last).find(|key| is_missing(key, around, self.schema)) {
                    return Some(format!("`{key}` is a parameter or part of a value"));
                }
                let assigned =
                    source.trim_start().strip_prefix([':', '=']).is_some_and(|rest| rest.trim_start().starts_with(['"', '\'']));
                (assigned || has_odd_quote(source) || (listed && separates(source)))
                    .then(|| "a quote ends a value or is part of it".to_owned())
            }
            _ => None,
        }
    }
}

/// Whether one of the objects around may have a member of this name and has none.
fn is_missing(key: &str, around: Option<&Around<'_, '_>>, schema: &Schema) -> bool {
    let Some(around) = around else { return false };
    let missing = schema.rule(around.shape).named(key).is_some() && !around.members.iter().any(|member| member.key == key);
    missing || is_missing(key, around.outer, schema)
}

/// Whether a text has an odd number of quotes of one kind and begins or ends with one, punctuation aside: `Oslo":`.
fn has_odd_quote(text: &str) -> bool {
    let framing = |c: char| c.is_whitespace() || ",:;{}[]".contains(c);
    let (first, last) = (text.trim_start(), text.trim_end_matches(framing));
    ['"', '\''].into_iter().filter(|&quote| first.starts_with(quote) || last.ends_with(quote)).any(|quote| {
        let (mut quotes, mut chars) = (0, text.chars());
        while let Some(c) = chars.next() {
            if c == '\\' {
                chars.next();
            } else if c == quote {
                quotes += 1;
            }
        }
        quotes % 2 == 1
    })
}

/// Whether a quote is beside a comma: two elements may be one.
fn separates(text: &str) -> bool {
    text.match_indices('"').any(|(at, _)| {
        let (before, after) = (text[..at].trim_end(), text[at + 1..].trim_start());
        before.ends_with(',') || after.starts_with(',')
    })
}

/// What is written like a key, outside of brackets. `content`: the text is a string, and what its brackets hold is content; a bracket
/// after a quote that may have closed the string is damage.
fn keys(source: &str, content: bool) -> impl Iterator<Item = &str> {
    let (mut depth, mut inside) = (0_i32, content);
    source.bytes().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'{' | b'[' if inside == content => depth += 1,
            b'}' | b']' if inside == content => depth = (depth - 1).max(0),
            b'"' => inside = !inside,
            _ => {}
        }
        if !matches!(byte, b'"' | b'\'') || depth > 0 {
            return None;
        }
        let before = &source[source.ceil_char_boundary(at.saturating_sub(KEY_BYTES))..at];
        let begun = before.rfind(['"', '\''])?;
        let key = &before[begun + 1..];
        let is_word = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c));
        // What damaged it may be before the colon: `"days",: 3`.
        let after = source[at + 1..].trim_start_matches(|c: char| c.is_whitespace() || ",;{}[]()".contains(c));
        (is_word && after.starts_with([':', '='])).then_some(key)
    })
}

/// The bytes that tell whether code is whole.
const TELLING: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 8 {
        table[b"\\\"()[]{}"[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether a string with unescaped quotes inside looks like code that was cut: its quotes are odd and its brackets open.
pub(super) fn is_torn(text: &str) -> bool {
    let (mut quotes, mut open) = (0, [0_i32; 3]);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.find(|byte| TELLING[usize::from(*byte)]) {
        match byte {
            b'\\' => _ = bytes.next(),
            b'"' => quotes += 1,
            b'(' => open[0] += 1,
            b')' => open[0] -= 1,
            b'[' => open[1] += 1,
            b']' => open[1] -= 1,
            b'{' => open[2] += 1,
            b'}' => open[2] -= 1,
            _ => {}
        }
    }
    quotes % 2 == 1 && open.iter().any(|open| *open > 0)
}

#[cfg(test)]
mod tests {
    use crate::fix::{End, Schemas, fix};
    use std::sync::Arc;

    const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"mode":{"type":"string"},
        "marks":{"type":"array","items":{"type":"string"}}},"required":["path"]}"#;

    #[test]
    fn what_damage_explains_better_is_refused() {
        let schema = Schemas::default().get(&Arc::from(SCHEMA));
        for text in [
            r#"{"path": "a.ts", "text",: "x"}"#,
            r#"{"path": "a.ts",[{"text": "x"}"#,
            r#"{"path": "a.ts":}"#,
            r#"{"path": "a.ts'}"#,
            r#"{"path":" "a.ts"}"#,
            r#"{"path": "a.ts", "marks": ["m, "n"]}"#,
            r#"{"path": "a.ts", "marks": ["m"", "n"]}"#,
            r#"{"path": "a.ts", "marks": [["m", "n"], "mode": "x"}"#,
            r#"{"path": "a.ts", "marks": "m", "n"]}"#,
            r#"{"path": "a.ts", "marks": ["m", "n"}, "mode": "x"}"#,
            r#"{"path": "a.ts", "marks": [1, 2}, "mode": "x"}"#,
            r#"{"path": "a.ts", "mode"}: 1, "text": "x"}"#,
            r#"{"path": 1,}"text": "x"}"#,
            r#"["path": "a.ts"}"#,
            r#"{"path": "a.ts", 'mode": "x"}"#,
            r#"{"path": "a.ts", "mode"(: "x"}"#,
            r#""path": {"mode": "x"}}"#,
        ] {
            let report = fix(text, Some(&schema), &[], End::Closed);
            assert_eq!(report.accepted(), None, "{text}");
            assert!(report.why.is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_only_missing_is_added() {
        let schema = Schemas::default().get(&Arc::from(SCHEMA));
        for text in [
            r#"{"path": "a.ts", "marks": ["m", "n"], "mode": "x"}"#,
            r#"{"path": "a.ts" "marks": ["m", "n"], "mode": "x"}"#,
            r#"{"path": "a.ts", "marks": ["m" "n"], "mode" "x"}"#,
            r#"{"path": "a.ts"}, "marks": ["m", "n"], "mode": "x"}"#,
            r#"{{"path": "a.ts", "marks": ["m", "n"], "mode": "x"}}"#,
            r#"{"path": "a.ts", "marks": ["m", "n", "mode": "x"}"#,
        ] {
            let report = fix(text, Some(&schema), &[], End::Closed);
            let json: serde_json::Value = serde_json::from_str(report.accepted().unwrap_or("null")).unwrap_or_default();
            assert_eq!(json, serde_json::json!({"path": "a.ts", "marks": ["m", "n"], "mode": "x"}), "{text}: {report:?}");
        }
    }

    #[test]
    fn keys_of_unescaped_data_are_content() {
        let schema = Schemas::default().get(&Arc::from(SCHEMA));
        for (text, want) in [
            (r#"{"path": "a.json", "text": "{"mode": "x", "n": 1}"}"#, r#"{"mode": "x", "n": 1}"#),
            (r#"{"path": "a.md", "text": "write "path": here"}"#, r#"write "path": here"#),
        ] {
            let report = fix(text, Some(&schema), &[], End::Closed);
            let json: serde_json::Value = serde_json::from_str(report.accepted().unwrap_or("null")).unwrap_or_default();
            assert_eq!(json["text"], want, "{text}: {report:?}");
        }
    }
}
