//! Every file under `fixtures/`: the recorded stream, read by the adapter that the model's name gets, gives the recorded
//! events; whole, byte by byte, in single characters, cut in two and ended early at some places, with `THOROUGH=1` at all.
//! `UPDATE=1` rewrites the events.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use toolglot::recorded::check::{Places, check};

use crate::{effort, seen::library};

#[test]
fn every_fixture_gives_its_events_however_it_is_cut() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    assert!(paths.len() >= 15, "only {} fixtures found", paths.len());
    let update = std::env::var_os("UPDATE").is_some();
    let places = effort::of(Places::Sample, Places::All);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = std::panic::catch_unwind(|| check(path, library(), places, update));
                    let name = path.strip_prefix(&root).unwrap_or(path).display();
                    match outcome {
                        Ok(Ok(true)) => {}
                        Ok(Ok(false)) => failures.lock().unwrap().push(format!("{name}: it expects no events")),
                        Ok(Err(what)) => failures.lock().unwrap().push(format!("{name}: {what}")),
                        Err(_) => failures.lock().unwrap().push(format!("{name}: panicked")),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} fixtures:\n{}", failures.len(), paths.len(), failures.join("\n"));
}

#[test]
fn every_fixture_says_where_it_comes_from() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let (mut paths, mut wrong) = (Vec::new(), Vec::new());
    collect(&root, &mut paths);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let head = text.lines().take_while(|line| line.starts_with('#'));
        let sources: Vec<&str> = head.filter_map(|line| line.strip_prefix("# source: ")).collect();
        let known = |source: &str| match source.split_once(' ') {
            Some(("issue", thread)) => thread.contains('/') && thread.contains('#'),
            Some(("recorded" | "template" | "suite" | "spec", what)) => !what.is_empty(),
            _ => source == "own",
        };
        if !matches!(sources.as_slice(), [source] if known(source)) {
            wrong.push(format!("{}: {sources:?}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "issue OWNER/REPO#N, recorded MODEL SERVER DATE, template MODEL, suite NAME, spec NAME or own:\n{}",
        wrong.join("\n")
    );
}

pub(crate) fn collect(directory: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            out.push(path);
        }
    }
}
