//! Pure readers: the whole body of a candidate becomes calls. A body is cut first, at a place where its form may end, and read
//! after, so no reader waits for more text.

pub(crate) mod tags;

/// A marker that may end a body: it begins at `begin`, and the text goes on at `next`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) begin: usize,
    pub(crate) next: usize,
}

/// The next offset from `from` on at which a marker may begin. `leads`: what the markers begin with.
pub(crate) fn lead(text: &str, from: usize, leads: &[u8]) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let found = match *leads {
        [a] => memchr::memchr(a, bytes),
        [a, b] => memchr::memchr2(a, b, bytes),
        [a, b, c] => memchr::memchr3(a, b, c, bytes),
        _ => bytes.iter().position(|byte| leads.contains(byte)),
    };
    found.map(|at| from + at)
}
