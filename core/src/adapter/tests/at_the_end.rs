//! Calls at the end of an answer: what the line before them and the words after them say.

use super::{
    MayAsk,
    announced::{CALL, SHOWN, is_asked_about, read},
    text, written,
};
use crate::{event::Effect, seen::Item};

/// The call runs, whether or not the model can be asked.
fn runs(answer: &str) {
    for may_ask in [MayAsk::Now, MayAsk::Never] {
        let seen = read(Effect::Writes, may_ask, answer);
        assert_eq!(written(&seen).len(), 1, "{answer}: {seen:?}");
    }
}

#[test]
fn a_marked_call_at_the_end_is_asked_about_below_words_that_show_deny_or_depend() {
    for line in SHOWN.into_iter().chain([
        "Das werde ich nicht ausführen:",
        "No voy a borrarlo:",
        "Sobald du zustimmst, sende ich:",
        "Если хотите, я отправлю:",
        "如果您同意，我会发送：",
        "Once you agree, I will send:",
        "Bir çağrı böyle yazılır:",
        "Esimerkki kutsusta:",
    ]) {
        for answer in [format!("Hm.\n{line}\n<tool_call>{CALL}</tool_call>"), format!("{line} <tool_call>{CALL}</tool_call>")] {
            let asked = read(Effect::Writes, MayAsk::Now, &answer);
            assert!(written(&asked).is_empty(), "{answer}: {asked:?}");
            assert_eq!(read(Effect::Writes, MayAsk::Never, &answer).items, text(&answer).items, "{answer}");
        }
    }
    for line in [
        "Ich lösche sie jetzt:",
        "Borro el archivo:",
        "Ein Moment, bitte:",
        "我来删除它：",
        "Now:",
        "Deleting it",
        "Step 3:",
        "Хорошо, удаляю:",
        "Καλώ το εργαλείο:",
    ] {
        let answer = format!("Hm.\n{line}\n<tool_call>{CALL}</tool_call>");
        assert_eq!(written(&read(Effect::Writes, MayAsk::Now, &answer)).len(), 1, "{answer}");
    }
}

#[test]
fn a_retraction_after_a_call_is_heard() {
    for after in ["Halt, das führe ich doch nicht aus.", "Sorry, that was a mistake.", "Shall I?", "等一下，不要执行。"]
    {
        is_asked_about(&format!("<tool_call>{CALL}</tool_call>\n{after}"));
    }
}

#[test]
fn the_last_words_before_a_call_count_also_on_long_lines() {
    let long = [
        ("Die Sicherung von gestern Nacht ist vollständig, die Prüfsummen stimmen, und der Server hat genug Platz. ", 2),
        ("Резервная копия за прошлую ночь готова, контрольные суммы совпали. ", 2),
        ("สำรองข้อมูลเมื่อคืนเสร็จสมบูรณ์แล้ว ", 3),
    ]
    .map(|(words, times)| words.repeat(times));
    for (line, last) in
        [(&long[0], "Das führe ich aber nicht aus:"), (&long[1], "Но я этого не сделаю:"), (&long[2], "ตัวอย่างการเรียก:")]
    {
        is_asked_about(&format!("{line}{last}\n<tool_call>{CALL}</tool_call>"));
    }
    for (line, last) in [(&long[0], "Ich lösche sie jetzt:"), (&long[1], "Теперь я удаляю файл:"), (&long[2], "ผมกำลังลบไฟล์:")]
    {
        runs(&format!("{line}{last}\n<tool_call>{CALL}</tool_call>"));
    }
}

#[test]
fn the_line_above_a_list_introduces_its_items() {
    // The example is named in an earlier clause.
    is_asked_about(&format!("Nur ein Beispiel, ich rufe nichts auf:\n<tool_call>{CALL}</tool_call>"));
    for bullet in ["- ", "* ", "1. ", "• "] {
        is_asked_about(&format!("Voici un exemple, rien de plus :\n\n{bullet}<tool_call>{CALL}</tool_call>"));
        runs(&format!("I wipe these now:\n\n{bullet}<tool_call>{CALL}</tool_call>"));
    }
}

#[test]
fn a_question_before_the_last_sentence_waits_for_its_answer() {
    for line in [
        "Shall I wipe it? I start as soon as I hear from you.",
        "Darf ich das löschen? Ich warte so lange.",
        "¿Te parece bien? Espero tu respuesta.",
        "这样可以吗？我等你回复。",
        "Please confirm first. Until then nothing happens.",
        "Only after your OK will I do this:",
        "Ich warte auf deine Antwort, dann sende ich:",
    ] {
        is_asked_about(&format!("{line}\n<tool_call>{CALL}</tool_call>"));
    }
    runs(&format!("What is in it? Nothing that anybody needs.\n<tool_call>{CALL}</tool_call>"));
}

#[test]
fn an_english_line_that_ends_in_a_colon_leads_to_a_step() {
    for line in [
        "The nightly log has this entry, shortly before the crash:",
        "What the other program printed:",
        "Both notations mean the same, and mine writes it this way:",
        "Row 12 of the data set, expected output:",
        "Please do not read this as a thing that I do:",
        "It was a proposal of the old program, which made me write:",
        "The program looks for the block below and starts it.",
        "In my last answer I wiped it with this:",
        "To be clear about what I reject:",
    ] {
        is_asked_about(&format!("{line}\n<tool_call>{CALL}</tool_call>"));
        is_asked_about(&format!("{line}\n{CALL}"));
    }
    for line in [
        "Here is the call:",
        "To free the space:",
        "The next step is simple:",
        "It was the wrong path, so once more:",
        "Then, with the right name again:",
        "Output:",
        "Found it in the cache, wiping it:",
        "I'd better wipe it:",
        "I wipe it so that it does not grow:",
        "You wanted it gone:",
        "The old one first:",
        "I'll see what the disk looks like afterwards.",
    ] {
        runs(&format!("{line}\n<tool_call>{CALL}</tool_call>"));
    }
}

#[test]
fn a_condition_that_is_met_and_a_negation_of_something_else_announce() {
    for line in [
        "Da du zugestimmt hast, lösche ich sie jetzt:",
        "Puisque vous êtes d'accord, je la supprime maintenant :",
        "既然您同意了，我现在就删除：",
        "Das war nicht die richtige Datei. Ich lösche jetzt diese:",
        "Файл больше не нужен, поэтому я его удаляю:",
        "Ya no hace falta, así que ahora borro el archivo:",
    ] {
        runs(&format!("{line}\n<tool_call>{CALL}</tool_call>"));
    }
}

#[test]
fn an_interjection_belongs_to_the_sentence_after_it() {
    for after in [
        "Stop. That was a mistake.",
        "Oh! I meant the other file.",
        "아, 잠깐만요. 이 호출은 취소합니다.",
        "Nee, wacht. Vergeet dat maar.",
        "Нет! Отмена.",
        "Wait, it holds the only copy.",
        "The path is wrong. It was the old name. So please ignore that call.",
        "Da ist noch etwas drin. Sie heißt anders. Das nehme ich zurück.",
    ] {
        is_asked_about(&format!("I wipe it now:\n<tool_call>{CALL}</tool_call>\n{after}"));
    }
    runs(&format!("I wipe it now:\n<tool_call>{CALL}</tool_call>\nDone. The file was old."));
}

#[test]
fn an_announced_call_counts_before_a_request_to_wait_and_is_asked_about_before_another_remark() {
    for call in [CALL.to_owned(), format!("```json\n{CALL}\n```"), "<wipe>\n<path>a.db</path>\n</wipe>".to_owned()] {
        for after in ["One moment, please.", "Please wait ...", "请稍等。", "잠시만 기다려 주세요.", "Einen Moment bitte."]
        {
            runs(&format!("I wipe it now.\n\n{call}\n\n{after}"));
        }
        for after in [
            "This will wipe `a.db`, and nothing else.",
            "After this command has run, I will know how much space the disk has. If that is still too little, I will look for \
             other files that nobody needs, and wipe them too.",
        ] {
            is_asked_about(&format!("I'll use the `wipe` tool for that. Here's the command:\n\n{call}\n\n{after}"));
        }
        let remark = format!("I wipe it now.\n\n{call}\n\nThe disk has more space then.");
        is_asked_about(&remark);
        assert!(read(Effect::Writes, MayAsk::Now, &remark).items.contains(&Item::Refused), "{remark}");
        for after in
            ["Do you like it?", "Its keys are `path` and nothing else.", "This is the first paragraph.\n\nThis is the second."]
        {
            let answer = format!("I wipe it now.\n\n{call}\n\n{after}");
            assert_eq!(read(Effect::Writes, MayAsk::Now, &answer).items, text(&answer).items, "{answer}");
        }
    }
    // Nothing announces it.
    let mentioned = format!("A call looks like this: {CALL}\n\nOne moment, please.");
    assert_eq!(read(Effect::Writes, MayAsk::Now, &mentioned).items, text(&mentioned).items);
}
