//! Converts a `response_template` to the tables of an adapter file: regions become markers, patterns become the texts in
//! them, the content parser and the `transform` become the syntax of calls.

use serde_json::{Map, Value, json};

use super::{
    call,
    draft::Draft,
    field::{Field, markers, spellings, unknown},
    message,
    pattern::{Piece, push},
};

const TEMPLATE_KEYS: [&str; 5] = ["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"];
const REASONING: [&str; 4] = ["reasoning_content", "thinking", "reasoning", "thought"];

pub(super) fn fill(draft: &mut Draft, template: &Map<String, Value>) -> Result<(), String> {
    unknown(template, &TEMPLATE_KEYS).map_or(Ok(()), |key| Err(format!("the key `{key}` is not known")))?;
    if template.get("version").is_some_and(|version| version != 1) {
        return Err("only version 1 is known".into());
    }
    let fields = template.get("fields").and_then(Value::as_object).ok_or("`fields` is missing")?;
    let fields = fields.iter().map(|(name, spec)| Field::new(name, spec)).collect::<Result<Vec<_>, String>>()?;
    let find = |names: &[&str]| fields.iter().find(|field| names.contains(&field.name));
    for field in &fields {
        if ![&REASONING[..], &["content", "tool_calls"]].concat().contains(&field.name) {
            draft.warn(format!("field `{}` is not read: its text stays where it is", field.name));
        }
        if field.spec.get("optional") == Some(&Value::Bool(false)) {
            draft.warn(format!("field `{}`: `optional = false` is not enforced: an answer may always lack it", field.name));
        }
    }
    let defaults = template.get("defaults").and_then(Value::as_object);
    if let Some(key) = defaults.into_iter().flat_map(Map::keys).find(|key| key.as_str() != "role") {
        draft.warn(format!("`defaults`: `{key}` is not set in answers"));
    }
    let anchor = spellings(template, "start_anchor")?.unwrap_or_default();
    let anchors: Vec<String> = anchor.iter().flat_map(|spelling| literal(spelling)).collect();
    let (reasoning, content, calls) = (find(&REASONING), find(&["content"]), find(&["tool_calls"]));
    // Messages with headers are one thing; regions of their own another.
    let headed = message::fill(draft, &anchors, reasoning, content, calls)?;
    if headed == message::Headed::Whole {
        return Ok(());
    }
    if headed == message::Headed::No {
        let anchors = anchors.into_iter().filter(|anchor| draft.is_special(anchor)).collect::<Vec<_>>();
        draft.drop.extend(anchors);
        reasoning.map_or(Ok(()), |field| thinking(draft, field))?;
        content.map_or(Ok(()), |field| answer(draft, field))?;
    }
    match calls {
        Some(field) => call::fill(draft, field).map_err(|what| format!("field `tool_calls`: {what}")),
        None => {
            draft.warn("field `tool_calls` is missing: only the generic forms are read");
            Ok(())
        }
    }
}

/// The one text of a spelling, as it is written.
fn literal(spelling: &[Piece]) -> Option<String> {
    match spelling {
        [Piece::Text(text), ..] if spelling[1..].iter().all(|piece| *piece == Piece::Space) => Some(text.clone()),
        _ => None,
    }
}

fn thinking(draft: &mut Draft, field: &Field<'_>) -> Result<(), String> {
    let close = markers(&field.close);
    if close.is_empty() {
        return Err(format!("field `{}`: its end is not a text to look for", field.name));
    }
    let (mut open, mut label) = (Vec::new(), Vec::new());
    for text in field.open.iter().flat_map(|open| markers(open)) {
        let (token, rest) = draft.split(&text);
        push(&mut open, token);
        if !rest.trim().is_empty() {
            push(&mut label, rest.trim());
        }
    }
    if open.is_empty() {
        open = close.iter().filter_map(|close| close.strip_prefix("</").map(|name| format!("<{name}"))).collect();
        draft.warn(format!("field `{}` has no text that opens it: {} is taken, from its end", field.name, open.join(" or ")));
    }
    let anywhere = open.iter().chain(&close).all(|marker| draft.is_special(marker));
    draft.reasoning = vec![("open", json!(open)), ("close", json!(close))];
    if !label.is_empty() {
        draft.reasoning.push(("label", json!(label)));
    }
    if anywhere {
        draft.reasoning.push(("anywhere", json!(true)));
    }
    Ok(())
}

fn answer(draft: &mut Draft, field: &Field<'_>) -> Result<(), String> {
    let close = markers(&field.close);
    match &field.open {
        Some(open) if !markers(open).is_empty() && !close.is_empty() => {
            draft.answer = vec![("open", json!(markers(open))), ("close", json!(close))];
        }
        Some(_) => return Err("field `content`: its delimiters are no texts to look for".into()),
        None => draft.drop.extend(close),
    }
    Ok(())
}
