//! A tool's name and arguments -> what it found in a small local SQLite database. The built-in tools exist so that MCP, the
//! tools runner and the agent loop can be tried without any other server; [`Builtin::execute_tool`] is their one entry.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Map, Value, json};

mod database;
#[cfg(test)]
mod tests;

/// The built-in tools over one database file.
#[derive(Debug, Clone)]
pub struct Builtin {
    file: PathBuf,
}

/// What a built-in tool is called, does and takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The name.
    pub name: &'static str,
    /// What it is for, as a model is told.
    pub description: &'static str,
    /// JSON Schema of its arguments, as JSON text.
    pub schema: &'static str,
}

/// How a tool ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// What it found.
    Success(Value),
    /// What was wrong, as a sentence that a model can act on.
    Failure(String),
}

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

// === impl Builtin ===

impl Builtin {
    /// Tools over this database file, which is created with a small sample when it is first used.
    pub fn new(file: impl Into<PathBuf>) -> Builtin {
        Builtin { file: file.into() }
    }

    /// The database file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Runs a tool. Never fails otherwise than by its [`Outcome`]. Blocks for the time of a few file reads.
    pub fn execute_tool(&self, name: &str, arguments: &Map<String, Value>) -> Outcome {
        self.run(name, arguments).map_or_else(Outcome::Failure, Outcome::Success)
    }

    fn run(&self, name: &str, arguments: &Map<String, Value>) -> Result<Value, String> {
        // A connection per call: opening costs microseconds, and nothing is shared between calls.
        let open = || database::open(&self.file).map_err(failed);
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
}

// === impl Outcome ===

impl Outcome {
    /// `{"success":true,"result":..}` or `{"success":false,"error":".."}`.
    pub fn to_value(&self) -> Value {
        match self {
            Outcome::Success(result) => json!({"success": true, "result": result}),
            Outcome::Failure(error) => json!({"success": false, "error": error}),
        }
    }

    /// Whether it failed.
    pub fn is_failure(&self) -> bool {
        matches!(self, Outcome::Failure(_))
    }
}

// === the tools ===

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

// === private ===

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
    match days.fract() == 0.0 && days.abs() < 1e9 {
        true => json!(days as i64),
        false => json!(days),
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
