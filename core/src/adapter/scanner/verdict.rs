//! The table that decides whether a candidate is a call. Nothing else about it matters than the four properties of its [`Cell`].
//!
//! | | alone, last | inside | code, reasoning |
//! |---|---|---|---|
//! | marked, fits | call | call | text |
//! | marked, anything else | ask | ask | text |
//! | unmarked, fits | call | ask | text |
//! | unmarked, guess or misfit | ask | text | text |
//! | unmarked, unknown | ask if alone, else text | text | text |
//! | unmarked, damaged | text | text | text |
//! | truncated | marked: ask, or a notice if the output limit cut it. unmarked: text | | text |
//!
//! The modifiers are the fields of [`Rules`]. Who computes what:
//!
//! | modifier | computed by |
//! |---|---|
//! | 1: `tool_choice` demands a call | the scanner, from the tools |
//! | 2: the tool only reads | the scanner, from the tool's annotations |
//! | 3: the length of the text after it | the scanner (`held`) |
//! | 4: the model has read an equal call | the gate (`turn::gate`), which knows the conversation |
//! | 5: the same call with its result already there | the gate (`plan::repeats`) |
//! | 6: the client runs its own tags inside fences | the scanner: such a fence is no [`Place::Code`] (`code`) |

use crate::event::{Cell, Form, Place, Proof};

/// More text than this after an unmarked call makes it documentation, in bytes. Remarks after calls that were meant are shorter.
pub const REMARK_BYTES: usize = 400;

/// What becomes of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is a call.
    Call,
    /// The model is asked.
    Ask,
    /// It is text.
    Text,
    /// It does not run, and the user reads one line about it.
    Notice,
}

/// Whether the model can be asked about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MayAsk {
    /// No: it is never asked, or a call of this answer was delivered.
    #[default]
    Never,
    /// Yes.
    Now,
    /// No longer, because this answer is the reply.
    NoLonger,
}

impl MayAsk {
    /// The state after the model was asked again `asked` times, of at most `retry`.
    pub fn after(asked: u8, retry: u8) -> MayAsk {
        match retry {
            0 => MayAsk::Never,
            _ if asked < retry => MayAsk::Now,
            _ => MayAsk::NoLonger,
        }
    }
}

/// What modifies the table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// Whether `tool_choice` demands a call.
    pub demanded: bool,
    /// Whether the tool only reads.
    pub reads: bool,
    /// The bytes of text after an unmarked call.
    pub after: usize,
    /// Whether the output limit cut the answer.
    pub limited: bool,
    /// Whether the model can be asked.
    pub may_ask: MayAsk,
}

/// What becomes of a candidate in this cell.
pub fn verdict(cell: Cell, rules: Rules) -> Verdict {
    use Form::{Marked, Unmarked};
    use Place::{Alone, Code, Inside, Last, Reasoning};
    use Proof::{Fits, Guess, Misfit, Unknown};
    let place = if rules.demanded && matches!(cell.place, Last | Inside) { Alone } else { cell.place };
    let verdict = match (cell.form, place, cell.proof) {
        (_, Code | Reasoning, _) => Verdict::Text,
        (Marked, ..) if !cell.whole && rules.limited => Verdict::Notice,
        (Marked, ..) if !cell.whole => Verdict::Ask,
        (Unmarked, ..) if !cell.whole => Verdict::Text,
        (Marked, _, Fits) => Verdict::Call,
        (Marked, ..) => Verdict::Ask,
        (Unmarked, Inside, _) if rules.after > REMARK_BYTES => Verdict::Text,
        (Unmarked, Alone | Last, Fits) => Verdict::Call,
        (Unmarked, Inside, Fits) | (Unmarked, Alone | Last, Guess | Misfit) | (Unmarked, Alone, Unknown) => Verdict::Ask,
        (Unmarked, ..) => Verdict::Text,
    };
    let fits = matches!(cell.proof, Fits | Guess) && cell.whole;
    match verdict {
        Verdict::Ask if rules.reads && fits => Verdict::Call,
        Verdict::Ask if rules.may_ask != MayAsk::Now => unasked(cell, rules.may_ask),
        verdict => verdict,
    }
}

/// What becomes of a candidate that the model cannot be asked about.
fn unasked(cell: Cell, may_ask: MayAsk) -> Verdict {
    match (cell.form, cell.proof) {
        (_, Proof::Guess) if cell.whole && may_ask == MayAsk::Never => Verdict::Notice,
        (_, Proof::Fits | Proof::Guess) if cell.whole => Verdict::Call,
        (Form::Unmarked, _) => Verdict::Text,
        _ if !cell.whole => Verdict::Notice,
        (_, Proof::Damaged) => Verdict::Notice,
        // The client checks it too, and tells the model.
        _ => Verdict::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Form::{self, Marked, Unmarked},
        MayAsk::{Never, NoLonger, Now},
        Place::{self, Alone, Code, Inside, Last, Reasoning},
        Proof::{self, Damaged, Fits, Guess, Misfit, Unknown},
        Verdict::{Ask, Call, Notice, Text},
        *,
    };

    const PROOFS: [Proof; 5] = [Fits, Guess, Misfit, Unknown, Damaged];

    /// For each form and place, what becomes of each proof; the last one is a truncated call. `source: spec core, section 2`.
    const TABLE: [(Form, Place, [Verdict; 6]); 10] = [
        (Marked, Alone, [Call, Ask, Ask, Ask, Ask, Ask]),
        (Marked, Last, [Call, Ask, Ask, Ask, Ask, Ask]),
        (Marked, Inside, [Call, Ask, Ask, Ask, Ask, Ask]),
        (Marked, Code, [Text, Text, Text, Text, Text, Text]),
        (Marked, Reasoning, [Text, Text, Text, Text, Text, Text]),
        (Unmarked, Alone, [Call, Ask, Ask, Ask, Text, Text]),
        (Unmarked, Last, [Call, Ask, Ask, Text, Text, Text]),
        (Unmarked, Inside, [Ask, Text, Text, Text, Text, Text]),
        (Unmarked, Code, [Text, Text, Text, Text, Text, Text]),
        (Unmarked, Reasoning, [Text, Text, Text, Text, Text, Text]),
    ];

    fn cells() -> impl Iterator<Item = (Cell, Verdict)> {
        TABLE.into_iter().flat_map(|(form, place, row)| {
            let whole =
                PROOFS.into_iter().zip(row).map(move |(proof, verdict)| (Cell { form, place, proof, whole: true }, verdict));
            let cut = PROOFS.into_iter().map(move |proof| (Cell { form, place, proof, whole: false }, row[5]));
            whole.chain(cut)
        })
    }

    #[test]
    fn every_cell_is_as_the_table_says() {
        let rules = Rules { may_ask: Now, ..Rules::default() };
        for (cell, expected) in cells() {
            assert_eq!(verdict(cell, rules), expected, "{cell:?}");
            // 1. Last and inside count as alone.
            let alone = match cell.place {
                Last | Inside => Cell { place: Alone, ..cell },
                _ => cell,
            };
            assert_eq!(verdict(cell, Rules { demanded: true, ..rules }), verdict(alone, rules), "{cell:?}");
            // 2. What only reads is not asked about.
            let fits = cell.whole && cell.proof <= Guess;
            let reads = if expected == Ask && fits { Call } else { expected };
            assert_eq!(verdict(cell, Rules { reads: true, ..rules }), reads, "{cell:?}");
            // 3. Documentation follows.
            let long = Rules { after: REMARK_BYTES + 1, ..rules };
            let expected_long = if cell.form == Unmarked && cell.place == Inside { Text } else { expected };
            assert_eq!(verdict(cell, long), expected_long, "{cell:?}");
            assert_eq!(verdict(cell, Rules { after: REMARK_BYTES, ..rules }), expected, "{cell:?}");
            // A limit cut it.
            let limited =
                if cell.form == Marked && !matches!(cell.place, Code | Reasoning) && !cell.whole { Notice } else { expected };
            assert_eq!(verdict(cell, Rules { limited: true, ..rules }), limited, "{cell:?}");
        }
    }

    #[test]
    fn where_nobody_can_be_asked_another_verdict_takes_the_place() {
        for (cell, expected) in cells() {
            for may_ask in [Never, NoLonger] {
                let got = verdict(cell, Rules { may_ask, ..Rules::default() });
                let replaced = match (cell.form, cell.proof) {
                    _ if expected != Ask => expected,
                    _ if !cell.whole => Notice,
                    (_, Guess) => {
                        if may_ask == NoLonger {
                            Call
                        } else {
                            Notice
                        }
                    }
                    (_, Fits) => Call,
                    (Unmarked, _) => Text,
                    (_, Misfit | Unknown) => Call,
                    _ => Notice,
                };
                assert_eq!(got, replaced, "{cell:?} {may_ask:?}");
            }
        }
    }
}
