//! The search for the cheapest reading: Dijkstra's over (place, open brackets). States are small, share their past, and are
//! looked at in order of cost. The first reading is followed alone as long as nothing that was left aside could be cheaper,
//! so a text that needs no guess is read in one pass that keeps nothing but its own steps. A second way into the same state
//! is dropped, which together with a budget keeps the work linear in the text. Recursion does not occur.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::super::lex::Text;
use super::rules::{HASTY, Rule};
use super::state::{Best, Frame, Scan, State, Step, StepKind, Want, cost};
use super::straight::{Aside, BATCH};
use super::{Ending, Guide, Unreadable};

/// Room for so many steps at first, and for a part of it of everything else.
const STEPS: usize = BATCH + 8;

/// A reading that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) state: State,
    pub(super) scan: Option<Scan>,
}

/// A string that ended at its first quote and might not have: the scan is made when it comes to that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    /// The string's step.
    pub(super) step: u32,
    /// What the state before it costs.
    pub(super) cost: u32,
    /// What it costs to go on over the quote.
    pub(super) passed: u32,
}

/// What waits with one cost.
#[derive(Debug, Default)]
struct Bucket {
    items: Vec<Item>,
    again: Vec<Again>,
}

#[derive(Debug, Clone, Copy)]
struct Entered {
    cost: u32,
    rival: bool,
}

/// Hash values are their own hash.
#[derive(Debug, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0, u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

pub(super) struct Search<'s, 'g> {
    pub(super) text: Text<'s>,
    pub(super) guide: &'g dyn Guide,
    pub(super) steps: Vec<Step>,
    pub(super) frames: Vec<Frame>,
    /// Keys of which the guide knows nothing: (list before, hash).
    pub(super) keys: Vec<(u32, u64)>,
    queue: Vec<Bucket>,
    /// No bucket below this one has an item.
    lowest: usize,
    entered: HashMap<u64, Entered, BuildHasherDefault<Identity>>,
    /// States that the first reading entered, while it is the only one.
    pub(super) trail: Vec<(u64, u32)>,
    /// How many readings were begun.
    begun: usize,
    pub(super) work: usize,
    pub(super) stuck: Unreadable,
    /// While the first reading is followed alone: what the cheapest one that was left aside costs.
    pub(super) left: Option<u32>,
    /// What it left aside so far.
    pub(super) aside: Vec<Aside>,
    /// Its steps were handed over: what it leaves aside is forgotten.
    pub(super) handed_over: bool,
}

// === impl Search ===

impl<'s, 'g> Search<'s, 'g> {
    pub(super) fn new(source: &'s str, guide: &'g dyn Guide) -> Search<'s, 'g> {
        let room = STEPS.min(source.len() / 4);
        Search {
            text: Text::new(source),
            guide,
            steps: Vec::with_capacity(room),
            frames: Vec::with_capacity(room / 2),
            keys: Vec::with_capacity(room / 2),
            queue: Vec::new(),
            lowest: 0,
            entered: HashMap::default(),
            trail: Vec::with_capacity(room / 4),
            begun: 0,
            work: 0,
            stuck: Unreadable { at: 0, what: "no JSON object or array" },
            left: None,
            aside: Vec::with_capacity(room / 8),
            handed_over: false,
        }
    }

    /// Follows the readings from this state on, and those that wait, in the order of their cost, to the cheapest one; the
    /// error says where the one that got furthest was stuck.
    pub(super) fn run(&mut self, first: State) -> Result<Best, Unreadable> {
        self.push(first, None);
        let limit = 10_000 + 4 * self.text.bytes.len();
        let mut best: Option<Best> = None;
        while let Some((cost, item)) = self.pop() {
            if let Some(best) = &best
                && cost > best.state.cost
            {
                break;
            }
            if self.work > limit {
                self.push_at(cost, item.state, item.scan);
                break;
            }
            self.begun += 1;
            let mut state = item.state;
            if item.scan.is_some_and(|scan| self.scan(&mut state, scan).is_none()) || self.advance(&mut state).is_none() {
                continue;
            }
            match &mut best {
                None => best = Some(Best { state, other: None }),
                Some(best) if best.other.is_none() && state.cost == best.state.cost => best.other = Some(state.step),
                Some(_) => {}
            }
        }
        if best.is_none() && self.work > limit {
            return self.cheapest_complete().ok_or(Unreadable { at: self.stuck.at, what: "too many ways to read it" });
        }
        best.ok_or_else(|| self.stuck.clone())
    }

    /// The cheapest reading that waits and has come to the end of the root: for a text with too many ways to read it.
    fn cheapest_complete(&mut self) -> Option<Best> {
        let complete = |item: &&Item| matches!(item.state.want, Want::End | Want::Over(Ending::Complete));
        let mut state = self.queue.iter().find_map(|bucket| bucket.items.iter().find(complete))?.state;
        state.want = Want::Over(Ending::Complete);
        let at = state.at as usize;
        self.repair(&mut state, HASTY, at, at);
        Some(Best { state, other: None })
    }

    /// Follows one reading until it is over; `None` if it is stuck, or no longer the cheapest.
    fn advance(&mut self, state: &mut State) -> Option<()> {
        loop {
            self.work += 1;
            if state.entered {
                state.entered = false;
                if !self.enter(state) {
                    return None;
                }
            }
            if let Want::Over(_) = state.want {
                return Some(());
            }
            self.step(state)?;
            if state.cost as usize > self.cheapest() {
                self.push(*state, None);
                return None;
            }
        }
    }

    /// One token further. `None`: this reading ends here, or its continuations are in the queue.
    pub(super) fn step(&mut self, state: &mut State) -> Option<()> {
        match state.want {
            Want::Value => self.value(state),
            Want::Item => self.item(state),
            Want::Member => self.member(state),
            Want::Next => self.next(state),
            Want::End => self.end(state),
            Want::Over(_) => Some(()),
        }
    }

    /// Lets a reading wait for its turn.
    pub(super) fn push(&mut self, state: State, scan: Option<Scan>) {
        self.push_at(state.cost, state, scan);
    }

    /// Lets a reading wait whose cost will be at least `cost`.
    pub(super) fn push_at(&mut self, cost: u32, state: State, scan: Option<Scan>) {
        if self.is_straight() {
            return self.leave(cost, Aside::Item(cost, Item { state, scan }));
        }
        let cost = cost as usize;
        if cost > cost::MOST {
            return;
        }
        if self.queue.len() <= cost {
            self.queue.resize_with(cost + 1, Bucket::default);
        }
        self.queue[cost].items.push(Item { state, scan });
        self.lowest = self.lowest.min(cost);
    }

    /// Lets the other readings of a string wait that ended at its first quote.
    pub(super) fn push_again(&mut self, again: Again) {
        let price = again.cost + cost::INNER_QUOTES + again.passed;
        if self.is_straight() {
            return self.leave(price, Aside::Again(again));
        }
        let price = price as usize;
        if price > cost::MOST {
            return;
        }
        if self.queue.len() <= price {
            self.queue.resize_with(price + 1, Bucket::default);
        }
        self.queue[price].again.push(again);
        self.lowest = self.lowest.min(price);
    }

    fn resumed(&self, again: Again) -> Option<Item> {
        let step = self.steps.get(again.step as usize)?;
        let (quote, more) = match step.kind {
            StepKind::Text(quote) => (quote, false),
            StepKind::MoreText(quote) => (quote, true),
            _ => return None,
        };
        let start = step.start as usize;
        let scan =
            Scan { at: step.after, inner: 1, passed: again.passed, ..Scan::new(start.saturating_sub(1), start, quote, more) };
        let state = State {
            at: step.start,
            frame: step.frame,
            step: step.previous,
            cost: again.cost,
            want: Want::Value,
            comma: false,
            tagged: false,
            entered: false,
        };
        Some(Item { state, scan: Some(scan) })
    }

    fn pop(&mut self) -> Option<(u32, Item)> {
        let cost = self.cheapest();
        let bucket = self.queue.get_mut(cost)?;
        let item = match bucket.items.pop() {
            Some(item) => item,
            None => {
                let again = bucket.again.pop()?;
                self.resumed(again)?
            }
        };
        Some((cost as u32, item))
    }

    /// The cost of the cheapest reading that waits. One that was left aside must not even be met.
    pub(super) fn cheapest(&mut self) -> usize {
        if let Some(left) = self.left {
            return (left as usize).saturating_sub(1);
        }
        let is_empty = |bucket: &Bucket| bucket.items.is_empty() && bucket.again.is_empty();
        while self.lowest < self.queue.len() && is_empty(&self.queue[self.lowest]) {
            self.lowest += 1;
        }
        if self.lowest < self.queue.len() { self.lowest } else { usize::MAX }
    }

    /// Counts bytes that were looked at.
    pub(super) fn worked(&mut self, bytes: usize) {
        self.work += 1 + bytes / 32;
    }

    /// Whether this state is worth following: nobody was here cheaper. Another of the same cost makes it a rival.
    pub(super) fn enter(&mut self, state: &State) -> bool {
        let name = self.state_name(state.at, state.frame);
        if self.begun <= 1 {
            self.trail.push((name, state.cost));
            return true;
        }
        for (name, cost) in self.trail.drain(..) {
            self.entered.insert(name, Entered { cost, rival: false });
        }
        match self.entered.get_mut(&name) {
            Some(before) => {
                before.rival |= before.cost == state.cost;
                before.cost > state.cost
            }
            None => {
                self.entered.insert(name, Entered { cost: state.cost, rival: false });
                true
            }
        }
    }

    /// Whether a second reading of the same cost went through the state behind this string.
    pub(super) fn rivalled(&self, step: &Step) -> bool {
        !self.entered.is_empty()
            && self.entered.get(&self.state_name(step.after, step.frame)).is_some_and(|entered| entered.rival)
    }

    fn state_name(&self, at: u32, frame: u32) -> u64 {
        let hash = self.frames.get(frame as usize).map_or(0, |frame| frame.hash);
        mix(hash, u64::from(at))
    }

    /// Appends a step to a reading.
    pub(super) fn note(&mut self, state: &mut State, kind: StepKind, start: usize, end: usize) {
        let step =
            Step { previous: state.step, start: start as u32, end: end as u32, after: end as u32, frame: state.frame, kind };
        state.step = self.steps.len() as u32;
        self.steps.push(step);
    }

    /// Appends a repair to a reading.
    pub(super) fn repair(&mut self, state: &mut State, rule: Rule, start: usize, end: usize) {
        self.note(state, StepKind::Repair(rule), start, end);
    }

    /// This reading goes no further.
    pub(super) fn dead(&mut self, at: usize, what: &'static str) -> Option<()> {
        if at >= self.stuck.at {
            self.stuck = Unreadable { at, what };
        }
        None
    }

    /// The text is over in the middle of something.
    pub(super) fn over(&mut self, state: &mut State, ending: Ending, extra: u32) -> Option<()> {
        state.cost += extra;
        state.want = Want::Over(ending);
        let mut frame = state.frame;
        while let Some(open) = self.frames.get(frame as usize) {
            state.cost += cost::MISSING_KEY * self.guide.missing(open.shape, open.seen);
            frame = open.parent;
        }
        Some(())
    }
}

pub(super) fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
