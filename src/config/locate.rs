//! Finds the configuration: the named file, `proxy.toml` in the working directory if it is toolglot's and the command looks there,
//! or the user's own.
//! Paths that no file names are in the user's folder, so they do not change with the working directory.

use std::path::{Path, PathBuf};

use super::{Environment, data_directory, raw};
use crate::atomic;

/// The result of the search for the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Located {
    /// The file, as an absolute path.
    pub file: Option<PathBuf>,
    /// Whether it was found in the working directory, and nobody named it.
    pub here: bool,
    /// A `proxy.toml` in the working directory that is not used.
    pub passed_over: Option<PathBuf>,
}

/// The name of a configuration file.
const NAME: &str = "proxy.toml";

/// The file that `--config` names, else `TOOLGLOT_CONFIG`, else `proxy.toml` in `here` if it belongs to toolglot and `looks`, else the
/// user's own if it exists. A file in the working directory may be anybody's: it came with a repository.
pub(super) fn locate(named: Option<&Path>, here: &Path, looks: bool, environment: &Environment) -> Located {
    let named = named.or_else(|| environment.get("TOOLGLOT_CONFIG").map(Path::new));
    if let Some(file) = named {
        return Located { file: Some(absolute(file)), ..Located::default() };
    }
    let (local, own) = (absolute(&here.join(NAME)), user_file(environment));
    // A file that cannot be read is reported when it is read.
    let ours = local.is_file() && atomic::read(&local).map_or(true, |text| is_ours(&text));
    if looks && ours {
        return Located { here: local != own, file: Some(local), passed_over: None };
    }
    let passed_over = (local.is_file() && local != own && ours != looks).then_some(local);
    Located { file: own.is_file().then_some(own), here: false, passed_over }
}

/// The folder of this user's configuration, registry and adapters: `~/.config/toolglot` on Linux.
pub fn user_directory(environment: &Environment) -> PathBuf {
    environment.settings_directory().map_or_else(|| data_directory(environment), |folder| folder.join("toolglot"))
}

/// This user's configuration file, which need not exist.
pub fn user_file(environment: &Environment) -> PathBuf {
    user_directory(environment).join(NAME)
}

/// Whether a text is a configuration of toolglot: its first line names toolglot, or it has one of toolglot's keys or tables. Its
/// syntax may be broken, because such a file must be reported, not ignored.
fn is_ours(text: &str) -> bool {
    let keys = raw::keys();
    let has_key = |line: &str| {
        let line = line.trim_start().trim_start_matches('[').trim_start();
        let rest = keys.iter().find_map(|key| line.strip_prefix(key.as_str()).filter(|rest| !is_word(rest)));
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ']', '.']))
    };
    text.lines().next().is_some_and(|first| first.contains("toolglot")) || text.lines().any(has_key)
}

/// Whether a key continues in this text.
fn is_word(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// The absolute path, because it is stored for processes with another working directory.
fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_file_goes_first_then_the_working_directory_then_the_user() {
        let room = tempfile::tempdir().unwrap();
        let path = |name: &str| room.path().join(name);
        let home = path("home");
        let here = path("here");
        std::fs::create_dir_all(&here).unwrap();
        let home_text = home.to_str().unwrap().to_owned();
        let plain = Environment::from([("HOME", home_text.as_str()), ("USERPROFILE", &home_text)]);
        let set = plain.with([("TOOLGLOT_CONFIG", path("set.toml").to_str().unwrap())]);
        let found = |named: Option<&Path>, environment: &Environment| locate(named, &here, true, environment);

        assert_eq!(found(None, &plain), Located::default());
        let own = user_file(&plain);
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "").unwrap();
        assert_eq!(found(None, &plain).file, Some(own.clone()));
        // Another program's file is named and passed over.
        std::fs::write(here.join(NAME), "[upstream]\nport = 80\n").unwrap();
        let passed = found(None, &plain);
        assert_eq!((passed.file, passed.passed_over), (Some(own), Some(here.join(NAME))));
        std::fs::write(here.join(NAME), "mode = \"off\"\n").unwrap();
        assert_eq!(found(None, &plain), Located { file: Some(here.join(NAME)), here: true, passed_over: None });
        let passed = locate(None, &here, false, &plain);
        assert_eq!((passed.file, passed.passed_over), (Some(user_file(&plain)), Some(here.join(NAME))));
        // A named file counts, whether it exists or not.
        assert_eq!(found(None, &set).file, Some(path("set.toml")));
        assert_eq!(found(Some(&path("named.toml")), &set).file, Some(path("named.toml")));
        assert!(found(Some(Path::new("named.toml")), &set).file.unwrap().is_absolute());
    }

    #[test]
    fn a_file_is_ours_by_its_first_line_or_by_a_key() {
        for ours in [
            "# the configuration of toolglot\n",
            "mode = \"off\"",
            "  listen=\":8000\"\n",
            "[mcp]\n",
            "\n[[backend]]\nkind = \"ollama\"\n",
            "limits.held_bytes = 1\n",
            // Broken, and ours all the same.
            "retry = \n",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for foreign in
            ["", "\n# toolglot\n", "[server]\nmodel = 1\n", "modem = 1\n", "# mode = \"off\"\n", "model = \"x\"\n", "# limits\n"]
        {
            assert!(!is_ours(foreign), "{foreign}");
        }
        assert!(is_ours(include_str!("../../proxy.toml")));
    }
}
