//! Numbers as text. They are never converted to a machine number, so no digit is lost.

use std::borrow::Cow;

use super::lex::Text;

/// Longest whole number that is written out, in digits.
const MOST_DIGITS: usize = 40;

/// Whether the text is a number in JSON's spelling (RFC 8259, section 6).
pub(crate) fn is_strict(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    text.strip_prefix('-').unwrap_or(text).starts_with(is_digit)
        && text.ends_with(is_digit)
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A number in JSON's spelling, from a spelling that JSON does not have: `+3`, `.5`, `1.`, `007`, `1_000`, `0x1F`, `1e`. A strict
/// number is returned unchanged. `None` if the text is not a number.
pub(crate) fn respell(text: &str) -> Option<Cow<'_, str>> {
    if is_strict(text) {
        return Some(Cow::Borrowed(text));
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let value = u64::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+'))?;
        return Some(Cow::Owned(format!("{sign}{value}")));
    }
    if rest.starts_with('_') || rest.ends_with('_') || rest.contains("__") {
        return None;
    }
    let plain = rest.replace('_', "");
    let (whole, fraction, exponent) = parts(&plain);
    let fraction = fraction.unwrap_or("");
    let power = exponent.map_or("", |exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) || !digits(power) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let (e, exponent) = if power.is_empty() { ("", "") } else { ("e", exponent.unwrap_or("")) };
    Some(Cow::Owned(format!("{sign}{whole}{point}{fraction}{e}{exponent}")))
}

/// A number in a text.
pub(crate) struct Digits {
    pub(crate) end: usize,
    /// It is spelled as JSON spells it.
    pub(crate) strict: bool,
    /// Its value is open to interpretation: hexadecimal, leading zeros, an exponent without digits.
    pub(crate) guess: bool,
}

impl Text<'_> {
    /// The number at `i`, strict or nearly so; `None` if something other than a delimiter follows it.
    pub(crate) fn number(&self, i: usize) -> Option<Digits> {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        let end = i + self.bytes[i..].iter().take_while(is_part).count();
        let digits = self.source[i..end].trim_start_matches(['+', '-']);
        let strict = is_strict(&self.source[i..end]);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || respell(&self.source[i..end]).is_none() {
            return None;
        }
        let ends = match self.at(end) {
            None | Some(b',' | b'}' | b']' | b')' | b'<' | b';' | b'#' | b'`' | b'"' | b'\'') => true,
            Some(b'/') => matches!(self.at(end + 1), Some(b'/' | b'*')),
            Some(b'\\') => matches!(self.at(end + 1), Some(b'n' | b't' | b'r')),
            Some(byte) if byte.is_ascii_whitespace() => true,
            Some(_) => self.skip(end) > end || self.comma(end).is_some(),
        };
        let odd_zero = digits.len() > 1 && digits.starts_with('0') && !digits[1..].starts_with(['.', 'e', 'E']);
        let guess = odd_zero || digits.ends_with(['e', 'E', '+', '-']);
        ends.then_some(Digits { end, strict, guess })
    }
}

/// The digits of a whole number, also from `3.0` or `1e3`. `None` if it is not whole or has more than 40 digits.
pub(crate) fn whole(text: &str) -> Option<Cow<'_, str>> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction, exponent) = parts(rest);
    if fraction.is_none() && exponent.is_none() {
        return Some(Cow::Borrowed(text));
    }
    let fraction = fraction.unwrap_or("");
    let digits = format!("{whole}{fraction}");
    if digits.bytes().all(|byte| byte == b'0') {
        return Some(Cow::Borrowed("0"));
    }
    let exponent: i64 = exponent.map_or(Some(0), |exponent| exponent.parse().ok())?;
    // Where in `digits` the decimal point is.
    let point = exponent.checked_add(i64::try_from(whole.len()).ok()?)?;
    let point = usize::try_from(point).ok().filter(|point| *point <= MOST_DIGITS.max(digits.len()))?;
    let (before, after) = digits.split_at(point.min(digits.len()));
    if after.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let before = before.trim_start_matches('0');
    let zeros = point.saturating_sub(digits.len());
    (before.len() + zeros <= MOST_DIGITS).then(|| Cow::Owned(format!("{sign}{before}{}", "0".repeat(zeros))))
}

/// The parts of an unsigned number: before the point, after it, after the `e`.
fn parts(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction), exponent),
        None => (mantissa, None, exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_numbers_are_those_of_json() {
        for text in ["0", "-0", "12", "-1.50", "1e400", "1E+2", "0.0e-1", "98765432109876543210987654321"] {
            assert!(is_strict(text), "{text}");
            assert_eq!(respell(text).as_deref(), Some(text));
        }
        for text in ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1_0", "0x1", "1.5.2", "1e2e3", "--1", "NaN", "1 "] {
            assert!(!is_strict(text), "{text}");
        }
    }

    #[test]
    fn other_spellings() {
        for (text, expected) in [
            ("+3", Some("3")),
            (".5", Some("0.5")),
            ("-.5", Some("-0.5")),
            ("1.", Some("1")),
            ("007", Some("7")),
            ("00", Some("0")),
            ("1_000.5", Some("1000.5")),
            ("0x1F", Some("31")),
            ("-0XfF", Some("-255")),
            ("1e", Some("1")),
            ("+1.5e-7", Some("1.5e-7")),
            ("9007199254740993_0", Some("90071992547409930")),
            ("0x", None),
            ("0x+1", None),
            (".", None),
            ("three", None),
            ("3 lines", None),
            ("1-2", None),
        ] {
            assert_eq!(respell(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn whole_numbers_keep_their_digits() {
        for (text, expected) in [
            ("3", Some("3")),
            ("3.0", Some("3")),
            ("-3.00", Some("-3")),
            ("-0.0", Some("0")),
            ("1e3", Some("1000")),
            ("1.5e1", Some("15")),
            ("1500e-2", Some("15")),
            ("0.5e1", Some("5")),
            ("9007199254740993.0", Some("9007199254740993")),
            ("12345678901234567890123.0", Some("12345678901234567890123")),
            ("3.7", None),
            ("1e-1", None),
            ("15e-1", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(whole(text).as_deref(), expected, "{text}");
        }
    }
}
