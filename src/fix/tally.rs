//! How often each verdict and each rule occurred: reports -> counters that all answers of a process share. They name
//! rules only, never tools or values.

use std::sync::atomic::{AtomicU64, Ordering};

use super::report::{Report, Verdict};
use crate::json::Code;

const VERDICTS: [Verdict; 5] = [Verdict::Clean, Verdict::Lossless, Verdict::Coerced, Verdict::Guess, Verdict::Refused];

/// Counters of the calls that went through the fixer since the process began.
#[derive(Debug)]
pub struct Tally {
    verdicts: [AtomicU64; VERDICTS.len()],
    rules: [AtomicU64; Code::ALL.len()],
}

// === impl Tally ===

impl Default for Tally {
    fn default() -> Tally {
        Tally { verdicts: [const { AtomicU64::new(0) }; VERDICTS.len()], rules: [const { AtomicU64::new(0) }; Code::ALL.len()] }
    }
}

impl Tally {
    /// Counts one call: its verdict, and each of its fixes under its rule.
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

    /// Every verdict with its number of calls.
    pub fn verdicts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        VERDICTS.iter().zip(&self.verdicts).map(|(verdict, count)| (verdict.as_str(), count.load(Ordering::Relaxed)))
    }

    /// The rules that were used, with the number of fixes.
    pub fn rules(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Code::ALL
            .iter()
            .zip(&self.rules)
            .map(|(rule, count)| (rule.as_str(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
    }
}
