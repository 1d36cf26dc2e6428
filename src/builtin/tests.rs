use serde_json::{Value, json};

use super::{Builtin, DEFINITIONS, answer};

fn run(tools: &Builtin, name: &str, arguments: Value) -> Value {
    answer(&tools.execute_tool(name, arguments.as_object().unwrap()))
}

#[test]
fn the_database_is_made_and_filled_on_first_use() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("db/mcp_data.db");
    let tools = Builtin::new(&file);
    let all = run(&tools, "get_all_employees", json!({}));
    assert_eq!(all["success"], true);
    assert_eq!(all["result"][0], json!({"id": "EMP001", "name": "Mina Park"}));
    assert!(file.is_file());
    // Used a second time it is not filled again.
    assert_eq!(run(&tools, "get_all_employees", json!({})), all);
}

#[test]
fn every_tool_answers_and_explains_its_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Builtin::new(folder.path().join("d.db"));
    let table = [
        ("calculate_vacation_days", json!({"employee_id": "EMP001", "year": 2025}), "/result/remaining", json!(11.5)),
        ("calculate_vacation_days", json!({"employee_id": "EMP002", "year": 2025}), "/result/remaining", json!(0)),
        (
            "calculate_vacation_days",
            json!({"employee_id": "EMP001", "year": 1990}),
            "/error",
            json!("there is no vacation record of EMP001 for 1990"),
        ),
        (
            "calculate_vacation_days",
            json!({"employee_id": "EMP9", "year": 2025}),
            "/error",
            json!("there is no employee `EMP9`; get_all_employees lists the ids"),
        ),
        (
            "calculate_vacation_days",
            json!({"employee_id": "EMP001", "year": "soon"}),
            "/error",
            json!("`year` must be an integer"),
        ),
        ("get_employee_info", json!({"employee_id": "EMP002"}), "/result/department", json!("Finance")),
        ("get_employee_info", json!({"employee_id": "x' OR '1'='1"}), "/success", json!(false)),
        ("get_employee_info", json!({"employee_id": 7}), "/error", json!("`employee_id` must be a string")),
        ("get_employee_info", json!({}), "/error", json!("`employee_id` is missing")),
        ("search_docs", json!({"query": "vacation"}), "/result/0/title", json!("Vacation rules")),
        ("search_docs", json!({"query": "nothing of the kind"}), "/result", json!([])),
        ("search_docs", json!({"query": "  "}), "/error", json!("`query` is empty: say which text to look for")),
        // LIKE wildcards are text.
        ("search_docs", json!({"query": "100%"}), "/result/0/title", json!("Travel expenses")),
        ("search_docs", json!({"query": "1%0"}), "/result", json!([])),
        ("search_docs", json!({"query": "release_notes"}), "/result/0/title", json!("Release checklist")),
        ("search_docs", json!({"query": "release-notes"}), "/result", json!([])),
        ("search_docs", json!({"query": "e_e"}), "/result", json!([])),
        ("search_docs", json!({"query": "\\"}), "/result", json!([])),
    ];
    for (name, arguments, path, expected) in table {
        let answer = run(&tools, name, arguments.clone());
        assert_eq!(answer.pointer(path), Some(&expected), "{name} {arguments} -> {answer}");
    }
}

#[test]
fn days_of_service_count_up() {
    let folder = tempfile::tempdir().unwrap();
    let info = run(&Builtin::new(folder.path().join("d.db")), "get_employee_info", json!({"employee_id": "EMP001"}));
    assert!(info["result"]["days_of_service"].as_i64().unwrap() > 2000, "{info}");
}

#[test]
fn failures_are_outcomes() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Builtin::new(folder.path().join("d.db"));
    let Err(error) = tools.execute_tool("drop_all", &serde_json::Map::new()) else { panic!() };
    assert!(error.contains("search_docs"), "{error}");
    std::fs::write(folder.path().join("text.db"), "this is not a database, it only claims to be one by its name").unwrap();
    let broken = Builtin::new(folder.path().join("text.db")).execute_tool("get_all_employees", &serde_json::Map::new());
    assert!(broken.is_err(), "{broken:?}");
    let folder = Builtin::new(folder.path()).execute_tool("get_all_employees", &serde_json::Map::new());
    assert!(folder.is_err());
}

#[test]
fn an_existing_database_of_the_user_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.db");
    let own = rusqlite::Connection::open(&file).unwrap();
    own.execute_batch("CREATE TABLE employees (id TEXT, name TEXT); INSERT INTO employees VALUES ('EMP100', 'Own')").unwrap();
    drop(own);
    let all = run(&Builtin::new(&file), "get_all_employees", json!({}));
    assert_eq!(all["result"], json!([{"id": "EMP100", "name": "Own"}]));
}

#[test]
fn schemas_are_json_and_sorted() {
    let names: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.name).collect();
    assert!(names.is_sorted());
    for definition in DEFINITIONS {
        assert_eq!(serde_json::from_str::<Value>(definition.schema).unwrap()["type"], "object");
    }
}
