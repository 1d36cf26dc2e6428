//! The client's side. A request in whatever form a client writes it becomes the internal form: an
//! [`openai::ChatRequest`](crate::openai::ChatRequest) without any tool prompt and a table [`Tools`]; the events of an
//! answer become the client's calls ([`shape`]) and the client's bytes ([`front`]). Synchronous and pure.

use crate::{
    error::Error,
    event::{Note, Tools},
    openai::ChatRequest,
};

pub mod front;
pub mod profile;
pub mod shape;

#[cfg(test)]
mod tests;

use profile::Profile;

/// What is known about the client beside the request itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hints {
    /// The `User-Agent` header, `""` if there was none.
    pub user_agent: String,
    /// A profile that configuration or a path prefix (`/void/v1`) forces, by name.
    pub profile: Option<String>,
    /// A shape that configuration forces.
    pub shape: Option<shape::Kind>,
}

/// A request as the rest of the program sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The request without tools: `tools` and `tool_choice` are empty, the table below is the truth; a tool prompt is cut
    /// out of the system text, a history that the client wrote in its own form is translated to calls and results.
    pub request: ChatRequest,
    /// The tools that the client offers, and what it said about using them.
    pub tools: Tools,
    /// How this client reads calls.
    pub shape: shape::Kind,
    /// The client takes one call per answer: further ones are dropped and counted.
    pub one_call: bool,
    /// What is known about this client.
    pub profile: &'static Profile,
    /// What the user should know about the request.
    pub warnings: Vec<Note>,
}

/// Reads a request. Fails only on tools that cannot be understood at all.
pub fn read(mut request: ChatRequest, hints: &Hints) -> Result<Incoming, Error> {
    let mut warnings = Vec::new();
    let tools = shape::native::read_tools(&mut request, &mut warnings)?;
    let profile = profile::detect(hints);
    let one_call = profile.one_call || shape::native::one_call_asked(&request);
    let shape = hints.shape.unwrap_or(shape::Kind::Native);
    Ok(Incoming { request, tools, shape, one_call, profile, warnings })
}
