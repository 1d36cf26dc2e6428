//! `tool_choice` is `none`: what a model writes in its family's markup for calls is not a call, and the user does not read it
//! (sglang#30925, sglang#35736). Markup that names no offered tool is ordinary text.

use crate::{
    adapter::Adapter,
    event::{ToolChoice, Tools},
};

/// Takes calls out of a text.
#[derive(Debug)]
pub(super) struct Unwanted {
    /// Opening markers, each with those that close it.
    markers: Vec<(String, Vec<String>)>,
    /// Length of the longest of them.
    longest: usize,
    names: Vec<String>,
    held: String,
    /// `held` begins with an opening marker, and no closing one begins before this offset.
    searched: Option<usize>,
    /// A call was taken out just before `held`. The closing markers after it belong to it.
    follows_call: bool,
    /// The tool of a call that was taken out.
    pub(super) tool: Option<String>,
}

/// Longest call that is held, in bytes. A longer one is text.
const CALL_BYTES: usize = 256 * 1024;

impl Unwanted {
    /// `None`: calls are wanted, or there are no tools.
    pub(super) fn new(adapter: &Adapter, tools: &Tools) -> Option<Unwanted> {
        if tools.choice != ToolChoice::None || tools.is_empty() {
            return None;
        }
        let of_form = adapter.calls.iter().flat_map(|form| {
            let sections = form.section.iter().map(|open| (open, form.section_close.iter().chain(&form.close)));
            let calls = form.open.iter().map(|open| (open, form.close.iter().chain(&form.section_close)));
            sections.chain(calls)
        });
        let of_form = of_form.filter(|(open, _)| open.starts_with(['<', '[']));
        let markers = of_form.map(|(open, close)| (open.clone(), close.filter(|close| !close.is_empty()).cloned().collect()));
        let markers: Vec<(String, Vec<String>)> = markers.collect();
        let longest = markers.iter().flat_map(|(open, close)| close.iter().chain([open])).map(String::len).max().unwrap_or(0);
        let names = tools.iter().map(|tool| tool.wire_name.clone()).collect();
        Some(Unwanted { markers, longest, names, held: String::new(), searched: None, follows_call: false, tool: None })
    }

    /// What of the text so far is no call.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        self.pass(false)
    }

    /// The rest, at the end of the answer.
    pub(super) fn finish(&mut self) -> String {
        self.pass(true)
    }

    fn pass(&mut self, is_end: bool) -> String {
        let mut out = String::new();
        while self.leave_call(is_end) {
            if self.searched.is_none() {
                let at = self.markers.iter().filter_map(|(open, _)| self.held.find(open.as_str())).min();
                let Some(at) = at else { break };
                out.extend(self.held.drain(..at));
                self.searched = Some(0);
            }
            // Until then a longer marker may begin here.
            if self.held.len() < self.longest && !is_end {
                return out;
            }
            let end = self.end().or((is_end || self.held.len() > CALL_BYTES).then_some(self.held.len()));
            let Some(end) = end else { return out };
            self.searched = None;
            let call: String = self.held.drain(..end).collect();
            match self.names.iter().find(|name| call.contains(name.as_str())) {
                Some(name) => (self.tool, self.follows_call) = (Some(name.clone()), true),
                None => out += &call,
            }
        }
        if self.follows_call {
            return out;
        }
        let starts = |from: usize| self.markers.iter().any(|(open, _)| open.starts_with(&self.held[from..]));
        let begun = self.held.char_indices().map(|(at, _)| at).find(|at| !is_end && starts(*at));
        out.extend(self.held.drain(..begun.unwrap_or(self.held.len())));
        out
    }

    /// Where the call at the beginning ends.
    fn end(&mut self) -> Option<usize> {
        let (held, searched) = (&self.held, self.searched?);
        let fits = self.markers.iter().filter(|(open, _)| held.starts_with(open.as_str()));
        let end = |open: &String, close: &String| {
            let from = held.floor_char_boundary(searched.max(open.len()));
            Some(from + held[from..].find(close.as_str())? + close.len())
        };
        let end = fits.flat_map(|(open, close)| close.iter().filter_map(move |close| end(open, close))).min();
        self.searched = Some(self.held.len().saturating_sub(self.longest));
        end
    }

    /// Takes away the closing markers after a call. `false`: more text is needed.
    fn leave_call(&mut self, is_end: bool) -> bool {
        while self.follows_call {
            let rest = self.held.trim_start();
            let closers = || self.markers.iter().flat_map(|(_, close)| close).filter(|close| close.starts_with(['<', '[']));
            if !is_end && closers().any(|close| close.len() > rest.len() && close.starts_with(rest)) {
                return false;
            }
            match closers().filter(|close| rest.starts_with(close.as_str())).map(String::len).max() {
                Some(length) => self.held = rest[length..].to_owned(),
                None => self.follows_call = false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{adapter::Library, event::Tool};

    fn unwanted(adapter: &str) -> Unwanted {
        let tools = Tools::new([Tool::new("get_weather", "", "{}")], ToolChoice::None);
        Unwanted::new(Library::embedded().unwrap().get(adapter).unwrap(), &tools).unwrap()
    }

    #[test]
    fn calls_are_taken_out_however_they_are_cut() {
        let call = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>";
        for (adapter, text, left) in [
            ("generic", format!("a < b {call} c"), "a < b  c"),
            ("generic", format!("a{call}\n{call}"), "a\n"),
            ("generic", "<tool_call>no tool</tool_call> <too".to_owned(), "<tool_call>no tool</tool_call> <too"),
            ("generic", format!("a<tool_calls>{call}</tool_calls>b"), "ab"),
            ("generic", format!("{call} \u{e9}"), " \u{e9}"),
        ] {
            for size in 1..=text.len() {
                let mut unwanted = unwanted(adapter);
                let mut said = String::new();
                let mut piece = String::new();
                for c in text.chars() {
                    piece.push(c);
                    if piece.len() >= size {
                        said += &unwanted.push(&std::mem::take(&mut piece));
                    }
                }
                said += &unwanted.push(&piece);
                said += &unwanted.finish();
                assert_eq!(said, left, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_call_without_an_end_is_searched_once() {
        let mut unwanted = unwanted("generic");
        let begun = Instant::now();
        assert_eq!(unwanted.push("<tool_call>"), "");
        for _ in 0..CALL_BYTES / 64 - 1 {
            assert_eq!(unwanted.push(&"get_weather and ".repeat(4)), "");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
