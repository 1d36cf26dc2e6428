//! Makes text that no model wrote (results of tools, instructions of MCP servers) safe to put into a prompt: a web page that a
//! tool fetched must neither end the turn nor make calls.
//!
//! [`Turns`] breaks the control tokens that divide a family's prompt into turns, in every result and every mode. [`defused`] also
//! breaks all call markers, and the names of offered tools where a call's name would be. It is used if toolglot runs the calls
//! itself, because the model may repeat what it read. `enclosed` breaks the closing tags of the frame around a result. A space
//! breaks a marker, parentheses break a name, and all other text stays unchanged.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::OnceLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{Adapter, Framing};
use crate::{event::Tools, fix::name};

/// Breaks the control tokens of a family's prompt.
#[derive(Debug)]
pub struct Turns {
    texts: Vec<String>,
    /// Built when a first result is read.
    markers: OnceLock<Option<AhoCorasick>>,
}

/// The label of a result in the prompt.
const FRAME: &str = "[Tool Result:";
/// Maximum length of a name, in bytes.
const NAME_BYTES: usize = 160;
/// Breaking a marker may leave a shorter one, so the text is searched this many times.
const PASSES: usize = 4;

/// The delimiters of control tokens in most vocabularies: `<|name|>`.
const BARS: [char; 2] = ['|', '\u{ff5c}'];
/// Maximum length of the name between them, in bytes.
const TOKEN_BYTES: usize = 64;

impl Turns {
    /// Collects the control tokens of a family: those of its answers, and the `others` of its vocabulary and its prompt.
    pub(crate) fn of(framing: &Framing, others: impl IntoIterator<Item = String>) -> Turns {
        let headers = framing.recipient.iter().filter(|recipient| !recipient.plain);
        let headers = headers.flat_map(|recipient| recipient.start.iter().chain(&recipient.end).chain([&recipient.message]));
        Turns { texts: framing.drop.iter().chain(headers).cloned().chain(others).collect(), markers: OnceLock::new() }
    }

    /// The control tokens of all these families, for a model that may be of any. A plain tag is not among them: where nothing says
    /// that it is a token, it is part of a page.
    pub(super) fn of_all<'t>(families: impl IntoIterator<Item = &'t Turns>) -> Turns {
        let is_plain = |text: &str| {
            let name = text.trim_start_matches(['<', '/']).trim_end_matches('>');
            text.starts_with('<') && name.bytes().all(|byte| byte.is_ascii_lowercase())
        };
        let texts = families.into_iter().flat_map(|family| &family.texts).filter(|text| !is_plain(text));
        let texts: BTreeSet<&String> = texts.collect();
        Turns { texts: texts.into_iter().cloned().collect(), markers: OnceLock::new() }
    }

    /// Breaks the family's control tokens and everything else written as `<|name|>`.
    pub fn broken<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = match self.markers.get_or_init(|| automaton(self.texts.clone())) {
            Some(markers) if markers.is_match(text) => Cow::Owned(broken(text.to_owned(), markers)),
            _ => Cow::Borrowed(text),
        };
        if text.contains("<|") || text.contains("<\u{ff5c}") { Cow::Owned(without_bars(&text)) } else { text }
    }
}

/// Breaks everything that could be read as a call if the model repeats it.
pub fn defused(text: &str, adapter: &Adapter, tools: &Tools) -> String {
    let text = without_names(text, tools);
    let mut markers: Vec<String> = adapter.markers();
    markers.push(FRAME.to_owned());
    let text = match automaton(markers) {
        Some(markers) => broken(text, &markers),
        None => text,
    };
    adapter.turns().broken(&text).into_owned()
}

/// Breaks the closing tags of a template in a text that it encloses, so that the text cannot leave its frame.
pub(super) fn enclosed<'t>(text: &'t str, template: &str) -> Cow<'t, str> {
    let tag = |(at, _): (usize, &str)| template.get(at..)?.split_inclusive('>').next().map(str::to_owned);
    match automaton(template.match_indices("</").filter_map(tag).collect()) {
        Some(markers) if markers.is_match(text) => Cow::Owned(broken(text.to_owned(), &markers)),
        _ => Cow::Borrowed(text),
    }
}

/// Compiles the markers, except single characters and fences. `None`: there are none.
fn automaton(mut markers: Vec<String>) -> Option<AhoCorasick> {
    markers.retain(|marker| marker.trim().len() > 1 && !marker.chars().all(|c| matches!(c, '`' | '~')));
    // Only one or two texts are searched, so building a DFA would take longer.
    let kind = Some(AhoCorasickKind::ContiguousNFA);
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(kind).build(&markers);
    built.ok().filter(|_| !markers.is_empty())
}

/// Puts a space into every marker.
fn broken(mut text: String, markers: &AhoCorasick) -> String {
    for _ in 0..PASSES {
        if !markers.is_match(&text) {
            break;
        }
        let mut out = String::with_capacity(text.len() + 64);
        markers.replace_all_with(&text, &mut out, |_, marker, out| {
            let (head, tail) = marker.split_at(seam(marker));
            out.push_str(head);
            out.push(' ');
            out.push_str(tail);
            true
        });
        text = out;
    }
    text
}

/// Breaks `<|name|>` after its `<`.
fn without_bars(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        out.push('<');
        if is_token(after) {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a text begins with `|name|>`.
fn is_token(text: &str) -> bool {
    let Some(inside) = text.strip_prefix(BARS) else { return false };
    let name = inside.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | '.' | '\u{2581}')));
    let Some(rest) = name.filter(|end| (1..=TOKEN_BYTES).contains(end)).and_then(|end| inside.get(end..)) else { return false };
    rest.strip_prefix(BARS).is_some_and(|rest| rest.starts_with('>'))
}

/// Where the space goes: after a leading punctuation character, else before the first one.
fn seam(marker: &str) -> usize {
    let mut characters = marker.char_indices();
    match characters.next() {
        Some((_, first)) if !first.is_alphanumeric() => first.len_utf8(),
        _ => characters.find(|(_, c)| !c.is_alphanumeric()).map_or(marker.len() / 2, |(at, _)| at),
    }
}

/// Puts names of tools in parentheses where a call would have its name: as the value or key of a JSON object, as a tag, before an
/// opening parenthesis or brace, in brackets before a brace, and alone on a line.
fn without_names<'t>(text: &'t str, tools: &Tools) -> String {
    let mut known: HashMap<&'t str, bool> = HashMap::new();
    let means = |written: &str| written.len() <= NAME_BYTES && !written.trim().is_empty() && name::is_known(tools, written);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(|c: char| is_word(c) || is_quote(c))) {
        let mut start = at + next;
        // The letter of an escape in JSON is no part of the word after it.
        if text[..start].ends_with('\\') && text[start..].starts_with(['n', 'r', 't']) {
            start += 1;
        }
        let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) else { break };
        let quoted = is_quote(first);
        let inside = if quoted { start + first.len_utf8() } else { start };
        let rest = text.get(inside..).unwrap_or_default();
        let length = if quoted {
            rest.find(|c: char| is_quote(c) || c == '\n')
                .filter(|end| rest.get(*end..).is_some_and(|tail| tail.starts_with(is_quote)))
        } else {
            rest.find(|c: char| !is_word(c)).or(Some(rest.len()))
        };
        let Some(length) = length else {
            at = inside;
            continue;
        };
        let word = rest.get(..length).unwrap_or_default();
        let bare = word.trim_end_matches('\\');
        let (before, after) = (text.get(..start).unwrap_or_default(), rest.get(length..).unwrap_or_default());
        let place = if quoted {
            is_value(before) || is_key(after)
        } else {
            before.ends_with(['<', '/'])
                || after.trim_start_matches(' ').starts_with('(')
                || unescaped_blank(after).starts_with(['{', '['])
                || is_alone(before, after)
                || is_label(before, after)
                || assigns(before, after)
        };
        // `name:f`: the label is read as part of the word.
        let label = bare.rfind(':').map_or(0, |colon| colon + 1);
        let mut hits = |name: &'t str| place && *known.entry(name).or_insert_with(|| means(name));
        let name = [0, label].into_iter().filter_map(|from| bare.get(from..)).find(|name| hits(name));
        let hit = name.is_some();
        if let Some(name) = name {
            let end = inside + bare.len();
            out.push_str(text.get(copied..end - name.len()).unwrap_or_default());
            out.push('(');
            out.push_str(name);
            out.push(')');
            copied = end;
        }
        // The quote that ends one string may begin the next.
        at = if quoted && !hit { inside } else { inside + length };
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// The text after leading white space, escaped or not.
fn unescaped_blank(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(next) = ["\\n", "\\r", "\\t"].iter().find_map(|escape| rest.strip_prefix(escape)) {
        rest = next.trim_start();
    }
    rest
}

/// Whether a word is alone on its line or after a label.
fn is_alone(before: &str, after: &str) -> bool {
    let marks = [' ', '*', '`'];
    let (before, after) = (before.trim_end_matches(marks), after.trim_start_matches(marks));
    (before.is_empty() || before.ends_with(['\n', ':'])) && (after.is_empty() || after.starts_with(['\n', '\r']))
}

/// Whether a word is in brackets, and an object follows: `[f]\n{..}`.
fn is_label(before: &str, after: &str) -> bool {
    before.ends_with('[') && after.strip_prefix(']').is_some_and(|rest| rest.trim_start().starts_with('{'))
}

/// Whether a word at the start of a line is followed by an assignment or a quoted value.
fn assigns(before: &str, after: &str) -> bool {
    let rest = after.trim_start_matches([' ', '\t']);
    let key = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let begins = before.is_empty() || before.trim_end_matches(' ').ends_with('\n');
    begins && rest.len() < after.len() && (rest.starts_with(is_quote) || (key.len() < rest.len() && key.starts_with(['=', ':'])))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/')
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

/// Whether the value of a member or an assignment follows `before`.
fn is_value(before: &str) -> bool {
    before.trim_end_matches('\\').trim_end().ends_with([':', '='])
}

/// Whether `after` follows a key whose value is an object.
fn is_key(after: &str) -> bool {
    let rest = after.trim_start_matches(is_quote).trim_start();
    rest.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('{'))
}
