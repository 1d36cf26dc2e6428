//! Unmarked calls below text that does not say that the model makes them.

use super::{
    Arc, Channel, FinishReason, Item, MayAsk, Options, Scanner, Seen, Tool, ToolChoice, Tools, library, schemas, text, written,
};
use crate::event::Effect;

pub(super) const CALL: &str = "{\"name\": \"wipe\", \"arguments\": {\"path\": \"a.db\"}}";

/// What becomes of an answer with a tool of this effect: its text, and what was written as calls or refused.
pub(super) fn read(effect: Effect, may_ask: MayAsk, answer: &str) -> Seen {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let tools = Tools::new([Tool { effect, ..Tool::new("wipe", "", schema) }], ToolChoice::Auto);
    let options = Options { may_ask, ..Options::default() };
    let mut scanner = Scanner::new(Arc::clone(library().get("qwen2.5-coder").unwrap()), Arc::new(tools), schemas(), options);
    let mut seen = Seen::default();
    scanner.push(Channel::Content, answer, &mut seen);
    scanner.finish(FinishReason::Stop, &mut seen);
    seen
}

/// The model is asked whether it means the call in this answer, and the answer is text where it cannot be asked.
pub(super) fn is_asked_about(answer: &str) {
    assert!(written(&read(Effect::Writes, MayAsk::Now, answer)).is_empty(), "{answer}");
    assert_eq!(read(Effect::Writes, MayAsk::Never, answer).items, text(answer).items, "{answer}");
}

/// Lines that describe a call, and lines that make one.
const LINES: [(&str, bool); 21] = [
    ("Så ser ett anrop ut:", false),
    ("Takto vypadá volání:", false),
    ("Lời gọi sẽ như sau:", false),
    ("Vi har redan anropat det med", false),
    ("Az önce şunu çağırdım:", false),
    ("กำลังลบไฟล์:", true),
    ("פעולה 2:", true),
    ("3단계:", true),
    ("Mažu, volám nástroj:", true),
    ("No lo ejecute, solo muestra la sintaxis:", false),
    ("L'appel serait :", false),
    ("Ainsi s'écrit un appel :", false),
    ("Так это записывается:", false),
    ("こう書けば呼び出すことができます：", false),
    ("这种写法也行：", false),
    ("Jag tar bort filen:", true),
    ("Je l'efface :", true),
    ("Cancello il file:", true),
    ("Стираю его.", true),
    ("消します：", true),
    ("我删掉它：", true),
];

#[test]
fn a_call_that_is_not_announced_is_asked_about_and_text_where_nobody_can_be_asked() {
    for (line, announces) in LINES {
        for answer in [format!("{line}\n\n{CALL}"), format!("{line}\n```json\n{CALL}\n```")] {
            let asked = read(Effect::Writes, MayAsk::Now, &answer);
            assert_eq!(written(&asked).len(), usize::from(announces), "{answer}");
            assert_eq!(asked.items.contains(&Item::Refused), !announces, "{answer}: {asked:?}");
            let alone = read(Effect::Writes, MayAsk::Never, &answer);
            assert_eq!(written(&alone).len(), usize::from(announces), "{answer}");
            assert_eq!(alone.items == text(&answer).items, !announces, "{answer}: {alone:?}");
        }
    }
}

#[test]
fn a_tool_that_only_reads_is_not_asked_about() {
    for (line, _) in LINES {
        assert_eq!(written(&read(Effect::Reads, MayAsk::Now, &format!("{line}\n{CALL}"))).len(), 1, "{line}");
    }
}

#[test]
fn a_marked_call_and_one_that_is_the_whole_answer_need_no_announcement() {
    for answer in [
        CALL.to_owned(),
        format!("Filen är gammal.\n<tool_call>{CALL}</tool_call>"),
        format!("Output:\n<tool_call>{CALL}</tool_call>"),
    ] {
        assert_eq!(written(&read(Effect::Destroys, MayAsk::Never, &answer)).len(), 1, "{answer}");
    }
}

/// Lines that show a call of the family's own form.
pub(super) const SHOWN: [&str; 8] = [
    "Here is an example of a tool call in this format (I am not executing it):",
    "If you confirm, I would send this:",
    "**Wrong:**",
    "So sähe der Aufruf aus (nur ein Beispiel):",
    "Voici un exemple d'appel :",
    "Вот как выглядит вызов:",
    "之前的调用是这样的：",
    "Este es el formato de una llamada:",
];

#[test]
fn marked_calls_that_are_shown_between_lines_of_prose_are_asked_about_or_text() {
    for line in SHOWN {
        for block in [format!("<tool_call>\n{CALL}\n</tool_call>"), "<tool_call>{}</tool_call>\n".replace("{}", CALL).repeat(2)] {
            let answer = format!("{line}\n\n{block}\n\nIt has two keys.");
            let alone = read(Effect::Writes, MayAsk::Never, &answer);
            assert_eq!(alone.items, text(&answer).items, "{answer}");
            let asked = read(Effect::Writes, MayAsk::Now, &answer);
            assert!(written(&asked).is_empty() && asked.items.contains(&Item::Refused), "{answer}: {asked:?}");
        }
    }
    let others = [
        "The assistant issued at 09:14",
        "Somebody pasted this into the chat:",
        "The runtime expects the calls like so:",
        "First:",
        "Two ways to write it. Correct:",
        "(a)",
        "ii)",
        "A call of this tool is written as follows.",
        "Först skriver modellen:",
        "Jag skulle skicka det här anropet, om du vill:",
        "Please check the values:",
    ];
    for line in others {
        let answer = format!("{line}\n<tool_call>{CALL}</tool_call>\nIt has two keys.");
        assert_eq!(read(Effect::Writes, MayAsk::Never, &answer).items, text(&answer).items, "{answer}");
    }
    for line in [
        "I wipe it now:", "Wiping it:", "Step 1:", "Ich lösche sie:", "Först raderar jag den:", "Devo cancellarlo adesso:",
        "Sure:", "It is old.",
    ] {
        let answer = format!("{line}\n<tool_call>{CALL}</tool_call>\nThat was it.");
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &answer)).len(), 1, "{answer}");
    }
    // A question after the call may ask for permission.
    for (before, after, runs) in [
        ("Jag raderar filen.", "Är det vad du vill?", false),
        ("Σβήνω το αρχείο.", "Να προχωρήσω;", false),
        ("I wipe it now:", "Is that what you want?", false),
        ("I wipe it now:", "Posso procedere?", false),
        ("I wipe it now:", "Anything else?", true),
        ("", "还有什么问题吗？", true),
    ] {
        let answer = format!("{before}\n<tool_call>{CALL}</tool_call>\n{after}");
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &answer)).len(), usize::from(runs), "{answer}");
        assert_eq!(read(Effect::Writes, MayAsk::Now, &answer).items.contains(&Item::Refused), !runs, "{answer}");
    }
    // No such tool is offered: a template.
    let template = "<tool_call>{\"name\": \"TOOL\", \"arguments\": {\"key\": 1}}</tool_call>\nThis is its shape.";
    assert_eq!(read(Effect::Writes, MayAsk::Never, template).items, text(template).items);
    let supposed = format!("Somebody else could send:\n<tool_call>{CALL}</tool_call>");
    assert!(read(Effect::Writes, MayAsk::Now, &supposed).items.contains(&Item::Refused));
    let both = format!(
        "**Wrong:**\n<tool_call>{CALL}</tool_call>\n**Right:**\n<tool_call>{CALL}</tool_call>\nOnly the second one works."
    );
    assert_eq!(read(Effect::Writes, MayAsk::Never, &both).items, text(&both).items);
}

#[test]
fn marked_calls_run_that_end_the_answer_or_are_announced() {
    let block = format!("<tool_call>\n{CALL}\n</tool_call>");
    for after in ["", "\nThat is all."] {
        let runs = |line: &str| !written(&read(Effect::Writes, MayAsk::Never, &format!("{line}\n{block}{after}"))).is_empty();
        let wrong: Vec<&str> =
            LINES.into_iter().filter(|(line, announces)| runs(line) != *announces).map(|(line, _)| line).collect();
        assert_eq!(wrong, [""; 0], "{after}");
    }
    assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &format!("{block}\nThat is all."))).len(), 1);
    assert_eq!(written(&read(Effect::Reads, MayAsk::Never, &format!("Voici un exemple :\n{block}\nThat is all."))).len(), 1);
}

#[test]
fn markers_in_a_fence_after_prose_are_asked_about() {
    let answer = format!("I will wipe it.\n\n```xml\n<tool_call>\n{CALL}\n</tool_call>\n```");
    let asked = read(Effect::Writes, MayAsk::Now, &answer);
    assert!(written(&asked).is_empty() && asked.items.contains(&Item::Refused), "{asked:?}");
    assert_eq!(read(Effect::Writes, MayAsk::Never, &answer).items, text(&answer).items);
    assert_eq!(written(&read(Effect::Reads, MayAsk::Never, &answer)).len(), 1);
    for document in [format!("{answer}\n\nThat is the form."), answer.replace("I will wipe it.", "For example:")] {
        let asked = read(Effect::Writes, MayAsk::Now, &document);
        assert_eq!(asked.items, text(&document).items, "{document}");
    }
}

#[test]
fn a_fence_that_is_named_after_calls_needs_no_end_of_the_answer() {
    for block in [format!("```tool_call\n{CALL}\n```"), "```tool_code\nwipe(path=\"a.db\")\n```".to_owned()] {
        let twice =
            format!("I wipe the first one.\n{block}\nThen the second one.\n{block}\nThat is all.").replacen("a.db", "b.db", 1);
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &twice)).len(), 2, "{twice}");
        let shown = format!("So sieht der Aufruf aus:\n{block}\nDas ist alles.");
        assert_eq!(read(Effect::Writes, MayAsk::Never, &shown).items, text(&shown).items);
    }
}

#[test]
fn a_request_to_wait_announces() {
    for line in ["请稍等：", "Un momento:", "One moment, please:", "少々お待ちください：", "Минутку:"] {
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &format!("{line}\n\n{CALL}"))).len(), 1, "{line}");
    }
}

#[test]
fn a_call_of_an_unknown_tool_is_refused_for_its_name_after_one_that_was_not_announced() {
    use crate::event::{Event, Why};
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let tools = Tools::new([Tool::new("wipe", "", schema)], ToolChoice::Auto);
    let options = Options { may_ask: MayAsk::Now, ..Options::default() };
    let mut scanner = Scanner::new(Arc::clone(library().get("qwen2.5-coder").unwrap()), Arc::new(tools), schemas(), options);
    let mut reasons = Vec::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Refused { why, .. } = event {
            reasons.push(why.clone());
        }
    };
    let unknown = CALL.replace("wipe", "scrub");
    let answer = format!("So sieht der Aufruf aus:\n{CALL}\n<tool_call>{CALL}</tool_call>\n{unknown}");
    scanner.push(Channel::Content, &answer, &mut sink);
    scanner.finish(FinishReason::Stop, &mut sink);
    assert!(matches!(reasons.as_slice(), [Why::Unannounced(_), Why::Unmarked(_)]), "{reasons:?}");
}

#[test]
fn what_is_wrong_is_why_a_call_follows() {
    let calls = |line: &str| written(&read(Effect::Writes, MayAsk::Never, &format!("{line}\n\n{CALL}"))).len();
    assert_eq!(calls("The entry in it is wrong."), 1);
    assert_eq!(calls("This one is wrong:"), 0);
}

#[test]
fn a_sentence_that_names_an_example_announces_none() {
    for line in ["Oto przykład.", "Här är ett exempel.", "Ось приклад.", "هذا مثال.", "Hier ist ein Beispiel."]
    {
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &format!("{line}\n\n{CALL}"))).len(), 0, "{line}");
    }
}

#[test]
fn what_the_model_says_that_it_does_not_do_is_asked_about() {
    let marked = format!("<tool_call>\n{CALL}\n</tool_call>");
    for line in [
        "I decided not to run this:",
        "I am not going to call this:",
        "I have not been allowed to execute the following:",
        "I refused to run the following:",
        "I skipped this step:",
        "I have just executed this:",
        "Done. I ran:",
    ] {
        for call in [format!("```json\n{CALL}\n```"), CALL.to_owned(), marked.clone(), format!("{marked}\n\nSo I left it.")] {
            is_asked_about(&format!("{line}\n{call}"));
        }
    }
    for line in ["It does not exist, so I will wipe it:", "I did not find it. I run this:", "I will not keep it but run this:"] {
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &format!("{line}\n{marked}"))).len(), 1, "{line}");
    }
}

#[test]
fn text_after_a_call_may_take_it_back() {
    let marked = format!("<tool_call>\n{CALL}\n</tool_call>");
    for after in
        ["Shall I run this?", "Do you want me to do that?", "This is only an example, do not run it.", "I will not run it."]
    {
        for call in [format!("```json\n{CALL}\n```"), marked.clone()] {
            is_asked_about(&format!("{call}\n\n{after}"));
        }
    }
    for after in ["The content is gone then.", "What is next?", "I did it as you said."] {
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &format!("{marked}\n\n{after}"))).len(), 1, "{after}");
    }
}

#[test]
fn calls_in_strings_of_code_and_markers_that_are_mentioned_are_text() {
    let marked = format!("<tool_call>\n{CALL}\n</tool_call>");
    for answer in [
        format!("prompt = \"\"\"\n{marked}\n\"\"\"\nprint(prompt)"),
        format!("PROMPT = '''\n{marked}\n'''\n"),
        format!("const p = `\n{marked}\n`;\nconsole.log(p);"),
        format!("prompt: |\n{marked}\nmodel: x"),
        format!("The doc says: {marked}"),
        format!("e.g. {marked}"),
    ] {
        assert_eq!(read(Effect::Writes, MayAsk::Never, &answer).items, text(&answer).items, "{answer}");
    }
}

#[test]
fn text_after_an_element_in_a_fence_takes_it_back_however_it_is_cut() {
    // The reasoning shows where the answer begins: nothing else makes the call wait.
    let answer = "```xml\n<wipe>\n<path>a.db</path>\n</wipe>\n```\nThis is only an example, do not run it.";
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let tools = Arc::new(Tools::new([Tool { effect: Effect::Writes, ..Tool::new("wipe", "", schema) }], ToolChoice::Auto));
    let whole = format!("<think>Hm.</think>{answer}");
    for cut in 0..=whole.len() {
        let options = Options { elements: true, ..Options::default() };
        let adapter = Arc::clone(library().get("qwen2.5-coder").unwrap());
        let mut scanner = Scanner::new(adapter, Arc::clone(&tools), schemas(), options);
        let mut seen = Seen::default();
        scanner.push(Channel::Content, &whole[..cut], &mut seen);
        scanner.push(Channel::Content, &whole[cut..], &mut seen);
        scanner.finish(FinishReason::Stop, &mut seen);
        assert_eq!((seen.text().as_str(), written(&seen).len()), (answer, 0), "cut at {cut}");
    }
}

#[test]
fn words_before_a_marked_call_on_its_line_say_who_makes_it_like_a_line_above() {
    let marked = format!("<tool_call>{CALL}</tool_call>");
    for lead in ["A: ", "Model: ", "Exemplar:", "You could write ", "The model then sends ", "Først sender modellen: "] {
        for before in ["", "Q: wipe it\n", "\"\"\"\nAnswer with calls.\nQ: wipe it\n"] {
            is_asked_about(&format!("{before}{lead}{marked}\nNow answer the user."));
        }
    }
    for lead in
        ["I wipe it: ", "Wiping a.db: ", "Okay, wiping it ", "Sure. ", "- ", "Tool call: ", "Ich lösche jetzt: ", "First "]
    {
        let answer = format!("It is old.\n{lead}{marked}\nThat frees some space.");
        assert_eq!(written(&read(Effect::Writes, MayAsk::Now, &answer)).len(), 1, "{answer}");
    }
}

#[test]
fn a_marked_call_between_words_in_another_language_runs_only_if_they_say_that_the_model_acts() {
    for (before, after) in [
        // Denied, before or after.
        ("Je ne vais pas lancer ceci :", "Il est trop risqué."),
        ("Ich werde das nicht ausführen:", "Das Archiv wird noch gebraucht."),
        ("Jag visar det här:", "Ingenting raderas."),
        ("Mostro questo:", "Non viene eseguito."),
        ("我给你看这个：", "它没有被执行。"),
        // Not in the first person, whatever short words the language shares with others.
        ("Toto je v návodu:", "Tím se soubor smaže."),
        ("Så står det i boken:", "Filen tas bort."),
        ("Questo è scritto nei registri:", "Il file viene tolto."),
        // Awaits an answer.
        ("Ich schlage das vor:", "Einverstanden?"),
        ("This is what I'd run:", "Reply with yes or no."),
        ("I propose this:", "Please answer first."),
        // A sentence goes on in lower case.
        ("Vorhin schrieb ich", "obwohl niemand danach gefragt hat."),
        ("The string", "is what the test looks for."),
        // Told.
        ("<assistant>", "<tool> wiped"),
    ] {
        for answer in [
            format!("Hm.\n{before}\n<tool_call>{CALL}</tool_call>\n{after}"),
            format!("Hm.\n{before} <tool_call>{CALL}</tool_call> {after}"),
        ] {
            is_asked_about(&answer);
        }
    }
    for (before, after) in [
        ("Je le supprime maintenant :", "Il est vieux."),
        ("Certo, devo pulire i dati:", "Fatto."),
        ("Ich lösche die Datei jetzt:", "Sie ist alt."),
        ("我现在删除它：", "请稍等。"),
        ("मैं इसे अभी मिटाता हूँ।", "बस।"),
        ("I'd like to wipe it:", "It is old."),
        ("Okay, wiping it:", "it is old."),
    ] {
        let answer = format!("Hm.\n{before}\n<tool_call>{CALL}</tool_call>\n{after}");
        assert_eq!(written(&read(Effect::Writes, MayAsk::Now, &answer)).len(), 1, "{answer}");
    }
}

#[test]
fn the_words_after_a_call_are_read_past_all_closing_markers() {
    let section = "<|tool_calls_section_begin|><|tool_call_begin|>functions.wipe:0<|tool_call_argument_begin|>{\"path\": \"a.db\"}\
                   <|tool_call_end|><|tool_calls_section_end|>";
    for after in ["Shall I run it?", "This is only an example."] {
        let answer = format!("I wipe it.\n{section}\n{after}");
        let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
        let tools = Arc::new(Tools::new([Tool::new("wipe", "", schema)], ToolChoice::Auto));
        let options = Options { may_ask: MayAsk::Now, ..Options::default() };
        let mut scanner = Scanner::new(Arc::clone(library().get("kimi-k2").unwrap()), tools, schemas(), options);
        let mut seen = Seen::default();
        scanner.push(Channel::Content, &answer, &mut seen);
        scanner.finish(FinishReason::Stop, &mut seen);
        assert!(written(&seen).is_empty() && seen.items.contains(&Item::Refused), "{answer}: {seen:?}");
    }
}

#[test]
fn an_item_of_a_numbered_list_is_followed_by_the_next() {
    is_asked_about(&format!("To see it:\n1. Start it.\n2. Have it answer <tool_call>{CALL}</tool_call>\n3. Watch it."));
    let steps = format!("1. I wipe it: <tool_call>{CALL}</tool_call>\nThat is all.");
    assert_eq!(written(&read(Effect::Writes, MayAsk::Now, &steps)).len(), 1);
}

/// An answer of marked calls, each below its label.
fn labelled(labels: [&str; 2], after: &str) -> String {
    labels.map(|label| format!("{label}\n<tool_call>{}</tool_call>\n", CALL.replace("a.db", label))).concat() + after
}

#[test]
fn calls_below_labels_are_decided_by_what_follows_the_last() {
    for labels in [["First:", "Second:"], ["- Cache:", "- Logs:"], ["**Alt:**", "**Neu:**"], ["In src:", "In tests:"]] {
        let whole = labelled(labels, "");
        let seen = read(Effect::Writes, MayAsk::Now, &whole);
        assert_eq!(written(&seen).len(), 2, "{whole}");
        assert_eq!(seen.text(), labels.join("\n"), "{whole}");
        is_asked_about(&labelled(labels, "These are the two forms."));
        assert_eq!(written(&read(Effect::Writes, MayAsk::Never, &labelled(["Either:", "Or:"], ""))).len(), 0);
    }
}

#[test]
fn calls_below_counted_examples_are_none() {
    for labels in [["Example 1:", "Example 2:"], ["Sample (a)", "Sample (b)"], ["### Listing #1", "### Listing #2"]] {
        assert!(written(&read(Effect::Writes, MayAsk::Never, &labelled(labels, ""))).is_empty(), "{labels:?}");
    }
}
