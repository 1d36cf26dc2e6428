//! The four tools over the sample database: documents, employees, and their vacations.

use std::path::Path;

use rusqlite::{Connection, Params, Row, types::ValueRef};
use serde_json::{Map, Value, json};

use super::Definition;

mod database;

/// The tools, sorted by name.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        name: "calculate_vacation_days",
        description: "Remaining vacation days of an employee in a year: total minus used.",
        schema: r#"{"type":"object","properties":{"employee_id":{"type":"string","description":"Employee id such as EMP001"},"year":{"type":"integer","description":"Calendar year such as 2025"}},"required":["employee_id","year"],"additionalProperties":false}"#,
    },
    Definition {
        name: "get_all_employees",
        description: "Ids and names of all employees.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
    },
    Definition {
        name: "get_employee_info",
        description: "One employee: name, department, hire date and days of service until today.",
        schema: r#"{"type":"object","properties":{"employee_id":{"type":"string","description":"Employee id such as EMP001"}},"required":["employee_id"],"additionalProperties":false}"#,
    },
    Definition {
        name: "search_docs",
        description: "Company documents whose title or content contains the text (at most 20).",
        schema: r#"{"type":"object","properties":{"query":{"type":"string","description":"Text to look for","minLength":1}},"required":["query"],"additionalProperties":false}"#,
    },
];

/// Runs a tool; the error is a sentence that a model can act on.
pub(super) fn run(file: &Path, name: &str, arguments: &Map<String, Value>) -> Result<Value, String> {
    // A connection per call: opening costs microseconds, and nothing is shared between calls.
    let open = || database::open(file).map_err(failed);
    match name {
        "search_docs" => search_docs(&open()?, text(arguments, "query")?),
        "get_employee_info" => get_employee_info(&open()?, text(arguments, "employee_id")?),
        "get_all_employees" => get_all_employees(&open()?),
        "calculate_vacation_days" => {
            calculate_vacation_days(&open()?, text(arguments, "employee_id")?, integer(arguments, "year")?)
        }
        _ => Err(format!("there is no built-in tool `{name}`; there are {}", names())),
    }
}

fn search_docs(database: &Connection, query: &str) -> Result<Value, String> {
    if query.trim().is_empty() {
        return Err("`query` is empty: say which text to look for".into());
    }
    let pattern = format!("%{}%", query.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_"));
    let sql = r"SELECT id, title, content, category FROM documents
                WHERE title LIKE ?1 ESCAPE '\' OR content LIKE ?1 ESCAPE '\' ORDER BY id LIMIT 20";
    rows(database, sql, [pattern]).map(Value::Array)
}

fn get_employee_info(database: &Connection, id: &str) -> Result<Value, String> {
    let sql = "SELECT id, name, department, hire_date,
                      CAST(julianday('now', 'localtime', 'start of day') - julianday(hire_date) AS INTEGER) AS days_of_service
               FROM employees WHERE id = ?1";
    rows(database, sql, [id])?.pop().ok_or_else(|| no_employee(id))
}

fn get_all_employees(database: &Connection) -> Result<Value, String> {
    rows(database, "SELECT id, name FROM employees ORDER BY id", []).map(Value::Array)
}

fn calculate_vacation_days(database: &Connection, id: &str, year: i64) -> Result<Value, String> {
    if rows(database, "SELECT id FROM employees WHERE id = ?1", [id])?.is_empty() {
        return Err(no_employee(id));
    }
    let sql =
        "SELECT employee_id, year, total, used, total - used AS remaining FROM vacations WHERE employee_id = ?1 AND year = ?2";
    let found = rows(database, sql, (id, year))?.pop();
    found.ok_or_else(|| format!("there is no vacation record of {id} for {year}"))
}

/// The rows that a query finds, as objects with the names of its columns.
fn rows(database: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<Value>, String> {
    let mut statement = database.prepare(sql).map_err(failed)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let object = |row: &Row<'_>| {
        let member = |(at, name): (usize, &String)| Ok::<_, rusqlite::Error>((name.clone(), json_of(row.get_ref(at)?)));
        names.iter().enumerate().map(member).collect::<rusqlite::Result<Map<String, Value>>>().map(Value::Object)
    };
    let found = statement.query_map(parameters, object).and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>);
    found.map_err(failed)
}

/// A value of a column. Half days stay half days, whole ones are integers.
fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(days) if days.fract() == 0.0 && days.abs() < 1e9 => json!(days as i64),
        ValueRef::Real(days) => json!(days),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    match arguments.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{key}` must be a string")),
        None => Err(format!("`{key}` is missing")),
    }
}

fn integer(arguments: &Map<String, Value>, key: &str) -> Result<i64, String> {
    match arguments.get(key) {
        Some(value) => value.as_i64().ok_or_else(|| format!("`{key}` must be an integer")),
        None => Err(format!("`{key}` is missing")),
    }
}

fn no_employee(id: &str) -> String {
    format!("there is no employee `{id}`; get_all_employees lists the ids")
}

fn failed(error: rusqlite::Error) -> String {
    format!("the database cannot be read: {error}")
}

fn names() -> String {
    DEFINITIONS.iter().map(|definition| definition.name).collect::<Vec<_>>().join(", ")
}
