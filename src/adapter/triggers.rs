//! The places in a text where something may begin: one automaton over all markers of an adapter, and the length of the
//! tail that may still become one of them.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{
    Call, Framing, Syntax,
    asides::{ASIDES, ENDED_TURNS, FINAL, RESULTS, TURNS},
    syntax::recipient::stripped,
};

/// Fewer bytes of a marker than this may be text.
const LEAK_BYTES: usize = 4;
/// Maximum length of all markers together: with more, the automaton would take hundreds of megabytes.
const MARKERS_BYTES: usize = 1 << 16;

/// What a marker may mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Mark {
    /// The forms that it may open.
    pub(super) calls: Vec<usize>,
    pub(super) framing: Divides,
    /// `` ` `` or `~~~`: code may begin.
    pub(super) code: bool,
    /// `{` or `[`: a body without a marker may begin.
    pub(super) bare: bool,
    /// `<`: an element named after a tool may begin.
    pub(super) element: bool,
    /// What surrounds calls that are not meant.
    pub(super) aside: Option<Aside>,
    /// Which of the families that the adapter gives way to writes it.
    pub(super) family: Option<usize>,
}

/// How a marker divides the answer; see [`Framing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Divides {
    /// A control token that is never content.
    pub(super) drop: bool,
    pub(super) reasoning_open: bool,
    pub(super) reasoning_close: bool,
    /// Opens the answer proper.
    pub(super) answer_open: bool,
    /// Closes it.
    pub(super) answer_close: bool,
    /// The header of a message may begin.
    pub(super) header: bool,
    /// The same where all special tokens were removed.
    pub(super) stripped_header: bool,
    /// Ends a message that has a header.
    pub(super) message_end: bool,
}

/// What any family may write around calls that it does not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// Thoughts or an example begin.
    Opens,
    /// A result begins.
    Result,
    /// They end.
    Closes,
    /// The turn of somebody else begins, if this is the beginning of a line.
    Turn,
    /// The model's turn ends, and that of somebody else begins.
    EndedTurn,
    /// The final answer of a transcript begins.
    Final,
}

/// Where something begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'t> {
    /// Byte offset.
    pub(super) at: usize,
    /// Length of the marker.
    pub(super) len: usize,
    /// What it may mean.
    pub(super) mark: &'t Mark,
}

/// All markers of an adapter.
#[derive(Debug)]
pub(super) struct Triggers {
    automaton: Option<AhoCorasick>,
    /// The markers in order.
    sorted: Vec<String>,
    /// What each of them may mean.
    marks: Vec<Mark>,
    /// The bytes that a marker begins with.
    first: Box<[bool; 256]>,
    /// A bit for each pair of bytes that a marker begins with.
    pairs: Vec<u64>,
    longest: usize,
    /// The forms that need no marker.
    bare: Vec<usize>,
    /// The forms that are tried after any marker.
    fallback: Vec<usize>,
    /// The tags that close calls of any form.
    closers: Vec<String>,
}

// === impl Mark ===

impl Mark {
    /// Whether it means something when no calls are looked for.
    pub(super) fn is_framing(&self) -> bool {
        self.framing != Divides::default() || self.code || self.family.is_some()
    }
}

// === impl Triggers ===

impl Triggers {
    pub(super) fn new(framing: &Framing, calls: &[Arc<Call>], families: &[String]) -> Triggers {
        let Framing { drop, reasoning, answer, recipient } = framing;
        let mut texts: Vec<String> = Vec::new();
        let mut marks: Vec<Mark> = Vec::new();
        let mut add = |text: &str, note: &mut dyn FnMut(&mut Mark)| {
            if text.is_empty() {
                return;
            }
            let at = texts.iter().position(|known| known == text).unwrap_or_else(|| {
                texts.push(text.to_owned());
                marks.push(Mark::default());
                texts.len() - 1
            });
            if let Some(mark) = marks.get_mut(at) {
                note(mark);
            }
        };
        for text in drop {
            add(text, &mut |mark| mark.framing.drop = true);
        }
        if let Some(reasoning) = reasoning {
            reasoning.open.iter().for_each(|text| add(text, &mut |mark| mark.framing.reasoning_open = true));
            reasoning.close.iter().for_each(|text| add(text, &mut |mark| mark.framing.reasoning_close = true));
        }
        if let Some(answer) = answer {
            answer.open.iter().for_each(|text| add(text, &mut |mark| mark.framing.answer_open = true));
            answer.close.iter().for_each(|text| add(text, &mut |mark| mark.framing.answer_close = true));
        }
        if let Some(recipient) = recipient {
            recipient.start.iter().for_each(|text| add(text, &mut |mark| mark.framing.header = true));
            recipient.end.iter().for_each(|text| add(text, &mut |mark| mark.framing.message_end = true));
            let headers: Vec<String> = stripped(recipient).map(|[header, _]| header).collect();
            let begins = |text: &str| stripped(recipient).flatten().any(|header| text.starts_with(&header));
            let calls = calls.iter().flat_map(|call| &call.stripped).filter(|text| begins(text));
            headers.iter().chain(calls).for_each(|text| add(text, &mut |mark| mark.framing.stripped_header = true));
        }
        for token in calls.iter().flat_map(|call| control_tokens(call)) {
            add(token, &mut |mark| mark.framing.drop = true);
        }
        for (index, call) in calls.iter().enumerate() {
            for text in call.section.iter().chain(&call.open).chain(&call.stripped) {
                add(text, &mut |mark| {
                    if mark.calls.last() != Some(&index) {
                        mark.calls.push(index);
                    }
                });
            }
            if call.element {
                add("<", &mut |mark| mark.element = true);
            }
        }
        for (index, text) in families.iter().enumerate() {
            add(text, &mut |mark| mark.family = Some(index));
        }
        for [open, close] in ASIDES {
            add(open, &mut |mark| mark.aside = Some(Aside::Opens));
            add(close, &mut |mark| mark.aside = Some(Aside::Closes));
        }
        for [open, close] in RESULTS {
            add(open, &mut |mark| mark.aside = Some(Aside::Result));
            add(close, &mut |mark| mark.aside = Some(Aside::Closes));
        }
        TURNS.iter().for_each(|text| add(text, &mut |mark| mark.aside = Some(Aside::Turn)));
        ENDED_TURNS.iter().for_each(|text| add(text, &mut |mark| mark.aside = Some(Aside::EndedTurn)));
        FINAL.iter().for_each(|text| add(text, &mut |mark| mark.aside = Some(Aside::Final)));
        // Also where no form begins with them: data may quote calls in its strings.
        ["{", "["].iter().for_each(|bracket| add(bracket, &mut |mark| mark.bare = true));
        add("`", &mut |mark| mark.code = true);
        add("~~~", &mut |mark| mark.code = true);
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        let mut first = Box::new([false; 256]);
        texts.iter().filter_map(|text| text.as_bytes().first()).for_each(|&byte| first[usize::from(byte)] = true);
        let mut pairs = vec![0u64; 1 << 10];
        for pair in texts.iter().filter_map(|text| text.as_bytes().first_chunk()) {
            let (word, bit) = place(*pair);
            if let Some(word) = pairs.get_mut(word) {
                *word |= bit;
            }
        }
        let mut marked: Vec<(String, Mark)> = texts.into_iter().zip(marks).collect();
        marked.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let (sorted, marks) = marked.into_iter().unzip();
        let needs_none = |(_, call): &(usize, &Arc<Call>)| call.stripped.iter().any(String::is_empty);
        let bare = calls.iter().enumerate().filter(needs_none).map(|(form, _)| form).collect();
        let fallback = calls.iter().enumerate().filter(|(_, call)| call.fallback).map(|(form, _)| form).collect();
        let closers = closers(framing, calls);
        // A DFA would take a megabyte, and most of the time of the first answer, and be asked about few bytes: prose has few
        // that begin a marker.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(kind).build(&sorted).ok();
        Triggers { automaton, sorted, marks, first, pairs, longest, bare, fallback, closers }
    }

    /// All markers that mean something by themselves, each once.
    pub(super) fn texts(&self) -> Vec<String> {
        let means = |mark: &Mark| mark.aside.is_none() || mark.is_framing() || !mark.calls.is_empty();
        self.sorted.iter().zip(&self.marks).filter(|(_, mark)| means(mark)).map(|(text, _)| text.clone()).collect()
    }

    /// The forms that need no marker, in order.
    pub(super) fn bare(&self) -> &[usize] {
        &self.bare
    }

    /// The forms that are tried after any marker, in order.
    pub(super) fn fallback(&self) -> &[usize] {
        &self.fallback
    }

    /// The tags that close calls of any form: `</tool_call>`, `[/tool_call]`.
    pub(super) fn closers(&self) -> &[String] {
        &self.closers
    }

    /// The first marker at or after `from`. `Err`: up to where there is none; after that, the text may still become one.
    /// A marker is not found before a longer one that began earlier is known not to come (`over`: no more text will).
    pub(super) fn next<'t>(&'t self, text: &str, from: usize, over: bool) -> Result<Found<'t>, usize> {
        // Most prose has no byte that begins one.
        let may_begin = |rest: &[u8]| rest.iter().position(|&byte| self.first[usize::from(byte)]);
        let Some(skipped) = text.as_bytes().get(from..).and_then(may_begin) else { return Err(text.len()) };
        let from = from + skipped;
        let found = self.find(text, from);
        if let Some(found) = found.filter(|found| over || found.at + self.longest < text.len()) {
            return Ok(found);
        }
        let held = if over { text.len() } else { self.held_from(text, from) };
        found.filter(|found| found.at <= held).ok_or(held)
    }

    fn find<'t>(&'t self, text: &str, from: usize) -> Option<Found<'t>> {
        let found = self.automaton.as_ref()?.find(aho_corasick::Input::new(text).range(from..))?;
        let mark = self.marks.get(found.pattern().as_usize())?;
        Some(Found { at: found.start(), len: found.len(), mark })
    }

    /// Whether `tail` is the proper beginning of some marker: it may still become one.
    pub(super) fn may_become(&self, tail: &str) -> bool {
        // The markers that begin with it come right after it in their order.
        let behind = self.sorted.partition_point(|marker| marker.as_str() <= tail);
        !tail.is_empty() && self.sorted.get(behind).is_some_and(|marker| marker.starts_with(tail))
    }

    /// Where a marker, or the greater part of its beginning, is at the very end of the text.
    pub(super) fn leak(&self, text: &str, from: usize) -> Option<usize> {
        let text = text.trim_end();
        let start = from.max(text.len().saturating_sub(self.longest));
        let mut places = (start..text.len().saturating_sub(LEAK_BYTES - 1)).filter(|&at| text.is_char_boundary(at));
        places.find(|&at| {
            let behind = self.sorted.partition_point(|marker| marker.as_str() < &text[at..]);
            self.sorted.get(behind).is_some_and(|marker| marker.starts_with(&text[at..]))
        })
    }

    /// Where the tail begins that may still become a marker; the length of the text if there is none.
    fn held_from(&self, text: &str, from: usize) -> usize {
        let start = from.max(text.len().saturating_sub(self.longest));
        let tail = text.as_bytes().get(start..).unwrap_or_default();
        let begins = |at: usize| match tail.get(at..) {
            Some([one, two, ..]) => {
                let (word, bit) = place([*one, *two]);
                self.pairs.get(word).is_some_and(|word| word & bit != 0)
            }
            Some([one]) => self.first[usize::from(*one)],
            _ => false,
        };
        let mut places = (0..tail.len()).filter(|&at| begins(at)).map(|at| start + at);
        places.find(|&at| text.is_char_boundary(at) && self.may_become(&text[at..])).unwrap_or(text.len())
    }
}

/// Fails if there are more markers than an automaton can be built of.
pub(super) fn check(framing: &Framing, calls: &[Arc<Call>]) -> Result<(), String> {
    let headers = framing.recipient.iter().flat_map(|recipient| recipient.start.iter().chain(&recipient.end));
    let of_calls = calls.iter().flat_map(|call| [&call.section, &call.section_close, &call.open, &call.close, &call.stripped]);
    let bytes: usize = framing.markers().chain(headers).chain(of_calls.flatten()).map(String::len).sum();
    if bytes > MARKERS_BYTES {
        return Err(format!("the markers have {bytes} bytes together; at most {MARKERS_BYTES} are possible"));
    }
    Ok(())
}

/// The special tokens of a form: where they are no part of a call they are no text either. Not of a form some of whose special
/// tokens end within a tag: half of its markup would stay.
fn control_tokens(call: &Call) -> Vec<&str> {
    let barred = |marker: &str| marker.contains(['|', '｜']);
    let whole = |marker: &str| marker.starts_with('<') && marker.ends_with('>') && barred(marker);
    if call.open.iter().any(|marker| barred(marker) && !whole(marker)) {
        return Vec::new();
    }
    let mut markers = vec![&call.section, &call.section_close, &call.open, &call.close];
    if let Syntax::Named(named) = &call.syntax {
        markers.extend([&named.open, &named.close, &named.skip]);
    }
    markers.into_iter().flatten().map(String::as_str).filter(|marker| whole(marker)).collect()
}

/// The closing markers that are tags: prose does not begin with them. Not those that close something else as well.
fn closers(framing: &Framing, calls: &[Arc<Call>]) -> Vec<String> {
    let tags = [("</", '>'), ("[/", ']'), ("[END", ']')];
    let is_tag = |marker: &&String| tags.iter().any(|(begin, end)| marker.starts_with(begin) && marker.ends_with(*end));
    let Framing { reasoning, answer, .. } = framing;
    let others = || reasoning.iter().flat_map(|region| &region.close).chain(answer.iter().flat_map(|answer| &answer.close));
    let markers = calls.iter().flat_map(|call| call.close.iter().chain(&call.section_close));
    let mut closers: Vec<String> =
        markers.filter(is_tag).filter(|marker| !others().any(|other| other == *marker)).cloned().collect();
    closers.sort_unstable();
    closers.dedup();
    closers
}

/// The word and the bit of a pair of bytes.
fn place([one, two]: [u8; 2]) -> (usize, u64) {
    let pair = usize::from(one) << 8 | usize::from(two);
    (pair >> 6, 1 << (pair & 63))
}
