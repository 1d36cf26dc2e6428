//! Numbers as models write them: where one ends, and whether JSON would spell it this way.

use super::Text;

/// A number in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let mut end = i;
        let mut strict = true;
        let mut guess = false;
        match self.at(end)? {
            b'-' => end += 1,
            b'+' => {
                strict = false;
                end += 1;
            }
            _ => {}
        }
        if self.at(end) == Some(b'0') && matches!(self.at(end + 1), Some(b'x' | b'X')) {
            let digits = self.bytes[end + 2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            end += 2 + digits;
            return (digits > 0 && digits <= 15 && self.number_ends(end)).then_some(Digits { end, strict: false, guess: true });
        }
        let whole = self.digits(end, &mut strict);
        if whole - end > 1 && self.at(end) == Some(b'0') {
            strict = false;
            guess = true;
        }
        let mut any = whole > end;
        strict &= any;
        end = whole;
        if self.at(end) == Some(b'.') {
            let fraction = self.digits(end + 1, &mut strict);
            strict &= fraction > end + 1;
            any |= fraction > end + 1;
            end = fraction;
        }
        if !any {
            return None;
        }
        if matches!(self.at(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.at(end + 1), Some(b'+' | b'-')));
            let exponent = self.digits(end + 1 + sign, &mut strict);
            if exponent == end + 1 + sign {
                strict = false;
                guess = true;
            }
            end = exponent;
        }
        self.number_ends(end).then_some(Digits { end, strict, guess })
    }

    /// The end of a run of digits. Single underscores may separate them.
    fn digits(&self, mut i: usize, strict: &mut bool) -> usize {
        while let Some(byte) = self.at(i) {
            let joins = byte == b'_'
                && i > 0
                && self.bytes[i - 1].is_ascii_digit()
                && self.at(i + 1).is_some_and(|next| next.is_ascii_digit());
            if !byte.is_ascii_digit() && !joins {
                break;
            }
            *strict &= !joins;
            i += 1;
        }
        i
    }

    /// Whether a number can end at `end`.
    fn number_ends(&self, end: usize) -> bool {
        match self.at(end) {
            None | Some(b',' | b'}' | b']' | b')' | b'<' | b';' | b'#' | b'`') => true,
            Some(b'/') => matches!(self.at(end + 1), Some(b'/' | b'*')),
            Some(b'"' | b'\'') => true,
            Some(b'\\') => matches!(self.at(end + 1), Some(b'n' | b't' | b'r')),
            Some(byte) if byte.is_ascii_whitespace() => true,
            Some(0x80..) => self.skip(end) > end || self.comma(end).is_some(),
            Some(_) => false,
        }
    }
}
