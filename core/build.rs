//! Embeds `adapters/*.toml` into the library: a file that is added there is in the next build.

#![allow(clippy::disallowed_methods, reason = "cargo speaks to build scripts through the environment")]

use std::{env, fmt::Write as _, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let directory = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("adapters");
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("adapters.rs");
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut code = String::from("/// The adapter files: name and text.\nconst EMBEDDED: &[(&str, &str)] = &[\n");
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", path.to_string_lossy());
    }
    code.push_str("];\n");
    fs::write(target, code)
}
