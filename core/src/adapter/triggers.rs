//! Finds markers: one automaton over all markers of an adapter, and the length of the tail of a text that may still become a
//! marker.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{
    Call, Framing, Shown, Syntax, Tagged,
    asides::{ASIDES, ends},
    syntax::recipient::stripped,
};

/// Minimum length of an incomplete marker that was leaked, in bytes. A shorter one may be text.
const LEAK_BYTES: usize = 4;
/// Maximum length of all markers together, in bytes. With more, the automaton would take hundreds of megabytes.
const MARKERS_BYTES: usize = 1 << 16;

/// What a marker may mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Mark {
    /// Indices of the forms that it may open.
    pub(super) calls: Vec<usize>,
    pub(super) framing: Divides,
    /// `` ` `` or `~~~ : may begin code.
    pub(super) code: bool,
    /// `{` or `[`: may begin an unmarked body.
    pub(super) bare: bool,
    /// `<`: may begin an element named after a tool.
    pub(super) element: bool,
    /// Begins or ends text around calls that the model only mentions.
    pub(super) aside: Option<Aside>,
    /// Ends the turn in some family.
    pub(super) ends: bool,
    /// Index of the family that alone writes it, in the adapter's `families`.
    pub(super) family: Option<usize>,
}

/// How a marker divides the answer; see [`Framing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Divides {
    /// A control token, never content.
    pub(super) drop: bool,
    /// A control token of a call form, which is not content unless a sentence or code mentions it.
    pub(super) of_call: bool,
    pub(super) reasoning_open: bool,
    pub(super) reasoning_close: bool,
    /// Opens or closes the answer region.
    pub(super) answer: bool,
    /// May begin the header of a message.
    pub(super) header: bool,
    /// May be a header that lost its special tokens.
    pub(super) stripped_header: bool,
    /// Ends a message that has a header.
    pub(super) message_end: bool,
}

/// The kinds of text around calls that the model only mentions; see [`super::asides`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// Begins reasoning.
    Opens,
    /// Ends reasoning.
    Closes,
    /// Begins a result.
    Result,
    /// Begins a result, if it directly follows a call.
    ResultOfCall,
    /// Begins somebody else's turn, if at the start of a line.
    Turn,
    /// Ends the model's turn and begins somebody else's.
    EndedTurn,
}

/// A marker that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'t> {
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) mark: &'t Mark,
}

/// All markers of an adapter.
#[derive(Debug)]
pub(super) struct Triggers {
    automaton: Option<AhoCorasick>,
    /// The markers, sorted.
    sorted: Vec<String>,
    /// What each marker may mean, in the same order.
    marks: Vec<Mark>,
    /// Whether a marker begins with this byte.
    first: Box<[bool; 256]>,
    /// A bit for each pair of bytes that a marker may begin with, or that begins with a marker of one byte.
    pairs: Vec<u64>,
    longest: usize,
    /// Indices of the forms that need no marker.
    bare: Vec<usize>,
    /// Indices of the forms that are tried after any marker.
    fallback: Vec<usize>,
    /// The closing tags of calls of any form.
    closers: Vec<String>,
    /// What may be left over of the family's own calls at the end of an answer.
    left_over: Vec<String>,
}

impl Mark {
    /// Whether it means something even if no calls are recognised.
    pub(super) fn is_framing(&self) -> bool {
        self.framing != Divides::default() || self.code || self.family.is_some()
    }
}

impl Triggers {
    /// `own`: how many of the forms are the family's own.
    pub(super) fn new(framing: &Framing, calls: &[Arc<Call>], own: usize, families: &[Arc<Shown>]) -> Triggers {
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
            answer.open.iter().chain(&answer.close).for_each(|text| add(text, &mut |mark| mark.framing.answer = true));
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
            add(token, &mut |mark| mark.framing.of_call = true);
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
        for (index, shown) in families.iter().enumerate() {
            add(&shown.marker, &mut |mark| mark.family = Some(index));
        }
        for (tags, aside) in [(&ASIDES.asides, Aside::Opens), (&ASIDES.results, Aside::Result)] {
            for [open, close] in tags {
                add(open, &mut |mark| mark.aside = Some(aside));
                add(close, &mut |mark| mark.aside = Some(Aside::Closes));
            }
        }
        let left_over = left_over(&calls[..own.min(calls.len())]);
        ends().chain(left_over.iter().map(String::as_str)).for_each(|text| add(text, &mut |mark| mark.ends = true));
        for (texts, aside) in [
            (&ASIDES.results_of_calls, Aside::ResultOfCall),
            (&ASIDES.turns, Aside::Turn),
            (&ASIDES.ended_turns, Aside::EndedTurn),
        ] {
            texts.iter().for_each(|text| add(text, &mut |mark| mark.aside = Some(aside)));
        }
        // Even if no form begins with them: data may quote calls in its strings.
        ["{", "["].iter().for_each(|bracket| add(bracket, &mut |mark| mark.bare = true));
        add("`", &mut |mark| mark.code = true);
        add("~~~", &mut |mark| mark.code = true);
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        let mut first = Box::new([false; 256]);
        texts.iter().filter_map(|text| text.as_bytes().first()).for_each(|&byte| first[usize::from(byte)] = true);
        let mut pairs = vec![0u64; 1 << 10];
        let mut note = |pair| {
            let (word, bit) = place(pair);
            if let Some(word) = pairs.get_mut(word) {
                *word |= bit;
            }
        };
        for text in &texts {
            match text.as_bytes() {
                [one] => (0..=u8::MAX).for_each(|two| note([*one, two])),
                [one, two, ..] => note([*one, *two]),
                [] => {}
            }
        }
        let mut marked: Vec<(String, Mark)> = texts.into_iter().zip(marks).collect();
        marked.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let (sorted, marks) = marked.into_iter().unzip();
        let needs_none = |(_, call): &(usize, &Arc<Call>)| call.stripped.iter().any(String::is_empty);
        let bare = calls.iter().enumerate().filter(needs_none).map(|(form, _)| form).collect();
        let fallback = calls.iter().enumerate().filter(|(_, call)| call.fallback).map(|(form, _)| form).collect();
        let closers = closers(framing, calls);
        // A DFA would take a megabyte, and most of the time of the first answer, to search few bytes: prose rarely contains a
        // byte that begins a marker.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(kind).build(&sorted).ok();
        Triggers { automaton, sorted, marks, first, pairs, longest, bare, fallback, closers, left_over }
    }

    /// All markers that mean something on their own.
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

    /// What may be left over of the family's own calls at the end of an answer: closing markers.
    pub(super) fn left_over(&self) -> &[String] {
        &self.left_over
    }

    /// The first marker at or after `from`. `Err` has the offset up to which there is none; the text after it may still become
    /// one. A marker is not returned while an earlier, longer one may still be completed. `over`: the text is complete.
    pub(super) fn next<'t>(&'t self, text: &str, from: usize, over: bool) -> Result<Found<'t>, usize> {
        // In most prose, no marker can begin.
        let begins = |rest: &[u8]| (0..rest.len()).position(|at| self.may_begin(&rest[at..]));
        let Some(skipped) = text.as_bytes().get(from..).and_then(begins) else { return Err(text.len()) };
        let from = from + skipped;
        let found = self.find(text, from);
        if let Some(found) = found.filter(|found| over || found.at + self.longest < text.len()) {
            return Ok(found);
        }
        let held = if over { text.len() } else { self.held_from(text, from) };
        found.filter(|found| found.at <= held).ok_or(held)
    }

    /// The same, but a marker that may still become a longer one is not returned either.
    pub(super) fn next_sure<'t>(&'t self, text: &str, from: usize, over: bool) -> Result<Found<'t>, usize> {
        let found = self.next(text, from, over)?;
        if over || !self.may_become(&text[found.at..]) { Ok(found) } else { Err(found.at) }
    }

    /// Whether a marker may begin with these bytes.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        match bytes {
            [] => false,
            [one] => self.first[usize::from(*one)],
            [one, two, ..] => {
                let (word, bit) = place([*one, *two]);
                self.first[usize::from(*one)] && self.pairs.get(word).is_some_and(|word| word & bit != 0)
            }
        }
    }

    fn find<'t>(&'t self, text: &str, from: usize) -> Option<Found<'t>> {
        let found = self.automaton.as_ref()?.find(aho_corasick::Input::new(text).range(from..))?;
        let mark = self.marks.get(found.pattern().as_usize())?;
        Some(Found { at: found.start(), len: found.len(), mark })
    }

    /// Whether `tail` is a proper prefix of some marker.
    pub(super) fn may_become(&self, tail: &str) -> bool {
        // In sorted order, markers that begin with it follow it.
        let next = self.sorted.partition_point(|marker| marker.as_str() <= tail);
        !tail.is_empty() && self.sorted.get(next).is_some_and(|marker| marker.starts_with(tail))
    }

    /// The start of a marker, or of at least [`LEAK_BYTES`] of one, that reaches the end of the text.
    pub(super) fn leak(&self, text: &str, from: usize) -> Option<usize> {
        let text = text.trim_end();
        let start = from.max(text.len().saturating_sub(self.longest));
        let mut places = (start..text.len().saturating_sub(LEAK_BYTES - 1)).filter(|&at| text.is_char_boundary(at));
        places.find(|&at| {
            let next = self.sorted.partition_point(|marker| marker.as_str() < &text[at..]);
            self.sorted.get(next).is_some_and(|marker| marker.starts_with(&text[at..]))
        })
    }

    /// Start of the tail that may still become a marker, or the length of the text.
    fn held_from(&self, text: &str, from: usize) -> usize {
        let start = from.max(text.len().saturating_sub(self.longest));
        let tail = text.as_bytes().get(start..).unwrap_or_default();
        let mut places = (0..tail.len()).filter(|&at| self.may_begin(&tail[at..])).map(|at| start + at);
        places.find(|&at| text.is_char_boundary(at) && self.may_become(&text[at..])).unwrap_or(text.len())
    }
}

/// Fails if the markers are too long for an automaton.
pub(super) fn check(framing: &Framing, calls: &[Arc<Call>]) -> Result<(), String> {
    let headers = framing.recipient.iter().flat_map(|recipient| recipient.start.iter().chain(&recipient.end));
    let of_calls = calls.iter().flat_map(|call| [&call.section, &call.section_close, &call.open, &call.close, &call.stripped]);
    let bytes: usize = framing.markers().chain(headers).chain(of_calls.flatten()).map(String::len).sum();
    if bytes > MARKERS_BYTES {
        return Err(format!("the markers have {bytes} bytes together; at most {MARKERS_BYTES} are possible"));
    }
    Ok(())
}

/// The special tokens of a form, which are dropped even where they belong to no call. Empty if a special token of the form ends
/// within a tag: half of the markup would remain.
fn control_tokens(call: &Call) -> Vec<&str> {
    let barred = |marker: &str| marker.contains(['|', '｜']);
    let whole = |marker: &str| marker.starts_with('<') && marker.ends_with('>') && barred(marker);
    if call.open.iter().chain(&call.stripped).any(|marker| barred(marker) && !whole(marker)) {
        return Vec::new();
    }
    let mut markers = vec![&call.section, &call.section_close, &call.open, &call.close];
    if let Syntax::Named(named) = &call.syntax {
        markers.extend([&named.open, &named.close, &named.skip]);
    }
    markers.into_iter().flatten().map(String::as_str).filter(|marker| whole(marker)).collect()
}

/// The closing tags of these forms, and the token before them.
fn left_over(calls: &[Arc<Call>]) -> Vec<String> {
    let is_closer = |marker: &&String| marker.contains("</") || marker.starts_with("[/");
    let closers = calls.iter().flat_map(|call| call.close.iter().chain(&call.section_close)).filter(is_closer);
    let prefix = |call: &Arc<Call>| match &call.syntax {
        Syntax::Tagged(Tagged { nested: Some(prefix), .. }) if !prefix.is_empty() => Some(prefix.clone()),
        _ => None,
    };
    closers.cloned().chain(calls.iter().filter_map(prefix)).collect()
}

/// The closing markers that are tags, which prose does not begin with. Those that also close something else are left out.
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

/// The index of the word and the bit for a pair of bytes.
fn place([one, two]: [u8; 2]) -> (usize, u64) {
    let pair = usize::from(one) << 8 | usize::from(two);
    (pair >> 6, 1 << (pair & 63))
}
