//! Where a body may end. This is the only thing about a body that is tracked while its text arrives.

/// At most so many ends are tried before only the end of the answer is, so that the cost stays linear.
const TRIED: usize = 16;

/// A marker that may end a body: it begins at `begin`, and the text goes on at `next`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) begin: usize,
    pub(crate) next: usize,
}

/// The ends of one body that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Up to here, the text was searched.
    seen: usize,
    tried: usize,
    first: Option<End>,
    last: Option<End>,
}

/// What the text may be at a position.
pub(crate) enum Found {
    End(End),
    /// More text decides.
    Maybe,
    No,
}

impl Ends {
    /// The ends from `at` on.
    pub(crate) fn after(at: usize) -> Ends {
        Ends { seen: at, ..Ends::default() }
    }

    /// The next end to be tried. `lead` is what every marker begins with, `found` says what is at a position.
    pub(crate) fn next(&mut self, text: &str, leads: &[u8], found: impl Fn(usize) -> Found) -> Option<End> {
        while let Some(at) = lead(text, self.seen, leads) {
            match found(at) {
                Found::Maybe => {
                    self.seen = at;
                    return None;
                }
                Found::No => self.seen = at + 1,
                Found::End(end) => {
                    self.seen = at + 1;
                    self.first = self.first.or(Some(end));
                    self.last = Some(end);
                    self.tried += 1;
                    if self.tried <= TRIED {
                        return Some(end);
                    }
                }
            }
        }
        self.seen = self.seen.max(text.len());
        None
    }

    /// The last end of the whole text, if it was not tried.
    pub(crate) fn untried(&self) -> Option<End> {
        self.last.filter(|_| self.tried > TRIED)
    }

    /// The first end.
    pub(crate) fn first(&self) -> Option<End> {
        self.first
    }

    /// Where the text goes on after the last end.
    pub(crate) fn last(&self) -> Option<End> {
        self.last
    }
}

/// The next offset from `from` on at which a marker may begin.
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
