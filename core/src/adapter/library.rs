//! All adapters, embedded in the binary and overlaid by a user's directory, and the choice of one for a model. Before that
//! choice, `plan::reader` tries the route's adapter, and the name of the model that a copy was made from.

use std::{
    path::Path,
    sync::{Arc, LazyLock},
};

use super::{Adapter, Shown, quote::Turns};
use crate::error::Error;

include!(concat!(env!("OUT_DIR"), "/adapters.rs"));

/// The adapter whose forms follow every family's own, and which reads models that no other one knows.
pub const GENERIC: &str = "generic";

/// The adapters of a process: a snapshot that a reload replaces as a whole.
#[derive(Debug, Clone)]
pub struct Library {
    adapters: Vec<Arc<Adapter>>,
    generic: Arc<Adapter>,
    /// All globs of all adapters, sorted by letters, fewest first.
    globs: Vec<Glob>,
}

/// A compiled glob over model names.
#[derive(Debug, Clone)]
struct Glob {
    /// The text before the first `*`.
    first: String,
    /// The texts between the `*`, and the text after the last one. `None` for a glob without `*`.
    rest: Option<(Vec<String>, String)>,
    letters: usize,
    /// The glob as the file writes it.
    written: String,
    adapter: Arc<Adapter>,
}

/// The adapter of a model, and why.
#[derive(Debug, Clone)]
pub struct Found {
    /// The adapter.
    pub adapter: Arc<Adapter>,
    /// The reason in words: the glob, the fingerprint, or that nothing matches.
    pub why: String,
}

impl Library {
    /// Loads the embedded adapters.
    ///
    /// # Errors
    /// One of the files is not a valid adapter.
    pub fn embedded() -> Result<Library, Error> {
        // Parsed once in a process: each reload of a configuration asks for it.
        static PARSED: LazyLock<Result<Library, Error>> = LazyLock::new(|| Library::from_files(embedded_files()));
        PARSED.clone()
    }

    /// Loads the embedded adapters, overlaid by the `*.toml` files of a directory. A file replaces the adapter of the same name.
    ///
    /// # Errors
    /// The directory or a file cannot be read, or a file is not a valid adapter. One faulty file fails the whole library.
    pub fn with_overlay(directory: &Path) -> Result<Library, Error> {
        let mut files = embedded_files();
        let read = |error: std::io::Error| Error::proxy(format!("`adapters`: {}: {error}", directory.display()));
        let mut paths: Vec<_> =
            std::fs::read_dir(directory).map_err(read)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(path).map_err(read)?;
            files.retain(|(known, _)| *known != name);
            files.push((name, text));
        }
        Library::from_files(files)
    }

    fn from_files(files: Vec<(String, String)>) -> Result<Library, Error> {
        let generic_text = files.iter().find(|(name, _)| name == GENERIC).map(|(_, text)| text.as_str()).unwrap_or_default();
        let generic = Adapter::parse(GENERIC, generic_text, &[])?;
        let adapters = files
            .iter()
            .filter(|(name, _)| name != GENERIC)
            .map(|(name, text)| Adapter::parse(name, text, &generic.calls).map(Arc::new))
            .collect::<Result<Vec<_>, Error>>()?;
        let shown = adapters.iter().flat_map(|family| {
            let shown = |marker: &String| Arc::new(Shown { marker: marker.clone(), family: Arc::clone(family) });
            family.signs.markers.iter().map(shown)
        });
        let shown: Vec<_> = shown.collect();
        let turns = adapters.iter().map(|family| family.turns()).chain([generic.turns()]);
        let turns = Arc::new(Turns::of_all(turns));
        let generic = Arc::new(Adapter { turns, ..generic.giving_way(&shown) });
        let adapters: Vec<_> = adapters.iter().map(|adapter| Arc::new(adapter.giving_way(&shown))).collect();
        let globs = adapters.iter().flat_map(|adapter| adapter.signs.models.iter().map(move |glob| Glob::new(glob, adapter)));
        let mut globs: Vec<Glob> = globs.collect();
        globs.sort_by_key(|glob| glob.letters);
        Ok(Library { adapters, generic, globs })
    }

    /// Finds the adapter for a model. A fingerprint in the chat template comes before the name, with one exception: the name
    /// decides if its adapter has no fingerprint and the template contains that adapter's markers, because families share
    /// fingerprints. Of several matches, the one with the most literal text wins. An unknown model gets the generic adapter.
    pub fn find(&self, model: &str, template: Option<&str>) -> Found {
        let found = |adapter: &Arc<Adapter>, why: String| Found { adapter: Arc::clone(adapter), why };
        let by_name = self.by_name(model);
        let by_template = template.and_then(|template| {
            let fits = |adapter: &&Arc<Adapter>| {
                !adapter.signs.templates.is_empty() && adapter.signs.templates.iter().all(|text| template.contains(text.as_str()))
            };
            self.adapters.iter().filter(fits).max_by_key(|adapter| adapter.signs.templates.iter().map(String::len).sum::<usize>())
        });
        match (by_template, by_name) {
            (Some(shared), Some((adapter, glob))) if adapter.signs.templates.is_empty() && adapter.shows_in(template) => {
                let why = format!("its name matches `{glob}`, and its chat template has the markers of {} too", shared.name);
                found(adapter, why)
            }
            (Some(adapter), _) => found(adapter, format!("its chat template contains {}", adapter.signs.templates.join(" and "))),
            (None, Some((adapter, glob))) => found(adapter, format!("its name matches `{glob}`")),
            (None, None) => found(&self.generic, "no adapter knows it: the generic forms".into()),
        }
    }

    /// The adapter whose matching glob has the most letters, and the glob.
    fn by_name(&self, model: &str) -> Option<(&Arc<Adapter>, &str)> {
        let spellings = spellings(model);
        let found = self.globs.iter().rev().find(|glob| spellings.iter().any(|name| glob.matches(name)))?;
        Some((&found.adapter, &found.written))
    }

    /// The adapter with this file name, without `.toml`.
    pub fn get(&self, name: &str) -> Option<&Arc<Adapter>> {
        self.iter().find(|adapter| adapter.name == name)
    }

    /// All adapters, the generic one last.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Adapter>> {
        self.adapters.iter().chain([&self.generic])
    }
}

impl Glob {
    fn new(glob: &str, adapter: &Arc<Adapter>) -> Glob {
        let mut parts = glob.split('*').map(folded);
        let first = parts.next().unwrap_or_default();
        let mut middle: Vec<String> = parts.collect();
        let rest = middle.pop().map(|last| (middle, last));
        let letters = glob.chars().filter(|&c| c != '*').count();
        Glob { first, rest, letters, written: glob.to_owned(), adapter: Arc::clone(adapter) }
    }

    /// Whether the glob matches the whole name. Without a `*`, a tag or suffix after `:` or `@` is ignored.
    fn matches(&self, name: &str) -> bool {
        let Some(mut tail) = name.strip_prefix(&self.first) else { return false };
        let Some((middle, last)) = &self.rest else { return tail.is_empty() || tail.starts_with([':', '@']) };
        for part in middle {
            // Names are short: a plain search is the fastest.
            match tail.as_bytes().windows(part.len().max(1)).position(|window| window == part.as_bytes()) {
                _ if part.is_empty() => {}
                Some(at) => tail = &tail[at + part.len()..],
                None => return false,
            }
        }
        tail.ends_with(last)
    }
}

/// The spellings of a model's name that globs are matched against: whole; without registry, organisation and fine-tuning prefix;
/// without a vendor and a dot (`google.gemma-3-27b-it`); and with a dot where hosts write a `p` (`glm-4p6`).
fn spellings(model: &str) -> Vec<String> {
    let name = model.trim().strip_prefix("ft:").unwrap_or(model.trim());
    let last = name.rsplit('/').next().unwrap_or(name);
    let mut bare = last;
    while let Some((vendor, rest)) = bare.split_once('.')
        && vendor.chars().all(char::is_alphabetic)
    {
        bare = rest;
    }
    let mut spellings = vec![folded(last), folded(name), folded(bare), dotted(&folded(last))];
    spellings.sort();
    spellings.dedup();
    spellings
}

/// The names and texts of the embedded files.
fn embedded_files() -> Vec<(String, String)> {
    EMBEDDED.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Replaces a `p` between two digits by a dot.
fn dotted(name: &str) -> String {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut before = None;
    let mut rest = name.chars();
    let mut out = String::with_capacity(name.len());
    while let Some(c) = rest.next() {
        out.push(if c == 'p' && digit(before) && digit(rest.clone().next()) { '.' } else { c });
        before = Some(c);
    }
    out
}

/// Folds a name for comparison: lower case, without `-`, `_` and spaces, so `gemma-3`, `Gemma 3` and `gemma3` are equal.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}
