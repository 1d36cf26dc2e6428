//! The repair rules. Each has a code, its meaning in one sentence, and an example. `fix/tests/rules.rs`
//! compares them with `docs/rules.md`, and prints the table to paste. Counters and logs name a rule by its code, so the meaning of
//! a code never changes.

use std::fmt;

/// Declares the codes in the order of the documentation: code, meaning, text before, text after.
macro_rules! codes {
    ($($code:ident $meaning:literal $from:literal => $to:literal;)*) => {
        /// A repair rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        /// Each code as text, its meaning, and its example.
        const TABLE: &[(&str, &str, (&str, &str))] = &[$((stringify!($code), $meaning, ($from, $to)),)*];

        impl Code {
            /// All rules, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$code,)*];
        }
    };
}

codes! {
    M1 "The name is another spelling of an offered tool." "functions.readFile" => "read_file";
    C1 "If there are no arguments at all, they become an empty object, unless some are required." "null" => "{}";
    E1 "A code fence around the arguments, or a single fence marker inside them, is dropped." "```json\n{\"n\": 1}\n```" => "{\"n\": 1}";
    E2 "Text before or after the arguments is dropped." "Sure: {\"n\": 1}. Done." => "{\"n\": 1}";
    E3 "Closing markers of the call after the arguments are dropped." "{\"n\": 1}</tool_call>" => "{\"n\": 1}";
    E4 "The arguments are taken out of a wrapper that the schema does not have." "{\"arguments\": {\"n\": 1}}" => "{\"n\": 1}";
    E5 "JSON inside a JSON string is decoded." "\"{\\\"n\\\": 1}\"" => "{\"n\": 1}";
    E6 "A list of one object is that object." "[{\"n\": 1}]" => "{\"n\": 1}";
    E7 "The arguments are taken out of a copy of the schema." "{\"properties\": {\"n\": 1}}" => "{\"n\": 1}";
    E8 "An object that is written several times counts once." "{\"n\": 1} {\"n\": 1}" => "{\"n\": 1}";
    F1 "A patch is taken out of the text around it." "{\"cmd\": \"*** Begin Patch ...\"}" => "{\"input\": \"*** Begin Patch ...\"}";
    S1 "A superfluous comma is dropped." "{\"n\": 1,}" => "{\"n\": 1}";
    S2 "A missing comma is added." "{\"n\": 1 \"m\": 2}" => "{\"n\": 1, \"m\": 2}";
    S3 "A missing colon is added, a doubled one counts once." "{\"n\" 1}" => "{\"n\": 1}";
    S4 "A key without quotes is quoted." "{n: 1}" => "{\"n\": 1}";
    S5 "Single quotes are replaced." "{'s': 'x'}" => "{\"s\": \"x\"}";
    S6 "Typographic quotes are replaced." "{“s”: “x”}" => "{\"s\": \"x\"}";
    S7 "Backticks are replaced." "{\"s\": `x`}" => "{\"s\": \"x\"}";
    S8 "Tripled and doubled quotes are replaced." "{\"s\": \"\"\"x\"\"\"}" => "{\"s\": \"x\"}";
    S9 "A literal of another language is spelled as JSON spells it." "{\"b\": True}" => "{\"b\": true}";
    S10 "A comment is dropped." "{\"n\": 1 // one\n}" => "{\"n\": 1}";
    S11 "A number is spelled as JSON spells it." "{\"n\": +.5}" => "{\"n\": 0.5}";
    S12 "Brackets that are missing, superfluous or of the wrong kind are repaired." "{\"l\": [1, 2}" => "{\"l\": [1, 2]}";
    S13 "Spaces and punctuation that JSON does not have are replaced with JSON's." "{\"n\"：1}" => "{\"n\": 1}";
    S14 "A text that was escaped as a whole is unescaped once." "{\\\"n\\\": 1}" => "{\"n\": 1}";
    S16 "A string without quotes is quoted." "{\"s\": hello there}" => "{\"s\": \"hello there\"}";
    S17 "An ellipsis between members is dropped." "{\"n\": 1, ...}" => "{\"n\": 1}";
    S18 "A literal `\\n` or `\\t` between tokens is whitespace." "{\\n\"n\": 1}" => "{\"n\": 1}";
    S19 "A stray quote, a missing opening quote, or parentheses are repaired." "{\"s\": x\"}" => "{\"s\": \"x\"}";
    T1 "Raw control characters in a string are escaped." "{\"s\": \"a⏎b\"}" => "{\"s\": \"a\\nb\"}";
    T2 "A backslash that does not begin an escape is a character." "{\"s\": \"\\d+\"}" => "{\"s\": \"\\\\d+\"}";
    T2b "Backslashes of a Windows path are characters, where as escapes they would make control characters of it." "{\"path\": \"C:\\new\"}" => "{\"path\": \"C:\\\\new\"}";
    T3 "Unescaped quotes inside a string are content." "{\"s\": \"say \"hi\" now\"}" => "{\"s\": \"say \\\"hi\\\" now\"}";
    X2 "Brackets that are open at the end are closed." "{\"n\": 1" => "{\"n\": 1}";
    X3 "A missing closing quote is added." "{\"s\": \"x, \"n\": 1}" => "{\"s\": \"x\", \"n\": 1}";
    N1 "A key is another spelling of exactly one property." "{\"filePath\": \"a\"}" => "{\"file_path\": \"a\"}";
    N2 "A key is another word for a required property that is missing." "{\"filename\": \"a\"}" => "{\"file_path\": \"a\"}";
    N3 "A key that the schema forbids is left out and listed." "{\"n\": 1, \"why\": 2}" => "{\"n\": 1}";
    N4 "A key that occurs twice counts once; of two values the last one counts." "{\"n\": 1, \"n\": 1}" => "{\"n\": 1}";
    N5 "A required property with a default, or with one possible value, is filled in." "{}" => "{\"n\": 7}";
    N6 "A value is missing, so the call is refused." "{\"n\": }" => "refused";
    N7 "The whole text is the one parameter." "Turku" => "{\"town\": \"Turku\"}";
    N9 "The parameters are written as lines or as tags." "town: Turku" => "{\"town\": \"Turku\"}";
    N10 "A required property that may be null, and is left out, is null." "{}" => "{\"n\": null}";
    K1 "A string is the number that it spells." "{\"n\": \"3\"}" => "{\"n\": 3}";
    K3 "A word or number that means a boolean is that boolean." "{\"b\": \"True\"}" => "{\"b\": true}";
    K4 "A number or boolean becomes text where the schema wants text." "{\"s\": 1.50}" => "{\"s\": \"1.50\"}";
    K5 "An object becomes its source text where the schema wants text." "{\"s\": {\"a\": 1}}" => "{\"s\": \"{\\\"a\\\": 1}\"}";
    K5b "An array becomes its source text where the schema wants text." "{\"s\": [1]}" => "{\"s\": \"[1]\"}";
    K6 "A single value is put into a list where the schema wants a list." "{\"l\": 1}" => "{\"l\": [1]}";
    K7 "JSON inside a string is decoded where the schema wants a list or an object." "{\"l\": \"[1]\"}" => "{\"l\": [1]}";
    K8 "An object with numbered keys, or with a single list, is a list." "{\"l\": {\"0\": 1}}" => "{\"l\": [1]}";
    K9 "An optional parameter is left out if it is null (or a word for it), or if it is empty and the schema does not allow that." "{\"n\": null}" => "{}";
    K10 "A value is another spelling of a listed one." "{\"mood\": \"Calm\"}" => "{\"mood\": \"calm\"}";
    K11 "A list of one text becomes that text where the schema wants a text or a path." "{\"file_path\": [\"a\"]}" => "{\"file_path\": \"a\"}";
}

impl Code {
    /// The code as text: `S1`, `T2b`, `K10`.
    pub fn as_str(self) -> &'static str {
        TABLE[self as usize].0
    }

    /// What the rule does, in one sentence.
    pub fn meaning(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// A text to which the rule applies, and the result.
    pub fn example(self) -> (&'static str, &'static str) {
        TABLE[self as usize].2
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
