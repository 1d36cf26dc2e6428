//! How the program takes every lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock whose state is valid after each step: a thread that panicked while it held the lock has left nothing half done.
pub trait Hold<T> {
    /// Waits for the lock.
    fn hold(&self) -> MutexGuard<'_, T>;
}

impl<T> Hold<T> for Mutex<T> {
    fn hold(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
