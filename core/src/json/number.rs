//! Numbers as text. They are never converted to a machine number, so no digit is lost.

use std::borrow::Cow;

use super::lex::Text;

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
    let plain = rest.replace('_', "");
    let (mantissa, exponent) = plain.split_once(['e', 'E']).unwrap_or((&plain, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) || !digits(power) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let (e, exponent) = if power.is_empty() { ("", "") } else { ("e", exponent) };
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
        let is_delimiter = |byte| b"}])<;#`\"'".contains(&byte);
        let ends = self.at(end).is_none_or(is_delimiter) || self.comma(end).is_some() || self.skip(end) > end;
        let odd_zero = digits.len() > 1 && digits.starts_with('0') && !digits[1..].starts_with(['.', 'e', 'E']);
        let guess = odd_zero || digits.ends_with(['e', 'E', '+', '-']);
        ends.then_some(Digits { end, strict, guess })
    }
}

/// The digits of a whole number, also from `3.0` or `1e3`. `None` if it is not whole, or so large with its exponent that a double
/// does not hold every digit.
pub(crate) fn whole(text: &str) -> Option<Cow<'_, str>> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    const EXACT_DIGITS: usize = 15;
    if let Some((mantissa, _)) = text.split_once(['e', 'E']) {
        let value: f64 = text.parse().ok()?;
        // `1e-400` is not zero, nor is `1.0000000000000000001e0` one.
        let is_exact = mantissa.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS
            && (value != 0.0 || !mantissa.contains(|c| matches!(c, '1'..='9')));
        return (is_exact && value.fract() == 0.0 && value.abs() < EXACT).then(|| Cow::Owned(value.to_string()));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    fraction.bytes().all(|byte| byte == b'0').then_some(Cow::Borrowed(whole))
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
            ("-0.0", Some("-0")),
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
            ("1e-400", None),
            ("1.0000000000000000001e0", None),
            ("0e0", Some("0")),
        ] {
            assert_eq!(whole(text).as_deref(), expected, "{text}");
        }
    }
}
