//! The grammar of nearly-JSON: which token may follow which. A step continues one reading and may leave branches, which the
//! search follows in the order of their cost. The grammar does not know that order.

mod brackets;
mod follow;
mod members;
mod strings;
mod values;

use super::super::lex::Text;
use super::rules::Rule;
use super::state::{Bracket, Branch, Frame, NONE, Scan, State, StepKind, Want};
use super::trail::Trail;
use super::{Ending, Guide, Key, Unreadable, cost};

/// The grammar over one text, and the trail of its readings.
pub(super) struct Grammar<'s, 'g> {
    pub(super) text: Text<'s>,
    guide: &'g dyn Guide,
    pub(super) trail: Trail,
    /// Other ways to read what the last step read.
    pub(super) branches: Vec<Branch>,
    /// Where the reading that got furthest failed.
    pub(super) stuck: Unreadable,
}

impl<'s, 'g> Grammar<'s, 'g> {
    pub(super) fn new(source: &'s str, guide: &'g dyn Guide) -> Grammar<'s, 'g> {
        Grammar {
            text: Text::new(source),
            guide,
            trail: Trail::default(),
            branches: Vec::new(),
            stuck: Unreadable { at: 0, what: "no JSON object or array" },
        }
    }

    /// Reads one token, or looks for the next possible end of a string. `None`: this reading ends here, or continues in the
    /// branches only.
    pub(super) fn step(&mut self, state: &mut State, scan: Option<Scan>) -> Option<()> {
        if let Some(scan) = scan {
            return self.scan(state, scan);
        }
        match state.want {
            Want::Value => self.value(state),
            Want::Item => self.item(state),
            Want::Member => self.member(state),
            Want::Next => self.next(state),
            Want::End => self.end(state),
            Want::Over(_) => Some(()),
        }
    }

    /// Adds another way to read the last token.
    fn branch(&mut self, state: State) {
        self.branches.push(Branch { state, scan: None, cost: state.cost });
    }

    /// Adds another way to read the last token, inside a string. It costs at least `cost`.
    fn branch_in(&mut self, state: State, scan: Scan, cost: u32) {
        self.branches.push(Branch { state, scan: Some(scan), cost });
    }

    fn note(&mut self, state: &mut State, kind: StepKind, start: usize, end: usize) {
        self.trail.note(state, kind, start, end);
    }

    fn repair(&mut self, state: &mut State, rule: Rule, start: usize, end: usize) {
        self.trail.repair(state, rule, start, end);
    }

    /// The innermost open bracket.
    fn frame(&self, state: &State) -> Option<&Frame> {
        self.trail.frame(state.frame)
    }

    /// Whether the innermost open bracket is of this kind.
    fn is_in(&self, state: &State, bracket: Bracket) -> bool {
        self.frame(state).is_some_and(|frame| frame.bracket == bracket)
    }

    /// Whether this bracket is an item of an array.
    fn inside_array(&self, frame: &Frame) -> bool {
        self.trail.frame(frame.parent).is_some_and(|around| around.bracket == Bracket::Array)
    }

    /// What the guide says of a key; `None` if the object has it already.
    fn fresh(&self, frame: &Frame, key: &str) -> Option<Key> {
        self.trail.fresh(frame, key, self.guide)
    }

    /// Opens a bracket; its first member or item is next.
    fn open(&mut self, state: &mut State, bracket: Bracket, at: usize) -> Option<()> {
        if self.trail.open(state, bracket, at, self.guide).is_none() {
            return self.dead(at, "more than 128 levels of nesting");
        }
        state.at = (at + 1) as u32;
        state.comma = false;
        state.want = if bracket == Bracket::Object { Want::Member } else { Want::Item };
        Some(())
    }

    /// Closes the innermost bracket. Its closing bracket is `start..end`, empty if it is missing.
    fn close(&mut self, state: &mut State, start: usize, end: usize) -> Option<()> {
        let frame = *self.frame(state)?;
        state.cost += self.missing(&frame);
        self.note(state, StepKind::Close, start, end);
        state.frame = frame.parent;
        state.at = end as u32;
        state.comma = false;
        state.want = if frame.parent == NONE { Want::End } else { Want::Next };
        Some(())
    }

    /// The cost of the required keys that this object lacks.
    fn missing(&self, frame: &Frame) -> u32 {
        let object = frame.bracket == Bracket::Object;
        if object { cost::MISSING_KEY * self.guide.missing(frame.shape, frame.seen) } else { 0 }
    }

    /// Ends this reading as failed.
    fn dead(&mut self, at: usize, what: &'static str) -> Option<()> {
        if at >= self.stuck.at {
            self.stuck = Unreadable { at, what };
        }
        None
    }

    /// Ends this reading because the text ended. `extra` is added to the cost of missing keys.
    fn over(&mut self, state: &mut State, ending: Ending, extra: u32) -> Option<()> {
        let missing: u32 = self.trail.frames(state.frame).map(|frame| self.missing(frame)).sum();
        state.cost += extra + missing;
        state.want = Want::Over(ending);
        Some(())
    }
}
