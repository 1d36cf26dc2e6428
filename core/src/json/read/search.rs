//! The search for the cheapest reading: Dijkstra's algorithm over (position, open brackets). Readings wait in the order of their
//! cost. One that reaches a state which a cheaper one has reached is dropped. This and a budget for the bytes looked at keep the
//! work linear in the text.

use std::collections::HashMap;

use super::grammar::Grammar;
use super::rules::HASTY;
use super::state::{Branch, State, Step, Want};
use super::{Ending, Guide, Unreadable, cost};

/// The budget: units of work per byte of the text, and the minimum for any text.
const WORK_PER_BYTE: usize = 4;
const WORK_AT_LEAST: usize = 10_000;
/// Bytes that are looked at for one unit of work. A step costs one unit too.
const BYTES_PER_WORK: usize = 32;

/// The cheapest reading, and the last step of another one of the same cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) state: State,
    pub(super) other: Option<u32>,
}

/// What is known of a state that a reading has reached.
#[derive(Debug, Clone, Copy)]
struct Entered {
    cost: u32,
    /// Another reading reached it at the same cost.
    rival: bool,
}

/// The search over the readings of one text.
pub(super) struct Search<'s, 'g> {
    pub(super) grammar: Grammar<'s, 'g>,
    /// Waiting readings, indexed by their cost.
    queue: Vec<Vec<Branch>>,
    /// No waiting reading costs less than this.
    lowest: usize,
    /// The states after strings, by `Trail::state_id`.
    entered: HashMap<u64, Entered>,
    steps: usize,
}

impl<'s, 'g> Search<'s, 'g> {
    pub(super) fn new(source: &'s str, guide: &'g dyn Guide) -> Search<'s, 'g> {
        Search { grammar: Grammar::new(source, guide), queue: Vec::new(), lowest: 0, entered: HashMap::new(), steps: 0 }
    }

    /// Follows readings from the bracket at `start` in the order of their cost, and returns the first complete one. The error is
    /// where the reading that got furthest failed.
    pub(super) fn run(&mut self, start: usize) -> Result<Best, Unreadable> {
        let first = State::first(start);
        self.push(Branch { state: first, scan: None, cost: first.cost });
        let mut best: Option<Best> = None;
        while let Some(branch) = self.pop() {
            if best.is_some_and(|best| branch.cost > best.state.cost) {
                break;
            }
            if self.is_spent() {
                self.push(branch);
                break;
            }
            let Some(state) = self.follow(branch) else { continue };
            match &mut best {
                None => best = Some(Best { state, other: None }),
                Some(best) if best.other.is_none() && state.cost == best.state.cost => best.other = Some(state.step),
                Some(_) => {}
            }
        }
        match best {
            Some(best) => Ok(best),
            None if self.is_spent() => {
                self.cheapest_complete().ok_or(Unreadable { at: self.grammar.stuck.at, what: "too many ways to read it" })
            }
            None => Err(self.grammar.stuck.clone()),
        }
    }

    /// Whether another reading of the same cost reached the state after this string.
    pub(super) fn is_rivalled(&self, step: &Step) -> bool {
        self.entered.get(&self.grammar.trail.state_id(step.after, step.frame)).is_some_and(|entered| entered.rival)
    }

    /// Follows one reading to the end of the text. `None` if it fails or is no longer the cheapest.
    fn follow(&mut self, branch: Branch) -> Option<State> {
        let Branch { mut state, mut scan, .. } = branch;
        loop {
            self.steps += 1;
            if state.entered {
                state.entered = false;
                if !self.enter(&state) {
                    return None;
                }
            }
            if let Want::Over(_) = state.want {
                return Some(state);
            }
            let goes_on = self.grammar.step(&mut state, scan.take());
            let mut branches = std::mem::take(&mut self.grammar.branches);
            for branch in branches.drain(..) {
                self.push(branch);
            }
            self.grammar.branches = branches;
            goes_on?;
            if state.cost as usize > self.cheapest() {
                self.push(Branch { state, scan: None, cost: state.cost });
                return None;
            }
        }
    }

    /// The cheapest waiting reading that has read the whole root, for a text whose budget is spent.
    fn cheapest_complete(&mut self) -> Option<Best> {
        let complete = |branch: &&Branch| matches!(branch.state.want, Want::End | Want::Over(Ending::Complete));
        let mut state = self.queue.iter().flatten().find(complete)?.state;
        state.want = Want::Over(Ending::Complete);
        let at = state.at as usize;
        self.grammar.trail.repair(&mut state, HASTY, at, at);
        Some(Best { state, other: None })
    }

    /// Whether the budget is spent.
    fn is_spent(&self) -> bool {
        let text = &self.grammar.text;
        self.steps + text.looked_at() / BYTES_PER_WORK > WORK_AT_LEAST + WORK_PER_BYTE * text.bytes.len()
    }

    /// Queues a reading.
    fn push(&mut self, branch: Branch) {
        let cost = branch.cost as usize;
        if cost > cost::MOST {
            return;
        }
        if self.queue.len() <= cost {
            self.queue.resize_with(cost + 1, Vec::new);
        }
        self.queue[cost].push(branch);
        self.lowest = self.lowest.min(cost);
    }

    fn pop(&mut self) -> Option<Branch> {
        let cost = self.cheapest();
        self.queue.get_mut(cost)?.pop()
    }

    /// The cost of the cheapest waiting reading.
    fn cheapest(&mut self) -> usize {
        while self.queue.get(self.lowest).is_some_and(Vec::is_empty) {
            self.lowest += 1;
        }
        if self.lowest < self.queue.len() { self.lowest } else { usize::MAX }
    }

    /// Records that a reading has reached this state. Returns whether it is the first or the cheapest to do so; notes a tie.
    fn enter(&mut self, state: &State) -> bool {
        let mut first = false;
        let entered = self.entered.entry(self.grammar.trail.state_id(state.at, state.frame)).or_insert_with(|| {
            first = true;
            Entered { cost: state.cost, rival: false }
        });
        entered.rival |= !first && entered.cost == state.cost;
        first || entered.cost > state.cost
    }
}
