//! What the words around a call say about it: whether the model makes it, shows it, denies it, or takes it back.
//!
//! | question | rule | words |
//! |---|---|---|
//! | before a call: does the line announce it, or say who acts? | `lead`, `subject` | `Actor`, `Agrees`, `Leads`, `Step` |
//! | before: is it only possible, or does it depend on something? | `lead`, `depends` | `Possible`, `Distant`; `Conditional`, `Hedges`, `Later` |
//! | before: was it made earlier, quoted, or left to the reader? | `reported` | `Acted`, `Perceives`, `Cites`, `Submits`; `Ago`, `Cues` |
//! | before: is it an example, denied, or refused? | `disowned` | `Refuses`, `Example`; `Shows`, `NoCase`, `Labels` |
//! | before: is the line a label of a text or of data? | `labels` | `Unreal`, `Form`, `Caption`, `Copy` |
//! | before: does the line describe or quote something? | `describes`, `subject` | `Text`, `Records`, `Tells`, `Quotes`, `Owns` |
//! | before and after: does it wait for the user? | `asks` | `Asks`, `Requests`, `Leaves`, `Awaits`; `Consent`, `Needs` |
//! | before and after: does it offer a choice? | `alternatives` | `Choice`, `Choices`; `Or` |
//! | after a call: is it taken back? | `after`, then `retracts` for English | `Cancels`, `Denied`, `Wrong`, `Example`; `NotMeant`, `Redoes` |
//! | after: is it about another act than the call? | `deeds` | `Deletes`, `Changes` |
//! | the user's own words: do they forbid to run anything? | `forbids` | there, and in `forbids.toml` |
//!
//! English words are in `english.toml`, each with all its classes (`Word`, `Phrase`). For other languages, `foreign` has the rules
//! and `languages.toml` the words (`Says`). `clauses` and `signs` divide a text.

mod after;
mod alternatives;
mod asks;
mod clauses;
mod deeds;
mod depends;
mod describes;
mod disowned;
mod english;
mod forbids;
mod foreign;
mod labels;
mod languages;
mod lead;
mod reported;
mod retracts;
mod signs;
mod subject;

pub(super) use after::{OPENERS, Written, follows_a_subject, offers_choice, takes_back};
pub(super) use asks::asks_to_wait;
pub(super) use describes::{describes, is_quoting};
pub(super) use disowned::{is_disowned, is_disowned_before_pointer};
pub use forbids::UsersWords;
pub(super) use labels::presents_a_text;
pub(super) use lead::{Lead, leaves_a_step};

#[cfg(test)]
mod tests;
