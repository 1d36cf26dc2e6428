//! `/generate` and `/generate_with_mcp`: JSON-RPC 2.0.

use super::*;

const PERSON: &str = "builtin.sqlite__get_employee_info";

fn request(params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "generate", "params": params})
}

async fn ask(room: &Room, path: &str, body: &Value) -> Value {
    let response = room.post(path, body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

fn user() -> Value {
    json!([{"role": "user", "content": "Who is EMP003?"}])
}

#[tokio::test]
async fn an_answer_with_what_was_called_for_it() {
    for family in FAMILIES {
        let room = Room::new(family, vec![call(PERSON, json!({"employee_id": "EMP003"})), text("Aiko Tanaka.")]).await;
        let params = json!({"model": family.model(), "messages": user(), "temperature": 0.1, "max_output_tokens": 64, "max_iterations": 5});
        let answer = ask(&room, "/generate_with_mcp", &request(params)).await;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
        let result = &answer["result"];
        assert_eq!((&result["content"], &result["model"]), (&json!("Aiko Tanaka."), &json!(family.model())), "{answer}");
        assert_eq!(result["usage"]["total_tokens"], 220);
        let made = &result["tool_calls"][0];
        assert_eq!((&made["name"], &made["arguments"]), (&json!(PERSON), &json!({"employee_id": "EMP003"})));
        assert!(made["result"].as_str().unwrap().contains("Aiko Tanaka"), "{made}");
        let asked = room.model.asked()[0].to_string();
        assert!(asked.contains("0.1") && asked.contains("64"), "{asked}");
    }
}

#[tokio::test]
async fn the_last_answer_counts_as_a_round() {
    for (most, requests) in [(Some(3), 3), (Some(1), 1), (None, 5), (Some(50), 5)] {
        let searches = (0..9).map(|at| call("builtin.sqlite__search_docs", json!({"query": format!("q{at}")})));
        let room = Room::new(Family::Native, searches.collect()).await;
        let mut params = json!({"model": Family::Native.model(), "messages": user()});
        if let Some(most) = most {
            params["max_iterations"] = json!(most);
        }
        let answer = ask(&room, "/generate_with_mcp", &request(params)).await;
        let asked = room.model.asked();
        assert_eq!(asked.len(), requests, "{answer}");
        assert!(asked.last().unwrap().get("tools").is_none());
        assert_eq!(answer["result"]["tool_calls"].as_array().unwrap().len(), requests - 1);
    }
}

#[tokio::test]
async fn without_tools_it_is_a_plain_answer() {
    let room = Room::new(Family::Native, vec![text("Hello.")]).await;
    let answer = ask(&room, "/generate", &request(json!({"messages": user()}))).await;
    assert_eq!((&answer["result"]["content"], &answer["result"]["tool_calls"]), (&json!("Hello."), &json!([])));
    assert_eq!(answer["result"]["model"], Family::Native.model(), "the only one there is");
    assert!(room.model.asked()[0].get("tools").is_none());
    // Servers by name.
    let params = json!({"messages": user(), "mcp_servers": ["sqlite"]});
    ask(&room, "/generate_with_mcp", &request(params)).await;
    assert_eq!(room.model.asked()[1]["tools"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn the_request_that_the_endpoint_was_designed_for_is_answered() {
    // source: own; the example of the design document that this endpoint comes from, byte for byte.
    const BODY: &str = r#"{
    "jsonrpc": "2.0",
    "method": "generate_content",
    "params": {
      "messages": [{"role": "user", "content": "안녕하세요를 음성으로 생성해줘"}],
      "max_iterations": 5
    },
    "id": 1
  }"#;
    // Its schema has a default for `jsonrpc`.
    let short = BODY.replace("\"jsonrpc\": \"2.0\",", "");
    for (path, body) in [("/generate_with_mcp", BODY), ("/generate", BODY), ("/generate_with_mcp", &short)] {
        let room = Room::new(Family::Native, vec![text("음성 생성이 완료되었습니다!")]).await;
        let request =
            client().post(format!("{}{path}", room.url)).header("Content-Type", "application/json").body(body.to_owned());
        let answer: Value = serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap();
        let expected = json!({"content": "음성 생성이 완료되었습니다!", "id": 1});
        assert_eq!(json!({"content": answer["result"]["content"], "id": answer["id"]}), expected, "{path}: {answer}");
        assert!(room.model.asked()[0].to_string().contains("안녕하세요를 음성으로 생성해줘"));
    }
}

#[tokio::test]
async fn wrong_requests_get_errors_of_the_protocol() {
    let room = Room::new(Family::Native, vec![text("Hello.")]).await;
    let table = [
        (json!([]), -32600),
        (json!({"jsonrpc": "1.0", "id": 1, "method": "generate", "params": {}}), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": 3, "params": {}}), -32600),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "generate"}), -32602),
        (request(json!({"messages": "hi"})), -32602),
        (request(json!({"messages": []})), -32602),
        (request(json!({"messages": [{"content": "no role"}]})), -32602),
        (request(json!({"messages": user(), "max_iterations": 0})), -32602),
        (request(json!({"messages": user(), "mcp_servers": ["nobody"]})), -32602),
    ];
    for (body, code) in table {
        let answer = ask(&room, "/generate_with_mcp", &body).await;
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty() && answer.get("result").is_none());
        assert_eq!(answer["id"], body.get("id").cloned().unwrap_or_default());
    }
    let request = client().post(format!("{}/generate", room.url)).header("content-type", "application/json");
    let response = request.body("{").send().await.unwrap();
    let answer: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &json!(null)));
    assert!(room.model.asked().is_empty());
}

#[tokio::test]
async fn a_notification_gets_no_answer() {
    let room = Room::new(Family::Native, vec![text("Hello.")]).await;
    for params in [json!({"messages": user()}), json!({"messages": []})] {
        let body = json!({"jsonrpc": "2.0", "method": "generate", "params": params});
        let response = room.post("/generate_with_mcp", &body).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (204, ""));
    }
    assert_eq!(room.model.asked().len(), 1, "it runs");
}
