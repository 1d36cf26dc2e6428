//! The search for the cheapest reading: Dijkstra's algorithm over (position, open brackets). Readings wait in the order of their
//! cost. One that reaches a state which a cheaper one has reached is dropped. This and a budget for the bytes looked at keep the
//! work linear in the text.

use std::collections::{BTreeMap, HashMap};

use super::super::lex::Text;
use super::strings::Scan;
use super::trail::{NONE, State, Step, Trail, Want};
use super::{Guide, Unreadable};

/// The budget: units of work per byte of the text, and the minimum for any text.
const WORK_PER_BYTE: usize = 4;
const WORK_AT_LEAST: usize = 10_000;
/// Bytes that are looked at for one unit of work. A step costs one unit too.
const BYTES_PER_WORK: usize = 32;

/// The cheapest reading, and the last step of another one of the same cost.
pub(super) struct Best {
    pub(super) state: State,
    pub(super) other: Option<u32>,
}

/// A waiting reading: its state, and the string inside which it is.
type Waiting = (State, Option<Scan>);

/// The search over the readings of one text. The grammar, in `grammar.rs` and the files beside it, says what may follow what.
pub(super) struct Search<'s, 'g> {
    pub(super) text: Text<'s>,
    pub(super) guide: &'g dyn Guide,
    pub(super) trail: Trail,
    /// Waiting readings, by their minimum cost.
    waiting: BTreeMap<u32, Vec<Waiting>>,
    /// The states after strings: the lowest cost of reaching each, and whether two readings have it.
    entered: HashMap<u64, (u32, bool)>,
    steps: usize,
    /// Where the reading that got furthest failed.
    pub(super) stuck: Unreadable,
}

impl<'s, 'g> Search<'s, 'g> {
    pub(super) fn new(source: &'s str, guide: &'g dyn Guide) -> Search<'s, 'g> {
        Search {
            text: Text::new(source),
            guide,
            trail: Trail::default(),
            waiting: BTreeMap::new(),
            entered: HashMap::new(),
            steps: 0,
            stuck: Unreadable { at: 0, what: "no JSON object or array" },
        }
    }

    /// Follows readings from the bracket at `start` in the order of their cost, and returns the first complete one. The error is
    /// where the reading that got furthest failed.
    pub(super) fn run(&mut self, start: usize) -> Result<Best, Unreadable> {
        let want = Want::Value;
        self.branch(State { at: start, frame: NONE, step: NONE, cost: 0, want, comma: false, tagged: false, entered: None });
        let mut best: Option<Best> = None;
        while let Some((cost, reading)) = self.cheapest() {
            if best.as_ref().is_some_and(|best| cost > best.state.cost) {
                break;
            }
            if self.is_exhausted() {
                return best.ok_or(Unreadable { at: self.stuck.at, what: "too many ways to read it" });
            }
            let Some(state) = self.explore(reading) else { continue };
            match &mut best {
                None => best = Some(Best { state, other: None }),
                Some(best) if best.other.is_none() && state.cost == best.state.cost => best.other = Some(state.step),
                Some(_) => {}
            }
        }
        best.ok_or_else(|| self.stuck.clone())
    }

    /// Whether the budget is spent.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps + self.text.looked_at() / BYTES_PER_WORK > WORK_AT_LEAST + WORK_PER_BYTE * self.text.bytes.len()
    }

    /// Follows one reading to the end of the text. `None` if it fails or is no longer the cheapest.
    fn explore(&mut self, (mut state, mut scan): Waiting) -> Option<State> {
        loop {
            self.steps += 1;
            if let Some(id) = state.entered.take()
                && !self.enter(id, state.cost)
            {
                return None;
            }
            if let Want::Over(_) = state.want {
                return Some(state);
            }
            match scan.take() {
                Some(scan) => self.scan(&mut state, scan)?,
                None => self.step(&mut state)?,
            }
            if self.waiting.first_key_value().is_some_and(|(cheapest, _)| state.cost > *cheapest) {
                self.branch(state);
                return None;
            }
        }
    }

    /// Adds another way to read the last token.
    pub(super) fn branch(&mut self, state: State) {
        self.waiting.entry(state.cost).or_default().push((state, None));
    }

    /// Adds another way to read the last token, inside a string. It costs at least `cost`.
    pub(super) fn branch_in(&mut self, state: State, scan: Scan, cost: u32) {
        self.waiting.entry(cost).or_default().push((state, Some(scan)));
    }

    /// Takes the cheapest waiting reading.
    fn cheapest(&mut self) -> Option<(u32, Waiting)> {
        let mut entry = self.waiting.first_entry()?;
        let (cost, reading) = (*entry.key(), entry.get_mut().pop()?);
        if entry.get().is_empty() {
            entry.remove();
        }
        Some((cost, reading))
    }

    /// Records that a reading has reached this state. Returns whether it is the first or the cheapest to do so; notes a tie.
    fn enter(&mut self, id: u64, cost: u32) -> bool {
        let Some((lowest, rival)) = self.entered.get_mut(&id) else {
            self.entered.insert(id, (cost, false));
            return true;
        };
        *rival |= *lowest == cost;
        *lowest > cost
    }

    /// Whether another reading of the same cost reached the state after this string.
    pub(super) fn is_rivalled(&self, step: &Step) -> bool {
        step.state.and_then(|id| self.entered.get(&id)).is_some_and(|(_, rival)| *rival)
    }
}
