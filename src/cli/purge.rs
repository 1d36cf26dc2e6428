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
    setup::journal::{self, Journal, Undone},
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
    Settings { file: PathBuf, client: String, undone: Undone },
    Copy(PathBuf),
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
        let failures: Vec<String> = tasks.iter().filter_map(|task| task.done(environment).err()).collect();
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
    let config = Configured::default().load(environment).ok()?;
    let proxy = super::block_on(async { Ok(Proxy::look(&config.listen).await) }).ok()?;
    proxy.running.map(|_| proxy.url)
}

/// All steps, in their order.
fn tasks(environment: &Environment) -> Result<Vec<Task>, Error> {
    let mut tasks: Vec<Task> =
        Some(service::file(environment)?).filter(|file| file.exists()).map(Task::Service).into_iter().collect();
    for entry in Journal::read(environment)?.entries {
        if let Some(undone) = entry.undoing()? {
            // Where nothing is undone, the copy is all that is left of the user's settings.
            let copies = if undone == Undone::Foreign { Vec::new() } else { entry.backups };
            tasks.push(Task::Settings { file: entry.file, client: entry.client, undone });
            tasks.extend(copies.into_iter().filter(|copy| copy.exists()).map(Task::Copy));
        }
    }
    // Without a home directory these are relative: a folder of that name may be anybody's.
    let folders = BTreeSet::from([user_directory(environment), data_directory(environment)]);
    tasks.extend(folders.into_iter().filter(|folder| folder.is_absolute() && folder.is_dir()).map(Task::Folder));
    Ok(tasks)
}

impl Task {
    /// Performs the step. An error names the file.
    fn done(&self, environment: &Environment) -> Result<(), String> {
        let named = |path: &Path, result: std::io::Result<()>| result.map_err(|error| format!("{}: {error}", path.display()));
        match self {
            Task::Service(_) => service::uninstall(environment).map_err(|error| error.message),
            Task::Settings { file, undone, .. } => named(file, journal::undo(file, undone)),
            Task::Copy(file) => named(file, fs::remove_file(file)),
            Task::Folder(folder) => named(folder, fs::remove_dir_all(folder)),
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Service(file) => write!(f, "stop the service and remove {}", file.display()),
            Task::Settings { file, client, undone: Undone::Text(_) } => {
                write!(f, "take out of {} what `toolglot setup {client} --write` put in", file.display())
            }
            Task::Settings { file, client, undone: Undone::Removed } => {
                write!(f, "remove {}, which `toolglot setup {client} --write` made", file.display())
            }
            Task::Settings { file, client, undone: Undone::Foreign } => {
                write!(f, "leave {} as it is: it has changed since `toolglot setup {client} --write`", file.display())
            }
            Task::Copy(file) => write!(f, "remove {}, the copy of that file", file.display()),
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
