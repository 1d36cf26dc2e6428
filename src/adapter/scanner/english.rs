//! English words that show what the line before a call says. Words of other languages are in `languages.toml`.

/// Words that identify a line as English.
pub(super) const ENGLISH: [&str; 46] = [
    "what's", "how", "why", "does", "did", "shall", "want", "the", "this", "that", "these", "i'll", "i'm", "let", "let's", "for",
    "with", "and", "here", "here's", "now", "it", "its", "need", "call", "calling", "function", "first", "next", "step", "using",
    "use", "running", "run", "my", "your", "you", "below", "following", "would", "could", "should", "have", "then", "please",
    "what",
];
/// Who acts in an English line, and when.
pub(super) const ACTORS: [&str; 12] =
    ["i", "i'll", "i'm", "i've", "let", "let's", "we", "we'll", "now", "next", "again", "please"];
/// Words of agreement before a step: `Okay, deleting it:`.
pub(super) const AGREES: [&str; 7] = ["ok", "okay", "sure", "alright", "right", "great", "yes"];
/// Words of labels for calls.
pub(super) const CALLS: [&str; 12] =
    ["tool", "tools", "function", "call", "calls", "action", "step", "command", "request", "sure", "ok", "okay"];
/// Beginnings of English clauses that lead to a step.
pub(super) const LEADS: [&str; 10] = ["here", "here's", "as", "to", "for", "first", "then", "finally", "will", "so"];
/// Words between `the` and such a step.
pub(super) const NEXT: [&str; 6] = ["following", "next", "required", "needed", "right", "correct"];
/// English negations besides those in `n't`.
pub(super) const NOT: [&str; 2] = ["not", "never"];
/// Beginnings of English lines that forbid, or that instruct the user.
pub(super) const FORBIDS: [&str; 4] = ["do not", "don't", "never", "save"];
/// English words for what is possible.
pub(super) const POSSIBLE: [&str; 4] = ["would", "could", "might", "i'd"];
/// English words for what is possible or past.
pub(super) const DISTANT: [&str; 11] =
    ["would", "could", "might", "you'd", "had", "yesterday", "ago", "sent", "yourself", "cannot", "drafted"];
/// Beginnings of conditions that the user fulfils.
pub(super) const CONDITIONS: [&str; 8] =
    ["once you", "after you", "when you", "as soon as you", "if you", "until you", "unless you", "without your"];
/// Phrases which show that a line waits for the user.
pub(super) const AWAITS: [&str; 11] = [
    "wait for your", "waiting for your", "your approval", "your go-ahead", "say the word", "do you want this", "your ok",
    "need your", "after a yes", "only after", "only if you",
];
/// Words with which a sentence points at what follows it.
pub(super) const POINTS: [&str; 3] = ["follows", "following", "below"];
/// Speakers of a quoted conversation: `<assistant>`, `Bot (10:02):`.
pub(super) const ROLES: [&str; 6] = ["assistant", "model", "bot", "ai", "agent", "llm"];
/// Phrases of a line that says what the model did earlier.
pub(super) const TOLD: [&str; 5] = ["in my previous", "in my last", "last turn", "this morning", "earlier today"];
