use proptest::prelude::*;

use super::*;
use crate::{
    backend::Refusal,
    event::{Channel, Usage},
    wire::{Frames, Framing},
};

/// What a stream decodes to when it arrives in pieces of this size: one line per delta, and how it failed. `by_pattern`: or each
/// frame is read as JSON, whole.
fn pieces(dialect: Dialect, stream: &str, size: usize, by_pattern: bool) -> (Vec<String>, Option<Error>) {
    let mut frames = Frames::new(dialect.framing(), 1 << 20);
    let mut decoder = Decoder::new(dialect);
    let mut seen = Vec::new();
    let mut out = |delta: Delta<'_>| {
        seen.push(match delta {
            Delta::Text(Channel::Content, text) => format!("text {text}"),
            Delta::Text(Channel::Reasoning, text) => format!("reasoning {text}"),
            Delta::Call(call) => {
                let extra = call.extra.map(|extra| format!(" {extra}")).unwrap_or_default();
                format!("call {} {} {}{extra}", call.id.unwrap_or("-"), call.name, call.arguments)
            }
            Delta::Usage(Usage { prompt_tokens, completion_tokens, cached_tokens: 0, reasoning_tokens: 0 }) => {
                format!("usage {prompt_tokens} {completion_tokens}")
            }
            Delta::Usage(Usage { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens }) => {
                format!("usage {prompt_tokens} ({cached_tokens}) {completion_tokens} ({reasoning_tokens})")
            }
            Delta::StopSequence(stop) => format!("stopped at {stop}"),
            Delta::Finish(reason) => format!("finish {}", reason.as_str()),
        });
    };
    let mut run = || -> Result<(), Error> {
        for piece in stream.as_bytes().chunks(size) {
            frames.push(piece);
            while let Some(frame) = frames.next()? {
                decoder.pattern = decoder.pattern.take().filter(|_| by_pattern);
                decoder.frame(frame, &mut out)?;
            }
        }
        if let Some(frame) = frames.finish() {
            decoder.frame(frame, &mut out)?;
        }
        decoder.finish(&mut out)
    };
    let failed = run().err();
    (seen, failed)
}

fn decoded(dialect: Dialect, stream: &str) -> (Vec<String>, Option<Error>) {
    let whole = pieces(dialect, stream, stream.len().max(1), false);
    for size in [1, 2, 3, 7, usize::MAX] {
        assert_eq!(pieces(dialect, stream, size, true), whole, "in pieces of {size}: {stream}");
    }
    whole
}

/// The deltas of an answer that is fine.
fn deltas(dialect: Dialect, stream: &str) -> Vec<String> {
    let (seen, failed) = decoded(dialect, stream);
    assert_eq!(failed, None, "{stream}");
    seen
}

/// Chunks of the only choice: each delta is the JSON inside `delta`; the finish and `[DONE]` follow.
fn openai(chunks: &[&str], finish: &str) -> String {
    let mut stream = String::new();
    for delta in chunks {
        stream += &format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n");
    }
    stream + &format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{finish}\"}}]}}\n\ndata: [DONE]\n\n")
}

fn calls(fragments: &[&str]) -> Vec<String> {
    let chunks: Vec<String> = fragments.iter().map(|fragment| format!("{{\"tool_calls\":[{fragment}]}}")).collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let mut seen = deltas(Dialect::OpenAi, &openai(&chunks, "tool_calls"));
    assert_eq!(seen.pop().as_deref(), Some("finish tool_calls"));
    seen
}

#[test]
fn fragments_become_the_calls_that_were_meant() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "head and fragments",
            &[
                r#"{"index":0,"id":"a1","type":"function","function":{"name":"look","arguments":""}}"#,
                r#"{"index":0,"function":{"arguments":"{\"at\": "}}"#,
                r#"{"index":0,"function":{"arguments":"\"x\"}"}}"#,
            ],
            &[r#"call a1 look {"at": "x"}"#],
        ),
        (
            "two calls in order",
            &[
                r#"{"index":0,"id":"a1","function":{"name":"look","arguments":"{\"n\":1}"}}"#,
                r#"{"index":1,"id":"a2","function":{"name":"look","arguments":"{\"n\""}}"#,
                r#"{"index":1,"function":{"arguments":":2}"}}"#,
            ],
            &[r#"call a1 look {"n":1}"#, r#"call a2 look {"n":2}"#],
        ),
        (
            "index 0 for all, no ids",
            &[
                r#"{"index":0,"function":{"name":"find","arguments":"{\"q\":\"a\"}"}}"#,
                r#"{"index":0,"function":{"name":"find","arguments":"{\"q\":\"b\"}"}}"#,
            ],
            &[r#"call - find {"q":"a"}"#, r#"call - find {"q":"b"}"#],
        ),
        (
            "the same call twice is two calls",
            &[
                r#"{"index":0,"function":{"name":"tick","arguments":"{}"}}"#,
                r#"{"index":0,"function":{"name":"tick","arguments":"{}"}}"#,
            ],
            &["call - tick {}", "call - tick {}"],
        ),
        (
            "index 0 for all, other ids, the first without arguments",
            &[
                r#"{"index":0,"id":"a1","function":{"name":"now"}}"#,
                r#"{"index":0,"id":"a2","function":{"name":"day","arguments":"{}"}}"#,
            ],
            &["call a1 now ", "call a2 day {}"],
        ),
        (
            "no index",
            &[
                r#"{"id":"g1","function":{"name":"look","arguments":"{\"a\":"}}"#,
                r#"{"function":{"arguments":"1}"}}"#,
                r#"{"id":"g2","function":{"name":"look","arguments":"{\"a\":2}"}}"#,
            ],
            &[r#"call g1 look {"a":1}"#, r#"call g2 look {"a":2}"#],
        ),
        (
            "the index counts per chunk, and begins anywhere",
            &[
                r#"{"index":3,"id":"x","function":{"name":"look","arguments":"{"}}"#,
                r#"{"index":0,"function":{"arguments":"}"}}"#,
            ],
            &["call x look {}"],
        ),
        (
            "explicit nulls in fragments",
            &[
                r#"{"index":0,"id":"814","type":"function","function":{"name":"look","arguments":""}}"#,
                r#"{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{\"a\":1"}}"#,
                r#"{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"}"}}"#,
            ],
            &[r#"call 814 look {"a":1}"#],
        ),
        (
            "head repeated on every fragment",
            &[
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":"{\"a\""}}"#,
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":":1}"}}"#,
            ],
            &[r#"call r look {"a":1}"#],
        ),
        (
            "arguments from their beginning every time",
            &[
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":"{\"a\""}}"#,
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":"{\"a\":[1"}}"#,
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":"{\"a\":[1]}"}}"#,
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":"{\"a\":[1]}"}}"#,
            ],
            &[r#"call r look {"a":[1]}"#],
        ),
        (
            "a value that repeats the beginning is no repetition",
            &[
                r#"{"index":0,"id":"r","function":{"name":"look","arguments":"{\"a\":["}}"#,
                r#"{"index":0,"function":{"arguments":"{\"a\":[2]}]}"}}"#,
            ],
            &[r#"call r look {"a":[{"a":[2]}]}"#],
        ),
        (
            "a new id for every fragment",
            &[
                r#"{"index":0,"id":"i1","function":{"name":"look","arguments":"{\"a\":"}}"#,
                r#"{"index":0,"id":"i2","function":{"arguments":"1}"}}"#,
            ],
            &[r#"call i1 look {"a":1}"#],
        ),
        (
            "split name",
            &[
                r#"{"index":0,"id":"s","function":{"name":"read_"}}"#,
                r#"{"index":0,"function":{"name":"file","arguments":"{}"}}"#,
            ],
            &["call s read_file {}"],
        ),
        (
            "the id comes late, an empty name after it",
            &[
                r#"{"index":0,"function":{"name":"look","arguments":""}}"#,
                r#"{"index":0,"id":"late","function":{"name":"","arguments":"{}"}}"#,
            ],
            &["call late look {}"],
        ),
        (
            "empty object first, arguments then",
            &[
                r#"{"index":0,"id":"e","function":{"name":"look","arguments":"{}"}}"#,
                r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#,
            ],
            &[r#"call e look {"a":1}"#],
        ),
        (
            "arguments as an object, their order kept",
            &[r#"{"index":0,"id":"o","function":{"name":"look","arguments":{"z": 1, "a": [2.50]}}}"#],
            &[r#"call o look {"z": 1, "a": [2.50]}"#],
        ),
        (
            "interleaved",
            &[
                r#"{"index":0,"id":"p","function":{"name":"one","arguments":"{\"a\":"}}"#,
                r#"{"index":1,"id":"q","function":{"name":"two","arguments":"{\"b\":"}}"#,
                r#"{"index":0,"function":{"arguments":"1}"}}"#,
                r#"{"index":1,"function":{"arguments":"2}"}}"#,
            ],
            &[r#"call p one {"a":1}"#, r#"call q two {"b":2}"#],
        ),
        (
            "several in one delta",
            &[
                r#"{"index":0,"id":"p","function":{"name":"one","arguments":"{}"}},{"index":1,"id":"q","function":{"name":"two","arguments":"{}"}}"#,
            ],
            &["call p one {}", "call q two {}"],
        ),
        (
            "one id for all calls",
            &[
                r#"{"index":0,"id":"c","function":{"name":"look","arguments":"{\"n\":1}"}}"#,
                r#"{"index":1,"id":"c","function":{"name":"find","arguments":"{\"q\""}}"#,
                r#"{"index":1,"id":"c","function":{"arguments":":2}"}}"#,
                r#"{"index":2,"id":"c","function":{"name":"find","arguments":"{}"}}"#,
            ],
            &[r#"call c look {"n":1}"#, r#"call - find {"q":2}"#, "call - find {}"],
        ),
        (
            "one id, and an index that counts fragments",
            &[
                r#"{"index":0,"id":"c","function":{"name":"look","arguments":"{\"n\""}}"#,
                r#"{"index":1,"id":"c","function":{"name":"look","arguments":":1}"}}"#,
            ],
            &[r#"call c look {"n":1}"#],
        ),
        (
            "all calls once more in the last chunk",
            &[
                r#"{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\": 1}"}}"#,
                r#"{"index":1,"id":"b","function":{"name":"find","arguments":"{}"}}"#,
                r#"{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\":1}"}},{"index":1,"id":"b","function":{"name":"find","arguments":"{}"}}"#,
            ],
            &[r#"call a look {"n": 1}"#, "call b find {}"],
        ),
        (
            "the same call under another index",
            &[
                r#"{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}"#,
                r#"{"index":1,"id":"a","function":{"name":"look","arguments":"{}"}}"#,
            ],
            &["call a look {}"],
        ),
        (
            "a new id and the name in every delta",
            &[
                r#"{"index":0,"id":"a","function":{"name":"look","arguments":""}}"#,
                r#"{"index":0,"id":"b","function":{"name":"look","arguments":"{\"n\""}}"#,
                r#"{"index":0,"id":"c","function":{"name":"look","arguments":":1}"}}"#,
                r#"{"index":0,"id":"d","function":{"name":"look","arguments":"{\"n\":2}"}}"#,
            ],
            &[r#"call a look {"n":1}"#, r#"call d look {"n":2}"#],
        ),
        (
            "a signature alone in a delta",
            &[
                r#"{"id":"g","function":{"name":"look","arguments":"{}"}}"#,
                r#"{"extra_content":{"google":{"thought_signature":"c2ln"}}}"#,
            ],
            &[r#"call g look {} {"google":{"thought_signature":"c2ln"}}"#],
        ),
        (
            "what is torn stays torn: the fixer judges it",
            &[r#"{"index":0,"id":"t","function":{"name":"look","arguments":"{\"a\": \"b"}}"#],
            &[r#"call t look {"a": "b"#],
        ),
    ];
    for (what, fragments, expected) in cases {
        assert_eq!(calls(fragments), *expected, "{what}");
    }
}

#[test]
fn calls_come_in_the_order_of_their_indices() {
    let call =
        |index: usize, id: &str| format!(r#"{{"index":{index},"id":"{id}","function":{{"name":"look","arguments":"{{}}"}}}}"#);
    for order in [[1, 0, 2], [2, 1, 0], [1, 2, 0], [0, 1, 2]] {
        let fragments: Vec<String> = order.iter().map(|index| call(*index, &format!("c{index}"))).collect();
        let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
        assert_eq!(calls(&fragments), ["call c0 look {}", "call c1 look {}", "call c2 look {}"], "{order:?}");
    }
    // A server that counts from 1, and one that gives no index to some.
    assert_eq!(calls(&[&call(1, "a"), &call(2, "b")]), ["call a look {}", "call b look {}"]);
    let bare = r#"{"id":"b","function":{"name":"look","arguments":"{}"}}"#;
    assert_eq!(calls(&[&call(1, "a"), bare]), ["call a look {}", "call b look {}"]);
}

#[test]
fn a_call_leaves_before_the_text_that_follows_it() {
    let stream = openai(
        &[
            r#"{"role":"assistant","content":null}"#,
            r#"{"content":"Let me see. "}"#,
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":"{}"}}]}"#,
            r#"{"content":"And the result is 7."}"#,
        ],
        "tool_calls",
    );
    assert_eq!(
        deltas(Dialect::OpenAi, &stream),
        ["text Let me see. ", "call c look {}", "text And the result is 7.", "finish tool_calls"]
    );
}

#[test]
fn reasoning_is_found_under_each_of_its_names_once() {
    let stream = openai(
        &[
            r#"{"reasoning_content":"a"}"#,
            r#"{"reasoning":"b","content":""}"#,
            r#"{"reasoning":"c","reasoning_content":"c"}"#,
            r#"{"reasoning":"d","content":"e"}"#,
            r#"{"reasoning":null,"reasoning_details":[{"text":"x"}],"content":[{"type":"text","text":"f"}]}"#,
        ],
        "stop",
    );
    let expected = ["reasoning a", "reasoning b", "reasoning c", "reasoning d", "text e", "text f", "finish stop"];
    assert_eq!(deltas(Dialect::OpenAi, &stream), expected);
}

#[test]
fn usage_and_finish_come_once_at_the_end() {
    // As each server writes it: counts on every chunk, on the finish chunk, after it.
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n",
        ": ping\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}],\"usage\":null}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11},\"timings\":{\"n\":1}}\n\n",
        "data: [DONE]\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"never\"}}]}\n\n",
    );
    assert_eq!(deltas(Dialect::OpenAi, stream), ["text a", "usage 9 2", "finish length"]);
}

#[test]
fn cached_and_reasoning_tokens_are_counted() {
    let openai = concat!(
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":9,",
        "\"prompt_tokens_details\":{\"cached_tokens\":25},\"completion_tokens_details\":{\"reasoning_tokens\":3}}}\n\n",
        "data: [DONE]\n\n",
    );
    assert!(deltas(Dialect::OpenAi, openai).contains(&"usage 30 (25) 9 (3)".to_owned()));
    let google = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":",
        "{\"promptTokenCount\":30,\"cachedContentTokenCount\":25,\"candidatesTokenCount\":6,\"thoughtsTokenCount\":3}}\n\n",
    );
    assert!(deltas(Dialect::Google, google).contains(&"usage 30 (25) 9 (3)".to_owned()));
}

#[test]
fn a_whole_completion_is_read_like_a_stream() {
    let body = r#"{
      "object": "chat.completion",
      "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "So: ",
        "tool_calls": [{"id": "w", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}]}}],
      "usage": {"prompt_tokens": 3, "completion_tokens": 4}
    }"#;
    assert_eq!(deltas(Dialect::OpenAi, body), ["text So: ", r#"call w look {"a":1}"#, "usage 3 4", "finish tool_calls"]);
    let body = r#"{"choices":[{"index":0,"finish_reason":null,"message":{"content":"whole"}}]}"#;
    assert_eq!(deltas(Dialect::OpenAi, body), ["text whole", "finish stop"]);
}

#[test]
fn a_legacy_call_beside_the_same_call_counts_once() {
    let call = r#"{"name":"look","arguments":"{}"}"#;
    let both = format!(r#"{{"function_call":{call},"tool_calls":[{{"index":0,"id":"a","function":{call}}}]}}"#);
    assert_eq!(deltas(Dialect::OpenAi, &openai(&[&both], "tool_calls")), ["call a look {}", "finish tool_calls"]);
}

#[test]
fn ollama_lines_are_read() {
    let stream = concat!(
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"Looking."},"done":false}"#,
        "\n",
        r#"{"message":{"content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"look","arguments":{"z":1,"a":"ü"}}},{"function":{"name":"now","arguments":{}}}]},"done":false}"#,
        "\n",
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":5}"#,
        "\n",
    );
    assert_eq!(
        deltas(Dialect::Ollama, stream),
        ["reasoning hm", "text Looking.", r#"call call_1 look {"z":1,"a":"ü"}"#, "call - now {}", "usage 26 5", "finish stop"]
    );
    let call = r#"{"message":{"tool_calls":[{"id":"c","function":{"name":"look","arguments":{"z":1}}}]},"done":false}"#;
    let again = format!("{call}\n{}", call.replace("false", "true"));
    assert_eq!(deltas(Dialect::Ollama, &again), [r#"call c look {"z":1}"#, "finish stop"], "the last line repeats the call");
    let whole = r#"{"message":{"role":"assistant","content":"cut"},"done":true,"done_reason":"length","eval_count":5}"#;
    assert_eq!(deltas(Dialect::Ollama, whole), ["text cut", "usage 0 5", "finish length"]);
}

#[test]
fn google_events_are_read_in_both_framings() {
    let events = [
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Look"}]},"index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1}}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"b":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"f2","name":"now"}}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":4,"thoughtsTokenCount":2}}"#,
    ];
    let expected = [
        "reasoning hm",
        "text Look",
        r#"call - look {"b":1} {"google":{"thought_signature":"c2ln"}}"#,
        "call f2 now ",
        "usage 7 (0) 6 (2)",
        "finish stop",
    ];
    let sse: String = events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect();
    assert_eq!(deltas(Dialect::Google, &sse), expected);
    assert_eq!(deltas(Dialect::Google, &format!("[{}\n]", events.join(",\n"))), expected);
}

#[test]
fn finish_reasons_of_google() {
    let of = |reason: &str| {
        decoded(
            Dialect::Google,
            &format!(
                "data: {{\"candidates\":[{{\"finishReason\":\"{reason}\",\"finishMessage\":\"print(x='unknown field'\"}}]}}\n\n"
            ),
        )
    };
    for (reason, expected) in [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("OTHER", "stop")] {
        assert_eq!(of(reason), (vec![format!("finish {expected}")], None));
    }
    let error = of("MALFORMED_FUNCTION_CALL").1.expect("nothing was said");
    assert_eq!(error.code.as_deref(), Some("malformed_function_call"));
    assert!(error.message.contains("print(x"), "{error}");
    assert_eq!(Refusal::of(&error), Some(Refusal::Parser), "whatever the model wrote: {error}");
    let blocked = decoded(Dialect::Google, "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n");
    assert_eq!(blocked, (vec!["finish content_filter".into()], None));
}

#[test]
fn an_error_inside_the_stream_is_the_backends_own() {
    use Dialect::{Google, Ollama, OpenAi};
    let cases: &[(Dialect, &str, u16, &str)] = &[
        (
            Ollama,
            "{\"message\":{\"content\":\"a\"}}\n{\"error\":\"an error was encountered while running the model\"}\n",
            502,
            "an error was encountered while running the model",
        ),
        (
            OpenAi,
            "data: {\"error\":{\"code\":500,\"message\":\"Failed to parse input at pos 17\",\"type\":\"server_error\"}}\n\ndata: [DONE]\n\n",
            500,
            "Failed to parse input at pos 17",
        ),
        (OpenAi, "event: error\ndata: {\"error\":\"Model unloaded.\"}\n\n", 502, "Model unloaded."),
        (OpenAi, "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":400}\n\n", 400, "boom"),
        (OpenAi, "event: error\ndata: {\"message\":\"boom\"}\n\n", 502, "boom"),
        (OpenAi, "error: {\"code\":500,\"message\":\"slot gone\",\"type\":\"server_error\"}\n\n", 500, "slot gone"),
        (OpenAi, "data: {\"detail\":\"not here\"}\n\n", 502, "not here"),
        (OpenAi, "data: {\"detail\":[{\"loc\":[\"body\",\"n\"],\"msg\":\"too many\"}]}\n\n", 502, "body.n: too many"),
        (
            OpenAi,
            "<html>log in</html>",
            502,
            "the backend sent something that cannot be read (expected value at line 1 column 1): <html>log in</html>",
        ),
        (
            OpenAi,
            "[{\n  \"error\": {\"code\": 429, \"message\": \"quota\", \"status\": \"RESOURCE_EXHAUSTED\"}\n}]",
            429,
            "quota",
        ),
        (Google, "data: {\"error\":{\"code\":503,\"message\":\"overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n", 503, "overloaded"),
    ];
    for (dialect, stream, status, message) in cases {
        let error = decoded(*dialect, stream).1.expect(stream);
        assert_eq!((error.status, error.message.as_str()), (*status, *message), "{stream}");
    }
    // A chunk without choices is no error.
    let usage = "data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2},\"message\":\"x\"}\n\ndata: {\"id\":\"x\"}\n\ndata: [DONE]\n\n";
    assert_eq!(deltas(OpenAi, usage), ["usage 1 2", "finish stop"]);
    // `"error": null` is none.
    assert_eq!(
        deltas(OpenAi, "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"),
        ["text a", "finish stop"]
    );
}

#[test]
fn an_end_without_a_finish_is_an_error_and_no_stop() {
    let torn = [
        (Dialect::OpenAi, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"),
        (Dialect::OpenAi, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"del"),
        (Dialect::Ollama, "{\"message\":{\"content\":\"a\"},\"done\":false}\n"),
        (Dialect::Ollama, "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"message\":{\"con"),
        (Dialect::Google, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n"),
    ];
    for (dialect, stream) in torn {
        let (seen, failed) = decoded(dialect, stream);
        assert_eq!(seen, ["text a"], "{stream}");
        assert_eq!(failed.and_then(|error| error.code).as_deref(), Some("backend_incomplete"), "{stream}");
    }
    // The backend says that it is done, but never why.
    let told = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n";
    assert_eq!(deltas(Dialect::OpenAi, told), ["text a", "finish stop"]);
    // A call that was pending then is not delivered.
    let stream = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"rm\",\"arguments\":\"{}\"}}]}}]}\n\n";
    assert_eq!(decoded(Dialect::OpenAi, stream).0, Vec::<String>::new());
    // Nor is an answer nothing.
    assert!(decoded(Dialect::OpenAi, "").1.is_some());
}

#[test]
fn bytes_that_are_no_utf8_are_replaced_and_cost_nothing_else() {
    let text = |dialect: Dialect, stream: &[u8], size: usize| {
        let (mut frames, mut decoder, mut all) = (Frames::new(dialect.framing(), 1000), Decoder::new(dialect), String::new());
        let mut out = |delta: Delta<'_>| {
            if let Delta::Text(_, text) = delta {
                all.push_str(text);
            }
        };
        for piece in stream.chunks(size) {
            frames.push(piece);
            while let Some(frame) = frames.next().unwrap() {
                decoder.frame(frame, &mut out).unwrap();
            }
        }
        decoder.finish(&mut out).unwrap();
        all
    };
    // A stray byte, half a character, and whole ones around them.
    let piece = b"{\"choices\":[{\"delta\":{\"content\":\"\xe2\x82\xaca\xffb \xe2\x82\"}}]}";
    let good = "{\"choices\":[{\"delta\":{\"content\":\" €\"}}]}".as_bytes();
    let sse = [b"data: ", &piece[..], b"\n\ndata: ", good, b"\n\ndata: ", piece, b"\n\ndata: [DONE]\n\n"].concat();
    let line = b"{\"message\":{\"content\":\"\xe2\x82\xaca\xffb \xe2\x82\"}}\n";
    let lines = [&line[..], b"{\"message\":{\"content\":\" \xe2\x82\xac\"}}\n", line, b"{\"done\":true}\n"].concat();
    for size in 1..=sse.len() {
        for (dialect, stream) in [(Dialect::OpenAi, &sse), (Dialect::Ollama, &lines)] {
            assert_eq!(text(dialect, stream, size), "€a�b � €€a�b �", "{dialect:?} in pieces of {size}");
        }
    }
}

#[test]
fn half_of_a_surrogate_pair_in_a_frame_is_one_character_that_is_none() {
    let stream = openai(&[r#"{"content":"a\ud83d"}"#, r#"{"content":"\uD83D\uDE00 \ude00\\ud83d"}"#], "stop");
    assert_eq!(deltas(Dialect::OpenAi, &stream), ["text a\u{fffd}", "text \u{1f600} \u{fffd}\\ud83d", "finish stop"]);
}

#[test]
fn an_answer_whose_finish_was_seen_survives_a_broken_connection() {
    let mut decoder = Decoder::new(Dialect::OpenAi);
    let mut seen = Vec::new();
    let chunk = br#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    decoder.frame(chunk, &mut |delta| seen.push(format!("{delta:?}"))).expect("a chunk");
    assert!(!decoder.is_done());
    decoder.finish(&mut |delta| seen.push(format!("{delta:?}"))).expect("complete");
    assert!(decoder.is_done());
    assert_eq!(seen.len(), 2);
}

#[test]
fn what_cannot_be_read_is_shown() {
    let error = decoded(Dialect::OpenAi, "data: <html>busy</html>\n\n").1.expect("not JSON");
    assert_eq!(error.code.as_deref(), Some("backend_unreadable"));
    assert!(error.message.contains("<html>busy"), "{error}");
}

#[test]
fn only_the_first_choice_is_read() {
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n\
                  data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(deltas(Dialect::OpenAi, stream), ["text a", "finish stop"]);
}

#[test]
fn framing_follows_from_the_dialect() {
    assert_eq!(Dialect::Ollama.framing(), Framing::Lines);
    assert_eq!(Dialect::OpenAi.framing(), Framing::Sse);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn frames_that_look_alike_are_read_as_they_are(
        frames in prop::collection::vec((0..4usize, 0..5usize, "[a-c \"\\\\\n\u{e9}\u{2028}]{0,4}", any::<bool>()), 0..12)
    ) {
        let string = |text: &str, escaped: bool| {
            let plain = serde_json::Value::from(text).to_string();
            if escaped { plain.replace('a', "\\u0061") } else { plain }
        };
        let (mut sse, mut lines) = (String::new(), String::new());
        for (field, more, text, escaped) in &frames {
            let (field, text) = (["content", "reasoning_content", "role", "thinking"][*field], string(text, *escaped));
            let more = ["", ",\"usage\":null", ",\"usage\":{\"prompt_tokens\":1}", ",\"error\":null", ",\"x\":{\"content\":\"y\"}"][*more];
            sse += &format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"{field}\":{text}}}}}]{more}}}\n\n");
            lines += &format!("{{\"created_at\":\"2026-01-0{}T00:00:00Z\",\"message\":{{\"{field}\":{text}}},\"done\":false{more}}}\n", more.len());
        }
        sse += "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        lines += "{\"message\":{\"content\":\"\"},\"done\":true}\n";
        decoded(Dialect::OpenAi, &sse);
        decoded(Dialect::Ollama, &lines);
    }
}

#[test]
fn reasoning_in_a_list_of_parts_is_reasoning() {
    let chunk = |content: &str| {
        format!(r#"data: {{"choices":[{{"index":0,"delta":{{"content":{content}}},"finish_reason":null}}]}}"#) + "\n\n"
    };
    let parts = [
        r#"[{"type":"thinking","thinking":[{"type":"text","text":"Hm. "}]}]"#,
        r#"[{"type":"thinking","thinking":"Well."},{"type":"text","text":"Hel"}]"#,
        r#"[{"type":"text","text":"lo"}]"#,
        "\"!\"",
        "null",
    ];
    let stream: String = parts.iter().map(|part| chunk(part)).chain(["data: [DONE]\n\n".to_owned()]).collect();
    let (seen, failed) = decoded(Dialect::OpenAi, &stream);
    assert_eq!(seen, ["reasoning Hm. ", "reasoning Well.", "text Hel", "text lo", "text !", "finish stop"]);
    assert_eq!(failed, None);
}

#[test]
fn lists_in_lists_are_not_followed() {
    let deep = format!("data: {}{}\n\n", "[".repeat(20_000), "]".repeat(20_000));
    let stream = format!("{deep}{}", openai(&[r#"{"content":"a"}"#], "stop"));
    let (_, failed) = decoded(Dialect::OpenAi, &stream);
    assert_eq!(failed.map(|error| error.message), None);
}
