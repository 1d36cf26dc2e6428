//! `toolglot setup CLIENT`: prints the settings for a client, with this proxy's address and a model. With `--write`, it also
//! writes them into the client's files, if the client has files that can be edited safely. The clients are data
//! (`setup/clients.toml`, read by `setup/clients.rs`).

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::{Args, builder::PossibleValuesParser};

use super::{
    given::Configured,
    output::{print, remark},
    run,
};
use crate::{
    atomic,
    config::{Environment, Listen},
    error::Error,
};
use clients::Place;
use journal::{Entry, Journal};

pub(super) mod clients;
pub(super) mod journal;
#[cfg(test)]
mod tests;

/// The clients that most people use.
const FIRST: [&str; 5] = ["claude", "codex", "opencode", "cline", "void"];

/// Shows the settings for a client.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Setup {
    /// The client
    #[arg(value_parser = PossibleValuesParser::new(clients::names()))]
    client: String,
    /// The model to write into the settings [default: the first one of the running proxy]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    configured: Configured,
    /// Also write the settings that can be written; a copy of the old file is kept next to it
    #[arg(long)]
    write: bool,
}

impl Setup {
    /// Runs the command. What was done is written to `remarks`.
    ///
    /// # Errors
    /// What was wrong, for `main` to print.
    pub fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let Some(client) = clients::all()?.remove(&self.client) else {
            return Err(Error::client(format!("there is no client `{}`", self.client)));
        };
        let config = self.configured.load_own(environment, remarks)?;
        let address = reachable(&config.listen);
        let home = environment.home().unwrap_or_default().display().to_string().replace('\\', "/");
        let mut place = Place { address, model: "MODEL".into(), context: None, home, profile: String::new() };
        if self.write && client.files.is_empty() {
            let (title, name) = (&client.title, &self.client);
            let what =
                format!("nothing of {title}'s settings can be installed: `toolglot setup {name}` shows what to enter by hand");
            return Err(Error::client(what));
        }
        let names_model = client.files.iter().any(clients::File::names_the_model);
        match run::known_model(address, self.model.as_deref()) {
            Ok((model, context)) => (place.model, place.context) = (model, context),
            // A name that nobody answers to must not get into the user's settings.
            Err(error) if self.write && names_model => {
                return Err(Error::client(format!("nothing was written: {}", error.message)));
            }
            Err(error) => match self.model {
                Some(model) => place.model = model,
                None if names_model || client.steps.contains("{model}") => {
                    remark(remarks, &format!("MODEL stands for the name of a model: {}", error.message));
                }
                None => {}
            },
        }
        if place.context.is_none() && client.steps.contains("{context}") {
            let what = "CONTEXT stands for the tokens of context that the model's server gives it: nobody has told toolglot";
            remark(remarks, what);
        }
        print(out, &format!("{}\n\n{}\n", client.title, place.tell(&client.steps)))?;
        for part in &client.files {
            let home = environment.home().ok_or_else(|| Error::proxy("the home directory is not known: set HOME"))?;
            let file = home.join(&part.path);
            // Until it is written: others change the same files and the same journal.
            let _lock = self.write.then(|| journal::lock(environment)).transpose()?;
            let before = read(&file)?;
            let mut journal = Journal::read(environment)?;
            let theirs = journal.without_ours(&file, before.as_deref());
            let after = part.over(theirs.as_deref().unwrap_or_default(), &place)?;
            print(out, &format!("\n~/{}:\n\n{after}\n", part.path))?;
            if self.write {
                let (old, merged) = (journal.clone(), part.own(&place)?);
                // First how to undo it, then the file.
                let installed = install(&file, before.as_deref(), &after, |backup| {
                    let (client, backups) = (self.client.clone(), backup.into_iter().map(Path::to_owned).collect());
                    let (before, after) = (theirs.clone(), after.clone());
                    journal.add(Entry { client, file: file.clone(), before, after, merged, backups });
                    journal.write(environment)
                });
                let said = installed.inspect_err(|_| drop(old.write(environment)))?;
                // Without a reader of standard error there is nobody to tell.
                let _ = writeln!(remarks, "{said}");
            }
        }
        Ok(())
    }
}

/// What to enter in each client, by its name, those that most people use first. `{origin}` stands for the proxy's address.
pub(super) fn texts(listen: &Listen) -> Vec<(String, String)> {
    let place =
        Place { address: reachable(listen), model: "MODEL".into(), context: None, home: "~".into(), profile: String::new() };
    let told = clients::all().unwrap_or_default().into_iter().map(|(name, client)| {
        let steps = client.steps.replace("{v1}", "{origin}/v1").replace("{root}", "{origin}");
        (name, place.tell(&steps).trim().to_owned())
    });
    let mut texts: Vec<(String, String)> = told.collect();
    texts.sort_by_key(|(name, _)| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    texts
}

/// The address at which a client on this machine reaches the proxy.
pub(super) fn reachable(listen: &Listen) -> SocketAddr {
    let one = listen.addresses.first().copied().filter(|address| !address.ip().is_unspecified());
    one.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, listen.port()).into())
}

/// The file's text; `None` if there is no file.
pub(super) fn read(file: &Path) -> Result<Option<String>, Error> {
    match atomic::read(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::proxy(format!("cannot read {}: {error}", file.display()))),
    }
}

/// Writes the file, and a copy of the old one next to it. The copy is noted before. Returns what became of the file, in words; if
/// it stays as it was, so does what is next to it.
pub(super) fn install(
    file: &Path,
    before: Option<&str>,
    after: &str,
    note: impl FnOnce(Option<&Path>) -> Result<(), Error>,
) -> Result<String, Error> {
    let failed = |error: std::io::Error| Error::proxy(format!("cannot write {}: {error}", file.display()));
    if before.is_some_and(|before| before.trim() == after.trim()) {
        return Ok(format!("{} has it already", file.display()));
    }
    let backup = before.filter(|before| !before.is_empty()).map(|_| free_name(file));
    let copied = backup.as_ref().map_or(Ok(0), |backup| std::fs::copy(file, backup)).map_err(failed);
    let noted = copied.and_then(|_| note(backup.as_deref()));
    let written = noted.and_then(|()| atomic::write(file, format!("{}\n", after.trim_end()).as_bytes()).map_err(failed));
    // Only the copy of this attempt has this name.
    written.inspect_err(|_| _ = backup.as_ref().map(std::fs::remove_file))?;
    let kept = backup.map(|backup| format!("; what it was is in {}", backup.display())).unwrap_or_default();
    Ok(format!("installed in {}{kept}", file.display()))
}

/// A name for the backup that no earlier one has.
fn free_name(file: &Path) -> PathBuf {
    let name = |n: u32| file.with_added_extension(if n == 0 { "backup".to_owned() } else { format!("backup.{n}") });
    (0..).map(name).find(|name| name.symlink_metadata().is_err()).unwrap_or_else(|| name(0))
}
