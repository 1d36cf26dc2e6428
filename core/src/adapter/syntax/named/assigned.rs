//! Arguments written as assignments after the name, `f city="Oslo" days=3`, up to the closing marker or the end of the answer.

use crate::{
    adapter::syntax::{
        Context, Seen, Start, WORD_BYTES,
        json::IDS,
        members::object,
        starts_with_any,
        typing::{Hint, Types},
        value::{Got, ValueReader},
    },
    json::unescape,
};

/// What separates assignments.
const BETWEEN: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, ',' | ';');

/// Reads the assignments of one call.
#[derive(Debug)]
pub(super) struct Assigned {
    pairs: Vec<(String, String)>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Before a key.
    Between { at: usize },
    /// After a key and its sign.
    Assigns { key: String, at: usize },
    /// Inside quotes, searched up to `seen`. `quotes`: the value contains some.
    Quoted { key: String, start: usize, seen: usize, quotes: bool },
    /// Inside brackets.
    Value { key: String, start: usize, value: ValueReader },
}

/// How far the assignments were read.
pub(super) enum Progress {
    More,
    /// This is something else.
    No,
    /// The text ended inside them.
    Cut,
    Done {
        arguments: String,
        end: usize,
    },
}

impl Assigned {
    pub(super) fn at(at: usize) -> Assigned {
        Assigned { pairs: Vec::new(), state: State::Between { at } }
    }

    /// Reads on. `text` is everything from the start of the call's body.
    pub(super) fn read(&mut self, text: &str, types: &Types, context: Context<'_>) -> Progress {
        let wait = if context.end { Progress::Cut } else { Progress::More };
        loop {
            let (key, value, next) = match &mut self.state {
                State::Between { at } => {
                    let at = *at + between(&text[*at..]);
                    match starts_with_any(&text[at..], context.close, context.end) {
                        Start::Yes(length) => return Progress::Done { arguments: object(&self.pairs), end: at + length },
                        Start::Maybe => return wait,
                        Start::No if at == text.len() => return self.over(text, context),
                        Start::No => {}
                    }
                    match key(&text[at..], context.end) {
                        Seen::Yes((key, _)) if !types.has(key) && !IDS.contains(&key) => return Progress::No,
                        Seen::Yes((key, length)) => {
                            self.state = State::Assigns { key: key.to_owned(), at: at + length };
                            continue;
                        }
                        Seen::Maybe => return wait,
                        Seen::No => return Progress::No,
                    }
                }
                State::Assigns { key, at } => {
                    let start = *at;
                    let key = std::mem::take(key);
                    match text[start..].chars().next() {
                        Some('"' | '\'') => {
                            self.state = State::Quoted { key, start, seen: start + 1, quotes: false };
                            continue;
                        }
                        Some('{' | '[') => {
                            self.state = State::Value { key, start, value: ValueReader::at(start) };
                            continue;
                        }
                        _ => {}
                    }
                    let closes = |&(at, c): &(usize, char)| {
                        BETWEEN(c) || starts_with_any(&text[start + at..], context.close, true) != Start::No
                    };
                    match text[start..].char_indices().find(closes) {
                        Some((length, _)) => (key, text[start..start + length].to_owned(), start + length),
                        None => {
                            self.state = State::Assigns { key, at: start };
                            return if text.len() - start > WORD_BYTES { Progress::No } else { wait };
                        }
                    }
                }
                State::Quoted { key, start, seen, quotes } => {
                    let quote = text.as_bytes()[*start];
                    let Some(found) = text.as_bytes()[*seen..].iter().position(|&byte| byte == quote || byte == b'\\') else {
                        *seen = text.len();
                        return wait;
                    };
                    let at = *seen + found;
                    if text.as_bytes()[at] == b'\\' {
                        let Some(escaped) = text[at + 1..].chars().next() else {
                            *seen = at;
                            return wait;
                        };
                        *seen = at + 1 + escaped.len_utf8();
                        continue;
                    }
                    match ends_value(&text[at + 1..], types, quote, *quotes, context) {
                        Start::Yes(_) => {
                            let written = &text[*start + 1..at];
                            // Which of two quotes ends the value?
                            if written.ends_with(char::from(quote)) && !written[..written.len() - 1].ends_with('\\') {
                                return Progress::No;
                            }
                            let value =
                                if written.contains("\\\"") { unescape(written).into_owned() } else { written.to_owned() };
                            (std::mem::take(key), value, at + 1)
                        }
                        Start::Maybe => {
                            *seen = at;
                            return wait;
                        }
                        Start::No if context.close.is_empty() => return Progress::No,
                        Start::No => {
                            (*seen, *quotes) = (at + 1, true);
                            continue;
                        }
                    }
                }
                State::Value { key, start, value } => match value.read(text, &[], context.end) {
                    Got::Balanced(end) => (std::mem::take(key), text[*start..end].to_owned(), end),
                    Got::More | Got::Closed(..) => return wait,
                },
            };
            // An id is not an argument.
            if types.has(&key) || !IDS.contains(&key.as_str()) {
                self.pairs.push((key.clone(), types.value(&key, &value, Hint::None)));
            }
            self.state = State::Between { at: next };
        }
    }

    /// At the end of the text so far. Without a closing marker, the end of the answer closes a call whose last value is closed.
    fn over(&self, text: &str, context: Context<'_>) -> Progress {
        match text.trim_end_matches(BETWEEN).ends_with(['"', '\'', '}', ']']) {
            _ if !context.end => Progress::More,
            true if context.close.is_empty() && !context.cut => {
                Progress::Done { arguments: object(&self.pairs), end: text.len() }
            }
            _ => Progress::Cut,
        }
    }
}

/// Whether `text` begins with the key of an assignment.
pub(super) fn begins(text: &str, over: bool) -> Start {
    match key(&text[between(text)..], over) {
        Seen::Yes((_, length)) => Start::Yes(length),
        Seen::Maybe => Start::Maybe,
        Seen::No => Start::No,
    }
}

/// The key that `text` assigns to, and its length including the sign.
fn key(text: &str, over: bool) -> Seen<(&str, usize)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match text.find(|c| !is_name(c)) {
        Some(length) if length > 0 && text[length..].starts_with('=') && !text[length..].starts_with("==") => {
            Seen::Yes((&text[..length], length + 1))
        }
        None if text.len() <= WORD_BYTES && !over => Seen::Maybe,
        _ => Seen::No,
    }
}

/// Whether the value ends at the quote before `text`: another assignment follows, or the closing marker. After quotes inside of the
/// value, that is a parameter's key, or a marker at the end of its line or before another call. So it is if quotes follow the marker.
fn ends_value(text: &str, types: &Types, quote: u8, quotes: bool, context: Context<'_>) -> Start {
    let gap = between(text);
    let rest = &text[gap..];
    match starts_with_any(rest, context.close, context.end) {
        Start::Yes(length) => {
            let after = rest[length..].trim_start_matches([' ', '\t', ',', ';']);
            let line = after.find('\n').map(|length| &after[..length]);
            let is_call = after.strip_prefix('[').is_some_and(|inside| inside.starts_with(char::is_alphabetic));
            match line.or(context.end.then_some(after)) {
                _ if is_call => return Start::Yes(0),
                None => return Start::Maybe,
                Some(line) if line.trim().is_empty() || !quotes && !line.as_bytes().contains(&quote) => return Start::Yes(0),
                Some(_) => {}
            }
        }
        Start::No => {}
        found => return found,
    }
    match key(rest, context.end) {
        _ if rest.is_empty() && context.end => Start::Yes(0),
        _ if rest.is_empty() => Start::Maybe,
        _ if gap == 0 => Start::No,
        Seen::Yes((key, length)) if !quotes || types.has(key) => Start::Yes(length),
        Seen::Maybe => Start::Maybe,
        _ => Start::No,
    }
}

fn between(text: &str) -> usize {
    text.len() - text.trim_start_matches(BETWEEN).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Tool, ToolChoice, Tools},
        seen::library,
    };

    #[test]
    fn a_value_ends_where_another_assignment_or_the_marker_follows() {
        let schema = r#"{"type":"object","properties":{"command":{"type":"string"},"tries":{"type":"integer"}}}"#;
        let tools = Tools::new([Tool::new("f", "", schema)], ToolChoice::Auto);
        let types = Types::new(tools.iter().next());
        let generic = library().get("generic").unwrap();
        for (text, closing, want) in [
            (r#"command="ls -l"]"#, "]", Some(r#"{"command":"ls -l"}"#)),
            (r#"command="ls [a]" tries=3]"#, "]", Some(r#"{"command":"ls [a]","tries":3}"#)),
            (r#"command="a"] I'll wait."#, "]", Some(r#"{"command":"a"}"#)),
            (r#", command="a", tries=3], [x"#, "]", Some(r#"{"command":"a","tries":3}"#)),
            (r#"command="echo "]" > a"]"#, "]", Some(r#"{"command":"echo \"]\" > a"}"#)),
            (r#"command="[ "$a" = "b" ] && rm x"]"#, "]", Some(r#"{"command":"[ \"$a\" = \"b\" ] && rm x"}"#)),
            (r#"command="say \"a\"", tries="2"]"#, "]", Some(r#"{"command":"say \"a\"","tries":2}"#)),
            (r#"command='it is' tries=2"#, "]", None),
            (r#"command="a" is a value"#, "", None),
            (r#"command="a""#, "", Some(r#"{"command":"a"}"#)),
            (r#"command="a" tries=2"#, "", None),
            (r#"id="7" command="a"]"#, "]", Some(r#"{"command":"a"}"#)),
            (r#"command={"a": "]"} tries=2]"#, "]", Some(r#"{"command":"{\"a\": \"]\"}","tries":2}"#)),
            (r#"command=ls -l]"#, "]", None),
        ] {
            let close: Vec<String> = [closing.to_owned()].into_iter().filter(|close| !close.is_empty()).collect();
            let mut cuts = (0..=text.len()).map(|cut| {
                let mut assigned = Assigned::at(0);
                for (part, end) in [(&text[..cut], false), (text, true)] {
                    let (call, marked, lenient) = (&generic.calls[0], false, false);
                    let context = Context { call, close: &close, tools: &tools, marked, lenient, end, cut: false };
                    if let Progress::Done { arguments, .. } = assigned.read(part, &types, context) {
                        return Some(arguments);
                    }
                }
                None
            });
            assert!(cuts.all(|got| got.as_deref() == want), "{text}");
        }
    }
}
