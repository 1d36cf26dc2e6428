//! Whether text after a call withdraws it: the element around it closes and holds more than calls, or reasoning closes although
//! nothing opened it. The call is held until that is decided.

use std::sync::Arc;

use super::Scanner;
use crate::adapter::{
    Call, Inside,
    asides::{ENDED_TURNS, THINK},
    syntax::{Occurrences, blank, find_any},
};

/// Maximum number of open elements that are followed.
const ELEMENTS: usize = 16;
/// Maximum length of a tag, in bytes.
const TAG_BYTES: usize = 256;
/// Elements that quote their content even if it is nothing but a call.
const QUOTING: [&str; 13] = [
    "document", "file", "quote", "blockquote", "input", "history", "example", "examples", "bad_example", "log", "transcript",
    "pre", "xmp",
];

/// The open elements of the emitted text, and how far the text after it was searched.
#[derive(Debug)]
pub(super) struct Enclosing {
    /// The open elements, outermost first.
    open: Vec<Element>,
    /// An incomplete tag at the end of the emitted text.
    tag: String,
    /// Whether only whitespace precedes it on its line.
    line_blank: bool,
    /// Position in the answer up to which closing tags were searched, and the tag that was found.
    searched: usize,
    closing: Option<Closing>,
    /// Position in the answer up to which markers of reasoning were searched.
    thought: usize,
    quotes: Quotes,
}

/// The double quotes of the JSON from a position in the answer on, read up to another one.
#[derive(Debug, Default)]
struct Quotes {
    from: usize,
    read: usize,
    open: bool,
    escaped: bool,
}

impl Quotes {
    /// Whether the end of `text`, which begins at the position `from`, is inside of quotes. No text is read twice.
    fn is_open_after(&mut self, text: &str, from: usize) -> bool {
        if self.from != from || text.len() < self.read {
            *self = Quotes { from, ..Quotes::default() };
        }
        for byte in text.bytes().skip(self.read) {
            let escaped = std::mem::take(&mut self.escaped);
            match byte {
                _ if escaped => {}
                b'\\' => self.escaped = self.open,
                b'"' => self.open = !self.open,
                _ => {}
            }
        }
        self.read = text.len();
        self.open
    }
}

#[derive(Debug)]
struct Element {
    name: String,
    /// Whether it holds something other than calls.
    has_text: bool,
}

/// A closing tag, in positions of the answer.
#[derive(Debug)]
struct Closing {
    name: String,
    at: usize,
    past: usize,
}

impl Enclosing {
    pub(super) fn nothing() -> Enclosing {
        Enclosing {
            open: Vec::new(),
            tag: String::new(),
            line_blank: true,
            searched: 0,
            closing: None,
            thought: 0,
            quotes: Quotes::default(),
        }
    }

    /// Records emitted text. Tags in `markers` close calls.
    pub(super) fn text(&mut self, text: &str, markers: &[String]) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.tag.is_empty() {
                let at = memchr::memchr(b'<', rest.as_bytes()).unwrap_or(rest.len());
                self.record_text(&rest[..at]);
                rest = &rest[at..];
                if let Some(after) = rest.strip_prefix('<') {
                    self.tag.push('<');
                    rest = after;
                }
                continue;
            }
            let whole = self.tag.ends_with('>');
            let next = rest.chars().next().unwrap_or_default();
            if whole || matches!(next, '<' | '\n') || self.tag.len() > TAG_BYTES {
                let tag = std::mem::take(&mut self.tag);
                self.record_tag(&tag, next == '\n', markers);
                continue;
            }
            self.tag.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }

    /// Ends a complete tag at the end of the emitted text.
    fn end_tag(&mut self, markers: &[String]) {
        if self.tag.ends_with('>') {
            let tag = std::mem::take(&mut self.tag);
            self.record_tag(&tag, false, markers);
        }
    }

    /// Records text outside tags.
    fn record_text(&mut self, text: &str) {
        if !self.open.is_empty() && !text.trim().is_empty() {
            self.open.iter_mut().for_each(|element| element.has_text = true);
        }
        match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(newline) => self.line_blank = text[newline..].trim().is_empty(),
            None => self.line_blank = self.line_blank && text.trim().is_empty(),
        }
    }

    /// Restarts all searches, because the text that is not yet emitted has changed.
    pub(super) fn search_again(&mut self) {
        (self.searched, self.closing, self.thought, self.quotes) = (0, None, 0, Quotes::default());
    }

    /// Leaves this element and those inside it.
    fn leave(&mut self, at: usize) {
        self.open.truncate(at);
        self.closing = None;
    }

    /// Records a tag, or text that looked like one.
    fn record_tag(&mut self, tag: &str, ends_line: bool, markers: &[String]) {
        let begins_line = self.line_blank;
        if let Some(name) = closed(tag)
            && let Some(at) = self.open.iter().rposition(|element| element.name == name)
        {
            self.open.truncate(at);
        }
        self.record_text(tag);
        let marks = |name: &str| markers.iter().any(|marker| closed(marker) == Some(name));
        if let Some(name) = opened(tag).filter(|name| !marks(name))
            && (begins_line || ends_line)
            && self.open.len() < ELEMENTS
        {
            self.open.push(Element { name: name.to_owned(), has_text: false });
        }
    }

    /// The first closing tag of an open element after the position `from`. `text` begins at the position `gone`.
    fn find_closing(&mut self, text: &str, gone: usize, from: usize, end: bool) -> Option<&Closing> {
        if self
            .closing
            .as_ref()
            .is_some_and(|closing| closing.at < from || self.open.iter().all(|open| open.name != closing.name))
        {
            self.closing = None;
        }
        self.searched = self.searched.max(from);
        while self.closing.is_none() {
            let Some(found) = text[self.searched - gone..].find("</") else {
                let tail = text.len() - usize::from(text.ends_with('<'));
                self.searched = self.searched.max(gone + tail);
                break;
            };
            let at = self.searched + found;
            let rest = &text[at - gone..];
            let rest = &rest[..rest.floor_char_boundary(TAG_BYTES)];
            match rest.find('>') {
                None if rest.len() < TAG_BYTES && !end => {
                    self.searched = at;
                    break;
                }
                stop => {
                    let name = stop.and_then(|stop| closed(&rest[..=stop])).unwrap_or_default();
                    let past = at + stop.map_or(2, |stop| stop + 1);
                    if self.open.iter().any(|element| element.name == name) {
                        self.closing = Some(Closing { name: name.to_owned(), at, past });
                    }
                    self.searched = past;
                }
            }
        }
        self.closing.as_ref()
    }
}

impl Scanner {
    /// Whether the text after a call that ends at `to` withdraws it. `counts_inside`: the call counts inside elements, so an
    /// element around it may withdraw it. `None`: more text is needed.
    pub(super) fn is_withdrawn(&mut self, to: usize, counts_inside: bool, end: bool) -> Option<bool> {
        match self.closes_thoughts(to, end) {
            Some(false) if counts_inside => self.closes_element(to, end),
            decided => decided,
        }
    }

    /// Whether this closing marker of reasoning closes nothing else.
    pub(super) fn proves_thoughts(&self, marker: &str) -> bool {
        let is_marker = |known: &String| known == marker;
        let ends = |call: &Arc<Call>| call.close.iter().chain(&call.section_close).any(is_marker);
        !self.adapter.framing.drop.iter().any(is_marker) && !self.adapter.calls.iter().any(ends)
    }

    /// Whether reasoning that nothing opened closes after `to`. If so, the prompt opened it, and everything before its end is
    /// reasoning. `None`: more text is needed.
    fn closes_thoughts(&mut self, to: usize, end: bool) -> Option<bool> {
        let adapter = Arc::clone(&self.adapter);
        if self.inside() == Inside::Parse || self.draft.began().is_some() || !self.options.framing {
            return Some(false);
        }
        let proves = |marker: &String| self.proves_thoughts(marker);
        let own = adapter.framing.reasoning.as_ref().filter(|reasoning| reasoning.close.iter().all(proves));
        // A fine-tuned model may think in the usual tags, whatever its family.
        let [mut open, mut close] = THINK.map(|tag| vec![tag.to_owned()]);
        open.extend(own.iter().flat_map(|own| &own.open).cloned());
        close.extend(own.iter().flat_map(|own| &own.close).cloned());
        // A model that invents another speaker's turn also writes the reasoning of the next answer.
        open.extend(ENDED_TURNS.map(str::to_owned));
        let anywhere = own.is_some_and(|own| own.anywhere);
        let mut from = to.max(self.emitted.enclosing.thought.saturating_sub(self.buf.in_answer(0)));
        let mut closing = Occurrences::of(&close);
        while let Some((at, past)) = closing.next(&self.buf, from) {
            if self.is_in_string(to, at) {
                from = past;
                continue;
            }
            if find_any(&self.buf[..at], from, &open).is_some() {
                return Some(false);
            }
            match self.ends_line(past, end) {
                None => return None,
                Some(ends_line) if anywhere || ends_line || at == to || self.at_line_start(at) || self.ends_words(at, past) => {
                    return Some(true);
                }
                Some(_) => from = past,
            }
        }
        if find_any(&self.buf, from, &open).is_some() {
            return Some(false);
        }
        let longest = open.iter().chain(&close).map(String::len).max().unwrap_or_default();
        let searched = self.buf.floor_char_boundary(self.buf.len().saturating_sub(longest)).max(from);
        self.emitted.enclosing.thought = self.buf.in_answer(searched);
        end.then_some(false)
    }

    /// Whether JSON begins at `to`, perhaps another call, and `at` is in one of its strings.
    fn is_in_string(&mut self, to: usize, at: usize) -> bool {
        let gone = self.buf.in_answer(0);
        let text = &self.buf[to..at];
        text.trim_start().starts_with(['{', '[']) && self.emitted.enclosing.quotes.is_open_after(text, gone + to)
    }

    /// Whether a marker ends the words before it: one side has no space, or only its family has this token. A tag that is only
    /// mentioned has spaces on both sides.
    fn ends_words(&self, at: usize, past: usize) -> bool {
        let before = self.buf[..at].chars().next_back();
        let after = self.buf[past..].chars().next();
        let is_spoken_of = before.is_some_and(|c| "`'\"".contains(c));
        let glued = before.is_some_and(|c| c.is_alphanumeric() || ".!?".contains(c)) || after.is_some_and(char::is_alphanumeric);
        !is_spoken_of && (glued || self.buf[at..past] != *THINK[1])
    }

    /// Whether the element around a call that ends at `to` withdraws it: it closes and holds text after the call, or it holds
    /// text before the call and the answer continues after it. `None`: more text is needed.
    fn closes_element(&mut self, to: usize, end: bool) -> Option<bool> {
        let gone = self.buf.in_answer(0);
        let enclosing = &mut self.emitted.enclosing;
        enclosing.end_tag(self.adapter.triggers.closers());
        while !enclosing.open.is_empty() {
            let Some(closing) = enclosing.find_closing(&self.buf, gone, gone + to, end) else {
                if end {
                    // No closing tag of the elements follows.
                    enclosing.open.clear();
                }
                return end.then_some(false);
            };
            let (close, past, name) = (closing.at - gone, closing.past - gone, closing.name.clone());
            let Some(at) = enclosing.open.iter().rposition(|element| element.name == name) else { return Some(false) };
            let before =
                enclosing.open.get(at).is_some_and(|element| element.has_text || QUOTING.contains(&element.name.as_str()));
            let next = to + blank(&self.buf[to..]);
            let calls_follow = || {
                let found = self.adapter.triggers.next(&self.buf, next, true);
                found.is_ok_and(|found| found.at == next && !found.mark.calls.is_empty())
            };
            if next < close && !calls_follow() {
                return Some(true);
            }
            let rest = self.buf[past..].trim_start();
            if before && !rest.is_empty() {
                return Some(true);
            }
            if before && !end {
                return None;
            }
            enclosing.leave(at);
        }
        Some(false)
    }
}

/// The name in an opening tag, with or without attributes.
fn opened(tag: &str) -> Option<&str> {
    let inside = tag.strip_prefix('<')?.strip_suffix('>').filter(|inside| !inside.ends_with('/'))?;
    let name = inside.split(char::is_whitespace).next()?;
    is_name(name).then_some(name)
}

/// The name in a closing tag.
fn closed(tag: &str) -> Option<&str> {
    let name = tag.strip_prefix("</")?.strip_suffix('>')?.trim_end();
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c))
}
