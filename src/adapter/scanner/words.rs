//! What the words around a call say about it: whether the model makes it, shows it, denies it, or takes it back.

mod after;
mod alternatives;
mod clauses;
mod depends;
mod disowned;
mod english;
mod forbids;
mod foreign;
mod languages;
mod lead;
mod reported;
mod retracts;
mod signs;
mod subject;

pub(super) use after::{OPENERS, Written, follows_a_subject, offers_choice, takes_back};
pub(super) use disowned::{describes, is_disowned, is_quoting};
pub use forbids::UsersWords;
pub(super) use lead::{Lead, asks_to_wait, leaves_a_step};

#[cfg(test)]
mod tests;
