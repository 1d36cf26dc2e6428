use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Applied, Policy, Values, View, merge_parameter, merge_tool};
use crate::config::Environment;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn apply(view: &View, given: Value) -> Applied {
    let environment = Environment::from([("MAIL_TOKEN", "t0ken-of-mail")]);
    let headers = [("x-user".to_owned(), "mina@example.org".to_owned())];
    view.apply(&object(given), &Values { environment: &environment, folder: Path::new("."), headers: &headers }).unwrap()
}

fn view(schema: &Value, policy: Value) -> View {
    let mut all = Policy::of_schema(schema);
    all.overlay(&Policy::parse(&policy).unwrap());
    View::new(schema, &all)
}

#[test]
fn the_first_merge_takes_what_the_model_gave_and_fills_the_rest() {
    let table = [
        // defaults, given, result
        (json!({"a": 1, "b": null}), None, Some(json!({"a": 1}))),
        (json!({"a": 1}), Some(json!(null)), Some(json!({"a": 1}))),
        (json!({"a": 1}), Some(json!({})), Some(json!({"a": 1}))),
        (json!({"a": 1}), Some(json!([])), Some(json!({"a": 1}))),
        (json!({"a": 1}), Some(json!("")), Some(json!({"a": 1}))),
        (json!({"a": 1, "c": 3}), Some(json!({"a": 2, "b": 5})), Some(json!({"a": 2, "c": 3, "b": 5}))),
        (json!({"a": 1}), Some(json!({"a": null})), Some(json!({"a": null}))),
        (json!({"a": {"x": 1}}), Some(json!({"a": {"y": 2}})), Some(json!({"a": {"y": 2}}))),
        (json!({"a": 1}), Some(json!("text")), Some(json!("text"))),
        (json!({"a": 1}), Some(json!(false)), Some(json!(false))),
        (json!({"a": 1}), Some(json!(0)), Some(json!(0))),
        (json!(20), None, Some(json!(20))),
        (json!(20), Some(json!(5)), Some(json!(5))),
        (json!(20), Some(json!(null)), Some(json!(20))),
        (json!(20), Some(json!(0)), Some(json!(0))),
        (json!({}), None, None),
        (json!({}), Some(json!(null)), None),
        (json!({"b": null}), Some(json!({})), None),
        (json!(null), None, None),
        (json!(null), Some(json!({"a": 1})), Some(json!({"a": 1}))),
    ];
    for (defaults, given, expected) in table {
        assert_eq!(merge_parameter(Some(&defaults), given.as_ref()), expected, "{defaults} under {given:?}");
    }
    assert_eq!(merge_parameter(None, Some(&json!(""))), None);
}

#[test]
fn the_second_merge_lays_the_signature_over_the_internal_values() {
    let table = [
        // internal, signature, result
        (json!({"a": 1, "b": null}), None, Some(json!({"a": 1}))),
        (json!({"a": 1}), Some(json!(null)), Some(json!({"a": 1}))),
        (json!({"a": 1, "b": 2}), Some(json!({"a": 9, "b": null, "c": null})), Some(json!({"a": 9, "b": 2}))),
        (json!({"a": 1}), Some(json!("text")), Some(json!("text"))),
        (json!({}), None, None),
        (json!({"a": null}), None, None),
        (json!({"a": null}), Some(json!(null)), None),
        // Nothing internal: the signature value goes on as it is.
        (json!({}), Some(json!({"a": null, "b": 1})), Some(json!({"a": null, "b": 1}))),
    ];
    for (internal, signature, expected) in table {
        assert_eq!(merge_tool(&object(internal.clone()), signature.as_ref()), expected, "{internal} under {signature:?}");
    }
}

/// A tool in the form of the origin: keywords inside the schema.
fn mail_list() -> Value {
    json!({
        "type": "object",
        "properties": {
            "user_email": {"type": "string"},
            "DatePeriodFilter": {"$ref": "#/$defs/Filter", "description": "period", "targetParam": "filter_params", "targetServiceFactor": "filter_defaults"},
            "columns": {"$ref": "#/$defs/Select", "targetParam": "select_params"},
            "exclude": {"$ref": "#/$defs/Exclude", "targetParam": "exclude_params"}
        },
        "required": ["user_email", "DatePeriodFilter"],
        "$defs": {
            "Filter": {"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}, "required": ["from", "to"]},
            "Select": {"type": "object", "properties": {"subject": {"type": "boolean"}}},
            "Exclude": {"type": "object", "properties": {"sender": {"$ref": "#/$defs/Address"}}},
            "Address": {"type": "string"},
            "Unused": {"$ref": "#/$defs/AlsoUnused"},
            "AlsoUnused": {"type": "null"}
        },
        "mcp_service_factors": {
            "select_internal": {"source": "internal", "baseModel": "Select", "targetParam": "select_params", "parameters": {"body_preview": {"default": true}, "subject": {"default": true}, "sender": {"default": null}}},
            "filter_defaults": {"source": "signature_defaults", "baseModel": "Filter", "parameters": {"from": {"default": "2024-01-01"}, "folder": {"default": null}}},
            "exclude_defaults": {"source": "signature_defaults", "parameters": {"sender": {"default": "noreply"}}}
        }
    })
}

#[test]
fn the_keywords_of_a_schema_do_what_the_origin_says() {
    let view = view(&mail_list(), json!({}));
    let table = [
        // Nothing given: signature defaults stand, internal values are sent, the rest is absent.
        (
            json!({"user_email": "u"}),
            json!({"user_email": "u", "filter_params": {"from": "2024-01-01"}, "exclude_params": {"sender": "noreply"}, "select_params": {"body_preview": true, "subject": true}}),
        ),
        // The model's value first, key by key.
        (
            json!({"user_email": "u", "DatePeriodFilter": {"from": "2025-05-05", "to": "2025-06-01"}, "exclude": {"sender": null}}),
            json!({"user_email": "u", "filter_params": {"from": "2025-05-05", "to": "2025-06-01"}, "exclude_params": {"sender": null}, "select_params": {"body_preview": true, "subject": true}}),
        ),
        // The shared target: the signature's keys win, its nulls do not.
        (
            json!({"columns": {"subject": false, "body_preview": null}, "DatePeriodFilter": null}),
            json!({"filter_params": {"from": "2024-01-01"}, "exclude_params": {"sender": "noreply"}, "select_params": {"body_preview": true, "subject": false}}),
        ),
        (
            json!({"columns": null}),
            json!({"filter_params": {"from": "2024-01-01"}, "exclude_params": {"sender": "noreply"}, "select_params": {"body_preview": true, "subject": true}}),
        ),
    ];
    for (given, expected) in table {
        let applied = apply(&view, given.clone());
        assert_eq!(Value::Object(applied.arguments), expected, "{given}");
        assert!(applied.dropped.is_empty());
    }
    // What only the operator fills is not the model's, even by its own name.
    let applied = apply(&view, json!({"select_params": {"subject": false}, "filter_params": {"from": "x"}}));
    assert_eq!(applied.arguments["select_params"]["subject"], true);
    assert_eq!(applied.dropped, ["select_params"]);
}

#[test]
fn the_model_sees_no_keyword_and_no_unused_definition() {
    let shown = view(&mail_list(), json!({})).schema;
    let text = shown.to_string();
    for word in
        ["targetParam", "targetServiceFactor", "mcp_service_factors", "baseModel", "Unused", "select_params", "body_preview"]
    {
        assert!(!text.contains(word), "{word} in {text}");
    }
    assert_eq!(shown["required"], json!(["user_email"]), "what has a default is not required");
    let filter = &shown["properties"]["DatePeriodFilter"];
    assert_eq!(filter["default"], json!({"from": "2024-01-01", "folder": null}));
    assert_eq!(filter["required"], json!(["to"]), "{filter}");
    assert_eq!(filter["description"], "period");
    assert!(shown["$defs"].get("Address").is_some() && shown["$defs"].get("Select").is_some());
}

#[test]
fn explicit_nulls_are_kept_where_a_merge_reads_them() {
    assert_eq!(view(&mail_list(), json!({})).keeps_null, ["DatePeriodFilter", "columns", "exclude"]);
}

fn plain() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer"},
            "tenant": {"type": "string"},
            "token": {"type": "string"},
            "select": {"type": "object"},
            "filter": {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
        },
        "required": ["query", "tenant", "token", "filter"],
        "anyOf": [{"required": ["tenant"]}, {"required": ["token"]}],
        "dependentRequired": {"tenant": ["token"]},
        "examples": [{"query": "a", "tenant": "x", "filter": {"days": 3}}]
    })
}

fn configured() -> Value {
    json!({
        "parameters": {
            "tenant": {"override": "acme-4711"},
            "token": {"hide": true, "default_from": {"env": "MAIL_TOKEN"}},
            "limit": {"default": 20},
            "Period": {"targetParam": "filter", "targetServiceFactor": "period"},
            "user": {"override_from": {"header": "X-User"}}
        },
        "mcp_service_factors": {
            "period": {"source": "signature_defaults", "parameters": {"days": {"default": 7}}},
            "columns": {"source": "internal", "targetParam": "select", "parameters": {"subject": {"default": true}}}
        }
    })
}

#[test]
fn an_operators_file_hides_renames_and_fills() {
    let view = view(&plain(), configured());
    assert_eq!(
        view.schema,
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": 20},
                "Period": {"type": "object", "properties": {"days": {"type": "integer"}}, "default": {"days": 7}}
            },
            "required": ["query"],
            "dependentRequired": {},
            "examples": [{"query": "a", "Period": {"days": 3}}]
        })
    );
    let applied = apply(&view, json!({"query": "q", "tenant": "evil", "token": "", "select": {}, "limit": null}));
    assert_eq!(
        Value::Object(applied.arguments),
        json!({
            "query": "q", "limit": 20, "tenant": "acme-4711", "token": "t0ken-of-mail", "filter": {"days": 7},
            "user": "mina@example.org", "select": {"subject": true}
        })
    );
    assert_eq!(applied.dropped, ["tenant", "token", "select"]);
    assert_eq!(applied.secrets, ["mina@example.org", "t0ken-of-mail", "acme-4711"]);
    let applied = apply(&view, json!({"query": "q", "limit": 5, "Period": {"days": 1}}));
    assert_eq!((&applied.arguments["limit"], &applied.arguments["filter"]), (&json!(5), &json!({"days": 1})));
}

#[test]
fn a_visible_parameter_may_share_the_target_of_an_internal_value() {
    let policy = json!({
        "parameters": {"columns": {"targetParam": "select"}},
        "mcp_service_factors": {"fixed": {"source": "internal", "targetParam": "select", "parameters": {"subject": {"default": true}}}}
    });
    let view = view(&plain(), policy);
    assert!(view.schema["properties"].get("columns").is_some() && view.schema["properties"].get("select").is_none());
    assert_eq!(apply(&view, json!({"columns": {"body": true}})).arguments["select"], json!({"subject": true, "body": true}));
    assert_eq!(apply(&view, json!({"columns": {}})).arguments["select"], json!({"subject": true}));
}

#[test]
fn factors_belong_by_name_and_never_by_type() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/T"}, "b": {"$ref": "#/$defs/T"}, "c": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "object"}}});
    let factor = |source: &str, value: &str| json!({"source": source, "baseModel": "T", "parameters": {"v": {"default": value}}});
    let policy = json!({"mcp_service_factors": {
        "a": factor("signature_defaults", "exact"),
        "b_defaults": factor("signature_defaults", "suffix"),
        "c_internal": factor("internal", "inside"),
        "a_defaults": factor("signature_defaults", "never"),
        "b_internal": factor("signature_defaults", "wrong suffix"),
        "other": factor("internal", "own name")
    }});
    let arguments = apply(&view(&schema, policy), json!({})).arguments;
    assert_eq!(
        Value::Object(arguments),
        json!({"a": {"v": "exact"}, "b": {"v": "suffix"}, "c": {"v": "inside"}, "other": {"v": "own name"}})
    );
}

#[test]
fn without_a_policy_nothing_changes() {
    let view = View::new(&plain(), &Policy::of_schema(&plain()));
    assert_eq!(view.schema, plain());
    let given = json!({"query": "", "limit": null, "extra": [], "filter": {}});
    assert_eq!(Value::Object(apply(&view, given.clone()).arguments), given);
    // Also beside parameters that have one.
    let policy = json!({"parameters": {"limit": {"default": 20}}});
    assert_eq!(apply(&self::view(&plain(), policy), json!({"query": "", "filter": null})).arguments["query"], "");
}

#[test]
fn what_cannot_be_had_is_an_error_that_names_it() {
    let environment = Environment::default();
    let values = Values { environment: &environment, folder: Path::new("/nonexistent"), headers: &[] };
    let table = [
        (json!({"env": "NO_SUCH"}), "environment variable NO_SUCH"),
        (json!({"file": "key"}), "file key"),
        (json!({"header": "X-User"}), "header `X-User`"),
    ];
    for (source, expected) in table {
        let view = view(&plain(), json!({"parameters": {"token": {"override_from": source}}}));
        let error = view.apply(&Map::new(), &values).unwrap_err();
        assert!(error.contains(expected) && error.contains("`token`"), "{error}");
    }
}

#[test]
fn a_file_gives_its_text_without_the_last_line_ending() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "abc 1\r\n").unwrap();
    let environment = Environment::default();
    let view = view(&plain(), json!({"parameters": {"token": {"override_from": {"file": "key"}}}}));
    let applied = view.apply(&Map::new(), &Values { environment: &environment, folder: folder.path(), headers: &[] }).unwrap();
    assert_eq!(applied.arguments["token"], "abc 1");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_because_reading_it_might_never_end() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("key")).status().unwrap().success());
    let environment = Environment::default();
    let view = view(&plain(), json!({"parameters": {"token": {"override_from": {"file": "key"}}}}));
    let error = view.apply(&Map::new(), &Values { environment: &environment, folder: folder.path(), headers: &[] }).unwrap_err();
    assert!(error.contains("regular file"), "{error}");
}

#[test]
fn mistakes_in_the_file_are_named() {
    let table = [
        (json!([]), "must be an object"),
        (json!({"parameter": {}}), "`parameter` is unknown"),
        (json!({"parameters": {"a": {"hidden": true}}}), "`parameters.a`: unknown field `hidden`"),
        (json!({"parameters": {"a": {"default_from": {"vault": "x"}}}}), "expected one of `env`, `file`, `header`"),
        (json!({"mcp_service_factors": {"f": {"parameters": {}}}}), "`mcp_service_factors.f`: missing field `source`"),
    ];
    for (policy, expected) in table {
        let error = Policy::parse(&policy).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
