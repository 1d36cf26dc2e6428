//! What the words before a call say about it: whether the model makes the call, only considers it, or introduces something else.
//!
//! The words that introduce an example cannot be listed for all languages, so these rules describe announcements. A whole
//! sentence announces what follows it. An English line that ends in a colon or without punctuation announces a call unless it
//! asks, is hypothetical, or advises; a line in another language (`languages.toml`) only if the model speaks of itself or of
//! the present. After any other line, the model is asked once whether it meant the call.

use super::{
    alternatives::{counts_choices, is_option, offers_another},
    clauses::{STOPS, begins, clauses, holds, plain, words},
    depends::depends,
    english::{
        ACTORS, ADVICE, AGREES, ASKS, AWAITS, CHOOSES, CONDITIONS, DISTANT, ENGLISH, ERRS, FORBIDS, JOINS, LABELS_OF_STEPS,
        LEADS, NEXT, NOT, POINTS, POSSIBLE, REQUESTS, ROLES, SPEAKER, TOLD,
    },
    foreign::{
        self, acts, advises, continues, denies, is_conditional, is_past, is_put_off, is_qualified, main_clause, speaks_of_a_call,
    },
    languages::Says,
    reported::{instructs, quotes, reports, tells},
    retracts::waits_for_consent,
    signs::{is_letter_of_a_list, is_note, last_sentence, without_asides, without_emphasis},
    subject::{is_about_a_text, sets_to_work, speaks_of_calling},
};

/// The words before a call, on its line or the last one above it.
pub(crate) struct Lead {
    /// In lower case, without inline code, parenthesised text, tags, and marks of emphasis at the end.
    text: String,
    /// Whether it begins data or markup, which neither announce nor deny.
    is_data: bool,
    /// Whether it is only the letter of a list item, the number of a footnote, or an empty check box: `(a)`, `ii)`, `[1]`, `- [
    /// ]`.
    is_letter: bool,
    /// Whether it names a speaker of a quoted conversation: `<assistant>`, `Bot (10:02):`.
    is_told: bool,
}

impl Lead {
    pub(crate) fn new(line: &str) -> Lead {
        let line = plain(line);
        let told = words(&line).first().is_some_and(|word| ROLES.contains(word));
        let text = without_emphasis(&without_asides(&line)).to_owned();
        Lead {
            is_data: line.starts_with(DATA) && !is_note(&line),
            is_letter: is_letter_of_a_list(&line) || is_note(&line),
            is_told: told && !text.ends_with(ENDS),
            text,
        }
    }

    /// The last sentence, without the signs that end it.
    fn sentence(&self) -> &str {
        last_sentence(self.text.trim_end_matches([':', '：', ' ']).trim_end_matches(ENDS))
    }

    fn ends_in_a_colon(&self) -> bool {
        self.text.ends_with([':', '：'])
    }

    fn ends_a_sentence(&self) -> bool {
        self.text.ends_with(ENDS)
    }

    /// Whether it announces the call.
    pub(crate) fn announces(&self) -> bool {
        if self.is_letter || self.text.ends_with(['?', '？', '؟']) {
            return false;
        }
        let sentence = self.sentence();
        if self.ends_a_sentence() || self.is_data || asks_to_wait(sentence) {
            return true;
        }
        let words = words(sentence);
        let is_label = is_step(&words) || (is_short(sentence) && sentence.is_ascii());
        if redoes(&self.text) || (continues(sentence) && !is_english(sentence)) {
            return true;
        }
        if is_english(sentence) || (is_label && !is_qualified(sentence)) {
            let said = self::words(conclusion(sentence));
            // `Here is the mail, sent to both:`.
            let is_part = |at: usize| said[at] == "sent" && at + 1 < said.len();
            let is_distant = said.iter().enumerate().any(|(at, word)| DISTANT.contains(word) && !is_part(at));
            let forbids = FORBIDS.iter().any(|words| sentence.trim_start().starts_with(words)) && !said.contains(&"forget");
            return (!is_distant && !forbids) || wishes(sentence);
        }
        (acts(sentence) || Says::First.is_in(sentence)) && !is_qualified(sentence)
    }

    /// Whether it says who acts: the model, or a step of its plan. Other lines introduce a description, or what somebody else
    /// wrote. A whole sentence says so unless it only points at what follows (`A call is written as follows.`). A label says so
    /// if it names a call or a step, and a longer line that ends in a colon unless it is about a text. A line in a language other
    /// than English says so if its speaker acts; that it names the first step (`Først skriver modellen:`) is not enough.
    pub(crate) fn says_who_acts(&self) -> bool {
        let is_told = self.is_told || self.is_letter;
        self.names_an_act() || (!is_told && self.names_a_thing() && !is_about_a_text(&words(self.sentence())))
    }

    /// Whether it says that somebody acts, or is a step of a plan.
    fn names_an_act(&self) -> bool {
        if self.is_told || self.is_letter || self.is_data {
            return self.is_data && !self.is_told;
        }
        let sentence = self.sentence();
        let words = words(sentence);
        let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
        if self.ends_a_sentence() {
            return has(&ACTORS) || !has(&POINTS);
        }
        let first = words.iter().find(|word| !AGREES.contains(word));
        if is_step(&words)
            || redoes(&self.text)
            || has(&ACTORS)
            || wishes(sentence)
            || first.is_some_and(|word| word.ends_with("ing"))
        {
            return true;
        }
        if is_short(sentence) && self.text.is_ascii() {
            // `First <tool_call>`, `- <tool_call>`, `Build:`.
            return !self.text.ends_with(':') || words.is_empty() || has(&LABELS_OF_STEPS) || acts(sentence);
        }
        !is_english(sentence) && acts(sentence)
    }

    /// Whether it is an English line that ends in a colon and names no act.
    fn names_a_thing(&self) -> bool {
        let sentence = self.sentence();
        let is_label = is_short(sentence) && self.text.is_ascii();
        self.ends_in_a_colon() && !is_label && is_english(sentence) && !self.names_an_act()
    }

    /// Whether it is such a line and does not lead to a step either: `The fix is simple:`, but not `Here is the fix:`.
    pub(crate) fn is_about_a_thing(&self) -> bool {
        self.names_a_thing() && !leads_on(&main_words(self.sentence()))
    }

    /// Whether it is hypothetical, or says what somebody will do only after the user agrees. In languages other than English,
    /// also whether it denies that the speaker acts, or advises the reader.
    pub(crate) fn is_distant(&self) -> bool {
        let sentence = self.sentence();
        let said = words(sentence);
        if offers_another(&self.text) || is_option(&said) || counts_choices(&said) {
            return true;
        }
        if is_english(sentence) {
            let main = conclusion(sentence);
            let is_depending = || CONDITIONS.iter().any(|words| main.contains(words));
            // `This could break the build.` is a reason.
            let is_call = || !self.ends_a_sentence() || speaks_of_calling(&words(main));
            let is_possible = words(main).iter().any(|word| POSSIBLE.contains(word)) && is_call();
            let is_told = || tells(sentence) || instructs(main) || clauses(main).any(|clause| reports(clause) || quotes(clause));
            let is_open = || !self.ends_a_sentence() && (depends(main) || is_told());
            return (is_possible || is_depending() || is_open()) && !wishes(sentence);
        }
        let main = main_clause(sentence);
        let is_call = || speaks_of_a_call(sentence);
        let is_denied = || denies(main) && Says::Acts.is_in(main) && is_call();
        let is_past = || !self.ends_a_sentence() && (is_past(main) || is_put_off(sentence));
        // A whole sentence that does not mention a call is a reason for one: `Wenn die Eingabe leer ist, bricht es ab.`
        let is_qualified = || {
            (!self.ends_a_sentence() || is_call()) && (Says::Supposes.is_in(main) || is_conditional(sentence) || advises(main))
        };
        !asks_to_wait(sentence) && !redoes(&self.text) && (is_denied() || is_past() || is_qualified())
    }

    /// Whether it asks the user for permission to act, or to answer first. The wording of such questions is not known in all
    /// languages, so any question in a language other than English may be one.
    pub(crate) fn awaits_an_answer(&self) -> bool {
        if sets_to_work(self.sentence()) && !self.sentence().ends_with('?') {
            return false;
        }
        let mut sentences = self.text.split_inclusive(STOPS).map(str::trim_start);
        let chooses = |sentence: &str| {
            let said = words(conclusion(sentence));
            begins(&said, &["which"]) && sentence.ends_with('?') || CHOOSES.iter().any(|words| holds(&said, words))
        };
        let asks = |sentence: &str| asks_for_permission(sentence) || requests_an_answer(sentence) || chooses(sentence);
        if AWAITS.iter().any(|words| self.text.contains(words))
            || waits_for_consent(&words(self.sentence()))
            || sentences.clone().any(asks)
        {
            return true;
        }
        let is_foreign = !sentences.clone().any(is_english);
        let is_question = |sentence: &str| sentence.ends_with(['?', '？', '؟']);
        is_foreign && (Says::Awaits.is_in(self.sentence()) || sentences.next_back().is_some_and(is_question))
    }

    /// Whether it only points at what follows, or ends in a colon and introduces something other than an act of the model.
    pub(crate) fn only_introduces(&self) -> bool {
        if !self.ends_in_a_colon() {
            return self.ends_a_sentence() && !self.says_who_acts();
        }
        let sentence = self.sentence();
        if !is_english(sentence) {
            return !self.announces();
        }
        let clause = main_words(sentence);
        let is_denial = |(at, word): (usize, &&str)| {
            (NOT.contains(word) || word.ends_with("n't"))
                && clause.get(at + 1) != Some(&"forget")
                && clause.get(at + 2) != Some(&"forget")
        };
        let negation = clause.iter().enumerate().position(is_denial);
        let speaks = |word: &&str| *word != "please" && ACTORS.contains(word);
        // `Please don't take this as my doing:`, `And I will not send it:`, but not `I wipe it so that it does not grow:`.
        if negation.is_some_and(|at| at <= DENIES_WITHIN || !clause[..at].iter().any(speaks)) {
            return true;
        }
        let is_told = TOLD.iter().any(|words| sentence.contains(words)) && !clause.contains(&"now") && !clause.contains(&"again");
        is_told || (self.is_about_a_thing() && is_about_a_text(&words(sentence)))
    }
}

/// Whether a line has few words. A path is one.
fn is_short(sentence: &str) -> bool {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count() <= LABEL_WORDS
}

/// The words of the clause that says what happens, without those that join it to others: of the last one, unless that only names
/// what is left out (`.., not the build output`).
fn main_words(sentence: &str) -> Vec<&str> {
    let begins_with_not = |clause: &&str| !clause.trim_start().starts_with("not ");
    let clause = sentence.rsplit(COMMAS).find(begins_with_not).unwrap_or_default();
    let all = words(clause.rsplit(" but ").next().unwrap_or_default());
    let joined = all.iter().take_while(|word| JOINS.contains(word)).count();
    all[joined..].to_vec()
}

/// Whether the words of a clause lead to a step: `Here is the call`, `To build it`, `The next step`.
fn leads_on(clause: &[&str]) -> bool {
    match clause {
        ["so", "that", ..] => false,
        [.., "this", "time"] => true,
        ["the", second, ..] => NEXT.contains(second) || clause.last().is_some_and(|last| *last == "first"),
        // `You wanted it in three places:`.
        ["you", "asked" | "want" | "wanted" | "need", ..] => true,
        [first, ..] => LEADS.contains(first) || first.ends_with("ing"),
        [] => true,
    }
}

/// The text after the last comma that separates clauses.
pub(super) fn last_clause(sentence: &str) -> &str {
    sentence.rsplit(COMMAS).next().unwrap_or_default()
}

/// The last clause of an English sentence, if it draws a conclusion from the others and says who acts: `.., so I run it`.
fn conclusion(sentence: &str) -> &str {
    let clause = last_clause(sentence);
    let said = words(clause);
    let concludes = matches!(said.as_slice(), ["so" | "but" | "now" | "therefore" | "hence", ..]);
    if concludes && said.iter().any(|word| ACTORS.contains(word)) { clause } else { sentence }
}

/// Whether a sentence, in lower case, is English.
pub(super) fn is_english(sentence: &str) -> bool {
    let words = words(sentence);
    // `I` is a preposition in Scandinavian languages.
    let is_gerund = |word: &str| word.ends_with("ing") && !denies(word);
    let agreed = words.strip_prefix(&["no", "problem"]).unwrap_or(&words);
    let first = agreed.iter().find(|word| !AGREES.contains(word));
    let begins = words.first() == Some(&"i") || first.is_some_and(|word| is_gerund(word));
    begins || words.iter().any(|word| ENGLISH.contains(word))
}

/// Whether a line takes back the call before it and introduces the right one: `Sorry, here is the corrected call:`.
fn redoes(line: &str) -> bool {
    let said = words(line);
    said.contains(&"corrected") && said.iter().any(|word| ERRS.contains(word)) || foreign::redoes(line)
}

/// Whether a line, in lower case, asks the user to wait.
pub(crate) fn asks_to_wait(line: &str) -> bool {
    Says::Waits.is_in(line)
}

/// Whether a line, in lower case, is worded as a wish or a possibility although its speaker acts: `I'd like to ..`. Small models
/// that are told to call a tool also explain the call to the user: `Here's the command you would use:`.
fn wishes(line: &str) -> bool {
    let explains =
        || ["here's the", "here is the"].iter().any(|words| line.trim_start().starts_with(words)) && line.contains("you would");
    ["would like", "i'd like", "i'd better", "i'd rather"].iter().any(|wish| line.contains(wish)) || explains()
}

/// Whether these words are a step of a plan: `Step 2:`, `1단계:`.
fn is_step(words: &[&str]) -> bool {
    let is_number = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    words.len() <= STEP_WORDS && words.iter().any(is_number)
}

/// Whether a clause, in lower case, is the beginning of a question for permission.
pub(super) fn asks_for_permission(clause: &str) -> bool {
    ASKS.iter().any(|words| clause.starts_with(words)) || Says::Asks.is_in(clause)
}

/// Whether a clause, in lower case, asks the user to check a call or to answer first.
pub(super) fn requests_an_answer(clause: &str) -> bool {
    REQUESTS.iter().any(|words| clause.starts_with(words)) || Says::Confirms.is_in(clause)
}

/// Whether the call below a line can be a step that the model makes without announcing it: the line is a whole sentence or speaks
/// of the model itself. Any other line introduces code.
pub(crate) fn leaves_a_step(head: &str) -> bool {
    let line = plain(head);
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | ')' | '"'));
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    let speaks = words.any(|word| SPEAKER.contains(&word) || word.starts_with("i'")) || Says::Speaker.is_in(line);
    let is_sentence = line.ends_with(['.', '!', '?', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}']);
    line.is_empty()
        || is_sentence
        || (speaks && !line.split_whitespace().any(|word| ADVICE.contains(&word)) && !Says::Supposes.is_in(line))
}

/// Signs that begin data and markup, which neither announce nor deny.
const DATA: [char; 3] = ['{', '[', '<'];
/// Signs that end a sentence other than a question.
const ENDS: [char; 6] = ['.', '!', '…', '。', '！', '।'];
/// Signs that separate clauses.
pub(super) const COMMAS: [char; 4] = [',', '，', '،', '、'];
/// A line of at most this many words is a label: `Tool call:`.
const LABEL_WORDS: usize = 2;
/// A line of at most this many words, one of them with a digit, is a step.
const STEP_WORDS: usize = 3;
/// A negation after at most this many words denies the clause.
const DENIES_WITHIN: usize = 3;

#[cfg(test)]
mod tests {
    use super::{Lead, leaves_a_step};

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
            assert!(Lead::new(line).announces(), "{line}");
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
            assert!(!Lead::new(line).announces(), "{line}");
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
}
