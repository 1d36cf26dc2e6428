//! Removes the markup of calls that an earlier server left in the text of old answers, because a model imitates it. Whatever the
//! scanner takes for a call of an offered tool is removed, and so are control tokens outside of code. Everything else, and all
//! reasoning, stays unchanged.

use std::sync::Arc;

use crate::{
    adapter::{Adapter, Scanner, scanner::Options},
    event::{Channel, Event, FinishReason, Tools},
    openai::Message,
};

/// How many bytes of marked text of a history are read again. The oldest come first, so that the prefix in the backend's cache
/// stays the same. A model's context holds less than this; reading so much takes seconds.
const READ_BYTES: usize = 1 << 20;

/// Cleans the answers in a history, up to [`READ_BYTES`] of them. Answers that contain nothing else are removed.
pub(in crate::backend) fn clean(messages: &mut Vec<Message>, adapter: &Arc<Adapter>, tools: &Arc<Tools>) {
    let mut left = READ_BYTES;
    messages.retain_mut(|message| {
        if message.role != "assistant" {
            return true;
        }
        let clean = |text: &str| {
            if !adapter.marks(text) {
                return None;
            }
            left = left.saturating_sub(text.len());
            (left > 0).then(|| cleaned(text, adapter, tools))
        };
        let Some(content) = message.content.with_texts(clean) else { return true };
        message.content = content;
        !message.tool_calls.is_empty() || !message.content.text().trim().is_empty()
    });
}

/// The size of the old answers that contain markers, in bytes: what cleaning the history has to read. 0 if all old answers
/// together have fewer than `least` bytes: they are not looked through for it.
pub fn marked_bytes(messages: &[Message], adapter: &Adapter, least: usize) -> usize {
    let answers = messages.iter().filter(|message| message.role == "assistant");
    let texts: Vec<&str> = answers.flat_map(|message| message.content.texts()).collect();
    if texts.iter().map(|text| text.len()).sum::<usize>() < least {
        return 0;
    }
    texts.iter().filter(|text| adapter.marks(text)).map(|text| text.len()).sum()
}

/// The text without its calls and control tokens.
fn cleaned(text: &str, adapter: &Arc<Adapter>, tools: &Arc<Tools>) -> String {
    let options = Options { framing: false, ..Options::default() };
    let mut scanner = Scanner::new(Arc::clone(adapter), Arc::clone(tools), Arc::default(), options);
    let (mut said, mut calls) = (String::new(), 0);
    let mut sink = |event: Event<'_>| match event {
        Event::Text(text) | Event::Reasoning(text) => said.push_str(text),
        Event::Call(_) => calls += 1,
        _ => {}
    };
    scanner.push(Channel::Content, text, &mut sink);
    scanner.finish(FinishReason::Stop, &mut sink);
    let text = if calls > 0 { said.trim_end() } else { text };
    without(text, &adapter.framing.drop)
}

/// The text without these tokens, except in code.
fn without(text: &str, tokens: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```");
        if fenced || fence {
            fenced ^= fence;
            out.push_str(line);
            continue;
        }
        // Every second piece between backticks is code.
        for (at, piece) in line.split('`').enumerate() {
            if at > 0 {
                out.push('`');
            }
            match at % 2 {
                0 => out.push_str(&tokens.iter().fold(piece.to_owned(), |piece, token| piece.replace(token.as_str(), ""))),
                _ => out.push_str(piece),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
