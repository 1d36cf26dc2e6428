//! A prompt that takes minutes to be read, in a time that a test can wait for: the clock stands still while nothing happens.

use std::sync::Arc;

use futures_util::{StreamExt, pin_mut};
use tokio::time::Instant;
use toolglot::{
    backend::{Backend, Learned, Model, Replay},
    client::{self, Hints, front},
    config::Mode,
    fixture::Fixture,
    mcp,
    openai::ChatRequest,
    plan::{self, Caller, Passed, Plan},
    store::Memory,
    turn::{self, Shared},
    upstream::{Client, Timeouts},
};

use super::{chat::request, *};
use crate::seen::library;

/// A turn before a model that says nothing for this long, then calls.
fn turn(front: front::Kind, stream: bool, silence: Duration) -> (Plan, Shared) {
    let request = request(stream);
    let call = json!({"message": {"content": "{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}"}, "done": false});
    let end = json!({"message": {"content": ""}, "done": true, "done_reason": "stop"});
    let recorded = format!("# Slow.\n=== request\n{request}\n=== stream ollama\n\n@{}ms\n{call}\n{end}\n", silence.as_millis());
    let backend = Arc::new(Backend::replay("slow", Replay::new([Fixture::parse(&recorded).unwrap()])));
    let config = Config::parse("", None, &Overrides::default(), &Environment::default()).unwrap();
    let plan = plan::plan(
        &config,
        plan::Request {
            incoming: client::read(ChatRequest::parse(request.as_bytes()).unwrap(), &Hints::default()).unwrap(),
            mode: Mode::Rewrite,
            front,
            backend,
            learned: Learned::default(),
            model: &Model::named("m"),
            adapter: library().find("m", None).adapter,
            caller: Caller::default(),
            passed: Passed::default(),
            react: None,
        },
    );
    let store = || Arc::new(Memory::default());
    let client = Client::new(Timeouts::default());
    let pool = mcp::open(&config.mcp, &Environment::default(), store()).unwrap();
    (
        plan.unwrap(),
        Shared {
            client,
            store: store(),
            spool: store(),
            schemas: Arc::default(),
            tally: Arc::default(),
            asked_again: Arc::default(),
            without_client: Arc::new(tokio::sync::Semaphore::new(toolglot::turn::WITHOUT_CLIENT)),
            pool,
        },
    )
}

#[tokio::test(start_paused = true)]
async fn minutes_of_silence_are_bridged_and_end_with_the_call() {
    for (front, sign, wanted) in [
        (front::Kind::OpenAi, ": keep-alive\n\n", "\"tool_calls\""),
        (front::Kind::Ollama, "\"content\":\"\"},\"done\":false}\n", "\"tool_calls\""),
        (front::Kind::Messages, "event: ping\ndata: {\"type\":\"ping\"}\n\n", "\"input_json_delta\""),
        (front::Kind::Responses, "\"incomplete_details\":null}}\n\n", "\"response.output_item.done\""),
    ] {
        let silence = Duration::from_secs(20 * 60);
        let (plan, shared) = turn(front, true, silence);
        let begun = Instant::now();
        let answer = turn::run(plan, shared, Vec::new());
        pin_mut!(answer);
        let (mut last, mut signs, mut said) = (begun, 0, String::new());
        while let Some(piece) = answer.next().await {
            let piece = String::from_utf8(piece.unwrap().to_vec()).unwrap();
            assert!(last.elapsed() <= Duration::from_millis(5001), "{front:?}: silent for {:?}", last.elapsed());
            last = Instant::now();
            if piece.ends_with(sign) && !piece.contains(wanted) { signs += 1 } else { said += &piece }
        }
        assert!(begun.elapsed() >= silence && signs >= 239, "{front:?}: {signs} signs in {:?}", begun.elapsed());
        assert!(said.contains(wanted), "{front:?}: {said}");
    }
    // Who does not stream gets nothing in between, and the call in the end.
    let (plan, shared) = turn(front::Kind::OpenAi, false, Duration::from_secs(25 * 60));
    let (whole, _) = turn::collect(plan, shared, Vec::new()).await.unwrap();
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls", "{whole}");
}
