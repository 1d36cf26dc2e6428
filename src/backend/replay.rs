//! Answers with recorded conversations instead of a model. A question gets the answer that was recorded for it, byte for byte and
//! with its pauses. For newcomers without a model, and for tests.
//!
//! A recording must never pass for a model: it answers only the questions that it contains, word for word. Any other question
//! gets one line that says so and lists the questions.

use std::{fs, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::json;
use walkdir::{DirEntry, WalkDir};

use super::{Dialect, Model, Prepared};
use crate::{
    error::Error,
    fixture::{Fixture, Reads, Round},
    openai::ChatRequest,
    upstream::{Outgoing, Recording},
};

#[cfg(test)]
mod tests;

include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// Marks the fixture for a newcomer's first question: its title contains this.
const FIRST_TRY: &str = "good for a first try";

/// The recordings of a replay backend.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    fixtures: Arc<[Fixture]>,
}

impl Replay {
    /// Answers from these fixtures. If several contain the question, the first one answers.
    pub fn new(fixtures: impl IntoIterator<Item = Fixture>) -> Replay {
        Replay { fixtures: fixtures.into_iter().collect() }
    }

    /// The recordings of the demo, which are embedded in the binary.
    pub fn demo() -> Replay {
        Replay::new(EMBEDDED.iter().filter_map(|(_, text)| Fixture::parse(text).ok()))
    }

    /// The recordings in the `.txt` files of a folder and its subfolders, in the order of their paths. A file that is not a
    /// recording is skipped with a warning.
    pub fn of_folder(folder: &Path) -> Replay {
        let files = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter().flatten().map(DirEntry::into_path);
        let recordings = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt") && path.is_file());
        Replay::new(recordings.filter_map(|path| {
            let read = fs::read_to_string(&path).map_err(|error| error.to_string());
            let fixture = read.and_then(|text| Fixture::parse(&text).map_err(|error| error.to_string()));
            fixture.inspect_err(|error| tracing::warn!("{} is not a recording: {error}", path.display())).ok()
        }))
    }

    /// The models that were recorded, each once.
    pub(super) fn models(&self) -> Vec<Model> {
        let mut models: Vec<Model> = Vec::new();
        for round in self.rounds() {
            if models.iter().all(|model| model.id != round.request.model) {
                models.push(Model::named(&round.request.model));
            }
        }
        models
    }

    /// The recorded answer of this model to this question, after the same number of tool results. One line of text for any other
    /// question, and after more results than were recorded.
    ///
    /// # Errors
    /// 404 (`model_not_found`) for a model without a recording.
    pub(super) fn answer(&self, chat: &ChatRequest) -> Result<Prepared, Error> {
        let of_model: Vec<&Round> = self.rounds().filter(|round| round.request.model == chat.model).collect();
        if of_model.is_empty() {
            return Err(Error::client(format!("no conversation with the model `{}` was recorded", chat.model))
                .with_status(404)
                .with_code("model_not_found"));
        }
        let asked = place(chat);
        Ok(match of_model.iter().find(|round| place(&round.request) == asked) {
            Some(round) => prepared(round.wire, &round.reads),
            None => prepared(None, &Reads::one(explained(&of_model, &asked).as_bytes())),
        })
    }

    /// The request for a first try: that of the fixture whose title says so, with only the tool that its answer calls.
    pub fn example(&self) -> Option<ChatRequest> {
        let fixture = self.fixtures.iter().find(|fixture| fixture.title.contains(FIRST_TRY))?;
        let call = fixture.events.as_ref()?.lines().find_map(|line| line.strip_prefix("call "))?;
        let name = call.split(' ').next()?;
        let mut request = fixture.rounds.first()?.request.clone();
        request.tools.retain(|tool| tool.pointer("/function/name").is_some_and(|called| called == name));
        Some(request)
    }

    fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.fixtures.iter().flat_map(|fixture| &fixture.rounds)
    }
}

/// Where in a recording this conversation is: its last question, and the number of tool results after it.
fn place(chat: &ChatRequest) -> (String, usize) {
    let last = chat.messages.iter().rposition(|message| message.role == "user");
    let said = last.and_then(|at| chat.messages.get(at)).map(|message| message.content.to_text()).unwrap_or_default();
    let since = chat.messages.get(last.unwrap_or(0)..).unwrap_or_default();
    let results = since.iter().filter(|message| message.role == "tool").count();
    (said.trim().to_owned(), results)
}

/// The answer to a question that was not recorded.
fn explained(recorded: &[&Round], (question, results): &(String, usize)) -> String {
    let mut questions: Vec<String> = Vec::new();
    for (recorded, _) in recorded.iter().map(|round| place(&round.request)) {
        if !questions.contains(&recorded) {
            questions.push(recorded);
        }
    }
    if *results > 0 && questions.contains(question) {
        return "[toolglot] The recording ends here: connect a model to go on.".to_owned();
    }
    format!(
        "[toolglot] This is a recording, not a model. It answers: \"{}\". For anything else, start Ollama or another server.",
        questions.join("\", \"")
    )
}

/// A recorded answer as a request that is ready to send.
fn prepared(wire: Option<Dialect>, reads: &Reads) -> Prepared {
    let recorded = |(after, bytes): (Duration, &[u8])| (after, Bytes::copy_from_slice(bytes));
    let (dialect, reads) = match wire {
        Some(dialect) => (dialect, reads.iter().map(recorded).collect()),
        // Only the model's text: streamed in Ollama's format.
        None => {
            let line = |(after, bytes): (Duration, &[u8])| {
                let content = String::from_utf8_lossy(bytes);
                let line = json!({"message": {"role": "assistant", "content": content}, "done": false});
                (after, Bytes::from(format!("{line}\n")))
            };
            let end = (Duration::ZERO, Bytes::from_static(b"{\"done\":true,\"done_reason\":\"stop\"}\n"));
            (Dialect::Ollama, reads.iter().map(line).chain([end]).collect())
        }
    };
    let recording = Recording { reads, ..Recording::default() };
    Prepared { outgoing: Outgoing::Recorded(recording), dialect, notes: Vec::new() }
}
