//! Makes one [`Plan`] from the configuration, the request, and what was learned about the model: how the model is asked, how its
//! answers are read, and how the client gets them. `server` decides before that which mode counts, and which tools of the
//! registry there are. Synchronous.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderValue};

use crate::{
    adapter::{Adapter, Found, GENERIC, Library, scanner},
    backend::{self, Backend, Bounds, Learned, Model, Size, ToolMode},
    client::{
        Incoming,
        front::{self, Head},
        shape::{self, shell::Shell},
        workspace::Workspace,
    },
    config::{Config, Mode},
    error::Error,
    event::{Note, Origin, Tools},
    openai::{ChatRequest, answer::Envelope},
    store::{self, Key},
};

mod react;
mod repeats;
#[cfg(test)]
mod tests;
mod trim;

pub use react::{React, offer};
pub use repeats::{Ended, Repeats};
pub use trim::trim;

/// How one chat request is answered.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The backend that answers.
    pub backend: Arc<Backend>,
    /// The adapter of the model's family.
    pub adapter: Arc<Adapter>,
    /// The conversation in its internal form.
    pub chat: ChatRequest,
    /// The tools that may be called.
    pub tools: Arc<Tools>,
    /// The sender of the request.
    pub caller: Caller,
    /// How the model is asked.
    pub asking: Asking,
    /// The rules for reading and judging its answers.
    pub rules: Rules,
    /// How the client gets them.
    pub reply: Reply,
    /// How toolglot runs calls of the registry's tools; `None`: it does not.
    pub react: Option<React>,
}

/// How a model is asked.
#[derive(Debug, Clone)]
pub struct Asking {
    /// What earlier refusals taught about it.
    pub learned: Learned,
    /// The client's own tool prompt and history are sent ([`ToolMode::Client`]), and `chat` has them in that form.
    pub verbatim: bool,
    /// Whether it sees images; `true` if unknown.
    pub vision: bool,
    /// The limits of its context.
    pub context: Bounds,
    /// Headers of the client that go to the backend.
    pub passed: Passed,
}

/// How the answers of a model are read and judged.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Options of the scanner, without what was learned ([`Plan::scanner`] adds that).
    pub scanner: scanner::Options,
    /// The earlier calls of this turn that have results.
    pub repeats: Repeats,
    /// The model is asked for the call if its answer only announces an action.
    pub nudges: bool,
    /// How often the model may be asked again after a refused call (`retry`).
    pub retry: u8,
}

/// How the client gets the answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// What the client's front needs.
    pub head: Head,
    /// How the client reads calls.
    pub shape: shape::Kind,
    /// The user's workspace, if the client reports it.
    pub workspace: Option<Arc<Workspace>>,
    /// Whether the client takes only one call per answer.
    pub one_call: bool,
    /// How calls of the registry's tools become shell commands; `None`: they do not.
    pub shell: Option<Shell>,
    /// The configuration file, so that a shell command uses the same.
    pub configuration: Option<PathBuf>,
    /// Whether to report that a call is being written: as reasoning to clients that show it, otherwise as a comment.
    pub progress: bool,
    /// Whether warnings also appear in the answer.
    pub show_warnings: bool,
    /// Warnings about the request.
    pub warnings: Vec<Note>,
}

/// The sender of a request: part of store keys and logs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The owner of the state; `""` for the one local user.
    pub tenant: String,
    /// The client's program, from its `User-Agent`.
    pub client: String,
}

/// Headers of the client's request that concern the backend.
#[derive(Debug, Clone, Default)]
pub struct Passed {
    /// The client's `Authorization`, for backends that are configured to get it.
    pub authorization: Option<HeaderValue>,
    /// `Via`, this process included, and the headers of W3C Trace Context.
    pub onward: HeaderMap,
}

/// The inputs of a plan.
#[derive(Debug)]
pub struct Request<'a> {
    /// The request as the client's side read it.
    pub incoming: Incoming,
    /// The mode: what happens to the answer.
    pub mode: Mode,
    /// The protocol that the client speaks.
    pub front: front::Kind,
    /// The backend that has the model.
    pub backend: Arc<Backend>,
    /// What was learned about the model at this backend.
    pub learned: Learned,
    /// What the backend reports about the model.
    pub model: &'a Model,
    /// The adapter of its family ([`reader`]).
    pub adapter: Arc<Adapter>,
    /// The sender of the request.
    pub caller: Caller,
    /// Headers that go to the backend.
    pub passed: Passed,
    /// In mode `react`: the tools that toolglot runs.
    pub react: Option<React>,
}

/// The mode of a request: its own choice, else that of its model's route, else that of the configuration.
pub fn mode(config: &Config, model: &str, asked: Option<Mode>) -> Mode {
    asked.or_else(|| config.route(model).and_then(|route| route.mode)).unwrap_or(config.mode)
}

/// Decides everything about a request.
///
/// # Errors
/// The tools of mode `react` take too much of the model's context.
pub fn plan(config: &Config, request: Request<'_>) -> Result<Plan, Error> {
    let Request { mut incoming, mode, front, backend, learned, model, adapter, caller, passed, mut react } = request;
    let context = context(config, &backend, model);
    if let Some(react) = &mut react {
        // Of some backends nobody may know the context.
        react.offer(&mut incoming, &adapter, context.unwrap_or(config.limits.context_tokens))?;
    }
    let Incoming { request: mut chat, mut tools, workspace, verbatim, shape, one_call, profile, mut warnings, echo } = incoming;
    if front == front::Kind::Ollama && backend.kind != backend::Kind::Ollama {
        warnings.extend(front::ollama::without_own(&mut chat));
    }
    let route = config.route(&chat.model);
    let wanted = route.and_then(|route| route.tools);
    // The client's prompt names its own tools alone.
    let all_its_own = tools.iter().all(|tool| tool.origin == Origin::Client);
    let verbatim = verbatim.filter(|_| all_its_own && wanted.unwrap_or(ToolMode::Client) == ToolMode::Client);
    let as_written = verbatim.is_some();
    let repeats = Repeats::of(&chat.messages, &tools);
    chat.messages = verbatim.unwrap_or(chat.messages);
    backend::join_system(&mut chat.messages);
    shape::break_turns(shape, &mut chat.messages, adapter.turns());
    if let Some(context) = context.filter(|_| react.is_none() && !as_written)
        && let Some(note) = trim(&mut chat, &mut tools, context, config.limits.tools_percent)
    {
        tracing::info!(model = chat.model, ?note, "tools");
        warnings.push(note);
    }
    if backend.kind == backend::Kind::Ollama && !tools.is_empty() && !model.repeat_penalty_set {
        without_repeat_penalty(&mut chat);
    }
    backend::spell(&backend, adapter.names, &mut tools);
    let tools = Arc::new(tools);
    let size = Size::of(&chat, &tools);
    clamp(&mut chat, size, context);
    let id = format!("{}{}", front.id_prefix(), uuid::Uuid::new_v4().simple());
    Ok(Plan {
        asking: Asking {
            learned: learned.on_route(wanted),
            verbatim: as_written,
            vision: model.capabilities.is_none_or(|capabilities| capabilities.vision),
            context: Bounds { most: model.context, set: model.context_set, cap: config.limits.context_tokens },
            passed,
        },
        rules: Rules {
            scanner: scanner::Options {
                held_bytes: config.limits.held_bytes,
                argument_bytes: config.limits.argument_bytes,
                answer: wanted_form(&chat),
                elements: as_written,
                may_ask: scanner::MayAsk::after(0, config.retry),
                ..scanner::Options::default()
            },
            // With a result at hand, the words may be the answer.
            nudges: as_written && repeats.is_empty(),
            repeats,
            retry: config.retry,
        },
        reply: Reply {
            shell: (mode == Mode::Shell).then(|| shell(config, &id)),
            head: Head {
                kind: front,
                envelope: Envelope { id, created: now(), model: chat.model.clone() },
                include_usage: chat.include_usage(),
                reasoning_field: profile.reasoning_field,
                shows_reasoning: profile.shows_reasoning,
                prompt_tokens: size.estimate(),
                tools: Arc::clone(&tools),
                echo,
            },
            shape,
            workspace,
            one_call,
            configuration: config.file.as_ref().filter(|_| mode == Mode::Shell).and_then(|file| std::path::absolute(file).ok()),
            progress: config.progress,
            show_warnings: config.show_warnings,
            warnings,
        },
        backend,
        adapter,
        chat,
        tools,
        caller,
        react,
    })
}

/// The shell commands of one answer.
fn shell(config: &Config, answer: &str) -> Shell {
    Shell { answer: answer.to_owned(), form: config.shell_form, config: config.shell_config.clone(), via: config.shell_via }
}

/// The model's context, in tokens; `None`: unknown. For Ollama, at most `limits.context_tokens`.
pub fn context(config: &Config, backend: &Backend, model: &Model) -> Option<u64> {
    let cap = config.limits.context_tokens;
    match backend.kind {
        backend::Kind::Ollama => Some(model.context.unwrap_or(cap).min(cap)),
        _ => model.context,
    }
}

/// The adapter of a model, and why it was chosen: that of its route, else the one that its name or template selects, else that of
/// the model it was made from.
pub fn reader(config: &Config, library: &Library, name: &str, model: &Model) -> Found {
    // Routes are checked where the library is made.
    if let Some(adapter) = config.route(name).and_then(|route| library.get(route.adapter.as_deref()?)) {
        return Found { adapter: adapter.clone(), why: "its route in the configuration names it".into() };
    }
    let template = model.template.as_deref();
    let found = library.find(name, template);
    match &model.base {
        Some(base) if found.adapter.name == GENERIC => {
            let by_base = library.find(base, template);
            Found { why: format!("it was made from `{base}`: {}", by_base.why), ..by_base }
        }
        _ => found,
    }
}

impl Plan {
    /// A round of this turn. `offer`: whether tools may be called. `num_ctx`: the context to request from Ollama, in tokens; `None`:
    /// Ollama decides.
    pub fn round(&self, offer: bool, num_ctx: Option<u64>) -> backend::Round<'_> {
        backend::Round {
            backend: &self.backend,
            adapter: &self.adapter,
            chat: &self.chat,
            tools: &self.tools,
            offer,
            mode: self.tool_mode(),
            learned: &self.asking.learned,
            vision: self.asking.vision,
            num_ctx,
            authorization: self.asking.passed.authorization.as_ref(),
        }
    }

    /// How the tools are offered to the model.
    pub fn tool_mode(&self) -> ToolMode {
        if self.asking.verbatim { ToolMode::Client } else { self.asking.learned.tools }
    }

    /// The options of the scanner.
    pub fn scanner(&self) -> scanner::Options {
        scanner::Options { reasoning_open: self.asking.learned.reasoning_open, ..self.rules.scanner.clone() }
    }

    /// A store key for the caller's state.
    pub fn key(&self, kind: store::Kind, id: String) -> Key {
        Key { tenant: self.caller.tenant.clone(), kind, id }
    }

    /// The store key for what is learned about the model.
    pub fn learned_key(&self) -> Key {
        Learned::key(&self.caller.tenant, &self.backend, &self.chat.model)
    }

    /// The secrets to mask in messages: those of the backend, and the client's key if it is forwarded.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let client = self.asking.passed.authorization.as_ref();
        let of_client = client.and_then(|value| value.to_str().ok()?.split_once(' '));
        self.backend.secrets().chain(of_client.map(|(_, credential)| credential))
    }
}

/// Lowers a limit of the answer that exceeds the space left in the context. Some servers refuse such a request, and Ollama would
/// enlarge its context.
fn clamp(chat: &mut ChatRequest, size: Size, context: Option<u64>) {
    let Some(context) = context else { return };
    let room = context.saturating_sub(size.estimate()).max(context / 8).max(1);
    for field in ["max_completion_tokens", "max_tokens"] {
        if let Some(limit) = chat.rest.get_mut(field).filter(|limit| limit.as_u64().is_some_and(|limit| limit > room)) {
            *limit = room.into();
        }
    }
}

/// Switches off the penalty for repeated tokens, unless the client sets one. A call repeats what the prompt says: names, paths,
/// code. Ollama applied a penalty of 1.1 by default until its pull request 17679 (August 2026).
fn without_repeat_penalty(chat: &mut ChatRequest) {
    if !chat.has_option("repeat_penalty") {
        chat.rest.insert("repeat_penalty".into(), 1.0.into());
    }
}

/// The form in which the client wants an answer without calls (`response_format`).
fn wanted_form(chat: &ChatRequest) -> scanner::Wanted {
    let format = chat.rest.get("response_format");
    match format.and_then(|format| format.get("type")).and_then(serde_json::Value::as_str) {
        None | Some("text") => scanner::Wanted::Text,
        Some(_) => match format.and_then(|format| format.pointer("/json_schema/schema")) {
            Some(schema) => scanner::Wanted::Schema(schema.to_string().into()),
            None => scanner::Wanted::Json,
        },
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}
