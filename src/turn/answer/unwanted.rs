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
    names: Vec<String>,
    held: String,
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
        let names = tools.iter().map(|tool| tool.wire_name.clone()).collect();
        Some(Unwanted { markers: markers.collect(), names, held: String::new(), tool: None })
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
        while let Some(at) = self.markers.iter().filter_map(|(open, _)| self.held.find(open.as_str())).min() {
            out.extend(self.held.drain(..at));
            let end = self.end().or((is_end || self.held.len() > CALL_BYTES).then_some(self.held.len()));
            let Some(end) = end else { return out };
            let call: String = self.held.drain(..end).collect();
            match self.names.iter().find(|name| call.contains(name.as_str())) {
                Some(name) => self.tool = Some(name.clone()),
                None => out += &call,
            }
        }
        let starts = |from: usize| self.markers.iter().any(|(open, _)| open.starts_with(&self.held[from..]));
        let begun = self.held.char_indices().map(|(at, _)| at).find(|at| !is_end && starts(*at));
        out.extend(self.held.drain(..begun.unwrap_or(self.held.len())));
        out
    }

    /// Where the call at the beginning ends.
    fn end(&self) -> Option<usize> {
        let fits = self.markers.iter().filter(|(open, _)| self.held.starts_with(open.as_str()));
        let end = |open: &String, close: &String| Some(open.len() + self.held[open.len()..].find(close.as_str())? + close.len());
        fits.flat_map(|(open, close)| close.iter().filter_map(move |close| end(open, close))).max()
    }
}
