//! The one way to take a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, even if a thread has panicked while holding it. The state behind it must be valid after every step.
pub trait Hold<T> {
    /// Waits for the lock.
    fn hold(&self) -> MutexGuard<'_, T>;
}

impl<T> Hold<T> for Mutex<T> {
    fn hold(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
