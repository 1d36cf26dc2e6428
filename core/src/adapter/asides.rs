//! Text around calls that the model only mentions, in any family: the lists of `core/data/asides.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// The reasoning tags of most models.
pub(super) const THINK: [&str; 2] = ["<think>", "</think>"];
/// The rest of a result's tag after the tool's name, in the form of clients that ask for elements.
pub const CLIENT_RESULT: &str = "_result>";

/// The lists. The file says what each of them means.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asides {
    pub(super) asides: Vec<[String; 2]>,
    pub(super) results: Vec<[String; 2]>,
    pub(super) results_of_calls: Vec<String>,
    pub(super) result_fences: Vec<String>,
    ends: Vec<String>,
    pub(super) turns: Vec<String>,
    pub(super) ended_turns: Vec<String>,
}

/// The lists that are built in.
pub(super) static ASIDES: LazyLock<Asides> =
    LazyLock::new(|| toml::from_str(include_str!("../../data/asides.toml")).unwrap_or_default());

/// The tokens that end a model's turn in some family.
pub(super) fn ends<'a>() -> impl Iterator<Item = &'a str> + Clone {
    ASIDES.ends.iter().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::Asides;

    #[test]
    fn the_lists_are_read() {
        let asides: Asides = toml::from_str(include_str!("../../data/asides.toml")).unwrap();
        assert!(asides.ends.len() > 10 && asides.turns.len() > 10);
    }
}
