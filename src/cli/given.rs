//! Command-line options about the configuration: the file, the address to listen on, further backends. Also reads files with
//! tools, which several commands take.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::Value;

use super::output::{read, remark};
use crate::{
    config::{Config, Environment, Overrides},
    error::Error,
};

/// The options for the configuration file and the address of the proxy.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Configured {
    /// The configuration file [default: see `toolglot paths`]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Where the proxy listens: ADDRESS:PORT, ADDRESS or :PORT (this machine only) [default: 127.0.0.1:8000 and [::1]:8000]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) listen: Option<String>,
    /// Do not use a configuration in the working directory
    #[arg(long, hide = true)]
    pub(super) own: bool,
}

/// The same for a command that uses backends itself.
#[derive(Debug, Default, Args)]
pub(super) struct Given {
    #[command(flatten)]
    configured: Configured,
    /// A backend in addition to those of the file: http://host:port, or with its kind: ollama=http://host:11434, openai=http://host:port/v1
    #[arg(long, value_name = "[KIND=]URL")]
    backend: Vec<String>,
}

/// The tools in a JSON file, in OpenAI's form.
pub(super) fn tools(path: &Path) -> Result<Vec<Value>, Error> {
    let wrong = |what: String| Error::client(format!("{}: {what}", path.display()));
    match serde_json::from_str(&read(path)?).map_err(|error| wrong(error.to_string()))? {
        Value::Array(tools) => Ok(tools),
        _ => Err(wrong("a JSON array of tools is wanted".into())),
    }
}

/// The configuration with these options. A missing key is noted in it, and not an error.
pub(super) fn load(overrides: Overrides, environment: &Environment, remarks: &mut dyn Write) -> Result<Config, Error> {
    let config = Config::load(&Overrides { without_secrets: true, ..overrides }, environment)?;
    // What becomes of a configuration in the working directory.
    match (&config.file, &config.passed_over) {
        (Some(file), _) if config.here => remark(remarks, &format!("uses {}", file.display())),
        (_, Some(file)) if !config.overrides.here => {
            let what = "is not used by this command; to use it, name it with `--config`";
            remark(remarks, &format!("{} {what}", file.display()));
        }
        _ => {}
    }
    Ok(config)
}

impl Configured {
    /// The configuration, with the options of the command line.
    pub(super) fn load(&self, environment: &Environment) -> Result<Config, Error> {
        load(self.overrides(), environment, &mut io::stderr())
    }

    /// The same for a command that starts programs, writes settings or is no command about a configuration: not the one of a
    /// repository that the user happens to be in.
    pub(super) fn load_own(&self, environment: &Environment, remarks: &mut dyn Write) -> Result<Config, Error> {
        load(Overrides { here: false, ..self.overrides() }, environment, remarks)
    }

    fn overrides(&self) -> Overrides {
        Overrides { file: self.config.clone(), here: !self.own, listen: self.listen.clone(), ..Overrides::default() }
    }
}

impl Given {
    /// The configuration, with the options of the command line.
    pub(super) fn load(&self, environment: &Environment) -> Result<Config, Error> {
        Config::load(&self.overrides(), environment)
    }

    /// The same, but a missing key is noted, and not an error.
    pub(super) fn load_without_secrets(&self, environment: &Environment) -> Result<Config, Error> {
        load(self.overrides(), environment, &mut io::stderr())
    }

    fn overrides(&self) -> Overrides {
        Overrides { backends: self.backend.clone(), ..self.configured.overrides() }
    }
}
