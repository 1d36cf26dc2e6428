//! Finds a call in a text by its letters alone. Whatever surrounds the letters of a call is skipped: quotes, brackets and markers
//! of any form, escapes, the numbers of lines, the signs of a diff or of a block quote, the seam of two joined strings. So a call
//! is found in every form in which a result may contain it.

use serde_json::Value;

/// Words of the forms of calls that may come between the name, the keys and the values, in lower case and without punctuation.
const WORDS: [&str; 28] = [
    "arguments", "parameters", "parameter", "functions", "function", "toolcalls", "commentary", "constrain", "argvalue",
    "toolcall", "tooluse", "message", "channel", "argkey", "params", "invoke", "string", "action", "object", "input", "value",
    "args", "json", "name", "call", "tool", "type", "key",
];
/// Entities of HTML that stand for punctuation.
const ENTITIES: [&str; 5] = ["&lt;", "&gt;", "&quot;", "&apos;", "&amp;"];
/// Longest entity that stands for a character by its number, in bytes.
const ENTITY_BYTES: usize = 10;

/// What lies before a letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Gap {
    /// Anything but a letter.
    any: bool,
    /// An opening parenthesis or the end of a tag right after the letter before: values may follow without their keys.
    opens: bool,
    /// Punctuation of a call's form right before the letter.
    marks: bool,
}

/// The letters and digits of a text in lower case, each with what lies before it.
#[derive(Debug, Default)]
pub(super) struct Letters {
    letters: Vec<(char, Gap)>,
    /// What lies after the last letter.
    end: Gap,
}

/// A call, prepared for the search.
#[derive(Debug)]
pub(super) struct Wanted {
    names: Vec<Vec<char>>,
    keys: Vec<Vec<char>>,
    /// The values with letters, each with its key if it has one.
    values: Vec<(Option<usize>, Vec<char>)>,
}

impl Letters {
    pub(super) fn of(text: &str) -> Letters {
        let mut letters = Letters::default();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let (length, meant) = written(rest, next);
            rest = rest.get(length..).unwrap_or_default();
            match meant {
                Some(c) if c.is_alphanumeric() => {
                    let gap = std::mem::take(&mut letters.end);
                    letters
                        .letters
                        .extend(c.to_lowercase().enumerate().map(|(at, c)| (c, if at == 0 { gap } else { Gap::default() })));
                }
                other => {
                    let opens = letters.end.opens || (!letters.end.any && matches!(other, Some('(' | '>')));
                    // The space in `name: f` carries no information.
                    let is_space = other.is_some_and(char::is_whitespace);
                    let marks =
                        matches!(other, Some('"' | '\'' | '`' | '<' | '>' | '=' | ':' | '/')) || (is_space && letters.end.marks);
                    letters.end = Gap { any: true, opens, marks };
                }
            }
        }
        letters
    }

    /// Whether the call is in the text. `marked`: its name must follow punctuation, as in a call's form.
    pub(super) fn contain(&self, wanted: &Wanted, marked: bool) -> bool {
        wanted.names.iter().any(|name| {
            let begins = |at: usize| at == 0 || self.gap(at).any;
            let fits = |at: &usize| begins(*at) && self.has(*at, name) && (!marked || self.gap(*at).marks);
            (0..self.letters.len()).filter(fits).any(|at| self.follows(at + name.len(), wanted, marked))
        })
    }

    /// Whether all values follow here, with nothing between them but their keys and the words of a form.
    fn follows(&self, mut at: usize, wanted: &Wanted, marked: bool) -> bool {
        let bare = self.gap(at).opens && !marked;
        let begins = at;
        let mut open: Vec<&(Option<usize>, Vec<char>)> = wanted.values.iter().collect();
        let mut key = None;
        loop {
            let fits =
                |value: &&&(Option<usize>, Vec<char>)| (bare || value.0.is_none() || value.0 == key) && self.has(at, &value.1);
            if let Some(value) = open.iter().filter(fits).max_by_key(|value| value.1.len()).copied() {
                at += value.1.len();
                open.retain(|other| !std::ptr::eq(*other, value));
                continue;
            }
            if open.is_empty() {
                // A name alone is only a mention.
                let says = |word: &[char]| self.has(at, word);
                let goes_on = || wanted.keys.iter().any(|key| says(key)) || WORDS.iter().any(|word| says(&chars(word)));
                return at > begins || self.gap(at).opens || goes_on();
            }
            let longest = wanted.keys.iter().enumerate().filter(|(_, key)| self.has(at, key)).max_by_key(|(_, key)| key.len());
            if let Some((found, letters)) = longest {
                (key, at) = (Some(found), at + letters.len());
            } else if let Some(word) = WORDS.iter().map(|word| chars(word)).find(|word| self.has(at, word)) {
                at += word.len();
            } else {
                return false;
            }
        }
    }

    /// Whether exactly these letters follow here, as whole words.
    fn has(&self, at: usize, wanted: &[char]) -> bool {
        let end = at + wanted.len();
        let ends = end >= self.letters.len() || self.gap(end).any;
        let here = self.letters.get(at..end);
        !wanted.is_empty() && ends && here.is_some_and(|here| here.iter().map(|(c, _)| c).eq(wanted))
    }

    fn gap(&self, at: usize) -> Gap {
        self.letters.get(at).map_or(self.end, |(_, gap)| *gap)
    }
}

impl Wanted {
    /// The call of a tool with one of these names; `arguments` are JSON.
    pub(super) fn of<'n>(names: impl IntoIterator<Item = &'n str>, arguments: &str) -> Wanted {
        let names = names.into_iter().map(squeezed).filter(|name| !name.is_empty()).collect();
        let mut wanted = Wanted { names, keys: Vec::new(), values: Vec::new() };
        wanted.add(None, &serde_json::from_str(arguments).unwrap_or(Value::Null));
        wanted
    }

    fn add(&mut self, key: Option<usize>, value: &Value) {
        let text = match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let name = squeezed(name);
                    let place = self.keys.iter().position(|key| *key == name).unwrap_or(self.keys.len());
                    if place == self.keys.len() {
                        self.keys.push(name);
                    }
                    self.add(Some(place), value);
                }
                return;
            }
            // The key is written once, before the first of them.
            Value::Array(list) => {
                for (at, value) in list.iter().enumerate() {
                    self.add(key.filter(|_| at == 0), value);
                }
                return;
            }
            Value::String(text) => squeezed(text),
            other => squeezed(&other.to_string()),
        };
        if !text.is_empty() {
            self.values.push((key, text));
        }
    }
}

fn chars(word: &str) -> Vec<char> {
    word.chars().collect()
}

fn squeezed(text: &str) -> Vec<char> {
    Letters::of(text).letters.into_iter().map(|(c, _)| c).collect()
}

/// The length of what is written here, and the character that it means. A line break in its escaped form is a space.
fn written(text: &str, first: char) -> (usize, Option<char>) {
    if first == '\\' {
        let slashes = text.find(|c| c != '\\').unwrap_or(text.len());
        let rest = text.get(slashes..).unwrap_or_default();
        let code = |from: usize, digits: usize| {
            let hex = rest.get(from..from + digits)?;
            Some((slashes + from + digits, char::from_u32(u32::from_str_radix(hex, 16).ok()?)))
        };
        return match rest.chars().next() {
            Some('n' | 't' | 'r') => (slashes + 1, Some(' ')),
            Some('u') => code(1, 4).unwrap_or((slashes, None)),
            Some('x') => code(1, 2).unwrap_or((slashes, None)),
            _ => (slashes, None),
        };
    }
    if first == '&' {
        if let Some(entity) = ENTITIES.iter().find(|entity| text.starts_with(**entity)) {
            return (entity.len(), Some(if *entity == "&gt;" { '>' } else { '"' }));
        }
        let number = text.strip_prefix("&#").and_then(|rest| rest.split_once(';')).map(|(number, _)| number);
        let code = number.filter(|number| number.len() < ENTITY_BYTES).and_then(|number| match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        });
        if let (Some(number), Some(code)) = (number, code) {
            return ("&#;".len() + number.len(), char::from_u32(code));
        }
    }
    (first.len_utf8(), Some(first))
}
