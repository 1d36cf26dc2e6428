//! Pure readers: the whole body of a candidate becomes calls. A body is cut first, at a place where its form may end, and read
//! after, so no reader waits for more text. What arrives piece by piece is tracked by [`Ends`] alone.

pub(crate) mod ends;
pub(crate) mod tags;

pub(crate) use ends::{End, Ends};
