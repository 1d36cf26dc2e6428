//! The four tools over the sample database: documents, employees, and their vacations.

use std::path::Path;

use rusqlite::Connection;
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
    rows(database, sql, [pattern], |row| {
        Ok(json!({
            "id": row.get::<_, i64>(0)?, "title": row.get::<_, String>(1)?,
            "content": row.get::<_, String>(2)?, "category": row.get::<_, Option<String>>(3)?,
        }))
    })
}

fn get_employee_info(database: &Connection, id: &str) -> Result<Value, String> {
    let sql = "SELECT id, name, department, hire_date,
                      CAST(julianday('now', 'localtime', 'start of day') - julianday(hire_date) AS INTEGER)
               FROM employees WHERE id = ?1";
    let found = database.query_row(sql, [id], |row| {
        Ok(json!({
            "id": row.get::<_, String>(0)?, "name": row.get::<_, String>(1)?,
            "department": row.get::<_, Option<String>>(2)?, "hire_date": row.get::<_, Option<String>>(3)?,
            "days_of_service": row.get::<_, Option<i64>>(4)?,
        }))
    });
    found.map_err(|error| match error {
        rusqlite::Error::QueryReturnedNoRows => no_employee(id),
        other => failed(other),
    })
}

fn get_all_employees(database: &Connection) -> Result<Value, String> {
    rows(database, "SELECT id, name FROM employees ORDER BY id", [], |row| {
        Ok(json!({"id": row.get::<_, String>(0)?, "name": row.get::<_, String>(1)?}))
    })
}

fn calculate_vacation_days(database: &Connection, id: &str, year: i64) -> Result<Value, String> {
    let known: bool =
        database.query_row("SELECT EXISTS (SELECT 1 FROM employees WHERE id = ?1)", [id], |row| row.get(0)).map_err(failed)?;
    if !known {
        return Err(no_employee(id));
    }
    let sql = "SELECT total, used FROM vacations WHERE employee_id = ?1 AND year = ?2";
    let found = database.query_row(sql, (id, year), |row| {
        let (total, used): (f64, f64) = (row.get(0)?, row.get(1)?);
        Ok(json!({
            "employee_id": id, "year": year,
            "total": number(total), "used": number(used), "remaining": number(total - used),
        }))
    });
    found.map_err(|error| match error {
        rusqlite::Error::QueryReturnedNoRows => format!("there is no vacation record of {id} for {year}"),
        other => failed(other),
    })
}

fn rows<P: rusqlite::Params>(
    database: &Connection,
    sql: &str,
    parameters: P,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<Value>,
) -> Result<Value, String> {
    let mut statement = database.prepare(sql).map_err(failed)?;
    let found = statement.query_map(parameters, read).and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>);
    found.map(Value::Array).map_err(failed)
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

/// Half days stay half days, whole ones are integers.
fn number(days: f64) -> Value {
    if days.fract() == 0.0 && days.abs() < 1e9 { json!(days as i64) } else { json!(days) }
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
