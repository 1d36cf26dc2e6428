//! How fast arguments are checked and repaired, beside serde_json and the repair libraries of the field, in one run: each
//! round measures every candidate once in time of the processor, and the best round counts, so that a busy machine disturbs
//! them little and all alike.
//!
//! What a row includes: `serde_json` reads the text, no more. `toolglot` is the whole of `fix` without a schema: the
//! strict parse, where that fails the reading that repairs, the report with a path for every repair, and the arguments as text;
//! `with schema` adds the coercions and the validation, which for valid arguments is measured alone too. The repair libraries
//! make the repaired text and no report.
//!
//! `cargo bench --no-default-features --bench fix [-- PART-OF-A-NAME]`

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolglot::fix::{End, Schemas, fix};

const ROUNDS: usize = 25;
/// A round of one candidate takes about this long.
const ROUND: Duration = Duration::from_millis(4);
const SIZES: [usize; 3] = [200, 2_000, 200_000];
const SCHEMA: &str =
    r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#;

const ROWS: &str = r#"{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},
    "name":{"type":"string"},"sold":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"price":{"type":"number"}}}}}}"#;

/// A library, or a way to use ours: returns whether it made something of the text.
type Candidate<'c> = (&'c str, Box<dyn Fn(&str) -> bool + 'c>);

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let schemas = Schemas::default();
    let ours = |text: &str| fix(text, None, &[], End::Closed).arguments.is_some();
    let steered = |schema: &str| {
        let schema = schemas.get(&Arc::from(schema));
        move |text: &str| fix(text, Some(&schema), &[], End::Closed).arguments.is_some()
    };
    // What validation alone takes, of a value that is there already.
    let validated = |schema: &str, text: &str| {
        let document = serde_json::from_str(schema).unwrap_or_default();
        let validator = jsonschema::validator_for(&document).ok();
        let value = serde_json::from_str::<Value>(text).unwrap_or_default();
        move |_: &str| validator.as_ref().is_some_and(|validator| validator.is_valid(black_box(&value)))
    };
    for size in SIZES {
        for (what, text, schema) in
            [("valid, one string of code", valid(size), SCHEMA), ("valid, many members", members(size).to_string(), ROWS)]
        {
            let candidates: [Candidate<'_>; 4] = [
                ("serde_json", Box::new(|text| serde_json::from_str::<Value>(text).is_ok())),
                ("toolglot", Box::new(ours)),
                ("toolglot with schema", Box::new(steered(schema))),
                ("validation alone", Box::new(validated(schema, &text))),
            ];
            compare(&mut out, &wanted, what, &text, &candidates)?;
        }
        for (what, text, schema) in [
            ("broken structure", broken_structure(size), ROWS),
            ("broken strings: newlines, escapes", broken_strings(size), SCHEMA),
            ("broken strings: quotes inside", broken_quotes(size), SCHEMA),
        ] {
            let candidates: [Candidate<'_>; 4] = [
                ("toolglot", Box::new(ours)),
                ("toolglot with schema", Box::new(steered(schema))),
                ("jsonfix", Box::new(|text| jsonfix::repair(text).is_ok())),
                ("jsonrepair-rs", Box::new(|text| jsonrepair_rs::jsonrepair(text).is_ok())),
            ];
            compare(&mut out, &wanted, what, &text, &candidates)?;
        }
    }
    if wanted.is_empty() || wanted.iter().any(|part| "hard".contains(part.as_str())) {
        hard(&mut out, &schemas)?;
    }
    Ok(())
}

/// A kind of hard input: its name, and a text of about so many bytes.
type Input = (&'static str, Box<dyn Fn(usize) -> String>);

/// Prints what a byte costs in inputs that make a repair quadratic if anything in it is: a row should not grow to the right.
fn hard(out: &mut impl Write, schemas: &Schemas) -> io::Result<()> {
    const SIZES: [usize; 5] = [32 << 10, 256 << 10, 1 << 20, 4 << 20, (8 << 20) - 100];
    let schema = schemas.get(&Arc::from(SCHEMA));
    let file = |size: usize| format!("{{\"path\":\"a.json\",\"content\":\"{}\"}}", members(size - 60));
    let inputs: [Input; 7] = [
        ("a JSON file, nothing escaped", Box::new(file)),
        (
            "the same object twice",
            Box::new(|size| {
                let object: String = (0..size / 32).map(|at| format!("\"key{at}\": {at}, ")).collect();
                format!("{{{object}}} {{{object}}}")
            }),
        ),
        (
            "quotes, commas and keys",
            Box::new(|size| format!("{{\"path\":\"a\",\"content\":\"{}", r#"","key": "#.repeat(size / 9 - 6))),
        ),
        ("a string without an end", Box::new(|size| format!("{{\"content\":\"{}", "a \\\"b\\\" ".repeat(size / 9 - 6)))),
        (
            "keys of other spellings",
            Box::new(|size| {
                let keys: String = (0..size / 32).map(|at| format!("\"pa{}th\": {at},", "_".repeat(at % 16))).collect();
                format!("{{{keys}\"content\":\"\"}}")
            }),
        ),
        (
            "paths that are not escaped",
            Box::new(|size| format!("{{\"path\":\"a\",\"content\":\"{}\"}}", r"C:\temp\x ".repeat(size / 10 - 6))),
        ),
        (
            "whitespace between quotes",
            Box::new(|size| format!("{{\"path\":\"a\",\"content\":\"{}", "\"          ".repeat(size / 11 - 6))),
        ),
    ];
    writeln!(out, "hard inputs, ns per byte{:>18}{}", "", SIZES.map(|size| format!("{:>9} kB", size >> 10)).concat())?;
    for (name, input) in inputs {
        write!(out, "  {name:40}")?;
        for size in SIZES {
            let text = input(size);
            let before = now();
            black_box(fix(black_box(&text), Some(&schema), &[], End::Closed).verdict);
            write!(out, "{:12.1}", (now() - before).as_nanos() as f64 / text.len() as f64)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints MB/s of every candidate and its time relative to the first one.
fn compare(out: &mut impl Write, wanted: &[String], what: &str, text: &str, candidates: &[Candidate<'_>]) -> io::Result<()> {
    if !wanted.is_empty() && !wanted.iter().any(|part| what.contains(part.as_str())) {
        return Ok(());
    }
    writeln!(out, "{what}, {} bytes", text.len())?;
    let mut best = vec![f64::MAX; candidates.len()];
    let repeats: Vec<u32> = candidates
        .iter()
        .map(|(_, run)| {
            let before = now();
            black_box(run(black_box(text)));
            (ROUND.as_nanos() / (now() - before).as_nanos().max(1)).clamp(1, 100_000) as u32
        })
        .collect();
    for _ in 0..ROUNDS {
        for (at, (_, run)) in candidates.iter().enumerate() {
            let before = now();
            for _ in 0..repeats[at] {
                black_box(run(black_box(text)));
            }
            best[at] = best[at].min((now() - before).as_secs_f64() / f64::from(repeats[at]));
        }
    }
    for (at, (name, run)) in candidates.iter().enumerate() {
        let speed = text.len() as f64 / best[at] / 1e6;
        let note = if run(text) { "" } else { "  (refused)" };
        writeln!(out, "  {name:22} {speed:8.1} MB/s  {:6.2} x the time of {}{note}", best[at] / best[0], candidates[0].0)?;
    }
    Ok(())
}

/// How long this thread has run on a processor.
#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time, where that of the processor is not known.
#[cfg(not(unix))]
fn now() -> Duration {
    std::time::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Lines of a program, about `size` bytes of them.
fn code(size: usize) -> String {
    let lines = [
        "import os, re\n",
        "def total(rows):\n",
        "    return sum(row[\"price\"] for row in rows if row[\"kind\"] == \"sold\")\n",
        "pattern = re.compile(\"[a-z]+\")  # words only\n",
        "print(\"done\", os.getenv(\"HOME\", \"/\"), total([]))\n",
        "\n",
    ];
    let mut text = String::with_capacity(size + 100);
    for line in lines.iter().cycle() {
        let left = size.saturating_sub(text.len());
        if line.len() > left {
            // What is left over is a comment, so that the program stays whole.
            text.extend(std::iter::repeat_n('#', left));
            break;
        }
        text.push_str(line);
    }
    text
}

fn valid(size: usize) -> String {
    json!({"path": "src/app.py", "content": code(size - 60)}).to_string()
}

/// Many small members of all kinds.
fn members(size: usize) -> Value {
    let rows = (0..size / 64)
        .map(|row| json!({"id": row, "name": format!("item {row}"), "sold": row % 2 == 0, "tags": ["a", "b"], "price": 1.5}));
    json!({"rows": rows.collect::<Vec<_>>()})
}

/// Single quotes, bare keys, literals of Python, trailing commas.
fn broken_structure(size: usize) -> String {
    let rows: String = (0..size / 64)
        .map(|row| {
            format!(
                "{{id: {row}, 'name': 'item {row}', 'sold': {}, 'tags': ['a', 'b',], price: 1.5,}}, ",
                if row % 2 == 0 { "True" } else { "False" }
            )
        })
        .collect();
    format!("{{'rows': [{rows}]}}")
}

/// Raw newlines, escapes that are none, a trailing comma.
fn broken_strings(size: usize) -> String {
    let code = code(size - 60).replace('\\', "\\\\").replace('"', "\\\"").replace("[a-z]+", "\\w+\\.\\d");
    format!("{{\"path\":\"src/app.py\",\"content\":\"{code}\",}}")
}

/// Nothing inside is escaped.
fn broken_quotes(size: usize) -> String {
    format!("{{\"path\":\"src/app.py\",\"content\":\"{}\"}}", code(size - 60))
}
