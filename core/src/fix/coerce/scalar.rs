//! Conversions of scalars. The whole text must match: `3 lines` is not a number.

use std::borrow::Cow;

use crate::fix::keys::is_nothing;
use crate::fix::report::Verdict;
use crate::json::Code;
use crate::json::number;
use crate::json::tree::Value;
use crate::schema::Types;

/// The new value, the rule, its level, and what was done.
type Converted = (Value<'static>, Code, Verdict, &'static str);

/// Converts a string where the schema wants another type.
pub(super) fn from_text(text: &str, types: Types) -> Option<Converted> {
    let word = text.trim();
    if types.allow(Types::NULL) && is_nothing(word) {
        return Some((Value::Null, Code::K9, Verdict::Coerced, "the word for null"));
    }
    if types.allow(Types::NUMBER)
        && let Some((digits, level)) = written_number(word)
    {
        let digits = if types.and(Types::NUMBER) == Types::INTEGER { number::whole(&digits)?.into_owned() } else { digits };
        return Some((Value::Number(Cow::Owned(digits)), Code::K1, level, "number written as a string"));
    }
    if types.allow(Types::BOOLEAN) {
        let value = match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => true,
            "false" | "no" | "off" | "0" => false,
            _ => return None,
        };
        return Some((Value::Bool(value), Code::K3, Verdict::Coerced, "truth value written as a string"));
    }
    None
}

/// Converts a number or boolean where the schema wants another type. `written` is its source text.
pub(super) fn from_scalar(value: &Value<'_>, written: &str, types: Types) -> Option<Converted> {
    match value {
        Value::Number(digits) if types.allow(Types::BOOLEAN) && !types.allow(Types::STRING) => {
            let value = match digits.parse::<f64>() {
                Ok(1.0) => true,
                Ok(0.0) => false,
                _ => return None,
            };
            Some((Value::Bool(value), Code::K3, Verdict::Coerced, "truth value written as a number"))
        }
        Value::Number(_) | Value::Bool(_) if types.allow(Types::STRING) => {
            Some((Value::Text(Cow::Owned(written.to_owned())), Code::K4, Verdict::Coerced, "text written without quotes"))
        }
        _ => None,
    }
}

/// The number that the whole string spells.
fn written_number(word: &str) -> Option<(String, Verdict)> {
    let plain = word.strip_prefix('+').unwrap_or(word);
    if number::is_strict(plain) {
        return Some((plain.to_owned(), Verdict::Coerced));
    }
    // Without the digits on one side of the point: `.5`, `5.`.
    if word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-'))
        && (word.ends_with('.') || word.trim_start_matches(['+', '-']).starts_with('.'))
    {
        return Some((number::respell(word)?.into_owned(), Verdict::Coerced));
    }
    // Groups of thousands: `1,000`.
    let (whole, rest) = word.split_at(word.find('.').unwrap_or(word.len()));
    let mut groups = whole.split(',');
    let first = groups.next()?.trim_start_matches('-');
    let groups: Vec<&str> = groups.collect();
    let grouped = !groups.is_empty()
        && (1..=3).contains(&first.len())
        && groups.iter().all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    let plain = whole.replace(',', "") + rest;
    (grouped && number::is_strict(&plain)).then_some((plain, Verdict::Guess))
}
