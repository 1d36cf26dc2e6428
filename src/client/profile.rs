//! Differences between clients that speak the same protocol, as data. The request's headers and form select the row.

use super::Hints;

/// One client.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name with which the configuration or a path prefix forces it.
    pub name: &'static str,
    /// The message field from which it reads reasoning; `None`: no reasoning is sent.
    pub reasoning_field: Option<&'static str>,
    /// Whether it shows reasoning to the user, so that progress lines make sense there.
    pub shows_reasoning: bool,
    /// Whether it executes at most one call per answer.
    pub one_call: bool,
    /// Its own tools that only read: a call of theirs with a key too many is run without it, where others are asked about.
    pub reads: &'static [&'static str],
    /// Texts in the `User-Agent` of this client; one is enough.
    user_agents: &'static [&'static str],
}

/// Any other client: the field from which nearly all clients read reasoning, and no peculiarities.
const GENERIC: Profile = Profile {
    name: "generic",
    reasoning_field: Some("reasoning_content"),
    shows_reasoning: false,
    one_call: false,
    reads: &[],
    user_agents: &[],
};

/// Void reads only the call at index 0. It is recognised by its prompt or its tools; its user agent is that of the SDK.
const VOID: Profile = Profile { name: "void", shows_reasoning: true, one_call: true, ..GENERIC };

const PROFILES: &[&Profile] = &[
    &GENERIC,
    &VOID,
    &Profile { name: "zed", shows_reasoning: true, user_agents: &["Zed/"], ..GENERIC },
    &Profile { name: "roo", shows_reasoning: true, user_agents: &["RooCode/"], ..GENERIC },
    // Names of tools as Claude Code 2.1.330 and opencode 1.18.33 (and Kilo 7.7.7, made from it) sent them on 2026-11-28.
    &Profile { name: "claude-code", reads: &["Read", "Glob", "Grep"], user_agents: &["claude-cli/"], ..GENERIC },
    &Profile {
        name: "opencode",
        shows_reasoning: true,
        reads: &["read", "glob", "grep"],
        user_agents: &["opencode/", "Kilo-Code/"],
        ..GENERIC
    },
    // Cline and everybody else on that SDK.
    &Profile { name: "ai-sdk", shows_reasoning: true, user_agents: &["ai-sdk/openai-compatible"], ..GENERIC },
    // These do not identify themselves: only the configuration selects them.
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
