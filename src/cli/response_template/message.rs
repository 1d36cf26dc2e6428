//! Templates whose messages have headers: `to=user<|message|>` opens the answer, `to=self<|message|>` the reasoning. They
//! become one `[recipient]` table.

use serde_json::json;

use super::{
    draft::Draft,
    field::{Field, markers},
    pattern::{Piece, Spelling},
};

/// Whether messages have headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headed {
    No,
    /// The body of a call is in a form of its own.
    Bodies,
    /// The header names the tool, the body is its arguments.
    Whole,
}

/// Fills `[recipient]`, if the regions of a template are messages.
pub(super) fn fill(
    draft: &mut Draft,
    anchors: &[String],
    reasoning: Option<&Field<'_>>,
    content: Option<&Field<'_>>,
    calls: Option<&Field<'_>>,
) -> Result<Headed, String> {
    let whole = |spelling: &Spelling| texts(spelling).concat().trim().to_owned();
    let opens = |field: Option<&Field<'_>>| -> Vec<String> {
        field.and_then(|field| field.open.as_deref()).unwrap_or_default().iter().map(whole).collect()
    };
    let (thinking, answers) = (opens(reasoning), opens(content));
    let Some(message) = answers.first().and_then(|open| last_token(open)) else { return Ok(Headed::No) };
    let heads = |list: &[String]| -> Option<Vec<String>> {
        list.iter().map(|open| open.strip_suffix(message).filter(|head| !head.is_empty()).map(str::to_owned)).collect()
    };
    let (Some(answers), Some(thinking)) = (heads(&answers), heads(&thinking)) else { return Ok(Headed::No) };
    let Some(calls) = calls else { return Ok(Headed::No) };
    let open = calls.open.as_deref().unwrap_or_default();
    let headed = open.iter().any(|spelling| texts(spelling).iter().any(|text| text.ends_with(message)));
    if headed && calls.parser() != "json" {
        return Err("field `tool_calls`: only json can be the body of a message with a header".into());
    }
    // `<|channel|>final` has a channel, `to=user` has none.
    let channel = answers.iter().chain(&thinking).find_map(|head| head.split_once("|>").map(|(token, _)| format!("{token}|>")));
    let word = |head: &String| -> String {
        let head = channel.as_ref().and_then(|channel| head.strip_prefix(channel.as_str())).unwrap_or(head);
        head.trim().trim_start_matches("to=").trim().to_owned()
    };
    let sender = anchors.iter().filter_map(|anchor| anchor.split_once("|>"));
    let (starts, senders): (Vec<String>, Vec<String>) =
        sender.map(|(token, rest)| (format!("{token}|>"), rest.trim().to_owned())).unzip();
    let mut start = starts;
    start.extend(channel.clone());
    if start.is_empty() {
        return Err("`start_anchor` has no token that begins a message".into());
    }
    let mut end: Vec<String> = Vec::new();
    for field in [Some(calls).filter(|_| headed), reasoning, content].into_iter().flatten() {
        end.extend(markers(&field.close).into_iter().filter(|marker| !end.contains(marker)).collect::<Vec<_>>());
    }
    let said: Vec<String> = open.iter().filter(|_| headed).flat_map(texts).collect();
    let prefix: Vec<&str> = said.iter().filter_map(|text| text.rsplit_once("to=")).map(|(_, prefix)| prefix).collect();
    let words: Vec<&str> = said.iter().flat_map(|text| text.split([' ', '<', '>', '|'])).collect();
    let mut answer: Vec<String> = answers.iter().map(word).chain(senders).collect();
    // The channel of calls is one for the user too, where a message on it has no recipient.
    answer.extend(said.iter().filter_map(|text| {
        let (_, tail) = text.split_once(channel.as_deref()?)?;
        Some(tail.split([' ', '<']).next()?.to_owned())
    }));
    answer.retain(|word| !word.is_empty());
    answer.dedup();
    let constraint: Vec<&str> =
        ["json", "code"].into_iter().filter(|word| headed && (*word == "json" || words.contains(word))).collect();
    draft.recipient = vec![("start", json!(start)), ("message", json!(message)), ("end", json!(end)), ("to", json!("to="))];
    if let Some(channel) = &channel {
        draft.recipient.push(("channel", json!(channel)));
    }
    if let Some(prefix) = prefix.first().filter(|prefix| !prefix.is_empty()) {
        draft.recipient.push(("prefix", json!(prefix)));
    }
    draft.recipient.push(("reasoning", json!(thinking.iter().map(word).collect::<Vec<_>>())));
    draft.recipient.push(("content", json!(answer)));
    draft.recipient.push(("constraint", json!(constraint)));
    if !headed {
        draft.recipient.push(("forms", json!(true)));
    }
    draft.drop.extend(start.into_iter().chain([message.to_owned()]).chain(end));
    Ok(if headed { Headed::Whole } else { Headed::Bodies })
}

/// The token at the end of a text that is more than the token.
fn last_token(text: &str) -> Option<&str> {
    let at = text.rfind("<|").filter(|&at| at > 0 && text.ends_with("|>"))?;
    Some(&text[at..])
}

fn texts(spelling: &Spelling) -> Vec<String> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        _ => None,
    };
    spelling.iter().filter_map(text).collect()
}
