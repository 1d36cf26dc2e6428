use serde_json::json;

use super::*;

#[test]
fn the_backends_own_message_is_unwrapped() {
    let cases: &[(u16, &str, &str, Option<&str>)] = &[
        (
            400,
            r#"{"error":"registry.example/library/small:4b does not support tools"}"#,
            "registry.example/library/small:4b does not support tools",
            None,
        ),
        (
            404,
            r#"{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}"#,
            "model 'x' not found",
            Some("model_not_found"),
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"Bad field","status":"INVALID_ARGUMENT"}}]"#,
            "Bad field",
            Some("INVALID_ARGUMENT"),
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}"#,
            "request exceeds the available context size",
            Some("context_length_exceeded"),
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens","code":400}"#,
            "This model's maximum context length is 4096 tokens",
            Some("context_length_exceeded"),
        ),
        (
            400,
            r#"{"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","code":400}}"#,
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            Some("context_length_exceeded"),
        ),
        (
            422,
            r#"{"detail":[{"loc":["body","max_tokens"],"msg":"field required"},{"loc":["body","n",0],"msg":"too many"}]}"#,
            "body.max_tokens: field required; body.n.0: too many",
            None,
        ),
        (401, r#"{"detail":"Unauthorized"}"#, "Unauthorized", None),
        (502, "<html><h1>Bad\nGateway</h1></html>", "the backend answered with HTTP status 502 and a page: Bad Gateway", None),
        (502, "<html></html>", "the backend answered with HTTP status 502 and no message", None),
        (500, "", "the backend answered with HTTP status 500 and no message", None),
        (429, "slow down", "slow down", None),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"this model does not support tools"}}}"#,
            "Provider returned error: this model does not support tools",
            None,
        ),
    ];
    for (status, body, message, code) in cases {
        let error = error_from(*status, body.as_bytes());
        assert_eq!((error.status, error.message.as_str(), error.code.as_deref()), (*status, *message, *code), "{body}");
        assert_eq!(error.blame, crate::error::Blame::Backend);
    }
    assert_eq!(error_from(302, b"").status, 502);
    assert!(error_from(500, "x".repeat(1 << 20).as_bytes()).message.len() <= SHOWN_CHARS + "...".len());
}

#[test]
fn refusals_are_told_from_faults() {
    let cases = [
        ("registry.ollama.ai/library/gemma3:4b does not support tools", Some(Refusal::Tools)),
        ("gemma3 does not support tools\nvision", Some(Refusal::Tools)),
        ("\"gemma3\" does not support thinking", Some(Refusal::Form(Rewrite::NoThinking))),
        ("Function calling is not enabled for models/gemma-3-27b-it", Some(Refusal::Tools)),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", Some(Refusal::Form(Rewrite::FoldSystem))),
        ("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", Some(Refusal::Tools)),
        ("tools param requires --jinja flag", Some(Refusal::Tools)),
        ("No endpoints found that support tool use. Try another model.", Some(Refusal::Tools)),
        ("Unable to generate parser for this template: System role not supported", Some(Refusal::Form(Rewrite::FoldSystem))),
        ("Thinking is not enabled for models/gemma-3-27b-it", Some(Refusal::Form(Rewrite::NoThinking))),
        ("Invalid JSON payload received. Unknown name \"store\": Cannot find field.", Some(Refusal::Field("store".into()))),
        ("property 'prompt_cache_key' is unsupported", Some(Refusal::Field("prompt_cache_key".into()))),
        ("Unrecognized request argument supplied: verbosity", Some(Refusal::Field("verbosity".into()))),
        ("Conversation roles must alternate user/assistant/user/assistant/...", Some(Refusal::Form(Rewrite::Alternate))),
        ("Only user and assistant roles are supported!", Some(Refusal::Form(Rewrite::Alternate))),
        ("Failed to parse input at pos 204: <tool_call>", Some(Refusal::Parser)),
        ("error parsing tool call: raw='{', err=unexpected end of JSON input", Some(Refusal::Parser)),
        ("The model produced output that does not match the expected peg-native format", Some(Refusal::Parser)),
        // Ollama 0.17.4, as it answered: qwen3, qwen3-coder, glm, ministral.
        ("think value \"high\" is not supported for this model", Some(Refusal::Form(Rewrite::NoEffort))),
        ("failed to parse JSON: unexpected end of JSON input", Some(Refusal::Parser)),
        ("XML syntax error on line 3: element <parameter> closed by </function>", Some(Refusal::Parser)),
        ("failed to parse XML: EOF", Some(Refusal::Parser)),
        ("tool 'read' not found", Some(Refusal::Parser)),
        ("model 'x' not found", None),
        ("CUDA out of memory", None),
    ];
    for (message, refusal) in cases {
        for error in [error_from(400, json!({"error": message}).to_string().as_bytes()), in_stream(&json!({"message": message}))]
        {
            assert_eq!(Refusal::of(&error), refusal, "{message}");
        }
    }
}
