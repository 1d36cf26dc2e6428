//! The first reading, followed alone: what it leaves aside is only remembered, after a while not even that, and the tree
//! grows while it goes. It is the cheapest one if it ends cheaper than the cheapest of those began, as nearly every text does
//! that needs no guess.

use super::Reading;
use super::build::Builder;
use super::search::{Again, Item, Search};
use super::state::{NONE, Scan, State, Step, StepKind, Want};

/// So many steps go to the builder at once.
pub(super) const BATCH: usize = 32;

/// How far the first reading could be followed alone.
pub(super) enum Straight<'s> {
    /// To its end.
    Over(Reading<'s>),
    /// Up to this state: from here on another reading may be cheaper.
    Left(State),
}

/// What the first reading leaves aside, before its steps are handed over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aside {
    /// It would cost at least this much.
    Item(u32, Item),
    Again(Again),
    /// The closing quote of a string may have been forgotten before the delimiter here.
    Forgotten(State, Scan, usize),
}

/// How far the lists had grown before a step.
struct Mark {
    steps: usize,
    frames: usize,
    keys: usize,
    aside: usize,
    work: usize,
    doubled: bool,
}

impl<'s> Search<'s, '_> {
    /// Reads the container at `start` along the first reading.
    pub(super) fn straight(&mut self, start: usize) -> Straight<'s> {
        self.left = Some(u32::MAX);
        let mut builder = Builder::new(self.text.source);
        let mut state = State::first(start);
        let mut taken = 0;
        while !matches!(state.want, Want::Over(_)) {
            let before = (!self.handed_over).then(|| (self.mark(), state));
            self.work += 1;
            if self.step(&mut state).is_none() || self.left.is_some_and(|left| state.cost >= left) {
                let Some((mark, state)) = before else {
                    self.start_over();
                    return Straight::Left(State::first(start));
                };
                self.go_back(mark);
                self.take_up();
                return Straight::Left(state);
            }
            if state.entered && !self.handed_over {
                state.entered = false;
                self.enter(&state);
            }
            if self.steps.len() > BATCH {
                taken = self.hand_over(&mut state, taken, &mut builder);
            }
        }
        self.hand_over(&mut state, taken, &mut builder);
        Straight::Over(builder.finish(&state, None))
    }

    /// Whether the first reading is followed alone.
    pub(super) fn is_straight(&self) -> bool {
        self.left.is_some()
    }

    /// Leaves readings aside that would cost at least this much.
    pub(super) fn leave(&mut self, cost: u32, aside: Aside) {
        self.left = self.left.map(|left| left.min(cost));
        if !self.handed_over {
            self.aside.push(aside);
        }
    }

    /// What was left aside waits for its turn, as if it always had.
    fn take_up(&mut self) {
        self.left = None;
        for aside in std::mem::take(&mut self.aside) {
            match aside {
                Aside::Item(cost, item) => self.push_at(cost, item.state, item.scan),
                Aside::Again(again) => self.push_again(again),
                Aside::Forgotten(state, scan, quote) => self.forgotten(state, &scan, quote),
            }
        }
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
        self.handed_over = true;
        self.aside.clear();
        self.trail.clear();
        self.steps.clear();
        self.steps.extend(value);
        self.steps.extend(last.map(|step| Step { previous: 0, ..step }));
        // Without any step it stays `NONE`.
        state.step = (self.steps.len() as u32).wrapping_sub(1);
        self.steps.len()
    }

    fn mark(&self) -> Mark {
        Mark {
            steps: self.steps.len(),
            frames: self.frames.len(),
            keys: self.keys.len(),
            aside: self.aside.len(),
            work: self.work,
            doubled: self.text.doubled.get(),
        }
    }

    fn go_back(&mut self, to: Mark) {
        self.steps.truncate(to.steps);
        self.frames.truncate(to.frames);
        self.keys.truncate(to.keys);
        self.aside.truncate(to.aside);
        self.work = to.work;
        self.text.doubled.set(to.doubled);
    }

    fn start_over(&mut self) {
        self.left = None;
        self.handed_over = false;
        self.steps.clear();
        self.frames.clear();
        self.keys.clear();
        self.work = 0;
        self.text.doubled.set(false);
    }
}
