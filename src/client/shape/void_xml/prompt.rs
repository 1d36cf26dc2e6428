//! Void's tool prompt, read: the tools that it offers, and the system text without it.

use super::{overlay::Overlay, tags};
use crate::{
    event::{Tool, Tools},
    openai::{ChatRequest, Content, Message},
};

const TOOLS_HEADING: &str = "Available tools:";
const DETAILS_HEADING: &str = "Tool calling details:";
const SYSTEM_OPEN: &str = "<SYSTEM_MESSAGE>";
const SYSTEM_CLOSE: &str = "</SYSTEM_MESSAGE>";

/// Finds the tool prompt, takes it out of the request and gives its tools. Only the system's own voice counts: the role
/// system or developer, or a first user message that begins with `<SYSTEM_MESSAGE>` (Void writes it so for models whose
/// name it does not know). Elsewhere the same words are a quotation.
pub(super) fn take(request: &mut ChatRequest) -> Option<Tools> {
    let first_user = request.messages.iter().position(|message| message.role == "user");
    request.messages.iter_mut().enumerate().find_map(|(at, message)| {
        let text = system_text(message, first_user == Some(at))?;
        let (tools, without) = cut(text)?;
        *text = without;
        Some(tools)
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

/// The tools in `text`, and `text` without the tool prompt.
fn cut(text: &str) -> Option<(Tools, String)> {
    let voice = match text.find(SYSTEM_CLOSE) {
        Some(end) if text.starts_with(SYSTEM_OPEN) => text.get(..end)?,
        _ => text,
    };
    let (start, tools_at) = heading(voice, TOOLS_HEADING)?;
    let (tools_end, details_at) = heading(voice.get(tools_at..)?, DETAILS_HEADING)?;
    let (tools_end, details_at) = (tools_at + tools_end, tools_at + details_at);
    let tools = read_tools(voice.get(tools_at..tools_end)?)?;

    // The details end at the first empty line.
    let details = voice.get(details_at..)?;
    let end = details_at + details.find("\n\n").unwrap_or(details.len());
    let before = text.get(..start)?.trim_end();
    let after = text.get(end..)?;
    let gap = if before.is_empty() { "" } else { "\n\n" };
    Some((tools, format!("{before}{gap}{}", after.trim_start_matches('\n'))))
}

/// The line that consists of this heading: where it starts and where the next one does.
fn heading(text: &str, heading: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim() == heading {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// The numbered blocks between the headings: `N. name`, `Description: ...`, `Format:`, the tool's tags.
fn read_tools(text: &str) -> Option<Tools> {
    let overlay = Overlay::embedded();
    let mut tools = Tools::default();
    let mut blocks = Vec::new();
    let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let mut next = lines.next();
    while let Some((start, line)) = next {
        next = lines.next();
        let numbered = line.trim().strip_prefix(&format!("{}. ", blocks.len() + 1)).filter(|name| tags::is_name(name));
        if let (Some(name), Some((description, following))) = (numbered, next)
            && following.trim_start().starts_with("Description:")
        {
            blocks.push((name, start, description));
        }
    }
    for (nth, (name, _, description)) in blocks.iter().enumerate() {
        let end = blocks.get(nth + 1).map_or(text.len(), |(_, start, _)| *start);
        tools.add(read_tool(name, text.get(*description..end)?, &overlay)?);
    }
    (!tools.is_empty()).then_some(tools)
}

fn read_tool(name: &str, block: &str, overlay: &Overlay) -> Option<Tool> {
    let open = format!("<{name}>");
    let (described, body) = block.split_once(&format!("Format:\n    {open}")).or_else(|| {
        let (described, after) = block.split_once("Format:")?;
        Some((described, after.trim_start().strip_prefix(&open)?))
    })?;
    let body = body.get(..body.rfind(&format!("</{name}>"))?)?;
    let parameters = tags::split(body)?;
    let description = described.trim().strip_prefix("Description:").unwrap_or_default().trim();
    Some(Tool::new(name, description, overlay.schema(name, &parameters).to_string()))
}
