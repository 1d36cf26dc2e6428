//! Whether the text before an unmarked call says that the model makes it.
//!
//! Nobody can list all words that introduce an example, in all languages. So the lists here are the other way around. A whole sentence
//! announces what follows it. A line that ends in a colon, or in nothing, announces a call in English unless it asks, supposes or advises; in any
//! other language only if the model speaks of itself, or of now. Below all other lines, the model is asked once whether it meant the call.

/// Whether a line announces the call below it, or after it in the same line. `line`: its text, without the call.
pub(super) fn announces(line: &str) -> bool {
    let line = without_asides(&line.to_lowercase().replace('\u{2019}', "'"));
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '"' | '_'));
    if line.ends_with(['?', '？', '؟']) {
        return false;
    }
    if line.ends_with(['.', '!', '…', '。', '！', '।']) {
        return true;
    }
    let line = line.trim_end_matches([':', '：', ' ']);
    // Data and markup say nothing.
    if line.starts_with(['{', '[', '<']) {
        return true;
    }
    let sentence = last_sentence(line);
    if asks_to_wait(sentence) {
        return true;
    }
    let is_letter = |c: char| c.is_alphanumeric() || c == '\'' || is_sign_of_a_vowel(c);
    let words: Vec<&str> = sentence.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let begins = |list: &[&str]| list.iter().any(|words| sentence.trim_start().starts_with(words));
    let is_label = words.len() <= LABEL_WORDS && sentence.is_ascii();
    let is_english = has(&ENGLISH) || words.first().is_some_and(|word| word.ends_with("ing"));
    if is_label || is_english {
        return (!has(&DISTANT) && !begins(&FORBIDS)) || sentence.contains("would like");
    }
    let holds = |list: &[&str]| list.iter().any(|part| sentence.contains(part));
    let acts = sentence.split([',', '،']).any(begins_with_an_act);
    let ends = |list: &[&str]| list.iter().any(|end| sentence.trim_end().ends_with(end));
    let supposes = has(&ADVISES) || holds(&ADVISES_WITHIN) || ends(&STATES);
    !supposes && (acts || has(&SPEAKS) || holds(&SPEAKS_WITHIN) || ends(&ACTS))
}

/// Whether a line, in lower case, asks the user to wait.
pub(super) fn asks_to_wait(line: &str) -> bool {
    WAITS.iter().any(|words| line.contains(words))
}

/// A line without inline code, and without what is in parentheses.
fn without_asides(line: &str) -> String {
    let mut closes = None;
    let is_outside = |c: &char| match closes {
        Some(close) => {
            closes = (close != *c).then_some(close);
            false
        }
        None => {
            closes = ASIDES.into_iter().find(|[open, _]| open == c).map(|[_, close]| close);
            closes.is_none()
        }
    };
    line.chars().filter(is_outside).collect()
}

/// Whether the first word of a clause is a verb of its speaker: `удаляю файл`, `borro el archivo`.
fn begins_with_an_act(clause: &str) -> bool {
    let mut words = clause.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    BEGINNINGS.iter().any(|end| first.ends_with(end)) || (first.ends_with('o') && ARTICLES.contains(&second))
}

/// What follows the last full stop of a line, if it holds a letter. A point in a word ends nothing.
fn last_sentence(line: &str) -> &str {
    let ends = |(at, c): &(usize, char)| match c {
        '.' | '!' | '?' | ';' => line[at + 1..].starts_with(char::is_whitespace),
        _ => matches!(c, '。' | '！' | '？' | '؟' | '।'),
    };
    let after = line.char_indices().rev().filter(ends).map(|(at, c)| &line[at + c.len_utf8()..]);
    after.into_iter().find(|sentence| sentence.chars().any(char::is_alphabetic)).unwrap_or(line)
}

/// Signs that are no letters to Unicode, but parts of words in Indic scripts and in Thai.
fn is_sign_of_a_vowel(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{dff}' | '\u{e00}'..='\u{e7f}')
}

/// What begins and ends an aside.
const ASIDES: [[char; 2]; 3] = [['`', '`'], ['(', ')'], ['（', '）']];
/// A line of so many words is a label: `Tool call:`.
const LABEL_WORDS: usize = 2;
/// Words that show that a line is in English.
const ENGLISH: [&str; 40] = [
    "the", "this", "that", "these", "i", "i'll", "i'm", "let", "let's", "for", "with", "and", "here", "here's", "now", "it",
    "its", "need", "call", "calling", "function", "first", "next", "step", "using", "use", "running", "run", "my", "your", "you",
    "below", "following", "would", "could", "should", "have", "then", "please", "what",
];
/// How a line in English begins that forbids, or tells the user what to do.
const FORBIDS: [&str; 4] = ["do not", "don't", "never", "save"];
/// English words of what could be done, and of what was.
const DISTANT: [&str; 10] = ["would", "could", "might", "you'd", "had", "yesterday", "ago", "sent", "yourself", "cannot"];
/// Words of who speaks of himself, of what comes first, and of now: Germanic, Romance and Slavic languages, Turkish, Indonesian, Vietnamese, Arabic,
/// Persian, Hebrew, Hindi, Greek and Finnish.
const SPEAKS: [&str; 93] = [
    "ich", "wir", "jetzt", "nun", "zuerst", "zunächst", "ik", "nu", "eerst", "jag", "jeg", "nå", "je", "j'ai", "j'utilise",
    "j'appelle", "nous", "maintenant", "allons", "d'abord", "yo", "voy", "vamos", "ahora", "déjame", "primero", "necesito", "eu",
    "vou", "agora", "deixe", "primeiro", "preciso", "io", "sto", "vado", "ora", "adesso", "procedo", "acum", "teraz", "już",
    "muszę", "teď", "nyní", "я", "мы", "мне", "сейчас", "теперь", "давайте", "давай", "сначала", "нужно", "зараз", "спочатку",
    "ben", "şimdi", "önce", "saya", "sekarang", "mari", "tôi", "sẽ", "hãy", "الآن", "دعني", "أقوم", "اکنون", "אני", "עכשיו", "मैं",
    "अब", "मुझे", "θα", "τώρα", "nyt", "minä", "أحتاج", "أولاً", "musím", "potřebuji", "nejdřív", "nejprve", "najpierw",
    "potrzebuję", "спершу", "потрібно", "trebuie", "întâi", "först", "måste", "først",
];
/// The same in languages that write words together, or in which it is a part of a word.
const SPEAKS_WITHIN: [&str; 24] = [
    "我", "咱", "现在", "現在", "正在", "首先", "接下来", "接下來", "马上", "立即", "开始", "好的", "调用工具", "まず", "今から",
    "これから", "지금", "먼저", "이제", "سأ", "จะ", "ผม", "では、", "最初に",
];
/// Requests to wait.
const WAITS: [&str; 15] = [
    "one moment", "稍等", "稍候", "少々お待ち", "お待ちください", "잠시만", "잠깐만", "минутку", "секунду", "einen moment",
    "einen augenblick", "un instant", "un momento", "um momento", "moment pros",
];
/// How the first word of a sentence ends that says what its speaker does.
const BEGINNINGS: [&str; 5] = ["ю", "ę", "wam", "ando", "endo"];
/// Articles that follow a verb in `-o`, in Spanish, Italian and Portuguese.
const ARTICLES: [&str; 15] = ["el", "la", "los", "las", "un", "una", "il", "lo", "gli", "le", "i", "uno", "o", "os", "as"];
/// How a sentence ends in which the speaker says what he does.
const ACTS: [&str; 8] = ["겠습니다", "게요", "합니다", "ます", "ましょう", "yorum", "eceğim", "acağım"];
/// How a sentence ends that says what is, or what is possible.
const STATES: [&str; 8] = ["수 있습니다", "できます", "なります", "あります", "ています", "れます", "ますか", "까요"];
/// Words of advice, of what was, and of what could be.
const ADVISES: [&str; 44] = [
    "kannst", "könntest", "könnte", "könnten", "wäre", "würde", "hätte", "früher", "gestern", "kunt", "zou", "vous", "serait",
    "pourrait", "aurait", "puedes", "puede", "podría", "podrías", "sería", "você", "pode", "poderia", "seria", "puoi",
    "potresti", "sarebbe", "możesz", "można", "byłoby", "можете", "можешь", "можно", "бы", "раньше", "ранее", "bạn", "anda",
    "يمكنك", "आप", "لن", "не", "nie", "nicht",
];
/// The same in languages that write words together.
const ADVISES_WITHIN: [&str; 18] = [
    "可以", "您", "如果", "之前", "格式", "吗", "例", "もし", "以前", "次のように", "이전에", "예를", "คุณ", "ください", "无法",
    "不会", "不能", "请",
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
