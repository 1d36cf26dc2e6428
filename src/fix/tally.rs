//! How often each verdict and each rule occurred: reports -> counters that all answers of a process share. They name
//! rules only, never tools or values.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Report, Verdict};

/// The names of all rules that a report can contain, and `M1` for a tool's name.
pub const RULES: [&str; 55] = [
    "M1", "C1", "E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "S0", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9",
    "S10", "S11", "S12", "S13", "S14", "S15", "S16", "S17", "S18", "S19", "T1", "T2", "T2b", "T3", "X2", "X3", "N1", "N2", "N3",
    "N4", "N5", "N7", "N8", "N9", "K1", "K2", "K3", "K4", "K5", "K5b", "K6", "K7", "K8", "K9", "K10",
];

const VERDICTS: [Verdict; 5] = [Verdict::Clean, Verdict::Lossless, Verdict::Coerced, Verdict::Guess, Verdict::Refused];

/// Counters of the calls that went through the fixer since the process began.
#[derive(Debug)]
pub struct Tally {
    verdicts: [AtomicU64; VERDICTS.len()],
    rules: [AtomicU64; RULES.len()],
}

// === impl Tally ===

impl Default for Tally {
    fn default() -> Tally {
        Tally { verdicts: [const { AtomicU64::new(0) }; VERDICTS.len()], rules: [const { AtomicU64::new(0) }; RULES.len()] }
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
    pub fn count_rule(&self, rule: &str) {
        if let Some(at) = RULES.iter().position(|name| *name == rule) {
            self.rules[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every verdict with its number of calls.
    pub fn verdicts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        VERDICTS.iter().zip(&self.verdicts).map(|(verdict, count)| (verdict.as_str(), count.load(Ordering::Relaxed)))
    }

    /// The rules that were used, with the number of fixes.
    pub fn rules(&self) -> impl Iterator<Item = (&'static str, u64)> {
        RULES
            .into_iter()
            .zip(&self.rules)
            .map(|(rule, count)| (rule, count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
    }
}
