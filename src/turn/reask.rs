//! Words the messages that ask a model again, hidden from the client: why its call was refused and what the tool needs, or that
//! it has its results and should answer.

use serde_json::{Map, Value};

use crate::{
    client::shape,
    event::{self, Origin, Tool, Tools, Why},
    fix::{self, End, View, name::NEAR_BYTES},
    openai::{Content, Message, ToolCall, answer::call_id, is_spoken, own_words},
    plan::Plan,
};

#[cfg(test)]
mod tests;

/// Why the model is asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reask {
    /// It wrote a call that was refused.
    Refused {
        /// The tool's name; `""` if unknown.
        name: String,
        /// The reason.
        why: Why,
        /// Its arguments, as far as they were repaired.
        raw: String,
        /// Its arguments as the model wrote them.
        written: String,
    },
    /// It wrote nothing, or reasoning alone.
    Silent,
    /// It announced a step after a result, and stopped.
    Unfinished,
    /// It answered a question about this file, which it has not read.
    Unread(String),
    /// It announced an action, or told the user to perform it, without a call.
    Announced,
    /// It wrote no call, and the client demands one.
    Uncalled,
}

impl Reask {
    /// Whether the other calls of the answer were meant nevertheless.
    pub(super) fn keeps_others(&self) -> bool {
        let alone = |why: &Why| matches!(why, Why::Unannounced(_) | Why::Quoted);
        matches!(self, Reask::Refused { why, .. } if !alone(why))
    }

    /// Whether the model was asked for the call alone, because the client already has the text of the answer.
    pub(super) fn wants_call_alone(&self) -> bool {
        matches!(self, Reask::Announced | Reask::Unread(_) | Reask::Uncalled)
    }

    /// What the answer says in the place of the refused call, to add what follows it.
    pub(super) fn text_mut(&mut self) -> Option<&mut String> {
        let Reask::Refused { why, .. } = self else { return None };
        why.text_mut()
    }

    /// What the user reads if nothing replaces the refused call or the hidden text: that text, or a line about the call.
    pub(super) fn left(&self) -> Option<String> {
        let Reask::Refused { name, why, .. } = self else { return None };
        let left = why.text().map_or_else(|| format!("{}\n", why.notice(name)), str::to_owned);
        Some(left).filter(|left| !left.trim().is_empty())
    }
}

impl std::fmt::Display for Reask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reask::Refused { name, why, .. } => write!(f, "{name}: {why}"),
            Reask::Silent => f.write_str("nothing was said"),
            Reask::Unfinished => f.write_str("a step was announced after a result, and no tool was called"),
            Reask::Unread(file) => write!(f, "a question about {file} was answered, and the file was not read"),
            Reask::Uncalled => f.write_str("the client demands a call, and no tool was called"),
            Reask::Announced => f.write_str("an action was announced or explained, and no tool was called"),
        }
    }
}

/// Longer schemas are not quoted, in bytes.
const SCHEMA_BYTES: usize = 2000;
/// Longer words of the user are not repeated, in bytes.
const QUESTION_BYTES: usize = 1000;
/// Makes small models continue after a result. In an editor's own form, a task usually has further steps; if told to answer,
/// they copy the result and stop.
const GO_ON: &str = "You have this result. Do the next step of the task with a tool, or answer if it is done.";

/// Makes a model that has written nothing, or has only thought, answer or call.
const BEGIN: &str = "(You have written nothing yet. Go on.)";

/// Makes a small model write the call that it only announced. Its own answer is not shown to it, because it would continue that.
const CALL_ALONE: &str = "(If a tool is needed, write only its call, each parameter in its own tag.)";

/// Appends the message for the model to the conversation. `said`: the prose of the answer that the client already has. `kept`: its
/// valid calls.
pub(super) fn ask(reask: &Reask, said: &str, kept: &[event::ToolCall], plan: &mut Plan) {
    let messages = &mut plan.chat.messages;
    match reask {
        Reask::Refused { why: Why::Repeated, .. } if plan.asking.verbatim => tell(messages, GO_ON),
        Reask::Announced => tell(messages, CALL_ALONE),
        Reask::Unread(file) => {
            tell(
                messages,
                &format!("(You have not read {file}. Write only the call that reads it, each parameter in its own tag.)"),
            );
        }
        Reask::Uncalled => demand(messages, &plan.tools),
        Reask::Unfinished => tell(messages, GO_ON),
        Reask::Silent if plan.rules.repeats.is_empty() => tell(messages, BEGIN),
        Reask::Silent | Reask::Refused { why: Why::Repeated, .. } => wrap_up(messages, true),
        Reask::Refused { name, why, raw, written } => {
            let form = plan.asking.verbatim.then_some(plan.reply.shape);
            // A key that the tool does not know is not in the repaired arguments.
            let raw = if is_object(written) { written } else { raw };
            let [call, mut complaint] = self::messages(name, why, raw, said, &plan.tools, form, messages.len());
            if !kept.is_empty() {
                let names: Vec<&str> = kept.iter().map(|call| offered_name(&plan.tools, &call.name, form)).collect();
                let others = format!("{} Do not repeat your other calls ({}).", complaint.content.to_text(), names.join(", "));
                complaint.content = Content::Text(others);
            }
            messages.extend([call, complaint]);
        }
    }
}

/// Tells the model that it must call a tool. Its own text is not shown to it, because it would continue that.
pub(super) fn demand(messages: &mut Vec<Message>, tools: &Tools) {
    let names: Vec<&str> = tools.iter().map(|tool| tool.wire_name.as_str()).collect();
    let which = match names.as_slice() {
        [name] => format!("the tool {name}"),
        names => format!("one of the tools {}", names.join(", ")),
    };
    tell(messages, &format!("(Answer with a call of {which}, and with nothing else.)"));
}

/// Tells the model to use the results that it has. Its last answer is omitted, because it contained nothing new. The user's
/// question is repeated, because without it a small model may only say that there is a result. `offers`: it may still call tools.
pub(super) fn wrap_up(messages: &mut Vec<Message>, offers: bool) {
    let result = messages.iter().rposition(|message| message.role == "tool").unwrap_or_default();
    let asked = messages.iter().take(result).rfind(|message| is_spoken(message)).map(|message| message.content.to_text());
    let asked = asked.as_deref().map(own_words).filter(|asked| !asked.is_empty() && asked.len() <= QUESTION_BYTES);
    let otherwise = if offers { ", or call another tool if something is missing" } else { "" };
    let words = match asked {
        Some(asked) => format!("You have this result. Answer my question with it{otherwise}: {asked}"),
        None => format!("You have this result. Answer with it{otherwise}."),
    };
    tell(messages, &words);
}

/// Adds words in the user's voice. After a result they are a message of their own: inside the result, a small model takes them
/// for a part of it and repeats the call.
pub(super) fn tell(messages: &mut Vec<Message>, words: &str) {
    match messages.last_mut().filter(|last| last.role != "tool") {
        None => messages.push(Message::text("user", words)),
        Some(Message { content: Content::Parts(parts), .. }) => parts.push(serde_json::json!({"type": "text", "text": words})),
        Some(Message { content, .. }) => *content = Content::Text(format!("{}\n\n{words}", content.to_text().trim_end())),
    }
}

/// The refused call and the complaint about it, as two messages. `form`: the client's form of calls, if the conversation is the
/// client's own.
fn messages(name: &str, why: &Why, raw: &str, said: &str, tools: &Tools, form: Option<shape::Kind>, at: usize) -> [Message; 2] {
    let complaint = complaint(name, why, raw, tools, form);
    let gap = if said.is_empty() || said.ends_with('\n') { "" } else { "\n" };
    if let Some(form) = form {
        let call = in_form(form, tools, name, raw, matches!(why, Why::Truncated(_)));
        return [Message::text("assistant", format!("{said}{gap}{call}")), Message::text("user", complaint)];
    }
    if !is_object(raw) || name.is_empty() {
        // Arguments that are not an object cannot be a call, so the model sees its own text instead.
        return [Message::text("assistant", format!("{said}{gap}{raw}")), Message::text("user", complaint)];
    }
    let id = call_id(&[b"again", &at.to_le_bytes(), raw.as_bytes()]);
    let call = ToolCall { id: id.clone(), name: name.to_owned(), arguments: raw.to_owned(), extra: None };
    let content = if said.is_empty() { Content::None } else { Content::Text(said.to_owned()) };
    [
        Message { role: "assistant".into(), content, tool_calls: vec![call], ..Message::default() },
        Message { tool_call_id: Some(id), ..Message::text("tool", complaint) },
    ]
}

/// Whether a text is a JSON object.
pub(super) fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// The name of a tool as the model was offered it. `form`: the client's form of calls, if the prompt is the client's own.
fn offered_name<'t>(tools: &'t Tools, name: &'t str, form: Option<shape::Kind>) -> &'t str {
    let tool = tools.get(name).filter(|_| form.is_none());
    tool.map_or(name, |tool| tool.wire_name.as_str())
}

/// The call in the client's form, as far as the model wrote it. The model follows the form that it is shown.
fn in_form(form: shape::Kind, tools: &Tools, name: &str, raw: &str, cut: bool) -> String {
    let call = if cut {
        let begun = fix::fix(raw, None, &[], End::Whole).arguments.unwrap_or_else(|| "{}".into());
        let call = shape::written(form, tools, name, &begun);
        call.and_then(|call| call.strip_suffix(&closing(name)).map(|call| call.trim_end().to_owned()))
    } else {
        shape::written(form, tools, name, raw)
    };
    call.unwrap_or_else(|| element(name, raw))
}

/// A call of an unknown tool, as an element.
fn element(name: &str, raw: &str) -> String {
    let given: Map<String, Value> = serde_json::from_str(raw).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let given: String = given.iter().map(|(key, value)| format!("<{key}>{}</{key}>\n", text(value))).collect();
    format!("<{name}>\n{given}{}", closing(name))
}

/// What ends a call in the forms of clients.
fn closing(name: &str) -> String {
    format!("</{name}>")
}

/// One line for the model: what was wrong, and what the tool needs.
pub(super) fn complaint(name: &str, why: &Why, raw: &str, tools: &Tools, form: Option<shape::Kind>) -> String {
    if let Why::UnknownTool(_) | Why::Unmarked(_) = why {
        return unknown(name, raw, tools, form);
    }
    let subject = if name.is_empty() { "a tool" } else { offered_name(tools, name, form) };
    // These reasons already say what to do.
    let not_run = |why: &str| format!("Error: the call of {subject} was not run: {why}.");
    match why {
        Why::Unsure(what) | Why::Guess(what) => return not_run(what),
        Why::Unannounced(_) | Why::Quoted => {
            return format!("{} If it is, write only the call; if not, answer without it.", not_run(&why.to_string()));
        }
        _ => {}
    }
    let tool = tools.get(name);
    let missing = tool.map(|tool| missing(tool, raw)).unwrap_or_default();
    let schema = tool.map(|tool| tool.schema.as_ref()).filter(|schema| schema.len() <= SCHEMA_BYTES);
    if let (Why::Truncated(_), Some(_)) = (why, form) {
        return format!(
            "Error: the call of {subject} was not run: its end, {}, is missing. Write the whole call again.",
            closing(subject)
        );
    }
    let needed = match schema {
        _ if !missing.is_empty() => format!(" Missing: {}.", missing.join("; ")),
        // A schema would be an example of another form.
        _ if form.is_some() => tool.map(parameters).unwrap_or_default(),
        Some(schema) => format!(" Its parameters are: {schema}."),
        None => String::new(),
    };
    format!("Error: the call of {subject} was not run: {why}.{needed} Write the whole call again, corrected.")
}

/// The complaint about an unknown tool: the offered names, the nearest first. If the nearest shares a word with the written name
/// and accepts the given arguments, the complaint shows that call. It never shows invented values, because small models copy
/// them, and they would run.
fn unknown(name: &str, raw: &str, tools: &Tools, form: Option<shape::Kind>) -> String {
    let mut offered: Vec<(f64, &Tool)> = tools.iter().map(|tool| (likeness(name, tool), tool)).collect();
    // A stable sort: tools that are equally far keep the client's order.
    offered.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let names: Vec<&str> = offered.iter().map(|(_, tool)| offered_name(tools, &tool.name, form)).collect();
    let nearest = offered.first().filter(|(likeness, _)| *likeness >= 1.0);
    let meant = nearest.and_then(|(_, tool)| rewritten(tool, raw, tools, form)).map(|call| format!(" Did you mean:\n{call}\n"));
    let is_near = nearest.is_some() || name.is_empty();
    let program = if is_near { None } else { offered.iter().find(|(_, tool)| fix::runs_programs(tool)) };
    // After the names: a small model does what it was told last.
    let program = program.map(|(_, tool)| {
        let runs = offered_name(tools, &tool.name, form);
        format!(" If {name} is a program, run it with {runs}: {WHOLE_LINE}.")
    });
    let fault = if name.is_empty() { "the call has no name".to_owned() } else { format!("there is no tool {name}") };
    let otherwise = if tools.must_call() { "" } else { ", or answer without a tool" };
    format!(
        "Error: {fault}. The tools are: {}.{}{}Call one of these tools{otherwise}.",
        names.join(", "),
        program.unwrap_or_default(),
        meant.as_deref().unwrap_or(" ")
    )
}

/// A sentence about the argument of a tool that runs programs. Small models copy it into the argument.
pub(super) const WHOLE_LINE: &str = "its `command` is the whole command line";

/// How much a written name and a tool's name have in common: common words count first, then common letters. The name of the
/// tool's server says nothing about the tool.
fn likeness(written: &str, offered: &Tool) -> f64 {
    let written = &written[..written.floor_char_boundary(NEAR_BYTES)];
    let own = match (&offered.origin, &offered.namespace) {
        (Origin::Registry { tool, .. }, _) => tool,
        (Origin::Client, Some((_, tool))) => tool,
        (Origin::Client, None) => &offered.name,
    };
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let (written_words, offered_words) = (words(written), words(own));
    let common = written_words.iter().filter(|word| offered_words.contains(word)).count();
    common as f64 + strsim::normalized_levenshtein(&written.to_lowercase(), &offered.name.to_lowercase())
}

/// A call of this tool with the arguments given to another one. `None`: a required one is missing, or the tool does not have all
/// of them.
fn rewritten(tool: &Tool, raw: &str, tools: &Tools, form: Option<shape::Kind>) -> Option<String> {
    let given: Map<String, Value> = serde_json::from_str(raw).ok()?;
    let properties = shape::properties(tool.checked_schema());
    let has = |key: &String| properties.contains_key(key);
    let takes = !given.is_empty() && given.keys().all(has) && required(tool).iter().all(|key| given.contains_key(key));
    let arguments = takes.then(|| Value::Object(given))?;
    let written = form.and_then(|form| shape::written(form, tools, &tool.name, &arguments.to_string()));
    Some(written.unwrap_or_else(|| format!("{{\"name\": {}, \"arguments\": {arguments}}}", Value::from(tool.wire_name.as_str()))))
}

/// The required parameters that are not in the arguments, each with its description.
fn missing(tool: &Tool, raw: &str) -> Vec<String> {
    let Ok(given) = serde_json::from_str::<Map<String, Value>>(raw) else { return Vec::new() };
    let properties = shape::properties(tool.checked_schema());
    let described = |key: String| match properties.get(&key).and_then(|property| property.get("description")?.as_str()) {
        Some(description) => format!("`{key}` ({})", description.trim()),
        None => format!("`{key}`"),
    };
    required(tool).into_iter().filter(|key| !given.contains_key(key)).map(described).collect()
}

/// The parameters by name.
fn parameters(tool: &Tool) -> String {
    let required = required(tool);
    let name = |key: &String| if required.contains(key) { format!("`{key}`") } else { format!("`{key}` (optional)") };
    let names: Vec<String> = shape::properties(tool.checked_schema()).keys().map(name).collect();
    if names.is_empty() { " It has no parameters.".into() } else { format!(" Its parameters are: {}.", names.join(", ")) }
}

/// The parameters that must be given.
fn required(tool: &Tool) -> Vec<String> {
    View::of(Some(tool)).root().required().map(str::to_owned).collect()
}
