//! What the words before a call say about it: whether the model makes the call, only considers it, or introduces something else.
//!
//! The words that introduce an example cannot be listed for all languages, so these rules describe announcements. A whole
//! sentence announces what follows it. An English line that ends in a colon or without punctuation announces a call unless it
//! asks, is hypothetical, or advises; a line in another language (`languages.toml`) only if the model speaks of itself or of
//! the present. After any other line, the model is asked whether it means the call.
//!
//! * A short label that begins with "and" or "then" continues the announcement before it: `And the tests:`, `Und die Tests:`.
//! * Conditions and reports count only in a line that ends in a colon or without punctuation, and not if a conclusion follows
//!   (`.., so I run:`).
//! * A whole sentence must speak of a call to be hypothetical or to deny one: `This could break the build.` is a reason to act.
//! * In languages other than English, a line also speaks against the call if it denies that the speaker acts, or advises the
//!   reader. A whole sentence is a report if it points at the call (`Das habe ich ausgeführt.`), and denies the call if it names
//!   what is done with one (`No ejecutes esto.`).

use super::{
    alternatives::{counts_choices, is_option, offers_another},
    asks::{self, asks_to_wait},
    clauses::{clauses, plain, sentences, words},
    depends::depends,
    english::{Phrase, Word, is_english, is_negation},
    foreign::{
        self, acts, advises, continues, denies, explains_a_call, is_conditional, is_past, is_put_off, is_qualified, main_clause,
        speaks_of_a_call,
    },
    languages::Says,
    reported::{instructs, quotes, reports, tells, tells_a_habit},
    retracts::adds,
    signs::{is_letter_of_a_list, is_note, last_sentence, without_asides, without_emphasis},
    subject::{conclusion, is_about_a_text, is_actor, is_speaker, main_words, sets_to_work, speaks_of_calling},
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
        let told = words(&line).first().is_some_and(|word| Word::Role.is(word));
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
        let is_label = is_step(&words) || (is_short(sentence) && is_plain(sentence));
        let is_next = || continues(sentence) || foreign::is_step(sentence);
        if introduces_a_call(&self.text) || (!is_english(sentence) && is_next()) {
            return true;
        }
        if is_english(sentence) || (is_label && !is_qualified(sentence)) {
            let said = self::words(conclusion(sentence));
            // `Here is the mail, sent to both:`.
            let is_part = |at: usize| said[at] == "sent" && at + 1 < said.len();
            let is_distant = |word: &str| Word::Distant.is(word) || Word::Possible.is(word);
            let is_distant = said.iter().enumerate().any(|(at, word)| is_distant(word) && !is_part(at));
            let forbids = Phrase::Forbids.begins(&words) && !said.contains(&"forget");
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
        let names_an_actor = words.iter().any(|word| is_actor(word));
        if self.ends_a_sentence() {
            return names_an_actor || !words.iter().any(|word| matches!(*word, "follows" | "following" | "below"));
        }
        let first = words.iter().find(|word| !Word::Agrees.is(word));
        if is_step(&words)
            || introduces_a_call(&self.text)
            || names_an_actor
            || wishes(sentence)
            || first.is_some_and(|word| word.ends_with("ing"))
        {
            return true;
        }
        if is_short(sentence) && is_plain(&self.text) {
            // `First <tool_call>`, `- <tool_call>`, `Build:`.
            return !self.text.ends_with(':')
                || words.is_empty()
                || Word::Step.is_in(&words)
                || Word::Agrees.is_in(&words)
                || acts(sentence);
        }
        !is_english(sentence) && acts(sentence)
    }

    /// Whether its last sentence says what its speaker does now.
    pub(crate) fn is_own_act(&self) -> bool {
        let sentence = self.sentence();
        if is_english(sentence) { sets_to_work(sentence) } else { acts(sentence) }
    }

    /// Whether it is an English line that ends in a colon and names no act.
    fn names_a_thing(&self) -> bool {
        let sentence = self.sentence();
        let is_label = is_short(sentence) && is_plain(&self.text);
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
            let is_depending = || Phrase::Conditions.is_in(&words(main));
            // `This could break the build.` is a reason.
            let is_call = || !self.ends_a_sentence() || speaks_of_calling(&words(main));
            let is_possible = Word::Possible.is_in(&words(main)) && is_call();
            let is_told = || {
                tells(sentence)
                    || tells_a_habit(sentence)
                    || instructs(main)
                    || clauses(main).any(|clause| reports(clause) || quotes(clause))
            };
            let is_open = || !self.ends_a_sentence() && (depends(main) || is_told());
            let is_offer = || self.ends_a_sentence() && offers_a_further_act(&said) && sentences(&self.text).any(begins_work);
            return (is_possible || is_depending() || is_open()) && !wishes(sentence) && !is_offer();
        }
        let main = main_clause(sentence);
        let is_call = || speaks_of_a_call(sentence);
        let ends = self.ends_a_sentence();
        let is_denied = || denies(main) && if ends { Says::Runs.is_in(main) } else { Says::Acts.is_in(main) && is_call() };
        let is_past = || is_past(main) && (!ends || Says::This.is_in(main)) || is_put_off(sentence) && !ends;
        // `Le format est le suivant.`, `도구는 이렇게 호출합니다.`
        let is_thus = || Says::Thus.is_in(main) && Says::Runs.is_in(main);
        let shows = || [Says::Thus, Says::Presents].iter().any(|says| says.is_in(main));
        let is_shown = || explains_a_call(sentence) || ends && (Says::Form.is_in(main) || is_thus() || !acts(main) && shows());
        // A whole sentence that does not mention a call is a reason for one: `Wenn die Eingabe leer ist, bricht es ab.`
        let is_qualified = || (!ends || is_call()) && (Says::Supposes.is_in(main) || is_conditional(sentence) || advises(main));
        let leads_on = asks_to_wait(sentence) || introduces_a_call(&self.text) || foreign::is_step(sentence);
        !leads_on && (is_denied() || is_past() || is_shown() || is_qualified())
    }

    /// Whether it asks the user for permission to act, or to answer first.
    pub(crate) fn awaits_an_answer(&self) -> bool {
        asks::awaits_an_answer(&self.text, self.sentence())
    }

    /// Whether it only points at what follows, or ends in a colon and introduces something other than an act of the model. An
    /// English line does the latter if it denies the call, or if it neither says who acts nor leads to a step, and names a call,
    /// its form, a text that may quote one, or what somebody wrote or did (`The log has this entry:`). A line in another language
    /// does if it does not announce a call (`Bir çağrı böyle yazılır:`); a label of the next step announces one (`Siguiente
    /// paso:`).
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
            is_negation(word) && clause.get(at + 1) != Some(&"forget") && clause.get(at + 2) != Some(&"forget")
        };
        // `The server doesn't start:` says what is wrong.
        let is_state = matches!(clause.first(), Some(&("the" | "there"))) && !is_about_a_text(&clause);
        let negation = clause.iter().enumerate().position(is_denial).filter(|_| !is_state);
        let speaks = |word: &&str| *word != "please" && is_actor(word);
        // `Please don't take this as my doing:`, `And I will not send it:`, but not `I wipe it so that it does not grow:`.
        if negation.is_some_and(|at| at <= DENIES_WITHIN || !clause[..at].iter().any(speaks)) {
            return true;
        }
        let is_told = Phrase::Told.is_in(&words(sentence)) && !clause.contains(&"now") && !clause.contains(&"again");
        is_told || (self.is_about_a_thing() && is_about_a_text(&words(sentence)))
    }
}

/// Whether all letters of a line are those of English. Other signs decorate it: `✅ Tests:`.
fn is_plain(line: &str) -> bool {
    line.chars().all(|c| c.is_ascii() || !c.is_alphanumeric())
}

/// Whether a line has few words. A path is one.
fn is_short(sentence: &str) -> bool {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count() <= LABEL_WORDS
}

/// Whether the words of a clause lead to a step: `Here is the call`, `To build it`, `The next step`.
fn leads_on(clause: &[&str]) -> bool {
    match clause {
        ["so", "that", ..] => false,
        [.., "this", "time"] => true,
        _ if recommends(clause) => true,
        ["the", second, ..] => Word::Next.is(second) || clause.last().is_some_and(|last| *last == "first"),
        // `You wanted it in three places:`.
        ["you", "asked" | "want" | "wanted" | "need", ..] => true,
        [first, ..] => Word::Leads.is(first) || first.ends_with("ing"),
        [] => true,
    }
}

/// Whether a line introduces the call after it, perhaps in place of a wrong one: `Sorry, here is the corrected call:`, `Hier ist
/// der Aufruf:`.
fn introduces_a_call(line: &str) -> bool {
    let said = words(line);
    said.contains(&"corrected") && Word::Errs.is_in(&said) || foreign::redoes(line) || foreign::presents_a_call(line)
}

/// Whether a line, in lower case, is worded as a wish or a possibility although its speaker acts: `I'd like to ..`. Small models
/// that are told to call a tool also explain the call to the user: `Here's the command you would use:`.
fn wishes(line: &str) -> bool {
    let explains =
        || ["here's the", "here is the"].iter().any(|words| line.trim_start().starts_with(words)) && line.contains("you would");
    ["would like", "i'd like", "i'd better", "i'd rather", "i'd first"].iter().any(|wish| line.contains(wish))
        || explains()
        || recommends(&words(line))
}

/// Whether these words name the best tool or call, as the template of some models asks for: `The best function to call is`.
fn recommends(words: &[&str]) -> bool {
    let names = |word: &&str| Word::Call.is(word) || matches!(*word, "function" | "tool");
    words.contains(&"best") && words.iter().any(names) && matches!(words.last(), Some(&("is" | "be")))
}

/// Whether a sentence says what its speaker does now: `Let me look at it.`, `Fetching the price.`
fn begins_work(sentence: &str) -> bool {
    sets_to_work(sentence) || words(sentence).first().is_some_and(|word| word.ends_with("ing"))
}

/// Whether these words offer a further act: `If you like, I can also compare them.` What waits for consent is no offer.
fn offers_a_further_act(words: &[&str]) -> bool {
    let adds = adds(words) || words.iter().any(|word| matches!(*word, "afterwards" | "later"));
    adds && !words.iter().any(|word| Word::Agreeing.is(word) && *word != "say")
}

/// Whether these words are a step of a plan: `Step 2:`, `1단계:`.
fn is_step(words: &[&str]) -> bool {
    let is_number = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    words.len() <= STEP_WORDS && words.iter().any(is_number)
}

/// Whether the call below a line can be a step that the model makes without announcing it: the line is a whole sentence or speaks
/// of the model itself. Any other line introduces code.
pub(crate) fn leaves_a_step(head: &str) -> bool {
    let line = plain(head);
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | ')' | '"'));
    let words = words(line);
    let speaks = words.iter().any(|word| is_speaker(word) || matches!(*word, "me" | "us")) || Says::Speaker.is_in(line);
    // `For you:` at the end is no advice.
    let advises = line.split_whitespace().any(|word| matches!(word, "you" | "your") || Word::Possible.is(word));
    let is_sentence = line.ends_with(['.', '!', '?', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}']);
    line.is_empty() || is_sentence || (speaks && !advises && !Says::Supposes.is_in(line))
}

/// Signs that begin data and markup, which neither announce nor deny.
const DATA: [char; 3] = ['{', '[', '<'];
/// Signs that end a sentence other than a question.
const ENDS: [char; 6] = ['.', '!', '…', '。', '！', '।'];
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
            "Let's look at them:",
            "\u{6211}\u{6765}\u{67e5}\u{4e00}\u{4e0b}:",
        ] {
            assert!(leaves_a_step(head), "{head}");
        }
        for head in [
            "You can list them with:", "I would write:", "I might write:", "Output:", "import api", "Der Aufruf w\u{e4}re:",
            "The old version called", "Change it to:",
        ] {
            assert!(!leaves_a_step(head), "{head}");
        }
    }
}
