//! English words that show what the words around a call say. Words of other languages are in `languages.toml`.

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
pub(super) const LABELS_OF_CALLS: [&str; 12] =
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
/// Words that may precede the name of a thing.
pub(super) const THINGS: [&str; 11] = ["the", "this", "that", "a", "an", "its", "their", "his", "her", "these", "those"];
/// Adjectives of things that are not calls.
pub(super) const SAMPLES: [&str; 8] = ["sample", "typical", "expected", "actual", "invalid", "broken", "previous", "original"];
/// Words of a speaker, of a plan, and of calling.
pub(super) const OWNS: [&str; 30] = [
    "i", "me", "my", "we", "us", "our", "let", "let's", "here", "here's", "next", "now", "then", "call", "calls", "calling",
    "called", "use", "uses", "using", "run", "runs", "running", "do", "step", "steps", "action", "answer", "need", "needs",
];
/// Stems of words that speak of calling.
pub(super) const CALLING: [&str; 5] = ["tool", "func", "execut", "invo", "command"];
/// Words of the first person.
pub(super) const SPEAKER: [&str; 5] = ["i", "me", "let", "we", "us"];
/// Words for what is possible, or what the user may do.
pub(super) const ADVICE: [&str; 4] = ["you", "your", "would", "could"];
/// Beginnings of clauses that only explain the clause before them.
pub(super) const SUBORDINATE: [&str; 8] =
    ["because ", "since ", "which ", "as it ", "and it ", "and that ", "and this ", "but it "];
/// Beginnings of questions for permission.
pub(super) const ASKS: [&str; 13] = [
    "do you want me to", "would you like me to", "can i ", "shall i ", "shall we ", "should i ", "may i ", "is that what",
    "is this what", "is that ok", "is this ok", "does this look", "does that look",
];
/// Beginnings of requests to check a call, or to answer first.
pub(super) const REQUESTS: [&str; 10] = [
    "please check", "please confirm", "please review", "please verify", "please approve", "please reply", "please respond",
    "please answer", "reply ", "respond with",
];
/// Words before something that is shown. In a whole sentence, the model may be the one who looks: `I look what it looks like
/// there.`
pub(super) const LOOKS: [&str; 3] = ["looks like", "look like", "looks like this"];
/// Labels of text that is not the model's call.
pub(super) const LABELS: [&str; 10] =
    ["syntax", "usage", "observation", "tool result", "user", "human", "instruction", "expected", "actual", "expected output"];
/// Words between a negation and the verb that it denies.
pub(super) const AUXILIARY: [&str; 14] = [
    "to", "going", "allowed", "able", "permitted", "supposed", "want", "be", "been", "have", "yet", "actually", "ever", "really",
];
/// Words of a call that the model decided not to make.
pub(super) const REFUSES: [&str; 18] = [
    "refuse", "refused", "refusing", "decline", "declined", "skipped", "cancelled", "canceled", "aborted", "rejected", "avoided",
    "removed", "stopped", "withheld", "declining", "reject", "rejecting", "unsent",
];
/// Verbs of a call that was made.
pub(super) const PAST: [&str; 6] = ["ran", "called", "executed", "invoked", "sent", "issued"];
/// Stems of verbs for calling and writing.
pub(super) const VERBS: [&str; 15] = [
    "call", "use", "using", "run", "ran", "write", "writing", "wrote", "written", "send", "sent", "execut", "invok", "mak",
    "made",
];
/// Last words of lines before a quotation.
pub(super) const QUOTES: [&str; 12] =
    ["contains", "contained", "printed", "logged", "returned", "wrote", "says", "reads", "was", "were", "tried", "saw"];
/// Phrases after a call which say that it was not meant.
pub(super) const NOT_MEANT: [&str; 18] = [
    "an example", "not run", "not been run", "not execut", "not been execut", "i meant", "if you agree", "please confirm",
    "was a mistake", "was wrong", "wrong arguments", "wrong tool", "wrong call", "never mind", "can't be right", "'s the wrong",
    "is the wrong", "not doing",
];
/// Phrases anywhere after a call which take it back.
pub(super) const RETRACTS: [&str; 10] = [
    "forget that", "forget it", "take it back", "take that back", "that one back", "disregard", "scratch that",
    "ignore the call", "ignore that call", "run the call above",
];
/// Beginnings of sentences that take back what was just said.
pub(super) const INTERRUPTS: [&str; 5] = ["wait,", "no, ", "stop,", "hold on,", "actually, no"];
/// Phrases after an unmarked call which say that it shows something.
pub(super) const SHOWN: [&str; 7] =
    ["the format", "the content", "your own", "as json", "you can run", "you can call", "you can execute"];
/// Verbs after a call that is the subject of its sentence.
pub(super) const IS: [&str; 9] = ["is", "was", "would", "could", "should", "can", "will", "means", "does"];
