//! `toolglot purge`: lists what toolglot has left on this machine, asks, and removes it. Also restores the clients' settings
//! that `setup --write` changed.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    given::Configured,
    output::print,
    proxy::Proxy,
    service,
    setup::journal::{self, Entry, Journal, Undone},
};
use crate::{
    config::{Environment, data_directory, user_directory},
    error::Error,
};

#[derive(Debug, Args)]
pub(super) struct Purge {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

enum Task {
    Service(PathBuf),
    /// What was written into one file, with the copies next to it that go with it, and what becomes of the file.
    Settings(Box<Entry>, Undone),
    Folder(PathBuf),
}

impl Purge {
    pub(super) fn run(self, environment: &Environment, input: &mut dyn Read, out: &mut dyn Write) -> Result<(), Error> {
        let tasks = tasks(environment)?;
        if tasks.is_empty() {
            return print(out, "there is nothing to remove\n");
        }
        if let Some(proxy) = running(environment) {
            print(out, &format!("toolglot runs at {proxy}, and goes on: stop it first, or it may write some of this again\n"))?;
        }
        for task in &tasks {
            print(out, &format!("{task}\n"))?;
        }
        if !self.yes {
            print(out, "Do this? [y/N] ")?;
            let mut answer = String::new();
            let heard = BufReader::new(input).read_line(&mut answer);
            if heard.is_err() || !["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
                return Err(Error::client("nothing was removed; `--yes` does not ask"));
            }
        }
        // Without room for a lock there is none for `setup` either.
        let _lock = journal::lock(environment);
        let (mut failures, mut kept) = (Vec::new(), Journal::default());
        for task in self::tasks(environment)? {
            if let Err(what) = task.done(environment, &kept) {
                failures.push(what);
                // Its copy and the journal are all that is left of the user's settings.
                kept.entries.extend(if let Task::Settings(entry, _) = task { Some(*entry) } else { None });
            }
        }
        if !kept.entries.is_empty() {
            failures.extend(kept.write(environment).err().map(|error| error.message));
            failures.push(format!("{} and the copies of these files are kept", journal::file(environment).display()));
        }
        if !failures.is_empty() {
            return Err(Error::proxy(format!("not everything was removed: {}", failures.join("; "))));
        }
        let program = std::env::current_exe().map(|program| program.display().to_string()).unwrap_or_default();
        print(out, &format!("removed; the program itself is {program}: remove it the way you installed it\n"))
    }
}

/// Where a proxy runs, if one does.
fn running(environment: &Environment) -> Option<String> {
    // A configuration that cannot be read is no reason to keep it.
    let config = Configured::default().load_own(environment, &mut std::io::sink()).ok()?;
    let proxy = super::block_on(async { Ok(Proxy::look(&config.listen).await) }).ok()?;
    proxy.running.map(|_| proxy.url)
}

/// All steps, in their order.
fn tasks(environment: &Environment) -> Result<Vec<Task>, Error> {
    let mut tasks: Vec<Task> =
        Some(service::file(environment)?).filter(|file| file.exists()).map(Task::Service).into_iter().collect();
    for mut entry in Journal::read(environment)?.entries {
        if let Some(undone) = entry.undoing()? {
            // Where nothing is undone, the copy is all that is left of the user's settings.
            entry.backups.retain(|copy| undone != Undone::Foreign && copy.exists());
            tasks.push(Task::Settings(Box::new(entry), undone));
        }
    }
    // Without a home directory these are relative: a folder of that name may be anybody's.
    let folders = BTreeSet::from([user_directory(environment), data_directory(environment)]);
    tasks.extend(folders.into_iter().filter(|folder| folder.is_absolute() && folder.is_dir()).map(Task::Folder));
    Ok(tasks)
}

impl Task {
    /// Performs the step. An error names the file. A journal that is still needed stays.
    fn done(&self, environment: &Environment, needed: &Journal) -> Result<(), String> {
        let named = |path: &Path, result: std::io::Result<()>| result.map_err(|error| format!("{}: {error}", path.display()));
        match self {
            Task::Service(_) => service::uninstall(environment).map_err(|error| error.message),
            Task::Settings(entry, undone) => {
                named(&entry.file, journal::undo(&entry.file, undone))?;
                entry.backups.iter().try_for_each(|copy| named(copy, fs::remove_file(copy)))
            }
            Task::Folder(folder) if needed.entries.is_empty() => named(folder, fs::remove_dir_all(folder)),
            Task::Folder(folder) => named(folder, empty(folder, &journal::file(environment))),
        }
    }
}

/// Removes what is in a folder, except for one file.
fn empty(folder: &Path, except: &Path) -> std::io::Result<()> {
    for path in fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())) {
        match path? {
            path if path == except => {}
            path if path.is_dir() && !path.is_symlink() => fs::remove_dir_all(path)?,
            path => fs::remove_file(path)?,
        }
    }
    Ok(())
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Service(file) => write!(f, "stop the service and remove {}", file.display()),
            Task::Settings(entry, undone) => {
                let (file, by) = (entry.file.display(), format!("`toolglot setup {} --write`", entry.client));
                match undone {
                    Undone::Text(_) => write!(f, "take out of {file} what {by} put in"),
                    Undone::Removed => write!(f, "remove {file}, which {by} made"),
                    Undone::Foreign => write!(f, "leave {file} as it is: it has changed since {by}"),
                }?;
                entry.backups.iter().try_for_each(|copy| write!(f, "\nremove {}, the copy of that file", copy.display()))
            }
            Task::Folder(folder) => write!(f, "remove {} with everything in it", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purge(home: &Path, yes: bool, answer: &str) -> (Result<(), Error>, String) {
        let home = home.to_str().unwrap();
        let environment = Environment::from([("HOME", home), ("USERPROFILE", home)]);
        let mut out = Vec::new();
        let ended = Purge { yes }.run(&environment, &mut answer.as_bytes(), &mut out);
        (ended, String::from_utf8(out).unwrap())
    }

    #[test]
    fn it_lists_asks_and_removes() {
        let room = tempfile::tempdir().unwrap();
        let home = room.path().to_str().unwrap();
        let environment = Environment::from([("HOME", home), ("USERPROFILE", home)]);
        assert!(purge(room.path(), false, "").1.contains("nothing to remove"));
        let own = user_directory(&environment);
        fs::create_dir_all(own.join("adapters")).unwrap();
        for folder in [own.clone(), data_directory(&environment)] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
        }
        for answer in ["", "\n", "no\n", "what?\n"] {
            let (ended, said) = purge(room.path(), false, answer);
            assert!(ended.is_err() && said.contains(&own.display().to_string()) && own.exists(), "{said}");
        }
        let (ended, said) = purge(room.path(), false, "Y\n");
        assert!(ended.is_ok() && !own.exists() && !data_directory(&environment).exists(), "{said}");
        assert!(room.path().is_dir() && purge(room.path(), true, "").1.contains("nothing to remove"));
    }

    /// What can be read and not be written, even by root: an open file that has no name any more.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_undone_keeps_its_copy_and_its_entry() {
        use std::os::fd::AsRawFd;
        let room = tempfile::tempdir().unwrap();
        let home = room.path().to_str().unwrap();
        let environment = Environment::from([("HOME", home)]);
        let nameless = tempfile::tempfile_in(room.path()).unwrap();
        let stuck = PathBuf::from(format!("/dev/fd/{}", nameless.as_raw_fd()));
        let mut journal = Journal::default();
        for (file, copy) in [(stuck.clone(), "stuck.backup"), (room.path().join("fine"), "fine.backup")] {
            fs::write(&file, "{\"ours\":1}").unwrap();
            fs::write(room.path().join(copy), "{\"mine\":1}").unwrap();
            journal.add(Entry {
                client: "claude".into(),
                file,
                before: Some("{\"mine\":1}".into()),
                after: "{\"ours\":1}".into(),
                merged: None,
                backups: vec![room.path().join(copy)],
            });
        }
        journal.write(&environment).unwrap();
        let other = data_directory(&environment).join("other");
        fs::write(&other, "x").unwrap();
        let (ended, said) = purge(room.path(), true, "");
        let error = ended.unwrap_err();
        assert!(error.message.contains(stuck.to_str().unwrap()) && error.message.contains("are kept"), "{error}: {said}");
        assert_eq!(fs::read_to_string(room.path().join("stuck.backup")).unwrap(), "{\"mine\":1}");
        let left: Vec<PathBuf> = Journal::read(&environment).unwrap().entries.into_iter().map(|entry| entry.file).collect();
        assert_eq!(left, [stuck]);
        // The rest is done.
        assert_eq!(fs::read_to_string(room.path().join("fine")).unwrap(), "{\"mine\":1}");
        assert!(!room.path().join("fine.backup").exists() && !other.exists());
    }

    #[test]
    fn without_a_home_no_folder_is_meant() {
        assert!(
            tasks(&Environment::default().with([
                ("XDG_CONFIG_HOME", "relative"),
                ("APPDATA", "relative"),
                ("HOME", "h"),
                ("USERPROFILE", "h")
            ]))
            .unwrap()
            .is_empty()
        );
    }
}
