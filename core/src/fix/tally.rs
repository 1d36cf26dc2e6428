//! Counts verdicts and rules over all answers of a process. The counters name rules only, never tools or values.

use std::sync::atomic::{AtomicU64, Ordering};

use super::report::{Report, Verdict};
use crate::json::Code;

const VERDICTS: [Verdict; 5] = [Verdict::Clean, Verdict::Lossless, Verdict::Coerced, Verdict::Guess, Verdict::Refused];

/// Counters of the calls that the fixer checked since the process began.
#[derive(Debug)]
pub struct Tally {
    verdicts: [AtomicU64; VERDICTS.len()],
    rules: [AtomicU64; Code::ALL.len()],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { verdicts: [const { AtomicU64::new(0) }; VERDICTS.len()], rules: [const { AtomicU64::new(0) }; Code::ALL.len()] }
    }
}

impl Tally {
    /// Counts the verdict of a call, and each of its fixes.
    pub fn count(&self, report: &Report) {
        self.verdicts[report.verdict as usize].fetch_add(1, Ordering::Relaxed);
        for fix in &report.fixes {
            self.count_rule(fix.rule);
        }
    }

    /// Counts one use of a rule.
    pub fn count_rule(&self, rule: Code) {
        self.rules[rule as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Each verdict with its number of calls.
    pub fn verdicts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        VERDICTS.iter().zip(&self.verdicts).map(|(verdict, count)| (verdict.as_str(), count.load(Ordering::Relaxed)))
    }

    /// The rules that were used, with the number of their fixes.
    pub fn rules(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Code::ALL
            .iter()
            .zip(&self.rules)
            .map(|(rule, count)| (rule.as_str(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
    }
}
