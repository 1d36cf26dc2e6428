//! `tool_choice` is `none`: what a model writes in its family's markup for calls is not a call, and the user does not read it
//! (sglang#30925, sglang#35736). Markup that names no offered tool is ordinary text.

use std::cmp::Reverse;

use regex::{Captures, Regex};

use crate::{
    adapter::Adapter,
    event::{ToolChoice, Tools},
};

/// Takes calls out of a text.
#[derive(Debug)]
pub(super) struct Unwanted {
    openers: Vec<String>,
    /// From an opening marker to the closing ones, or to the end.
    call: Regex,
    names: Vec<String>,
    /// From the first opening marker on everything; before that, what may become one.
    held: String,
    is_open: bool,
    /// The tool of a call that was taken out.
    pub(super) tool: Option<String>,
}

/// How much text is held, in bytes. What a longer call goes on with is text.
const CALL_BYTES: usize = 256 * 1024;

impl Unwanted {
    /// `None`: calls are wanted, or there are no tools.
    pub(super) fn new(adapter: &Adapter, tools: &Tools) -> Option<Unwanted> {
        if tools.choice != ToolChoice::None || tools.is_empty() {
            return None;
        }
        let is_markup = |marker: &&String| marker.starts_with(['<', '[']);
        let (mut openers, mut closers) = (Vec::new(), Vec::new());
        for form in &adapter.calls {
            openers.extend(form.section.iter().chain(&form.open).filter(is_markup).cloned());
            closers.extend(form.close.iter().chain(&form.section_close).filter(is_markup).cloned());
        }
        closers.sort_by_key(|close| Reverse(close.len()));
        let any = |markers: &[String]| markers.iter().map(|marker| regex::escape(marker)).collect::<Vec<_>>().join("|");
        let call = format!(r"(?s)(?:{}).*?(?:(?:\s*(?:{}))+|\z)", any(&openers), any(&closers));
        let names = tools.iter().map(|tool| tool.wire_name.clone()).collect();
        let call = Regex::new(&call).ok().filter(|_| !openers.is_empty())?;
        Some(Unwanted { openers, call, names, held: String::new(), is_open: false, tool: None })
    }

    /// What of the text so far is no call. `is_end`: nothing follows.
    pub(super) fn pass(&mut self, text: &str, is_end: bool) -> String {
        self.held.push_str(text);
        if is_end || self.held.len() > CALL_BYTES {
            self.is_open = false;
            return self.without_calls();
        }
        if self.is_open {
            return String::new();
        }
        let first = self.openers.iter().filter_map(|open| self.held.find(open.as_str())).min();
        self.is_open = first.is_some();
        let begins = |at: &usize| self.openers.iter().any(|open| open.starts_with(&self.held[*at..]));
        let kept = first.or_else(|| self.held.char_indices().map(|(at, _)| at).find(begins));
        self.held.drain(..kept.unwrap_or(self.held.len())).collect()
    }

    /// All that is held, but for the calls of offered tools.
    fn without_calls(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let text = self.call.replace_all(&held, |found: &Captures<'_>| {
            let named = self.names.iter().find(|name| found[0].contains(name.as_str()));
            self.tool = named.cloned().or(self.tool.take());
            if named.is_some() { String::new() } else { found[0].to_owned() }
        });
        text.into_owned()
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
