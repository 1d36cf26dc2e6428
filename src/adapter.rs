//! The model's side: how a family of models is asked for calls, and how it writes them.

pub mod render;
