//! What the parts of the stage promise.
