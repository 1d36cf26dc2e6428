//! Makes one [`Plan`] from the configuration, the request, and what was learned about the model. Synchronous; every decision
//! about a request is made here, once.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderValue};

use crate::{
    adapter::{Adapter, Found, Library, scanner},
    backend::{self, Backend, Bounds, Learned, Model, Size, ToolMode},
    client::{
        Incoming,
        front::{self, Head},
        shape::{
            self,
            shell::{Shell, Via},
        },
    },
    config::{Config, Mode, ShellVia},
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

pub use react::React;
pub use repeats::Repeats;
pub use trim::trim;

/// How one chat request is answered.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who answers.
    pub backend: Arc<Backend>,
    /// How the model writes.
    pub adapter: Arc<Adapter>,
    /// The conversation in its internal form.
    pub chat: ChatRequest,
    /// The tools that may be called.
    pub tools: Arc<Tools>,
    /// Who asks.
    pub caller: Caller,
    /// How the model is asked.
    pub asking: Asking,
    /// How its answers are read and judged.
    pub rules: Rules,
    /// How the client gets them.
    pub reply: Reply,
    /// How calls of our own tools are run here; `None`: they are not.
    pub react: Option<React>,
}

/// How a model is asked.
#[derive(Debug, Clone)]
pub struct Asking {
    /// What it had to refuse so far.
    pub learned: Learned,
    /// The client's own tool prompt and history are sent as they are ([`ToolMode::Client`]): `chat` has them so.
    pub verbatim: bool,
    /// It sees images, as far as is known.
    pub vision: bool,
    /// How much context it can have.
    pub context: Bounds,
    /// Headers of the client that go on.
    pub passed: Passed,
}

/// How the answers of a model are read and judged.
#[derive(Debug, Clone)]
pub struct Rules {
    /// What the scanner is told, apart from what was learned ([`Plan::scanner`]).
    pub scanner: scanner::Options,
    /// The calls of this turn that were answered before.
    pub repeats: Repeats,
    /// An answer that announces an action without a call is asked about.
    pub nudges: bool,
    /// How often a refused call is answered to the model.
    pub retry: u8,
    /// Log lines may show pieces of the arguments that were repaired.
    pub log_excerpts: bool,
}

/// How the client gets the answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// What the client's front must know.
    pub head: Head,
    /// How the client reads calls.
    pub shape: shape::Kind,
    /// The client takes one call per answer.
    pub one_call: bool,
    /// How calls of our own tools become shell commands; `None`: they do not.
    pub shell: Option<Shell>,
    /// The file that the configuration was read from: a command must read the same.
    pub configuration: Option<PathBuf>,
    /// Clients that show reasoning are told that a call is being written; all others get a comment.
    pub progress: bool,
    /// Warnings are in the answer, too, for those who read neither log nor header.
    pub show_warnings: bool,
    /// What the user should know about the request.
    pub warnings: Vec<Note>,
}

/// Who asks: part of store keys and logs. One local user, until there are more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// Whose state it is; `""` for the one local user.
    pub tenant: String,
    /// The client's program, as it names itself.
    pub client: String,
}

/// Headers of the client's request that have a meaning for the backend.
#[derive(Debug, Clone, Default)]
pub struct Passed {
    /// The client's own key, for backends that are configured to get it.
    pub authorization: Option<HeaderValue>,
    /// The way of the request so far, this process included (`Via`), and the trace that it belongs to (W3C Trace Context).
    pub onward: HeaderMap,
}

/// What a request is planned from.
#[derive(Debug)]
pub struct Request<'a> {
    /// The request as the client's side read it.
    pub incoming: Incoming,
    /// What happens to the answer.
    pub mode: Mode,
    /// The protocol that the client speaks.
    pub front: front::Kind,
    /// The backend that has the model.
    pub backend: Arc<Backend>,
    /// What is known of the model at this backend.
    pub learned: Learned,
    /// What the backend tells about the model.
    pub model: &'a Model,
    /// Who asks.
    pub caller: Caller,
    /// Headers that go on.
    pub passed: Passed,
    /// In mode `react`: the tools that are run here.
    pub react: Option<React>,
}

/// The mode of a request: what it asks for itself, else what the route of its model says, else the configuration's.
pub fn mode(config: &Config, model: &str, asked: Option<Mode>) -> Mode {
    asked.or_else(|| config.route(model).and_then(|route| route.mode)).unwrap_or(config.mode)
}

/// Decides everything about a request. Fails where the configuration names an adapter that does not exist.
pub fn plan(config: &Config, library: &Library, request: Request<'_>) -> Result<Plan, Error> {
    let Request { mut incoming, mode, front, backend, mut learned, model, caller, passed, mut react } = request;
    let adapter = reader(config, library, &incoming.request.model, model)?.adapter;
    let context = context(config, &backend, model);
    if let Some(react) = &mut react {
        // Of some backends nobody may know the context.
        react.offer(&mut incoming, &adapter, context.unwrap_or(config.limits.context_tokens))?;
    }
    let Incoming { request: mut chat, mut tools, verbatim, shape, one_call, profile, mut warnings, echo } = incoming;
    let route = config.route(&chat.model);
    let wanted = route.and_then(|route| route.tools);
    // The client's prompt names its own tools alone.
    let all_its_own = tools.iter().all(|tool| tool.origin == Origin::Client);
    let verbatim = verbatim.filter(|_| all_its_own && wanted.unwrap_or(ToolMode::Client) == ToolMode::Client);
    let as_written = verbatim.is_some();
    let repeats = Repeats::of(&chat.messages, &tools);
    chat.messages = verbatim.unwrap_or(chat.messages);
    learned.tools = wanted.filter(|mode| *mode != ToolMode::Client).unwrap_or(learned.tools);
    if let Some(context) = context.filter(|_| react.is_none() && !as_written)
        && let Some(note) = trim(&mut chat, &mut tools, context, config.limits.tools_percent)
    {
        tracing::info!(model = chat.model, ?note, "tools");
        warnings.push(note);
    }
    backend::spell(&backend, adapter.names, &mut tools);
    let tools = Arc::new(tools);
    let size = Size::of(&chat, &tools);
    clamp(&mut chat, size, context);
    let id = format!("{}{}", front.id_prefix(), uuid::Uuid::new_v4().simple());
    Ok(Plan {
        asking: Asking {
            learned,
            verbatim: as_written,
            vision: model.capabilities.is_none_or(|capabilities| capabilities.vision),
            context: Bounds { most: model.context, set: model.context_set, cap: config.limits.context_tokens },
            passed,
        },
        rules: Rules {
            scanner: scanner::Options {
                held_bytes: config.limits.held_bytes,
                argument_bytes: config.limits.argument_bytes,
                unmarked: !wants_json(&chat),
                elements: as_written,
                strays: config.retry > 0,
                ..scanner::Options::default()
            },
            // Cline and its kin ask for the call themselves. With a result at hand, the words may be the answer.
            nudges: as_written && shape == shape::Kind::VOID && repeats.is_empty(),
            repeats,
            retry: config.retry,
            log_excerpts: config.log_excerpts,
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
            one_call,
            configuration: config.file.as_ref().and_then(|file| std::path::absolute(file).ok()),
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
    Shell {
        answer: answer.to_owned(),
        form: config.shell.form,
        via: match config.shell.via {
            ShellVia::Block => Via::Block,
            // Void's own terminal tool.
            ShellVia::RunCommand => Via::Tool { name: "run_command".into(), parameter: "command".into() },
        },
    }
}

/// The model's context in tokens, as far as is known; Ollama is never asked for more than the cap.
pub fn context(config: &Config, backend: &Backend, model: &Model) -> Option<u64> {
    let cap = config.limits.context_tokens;
    match backend.kind {
        backend::Kind::Ollama => Some(model.context.unwrap_or(cap).min(cap)),
        _ => model.context,
    }
}

/// The adapter of a model, and why: the one of its route, else the one that its name or template selects; where nobody knows
/// the name, that of what the model was made from. Fails where the configuration names an adapter that does not exist.
pub fn reader(config: &Config, library: &Library, name: &str, model: &Model) -> Result<Found, Error> {
    if let Some(wanted) = config.route(name).and_then(|route| route.adapter.as_deref()) {
        let adapter = library.get(wanted).cloned().ok_or_else(|| {
            Error::proxy(format!("the route for `{name}` names the adapter `{wanted}`, which does not exist"))
                .with_code("configuration")
        })?;
        return Ok(Found { adapter, why: "its route in the configuration names it".into() });
    }
    let template = model.template.as_deref();
    let found = library.find(name, template);
    Ok(match &model.base {
        Some(base) if library.iter().last().is_some_and(|generic| Arc::ptr_eq(generic, &found.adapter)) => {
            let by_base = library.find(base, template);
            Found { why: format!("it was made from `{base}`: {}", by_base.why), ..by_base }
        }
        _ => found,
    })
}

// === impl Plan ===

impl Plan {
    /// A round of this turn: tools are offered or not, an Ollama is asked for this context.
    pub fn round(&self, offer: bool, num_ctx: Option<u64>) -> backend::Round<'_> {
        backend::Round {
            backend: &self.backend,
            adapter: &self.adapter,
            chat: &self.chat,
            tools: &self.tools,
            offer,
            mode: self.tool_mode(),
            learned: self.asking.learned,
            vision: self.asking.vision,
            num_ctx,
            authorization: self.asking.passed.authorization.as_ref(),
        }
    }

    /// How tools are offered to the model.
    pub fn tool_mode(&self) -> ToolMode {
        if self.asking.verbatim { ToolMode::Client } else { self.asking.learned.tools }
    }

    /// What the scanner is told.
    pub fn scanner(&self) -> scanner::Options {
        scanner::Options { reasoning_open: self.asking.learned.reasoning_open, ..self.rules.scanner.clone() }
    }

    /// A key for what this caller leaves for later requests.
    pub fn key(&self, kind: store::Kind, id: String) -> Key {
        Key { tenant: self.caller.tenant.clone(), kind, id }
    }

    /// Where what is learned of the model is kept.
    pub fn learned_key(&self) -> Key {
        Learned::key(&self.caller.tenant, &self.backend, &self.chat.model)
    }

    /// What must not appear in messages: the backend's key, and the client's own where it goes on.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let client = self.asking.passed.authorization.as_ref();
        let of_client = client.and_then(|value| value.to_str().ok()?.split_once(' '));
        self.backend.secrets().chain(of_client.map(|(_, credential)| credential))
    }
}

/// A client that knows nothing of the model asks for more than the context leaves, which some servers refuse and an Ollama
/// makes room for.
fn clamp(chat: &mut ChatRequest, size: Size, context: Option<u64>) {
    let Some(context) = context else { return };
    let room = context.saturating_sub(size.estimate()).max(context / 8).max(1);
    for field in ["max_completion_tokens", "max_tokens"] {
        if let Some(limit) = chat.rest.get_mut(field).filter(|limit| limit.as_u64().is_some_and(|limit| limit > room)) {
            *limit = room.into();
        }
    }
}

/// Whether the client asked for JSON as the answer itself (`response_format` other than text): then JSON is no call.
fn wants_json(chat: &ChatRequest) -> bool {
    let kind = chat.rest.get("response_format").and_then(|format| format.get("type")).and_then(serde_json::Value::as_str);
    kind.is_some_and(|kind| kind != "text")
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}
