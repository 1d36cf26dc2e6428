//! `POST /ui/normalize`: shows what becomes of a text that a model might write, as the page shows a turn. No backend is
//! asked.

use std::sync::Arc;

use axum::{extract::Request, response::Response};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    detail::{TEXT_BYTES, detail},
    kept::{Kept, Reader, Round},
};
use crate::{
    adapter::scanner::MayAsk,
    client,
    error::Error,
    event::{Channel, Delta, Event, FinishReason},
    fixture::Read,
    openai::ChatRequest,
    server::{received::Received, reply, state::App, survey},
    turn::answer::{Answer, Setup},
};

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    model: String,
    /// In OpenAI's form.
    #[serde(default)]
    tools: Vec<Value>,
    text: String,
    /// The output limit ended the answer.
    #[serde(default)]
    cut: bool,
}

pub(super) async fn normalize(app: App, request: Request) -> Result<Response, Error> {
    let expected = "{\"model\": ..., \"tools\": [...], \"text\": ...}";
    let (received, asked) = Received::json::<Asked>(&app, request, expected).await?;
    if asked.text.len() > TEXT_BYTES {
        let what = format!("the page reads at most {TEXT_BYTES} bytes of text, and these are {}", asked.text.len());
        return Err(Error::client(what).with_status(413).with_code("request_too_large"));
    }
    let reader = reader(&app, &asked).await?;
    received.account.goes_apart().await;
    let end = if asked.cut { FinishReason::Length } else { FinishReason::Stop };
    let mut kept = Kept::new(&Bytes::new(), Arc::default(), usize::MAX);
    let mut answer = Answer::new(reader.setup.clone());
    let mut take = |event: Event<'_>| kept.event(&event);
    answer.delta(Delta::Text(Channel::Content, &asked.text), &mut take);
    answer.delta(Delta::Finish(end), &mut take);
    let checked = answer.finish(&mut take).checked;
    let reads = vec![Read { bytes: asked.text.into_bytes(), ..Read::default() }];
    kept.rounds.push(Round { request: String::new(), wire: None, reads, checked });
    kept.reader = Some(reader);
    Ok(reply::json(&json!({"detail": detail(&kept)})))
}

/// As a chat with this model would be read; of a model that is nowhere, as its name says.
async fn reader(app: &App, asked: &Asked) -> Result<Reader, Error> {
    let model = if asked.model.is_empty() { "unknown" } else { &asked.model };
    let chat = json!({"model": model, "messages": [{"role": "user", "content": "x"}], "tools": asked.tools});
    let chat = ChatRequest::from_value(chat)?;
    let planned = if asked.model.is_empty() { None } else { survey::planned(app, chat.clone()).await.ok() };
    if let Some(plan) = planned {
        let mut reader = Reader::from(&plan);
        reader.setup.scanner.may_ask = MayAsk::Never;
        return Ok(reader);
    }
    let incoming = client::read(chat, &client::Hints::default())?;
    let setup = Setup::new(app.library.find(model, None).adapter, Arc::new(incoming.tools), Arc::default());
    Ok(Reader { setup, offered: "native", estimated: 0 })
}
