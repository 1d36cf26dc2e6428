//! Where a client's tool prompt may be: only in the system's own voice.

use super::{Grammar, cline, void};
use crate::{
    event::Tools,
    openai::{Content, Message},
};

const SYSTEM_OPEN: &str = "<SYSTEM_MESSAGE>";
const SYSTEM_CLOSE: &str = "</SYSTEM_MESSAGE>";

/// A tool prompt in a request.
pub(super) struct Prompt {
    grammar: Grammar,
    tools: Tools,
    /// The message that holds it.
    at: usize,
    /// The text of that message without it.
    without: String,
}

/// Finds the tool prompt. Only the system's own voice counts: the role system or developer, or a first user message that begins
/// with `<SYSTEM_MESSAGE>` (Void writes it so for models whose name it does not know). Elsewhere the same words are a quotation.
pub(super) fn find(messages: &[Message]) -> Option<Prompt> {
    let first_user = messages.iter().position(|message| message.role == "user");
    messages.iter().enumerate().find_map(|(at, message)| {
        let text = system_text(message, first_user == Some(at))?;
        let end = if text.starts_with(SYSTEM_OPEN) { text.find(SYSTEM_CLOSE) } else { None };
        let (voice, rest) = text.split_at(end.unwrap_or(text.len()));
        let found = void::cut(voice).map(|(tools, without)| (Grammar::Void, tools, without));
        let (grammar, tools, without) =
            found.or_else(|| cline::cut(voice).map(|(tools, without)| (Grammar::Cline, tools, without)))?;
        Some(Prompt { grammar, tools, at, without: without + rest })
    })
}

impl Prompt {
    /// Removes the prompt from the messages, and returns its tools.
    pub(super) fn cut_out(self, messages: &mut [Message]) -> (Grammar, Tools) {
        match messages.get_mut(self.at).map(|message| &mut message.content) {
            Some(Content::Text(text)) => *text = self.without,
            Some(Content::Parts(parts)) => {
                if let Some(text) = parts.first_mut().and_then(|part| part.get_mut("text")) {
                    *text = self.without.into();
                }
            }
            _ => {}
        }
        (self.grammar, self.tools)
    }
}

/// The text of a message if it is the system's voice.
fn system_text(message: &Message, first_user: bool) -> Option<&str> {
    let system = matches!(message.role.as_str(), "system" | "developer");
    let text = match &message.content {
        Content::Text(text) => text,
        Content::Parts(parts) => parts.first()?.get("text")?.as_str()?,
        Content::None => return None,
    };
    (system || (first_user && text.starts_with(SYSTEM_OPEN))).then_some(text)
}
