//! Whether the text before a call says that the model makes it: for unmarked calls, and for marked ones that prose follows.
//!
//! The words that introduce an example cannot be listed for all languages, so these lists describe announcements. A whole
//! sentence announces what follows it. A line that ends in a colon or without punctuation announces a call in English unless it
//! asks, supposes or advises; in other languages, only if the model speaks of itself or of the present. After any other line, the
//! model is asked once whether it meant the call.

/// Whether `line` announces the call after it, in the same line or the next. `line` excludes the call.
pub(super) fn announces(line: &str) -> bool {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    if is_letter_of_a_list(&line) {
        return false;
    }
    let line = without_asides(&line);
    let line = without_emphasis(&line);
    if line.ends_with(['?', '？', '؟']) {
        return false;
    }
    if line.ends_with(ENDS) {
        return true;
    }
    let line = line.trim_end_matches([':', '：', ' ']);
    if line.starts_with(DATA) {
        return true;
    }
    let sentence = last_sentence(line);
    if asks_to_wait(sentence) {
        return true;
    }
    let words = words(sentence);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let begins = |list: &[&str]| list.iter().any(|words| sentence.trim_start().starts_with(words));
    let is_label = is_step(&words) || (words.len() <= LABEL_WORDS && sentence.is_ascii());
    let is_english = is_english(sentence);
    let holds = |list: &[&str]| list.iter().any(|part| sentence.contains(part));
    let ends = |list: &[&str]| list.iter().any(|end| sentence.trim_end().ends_with(end));
    let supposes = has(&ADVISES) || holds(&ADVISES_WITHIN) || ends(&STATES) || denies(last_clause(sentence));
    if is_english || (is_label && !supposes) {
        return (!has(&DISTANT) && !begins(&FORBIDS)) || wishes(sentence);
    }
    !supposes && (speaks(sentence) || has(&FIRST))
}

/// Whether a sentence in another language than English speaks of its speaker or of the present, or says what he does.
fn speaks(sentence: &str) -> bool {
    // `Je` means something else within a sentence of some other languages.
    let acts = |clause: &str| begins_with_an_act(clause) || words(clause).first() == Some(&"je");
    words(sentence).iter().any(|word| SPEAKS.contains(word))
        || sentence.split(COMMAS).any(acts)
        || SPEAKS_WITHIN.iter().any(|part| sentence.contains(part))
        || ACTS.iter().any(|end| sentence.trim_end().ends_with(end))
}

/// Whether a sentence, in lower case, is English.
pub(super) fn is_english(sentence: &str) -> bool {
    let words = words(sentence);
    // `I` is a preposition in Scandinavian languages.
    let is_gerund = |word: &str| word.ends_with("ing") && !NEGATES.contains(&word);
    let begins = words.first().is_some_and(|word| *word == "i" || is_gerund(word));
    begins || words.iter().any(|word| ENGLISH.contains(word))
}

/// Whether a clause or sentence, in lower case and in another language than English, denies something.
pub(super) fn denies(clause: &str) -> bool {
    words(clause).iter().any(|word| NEGATES.contains(word)) || NEGATES_WITHIN.iter().any(|part| clause.contains(part))
}

/// The text after the last comma that separates clauses.
fn last_clause(sentence: &str) -> &str {
    sentence.rsplit(COMMAS).next().unwrap_or_default()
}

/// Whether a line says who acts: the model, or a step of its plan. Other lines introduce what somebody else wrote, or a
/// description. A whole sentence says so unless it only points at what follows (`A call is written as follows.`), a label if it
/// names a call or a step, a line in another language than English if it does more than count (`Først skriver modellen:`).
pub(super) fn says_who_acts(line: &str) -> bool {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    let line = without_emphasis(&line);
    let sentence = last_sentence(line.trim_end_matches([':', '：']).trim_end_matches(ENDS));
    let words = words(sentence);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    if line.starts_with(DATA) {
        return !words.iter().any(|word| ROLES.contains(word));
    }
    if line.ends_with(ENDS) {
        return has(&ACTORS) || !has(&POINTS);
    }
    let first = words.iter().find(|word| !AGREES.contains(word));
    if is_step(&words) || has(&ACTORS) || wishes(line) || first.is_some_and(|word| word.ends_with("ing")) {
        return true;
    }
    if words.len() <= LABEL_WORDS && line.ends_with(':') && line.is_ascii() {
        return words.is_empty() || has(&CALLS) || speaks(sentence);
    }
    // `First <tool_call>`, `- <tool_call>`.
    let only_counts = words.len() <= LABEL_WORDS && !line.ends_with(':') && line.is_ascii();
    only_counts || (!is_english(sentence) && speaks(sentence))
}

/// Whether a line is nothing but a letter that counts: `(a)`, `ii)`.
fn is_letter_of_a_list(line: &str) -> bool {
    let letter = line.trim().strip_suffix(')').map(|line| line.trim_start_matches('('));
    letter.is_some_and(|letter| matches!(letter.len(), 1..=LETTERS) && letter.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Whether these words are a step of a plan: `Step 2:`, `1단계:`.
fn is_step(words: &[&str]) -> bool {
    words.len() <= STEP_WORDS && words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit()))
}

/// Whether an English line says what somebody would do.
pub(super) fn is_distant(line: &str) -> bool {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    let words = words(last_sentence(line.trim_end_matches([':', ' '])));
    words.iter().any(|word| POSSIBLE.contains(word)) && !wishes(&line)
}

/// Whether a line, in lower case, says what the speaker would do, and does.
fn wishes(line: &str) -> bool {
    ["would like", "i'd like"].iter().any(|wish| line.contains(wish))
}

/// Removes whitespace and marks of emphasis at the end of a line.
fn without_emphasis(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '"' | '_'))
}

fn words(sentence: &str) -> Vec<&str> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '\'' || is_sign_of_a_vowel(c);
    sentence.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()).collect()
}

/// Whether a line, in lower case, asks the user to wait.
pub(super) fn asks_to_wait(line: &str) -> bool {
    WAITS.iter().any(|words| line.contains(words))
}

/// Removes inline code and parenthesised text.
fn without_asides(line: &str) -> String {
    let mut closes = None;
    let is_outside = |c: &char| match closes {
        Some(close) => {
            closes = (close != *c).then_some(close);
            false
        }
        None => {
            closes = DELIMITERS.into_iter().find(|[open, _]| open == c).map(|[_, close]| close);
            closes.is_none()
        }
    };
    line.chars().filter(is_outside).collect()
}

/// Whether a clause begins with a verb in the first person: `удаляю файл`, `borro el archivo`.
fn begins_with_an_act(clause: &str) -> bool {
    let mut words = clause.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    BEGINNINGS.iter().any(|end| first.ends_with(end)) || (first.ends_with('o') && first != "no" && ARTICLES.contains(&second))
}

/// The text after the last full stop that contains a letter. A full stop within a word does not count.
fn last_sentence(line: &str) -> &str {
    let ends = |(at, c): &(usize, char)| match c {
        '.' | '!' | '?' | ';' => line[at + 1..].starts_with(char::is_whitespace),
        _ => matches!(c, '。' | '！' | '？' | '؟' | '।'),
    };
    let after = line.char_indices().rev().filter(ends).map(|(at, c)| &line[at + c.len_utf8()..]);
    after.into_iter().find(|sentence| sentence.chars().any(char::is_alphabetic)).unwrap_or(line)
}

/// Vowel signs of Indic scripts and Thai, which are parts of words but not letters in Unicode.
fn is_sign_of_a_vowel(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{dff}' | '\u{e00}'..='\u{e7f}')
}

/// Signs that begin data and markup, which neither announce nor deny.
const DATA: [char; 3] = ['{', '[', '<'];
/// Speakers of a conversation that is told: `<assistant>`.
const ROLES: [&str; 6] = ["assistant", "model", "bot", "ai", "agent", "llm"];
/// Signs that end a sentence which is no question.
const ENDS: [char; 6] = ['.', '!', '…', '。', '！', '।'];
/// Signs that separate clauses.
const COMMAS: [char; 4] = [',', '，', '،', '、'];
/// The delimiters of inline code and parentheses.
const DELIMITERS: [[char; 2]; 3] = [['`', '`'], ['(', ')'], ['（', '）']];
/// A line of at most this many words is a label: `Tool call:`.
const LABEL_WORDS: usize = 2;
/// A line of so many words with a number is a step.
const STEP_WORDS: usize = 3;
/// Longest letter of a list: `viii`.
const LETTERS: usize = 4;
/// Words by which a sentence points at what follows it.
const POINTS: [&str; 3] = ["follows", "following", "below"];
/// Words of labels for calls.
const CALLS: [&str; 12] =
    ["tool", "tools", "function", "call", "calls", "action", "step", "command", "request", "sure", "ok", "okay"];
/// Words of agreement before a step: `Okay, deleting it:`.
const AGREES: [&str; 7] = ["ok", "okay", "sure", "alright", "right", "great", "yes"];
/// Words that identify a line as English.
const ENGLISH: [&str; 39] = [
    "the", "this", "that", "these", "i'll", "i'm", "let", "let's", "for", "with", "and", "here", "here's", "now", "it", "its",
    "need", "call", "calling", "function", "first", "next", "step", "using", "use", "running", "run", "my", "your", "you",
    "below", "following", "would", "could", "should", "have", "then", "please", "what",
];
/// English words for what is possible.
const POSSIBLE: [&str; 4] = ["would", "could", "might", "i'd"];
/// Who acts in an English line, and when.
const ACTORS: [&str; 11] = ["i", "i'll", "i'm", "i've", "me", "let's", "we", "we'll", "now", "next", "please"];
/// Beginnings of English lines that forbid, or that instruct the user.
const FORBIDS: [&str; 4] = ["do not", "don't", "never", "save"];
/// English words for what is possible or past.
const DISTANT: [&str; 11] =
    ["would", "could", "might", "you'd", "had", "yesterday", "ago", "sent", "yourself", "cannot", "drafted"];
/// First-person words, and words for "now", in Germanic, Romance and Slavic languages, Turkish, Indonesian,
/// Vietnamese, Arabic, Persian, Hebrew, Hindi, Greek and Finnish.
const SPEAKS: [&str; 81] = [
    "ich", "wir", "jetzt", "nun", "ik", "nu", "jag", "jeg", "nå", "j'ai", "j'utilise", "j'appelle", "nous", "maintenant",
    "allons", "yo", "voy", "vamos", "ahora", "déjame", "necesito", "eu", "vou", "agora", "deixe", "preciso", "io", "sto", "vado",
    "ora", "adesso", "procedo", "devo", "debo", "acum", "teraz", "już", "muszę", "teď", "nyní", "я", "мы", "мне", "сейчас",
    "теперь", "давайте", "давай", "нужно", "зараз", "ben", "şimdi", "saya", "sekarang", "mari", "tôi", "sẽ", "hãy", "الآن",
    "دعني", "أقوم", "اکنون", "אני", "עכשיו", "मैं", "अब", "मुझे", "θα", "τώρα", "nyt", "minä", "أحتاج", "musím", "potřebuji",
    "potrzebuję", "потрібно", "trebuie", "måste", "estou", "קורא", "מפעיל", "בודק",
];
/// Negations.
const NEGATES: [&str; 55] = [
    "nicht", "nichts", "kein", "keine", "keinen", "nie", "niet", "niets", "geen", "inte", "inget", "inga", "ikke", "ingen",
    "ingenting", "intet", "ej", "pas", "jamais", "aucun", "aucune", "rien", "no", "nunca", "nada", "não", "non", "niente",
    "nulla", "nessun", "ningún", "nenhum", "nimic", "niciodată", "не", "нет", "ничего", "ні", "нічого", "nic", "není", "nejsem",
    "nem", "değil", "yok", "hiçbir", "không", "chưa", "tidak", "jangan", "bukan", "לא", "لا", "لم", "δεν",
];
/// The same for languages in which the sign is a part of a word.
const NEGATES_WITHIN: [&str; 12] = ["没", "不应", "不会", "不能", "不要", "并未", "ません", "ない", "않", "못", "नहीं", "neprov"];
/// Words for "first".
const FIRST: [&str; 18] = [
    "zuerst", "zunächst", "eerst", "d'abord", "prima", "primero", "primeiro", "сначала", "спочатку", "önce", "أولاً", "nejdřív",
    "nejprve", "najpierw", "спершу", "întâi", "först", "først",
];
/// The same for languages written without spaces, or where the sign is a part of a word.
const SPEAKS_WITHIN: [&str; 27] = [
    "我", "咱", "现在", "現在", "正在", "首先", "接下来", "接下來", "马上", "立即", "开始", "好的", "调用工具", "まず", "今から",
    "これから", "지금", "먼저", "이제", "سأ", "จะ", "ผม", "では、", "最初に", "กำลัง", "می‌کنم", "می‌خوانم",
];
/// Requests to wait.
const WAITS: [&str; 18] = [
    "one moment", "稍等", "稍候", "少々お待ち", "お待ちください", "잠시만", "잠깐만", "минутку", "секунду", "einen moment",
    "einen augenblick", "un instant", "un momento", "um momento", "moment pros", "um instante", "un attimo", "sebentar",
];
/// Endings of a first word that is a verb in the first person.
const BEGINNINGS: [&str; 6] = ["ám", "ю", "ę", "wam", "ando", "endo"];
/// Articles that may follow a verb in `-o` in Spanish, Italian and Portuguese.
const ARTICLES: [&str; 15] = ["el", "la", "los", "las", "un", "una", "il", "lo", "gli", "le", "i", "uno", "o", "os", "as"];
/// Endings of sentences in which the speaker says what he does.
const ACTS: [&str; 8] = ["겠습니다", "게요", "합니다", "ます", "ましょう", "yorum", "eceğim", "acağım"];
/// Endings of sentences that state a fact or a possibility.
const STATES: [&str; 8] = ["수 있습니다", "できます", "なります", "あります", "ています", "れます", "ますか", "까요"];
/// Words of advice, of the past, of possibility, and of conditions.
const ADVISES: [&str; 85] = [
    "kannst", "könntest", "könnte", "könnten", "wäre", "würde", "hätte", "früher", "gestern", "kunt", "zou", "vous", "serait",
    "pourrait", "aurait", "puedes", "puede", "podría", "podrías", "sería", "você", "pode", "poderia", "seria", "puoi",
    "potresti", "sarebbe", "możesz", "można", "byłoby", "можете", "можешь", "можно", "бы", "раньше", "ранее", "bạn", "anda",
    "يمكنك", "आप", "لن", "не", "nie", "nicht", "war", "waren", "était", "étaient", "fue", "era", "foi", "bylo", "było", "был",
    "было", "была", "bereits", "redan", "allerede", "tidligere", "déjà", "già", "már", "niciodată", "ville", "skulle", "hvis",
    "αν", "falls", "jika", "kalau", "sudah", "tadi", "telah", "если", "якщо", "jeśli", "jeżeli", "pokud", "dacă", "eğer", "nếu",
    "अगर", "यदि", "jos",
];
/// The same for languages written without spaces.
const ADVISES_WITHIN: [&str; 25] = [
    "可以", "您", "如果", "之前", "格式", "吗", "例", "もし", "以前", "次のように", "이전에", "예를", "คุณ", "ください", "无法",
    "不会", "不能", "请", "已经调用", "上一步", "刚才", "ví dụ", "az önce", "har redan", "trông như",
];

#[cfg(test)]
mod tests {
    use super::announces;

    #[test]
    fn lines_that_announce_a_call() {
        for line in [
            "",
            "1. ",
            "**Tool call:**",
            "Output:",
            "I'll delete the file now:",
            "Deleting the file:",
            "Checking weather in Oslo:",
            "The file must go.",
            "It is old. Removing it.",
            "Der Wert ist falsch.",
            "用户想打开灯。",
            "I would like to see it first:",
            "Ich lösche jetzt die Datei:",
            "Je supprime le fichier :",
            "Je lis le contenu du fichier :",
            "Voy a borrar el archivo:",
            "Enciendo la luz:",
            "Leggo il registro:",
            "{\"id\": 1}",
            "Vou apagar o arquivo:",
            "Adesso leggo il registro:",
            "Usuwam stary plik:",
            "Хорошо. Сейчас я удалю файл:",
            "Удаляю старый файл.",
            "Хорошо, вызываю функцию:",
            "Już usuwam.",
            "Dosyayı siliyorum:",
            "Tôi sẽ đọc tệp này:",
            "我来读取这个文件：",
            "正在查询天气……",
            "ファイルを読み込みます：",
            "파일을 읽어 보겠습니다:",
            "سأقرأ الملف:",
            "मैं फ़ाइल पढ़ रहा हूँ:",
        ] {
            assert!(announces(line), "{line}");
        }
    }

    #[test]
    fn lines_that_do_not() {
        for line in [
            "Should the file be deleted?",
            "Do not run this, it only shows the syntax:",
            "Save this as `call.json`:",
            "Hier ein Beispiel (ich führe es nicht aus):",
            "Speichere das als `call.json`:",
            "我无法执行，调用应为：",
            "Last week I sent:",
            "Im Protokoll steht:",
            "W pliku calls.json jest zapisane:",
            "The call would be:",
            "If it were old, I could run:",
            "So sieht der Aufruf aus:",
            "Du kannst ihn so schreiben:",
            "Voici la forme d'un appel :",
            "Así se escribe la llamada:",
            "Formato de la llamada:",
            "Så ser anropet ut:",
            "Tak wygląda wywołanie:",
            "Así no se llama:",
            "Так выглядит вызов:",
            "Вы можете написать так:",
            "Çağrı şöyle görünür:",
            "Lời gọi trông như sau:",
            "调用看起来是这样：",
            "您可以这样写：",
            "呼び出しは次のとおりです：",
            "こう呼び出すことができます：",
            "호출은 다음과 같습니다:",
            "이렇게 호출할 수 있습니다:",
            "شكل الاستدعاء:",
            "कॉल ऐसी दिखती है:",
        ] {
            assert!(!announces(line), "{line}");
        }
    }
}
