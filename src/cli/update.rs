//! `toolglot update`: says how this program is updated, by the way it was installed. It downloads nothing itself: the way that
//! installed it knows its version and its signature.

use std::{io::Write, path::Path};

use super::{output::print, service};
use crate::{config::Environment, error::Error};

/// A piece of the program's path, and the command that updates what was installed there. The first row that is found counts.
const WAYS: &[(&str, &str)] = &[
    ("/Cellar/", "brew upgrade toolglot"),
    ("/homebrew/", "brew upgrade toolglot"),
    ("/linuxbrew/", "brew upgrade toolglot"),
    ("/scoop/", "scoop update toolglot"),
    ("/WinGet/", "winget upgrade toolglot"),
    ("/node_modules/", "npm update --global toolglot"),
    ("/uv/tools/", "uv tool upgrade toolglot"),
    ("/pipx/", "pipx upgrade toolglot"),
    ("/site-packages/", "pip install --upgrade toolglot"),
    ("/.cargo/bin/", "cargo install toolglot --locked, or in a clone: git pull && cargo install --path . --locked"),
    (
        "/.local/bin/",
        "curl -fsSL https://github.com/toolglot/toolglot/releases/latest/download/install.sh | sh, or if pip put it there: pip install --user --upgrade toolglot",
    ),
    ("/Programs/toolglot/", "irm https://github.com/toolglot/toolglot/releases/latest/download/install.ps1 | iex"),
    ("/target/", "git pull && cargo build --release, in the clone that it was built in"),
];
/// For a program that was copied to where it is.
const OTHERWISE: &str = "the archive of your system from https://github.com/toolglot/toolglot/releases, unpacked over it";

pub(super) fn run(environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
    let program = std::env::current_exe().map_err(|error| Error::proxy(format!("where this program is: {error}")))?;
    let has_service = service::file(environment).is_ok_and(|file| file.exists());
    print(out, &said(&program, has_service))
}

fn said(program: &Path, has_service: bool) -> String {
    let path = program.display().to_string().replace('\\', "/");
    let in_environment = || program.parent().is_some_and(|folder| folder.join("activate").exists());
    let way = WAYS.iter().find(|(piece, _)| path.contains(piece)).map(|(_, way)| *way);
    let way = way.unwrap_or_else(|| if in_environment() { "pip install --upgrade toolglot" } else { OTHERWISE });
    let again = if has_service { "\nthen     toolglot service stop && toolglot service start" } else { "" };
    format!("toolglot {}\nis       {path}\nupdate   {way}{again}\n", super::VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_follows_from_the_place() {
        for (path, way) in [
            ("/home/ana/.cargo/bin/toolglot", "cargo install toolglot --locked"),
            ("/opt/homebrew/Cellar/toolglot/0.1.0/bin/toolglot", "brew upgrade"),
            ("/home/ana/.local/share/uv/tools/toolglot/bin/toolglot", "uv tool upgrade"),
            ("/home/ana/.local/share/pipx/venvs/toolglot/bin/toolglot", "pipx upgrade"),
            ("/usr/lib/node_modules/toolglot-linux-x64/bin/toolglot", "npm update"),
            (r"C:\Users\ana\scoop\apps\toolglot\0.1.0\toolglot.exe", "scoop update"),
            ("/home/ana/.local/bin/toolglot", "install.sh"),
            (r"C:\Users\ana\AppData\Local\Programs\toolglot\toolglot.exe", "install.ps1"),
            ("/usr/local/bin/toolglot", "releases"),
        ] {
            assert!(said(Path::new(path), false).contains(way), "{path}");
        }
        assert!(said(Path::new("/usr/local/bin/toolglot"), true).contains("toolglot service start"));
    }
}
