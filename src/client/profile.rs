//! Differences between clients that speak the same protocol, as data. The request's headers and form select the row.

use super::Hints;

/// One client.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name by which configuration and path prefixes force it.
    pub name: &'static str,
    /// The message field from which it reads reasoning; `None`: it shows none, and none is sent.
    pub reasoning_field: Option<&'static str>,
    /// It shows reasoning to the user, so that progress lines make sense there.
    pub shows_reasoning: bool,
    /// It executes one call per answer at most.
    pub one_call: bool,
    /// A user agent that contains one of these is this client's.
    user_agents: &'static [&'static str],
}

/// Everybody: the field from which nearly all clients read reasoning, and nothing that could surprise.
const GENERIC: Profile = Profile {
    name: "generic",
    reasoning_field: Some("reasoning_content"),
    shows_reasoning: false,
    one_call: false,
    user_agents: &[],
};

/// Void reads only the call at index 0. It is recognised by its prompt or its tools; its user agent is that of the SDK.
const VOID: Profile = Profile { name: "void", shows_reasoning: true, one_call: true, ..GENERIC };

const PROFILES: &[&Profile] = &[
    &GENERIC,
    &VOID,
    &Profile { name: "zed", shows_reasoning: true, user_agents: &["Zed/"], ..GENERIC },
    &Profile { name: "roo", shows_reasoning: true, user_agents: &["RooCode/"], ..GENERIC },
    // Cline, opencode and everybody else on that SDK.
    &Profile { name: "ai-sdk", shows_reasoning: true, user_agents: &["ai-sdk/openai-compatible"], ..GENERIC },
    // These do not say who they are: for configuration.
    &Profile { name: "continue", shows_reasoning: true, ..GENERIC },
    &Profile { name: "goose", shows_reasoning: true, ..GENERIC },
    &Profile { name: "open-webui", shows_reasoning: true, ..GENERIC },
    // Takes no reasoning at all.
    &Profile { name: "plain", reasoning_field: None, ..GENERIC },
];

/// The profile of this name.
pub fn by_name(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().copied().find(|profile| profile.name == name)
}

/// The names of all profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.name)
}

/// The forced profile, else Void's if its marks were found in the request, else the one whose user agent matches, else
/// the generic one.
pub(super) fn detect(hints: &Hints, void: bool) -> &'static Profile {
    let forced = hints.profile.as_deref().and_then(by_name);
    let marked = void.then_some(&VOID);
    let matching = |profile: &&&Profile| profile.user_agents.iter().any(|part| hints.user_agent.contains(part));
    forced.or(marked).or_else(|| PROFILES.iter().find(matching).copied()).unwrap_or(&GENERIC)
}
