//! What becomes of running calls when the client leaves, and of the same request when it comes again.

use std::time::{Duration, Instant};

use super::*;
use crate::mcp::{eventually, shell, shell_with, text as content, with};

/// A server that notes each call and each message about a call, and does this when its tool is called.
fn noting(seen: &std::path::Path, on_call: &str, more: Value) -> Value {
    let entry = with(shell(&format!("echo called >> \"$SEEN\"; {on_call}")), json!({"env": {"SEEN": seen}}));
    with(entry, more)
}

/// A room whose servers note in the file `seen` of its folder.
async fn room(answers: Vec<Says>, servers: impl Fn(&std::path::Path) -> Value, config: &str) -> (Room, PathBuf) {
    let room = Room::with(Family::Native, answers, json!({}), config).await;
    let seen = room.path("seen");
    std::fs::write(room.path("mcp.json"), json!({"mcpServers": servers(&seen)}).to_string()).unwrap();
    room.reload();
    (room, seen)
}

/// Sends the request, and leaves once the file says that so many calls have begun.
async fn leave(room: &Room, path: &str, body: &Value, seen: &std::path::Path, calls: usize) {
    let request = room.post(path, body).send();
    let client = tokio::spawn(async move {
        if let Ok(response) = request.await {
            let _ = response.text().await;
        }
    });
    eventually("the call reaches the server", || content(seen).matches("called").count() == calls).await;
    client.abort();
}

#[tokio::test]
async fn a_call_that_only_reads_ends_with_its_client() {
    for streamed in [true, false] {
        // It takes the call and goes on listening.
        let reads = json!({"timeout_seconds": 60, "effects": {"act": "reads"}});
        let servers = |seen: &std::path::Path| json!({"slow": noting(seen, ":", reads.clone())});
        let (room, seen) = room(vec![call("slow__act", json!({})), text("never")], servers, "").await;
        leave(&room, "/react/v1/chat/completions", &room.chat(json!({"stream": streamed})), &seen, 1).await;
        let left = Instant::now();
        while !content(&seen).contains("notifications/cancelled") {
            assert!(left.elapsed() < Duration::from_secs(3), "the call runs on");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        println!("streamed {streamed}: cancelled at the server after {:?}", left.elapsed());
        assert!(left.elapsed() < Duration::from_millis(500), "{:?}", left.elapsed());
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(room.model.asked().len(), 1, "the model is not asked again");
    }
}

#[tokio::test]
async fn a_call_with_effects_runs_on_and_the_repeated_request_gets_its_result() {
    let ask = json!({"model": Family::Native.model(), "max_tokens": 100, "messages": [{"role": "user", "content": "Pay."}]});
    let items = json!({"model": Family::Native.model(), "store": false, "input": "Pay."});
    for (path, request) in [
        ("/react/v1/chat/completions", &ask),
        ("/react/v1/messages", &ask),
        ("/react/v1/responses", &items),
        ("/react/api/chat", &ask),
    ] {
        for streamed in [true, false] {
            let mut request = request.clone();
            request["stream"] = json!(streamed);
            // The model repeats the call, too, after its result.
            let pay = || call("bank__act", json!({"n": 5}));
            let answers = vec![pay(), pay(), text("Done.")];
            let servers = |seen: &std::path::Path| json!({"bank": noting(seen, "sleep 1; text paid", json!({}))});
            let (room, seen) = room(answers, servers, "").await;
            leave(&room, path, &request, &seen, 1).await;
            // The first repetition is too early and leaves, too.
            let early = tokio::time::timeout(Duration::from_millis(200), room.post(path, &request).send()).await;
            assert!(streamed || early.is_err(), "{path}: it did not wait");
            drop(early);
            let raw = room.post(path, &request).send().await.unwrap().text().await.unwrap();
            assert!(raw.contains("Done."), "{path}: {raw}");
            let told: Vec<Value> = room.model.messages().into_iter().filter(|message| message["role"] == "tool").collect();
            assert_eq!((told.len(), &told[0]["content"]), (1, &json!("paid")), "{path}: {told:?}");
            assert_eq!(content(&seen).matches("called").count(), 1, "{path}, streamed {streamed}: {}", content(&seen));
            assert!(!content(&seen).contains("cancelled"), "{path}");
            assert_valid(&room.model.messages());
        }
    }
}

#[tokio::test]
async fn what_had_not_begun_does_not_begin_and_what_had_ended_stays() {
    let two = calls(&[("bank__act", json!({"n": 1})), ("bank__act", json!({"n": 2})), ("look__act", json!({}))]);
    let servers = |seen: &std::path::Path| json!({"bank": noting(seen, "sleep 1; text paid", json!({})), "look": with(shell(":"), json!({"effects": {"act": "reads"}}))});
    let (room, seen) = room(vec![two, text("One is paid.")], servers, "").await;
    let body = room.chat(json!({}));
    leave(&room, "/react/v1/chat/completions", &body, &seen, 1).await;
    assert_eq!(said(&room.answer(json!({})).await), "One is paid.");
    let messages = room.model.messages();
    assert_valid(&messages);
    let told: Vec<&str> =
        messages.iter().filter(|one| one["role"] == "tool").map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(told, ["paid", "error: not run: the client had left", "error: not run: the client had left"]);
    assert_eq!(content(&seen).matches("called").count(), 1);
}

#[tokio::test]
async fn a_call_that_had_ended_counts_although_another_one_still_ran() {
    let two = calls(&[("bank__act", json!({})), ("look__act", json!({}))]);
    let servers = |seen: &std::path::Path| {
        let look = with(shell("echo called >> \"$SEEN\""), json!({"env": {"SEEN": seen}, "effects": {"act": "reads"}}));
        json!({"bank": noting(seen, "text paid", json!({})), "look": look})
    };
    let (room, seen) = room(vec![two, text("Paid.")], servers, "").await;
    leave(&room, "/react/v1/chat/completions", &room.chat(json!({})), &seen, 2).await;
    assert_eq!(said(&room.answer(json!({})).await), "Paid.");
    assert!(room.model.messages().iter().any(|message| message["content"] == "paid"), "{:?}", room.model.messages());
    assert_eq!(content(&seen).matches("called").count(), 2);
}

#[tokio::test]
async fn the_calls_of_the_client_in_the_same_answer_are_made_anew() {
    let own = json!([{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]);
    let both = calls(&[("bank__act", json!({})), ("read_file", json!({}))]);
    let servers = |seen: &std::path::Path| json!({"bank": noting(seen, "sleep 1; text paid", json!({}))});
    let (room, seen) = room(vec![both, call("read_file", json!({}))], servers, "").await;
    leave(&room, "/react/v1/chat/completions", &room.chat(json!({"tools": own})), &seen, 1).await;
    let answer = room.answer(json!({"tools": own})).await;
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "read_file", "{answer}");
    assert_valid(&room.model.messages());
    assert_eq!(content(&seen).matches("called").count(), 1);
}

#[tokio::test]
async fn a_call_that_does_not_end_is_told_as_unknown_and_not_repeated() {
    let pay = || call("bank__act", json!({"n": 5}));
    let servers = |seen: &std::path::Path| json!({"bank": noting(seen, ":", json!({"timeout_seconds": 1}))});
    let (room, seen) = room(vec![pay(), pay(), text("Please look whether it is paid.")], servers, "").await;
    leave(&room, "/react/v1/chat/completions", &room.chat(json!({})), &seen, 1).await;
    let answer = room.answer(json!({})).await;
    let told = "[toolglot] The second call of bank__act was not run: the outcome of the same call before is unknown";
    assert!(said(&answer).starts_with(told) && said(&answer).ends_with("Please look whether it is paid."), "{}", said(&answer));
    let result = room.model.messages().into_iter().find(|message| message["role"] == "tool").unwrap()["content"].clone();
    assert!(
        result.as_str().unwrap().contains("the outcome of the call is unknown. It may have had its effect: do not"),
        "{result}"
    );
    assert_eq!(content(&seen).matches("called").count(), 1);
}

#[tokio::test]
async fn tenants_do_not_share_running_calls() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    std::fs::write(&keys, "ann:k-ann\nbob:k-bob\n").unwrap();
    let servers = |seen: &std::path::Path| json!({"bank": noting(seen, "sleep 1; text paid", json!({}))});
    let answers = vec![call("bank__act", json!({})), call("bank__act", json!({})), text("Paid.")];
    let (room, seen) = room(answers, servers, &format!("api_keys_file = \"{}\"", keys.display())).await;
    let ask = |key: &str| room.post("/react/v1/chat/completions", &room.chat(json!({}))).bearer_auth(key).send();
    let ann = tokio::spawn(ask("k-ann"));
    eventually("the first call", || content(&seen).contains("called")).await;
    ann.abort();
    let answer = ask("k-bob").await.unwrap().text().await.unwrap();
    assert!(answer.contains("Paid."), "{answer}");
    assert_eq!(content(&seen).matches("called").count(), 2, "the call of one is not the call of the other");
}

#[tokio::test]
async fn a_repeated_call_with_effects_that_is_dropped_is_told() {
    let list = r#"reply '{"tools":[{"name":"pop","inputSchema":{"type":"object"}}]}'"#;
    let queue = json!({"queue": shell_with("text item", list)});
    let pop = || call("queue__pop", json!({}));
    let room = Room::with(Family::Native, vec![pop(), pop(), text("I have one item.")], queue.clone(), "").await;
    let answer = room.answer(json!({})).await;
    let told = "[toolglot] The second call of queue__pop was not run: the same call ran just before. If it is wanted once more, \
                say so in a new message\n";
    assert_eq!(said(&answer), format!("{told}I have one item."));
    assert_eq!(traced(&answer["toolglot"]), [("queue__pop".to_owned(), true), ("queue__pop".to_owned(), false)]);
    let last = room.model.messages().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(last.contains("The second call of queue__pop was not run") && last.contains("You have this result."), "{last}");
    // Beside another call, the same.
    let more = calls(&[("queue__pop", json!({})), ("queue__pop", json!({"all": true}))]);
    let room = Room::with(Family::Native, vec![pop(), more, text("I have two.")], queue, "").await;
    let answer = room.answer(json!({})).await;
    assert_eq!(said(&answer), format!("{told}I have two."));
    assert_valid(&room.model.messages());
}
