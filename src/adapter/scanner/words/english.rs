//! English words that show what the words around a call say. Words of other languages are in `languages.toml`.

/// Words that identify a line as English.
pub(super) const ENGLISH: [&str; 60] = [
    "what's", "how", "why", "does", "did", "shall", "want", "the", "this", "that", "these", "i'll", "i'm", "let", "let's", "for",
    "with", "and", "here", "here's", "now", "it", "its", "need", "call", "calling", "function", "first", "next", "step", "using",
    "use", "running", "run", "my", "your", "you", "below", "following", "would", "could", "should", "have", "then", "please",
    "what", "meant", "corrected", "one", "same", "thing", "changes", "yes", "there", "forget", "course", "each", "another",
    "only", "update",
];
/// Who acts in an English line, and when.
pub(super) const ACTORS: [&str; 12] =
    ["i", "i'll", "i'm", "i've", "let", "let's", "we", "we'll", "now", "next", "again", "please"];
/// Words of agreement before a step: `Okay, deleting it:`.
pub(super) const AGREES: [&str; 12] =
    ["ok", "okay", "sure", "alright", "right", "great", "yes", "understood", "certainly", "perfect", "absolutely", "finally"];
/// Words of labels for calls and steps: `Edit:`, `Got it:`, `And the tests:`.
pub(super) const LABELS_OF_STEPS: [&str; 34] = [
    "tool", "tools", "function", "call", "calls", "action", "step", "command", "request", "sure", "ok", "okay", "edit", "commit",
    "build", "test", "fix", "run", "write", "create", "check", "update", "install", "delete", "remove", "add", "move", "rename",
    "retry", "got", "understood", "will", "then", "and",
];
/// Nouns for calls, for the form in which they are written, and for texts that may quote one.
pub(super) const TEXTS: [&str; 90] = [
    "call", "calls", "invocation", "invocations", "syntax", "format", "formats", "form", "forms", "notation", "json", "xml",
    "payload", "body", "snippet", "sample", "example", "examples", "template", "output", "outputs", "log", "logs", "transcript",
    "history", "conversation", "chat", "answer", "answers", "reply", "response", "responses", "message", "messages", "prompt",
    "document", "documentation", "manual", "instruction", "instructions", "injection", "entry", "entries", "record", "line",
    "lines", "row", "fixture", "journal", "readme", "report", "dataset", "grammar", "schema", "input", "inputs", "model",
    "models", "assistant", "user", "transcripts", "parser", "listing", "email", "block", "string", "question", "excerpt", "tag",
    "recap", "summary", "result", "results", "possibility", "option", "alternative", "suggestion", "proposal", "exemplar",
    "quote", "quotation", "specification", "spec", "ticket", "exercise", "candidate", "candidates", "completion", "reference",
    "truth",
];
/// Verbs of somebody other than the speaker, before what that person wrote or did.
pub(super) const RECORDS: [&str; 55] = [
    "wrote", "writes", "write", "said", "says", "reads", "sent", "sends", "typed", "returned", "returns", "printed", "prints",
    "produced", "produces", "emitted", "emits", "emit", "generated", "generates", "answered", "answers", "replied", "pasted",
    "contained", "contains", "contain", "holds", "hold", "showed", "shows", "ran", "called", "executed", "used", "tried", "did",
    "accepts", "rejects", "expects", "looks", "look", "would", "broke", "sees", "gets", "receives", "parses", "matches", "means",
    "finds", "compares", "wants", "logged", "taken",
];
/// Verbs of a speaker who shows or waits instead of acting.
pub(super) const SHOWING: [&str; 17] = [
    "show", "give", "explain", "illustrate", "demonstrate", "describe", "sketch", "outline", "quote", "know", "wait", "suggest",
    "propose", "ask", "not", "never", "only",
];
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
pub(super) const TOLD: [&str; 7] =
    ["in the last session", "in the previous", "in my previous", "in my last", "last turn", "this morning", "earlier today"];
/// Words that may precede the name of a thing.
pub(super) const THINGS: [&str; 11] = ["the", "this", "that", "a", "an", "its", "their", "his", "her", "these", "those"];
/// Adjectives of things that are not calls.
pub(super) const SAMPLES: [&str; 8] = ["sample", "typical", "expected", "actual", "invalid", "broken", "previous", "original"];
/// First words of labels for what is not called now: `Example output:`, `Proposed call:`, `Dry run:`.
pub(super) const UNREAL: [&str; 22] = [
    "example", "demo", "possible", "hypothetical", "valid", "bad", "raw", "dry", "fake", "simulated", "mock", "dummy", "draft",
    "proposed", "suggested", "last", "former", "failed", "earlier", "illustrative", "planned", "wrong",
];
/// Last words of labels for the form of a call: `Call format`.
pub(super) const FORMATS: [&str; 9] =
    ["format", "syntax", "form", "example", "template", "schema", "notation", "structure", "sample"];
/// What is shown as it stands elsewhere: `Here is the content of the file`.
pub(super) const COPIES: [&str; 12] = [
    "content", "contents", "excerpt", "transcript", "clipboard", "translation", "template", "format", "syntax", "notation",
    "entry", "log",
];
/// Words of a speaker, of a plan, and of calling.
pub(super) const OWNS: [&str; 30] = [
    "i", "me", "my", "we", "us", "our", "let", "let's", "here", "here's", "next", "now", "then", "call", "calls", "calling",
    "called", "use", "uses", "using", "run", "runs", "running", "do", "step", "steps", "action", "answer", "need", "needs",
];
/// Stems of words about calling.
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
pub(super) const LABELS: [&str; 16] = [
    "demo", "syntax", "usage", "observation", "tool result", "user", "human", "instruction", "expected", "actual",
    "expected output", "sample", "format", "illustration", "listing", "template",
];
/// Words for what was before.
pub(super) const FORMER: [&str; 5] = ["earlier", "previous", "former", "failed", "original"];
/// Words of a line about what is still to be done: `The changelog needs an entry`.
pub(super) const TO_DO: [&str; 5] = ["needs", "need", "must", "missing", "requires"];
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
pub(super) const NOT_MEANT: [&str; 13] = [
    "not been run", "not been execut", "i meant", "if you agree", "please confirm", "was wrong", "wrong arguments", "wrong tool",
    "wrong call", "can't be right", "'s the wrong", "is the wrong", "not doing",
];
/// Phrases anywhere after a call which take it back.
pub(super) const RETRACTS: [&str; 4] = ["dry run only", "take it back", "take that back", "that one back"];
/// Beginnings of sentences that take back what was just said.
pub(super) const INTERRUPTS: [&str; 5] = ["wait,", "no, ", "stop,", "hold on,", "actually, no"];
/// Phrases after an unmarked call which say that it shows something.
pub(super) const SHOWN: [&str; 8] =
    ["an example", "the format", "the content", "your own", "as json", "you can run", "you can call", "you can execute"];
/// Verbs after a call that is the subject of its sentence.
pub(super) const IS: [&str; 9] = ["is", "was", "would", "could", "should", "can", "will", "means", "does"];

/// Verbs that cancel what was said.
pub(super) const CANCELS: [&str; 17] = [
    "ignore", "disregard", "cancel", "retract", "withdraw", "discard", "revoke", "undo", "abort", "scratch", "forget", "void",
    "strike", "rescind", "stop", "skip", "drop",
];
/// Words before the verb of a request or of a statement of the speaker.
pub(super) const FILLERS: [&str; 35] = [
    "please", "so", "oh", "no", "wait", "stop", "actually", "just", "then", "sorry", "but", "and", "i", "i'll", "i'd", "i'm",
    "let's", "let", "me", "we", "we'll", "kindly", "better", "like", "want", "need", "must", "should", "would", "to", "have",
    "note", "okay", "ok", "or",
];
/// Verbs between the speaker and a negation.
pub(super) const MODALS: [&str; 17] = [
    "do", "did", "will", "would", "can", "could", "should", "must", "may", "shall", "am", "have", "has", "was", "is", "need",
    "you",
];
/// Words between a negation and what it denies.
pub(super) const ADVERBS: [&str; 22] = [
    "actually", "ever", "really", "yet", "even", "just", "simply", "be", "been", "being", "have", "to", "going", "allowed",
    "able", "an", "a", "supposed", "meant", "here", "the", "want",
];
/// Verbs of what is done with a call.
pub(super) const ACTS: [&str; 17] = [
    "run", "execute", "call", "do", "make", "send", "use", "invoke", "perform", "write", "apply", "issue", "running", "doing",
    "executing", "calling", "making",
];
/// What was done with a call.
pub(super) const ACTED: [&str; 13] =
    ["ran", "called", "executed", "invoked", "sent", "issued", "done", "made", "written", "used", "run", "performed", "called"];
/// What a call is said not to be.
pub(super) const DENIED: [&str; 14] = [
    "executed", "run", "meant", "intended", "supposed", "real", "actual", "called", "sent", "made", "invoked", "performed",
    "happening", "there",
];
/// Nouns for a call.
pub(super) const CALLS: [&str; 13] = [
    "call", "calls", "above", "one", "ones", "command", "request", "action", "last", "invocation", "snippet", "block", "toolcall",
];
/// Words that point at a call.
pub(super) const POINTERS: [&str; 8] = ["this", "that", "it", "these", "those", "above", "that's", "it's"];
/// Pronouns for a call, and words before a noun for it.
pub(super) const PRONOUNS: [&str; 8] = ["this", "that", "it", "these", "those", "them", "everything", "anything"];
/// Forms of "be".
pub(super) const BE: [&str; 8] = ["is", "was", "are", "were", "be", "isn't", "wasn't", "been"];
/// Beginnings of a sentence that shows something.
pub(super) const SHOWS: [&str; 6] = [
    "for illustration", "to illustrate", "as an illustration", "by way of illustration", "for demonstration",
    "as a demonstration",
];
/// Beginnings of a sentence that denies everything in it.
pub(super) const NO_CASE: [&str; 10] = [
    "nothing will be executed", "nothing will run", "nothing gets executed", "under no circumstances", "by no means",
    "on no account", "in no case", "at no point", "in no way", "no way",
];
/// Nouns which, after "only" or "this is", say that a call is not meant.
pub(super) const EXAMPLES: [&str; 16] = [
    "example", "examples", "sample", "samples", "illustration", "illustrations", "demonstration", "demo", "placeholder", "mock",
    "template", "mockup", "sketch", "draft", "hypothetical", "illustrative",
];
/// Words that limit what is shown.
pub(super) const ONLY: [&str; 6] = ["only", "just", "merely", "simply", "purely", "solely"];
/// Words after a noun or pronoun that add nothing to its name.
pub(super) const OF: [&str; 36] = [
    "myself", "yourself", "of", "for", "and", "as", "to", "please", "because", "since", "now", "completely", "instead", "until",
    "yet", "call", "calls", "usage", "how", "not", "but", "so", "without", "here", "there", "at", "before", "i", "that", "which",
    "if", "unless", "entirely", "is", "out", "right",
];
/// Words for something else than this call.
pub(super) const MORE: [&str; 9] = ["else", "more", "further", "too", "also", "next", "another", "again", "other"];
/// What is wrong about a call.
pub(super) const WRONG: [&str; 6] = ["wrong", "void", "mistaken", "invalid", "incorrect", "premature"];
/// Clauses that interrupt.
pub(super) const INTERJECTIONS: [&str; 19] = [
    "abort", "cancel", "oops", "whoops", "stop", "correction", "my mistake", "my bad", "on second thought", "on second thoughts",
    "never mind", "nevermind", "hang on", "scratch that", "no wait", "wait", "wait no", "actually no", "wait a second",
];
/// Phrases that correct a call.
pub(super) const REDOES: [&str; 8] = [
    "let me redo", "i misread", "i misunderstood", "i meant", "let me correct that", "let me correct this",
    "let me fix that call", "corrected call",
];
/// Beginnings of questions for permission.
pub(super) const PERMISSION: [&str; 23] = [
    "may i", "shall i", "shall we", "should i", "can i", "could i", "do you want me", "would you like me", "is it ok",
    "is it okay", "is it alright", "is it fine", "is that ok", "is that okay", "is this ok", "want me", "are you sure",
    "are you ok", "are you okay", "is this what", "is that what", "is this fine", "is that fine",
];
/// Phrases that leave a call to the user.
pub(super) const PROPOSES: [&str; 22] = [
    "say yes", "say the word", "type yes", "answer yes", "reply yes", "if you let me", "ask you first", "should ask you",
    "ask first", "without asking", "let me know which", "tell me which", "tell me whether", "your choice", "you choose",
    "up to you", "leave the decision", "leave it to you", "leave that to you", "you decide", "let me know before",
    "tell me before",
];
/// Phrases before what the user is to decide.
pub(super) const LEAVES: [&str; 2] = ["let me know if i should", "tell me if i should"];
/// Verbs of going on with a call.
pub(super) const PROCEEDS: [&str; 5] = ["go", "proceed", "continue", "really", "actually"];
/// Words that point at a form: `these are the two formats`.
pub(super) const FORMS: [&str; 8] = ["form", "forms", "format", "formats", "syntax", "notation", "spelling", "spellings"];
/// Words after a verb that name where or how something runs, so the verb is not about the call.
pub(super) const PLACES: [&str; 7] = ["in", "on", "under", "as", "anywhere", "with", "from"];
/// Words before what the user may do first.
pub(super) const UNTIL: [&str; 11] =
    ["assuming", "supposing", "provided", "until", "till", "unless", "if", "once", "before", "after", "when"];
/// What the user may do first.
pub(super) const CONSENTS: [&str; 12] =
    ["confirm", "agree", "approve", "say", "allow", "ok", "okay", "decide", "permit", "confirmed", "approved", "agreed"];
/// What a call may need.
pub(super) const CONSENT: [&str; 10] =
    ["permission", "consent", "approval", "confirmation", "ok", "okay", "go-ahead", "go", "agreement", "decision"];
/// Words which show that it is needed.
pub(super) const NEEDS: [&str; 16] = [
    "need", "without", "wait", "waiting", "await", "awaiting", "require", "requires", "pending", "ask", "asking", "until",
    "unless", "only", "have", "needs",
];
/// Words before what is still missing: `Awaiting confirmation`.
pub(super) const LACKS: [&str; 9] =
    ["awaiting", "await", "pending", "requires", "require", "requiring", "needs", "needing", "waiting"];
/// Words between those.
pub(super) const LACKS_WHAT: [&str; 6] = ["for", "your", "the", "user", "user's", "explicit"];
/// What may be missing.
pub(super) const GRANTS: [&str; 5] = ["permission", "consent", "approval", "confirmation", "authorization"];
/// Words before a supposition: `what I would run`.
pub(super) const ASKED: [&str; 2] = ["what", "how"];
/// Verbs of taking something for an example.
pub(super) const TAKES: [&str; 5] = ["consider", "treat", "take", "regard", "see"];
/// Beginnings of conditions that are still open.
pub(super) const CONDITIONAL: [&str; 14] = [
    "if", "unless", "in case", "in the event", "provided that", "provided the", "only if", "in the case", "as long as",
    "as soon as", "whenever", "once the", "when the", "on failure",
];
/// Phrases of a call that waits for an event.
pub(super) const ONLY_IF: [&str; 4] = ["only if", "only when", "only in case", "only once"];
/// Phrases of a call that may come.
pub(super) const HEDGES: [&str; 10] = [
    "was to", "may need", "might need", "may have to", "may run", "may call", "may want", "was going to", "was about to",
    "were going to",
];
/// Later times.
pub(super) const LATER: [&str; 15] = [
    "next time", "tomorrow", "later", "later on", "some day", "someday", "tonight", "next week", "in the future", "in future",
    "another time", "at some point", "in a later", "at a later", "afterwards if needed",
];
/// Purposes of a later time: `I note it for tomorrow`.
pub(super) const DEFERS: [&str; 4] = ["for tomorrow", "for later", "for next time", "until tomorrow"];
/// Verbs of calls that a condition may follow.
pub(super) const RUNS: [&str; 10] = ["run", "delete", "remove", "execute", "call", "install", "restart", "retry", "rerun", "try"];
/// Beginnings of a line about a call that waits.
pub(super) const TO_BE: [&str; 3] = ["to be run", "to be executed", "to be called"];
/// Words between the speaker and a verb in the past.
pub(super) const HAD: [&str; 9] = ["have", "had", "just", "then", "already", "also", "recently", "previously", "earlier"];
/// Verbs of what was done.
pub(super) const DID: [&str; 14] = [
    "ran", "run", "called", "executed", "invoked", "sent", "issued", "made", "did", "done", "wrote", "written", "used", "deleted",
];
/// Words of the present, or of a new attempt.
pub(super) const PRESENT: [&str; 5] = ["now", "again", "let", "i'll", "will"];
/// Words for an earlier time, at the beginning or the end of a clause.
pub(super) const AGO: [&str; 10] = [
    "yesterday", "ago", "earlier", "last time", "previously", "last week", "before that", "earlier on", "in the past",
    "this morning",
];
/// Endings of a report before the call that it reports.
pub(super) const CUES: [&str; 8] =
    [" like this", " like so", " as follows", " with this", " by running", " with", " with this call", " with this command"];
/// Verbs before a quotation.
pub(super) const TELLS: [&str; 22] = [
    "said", "wrote", "says", "writes", "answered", "replied", "asked", "claimed", "suggested", "proposed", "stated", "announced",
    "say", "explains", "explain", "shows", "suggests", "suggest", "proposes", "recommends", "gives", "states",
];
/// Words that join a step to the one before it.
pub(super) const JOINS: [&str; 5] = ["and", "also", "plus", "then", "finally"];
/// Phrases that let the user choose.
pub(super) const CHOOSES: [&str; 13] = [
    "let me know which", "tell me which", "let me know if i should", "your choice", "ask before", "ask you before",
    "ask you first", "ask first", "check with you", "which do you prefer", "which one do you", "pick one", "choose one",
];
/// Words for a mistake.
pub(super) const ERRS: [&str; 8] = ["sorry", "apologies", "apologize", "mistake", "wrong", "confusion", "oops", "error"];
/// Words between a time and the call.
pub(super) const WITH: [&str; 6] = ["with", "using", "by", "via", "like", "this"];
/// Names of what a caption or a list of data numbers: `Listing 1: a call`, `Case 3`.
pub(super) const CAPTIONS: [&str; 17] = [
    "listing", "figure", "example", "snippet", "exhibit", "case", "fixture", "row", "turn", "test", "sample", "input", "output",
    "record", "entry", "scenario", "message",
];
/// Words of a plan that another call may be a part of.
pub(super) const PLANS: [&str; 6] = ["if", "when", "once", "then", "after", "next"];
/// Nouns of which a report tells: `the call I made`.
pub(super) const RELATIVE: [&str; 7] = ["call", "calls", "command", "commands", "what", "tool", "action"];
/// Verbs of a speaker who came upon a text.
pub(super) const PERCEIVES: [&str; 22] = [
    "found", "find", "see", "saw", "noticed", "notice", "spotted", "detected", "received", "got", "came", "recognize",
    "recognise", "recognized", "recall", "remember", "read", "copied", "copy", "pasted", "extracted", "discovered",
];
/// Verbs of a speaker who quotes.
pub(super) const QUOTES_NOW: [&str; 11] = [
    "quoting", "quote", "quoted", "citing", "cite", "reproducing", "reproduce", "reproduced", "copying", "pasting", "translating",
];
/// Verbs of a speaker who wrote a text anew.
pub(super) const REDRAFTS: [&str; 12] = [
    "wrote", "drafted", "converted", "fixed", "rewrote", "reformatted", "translated", "composed", "formatted", "transcribed",
    "created", "generated",
];
/// Verbs between the reader and what the reader is to do.
pub(super) const MAY: [&str; 10] = ["can", "may", "must", "should", "need", "have", "could", "might", "has", "needs"];
/// Verbs of what the reader does with a call.
pub(super) const SUBMITS: [&str; 8] = ["send", "post", "submit", "paste", "copy", "type", "enter", "try"];
/// Prepositions between a thing and its place.
pub(super) const IN: [&str; 7] = ["in", "on", "at", "from", "of", "inside", "within"];
