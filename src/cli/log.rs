//! The log on standard error: how much of it, in which form, and nothing secret in any line.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
};

use tracing::{Level, field::Field};
use tracing_subscriber::{
    EnvFilter, Layer,
    field::MakeExt,
    filter::filter_fn,
    fmt::{format, layer},
    layer::SubscriberExt,
    registry,
    util::SubscriberInitExt,
};

use crate::{
    config::{Environment, LogFormat},
    error::Error,
    redact,
};

/// How much is logged.
#[derive(Debug, clap::Args)]
pub(super) struct Verbosity {
    /// Log more: -v what is done for each request, -vv everything
    #[arg(short, long, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Log only what is wrong
    #[arg(short, long)]
    quiet: bool,
}

/// Standard error without secrets.
struct Redacting(io::Stderr);

/// A value in a line is cut behind this.
const VALUE_CHARS: usize = 4000;

// === impl Verbosity ===

impl Verbosity {
    /// The filter, in the form of `RUST_LOG`; `None`: the environment decides.
    fn filter(&self) -> Option<&'static str> {
        match (self.quiet, self.verbose) {
            (true, _) => Some("warn"),
            (false, 0) => None,
            (false, 1) => Some("toolglot=debug,info"),
            (false, _) => Some("toolglot=trace,debug"),
        }
    }
}

/// Starts the log; in colours only where a person looks at it.
pub(super) fn start(environment: &Environment, form: LogFormat, verbosity: &Verbosity) -> Result<(), Error> {
    let filter = EnvFilter::try_new(verbosity.filter().unwrap_or(environment.log_filter()))
        .map_err(|error| Error::proxy(format!("TOOLGLOT_LOG is no filter: {error}")).with_code("configuration"))?;
    // The MCP SDK traces whole messages, with the arguments that policies hide: no filter of a user lets them through.
    let no_messages = filter_fn(|event| *event.level() != Level::TRACE || !event.target().starts_with("rmcp"));
    let lines = layer().with_writer(|| Redacting(io::stderr())).with_target(false);
    let lines = match form {
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).fmt_fields(format::debug_fn(field).delimited(" ")).boxed(),
    };
    registry()
        .with(lines)
        .with(filter)
        .with(no_messages)
        .try_init()
        .map_err(|error| Error::proxy(format!("cannot start the log: {error}")))
}

/// A value as one line: what backends and servers write must not look like lines of ours.
fn field(out: &mut format::Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = redact::shown(&format!("{value:?}"), VALUE_CHARS);
    match field.name() {
        "message" => write!(out, "{value}"),
        name => write!(out, "{name}={value}"),
    }
}

// === impl Redacting ===

impl Write for Redacting {
    /// Takes whole lines, as the log writes them.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(redact::redacted(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
