//! Stores what later turns need from an answer.

use super::{
    super::{count, spool},
    Rounds,
};
use crate::{error::Error, event::Sink};

impl<O: Sink> Rounds<O> {
    /// Stores what the latest events have shown. Must finish before the bytes are sent.
    pub(super) async fn keep(&mut self) -> Result<(), Error> {
        self.outlet.extras.keep(&self.shared, &self.plan).await;
        let kept = spool::keep(&self.shared, &self.plan, self.outlet.shape.take_spooled()).await;
        if std::mem::take(&mut self.shown.relearned) {
            self.remember().await;
        }
        if let Some(usage) = self.shown.counted.take() {
            count::learn(&self.plan, &self.shared, usage).await;
        }
        kept
    }
}
