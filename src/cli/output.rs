//! What commands read and write: files, and standard output with text, JSON and tables.

use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead, IsTerminal, Read, Write},
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{error::Error, redact};

/// The text of a file that the command line names.
pub(super) fn read(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(|error| Error::client(format!("{}: {error}", file.display())))
}

/// All of standard input. A person at a terminal is told that it is read.
pub(super) fn typed(input: &mut dyn Read, what: &str) -> Result<String, Error> {
    if io::stdin().is_terminal() {
        let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
        remark(&mut io::stderr(), &format!("reads {what} from standard input: type or paste it, and end it with {end}"));
    }
    let mut text = String::new();
    input.read_to_string(&mut text).map_err(broken)?;
    Ok(text)
}

/// The rows of JSON lines, without empty lines. An error names the line.
pub(super) fn rows<T: DeserializeOwned>(input: &mut dyn BufRead) -> impl Iterator<Item = Result<T, Error>> {
    input.lines().enumerate().filter_map(|(at, line)| match line {
        Ok(line) if line.trim().is_empty() => None,
        Ok(line) => Some(serde_json::from_str(&line).map_err(|error| Error::client(format!("line {}: {error}", at + 1)))),
        Err(error) => Some(Err(broken(error))),
    })
}

/// Writes a row of JSON lines.
pub(super) fn row(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, value).map_err(|error| broken(error.into()))?;
    writeln!(out).map_err(broken)
}

/// Reading or writing failed.
pub(super) fn broken(error: io::Error) -> Error {
    Error::proxy(format!("standard input or output: {error}"))
}

/// Writes a whole output.
pub(super) fn print(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(broken)
}

/// Writes a remark for people, which is not part of the data. Nobody is left to hear that standard error is closed.
pub(super) fn remark(remarks: &mut dyn Write, text: &str) {
    let _ = writeln!(remarks, "toolglot: {}", redact::printable(text));
}

/// The end of a command that found this many problems and has printed them: a failure if there are any.
pub(super) fn fail_with(problems: usize) -> Result<(), Error> {
    match problems {
        0 => Ok(()),
        1 => Err(Error::proxy("1 problem")),
        many => Err(Error::proxy(format!("{many} problems"))),
    }
}

/// A value as the text of `--json`.
pub(super) fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| Error::proxy(error.to_string()))
}

/// The rows of a table as lines, each column as wide as its widest cell.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> impl Iterator<Item = String> {
    rows.iter().map(move |row| {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
            let _ = write!(line, "{cell:width$}  ");
        }
        line.truncate(line.trim_end().len());
        line
    })
}
