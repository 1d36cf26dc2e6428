//! Embeds the recordings of the demo into the binary: a file that is added there is in the next build.
//! Tells the program which commit it was built from and for which system.

#![allow(clippy::disallowed_methods, reason = "cargo speaks to build scripts through the environment")]

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

fn main() -> io::Result<()> {
    let commit = commit().unwrap_or_else(|| env::var("PROFILE").unwrap_or_default());
    println!("cargo::rustc-env=TOOLGLOT_BUILD={commit}, {}", env::var("TARGET").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    embed(&root.join("fixtures/demo"), "txt", &out.join("demo.rs"), "The recordings of the demo: name and text.")
}

/// The commit: as the release says, else as git says. A debug build has none, so that a commit does not mean a new build.
fn commit() -> Option<String> {
    println!("cargo::rerun-if-env-changed=TOOLGLOT_COMMIT");
    if let Some(commit) = env::var("TOOLGLOT_COMMIT").ok().filter(|commit| !commit.is_empty()) {
        return Some(commit.chars().take(12).collect());
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return None;
    }
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn embed(directory: &Path, extension: &str, target: &Path, comment: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut files = Vec::new();
    collect(directory, extension, &mut files)?;
    files.sort();
    let mut code = format!("/// {comment}\nconst EMBEDDED: &[(&str, &str)] = &[\n");
    for path in files {
        let name = path.strip_prefix(directory).unwrap_or(&path).with_extension("");
        let _ = writeln!(code, "    ({:?}, include_str!({:?})),", name.to_string_lossy(), path.to_string_lossy());
    }
    code.push_str("];\n");
    fs::write(target, code)
}

fn collect(directory: &Path, extension: &str, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(())
}
