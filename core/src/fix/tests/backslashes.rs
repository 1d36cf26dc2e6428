//! Backslashes: which are escapes and which are characters, row by row. `\` in a row is one byte of the model's text.

use super::*;

/// What the verdict must be.
const CLEAN: Verdict = Verdict::Clean;
const LOSSLESS: Verdict = Verdict::Lossless;
const GUESS: Verdict = Verdict::Guess;

/// Parameter, string as the model wrote it (without its quotes), value, verdict.
type Row = (&'static str, &'static str, &'static str, Verdict);

const ROWS: &[Row] = &[
    // Paths of Windows, not escaped: one impossible escape is the proof.
    ("path", r"C:\Users\ana\notes\todo.txt", r"C:\Users\ana\notes\todo.txt", LOSSLESS),
    ("path", r"D:\Program Files\nodejs\tsc.cmd", r"D:\Program Files\nodejs\tsc.cmd", LOSSLESS),
    ("path", r"C:\Program Files (x86)\nodejs\bin\tool.exe", r"C:\Program Files (x86)\nodejs\bin\tool.exe", LOSSLESS),
    ("path", r"src\components\new\table.tsx", r"src\components\new\table.tsx", LOSSLESS),
    ("path", r"src\utils\browser\fetch.ts", r"src\utils\browser\fetch.ts", LOSSLESS),
    ("uri", r"file:///C:\Apps\react\index.html", r"file:///C:\Apps\react\index.html", LOSSLESS),
    ("body", r"see C:\Windows\temp\report.log", r"see C:\Windows\temp\report.log", LOSSLESS),
    ("cwd", r"C:\Users\ana\x\", r"C:\Users\ana\x\", GUESS),
    // All escapes are possible: the characters win in a path.
    ("path", r"C:\new\table.txt", r"C:\new\table.txt", GUESS),
    ("path", r"C:\temp\report.txt", r"C:\temp\report.txt", GUESS),
    ("path", r"docs\notes.md", r"docs\notes.md", GUESS),
    ("file_path", r"test\fixtures\base.json", r"test\fixtures\base.json", GUESS),
    ("targetFile", r"tests\run.py", r"tests\run.py", GUESS),
    ("working_directory", r"build\release", r"build\release", GUESS),
    ("search_in_folder", r"lib\new", r"lib\new", GUESS),
    ("place", r"lib\new", r"lib\new", GUESS),
    ("body", r"C:\new\table.txt", r"C:\new\table.txt", GUESS),
    ("body", r"opened C:\temp\notes.txt today", r"opened C:\temp\notes.txt today", GUESS),
    // UNC.
    ("path", r"\\server\share\new\table.txt", r"\\server\share\new\table.txt", LOSSLESS),
    ("path", r"\\fileserver\new\temp", r"\\fileserver\new\temp", GUESS),
    ("command", r"dir \\nas01\backup\nightly", r"dir \\nas01\backup\nightly", GUESS),
    ("path", r"\\\\server\\share\\new", r"\\server\share\new", CLEAN),
    // Command lines.
    ("command", r"cd C:\Users\ana\new-app && dir", r"cd C:\Users\ana\new-app && dir", LOSSLESS),
    ("command", r"cd C:\new && npm test", r"cd C:\new && npm test", GUESS),
    ("command", r"type C:\temp\readme.txt", r"type C:\temp\readme.txt", GUESS),
    ("command", r#"cd \"C:\Program Files\nodejs\" && dir"#, r#"cd "C:\Program Files\nodejs" && dir"#, LOSSLESS),
    ("command", r"cd C:\\new\\table && dir", r"cd C:\new\table && dir", CLEAN),
    ("command", r"grep -P '\d+\t\w+' data.tsv", r"grep -P '\d+\t\w+' data.tsv", LOSSLESS),
    ("command", r"sed 's/\s/\n/g' a.txt", r"sed 's/\s/\n/g' a.txt", LOSSLESS),
    ("command", r"echo one\necho two", "echo one\necho two", CLEAN),
    // Doubled here and single there.
    ("path", r"C:\\Users\new\\table.txt", r"C:\Users\new\table.txt", GUESS),
    ("cwd", r"C:\\Users\\ana\notes", r"C:\Users\ana\notes", GUESS),
    ("body", r"C:\\Users\new\\table.txt", "C:\\Users\new\\table.txt", CLEAN),
    // Doubled as they should be.
    ("path", r"C:\\new\\table.txt", r"C:\new\table.txt", CLEAN),
    ("path", r"C:\\Users\\ana", r"C:\Users\ana", CLEAN),
    ("pattern", r"\\bword\\b\\d+", r"\bword\b\d+", CLEAN),
    ("body", r"line\\nstill the same line", r"line\nstill the same line", CLEAN),
    // Patterns.
    ("pattern", r"\bimport\b", r"\bimport\b", GUESS),
    ("pattern", r"^\s*\bfn\b\n", r"^\s*\bfn\b\n", LOSSLESS),
    ("pattern", r"\d+\.\d+\b", r"\d+\.\d+\b", LOSSLESS),
    ("pattern", r"(foo|bar)\b(baz)", r"(foo|bar)\b(baz)", GUESS),
    ("pattern", r"a\tb", "a\tb", CLEAN),
    // Formulas.
    ("body", r"\frac{a}{b} \times \theta", r"\frac{a}{b} \times \theta", GUESS),
    ("body", r"\alpha + \beta = \nu", r"\alpha + \beta = \nu", LOSSLESS),
    ("body", r"$\sum_{i} \rho_i \nabla f$", r"$\sum_{i} \rho_i \nabla f$", LOSSLESS),
    // Code and prose: newlines and tabs are what they say.
    ("body", r"print(1)\nprint(2)", "print(1)\nprint(2)", CLEAN),
    ("body", r"def f():\n\treturn 1\n", "def f():\n\treturn 1\n", CLEAN),
    ("body", r"name\tage\nana\t3", "name\tage\nana\t3", CLEAN),
    ("body", r"a\r\nb\r\n", "a\r\nb\r\n", CLEAN),
    ("body", r"Plan B:\nGo home", "Plan B:\nGo home", CLEAN),
    ("body", r"x:\n  y: 1\nz:\n  - a\n", "x:\n  y: 1\nz:\n  - a\n", CLEAN),
    // A letter and a colon are no drive where no folder follows.
    ("body", r"if x:\n\t\treturn 1", "if x:\n\t\treturn 1", CLEAN),
    ("body", r"for k, v in m:\n\tprint(k)\n\tbreak\n", "for k, v in m:\n\tprint(k)\n\tbreak\n", CLEAN),
    ("body", r"switch a {\ncase b:\n\t\treturn nil", "switch a {\ncase b:\n\t\treturn nil", CLEAN),
    ("body", r"Q:\nWhy?\nA:\nSo.", "Q:\nWhy?\nA:\nSo.", CLEAN),
    ("body", r"X:\tno\nY:\tyes", "X:\tno\nY:\tyes", CLEAN),
    ("body", r"k:\nv", "k:\nv", CLEAN),
    ("command", r"p:\n\trm x", "p:\n\trm x", CLEAN),
    ("command", r"cd E:\new", r"cd E:\new", GUESS),
    // What is not in the path stays what it says.
    ("body", r"moved C:\temp\rest.log today, and\nso on", "moved C:\\temp\\rest.log today, and\nso on", GUESS),
    // Formulas of which only some backslashes are doubled.
    ("body", r"\\section{A}\n\frac{a}{b}", "\\section{A}\n\\frac{a}{b}", GUESS),
    ("body", r"\\frac{a}{b}\tand \frac{c}{d}", "\\frac{a}{b}\tand \\frac{c}{d}", GUESS),
    ("body", r"\\documentclass{a}\n\begin{b}\n", "\\documentclass{a}\n\\begin{b}\n", GUESS),
    ("body", r"\\w+ \bname\b", r"\w+ \bname\b", GUESS),
    ("pattern", r"\\d+\bx", r"\d+\bx", GUESS),
    ("body", r"\\w+ a\f", "\\w+ a\u{c}", CLEAN),
    // A doubled backslash: the writer escapes.
    ("body", r"\\alpha\ttheta", "\\alpha\ttheta", CLEAN),
    // Spelled out, as a value that was written without escapes arrives here.
    ("path", r"docs\u000anotes", "docs\nnotes", CLEAN),
    ("body", r"\b\b\b", "\u{8}\u{8}\u{8}", CLEAN),
    ("body", r"page\f\npage", "page\u{c}\npage", CLEAN),
    // Code with one escape that is none: its lines stay lines.
    (
        "body",
        r"import re\nfor x in y:\n    re.sub('\d', '', x)\n",
        "import re\nfor x in y:\n    re.sub('\\d', '', x)\n",
        LOSSLESS,
    ),
    ("body", r"for f in *; do\n  echo \$f\ndone\n", "for f in *; do\n  echo \\$f\ndone\n", LOSSLESS),
    ("body", r"print(re.sub('\s', '', x))\nprint(2)", "print(re.sub('\\s', '', x))\nprint(2)", LOSSLESS),
    ("body", r"if (/\/api\/\d+/.test(u)) {\n  go();\n}\n", "if (/\\/api\\/\\d+/.test(u)) {\n  go();\n}\n", LOSSLESS),
    ("body", r"root = C:\Users\ana\temp\nok = 1;\n", "root = C:\\Users\\ana\\temp\nok = 1;\n", GUESS),
    // Raw line breaks: their writer does not escape.
    ("body", "int main() {\n  puts('a\\n');\n}", "int main() {\n  puts('a\\n');\n}", GUESS),
    ("body", "x = y.split('\\t')\nprint(x)", "x = y.split('\\t')\nprint(x)", GUESS),
    ("body", "all:\n\\tcc -o $@ a.c\n\\trm x", "all:\n\tcc -o $@ a.c\n\trm x", LOSSLESS),
    ("body", "say(\\\"a\\tb\\\")\nx", "say(\"a\tb\")\nx", LOSSLESS),
    ("body", "\none\\ttwo\n", "\none\ttwo\n", LOSSLESS),
    ("body", "# Title\\n\\nText\nmore", "# Title\n\nText\nmore", LOSSLESS),
    ("body", "a\\\\nb\nc\\td", "a\\nb\nc\td", LOSSLESS),
    // A folder's name has several words.
    (
        "body",
        r"Run:\n\n    C:\Program Files\app\run.exe\n\nThen:\n",
        "Run:\n\n    C:\\Program Files\\app\\run.exe\n\nThen:\n",
        GUESS,
    ),
    ("body", r"x\n```\n\`y\`\n```", "x\n```\n\\`y\\`\n```", LOSSLESS),
    // Several paths in one string are lines of it.
    ("files", r"src/one.rs\ntests/two.rs", "src/one.rs\ntests/two.rs", CLEAN),
    // C source, escaped as it should be.
    (
        "body",
        r#"#include <stdio.h>\nint main(void) {\n\tprintf(\"%d\\n\", 1);\n\treturn 0;\n}\n"#,
        "#include <stdio.h>\nint main(void) {\n\tprintf(\"%d\\n\", 1);\n\treturn 0;\n}\n",
        CLEAN,
    ),
    // JSON inside of a string.
    ("body", r#"{\"path\": \"C:\\\\new\", \"n\": [1, 2]}"#, r#"{"path": "C:\\new", "n": [1, 2]}"#, CLEAN),
    ("body", r#"{\"a\": \"x\\ny\"}\n"#, "{\"a\": \"x\\ny\"}\n", CLEAN),
    ("body", r"caf\u00e9 \/ \u2014", "caf\u{e9} / \u{2014}", CLEAN),
    // Not a path: what a name only contains.
    ("file_text", r"a\nb", "a\nb", CLEAN),
    ("profile", r"a\tb", "a\tb", CLEAN),
    ("path", "a\\n", "a\n", CLEAN),
];

const SCHEMA: &str = r#"{"type":"object","properties":{"place":{"type":"string","format":"path"},"body":{"type":"string"}}}"#;

#[test]
fn backslashes() {
    for (key, written, expected, verdict) in ROWS {
        let source = format!(r#"{{"{key}":"{written}","n":1}}"#);
        let report = fixed(SCHEMA, &source, End::Closed);
        assert_eq!(value(&report), Some(json!({*key: expected, "n": 1})), "{source}\n{report:?}");
        assert_eq!(report.verdict, *verdict, "{source}\n{report:?}");
        if let Some(fix) = report.fixes.iter().find(|fix| fix.rule == "T2b") {
            assert_eq!((fix.path.as_str(), *verdict), (format!("/{key}").as_str(), GUESS), "{report:?}");
        }
    }
}

/// The same strings below a list, in arguments that are a string, and in a value that is one.
#[test]
fn backslashes_are_reread_wherever_a_string_is_read() {
    let schema = r#"{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"}},"edit":{"type":"object",
        "properties":{"path":{"type":"string"}}}},"required":["paths"]}"#;
    let paths = json!({"paths": [r"docs\notes.md", "a"]});
    for source in [
        r#"{"paths":["docs\notes.md","a"]}"#,
        r#"{'paths':['docs\notes.md','a',]}"#,
        r#"{"arguments":{"paths":["docs\notes.md","a"]}}"#,
        r#"{"arguments":"{\"paths\":[\"docs\\notes.md\",\"a\"]}"}"#,
        r#"{"paths":"[\"docs\\notes.md\",\"a\"]"}"#,
        r#"call(paths=["docs\notes.md","a"])"#,
    ] {
        let report = fixed(schema, source, End::Closed);
        assert_eq!((value(&report), report.verdict), (Some(paths.clone()), GUESS), "{source}\n{report:?}");
    }
    let source = r#"{"paths":[],"edit":{"path":"C:\new\base"}}"#;
    let report = fixed(schema, source, End::Closed);
    assert_eq!(value(&report), Some(json!({"paths": [], "edit": {"path": r"C:\new\base"}})));
    assert_eq!(report.fixes[0].path.as_str(), "/edit/path");
}

#[test]
fn many_escapes_cost_little() {
    for piece in [r"x\n", r"C:\temp ", r"\d\n ", r"\\host\nx "] {
        let source = format!(r#"{{"body":"{}"}}"#, piece.repeat(200_000));
        assert!(fixed(SCHEMA, &source, End::Closed).accepted().is_some(), "{piece}");
    }
}

/// Neither line breaks nor quotes are escaped: pairs of backslashes are pairs, too.
#[test]
fn what_nothing_escapes_is_taken_byte_for_byte() {
    let file = |content: &str| fixed(SCHEMA, &format!("{{\"path\": \"a\", \"body\": \"{content}\"}}"), End::Closed);
    for content in ["x\nprint(\"a\\\\b\")\n", "x\nr\"[^\\\\]\"\n", "c(\"d\\n\\n\")\n", "say(\"it's\")\nESCAPE '\\'\n"] {
        let report = file(content);
        assert_eq!((value(&report), report.verdict), (Some(json!({"path": "a", "body": content})), GUESS), "{report:?}");
    }
    // Here something is escaped.
    for (written, content) in [
        ("say(\\\"a\\\\b\\\")\nx", "say(\"a\\b\")\nx"),
        ("a\\\\b\nx", "a\\b\nx"),
        ("say(\"a\\\\b\")", "say(\"a\\b\")"),
        ("\\n<p id=\"a\">\\n\n  x\\n</p>\\n", "\n<p id=\"a\">\n\n  x\n</p>\n"),
        ("c(\"d\\n\\n\") and so on", "c(\"d\\n\\n\") and so on"),
    ] {
        assert_eq!(value(&file(written)), Some(json!({"path": "a", "body": content})), "{written}");
    }
}
