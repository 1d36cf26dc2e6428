//! What the line before a call or value says about it. `head` is the text before the value on its line, or the line above it,
//! without leading whitespace and not much longer than [`HEAD_BYTES`].

use super::{languages::LANGUAGES, lead::asks_to_wait};

/// How many bytes of a line decide what kind it is.
pub(super) const HEAD_BYTES: usize = 1024;

/// Appends `line` to `head`, as much of it as is needed.
pub(super) fn extend(head: &mut String, line: &str) {
    let room = HEAD_BYTES.saturating_sub(head.len());
    // Up to the first character that ends at or after the limit.
    head.push_str(&line[..line.ceil_char_boundary(room)]);
}

/// Whether the line is in a Markdown block quote.
pub(super) fn is_block_quote(head: &str) -> bool {
    head.starts_with('>') && !head.starts_with(">>")
}

/// Whether the line is a comment in code.
pub(super) fn is_comment(head: &str) -> bool {
    match head.strip_prefix('#') {
        Some(rest) => rest.chars().next().is_none_or(|c| c != '#' && !c.is_alphanumeric()),
        None => ["//", "-- ", "REM "].iter().any(|sign| head.starts_with(sign)),
    }
}

/// Whether the line is from a log or a shell: it begins with a time, a level or a prompt.
pub(super) fn is_log(head: &str) -> bool {
    let mut words = head.split_whitespace();
    let word = words.next().unwrap_or_default();
    let is_prompt = matches!(word, "$" | "%" | ">>>") || (word == "PS" && head.contains('>'));
    // `Jan 02 10:00:00`.
    let mut is_syslog = || word.len() == 3 && words.nth(1).is_some_and(|word| word.contains(':') && is_time(word));
    is_prompt || is_time(word) || is_level(word) || is_syslog()
}

/// Whether the line before a value is a statement (`return`), an event of a stream (`data:`), a diff line (`+{..}`), program
/// output (`Out[1]:`, `a.json:3:`, a line number before a tab), a footnote, or a prompt that ends with its sign
/// (`ana@host:~/src$`, `C:\>`).
pub(super) fn is_statement(head: &str) -> bool {
    if matches!(head, "+" | "-") || head.strip_suffix('\t').is_some_and(is_number) {
        return true;
    }
    let head = head.trim_end();
    let is_match = |head: &str| match head.strip_suffix(':').and_then(|head| head.rsplit_once(':')) {
        Some((file, line)) => is_number(line) && !file.contains(' '),
        None => false,
    };
    let is_host = |head: &str| head.contains('@') && head.ends_with(['$', '#', '%']) && !head.contains(' ');
    let is_drive = |head: &str| head.get(1..3) == Some(":\\") && head.ends_with('>');
    matches!(head, "return" | "yield" | "throw" | "raise" | "await" | "export default" | "data:" | "$>")
        || is_host(head)
        || is_drive(head)
        || head.ends_with("[x]")
        || is_match(head)
        || (["[^", "Out[", "In ["].iter().any(|sign| head.starts_with(sign)) && head.ends_with("]:"))
}

/// Whether the words before a value say that it is an example, a result or somebody else's, or that it is not called.
pub(super) fn is_disowned(head: &str) -> bool {
    let line = head.to_lowercase().replace('’', "'");
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '*' | '`'));
    let sentence = line.rsplit(['.', '!', '?', ';']).find(|sentence| !sentence.trim().is_empty()).unwrap_or_default();
    // `I did not run this, because it may be wrong: {..}`.
    let is_main = |clause: &&str| {
        let clause = clause.trim_start();
        !clause.is_empty() && !SUBORDINATE.iter().any(|words| clause.starts_with(words))
    };
    let clause = sentence.rsplit(',').find(is_main).unwrap_or_default();
    // `I do not use the index but read {..}`.
    let clause = [" but ", " so "].iter().fold(clause, |clause, word| clause.rsplit(word).next().unwrap_or_default());
    let clause = clause.trim_start_matches(['#', '*', ' ']);
    let acts = |word: &&str| VERBS.iter().any(|verb| word.starts_with(verb));
    // `The value is wrong.` is a reason for a call.
    let is_sentence = head.trim_end().ends_with('.');
    let denies = |word: &str| matches!(word, "not" | "never" | "already") || word.ends_with("n't");
    let words: Vec<&str> = clause.split_whitespace().collect();
    // `I am not allowed to run this:`.
    let acts_on =
        |words: &[&str]| words.iter().find(|word| !AUXILIARY.contains(word)).is_some_and(|act| acts(act) || *act == "do");
    let is_denied = words.iter().enumerate().any(|(at, word)| denies(word) && acts_on(&words[at + 1..]));
    // `Both orders are cancelled now.`
    let is_refused = words.iter().any(|word| REFUSES.contains(word)) && !words.contains(&"now");
    // `Done. I ran:`.
    let is_report = matches!(words.as_slice(), ["i" | "i've", rest @ ..] if is_past(rest));
    let is_unreal = words.windows(3).any(|three| matches!(three, ["could" | "would" | "should", "have", act] if acts(act)));
    // `the example file` names a file, not an example.
    let of = |next: Option<&&str>| next.is_none_or(|next| matches!(*next, "of" | "call" | "calls" | "usage" | "for" | "how"));
    let is_example = words.iter().enumerate().any(|(at, word)| matches!(*word, "example" | "examples") && of(words.get(at + 1)));
    let names = |clause: &str| {
        LANGUAGES.example.before(clause).any(|before| !OF.contains(&before.split_whitespace().next_back().unwrap_or_default()))
    };
    // `Nur ein Beispiel, ich rufe nichts auf:`.
    let is_foreign_example = names(if is_sentence { clause } else { sentence });
    is_denied
        || is_refused
        || is_report
        || is_unreal
        || LABELS.contains(&clause)
        || is_example
        || (words.contains(&"wrong") && !is_sentence)
        || asks_for_permission(clause)
        || requests_an_answer(clause)
        || is_foreign_example
        || SHOWN.iter().any(|words| line.contains(words))
        || ["instead of", "rather than", "contents of", "previously", "earlier"].iter().any(|words| clause.starts_with(words))
        || ["for example", "for instance"].iter().any(|words| line.starts_with(words))
        || ["such as", "e.g", "e.g.", "format is", "result is", "output is", "response is"]
            .iter()
            .any(|words| line.ends_with(words))
        || clause.contains("format of") && clause.ends_with(" is")
        || LOOKS.iter().any(|words| clause.ends_with(words) || (!is_sentence && clause.contains(words)))
}

/// Whether a clause, in lower case, is the beginning of a question for permission.
pub(super) fn asks_for_permission(clause: &str) -> bool {
    ASKS.iter().any(|words| clause.starts_with(words))
}

/// Whether a clause, in lower case, asks the user to check a call or to answer first.
pub(super) fn requests_an_answer(clause: &str) -> bool {
    REQUESTS.iter().any(|words| clause.starts_with(words))
}

/// Whether these words after `I` report a call and nothing else: `have just executed this`.
fn is_past(words: &[&str]) -> bool {
    let mut words = words.iter().skip_while(|word| ["have", "had", "just", "then"].contains(word));
    words.next().is_some_and(|act| PAST.contains(act))
        && words.all(|word| ["this", "that", "it", "the", "following", "command"].contains(word))
}

/// Whether a line says that the next one quotes a file, or what was printed, said or done.
pub(super) fn is_quoting(head: &str) -> bool {
    let line = head.to_lowercase();
    let line = line.trim_end().trim_end_matches(':');
    let last = line.split_whitespace().next_back().unwrap_or_default();
    const LAST: [&str; 12] =
        ["contains", "contained", "printed", "logged", "returned", "wrote", "says", "reads", "was", "were", "tried", "saw"];
    LAST.contains(&last) || [">>> ", ".. code"].iter().any(|sign| head.starts_with(sign)) || is_header(line)
}

/// Whether a line that ends in a colon introduces a description: the line's subject is a thing or the user, and the line mentions
/// neither calling nor the speaker.
pub(super) fn describes(head: &str) -> bool {
    let line = head.to_lowercase().replace('’', "'");
    let Some(line) = line.trim_end_matches(|c: char| c.is_whitespace() || c == '*').strip_suffix([':', '：']) else {
        return false;
    };
    let clause = line.rsplit(['.', '!', '?', ';', ',']).find(|clause| !clause.trim().is_empty()).unwrap_or_default();
    let words: Vec<&str> = clause.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty()).collect();
    let owns = |word: &&str| {
        OWNS.contains(word)
            || CALLING.iter().any(|stem| word.starts_with(stem))
            || word.starts_with("i'")
            || word.starts_with("j'")
    };
    let Some(first) = words.first().filter(|_| !asks_to_wait(line)) else { return false };
    let is_unreal = matches!(line.split_whitespace().next(), Some("if" | "wenn" | "si")) && words.contains(&"would");
    let advises = matches!(*first, "you" | "your") && !words.iter().any(|word| matches!(*word, "i" | "me" | "let"));
    let is_negated = words.contains(&"not") && words.contains(&"what");
    if is_unreal || is_negated || advises {
        return true;
    }
    let subject = match words.as_slice() {
        // `In the README there is ..`.
        ["in" | "im" | "en" | "dans", rest @ ..] => rest.first(),
        all => all.first(),
    };
    let names_a_thing = subject.is_some_and(|word| THINGS.contains(word)) || words.len() > 1 && SAMPLES.contains(first);
    let in_chinese = ["如下", "包含", "内容是", "内容为"].iter().any(|word| clause.contains(word));
    let owned = words.iter().any(owns) || ["我", "调用", "工具", "函数", "使用", "执行"].iter().any(|word| clause.contains(word));
    let is_planned = words.starts_with(&["this", "will"]) || words.contains(&"must");
    (names_a_thing || in_chinese) && !owned && !is_planned
}

/// Words that may precede the name of a thing.
const THINGS: [&str; 46] = [
    "the", "this", "that", "a", "an", "its", "their", "his", "her", "these", "those", "der", "die", "das", "ein", "eine", "ihr",
    "ihre", "dein", "deine", "le", "la", "les", "l'", "un", "une", "votre", "ton", "ta", "el", "los", "las", "una", "su", "tu",
    "o", "os", "um", "uma", "il", "lo", "gli", "uno", "den", "dem", "dieser",
];
/// Adjectives of things that are not calls.
const SAMPLES: [&str; 8] = ["sample", "typical", "expected", "actual", "invalid", "broken", "previous", "original"];
/// Words of a speaker, of a plan, and of calling.
const OWNS: [&str; 43] = [
    "i", "me", "my", "we", "us", "our", "let", "let's", "here", "here's", "next", "now", "then", "call", "calls", "calling",
    "called", "use", "uses", "using", "run", "runs", "running", "do", "step", "steps", "action", "answer", "need", "needs",
    "ich", "mein", "meine", "mich", "wir", "je", "nous", "mon", "ma", "yo", "mi", "eu", "voy",
];
/// Stems of words that speak of calling.
const CALLING: [&str; 23] = [
    "tool", "func", "execut", "invo", "command", "aufruf", "ruf", "werkzeug", "funktion", "schritt", "appel", "outil",
    "fonction", "étape", "utilis", "herramienta", "llama", "función", "usar", "paso", "ferramenta", "funç", "strument",
];

/// Whether the call below a line can be a step that the model makes without announcing it: the line is a whole sentence or speaks
/// of the model itself. Any other line introduces code.
pub(super) fn leaves_a_step(head: &str) -> bool {
    let line = head.to_lowercase().replace('\u{2019}', "'");
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | ')' | '"'));
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    let speaks = words.any(|word| SPEAKER.contains(&word) || word.starts_with("i'") || word.starts_with("j'"))
        || line.contains('\u{6211}');
    let is_sentence = line.ends_with(['.', '!', '?', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}']);
    line.is_empty() || is_sentence || (speaks && !line.split_whitespace().any(|word| ADVICE.contains(&word)))
}

/// Words of the first person.
const SPEAKER: [&str; 12] = ["i", "me", "let", "we", "us", "ich", "wir", "je", "nous", "yo", "voy", "vou"];
/// Words for what is possible, or what the user may do.
const ADVICE: [&str; 10] =
    ["you", "your", "would", "could", "k\u{f6}nnte", "w\u{e4}re", "vous", "serait", "pourrait", "podr\u{ed}a"];

/// Whether a line of code ends in the quotes of a string of several lines, or in YAML's sign for one.
fn opens_string(head: &str) -> bool {
    let line = head.trim_end();
    let code = ["\"\"\"", "'''", "`"].iter().find_map(|quotes| line.strip_suffix(quotes));
    let is_code =
        |code: &str| code.trim_end_matches(['r', 'f', 'b', ' ']).ends_with(['=', '(', '+', ',']) || code.ends_with("return ");
    let is_key = |sign: &&str| line.strip_suffix(*sign).is_some_and(|key| !key.contains(' '));
    code.is_some_and(is_code) || [": |", ": >", ": |-", ": >-"].iter().any(is_key)
}

/// Whether a line begins text that is data up to its own end: a here-document of a shell, a LaTeX listing, a string in code.
pub(super) fn opens_data(head: &str) -> bool {
    let here = head.rsplit_once("<<").map(|(_, word)| word.trim_start_matches('-').trim_matches(['\'', '"', ' ']));
    here.is_some_and(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        || opens_string(head)
        || ["verbatim", "lstlisting", "minted", "alltt"].iter().any(|name| head.starts_with(&format!("\\begin{{{name}}}")))
}

/// Whether a line begins a turn of the user that the model made up: `User: And now?`, `### Human:`.
pub(super) fn is_users_turn(head: &str) -> bool {
    let label = head.trim_start_matches(['#', '*', ' ']);
    ["User", "USER", "Human", "HUMAN"].iter().any(|name| {
        label.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', '*']))
            || (head.starts_with("###") && label.trim_end() == *name)
    })
}

/// Whether a line is an HTTP or mail header.
fn is_header(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    HEADERS.contains(&name) || (matches!(name, "from" | "to" | "cc") && value.contains('@'))
}

/// Header names in lower case.
const HEADERS: [&str; 10] = [
    "content-type", "content-length", "host", "accept", "authorization", "user-agent", "connection", "cache-control", "subject",
    "mcp-session-id",
];

/// Beginnings of clauses that only explain the clause before them.
const SUBORDINATE: [&str; 9] =
    ["because ", "since ", "which ", "as it ", "and it ", "and that ", "and this ", "but it ", "dass "];
/// Beginnings of questions for permission.
const ASKS: [&str; 31] = [
    "do you want me to",
    "would you like me to",
    "can i ",
    "shall i ",
    "shall we ",
    "should i ",
    "may i ",
    "soll ich ",
    "möchten sie",
    "möchtest du",
    "dois-je ",
    "puis-je ",
    "voulez-vous",
    "veux-tu",
    "¿quieres que",
    "¿desea",
    "vuoi che",
    "quer que",
    "хотите",
    "мне выполнить",
    "is that what",
    "is this what",
    "is that ok",
    "is this ok",
    "does this look",
    "does that look",
    "mag ik ",
    "zal ik ",
    "ska jag ",
    "skal jeg ",
    "bolehkah",
];

/// Beginnings of requests to check a call, or to answer first.
const REQUESTS: [&str; 10] = [
    "please check", "please confirm", "please review", "please verify", "please approve", "please reply", "please respond",
    "please answer", "reply ", "respond with",
];

/// Words before a word for "example" that only names a thing: `archivo de ejemplo`.
const OF: [&str; 5] = ["de", "di", "del", "des", "do"];
/// Questions for permission and refusals in Japanese, Korean and Chinese.
const SHOWN: [&str; 4] = ["실행할까요", "ますか", "実行しません", "要我执行"];

/// Words before something that is shown. In a whole sentence, the model may be the one who looks: `I look what it looks like
/// there.`
const LOOKS: [&str; 3] = ["looks like", "look like", "looks like this"];
/// Labels of text that is not the model's call.
const LABELS: [&str; 10] =
    ["syntax", "usage", "observation", "tool result", "user", "human", "instruction", "expected", "actual", "expected output"];
/// Words between a negation and the verb that it denies.
const AUXILIARY: [&str; 14] = [
    "to", "going", "allowed", "able", "permitted", "supposed", "want", "be", "been", "have", "yet", "actually", "ever", "really",
];
/// Words of a call that the model decided not to make.
const REFUSES: [&str; 18] = [
    "refuse", "refused", "refusing", "decline", "declined", "skipped", "cancelled", "canceled", "aborted", "rejected", "avoided",
    "removed", "stopped", "withheld", "declining", "reject", "rejecting", "unsent",
];
/// Verbs of a call that was made.
const PAST: [&str; 6] = ["ran", "called", "executed", "invoked", "sent", "issued"];
/// Stems of verbs for calling and writing.
const VERBS: [&str; 15] = [
    "call", "use", "using", "run", "ran", "write", "writing", "wrote", "written", "send", "sent", "execut", "invok", "mak",
    "made",
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `2026-11-22`, `10:00:01.5`, `[10:00]`, `2026-11-22T10:00:01Z`.
fn is_time(word: &str) -> bool {
    let word = word.trim_matches(['[', ']', '(', ')']);
    let (digits, signs) = (|c: char| c.is_ascii_digit(), |c: char| matches!(c, ':' | '-' | '/'));
    word.starts_with(digits)
        && word.contains(signs)
        && word.chars().all(|c| digits(c) || signs(c) || matches!(c, '.' | ',' | '+' | 'T' | 'Z'))
        && !word.ends_with(signs)
}

/// `INFO`, `[warn]`, `ERROR:`.
fn is_level(word: &str) -> bool {
    let level = word.trim_matches(['[', ']', '<', '>', ':']);
    let bare = level.len() == word.len();
    let known = ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL"];
    known.iter().any(|known| level == *known || (!bare && word.starts_with('[') && level.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_of_logs_and_of_shells() {
        for head in ["$ ", "% ", ">>> ", "PS C:\\> ", "10:00:01 ", "[10:00] INFO ", "2026-11-22 10:00 ", "[warn] ", "ERROR: "] {
            assert!(is_log(head), "{head}");
        }
        for head in ["return ", "data: ", "yield", "export default ", "ana@host:~/src$ ", "C:\\Users> "] {
            assert!(is_statement(head), "{head}");
        }
        for head in ["// ", "# ", "#! "] {
            assert!(is_comment(head), "{head}");
        }
    }

    #[test]
    fn lines_that_describe_what_follows() {
        for head in [
            "The queue holds this entry:",
            "A usual body of the endpoint:",
            "The answer of the gateway was 400. The rejected document:",
            "Your fixture should hold:",
            "If that were needed, the call would be:",
            "Here is what you must not send:",
            "Expected document:",
            "In the changelog there is this line:",
            "Das Protokoll enthält:",
            "Le journal contient :",
            "El registro guarda:",
            "日志包含:",
        ] {
            assert!(describes(head), "{head}");
        }
        for head in [
            "The next step is:",
            "The tool call:",
            "The following function is needed:",
            "Let me look at the file:",
            "Here it is:",
            "Okay:",
            "Reading the file:",
            "For the weather in Oslo, I'll do this:",
            "To find the user, this will be run:",
            "This will list the files:",
            "To answer that, the data must be fetched:",
            "Der nächste Aufruf:",
            "Ich lese die Datei:",
            "Je lis le fichier :",
            "我来读取文件:",
            "The lamp is on.",
        ] {
            assert!(!describes(head), "{head}");
        }
    }

    #[test]
    fn lines_that_leave_a_step() {
        for head in [
            "I list them now:",
            "It is dark.",
            "Ich liste sie auf:",
            "Let me look at them",
            "\u{6211}\u{6765}\u{67e5}\u{4e00}\u{4e0b}:",
        ] {
            assert!(leaves_a_step(head), "{head}");
        }
        for head in [
            "You can list them with:", "I would write:", "Output:", "import api", "Der Aufruf w\u{e4}re:",
            "The old version called", "Change it to:",
        ] {
            assert!(!leaves_a_step(head), "{head}");
        }
    }

    #[test]
    fn lines_of_prose() {
        for head in [
            "I call ", "1. ", "12) ", "- ", "Tool call: ", "Let me return ", "## Call", "Info: ", "Warning: ", "5 files: ",
            "data ",
        ] {
            assert!(!is_log(head) && !is_statement(head) && !is_comment(head) && !is_block_quote(head), "{head}");
        }
    }
}
