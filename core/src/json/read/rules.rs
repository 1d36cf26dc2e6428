//! The repairs that the grammar makes, and what they cost. The reading with the lowest sum wins; costs mean nothing beyond the
//! comparison of readings of one text. `follow.rs` adds small costs of its own.

use crate::json::Code;

/// The code, what was done, whether the text could also be read in another way, and the cost.
pub(super) type Rule = &'static (Code, &'static str, bool, u32);

pub(super) const EXTRA_COMMA: Rule = &(Code::S1, "superfluous comma dropped", false, 0);
pub(super) const NO_COMMA: Rule = &(Code::S2, "missing comma added", false, 0);
pub(super) const NO_COLON: Rule = &(Code::S3, "missing colon added", false, 3);
pub(super) const NO_COLON_EXTRA: Rule = &(Code::S3, "missing colon added after a key that is not expected", true, 3);
pub(super) const BARE_KEY: Rule = &(Code::S4, "key quoted", false, 0);
pub(super) const ODD_KEY: Rule = &(Code::S4, "unquoted key of several words quoted", true, 6);
pub(super) const WORD: Rule = &(Code::S9, "literal of another language", false, 0);
pub(super) const COMMENT: Rule = &(Code::S10, "comment dropped", false, 0);
pub(super) const NUMBER: Rule = &(Code::S11, "number respelled", false, 0);
pub(super) const ODD_NUMBER: Rule = &(Code::S11, "hexadecimal, octal-looking or unfinished number", true, 0);
pub(super) const EXTRA_CLOSER: Rule = &(Code::S12, "superfluous or wrong closing bracket", true, 3);
pub(super) const NO_CLOSER: Rule = &(Code::S12, "missing closing bracket added", true, 1);
pub(super) const DOUBLE_OPENER: Rule = &(Code::S12, "superfluous opening bracket dropped", true, 8);
pub(super) const ODD_SPACE: Rule = &(Code::S13, "typographic space or punctuation between tokens", false, 0);
pub(super) const UNQUOTED_WORD: Rule = &(Code::S16, "unquoted word", false, 6);
pub(super) const UNQUOTED: Rule = &(Code::S16, "unquoted string", true, 6);
pub(super) const ELLIPSIS: Rule = &(Code::S17, "ellipsis dropped", true, 3);
pub(super) const ESCAPED_SPACE: Rule = &(Code::S18, "literal \\n or \\t between tokens", false, 0);
pub(super) const HALF_QUOTED: Rule = &(Code::S19, "opening quote missing", true, 3);
pub(super) const STRAY_QUOTE: Rule = &(Code::S19, "stray quote dropped", true, 3);
pub(super) const PARENS: Rule = &(Code::S19, "parentheses", true, 3);
pub(super) const FENCE_INSIDE: Rule = &(Code::E1, "code fence inside the object dropped", true, 3);
pub(super) const SEMICOLON: Rule = &(Code::S2, "semicolon instead of a comma", true, 3);
pub(super) const INNER_QUOTES: Rule = &(Code::T3, "unescaped quotes kept as content", true, 5);
pub(super) const NO_QUOTE: Rule = &(Code::X3, "missing closing quote added", true, 5);
pub(super) const NO_QUOTE_AT_END: Rule = &(Code::X3, "missing closing quote added before the last brackets", true, 9);
pub(super) const OPEN_STRING: Rule = &(Code::X3, "open string closed at the end of the text", true, 12);

/// Reasons why there is no value. Each refuses the text, whatever else it contains. They are cheaper than a string that would
/// have to reach past the hole, so that no value is made up that way.
pub(super) const NO_VALUE: Rule = &(Code::N6, "a value is missing", true, 8);
pub(super) const LEFT_OUT: Rule = &(Code::S17, "a value is left out", true, 8);
pub(super) const NO_JSON_FORM: Rule = &(Code::S9, "NaN and Infinity have no JSON form", true, 8);

/// The brackets in a string with unescaped quotes do not balance, so it was probably cut inside code.
pub(super) const UNBALANCED: u32 = 10;
/// A string continues past a delimiter that could well have ended it.
pub(super) const PASSED: u32 = 6;
/// Something is open at the end of the text.
pub(super) const OPEN: u32 = 4;
/// An object lacks a required key.
pub(super) const MISSING_KEY: u32 = 20;
/// Prose follows the root.
pub(super) const PROSE: u32 = 2;
/// Something odd follows the root.
pub(super) const ODDITY: u32 = 3;
/// Text follows the root that looks like the rest of it.
pub(super) const SPILT: u32 = 30;
