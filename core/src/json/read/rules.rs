//! The repairs that the grammar makes.

use crate::json::Code;

/// The code, what was done, and whether the text could also be read in another way.
pub(super) type Rule = &'static (Code, &'static str, bool);

pub(super) const EXTRA_COMMA: Rule = &(Code::S1, "superfluous comma dropped", false);
pub(super) const NO_COMMA: Rule = &(Code::S2, "missing comma added", false);
pub(super) const NO_COLON: Rule = &(Code::S3, "missing colon added", false);
pub(super) const NO_COLON_EXTRA: Rule = &(Code::S3, "missing colon added after a key that is not expected", true);
pub(super) const OTHER_COLON: Rule = &(Code::S3, "a colon was meant", false);
pub(super) const BARE_KEY: Rule = &(Code::S4, "key quoted", false);
pub(super) const ODD_KEY: Rule = &(Code::S4, "unquoted key of several words quoted", true);
pub(super) const WORD: Rule = &(Code::S9, "literal of another language", false);
pub(super) const COMMENT: Rule = &(Code::S10, "comment dropped", false);
pub(super) const NUMBER: Rule = &(Code::S11, "number respelled", false);
pub(super) const ODD_NUMBER: Rule = &(Code::S11, "hexadecimal, octal-looking or unfinished number", true);
pub(super) const EXTRA_CLOSER: Rule = &(Code::S12, "superfluous or wrong closing bracket", true);
pub(super) const NO_CLOSER: Rule = &(Code::S12, "missing closing bracket added", true);
pub(super) const UNCLOSED: Rule = &(Code::S12, "container closed before what belongs outside", true);
pub(super) const DOUBLE_OPENER: Rule = &(Code::S12, "superfluous opening bracket dropped", true);
pub(super) const REOPENED: Rule = &(Code::S12, "object was closed too early", true);
pub(super) const ODD_SPACE: Rule = &(Code::S13, "typographic space or punctuation between tokens", false);
pub(super) const JOINED: Rule = &(Code::S15, "concatenated strings joined", true);
pub(super) const UNQUOTED_WORD: Rule = &(Code::S16, "unquoted word", false);
pub(super) const UNQUOTED: Rule = &(Code::S16, "unquoted string", true);
pub(super) const ELLIPSIS: Rule = &(Code::S17, "ellipsis dropped", true);
pub(super) const ESCAPED_SPACE: Rule = &(Code::S18, "literal \\n or \\t between tokens", false);
pub(super) const HALF_QUOTED: Rule = &(Code::S19, "opening quote missing", true);
pub(super) const STRAY_QUOTE: Rule = &(Code::S19, "stray quote dropped", true);
pub(super) const STRAY_WORD: Rule = &(Code::S10, "word between members dropped", true);
pub(super) const PREFIXED: Rule = &(Code::S9, "string prefix of another language dropped", true);
pub(super) const PARENS: Rule = &(Code::S19, "parentheses", true);
pub(super) const FENCE_INSIDE: Rule = &(Code::E1, "code fence inside the object dropped", true);
pub(super) const SEMICOLON: Rule = &(Code::S2, "semicolon instead of a comma", true);
pub(super) const HASTY: Rule = &(Code::S0, "too many ways to read it: not all of them were compared", true);
pub(super) const INNER_QUOTES: Rule = &(Code::T3, "unescaped quotes kept as content", true);
pub(super) const KEY_QUOTES: Rule = &(Code::T3, "unescaped quotes in a key", true);
pub(super) const ESCAPED_END: Rule = &(Code::T2, "backslash before the closing quote kept as content", true);
pub(super) const NO_QUOTE: Rule = &(Code::X3, "missing closing quote added", true);
pub(super) const NO_QUOTE_AT_END: Rule = &(Code::X3, "missing closing quote added before the last brackets", true);
pub(super) const OPEN_STRING: Rule = &(Code::X3, "open string closed at the end of the text", true);

/// Reasons why there is no value. Each refuses the text, whatever else it contains.
pub(super) const NO_VALUE: Rule = &(Code::N6, "a value is missing", true);
pub(super) const LEFT_OUT: Rule = &(Code::S17, "a value is left out", true);
pub(super) const NO_JSON_FORM: Rule = &(Code::S9, "NaN and Infinity have no JSON form", true);
