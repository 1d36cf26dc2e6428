//! Where a client's tool prompt may stand: the tools are taken out of the system's own voice, nowhere else.

use super::{Grammar, cline, void};
use crate::{
    event::Tools,
    openai::{ChatRequest, Content, Message},
};

const SYSTEM_OPEN: &str = "<SYSTEM_MESSAGE>";
const SYSTEM_CLOSE: &str = "</SYSTEM_MESSAGE>";

/// Finds the tool prompt, takes it out of the request and gives its tools. Only the system's own voice counts: the role
/// system or developer, or a first user message that begins with `<SYSTEM_MESSAGE>` (Void writes it so for models whose
/// name it does not know). Elsewhere the same words are a quotation.
pub(super) fn take(request: &mut ChatRequest) -> Option<(Grammar, Tools)> {
    let first_user = request.messages.iter().position(|message| message.role == "user");
    request.messages.iter_mut().enumerate().find_map(|(at, message)| {
        let text = system_text(message, first_user == Some(at))?;
        let end = if text.starts_with(SYSTEM_OPEN) { text.find(SYSTEM_CLOSE) } else { None };
        let (voice, rest) = text.split_at(end.unwrap_or(text.len()));
        let found = void::cut(voice).map(|(tools, without)| (Grammar::Void, tools, without));
        let (grammar, tools, without) =
            found.or_else(|| cline::cut(voice).map(|(tools, without)| (Grammar::Cline, tools, without)))?;
        *text = without + rest;
        Some((grammar, tools))
    })
}

/// The text of a message if it is the system's voice.
fn system_text(message: &mut Message, first_user: bool) -> Option<&mut String> {
    let system = matches!(message.role.as_str(), "system" | "developer");
    let text = match &mut message.content {
        Content::Text(text) => text,
        Content::Parts(parts) => match parts.first_mut()?.get_mut("text")? {
            serde_json::Value::String(text) => text,
            _ => return None,
        },
        Content::None => return None,
    };
    (system || (first_user && text.starts_with(SYSTEM_OPEN))).then_some(text)
}

/// `text` without the part between `start` and `end`: one empty line is left of it.
pub(super) fn without(text: &str, start: usize, end: usize) -> Option<String> {
    let before = text.get(..start)?.trim_end();
    let gap = if before.is_empty() { "" } else { "\n\n" };
    Some(format!("{before}{gap}{}", text.get(end..)?.trim_start_matches('\n')))
}
