//! What the repairs cost. The reading with the lowest sum wins; costs mean nothing beyond the comparison of readings of one text.
//! Some branches in `grammar/follow.rs` add small costs of their own.

/// A string contains unescaped quotes.
pub(super) const INNER_QUOTES: u32 = 5;
/// The brackets in such a string do not balance, so it was probably cut inside code.
pub(super) const UNBALANCED: u32 = 10;
/// The number of its inner quotes is odd.
pub(super) const ODD: u32 = 1;
/// A string continues past a delimiter that could well have ended it.
pub(super) const PASSED: u32 = 6;
/// Maximum of that where nothing is known of the keys.
pub(super) const PASSED_MOST: u32 = 24;
/// A string with inner quotes ends before a comment that contains quotes.
pub(super) const QUOTING_COMMENT: u32 = 18;
/// A closing quote is missing before `, "key":`.
pub(super) const FORGOTTEN: u32 = 5;
/// A closing quote is missing before the closing brackets at the end of the text.
pub(super) const FORGOTTEN_AT_END: u32 = 9;
/// A string is open at the end of the text.
pub(super) const OPEN_STRING: u32 = 12;
/// Something else is open at the end of the text.
pub(super) const OPEN: u32 = 4;
/// A value has no quotes.
pub(super) const UNQUOTED: u32 = 6;
/// A token is surplus or missing.
pub(super) const ODDITY: u32 = 3;
/// An object lacks a required key.
pub(super) const MISSING_KEY: u32 = 20;
/// A colon has no value. Cheaper than a string that would have to reach past it, so that no value is made up that way.
pub(super) const NO_VALUE: u32 = 8;
/// An object closed too early and continues.
pub(super) const REOPENED: u32 = 8;
/// Prose follows the root.
pub(super) const PROSE: u32 = 2;
/// Text follows the root that looks like the rest of it.
pub(super) const SPILT: u32 = 30;
/// Readings above this cost are dropped.
pub(super) const MOST: usize = 600;
