//! The ordinary ways through a turn, with every family: one call, a chain, calls side by side, an error and what follows.

use super::*;

const SEARCH: &str = "builtin.sqlite__search_docs";
const PERSON: &str = "builtin.sqlite__get_employee_info";
const DAYS: &str = "builtin.sqlite__calculate_vacation_days";

#[tokio::test]
async fn one_call_and_the_answer() {
    for family in FAMILIES {
        let room = Room::new(family, vec![call(PERSON, json!({"employee_id": "EMP003"})), text("She is Aiko Tanaka.")]).await;
        let answer = room.answer(json!({})).await;
        assert_eq!(said(&answer), "She is Aiko Tanaka.", "{family:?}");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        assert!(answer["choices"][0]["message"].get("tool_calls").is_none());
        assert_eq!(traced(&answer["toolglot"]), [(PERSON.to_owned(), true)], "{family:?}");
        let messages = room.model.messages();
        let result = messages.last().unwrap()["content"].as_str().unwrap();
        assert!(result.contains("Aiko Tanaka"), "{family:?}: {result}");
        if family == Family::Gemma {
            assert!(result.starts_with("[Tool Result: sqlite.get_employee_info]\n"), "{result}");
        } else {
            assert_valid(&messages);
        }
    }
}

#[tokio::test]
async fn a_chain_of_three() {
    let answers = || {
        vec![
            call(SEARCH, json!({"query": "vacation"})),
            call(PERSON, json!({"employee_id": "EMP001"})),
            call(DAYS, json!({"employee_id": "EMP001", "year": 2025})),
            text("11.5 days."),
        ]
    };
    for family in FAMILIES {
        let room = Room::new(family, answers()).await;
        let streamed = room.stream(json!({})).await;
        assert_eq!(
            (streamed.content.as_str(), streamed.finishes.as_slice()),
            ("11.5 days.", &["stop".to_owned()][..]),
            "{family:?}"
        );
        let done: Vec<String> = traced(&streamed.trace).into_iter().map(|(name, _)| name).collect();
        assert_eq!(done, [SEARCH, PERSON, DAYS], "{family:?}");
        assert_eq!(streamed.trace["rounds"], 4);
        // What was sent before is the beginning of what is sent now.
        let asked = room.model.asked();
        for pair in asked.windows(2) {
            let (before, now) = (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
            assert_eq!(&now[..before.len()], before.as_slice(), "{family:?}");
        }
    }
}

#[tokio::test]
async fn calls_side_by_side_keep_their_order() {
    for family in FAMILIES {
        let people = ["EMP001", "EMP002", "EMP003"];
        let asked: Vec<(&str, Value)> = people.iter().map(|id| (PERSON, json!({"employee_id": id}))).collect();
        let room = Room::new(family, vec![calls(&asked), text("Three people.")]).await;
        let answer = room.answer(json!({})).await;
        assert_eq!(said(&answer), "Three people.", "{family:?}");
        assert_eq!(answer["toolglot"]["calls"].as_array().unwrap().len(), 3, "{family:?}");
        let results: String = room
            .model
            .messages()
            .iter()
            .rev()
            .take(3)
            .rev()
            .map(|message| message["content"].as_str().unwrap().to_owned())
            .collect();
        let at: Vec<usize> = ["Mina Park", "Jonas Weber", "Aiko Tanaka"].iter().map(|name| results.find(name).unwrap()).collect();
        assert!(at.is_sorted(), "{family:?}: {results}");
    }
}

#[tokio::test]
async fn an_error_goes_back_and_the_model_mends_it() {
    for family in FAMILIES {
        let answers =
            vec![call(PERSON, json!({"employee_id": "EMP404"})), call(PERSON, json!({"employee_id": "EMP002"})), text("Found.")];
        let room = Room::new(family, answers).await;
        let answer = room.answer(json!({})).await;
        assert_eq!(said(&answer), "Found.", "{family:?}");
        assert_eq!(traced(&answer["toolglot"]), [(PERSON.to_owned(), false), (PERSON.to_owned(), true)], "{family:?}");
    }
}

#[tokio::test]
async fn calls_that_are_wrong_get_a_result_too() {
    // An unknown tool, arguments that do not fit: the model is told, and nothing runs.
    for family in [Family::Native, Family::Harmony] {
        let answers = vec![
            calls(&[("builtin.sqlite__search_doc", json!({"query": "x"})), (PERSON, json!({"employee": 7}))]),
            text("Sorry."),
        ];
        let room = Room::new(family, answers).await;
        let answer = room.answer(json!({})).await;
        assert_eq!(said(&answer), "Sorry.", "{family:?}");
        assert!(traced(&answer["toolglot"]).iter().all(|(_, ok)| !ok), "{family:?}");
        let messages = room.model.messages();
        assert_valid(&messages);
        let results: Vec<&str> = messages.iter().rev().take(2).map(|message| message["content"].as_str().unwrap()).collect();
        assert!(results[1].contains("there is no tool") && results[1].contains("search_docs"), "{results:?}");
        assert!(results[0].contains("employee_id"), "{results:?}");
    }
}

#[tokio::test]
async fn bare_and_dotted_names_find_their_server() {
    for name in ["get_employee_info", "sqlite.get_employee_info", "sqlite__get_employee_info"] {
        let room = Room::new(Family::Gemma, vec![call(name, json!({"employee_id": "EMP003"})), text("ok")]).await;
        assert_eq!(traced(&room.answer(json!({})).await["toolglot"]), [(PERSON.to_owned(), true)], "{name}");
    }
    // As the origin's prompt asks for it.
    let fenced = "```json\n{\"tool\": \"sqlite.get_employee_info\", \"arguments\": {\"employee_id\": \"EMP003\"}}\n```";
    let room = Room::new(Family::Gemma, vec![text(fenced), text("ok")]).await;
    let answer = room.answer(json!({})).await;
    assert_eq!((said(&answer), traced(&answer["toolglot"])), ("ok", vec![(PERSON.to_owned(), true)]));
}

#[tokio::test]
async fn the_mode_is_chosen_in_four_ways() {
    let answers = || vec![call(PERSON, json!({"employee_id": "EMP003"})), text("ok")];
    let model = Family::Native.model();
    let ways: [(&str, &str, Option<&str>, &str); 4] = [
        ("/v1", "", Some("react"), model),
        ("/react/v1", "", None, model),
        ("/v1", "mode = \"react\"", None, model),
        ("/v1", "[[alias]]\nname = \"agent/*\"\nmodel = \"*\"\nmode = \"react\"", None, "agent/llama3.1:8b"),
    ];
    for (prefix, config, header, called) in ways {
        let room = Room::with(Family::Native, answers(), json!({}), config).await;
        let mut request = room.post(&format!("{prefix}/chat/completions"), &room.chat(json!({"model": called})));
        if let Some(mode) = header {
            request = request.header("x-toolglot-mode", mode);
        }
        let answer: Value = serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap();
        assert_eq!((said(&answer), &answer["model"]), ("ok", &json!(called)), "{prefix} {config}: {answer}");
    }
}
