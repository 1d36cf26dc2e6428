//! `tool_choice` is `none`: what a model writes in its family's markup for calls is not a call, and the user does not read it
//! (sglang#30925, sglang#35736). Markup that names no offered tool is ordinary text.

use crate::{
    adapter::Adapter,
    event::{ToolChoice, Tools},
};

/// Takes calls out of a text.
#[derive(Debug, Default)]
pub(super) struct Unwanted {
    openers: Vec<String>,
    closers: Vec<String>,
    names: Vec<String>,
    held: String,
    /// `held` begins with an opening marker, and no closing one begins between its first byte and this offset.
    searched: Option<usize>,
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
        let mut unwanted = Unwanted::default();
        let is_markup = |marker: &&String| marker.starts_with(['<', '[']);
        for form in &adapter.calls {
            unwanted.openers.extend(form.section.iter().chain(&form.open).filter(is_markup).cloned());
            unwanted.closers.extend(form.close.iter().chain(&form.section_close).filter(is_markup).cloned());
        }
        unwanted.names = tools.iter().map(|tool| tool.wire_name.clone()).collect();
        Some(unwanted)
    }

    /// What of the text so far is no call. `is_end`: nothing follows.
    pub(super) fn pass(&mut self, text: &str, is_end: bool) -> String {
        self.held.push_str(text);
        let mut out = String::new();
        loop {
            if self.searched.is_none() {
                let Some(at) = self.openers.iter().filter_map(|open| self.held.find(open.as_str())).min() else { break };
                out.extend(self.held.drain(..at));
                self.searched = Some(1);
            }
            let Some(end) = self.end(is_end) else { return out };
            self.searched = None;
            let call: String = self.held.drain(..end).collect();
            match self.names.iter().find(|name| call.contains(name.as_str())) {
                Some(name) => self.tool = Some(name.clone()),
                None => out += &call,
            }
        }
        let begins = |at: &usize| self.openers.iter().any(|open| open.starts_with(&self.held[*at..]));
        let begun = self.held.char_indices().map(|(at, _)| at).find(|at| !is_end && begins(at));
        out.extend(self.held.drain(..begun.unwrap_or(self.held.len())));
        out
    }

    /// Where the call at the beginning ends, with all closing markers after it. `None`: more text is needed.
    fn end(&mut self, is_end: bool) -> Option<usize> {
        let from = self.held.floor_char_boundary(self.searched?);
        let is_long = self.held.len() > CALL_BYTES;
        let Some(first) = self.closers.iter().filter_map(|close| self.held[from..].find(close.as_str())).min() else {
            let longest = self.closers.iter().map(String::len).max().unwrap_or(0);
            self.searched = Some(self.held.len().saturating_sub(longest).max(1));
            return (is_end || is_long).then_some(self.held.len());
        };
        let mut end = from + first;
        loop {
            let rest = self.held[end..].trim_start();
            let at = self.held.len() - rest.len();
            match self.closers.iter().filter(|close| rest.starts_with(close.as_str())).map(String::len).max() {
                Some(length) => (self.searched, end) = (Some(at), at + length),
                None if !is_end && !is_long && self.closers.iter().any(|close| close.starts_with(rest)) => return None,
                None => return Some(end),
            }
        }
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
                        said += &unwanted.pass(&std::mem::take(&mut piece), false);
                    }
                }
                said += &unwanted.pass(&piece, false);
                said += &unwanted.pass("", true);
                assert_eq!(said, left, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_call_without_an_end_is_searched_once() {
        let mut unwanted = unwanted("generic");
        let begun = Instant::now();
        assert_eq!(unwanted.pass("<tool_call>", false), "");
        for _ in 0..CALL_BYTES / 64 - 1 {
            assert_eq!(unwanted.pass(&"get_weather and ".repeat(4), false), "");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
