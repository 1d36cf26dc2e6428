//! Every limit, every form of going round in circles: one more answer without tools, and the user is told.

use super::*;
use crate::mcp::{shell, with};

const PERSON: &str = "builtin.sqlite__get_employee_info";
const SEARCH: &str = "builtin.sqlite__search_docs";

fn search(at: usize) -> Says {
    call(SEARCH, json!({"query": format!("word{at}")}))
}

/// So many different searches, then an answer.
fn searches(count: usize) -> Vec<Says> {
    (0..count).map(search).chain([text("All I know.")]).collect()
}

/// Whether the request offers no tools, in either way.
fn offers_none(request: &Value) -> bool {
    let prompt = request["messages"].to_string();
    request.get("tools").is_none() && !prompt.contains("You can use the tools")
}

#[tokio::test]
async fn after_so_many_rounds_the_model_answers_without_tools() {
    for family in FAMILIES {
        let room = Room::new(family, searches(5)).await;
        let streamed = room.stream(json!({})).await;
        let expected = "All I know.\n[toolglot] the limit of 5 rounds with tools was reached (`react.rounds`)\n";
        assert_eq!((streamed.content.as_str(), streamed.finishes.len()), (expected, 1), "{family:?}");
        assert_eq!(streamed.finishes, ["stop"]);
        assert_eq!((&streamed.trace["limit"], &streamed.trace["rounds"]), (&json!("rounds"), &json!(6)));
        let asked = room.model.asked();
        assert_eq!(asked.len(), 6, "{family:?}");
        assert!(asked.iter().take(5).all(|request| !offers_none(request)) && offers_none(&asked[5]), "{family:?}");
        let last = room.model.messages().last().unwrap()["content"].as_str().unwrap().to_owned();
        assert!(last.contains("No tool can be used any more"), "{family:?}: {last}");
        if family != Family::Gemma {
            assert_valid(&room.model.messages());
        }
    }
}

#[tokio::test]
async fn a_model_that_calls_on_regardless_is_not_followed() {
    for family in FAMILIES {
        let room = Room::with(family, vec![search(1), search(2), search(3)], json!({}), "react.rounds = 2").await;
        let answer = room.answer(json!({})).await;
        let told = "[toolglot] the limit of 2 rounds with tools was reached (`react.rounds`), and the model gave no answer. \
                    The last results are:\n";
        assert!(said(&answer).starts_with(told) && said(&answer).contains("\"success\""), "{family:?}: {}", said(&answer));
        assert_eq!(answer["toolglot"]["calls"].as_array().unwrap().len(), 2, "{family:?}");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    }
}

#[tokio::test]
async fn calls_beyond_the_limit_get_a_result_and_do_not_run() {
    let three: Vec<(&str, Value)> = ["a", "b", "c"].iter().map(|query| (SEARCH, json!({"query": query}))).collect();
    for family in FAMILIES {
        let room = Room::with(family, vec![calls(&three), text("Enough.")], json!({}), "react.calls = 2").await;
        let answer = room.answer(json!({})).await;
        assert!(said(&answer).starts_with("Enough.\n[toolglot] the limit of 2 calls was reached"), "{family:?}");
        let ok: Vec<bool> = traced(&answer["toolglot"]).into_iter().map(|(_, ok)| ok).collect();
        assert_eq!(ok.iter().filter(|ok| **ok).count(), 2, "{family:?}");
        assert_eq!(ok.len(), 3);
        let messages = room.model.messages();
        let is_told = |message: &Value| message["content"].to_string().contains("not run: the limit of 2 calls");
        assert!(messages.iter().any(is_told), "{family:?}");
    }
}

#[tokio::test]
async fn eleven_calls_in_one_answer_are_one_round() {
    let many: Vec<(String, Value)> = (0..11).map(|at| (SEARCH.to_owned(), json!({"query": format!("q{at}")}))).collect();
    let room = Room::new(Family::Native, vec![Says::Calls("", many), text("Done.")]).await;
    let answer = room.answer(json!({})).await;
    assert_eq!((said(&answer), answer["toolglot"]["calls"].as_array().unwrap().len()), ("Done.", 11));
    assert_valid(&room.model.messages());
}

#[tokio::test]
async fn time_and_tokens_end_a_turn() {
    let slow = json!({"slow": with(shell("sleep 3; text late"), json!({"timeout_seconds": 20}))});
    let room = Room::with(Family::Native, vec![call("slow__act", json!({})), text("Too late.")], slow, "react.seconds = 1").await;
    let begun = std::time::Instant::now();
    let answer = room.answer(json!({})).await;
    assert!(begun.elapsed() < std::time::Duration::from_millis(2900), "{:?}", begun.elapsed());
    assert!(said(&answer).contains("the limit of 1 s was reached"), "{}", said(&answer));
    assert_valid(&room.model.messages());
    // 110 tokens an answer.
    let room = Room::with(Family::Native, searches(9), json!({}), "react.tokens = 200").await;
    let answer = room.answer(json!({})).await;
    assert!(said(&answer).contains("the limit of 200 tokens was reached"), "{}", said(&answer));
    assert_eq!((room.model.asked().len(), &answer["usage"]["total_tokens"]), (3, &json!(330)));
}

#[tokio::test]
async fn time_ends_an_answer_that_is_under_way() {
    for answers in [vec![Says::Hangs], vec![search(1), Says::Hangs]] {
        let room = Room::with(Family::Native, answers, json!({}), "react.seconds = 1").await;
        let begun = std::time::Instant::now();
        let answer = room.answer(json!({})).await;
        assert!(begun.elapsed() < std::time::Duration::from_secs(4), "{:?}", begun.elapsed());
        assert!(said(&answer).contains("the limit of 1 s was reached"), "{}", said(&answer));
        assert_eq!(answer["choices"][0]["finish_reason"], "length");
    }
}

#[tokio::test]
async fn a_request_lowers_limits_and_never_raises_them() {
    let room = Room::with(Family::Native, searches(9), json!({}), "react.rounds = 3").await;
    for (asked, rounds) in [(json!(1), 2), (json!(99), 4), (json!(0), 2)] {
        let before = room.model.asked().len();
        room.answer(json!({"toolglot": {"rounds": asked, "trace": true}})).await;
        assert_eq!(room.model.asked().len() - before, rounds, "{asked}");
        assert!(room.model.asked().last().unwrap().get("toolglot").is_none());
    }
    let wrong = room.post("/react/v1/chat/completions", &room.chat(json!({"toolglot": {"round": 1}}))).send().await.unwrap();
    assert_eq!(wrong.status(), 400);
    assert!(wrong.text().await.unwrap().contains("unknown field `round`"));
}

#[tokio::test]
async fn a_model_that_goes_round_in_circles_is_asked_to_answer() {
    let (a, b) = (|| search(1), || search(2));
    // The answers, and how many calls run: a call whose result is there is not run again.
    let table: [(&str, Vec<Says>, usize); 3] = [
        ("A A", vec![a(), a(), text("Well.")], 1),
        ("A B A", vec![a(), b(), a(), text("Well.")], 2),
        ("A and nothing", vec![a(), text(""), text("Well.")], 1),
    ];
    for family in FAMILIES {
        for (name, answers, ran) in &table {
            let room = Room::with(family, answers.clone(), json!({}), "react.rounds = 20").await;
            let answer = room.answer(json!({})).await;
            let ok: Vec<bool> = traced(&answer["toolglot"]).into_iter().map(|(_, ok)| ok).collect();
            assert_eq!(ok, vec![true; *ran], "{family:?} {name}");
            assert_eq!(said(&answer), "Well.", "{family:?} {name}");
            let asked = room.model.asked();
            assert_eq!(asked.len(), answers.len(), "{family:?} {name}");
            let last = room.model.messages().last().unwrap()["content"].to_string();
            let is_told = last.contains("You have this result.");
            assert!(is_told && offers_none(&asked[asked.len() - 1]), "{family:?} {name}: {last}");
        }
    }
}

#[tokio::test]
async fn who_gets_no_answer_gets_the_results() {
    for family in FAMILIES {
        let room = Room::new(family, vec![call(PERSON, json!({"employee_id": "EMP003"})), text("")]).await;
        let answer = room.answer(json!({})).await;
        assert!(
            said(&answer).contains("Aiko Tanaka") && !said(&answer).contains("You have this"),
            "{family:?}: {}",
            said(&answer)
        );
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{family:?}");
        assert_eq!(room.model.asked().len(), 3, "{family:?}");
    }
    let room = Room::new(Family::Native, vec![text("")]).await;
    assert_eq!(said(&room.answer(json!({})).await), "[toolglot] the model's answer was empty\n");
}

#[tokio::test]
async fn rounds_of_nothing_but_errors_end() {
    let person = |at: usize| call("builtin.sqlite__get_employee_info", json!({"employee_id": format!("NO{at}")}));
    let room =
        Room::with(Family::Native, vec![person(1), person(2), person(3), text("I give up.")], json!({}), "react.rounds = 20")
            .await;
    let answer = room.answer(json!({})).await;
    assert_eq!(said(&answer), "I give up.\n[toolglot] every call of 3 rounds failed\n");
}
