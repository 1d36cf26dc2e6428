//! Reads a conversation in which calls left as shell commands. Each command becomes the call that it carried, so that the
//! model sees its own form. A command with an id needs the stored call; if that is gone, the command stays as it is. A pure
//! function of the messages and the stored calls.

use std::collections::HashMap;

use serde_json::Value;

use super::{COMMAND, CONFIG, FENCE, Spooled};
use crate::openai::{ChatRequest, Content, Message, ToolCall, answer::call_id};

/// Calls by the id of their command.
pub type Known = HashMap<String, Spooled>;

#[derive(Debug, PartialEq, Eq)]
enum Command<'a> {
    Id(&'a str),
    Whole { name: &'a str, arguments: &'a str },
}

/// The result of a call whose output went to the user's terminal.
const NOT_SEEN: &str = "handed over as a shell command; what it printed is known only if the user shows it";

/// The ids of all commands in the history.
pub fn mentioned(chat: &ChatRequest) -> Vec<String> {
    let assistants = chat.messages.iter().filter(|message| message.role == "assistant");
    assistants
        .flat_map(|message| {
            let text = message.content.to_text();
            let blocks = blocks(&text).into_iter().map(|block| block.command.to_owned());
            blocks.chain(message.tool_calls.iter().filter_map(carried)).collect::<Vec<_>>()
        })
        .filter_map(|command| match Command::of(&command)? {
            Command::Id(id) => Some(id.to_owned()),
            Command::Whole { .. } => None,
        })
        .collect()
}

/// Turns the commands into calls, and adds a result to calls without one.
pub fn translate(chat: &mut ChatRequest, known: &Known) {
    let messages = std::mem::take(&mut chat.messages);
    for (at, mut message) in messages.into_iter().enumerate() {
        if message.role != "assistant" {
            chat.messages.push(message);
            continue;
        }
        for call in &mut message.tool_calls {
            if let Some((name, arguments)) = carried(call).and_then(|command| meant(&command, known)) {
                (call.name, call.arguments) = (name, arguments);
            }
        }
        let found = take_blocks(&mut message, at, known);
        let results = found.iter().map(|call| Message { tool_call_id: Some(call.id.clone()), ..Message::text("tool", NOT_SEEN) });
        let results: Vec<Message> = results.collect();
        message.tool_calls.extend(found);
        chat.messages.push(message);
        chat.messages.extend(results);
    }
}

impl<'a> Command<'a> {
    fn of(command: &'a str) -> Option<Command<'a>> {
        let rest = command.trim().strip_prefix(COMMAND)?.strip_prefix(' ')?;
        match rest.split_once(' ') {
            None if !rest.is_empty() && !rest.contains(char::is_whitespace) => Some(Command::Id(rest)),
            None => None,
            Some((name, words)) => {
                let (arguments, more) = word(words)?;
                // Anything else: the user has changed the command.
                let ours = more.is_empty() || more.strip_prefix(CONFIG).and_then(word).is_some_and(|(_, more)| more.is_empty());
                ours.then_some(Command::Whole { name, arguments })
            }
        }
    }
}

/// The quoted word at the beginning, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('\'')?.split_once('\'')
}

/// A fenced block with one command.
struct Block<'a> {
    start: usize,
    end: usize,
    command: &'a str,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(FENCE)).map(|at| from + at) {
        let start = at + FENCE.len();
        let inside = text.get(start..).unwrap_or_default();
        let line = inside.lines().next().unwrap_or_default();
        let closed = inside.get(line.len()..).unwrap_or_default().strip_prefix("\n```");
        from = start;
        if let Some(after) = closed.filter(|_| line.starts_with(COMMAND)) {
            let end = text.len() - after.strip_prefix('\n').unwrap_or(after).len();
            found.push(Block { start: at, end, command: line });
            from = end;
        }
    }
    found
}

/// The calls of the blocks in this message. The blocks are removed from its text.
fn take_blocks(message: &mut Message, at: usize, known: &Known) -> Vec<ToolCall> {
    let Content::Text(text) = &message.content else { return Vec::new() };
    let (mut calls, mut left, mut from) = (Vec::new(), Vec::new(), 0);
    for block in blocks(text) {
        let Some((name, arguments)) = meant(block.command, known) else { continue };
        left.push(text.get(from..block.start).unwrap_or_default().trim_end());
        from = block.end;
        let place = (at as u64, calls.len() as u64);
        let id = call_id(&[b"shell", &place.0.to_le_bytes(), &place.1.to_le_bytes(), block.command.as_bytes()]);
        calls.push(ToolCall { id, name, arguments, extra: None });
    }
    if calls.is_empty() {
        return calls;
    }
    left.push(text.get(from..).unwrap_or_default().trim_end());
    left.retain(|piece| !piece.is_empty());
    message.content = if left.is_empty() { Content::None } else { Content::Text(left.join("\n\n")) };
    calls
}

/// The name and the arguments of the call that a command carries.
fn meant(command: &str, known: &Known) -> Option<(String, String)> {
    match Command::of(command)? {
        Command::Id(id) => known.get(id).map(|call| (call.name.clone(), call.arguments.clone())),
        Command::Whole { name, arguments } => Some((name.to_owned(), arguments.to_owned())),
    }
}

/// The command that a call of the client's terminal tool carries.
fn carried(call: &ToolCall) -> Option<String> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let texts = arguments.as_object()?.values().filter_map(Value::as_str);
    texts.map(str::to_owned).find(|text| Command::of(text).is_some())
}
