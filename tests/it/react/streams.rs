//! What a streaming client sees while tools run, and what happens when it leaves.

use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::*;
use crate::mcp::{eventually, shell};

const PERSON: &str = "builtin.sqlite__get_employee_info";

fn person() -> Says {
    Says::Calls("Let me look.", vec![(PERSON.into(), json!({"employee_id": "EMP003"}))])
}

#[tokio::test]
async fn the_prose_of_every_round_and_one_end() {
    for family in FAMILIES {
        let room = Room::new(family, vec![person(), text("She is Aiko Tanaka.")]).await;
        let streamed = room.stream(json!({"stream_options": {"include_usage": true}})).await;
        assert_eq!(streamed.content, "Let me look.\nShe is Aiko Tanaka.", "{family:?}");
        assert_eq!(streamed.finishes, ["stop"], "{family:?}");
        assert!(streamed.calls.is_empty() && streamed.raw.matches("\"role\"").count() == 1, "{family:?}");
        assert!(
            streamed.raw.contains(r#""usage":{"prompt_tokens":200,"completion_tokens":20,"total_tokens":220}"#),
            "{family:?}"
        );
        assert!(streamed.comments.iter().any(|line| line == &format!("running {PERSON} ...")), "{:?}", streamed.comments);
        // Not streamed, it is the same.
        let room = Room::new(family, vec![person(), text("She is Aiko Tanaka.")]).await;
        assert_eq!(said(&room.answer(json!({})).await), streamed.content, "{family:?}");
    }
}

#[tokio::test]
async fn progress_is_shown_as_the_user_wants_it() {
    for (progress, reasoning, comments) in [("reasoning", true, false), ("comment", false, true), ("off", false, false)] {
        let room =
            Room::with(Family::Native, vec![person(), text("ok")], json!({}), &format!("react.progress = \"{progress}\"")).await;
        let streamed = room.stream(json!({"toolglot": {}})).await;
        let line = format!("running {PERSON} ...");
        assert_eq!(streamed.reasoning.contains(&line), reasoning, "{progress}: {}", streamed.reasoning);
        assert_eq!(streamed.comments.contains(&line), comments, "{progress}: {:?}", streamed.comments);
        assert_eq!(streamed.content, "Let me look.\nok", "{progress}");
        assert!(streamed.trace.is_null(), "a trace was not asked for");
    }
}

#[tokio::test]
async fn prose_does_not_wait_for_the_tool() {
    let slow = json!({"slow": shell("sleep 2; text done")});
    let answers = vec![Says::Calls("One moment.", vec![("slow__act".into(), json!({}))]), text("Done.")];
    let room = Room::with(Family::Native, answers, slow, "").await;
    let body = room.chat(json!({"stream": true}));
    let response = room.post("/react/v1/chat/completions", &body).send().await.unwrap();
    let (mut stream, mut all, mut first) = (response.bytes_stream(), String::new(), None);
    while let Some(piece) = stream.next().await {
        all += std::str::from_utf8(&piece.unwrap()).unwrap();
        if first.is_none() && Streamed::parts(&all).contains("One moment.") {
            first = Some(Instant::now());
        }
    }
    assert!(first.unwrap().elapsed() > Duration::from_millis(1500), "it came with the tool's result");
    assert_eq!(Streamed::of(&all).content, "One moment.\nDone.");
}

#[tokio::test]
async fn a_client_that_leaves_takes_the_models_request_with_it() {
    let mut room = Room::new(Family::Native, vec![person(), Says::Hangs]).await;
    let request = room.post("/react/v1/chat/completions", &room.chat(json!({"stream": true}))).send();
    let client = tokio::spawn(async move { request.await.unwrap().text().await });
    eventually("the model is asked a second time", || room.model.asked().len() == 2).await;
    room.model.fake.forget_closed();
    let left = Instant::now();
    client.abort();
    let closed = room.model.fake.closed().await;
    println!("the model's request is gone after {:?}", closed.duration_since(left));
    assert!(closed.duration_since(left) < Duration::from_millis(500));
}

#[tokio::test]
async fn five_rounds_side_by_side_do_not_mix() {
    let rooms = futures_util::future::join_all((0..5).map(|_| Room::new(Family::Gemma, vec![person(), text("ok")]))).await;
    let answers = futures_util::future::join_all(rooms.iter().map(|room| room.stream(json!({})))).await;
    assert!(answers.iter().all(|answer| answer.content == "Let me look.\nok"));
}

#[tokio::test]
async fn a_fault_after_tools_ran_does_not_make_an_agent_ask_again() {
    let ask =
        json!({"model": Family::Native.model(), "max_tokens": 100, "messages": [{"role": "user", "content": "Who is she?"}]});
    let items = json!({"model": Family::Native.model(), "store": false, "input": "Who is she?"});
    for (path, request, end) in [
        ("/react/v1/messages", &ask, "event: message_stop"),
        ("/react/v1/responses", &items, "event: response.completed"),
        ("/react/v1/chat/completions", &ask, "data: [DONE]"),
        ("/react/api/chat", &ask, "\"done\":true"),
    ] {
        for streamed in [true, false] {
            let room = Room::new(Family::Native, vec![person(), Says::Fails]).await;
            let mut request = request.clone();
            request["stream"] = json!(streamed);
            let response = room.post(path, &request).send().await.unwrap();
            assert_eq!(response.status(), 200, "{path}");
            let raw = response.text().await.unwrap();
            assert!(raw.contains("could not go on") && raw.contains("the model has crashed"), "{path}: {raw}");
            assert!(!streamed || raw.contains(end), "{path}: {raw}");
        }
        // Nothing has run: the fault is told, and the client may ask again.
        let room = Room::new(Family::Native, vec![Says::Fails]).await;
        let mut request = request.clone();
        request["stream"] = json!(false);
        let response = room.post(path, &request).send().await.unwrap();
        assert!(response.status().is_server_error(), "{path}");
    }
}

#[tokio::test]
async fn a_request_that_is_repeated_goes_on_where_it_was_broken_off() {
    let ask = json!({"model": Family::Native.model(), "max_tokens": 100, "stream": true,
        "messages": [{"role": "user", "content": "Who is she?"}]});
    let room = Room::new(Family::Native, vec![person(), Says::Hangs, text("She is Aiko Tanaka."), text("Again?")]).await;
    let request = room.post("/react/v1/messages", &ask).send();
    let client = tokio::spawn(async move { request.await.unwrap().text().await });
    eventually("the model is asked a second time", || room.model.asked().len() == 2).await;
    client.abort();
    let raw = room.post("/react/v1/messages", &ask).send().await.unwrap().text().await.unwrap();
    assert!(raw.contains("Aiko") && raw.contains("event: message_stop"), "{raw}");
    // What the model had when the client left is what it gets now, and no tool has run in between.
    let asked = room.model.asked();
    assert_eq!((asked.len(), &asked[2]["messages"]), (3, &asked[1]["messages"]));
    // The turn has had its end: the same request is a new one.
    room.post("/react/v1/messages", &ask).send().await.unwrap().text().await.unwrap();
    assert_eq!(room.model.asked()[3]["messages"], asked[0]["messages"]);
}
