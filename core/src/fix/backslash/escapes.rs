//! What the backslashes of one raw string show: which of them can be escapes, and which are in a path, a pattern or a line of
//! code.

use std::ops::Range;

use crate::fix::role::Role;
use crate::json::decode::{code_unit, decode};
use crate::json::lex::Quote;

/// How the backslashes of a string are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As JSON escapes.
    Escapes,
    /// Single backslashes are characters.
    Characters,
    /// As escapes, except in paths, in `\b` and `\f`, and at the end of inner quotes: the string has lines.
    Lines,
    /// As escapes, except in paths.
    Paths,
    /// As escapes, except `\b` and `\f`.
    Patterns,
    /// Every byte is a character, even in pairs of backslashes.
    Verbatim,
}

/// The length of the escape at `at`; 0 if JSON has no such escape.
fn escape_length(raw: &str, at: usize) -> usize {
    match raw.as_bytes().get(at + 1) {
        Some(b'"' | b'\'' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
        // Both halves of a surrogate pair are one escape.
        Some(b'u') => match code_unit(raw, at) {
            Some(0xd800..0xdc00) if matches!(code_unit(raw, at + 6), Some(0xdc00..0xe000)) => 12,
            Some(_) => 6,
            None => 0,
        },
        _ => 0,
    }
}

/// An escape for a control character.
#[derive(Debug, Clone, Copy)]
struct Control {
    /// The position of its backslash.
    at: usize,
    letter: u8,
    before: Option<u8>,
    after: Option<u8>,
    /// It is the last character before a closing unescaped quote inside the string.
    ends_quote: bool,
}

/// What the backslashes of one raw string show.
#[derive(Default)]
pub(super) struct Escapes<'r> {
    raw: &'r str,
    controls: Vec<Control>,
    /// There is an escape that JSON does not have.
    impossible: bool,
    /// A word follows such an escape: `\Users`, `\alpha`.
    word: bool,
    /// A backslash before a letter is doubled, and it does not begin a UNC path.
    doubled: bool,
    /// Some `\n` is a line break.
    lines: bool,
    /// There are raw line breaks between its lines, and no escape for a quote or at the beginning of a line.
    unescaped: bool,
    /// It has raw line breaks and unescaped quotes, and escapes for control characters only between such quotes.
    verbatim: bool,
    /// Paths with single backslashes, each from its first backslash on.
    paths: Vec<Range<usize>>,
}

impl<'r> Escapes<'r> {
    /// `delimiter`: the quote around the string, if it is single. Between double quotes, double quotes in it should be escaped.
    pub(super) fn of(raw: &'r str, delimiter: Option<char>) -> Escapes<'r> {
        let bytes = raw.as_bytes();
        let layout = ["\n\\t", "\n\\n", "\\r\n", "\\\""].iter().any(|written| raw.contains(written));
        let has_lines = memchr::memchr(b'\n', raw.trim().as_bytes()).is_some();
        let unescaped = !layout && has_lines;
        let verbatim =
            delimiter == Some('"') && !layout && [b'"', b'\n'].iter().all(|byte| memchr::memchr(*byte, bytes).is_some());
        let mut escapes = Escapes { raw, unescaped, verbatim, ..Escapes::default() };
        let mut at = 0;
        let mut quoted = false;
        while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
            let place = at + found;
            quoted ^= memchr::memchr_iter(b'"', &bytes[at..place]).count() % 2 == 1;
            let length = escape_length(raw, place);
            at = place + length.max(1);
            match bytes.get(place + 1) {
                Some(letter @ (b'n' | b'r' | b't' | b'b' | b'f')) => {
                    let before = place.checked_sub(1).map(|before| bytes[before]);
                    let after = bytes.get(at).copied();
                    // A docstring ends after a line break. An escaped quote is one of code if the lines of the string are raw.
                    let closes = after == Some(b'"') && !bytes[at..].starts_with(b"\"\"\"")
                        || has_lines && bytes[at..].starts_with(b"\\\"");
                    let ends_quote = quoted && closes && delimiter != Some('\'');
                    // Between quotes of the string it is code; elsewhere it is layout.
                    escapes.verbatim &= quoted;
                    escapes.controls.push(Control { at: place, letter: *letter, before, after, ends_quote });
                }
                Some(b'\\') => {
                    let letter = bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
                    escapes.doubled |= letter && unc_host(&bytes[place..]).is_none();
                }
                // Escaped quotes count too.
                Some(b'"') => quoted = !quoted,
                // A backslash before a raw newline continues a line of a shell command.
                Some(control) if *control < 0x20 => {}
                _ if length == 0 => {
                    escapes.impossible = true;
                    escapes.word |= bytes[at..].iter().take(3).take_while(|byte| byte.is_ascii_alphabetic()).count() == 3;
                }
                _ => {}
            }
        }
        // `"\n\n"`: the earlier ones end the quote too.
        for at in (1..escapes.controls.len()).rev() {
            let (before, control) = (escapes.controls[at - 1], escapes.controls[at]);
            escapes.controls[at - 1].ends_quote |= control.ends_quote && before.at + 2 == control.at;
        }
        if escapes.impossible || !escapes.controls.is_empty() {
            escapes.find_paths();
            escapes.lines = escapes.controls.iter().any(|control| escapes.is_newline(control));
        }
        escapes
    }

    /// Whether there is nothing to decide.
    pub(super) fn are_plain(&self) -> bool {
        !self.impossible && !self.verbatim && self.controls.is_empty()
    }

    /// How the string is to be read, and whether that is a guess.
    pub(super) fn reading(&self, role: Role) -> (Reading, bool) {
        if self.verbatim {
            return (Reading::Verbatim, true);
        }
        let lines = self.lines && !role.pattern;
        let whole = if lines { Reading::Lines } else { Reading::Characters };
        if self.impossible {
            // If lines are kept, the rest is a guess.
            return (whole, lines && self.controls.iter().any(|control| self.in_line(control.at)));
        }
        let named = role.path && !self.lines && self.controls.iter().any(|control| control.after.is_some_and(is_name));
        if self.doubled {
            // A path has no line break, however its other backslashes are written, and no text has a backspace.
            return match named {
                true => (Reading::Characters, true),
                false if self.controls.iter().any(is_pattern) => (Reading::Patterns, true),
                false => (Reading::Escapes, false),
            };
        }
        if self.unescaped && !self.lines {
            return (Reading::Characters, true);
        }
        if self.controls.iter().any(|control| control.ends_quote) {
            return (Reading::Lines, true);
        }
        if named || self.controls.iter().any(is_pattern) {
            return (whole, true);
        }
        match self.paths.iter().any(|path| self.is_spoilt(path, role)) {
            true if role == Role::default() && !lines => (Reading::Paths, true),
            true => (whole, true),
            false => (Reading::Escapes, false),
        }
    }

    /// The text, with the backslashes for which `keeps` holds kept as characters.
    pub(super) fn spelled(&self, keeps: impl Fn(usize) -> bool) -> String {
        let raw = self.raw;
        let mut text = String::with_capacity(raw.len());
        let (mut from, mut at) = (0, 0);
        while let Some(found) = memchr::memchr(b'\\', &raw.as_bytes()[at..]) {
            let place = at + found;
            let length = escape_length(raw, place);
            at = place + length.max(1);
            let kept = match raw.as_bytes().get(place + 1) {
                // Only the two backslashes before a UNC host are two characters.
                Some(b'\\') => self.path_at(place).is_some_and(|path| path.start == place),
                Some(b'"' | b'\'' | b'u') => length == 0,
                _ => length == 0 || keeps(place),
            };
            if !kept {
                text.push_str(&raw[from..place]);
                text.push_str(&decode(&raw[place..at], Quote::Double).text);
                from = at;
            }
        }
        text.push_str(&raw[from..]);
        text
    }

    /// Whether this `\n` is a line break: what follows cannot continue a name that begins with `n`.
    fn is_newline(&self, control: &Control) -> bool {
        let next = self.raw.as_bytes().get(control.at + 3);
        match (control.letter, control.after) {
            (b'r', Some(b'\\')) => next == Some(&b'n'),
            (b'n', None) => true,
            (b'n', Some(b'\\')) => matches!(next, Some(b'n' | b'r' | b't')),
            (b'n', Some(b' ' | b'\t' | b'\n' | b'\r' | b'}' | b')' | b'#' | b'<' | b'@' | b'{' | b'`')) => true,
            (b'n', _) => self.ends_line(control),
            _ => false,
        }
    }

    /// Whether the text before a `\n` ends a statement or a sentence.
    fn ends_line(&self, control: &Control) -> bool {
        match control.before {
            Some(b';') => true,
            Some(b')') => !self.word,
            Some(b'.') => control.at.checked_sub(2).is_some_and(|at| self.raw.as_bytes()[at].is_ascii_alphanumeric()),
            _ => false,
        }
    }

    /// Whether the backslash at `at` is a character even in a string with lines.
    pub(super) fn in_line(&self, at: usize) -> bool {
        let Ok(found) = self.controls.binary_search_by_key(&at, |control| control.at) else {
            // `\/` in a regular expression of JavaScript.
            return self.impossible;
        };
        let control = &self.controls[found];
        is_pattern(control)
            || control.ends_quote
            || control.letter != b'n' && control.after.is_some_and(is_name) && self.path_at(at).is_some()
    }

    /// The path that contains the byte `at`.
    pub(super) fn path_at(&self, at: usize) -> Option<&Range<usize>> {
        let following = self.paths.partition_point(|path| path.start <= at);
        self.paths[..following].last().filter(|path| path.contains(&at))
    }

    /// Finds the paths that begin with a drive or a UNC host and have single backslashes as separators.
    fn find_paths(&mut self) {
        let bytes = self.raw.as_bytes();
        let ends =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'|' | b'<' | b'>' | b',' | b';');
        let mut from = 0;
        while let Some(found) = memchr::memchr(b'\\', &bytes[from..]) {
            let at = from + found;
            let drive = at >= 2
                && bytes[at - 1] == b':'
                && bytes[at - 2].is_ascii_alphabetic()
                && (at == 2 || !(bytes[at - 3].is_ascii_alphanumeric() || bytes[at - 3] == b'_'));
            let begins = at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'=' | b'(' | b'"' | b'\'' | b'`');
            let host = if begins { unc_host(&bytes[at..]) } else { None };
            if !drive && host.is_none() {
                from = at + escape_length(self.raw, at).max(1);
                continue;
            }
            let inner = at + host.unwrap_or(0);
            let to = |from: usize| from + bytes[from..].iter().position(ends).unwrap_or(bytes.len() - from);
            let mut end = to(inner);
            // `C:\Program Files\app`: a folder name with a space.
            while bytes.get(end) == Some(&b' ') && folder(&bytes[end + 1..]) {
                end = to(end + 1);
            }
            let doubled = memchr::memmem::find(&bytes[inner..end], b"\\\\").is_some();
            if !doubled {
                self.paths.push(at..end);
            }
            from = end.max(at + 1);
        }
    }

    /// Whether the escapes would put a control character into this path.
    fn is_spoilt(&self, path: &Range<usize>, role: Role) -> bool {
        let begin = self.controls.partition_point(|control| control.at < path.start);
        let inside = &self.controls[begin..self.controls.partition_point(|control| control.at < path.end)];
        let Some(first) = inside.first() else { return false };
        let rest = self.raw.get(path.start + 2..path.end).unwrap_or_default();
        // `if x:\n\treturn`, `A:\tyes\nB:\tno` and `Q:\nWhat?` look like a drive, but no folder follows.
        let named = first.at != path.start || first.after.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !named || rest.contains(['?', '*']) || rest.contains(":\\") {
            return false;
        }
        // `Plan B:\nGo home` looks like a drive too, and `\\alpha\ttheta` like a UNC path.
        let host = self.raw[path.start..].starts_with("\\\\");
        let drive = path.start == 2 && self.raw.starts_with(|c: char| c.is_ascii_uppercase());
        let known = role != Role::default() || drive || (first.at != path.start && !host);
        let deep = rest.matches('\\').count() > usize::from(host);
        let sure = known || deep || rest.trim_end_matches('.').contains('.');
        sure && inside.iter().any(|control| control.after.is_some_and(is_name) && (control.letter != b'n' || !self.lines))
    }
}

/// Whether `bytes` begins with a folder name, or the rest of one, that a backslash and more of a path follow.
fn folder(bytes: &[u8]) -> bool {
    let name = bytes.iter().take_while(|byte| is_name(**byte) || matches!(byte, b'(' | b')')).count();
    name > 0 && bytes.get(name) == Some(&b'\\') && bytes.get(name + 1).is_some_and(|byte| is_name(*byte))
}

/// Whether a byte can be part of a file name.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$' | b'~') || byte >= 0x80
}

/// Whether this is `\b` or `\f` of a regular expression or a formula: nobody writes a backspace or form feed before a letter.
fn is_pattern(control: &Control) -> bool {
    match control.letter {
        b'b' => control.after.is_some_and(|after| after.is_ascii_alphanumeric() || matches!(after, b'(' | b'[' | b'_')),
        b'f' => control.after.is_some_and(|after| after.is_ascii_alphabetic()),
        _ => false,
    }
}

/// The length of `\\host` at the start of `bytes`, if a single backslash and a name follow.
fn unc_host(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\\\\")?;
    let host = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'?')).count();
    let share = host >= 1 && rest.get(host) == Some(&b'\\') && rest.get(host + 1).is_some_and(|byte| is_name(*byte));
    // `\\d\w` is a pattern: hosts have longer names.
    (share && (host >= 2 || rest[0] == b'?' || rest[0] == b'.')).then_some(2 + host)
}
