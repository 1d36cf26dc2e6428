//! What a reading costs. Costs compare readings of one text and mean nothing else: the sum over a reading's steps decides
//! which one is the cheapest. Some branches add a few steps of their own (`grammar/follow.rs`).

/// A string with unescaped quotes inside.
pub(super) const INNER_QUOTES: u32 = 5;
/// The brackets of such a string do not balance: it was probably cut in the middle of code.
pub(super) const UNBALANCED: u32 = 10;
/// The number of its inner quotes is odd.
pub(super) const ODD: u32 = 1;
/// A string that goes on over a place where it could well have ended.
pub(super) const PASSED: u32 = 6;
/// The most that passing such places costs where nothing is known of the keys.
pub(super) const PASSED_MOST: u32 = 24;
/// A string with quotes inside that ends before a comment with quotes.
pub(super) const QUOTING_COMMENT: u32 = 18;
/// A forgotten closing quote before `, "key":`.
pub(super) const FORGOTTEN: u32 = 5;
/// A forgotten closing quote before the closers at the end of the text.
pub(super) const FORGOTTEN_AT_END: u32 = 9;
/// A string that is open at the end of the text.
pub(super) const OPEN_STRING: u32 = 12;
/// Another open end.
pub(super) const OPEN: u32 = 4;
/// A value without quotes.
pub(super) const UNQUOTED: u32 = 6;
/// A token too many or too few.
pub(super) const ODDITY: u32 = 3;
/// A required key that the object lacks.
pub(super) const MISSING_KEY: u32 = 20;
/// A colon without a value. Less than a string that would reach over it costs, so that no value is made of that.
pub(super) const NO_VALUE: u32 = 8;
/// An object that closed too early and is opened again.
pub(super) const REOPENED: u32 = 8;
/// Prose after the root.
pub(super) const PROSE: u32 = 2;
/// Something after the root that looks like the rest of it.
pub(super) const SPILT: u32 = 30;
/// Readings that cost more are dropped.
pub(super) const MOST: usize = 600;
