//! Runs a chat turn: upstream rounds through the stages, from the request's plan to the client's bytes.

pub mod answer;
mod gate;
