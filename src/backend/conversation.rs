//! Fits a conversation to a backend that refuses a part of its form. Each row of [`ROWS`] is a small, pure change of what is
//! sent, with the words of the refusals that teach it. The client's own conversation stays as it is: its ids, its roles and its
//! schemas count for the answer. A change of a message depends only on that message and its neighbours, so that the beginning of
//! the next request is the same.
//!
//! | when | what |
//! |---|---|
//! | always | system text that is not first ([`join_system`]) |
//! | for a family | system text in the user's turn ([`System::Fold`]); reasoning that the client has dropped ([`Prompt::reasoning`]) |
//! | after a refusal | [`ROWS`], in their order |
//!
//! [`Prompt::reasoning`]: crate::adapter::render::Prompt::reasoning

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Kind, Round, ToolMode,
    errors::{Refusal, says},
    request::{named, parameters_of},
};
use crate::{
    adapter::render::{self, System},
    error::Error,
    event::{ToolChoice, Tools},
    openai::{ChatRequest, Content, Message, added},
};

mod rewrites;
mod schema;
mod system;
#[cfg(test)]
mod tests;

pub use schema::each_schema;
pub use system::join_system;

/// A change of the requests to a backend. [`Learned`](super::Learned) keeps those that its refusals have taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// A user's turn where there is none.
    UserTurn,
    /// The assistant's turns at the end are one.
    OneAnswer,
    /// The user asks to go on where the conversation ends with the assistant's text.
    GoOn,
    /// Thinking and text of a turn with calls are two turns.
    Apart,
    /// System text in the user's first turn.
    FoldSystem,
    /// User and assistant alternate.
    Alternate,
    /// A turn of the assistant between a result and the user's turn.
    Bridge,
    /// Ids of nine letters and digits.
    ShortIds,
    /// Every turn of the assistant has reasoning.
    Reasoning,
    /// Arguments are objects, not their text.
    Objects,
    /// `tool_choice` is said in words.
    ChoiceInWords,
    /// Nothing about reasoning is requested.
    NoThinking,
    /// No level of reasoning is requested.
    NoEffort,
    /// Schemas have no patterns, formats and large lengths.
    NoPatterns,
    /// Schemas have only what every server reads.
    PlainSchemas,
}

/// A row of the table.
struct Row {
    rewrite: Rewrite,
    /// What is done, for people.
    title: &'static str,
    /// Words of the refusals that teach it, in lower case; `*` matches any text.
    says: &'static [&'static str],
    change: Change,
}

/// What a rewrite changes.
enum Change {
    Messages(fn(&mut Vec<Message>)),
    /// Each message by itself.
    Message(fn(&mut Message)),
    Fields(fn(&mut Map<String, Value>)),
    Schema(fn(&mut Value)),
    /// See [`choice_in_words`].
    Choice,
}

/// All rewrites, in the order in which they are applied.
const ROWS: &[Row] = &[
    Row {
        rewrite: Rewrite::UserTurn,
        title: "a conversation without a turn of the user gets one",
        // Qwen 3.5's template.
        says: &["no user query found in messages"],
        change: Change::Messages(rewrites::user_turn),
    },
    Row {
        rewrite: Rewrite::OneAnswer,
        title: "the assistant's turns at the end are joined",
        // llama.cpp.
        says: &["cannot have 2 or more assistant messages at the end"],
        change: Change::Messages(rewrites::one_answer),
    },
    Row {
        rewrite: Rewrite::GoOn,
        title: "a beginning of the answer is followed by the request to go on",
        // llama.cpp; Anthropic's API (opencode#22404); Mistral's API, code 3230.
        says: &["prefill is incompatible", "does not support assistant message prefill", "expected last role user or tool"],
        change: Change::Messages(rewrites::go_on),
    },
    Row {
        rewrite: Rewrite::Apart,
        title: "thinking and text of a turn with calls are sent apart",
        // gpt-oss's template.
        says: &["cannot pass both content and thinking"],
        change: Change::Messages(rewrites::apart),
    },
    Row {
        rewrite: Rewrite::FoldSystem,
        title: "system text is sent in the user's first turn",
        says: &["developer instruction is not enabled", "system role not supported", "system role is not supported"],
        change: Change::Messages(render::fold_system),
    },
    Row {
        rewrite: Rewrite::Alternate,
        title: "turns are joined so that user and assistant alternate",
        says: &["roles must alternate", "only user and assistant roles"],
        change: Change::Messages(render::alternate),
    },
    Row {
        rewrite: Rewrite::Bridge,
        title: "a turn of the assistant stands between a result and the user's turn",
        // mistral-common.
        says: &["unexpected role 'user' after role 'tool'"],
        change: Change::Messages(rewrites::bridge),
    },
    Row {
        rewrite: Rewrite::ShortIds,
        title: "ids of calls are sent as nine letters and digits",
        // mistral-common; the chat templates of Mistral's models from v3 on.
        says: &["tool call id*must be a-z", "tool call ids should be alphanumeric strings with length 9"],
        change: Change::Message(rewrites::short_ids),
    },
    Row {
        rewrite: Rewrite::Reasoning,
        title: "every turn of the assistant has reasoning",
        // DeepSeek, Moonshot.
        says: &["reasoning_content*must be passed back", "reasoning_content is missing in assistant"],
        change: Change::Message(rewrites::reasoning),
    },
    Row {
        rewrite: Rewrite::Objects,
        title: "arguments of earlier calls are sent as objects",
        // minijinja and Jinja2, where a template goes through the arguments.
        says: &["can only get item pairs from a mapping"],
        change: Change::Message(rewrites::objects),
    },
    Row {
        rewrite: Rewrite::ChoiceInWords,
        title: "`tool_choice` is said in words",
        // Gateways before Qwen; DeepSeek's API (awesome-deepseek-integration#598).
        says: &["tool_choice*thinking", "does not support this tool_choice"],
        change: Change::Choice,
    },
    Row {
        rewrite: Rewrite::NoThinking,
        title: "nothing about reasoning is requested",
        says: &[
            "does not support thinking",
            "thinking is not supported",
            "thinking is not enabled",
            "'reasoning_effort' does not support 'none'",
            "reasoning_effort*input should be",
        ],
        change: Change::Fields(rewrites::no_thinking),
    },
    Row {
        rewrite: Rewrite::NoEffort,
        title: "reasoning is switched on or off, without a level",
        says: &["think value * is not supported"],
        change: Change::Fields(rewrites::no_effort),
    },
    Row {
        rewrite: Rewrite::NoPatterns,
        title: "schemas of tools are sent without patterns, formats and large lengths; calls are still checked against them",
        // llama.cpp and LM Studio; vLLM's `backend_xgrammar.py`.
        says: &[
            "failed to parse grammar",
            "json schema conversion failed",
            "unrecognized schema",
            "features not supported by xgrammar",
        ],
        change: Change::Schema(schema::without_patterns),
    },
    Row {
        rewrite: Rewrite::PlainSchemas,
        title: "schemas of tools are sent in plain words; calls are still checked against the whole ones",
        says: &[],
        change: Change::Schema(|schema| *schema = schema::plain(schema)),
    },
];

impl Rewrite {
    /// The rewrite that a refusal teaches. `message`: the backend's words, in lower case.
    pub(super) fn taught(message: &str) -> Option<Rewrite> {
        ROWS.iter().find(|row| row.says.iter().any(|text| says(message, text))).map(|row| row.rewrite)
    }

    /// What is done, for people.
    pub fn title(self) -> &'static str {
        ROWS.iter().find(|row| row.rewrite == self).map_or("", |row| row.title)
    }
}

/// Whether this round needs a rewrite.
fn needs(round: &Round<'_>, rewrite: Rewrite) -> bool {
    let kind = round.backend.kind;
    match rewrite {
        // Families without a system role are known before Google refuses it.
        Rewrite::FoldSystem if kind == Kind::Google && round.adapter.prompt.system == System::Fold => true,
        // The other APIs have objects anyway.
        Rewrite::Objects if kind != Kind::OpenAi => false,
        _ => round.learned.needs(rewrite),
    }
}

/// Rewrites the messages and the fields of a chat.
pub(super) fn fit(round: &Round<'_>, chat: &mut ChatRequest) {
    for row in ROWS.iter().filter(|row| needs(round, row.rewrite)) {
        match row.change {
            Change::Messages(change) => change(&mut chat.messages),
            Change::Message(change) => chat.messages.iter_mut().for_each(change),
            Change::Fields(change) => change(&mut chat.rest),
            Change::Schema(_) | Change::Choice => {}
        }
    }
}

/// Whether schemas are rewritten.
pub(super) fn fits_schemas(round: &Round<'_>) -> bool {
    needs(round, Rewrite::NoPatterns) || needs(round, Rewrite::PlainSchemas)
}

/// Rewrites the schema of a tool.
pub(super) fn fit_schema(round: &Round<'_>, schema: &mut Value) {
    for row in ROWS.iter().filter(|row| needs(round, row.rewrite)) {
        if let Change::Schema(change) = row.change {
            change(schema);
        }
    }
}

/// Says in words which call is required, at the end of the conversation, and removes the field.
pub(super) fn choice_in_words(round: &Round<'_>, tools: &Tools, chat: &mut ChatRequest) {
    if !needs(round, Rewrite::ChoiceInWords) {
        return;
    }
    chat.tool_choice = None;
    let words = match (&tools.choice, named(tools)) {
        (_, Some(name)) => format!("In this answer you must use the tool {name}."),
        (ToolChoice::Required, _) => "In this answer you must use a tool.".to_owned(),
        _ => return,
    };
    let words = Content::Text(added(&words));
    match chat.messages.last_mut().filter(|last| matches!(last.role.as_str(), "user" | "tool")) {
        Some(last) => last.content = render::concat(std::mem::take(&mut last.content), words),
        None => chat.messages.push(Message { role: "user".into(), content: words, ..Message::default() }),
    }
}

/// Whether an error that nobody knows may be about the schemas of the tools: the backend gets them, and they have more than plain
/// words.
pub fn suspects_schemas(round: &Round<'_>, error: &Error) -> bool {
    let known =
        Refusal::of(error).is_some() || matches!(error.code.as_deref(), Some("context_length_exceeded" | "model_not_found"));
    let sent = round.offer && round.mode == ToolMode::Native && matches!(round.backend.kind, Kind::OpenAi | Kind::Ollama);
    let is_plain = |parameters: &Value| schema::plain(parameters) == *parameters;
    matches!(error.status, 400 | 500)
        && !known
        && sent
        && !round.learned.needs(Rewrite::PlainSchemas)
        && round.tools.iter().any(|tool| !is_plain(&parameters_of(tool)))
}
