//! Decides who may use the MCP routes. They are stricter than the routes of models, because tools act on this machine: a web page
//! must come from this very server, or know the token. Pages of other servers on this machine have no access. `server::guard`
//! applies the rule, and uses [`admits`] for the page's own routes too.

use sha2::{Digest, Sha256};

use crate::config::Secret;

/// The first segments of all MCP routes.
const PATHS: &[&str] = &["/mcp", "/sse"];

/// The headers of a request that identify its sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// `Origin`, if a page sent it.
    pub origin: Option<&'a str>,
    /// `Host`.
    pub host: Option<&'a str>,
    /// `Authorization`.
    pub authorization: Option<&'a str>,
}

/// Whether a path belongs to the MCP routes.
pub fn is_surface(path: &str) -> bool {
    PATHS.iter().any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Whether a request may use the MCP routes: it comes from no page, or from a page of this server, or has the token. `Host` must
/// have been checked before (against DNS rebinding).
pub fn admits(caller: &Caller<'_>, token: Option<&Secret>) -> bool {
    if has_token(caller, token) {
        return true;
    }
    let Some(origin) = caller.origin else { return true };
    let own = |scheme: &str| origin.strip_prefix(scheme).is_some_and(|authority| Some(authority) == caller.host);
    own("http://") || own("https://")
}

/// Whether the request has the token.
pub fn has_token(caller: &Caller<'_>, token: Option<&Secret>) -> bool {
    token.zip(caller.authorization).is_some_and(|(token, given)| is_token(given, token))
}

/// Whether an `Authorization` header has the token. Takes the same time wherever they differ.
pub(super) fn is_token(given: &str, token: &Secret) -> bool {
    let Some((scheme, given)) = given.split_once(' ') else { return false };
    scheme.eq_ignore_ascii_case("bearer") && Sha256::digest(given.trim()) == Sha256::digest(token.reveal())
}
