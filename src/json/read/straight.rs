//! The first reading, followed alone: nothing that it leaves aside is kept, and the tree grows while it goes. It is the
//! cheapest one if it ends cheaper than the cheapest of those began, as nearly every text does that needs no guess.

use super::Reading;
use super::build::Builder;
use super::search::Search;
use super::state::{NONE, State, Step, StepKind, Want};

/// So many steps go to the builder at once.
pub(super) const BATCH: usize = 64;

impl<'s> Search<'s, '_> {
    /// Reads the container at `start` along the first reading; `None` if another one may be cheaper, or there is none.
    pub(super) fn straight(&mut self, start: usize) -> Option<Reading<'s>> {
        self.left = Some(u32::MAX);
        let mut builder = Builder::new(self.text.source);
        let mut state = State::first(start);
        let mut taken = 0;
        while !matches!(state.want, Want::Over(_)) {
            match self.step(state) {
                Some(next) if self.left.is_some_and(|left| next.cost < left) => state = next,
                _ => {
                    self.start_over();
                    return None;
                }
            }
            if self.steps.len() > BATCH {
                taken = self.hand_over(&mut state, taken, &mut builder);
            }
        }
        self.hand_over(&mut state, taken, &mut builder);
        Some(builder.finish(&state, None))
    }

    /// Whether the first reading is followed alone.
    pub(super) fn is_straight(&self) -> bool {
        self.left.is_some()
    }

    /// Leaves a reading aside that would cost at least this much.
    pub(super) fn leave(&mut self, cost: u32) {
        self.left = self.left.map(|left| left.min(cost));
    }

    /// Gives the steps to the builder. The last one, and the last that is no repair, stay: what follows may look back at them.
    fn hand_over(&mut self, state: &mut State, taken: usize, builder: &mut Builder<'s>) -> usize {
        let is_repair = |step: &Step| matches!(step.kind, StepKind::Repair(_));
        let last = self.steps.get(state.step as usize).copied().filter(is_repair).filter(|_| state.step as usize >= taken);
        let mut value = None;
        // Each step knows the one before it. On the way back it learns the one behind it instead.
        let (mut at, mut behind) = (state.step, NONE);
        while let Some(step) = self.steps.get_mut(at as usize).filter(|_| at as usize >= taken) {
            if value.is_none() && !is_repair(step) {
                value = Some(*step);
            }
            (at, behind, step.previous) = (step.previous, at, behind);
        }
        let value = value.or_else(|| self.steps.first().copied().filter(|_| taken > 0));
        while let Some(step) = self.steps.get(behind as usize) {
            builder.take(step);
            behind = step.previous;
        }
        self.steps.clear();
        self.steps.extend(value);
        self.steps.extend(last.map(|step| Step { previous: 0, ..step }));
        // Without any step it stays `NONE`.
        state.step = (self.steps.len() as u32).wrapping_sub(1);
        self.steps.len()
    }

    fn start_over(&mut self) {
        self.left = None;
        self.steps.clear();
        self.frames.clear();
        self.keys.clear();
        self.work = 0;
        self.text.forget();
    }
}
