//! Messages with headers: `<|channel|>analysis<|message|>...` is reasoning, `... to=f<|message|>{...}` is a call to `f`, anything
//! else is the answer. The markers come from the adapter's `[recipient]` table.

use std::sync::Arc;

use super::{Region, Scanner, entry::Entry};
use crate::{
    adapter::{
        Syntax,
        syntax::{
            Seen, Start, blank,
            recipient::{Header, Kind, begins_inside, header, is_arguments},
        },
    },
    event::Sink,
    fix::name::known_tool,
};

impl Scanner {
    /// Handles the start of a message, which may be inside a header that the prompt opened. `None`: it is not inside one.
    pub(super) fn step_primed(&mut self, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let adapter = Arc::clone(&self.adapter);
        let recipient = adapter.framing.recipient.as_ref()?;
        let at = self.buf.pos + blank(&self.buf[self.buf.pos..]);
        if at == self.buf.len() && !end {
            self.buf.scan_to(at);
            return Some(false);
        }
        match begins_inside(&self.buf[at..], recipient, &self.tools, end) {
            Seen::Maybe => return Some(false),
            Seen::No => return None,
            Seen::Yes(()) => {}
        }
        let progress = self.step_header(at, 0, end, out);
        if progress == Some(true) {
            self.message.primed = false;
        }
        progress
    }

    /// Handles a header that may begin at `at`, with a marker of length `marker` (0 if the text begins inside the header).
    /// `None`: it is not a header.
    pub(super) fn step_header(&mut self, at: usize, marker: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let adapter = Arc::clone(&self.adapter);
        let recipient = adapter.framing.recipient.as_ref()?;
        // The template puts the header of a call right after the text before it, without a line break.
        let in_line = recipient.plain && !self.at_line_start(at);
        let Header { length, kind } = match header(&self.buf[at..], recipient, marker == 0, end) {
            Seen::Yes(header) => header,
            Seen::Maybe => return Some(false),
            Seen::No => return None,
        };
        if in_line && !matches!(kind, Kind::Call(_)) {
            return None;
        }
        let body = at + length;
        let is_stripped = recipient.channel.is_some() && !self.buf[at..body].contains(&recipient.message);
        if let Kind::Call(name) = &kind {
            let tool = known_tool(&self.tools, name);
            if tool.is_none() && recipient.plain {
                return None;
            }
            let arguments = match is_arguments(&self.buf[body..], recipient, tool, end) {
                Start::Maybe => return Some(false),
                start => start != Start::No,
            };
            let form = adapter.calls.iter().position(|call| matches!(call.syntax, Syntax::Recipient(_)));
            if let Some(form) = form.filter(|_| arguments && self.tools.wanted()) {
                // If the text begins inside the header, the prompt wrote the marker. In a string of a value it is text.
                return self.begin(at, marker, true, vec![Entry::new(form, at, true)]).then_some(true);
            }
        }
        if marker == 0 {
            // The whitespace before it belongs to the header.
            self.buf.discard_to(at);
        }
        self.resolve(at, true, out);
        self.remove(at, body, out);
        self.before.call = None;
        self.emitted.begin_line();
        self.message.for_user = kind == Kind::Content;
        self.message.stripped = is_stripped;
        match kind {
            Kind::Reasoning => {
                self.region = Region::Reasoning;
                self.emitted.divide(true);
                self.emitted.swallow_blank = true;
            }
            Kind::Content | Kind::Call(_) => {
                self.region = Region::Text;
                (self.before.fresh, self.before.tried) = (!self.emitted.said, false);
            }
        }
        Some(true)
    }
}
