//! The log: its level, its format, and the removal of secrets from every line.

use std::{
    fmt::{self, Write as _},
    fs,
    fs::File,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use tracing::{Event, Level, Subscriber, field::Field};
use tracing_subscriber::{
    Layer,
    field::MakeExt,
    filter::{Targets, filter_fn},
    fmt::{FmtContext, FormatEvent, FormatFields, format, layer, writer::BoxMakeWriter},
    layer::SubscriberExt,
    registry,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

use super::output;
use crate::{
    atomic,
    config::{Environment, LogFormat},
    error::Error,
    redact,
    server::Lines,
};

/// The options of the log: its level, and where it goes.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Log more: -v the decisions about each request, -vv everything
    #[arg(short, long, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Log only problems
    #[arg(short, long)]
    quiet: bool,
    /// Write the log to this file instead of standard error; at 8 MB it becomes FILE.old
    #[arg(long, value_name = "FILE")]
    pub(super) log_file: Option<PathBuf>,
}

/// The destination of the log, and those who follow it. Secrets are removed from every line.
struct Redacting<W>(W, Arc<Lines>);

/// A line for people: time, what happened, and the facts that matter to them. Everything is in the log with `-v` and with
/// `log_format = "json"`.
struct Short;

/// Facts for programs and for a search: not in a short line.
const FOR_PROGRAMS: &[&str] = &[
    "client", "first_ms", "prompt_tokens", "completion_tokens", "shared_bytes", "reread_bytes", "changed_at", "rounds",
    "refusals", "confidence", "at",
];

/// The file of the log. A full file becomes `FILE.old`, and replaces an earlier one.
struct Rotating {
    file: File,
    path: PathBuf,
    written: u64,
}

/// Maximum size of the file, in bytes.
const FILE_BYTES: u64 = 8 * 1024 * 1024;

/// A value in a line is cut after this.
const VALUE_CHARS: usize = 4000;
/// Most values are shorter, in bytes.
const USUAL_BYTES: usize = 64;

impl Options {
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

/// Starts the log. It has colours only on a terminal. Gives its lines to those who follow it.
pub(super) fn start(environment: &Environment, form: LogFormat, options: &Options) -> Result<Arc<Lines>, Error> {
    let filter: Targets = (options.filter().unwrap_or(environment.log_filter()).parse())
        .map_err(|error| Error::proxy(format!("TOOLGLOT_LOG is not a filter: {error}")).with_code("configuration"))?;
    // The MCP SDK traces whole messages, with the arguments that policies hide: no filter of a user lets them through.
    // Its warnings are what the other side did, as often as it does it.
    let of_sdk = |level: Level| level != Level::TRACE && level != Level::WARN;
    let no_messages = filter_fn(move |event| of_sdk(*event.level()) || !event.target().starts_with("rmcp"));
    let followed = Arc::new(Lines::default());
    let lines = Arc::clone(&followed);
    let (writer, is_terminal) = match &options.log_file {
        Some(file) => {
            if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
                output::remark(&mut io::stderr(), &format!("makes the folder {} for the log", folder.display()));
            }
            let failed = |error| Error::proxy(format!("the log cannot be written to {}: {error}", file.display()));
            let rotating = Rotating::open(file.to_owned()).map_err(failed)?;
            (BoxMakeWriter::new(Mutex::new(Redacting(rotating, lines))), false)
        }
        None => (BoxMakeWriter::new(move || Redacting(io::stderr(), Arc::clone(&lines))), io::stderr().is_terminal()),
    };
    let colours = is_terminal && environment.allows_colours();
    let lines = layer().with_writer(writer).with_target(false).with_ansi(colours);
    let is_short = options.verbose == 0;
    let fields = format::debug_fn(move |out, name, value| field(out, name, value, is_short));
    let lines = match form {
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
        LogFormat::Text if is_short => lines.event_format(Short).fmt_fields(fields).boxed(),
        LogFormat::Text => lines.fmt_fields(fields.delimited(" ")).boxed(),
    };
    let started = registry().with(lines).with(filter).with(no_messages).try_init();
    started.map(|()| followed).map_err(|error| Error::proxy(format!("cannot start the log: {error}")))
}

impl<S, N> FormatEvent<S, N> for Short
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: format::Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()) % (24 * 60 * 60);
        write!(out, "{:02}:{:02}:{:02}Z ", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        match *event.metadata().level() {
            Level::INFO => {}
            level if out.has_ansi_escapes() => write!(out, "\u{1b}[33m{level}\u{1b}[0m ")?,
            level => write!(out, "{level} ")?,
        }
        context.field_format().format_fields(out.by_ref(), event)?;
        writeln!(out)
    }
}

/// A value as one line: text of backends and servers must not look like further lines of the log. In a short line, facts that
/// say nothing are left out.
fn field(out: &mut format::Writer<'_>, field: &Field, value: &dyn fmt::Debug, is_short: bool) -> fmt::Result {
    if is_short && FOR_PROGRAMS.contains(&field.name()) {
        return Ok(());
    }
    let mut text = String::with_capacity(USUAL_BYTES);
    write!(text, "{value:?}")?;
    let text = redact::as_shown(&text, VALUE_CHARS);
    match field.name() {
        "message" => out.write_str(&text),
        name if !is_short => write!(out, "{name}={text}"),
        _ if ["0", "\"\""].contains(&&*text) => Ok(()),
        name => {
            let word =
                text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|word| !word.contains([' ', '"', '\\']));
            write!(out, " {name}={}", word.unwrap_or(&text))
        }
    }
}

impl<W: Write> Write for Redacting<W> {
    /// Takes whole lines, as the log writes them.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(line).map_err(io::Error::other)?;
        let clean = redact::redacted(text);
        self.1.add(&clean);
        self.0.write_all(clean.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Rotating {
    fn open(path: PathBuf) -> io::Result<Rotating> {
        atomic::make_folder(path.parent().unwrap_or(&path))?;
        let mut options = File::options();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        let written = file.metadata()?.len();
        Ok(Rotating { file, path, written })
    }
}

impl Write for Rotating {
    /// Takes whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.written >= FILE_BYTES {
            fs::rename(&self.path, self.path.with_added_extension("old"))?;
            *self = Rotating::open(std::mem::take(&mut self.path))?;
        }
        self.file.write_all(line)?;
        self.written += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_makes_room_for_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/service.log");
        let mut log = Rotating::open(path.clone()).unwrap();
        log.write_all(b"first\n").unwrap();
        log.written = FILE_BYTES;
        log.write_all(b"second\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second\n");
        assert_eq!(fs::read_to_string(path.with_added_extension("old")).unwrap(), "first\n");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
        drop(log);
        Rotating::open(path.clone()).unwrap().write_all(b"third\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second\nthird\n", "a new start goes on");
    }
}
