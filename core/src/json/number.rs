//! Numbers as text. They are never converted to a machine number, so no digit is lost.

use std::borrow::Cow;

/// Longest whole number that is written out, in digits.
const MOST_DIGITS: usize = 40;

/// Whether the text is a number in JSON's spelling (RFC 8259, section 6).
pub(crate) fn is_strict(text: &str) -> bool {
    let (whole, fraction, exponent) = parts(text.strip_prefix('-').unwrap_or(text));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
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
    let plain: String = rest.chars().filter(|c| *c != '_').collect();
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
