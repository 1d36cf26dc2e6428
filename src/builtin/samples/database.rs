//! Opens the database of the built-in tools, and creates and fills its three tables if they are missing.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, TransactionBehavior};

const TABLES: &str = "
    CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT NOT NULL, content TEXT NOT NULL, category TEXT);
    CREATE TABLE employees (id TEXT PRIMARY KEY, name TEXT NOT NULL, department TEXT, hire_date TEXT);
    CREATE TABLE vacations (
        employee_id TEXT NOT NULL REFERENCES employees (id), year INTEGER NOT NULL, total REAL NOT NULL, used REAL NOT NULL,
        PRIMARY KEY (employee_id, year)
    );";

const SAMPLE: &str = "
    INSERT INTO documents (title, content, category) VALUES
        ('Travel expenses', 'Receipts are handed in within 30 days. Above 100% of the estimate ask first.', 'finance'),
        ('Remote work', 'Two days a week from home are possible after the first month.', 'people'),
        ('Release checklist', 'Run the tests, tag the commit, publish release_notes.md, tell support.', 'engineering'),
        ('Vacation rules', 'Vacation is requested two weeks ahead; five days may move into the next year.', 'people'),
        ('Backup and restore', 'Databases are backed up every night and restored once a quarter as a test.', 'engineering');
    INSERT INTO employees (id, name, department, hire_date) VALUES
        ('EMP001', 'Mina Park', 'Engineering', '2019-03-04'),
        ('EMP002', 'Jonas Weber', 'Finance', '2021-09-15'),
        ('EMP003', 'Aiko Tanaka', 'Engineering', '2023-01-09'),
        ('EMP004', 'Sara Lindqvist', 'People', '2016-06-01');
    INSERT INTO vacations (employee_id, year, total, used) VALUES
        ('EMP001', 2024, 20, 18), ('EMP001', 2025, 21, 9.5), ('EMP001', 2026, 21, 4),
        ('EMP002', 2025, 25, 25), ('EMP002', 2026, 25, 11),
        ('EMP003', 2025, 20, 6), ('EMP003', 2026, 20, 12.5),
        ('EMP004', 2025, 28, 20), ('EMP004', 2026, 28, 7);";

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(2);

/// Opens the database, creating folder, file, tables and sample where they are missing.
pub(super) fn open(file: &Path) -> rusqlite::Result<Connection> {
    if let Some(folder) = file.parent() {
        // Where this fails, opening fails with the better message.
        let _ = std::fs::create_dir_all(folder);
    }
    let mut database = Connection::open(file)?;
    database.busy_timeout(BUSY)?;
    if is_new(&database)? {
        // Two processes may come here at once: the second one sees the tables of the first.
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_new(&transaction)? {
            transaction.execute_batch(TABLES)?;
            transaction.execute_batch(SAMPLE)?;
        }
        transaction.commit()?;
    }
    Ok(database)
}

fn is_new(database: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name IN ('documents', 'employees', 'vacations'))";
    database.query_row(sql, [], |row| row.get(0))
}
