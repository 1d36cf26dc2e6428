//! Converts the field `tool_calls` of a `response_template` to a `[[call]]` table. The content parser and the `transform`
//! select the syntax; the texts around a call become its markers.

use serde_json::{Map, Value, json};

use super::{
    draft::{Draft, Table},
    field::{Field, markers},
    pattern::{self, push, texts},
    shape::{Head, Shape, Source, Tags},
};

/// Fills the table of a call.
pub(super) fn fill(draft: &mut Draft, field: &Field<'_>) -> Result<(), String> {
    let args = field.spec.get("content_args").and_then(Value::as_object).cloned().unwrap_or_default();
    let open = field.open.as_deref().ok_or("has nothing that opens it")?;
    let shape = Shape::new(field.spec)?;
    let group = match &shape.name {
        Source::Group(group) => Some(group.as_str()),
        _ => None,
    };
    let id = match &shape.id {
        Some(Source::Group(id)) => Some(id.as_str()),
        _ => None,
    };
    let head = Head::new(open, group, id)?;
    let parser = field.spec.get("content").and_then(Value::as_str).unwrap_or("text");
    draft.call = match (parser, group) {
        ("json", None) => object(draft, field, &head, &shape, &args)?,
        ("json", Some(_)) if head.open.iter().all(|open| open.contains('{')) => inner_object(draft, field, &head)?,
        ("json", Some(_)) => named(draft, field, &head, &args)?,
        ("xml-inline", Some(_)) => tagged(draft, field, &head, &args)?,
        ("xml-inline", None) => return Err("`xml-inline` without a group for the tool's name cannot be expressed".into()),
        (other, _) => return Err(format!("the content parser `{other}` cannot be expressed: only json and xml-inline can")),
    };
    Ok(())
}

/// The markers around a call, in the order of the files.
fn around(head: &Head, field: &Field<'_>, open: &[String]) -> Table {
    let mut table: Table = Vec::new();
    let (mut close, mut outer) = (Vec::new(), Vec::new());
    for texts in field.close.iter().filter_map(|spelling| texts(spelling)) {
        match texts.as_slice() {
            [one] => push(&mut close, one),
            [one, .., last] => {
                push(&mut close, one);
                push(&mut outer, last);
            }
            [] => {}
        }
    }
    // What closes the section closes the call too where the template says no more.
    let sections: Vec<String> = head.section.iter().filter_map(|section| counterpart(section)).collect();
    if !head.section.is_empty() && close.iter().any(|close| sections.contains(close)) {
        let (of_section, of_call) = close.into_iter().partition(|close| sections.contains(close));
        outer.extend::<Vec<String>>(of_section);
        close = of_call;
        close.extend(open.iter().filter_map(|open| counterpart(open)));
    }
    table.push(("section", json!(head.section)));
    table.push(("section_close", json!(outer)));
    table.push(("open", json!(open)));
    table.push(("close", json!(close)));
    table
}

/// The name and the arguments are members of the value.
fn object(draft: &mut Draft, field: &Field<'_>, head: &Head, shape: &Shape, args: &Map<String, Value>) -> Result<Table, String> {
    let delimiters = delimiters(args)?;
    if delimiters.iter().any(|delimiter| !matches!(delimiter.as_str(), "'" | "\"")) {
        return Err("`string_delims` without a group for the tool's name cannot be expressed".into());
    }
    if head.open.is_empty() {
        return Err("has no text that opens it".into());
    }
    let mut table = around(head, field, &head.open);
    table.push(("syntax", json!("json")));
    for (key, source, usual) in [("name_keys", &shape.name, "name"), ("argument_keys", &shape.arguments, "arguments")] {
        match source {
            Source::Key(path) if path.rsplit('.').next() == Some(usual) => {}
            Source::Key(path) => table.push((key, json!([path.rsplit('.').next()]))),
            _ => return Err("`transform` takes the tool's name and its arguments from different places".into()),
        }
    }
    match &shape.id {
        Some(Source::Key(id)) if id == "id" => table.push(("keep_id", json!(true))),
        Some(_) => draft.warn("field `tool_calls`: the calls' ids are not kept"),
        None => {}
    }
    Ok(table)
}

/// The opening pattern begins the object: `{"name": "f", "parameters": ` and the arguments after it.
fn inner_object(draft: &mut Draft, field: &Field<'_>, head: &Head) -> Result<Table, String> {
    let mut open = Vec::new();
    let mut keys = [Vec::new(), Vec::new()];
    for text in &head.open {
        let (marker, inner) = text.split_once('{').unwrap_or((text, ""));
        push(&mut open, marker.trim());
        keys[0].extend(inner.split('"').nth(1).filter(|key| *key != "name").map(str::to_owned));
    }
    let behind = head.behind.concat();
    keys[1].extend(behind.split('"').find(|key| key.starts_with(char::is_alphabetic)).map(str::to_owned));
    let [names, arguments] = keys;
    let ends = field.close.iter().filter_map(|spelling| texts(spelling)).flatten().map(|end| end.trim_start_matches('}').trim());
    let ends: Vec<String> = ends.filter(|end| !end.is_empty()).map(str::to_owned).collect();
    // What comes before the brace, with whitespace between.
    if open.iter().all(String::is_empty) && !head.section.is_empty() {
        open.clone_from(&head.section);
    }
    let bare = open.iter().all(String::is_empty);
    let mut table: Table =
        if bare { vec![("stripped", json!(open))] } else { vec![("open", json!(open)), ("close", json!(ends))] };
    if bare {
        draft.drop.extend(ends);
    }
    table.push(("syntax", json!("json")));
    if !names.is_empty() {
        table.push(("name_keys", json!(names)));
    }
    if !arguments.is_empty() && arguments != ["arguments"] {
        table.push(("argument_keys", json!([arguments, vec!["arguments".to_owned()]].concat())));
    }
    Ok(table)
}

/// The name comes before the arguments.
fn named(draft: &mut Draft, field: &Field<'_>, head: &Head, args: &Map<String, Value>) -> Result<Table, String> {
    let delimiters = delimiters(args)?;
    let lax = args.get("unquoted_keys") == Some(&Value::Bool(true)) || !delimiters.is_empty();
    let (mut open, mut before) = (Vec::new(), Vec::new());
    // Words between a marker and the name are part of the name's place: alone they would be found in any text.
    let words = |open: &String| !open.starts_with(['<', '[']) && !draft.is_special(open);
    let worded = !head.section.is_empty() && head.open.iter().all(words);
    for text in &head.open {
        let (token, rest) = if worded { ("", text.as_str()) } else { draft.split(text) };
        push(&mut open, token);
        push(&mut before, rest);
    }
    if worded {
        open.clone_from(&head.section);
    }
    if open.is_empty() {
        return Err("has no text that opens it".into());
    }
    // `functions.` is no part of the name, and no marker that has to be there.
    let prefix: Vec<String> = before.iter().filter(|text| text.ends_with('.')).cloned().collect();
    before.retain(|text| !prefix.contains(text));
    let special = open.iter().all(|marker| draft.is_special(marker));
    let mut table = around(head, field, &open);
    table.retain(|(key, _)| !worded || !key.starts_with("section"));
    if special && !before.iter().all(String::is_empty) {
        table.push(("stripped", json!(before)));
    }
    let before = if before.is_empty() { vec![String::new()] } else { before };
    if lax {
        if !head.behind.is_empty() {
            return Err("a text between the tool's name and a value with unquoted keys cannot be expressed".into());
        }
        table.extend([("syntax", json!("lax")), ("name", json!([before, ""])), ("strings", json!(delimiters))]);
        return Ok(table);
    }
    // What follows the name at once ends it; of several texts the others carry nothing.
    let skip: Vec<String> = if head.behind.len() > 1 { head.behind.clone() } else { Vec::new() };
    table.extend([("syntax", json!("named")), ("name", json!([before, head.next]))]);
    if !prefix.is_empty() {
        table.push(("prefix", json!(prefix)));
    }
    if head.numbered {
        table.push(("name_is_id", json!(true)));
    }
    if let Some(id) = &head.id_before {
        table.extend([("id", json!(id)), ("id_first", json!(true))]);
    }
    if let Some([before, behind]) = &head.id_behind {
        // The id ends where its letters end: then the marker after it is one that carries nothing.
        table.push(("id", json!([before, ""])));
        let skip = [[behind.clone()].as_slice(), skip.as_slice()].concat();
        table.push(("skip", json!(skip.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>())));
    } else if !skip.is_empty() {
        table.push(("skip", json!(skip)));
    }
    Ok(table)
}

/// One tag for each argument, or Python's `k=v`.
fn tagged(draft: &mut Draft, field: &Field<'_>, head: &Head, args: &Map<String, Value>) -> Result<Table, String> {
    let pattern = args.get("tag_pattern").and_then(Value::as_str).ok_or("`xml-inline` without a `tag_pattern`")?;
    let spellings = pattern::parse(pattern).map_err(|what| format!("`tag_pattern` {what}"))?;
    if args.get("merge_duplicates") == Some(&Value::Bool(true)) {
        draft.warn("field `tool_calls`: of an argument that is written twice only one is kept");
    }
    let mut tags = Tags::default();
    for spelling in &spellings {
        tags.add(spelling).map_err(|what| format!("`tag_pattern` {what}"))?;
    }
    if head.behind.first().is_some_and(|behind| behind.trim() == "(") && tags.key[0].iter().all(String::is_empty) {
        let open: Vec<String> =
            head.open.iter().map(|open| open.trim_end_matches('[').to_owned()).filter(|open| open.len() > 2).collect();
        if open.is_empty() {
            return Err("calls in Python's form without a marker before them cannot be expressed".into());
        }
        let close: Vec<String> = markers(&field.close);
        let close: Vec<&str> =
            close.iter().map(|close| close.trim_start_matches([')', ']'])).filter(|close| !close.is_empty()).collect();
        return Ok(vec![("open", json!(open)), ("close", json!(close)), ("syntax", json!("python"))]);
    }
    if tags.key.iter().chain([&tags.value[1]]).any(|list| list.iter().all(String::is_empty)) {
        return Err("`tag_pattern` has no texts around the key, or none behind the value".into());
    }
    let mut table = around(head, field, &head.open);
    let mut behind: Vec<String> = Vec::new();
    for next in &head.next {
        let next = next.trim_start_matches(['"', '\'']);
        push(&mut behind, if next.is_empty() { "\n" } else { next });
    }
    table.extend([
        ("syntax", json!("tagged")),
        ("name", json!(["", behind])),
        ("argument", json!(tags.key)),
        ("value", json!(tags.value)),
    ]);
    if let Some(attribute) = tags.attribute {
        table.push(("type_attribute", json!(attribute)));
    }
    if let Some(kind) = tags.kind {
        table.push(("type_tag", json!(kind)));
    }
    table.push(("trim", json!(if tags.trimmed { "one_newline" } else { "none" })));
    if tags.trimmed {
        draft.warn("field `tool_calls`: of the whitespace around a value one newline at each end is cut, so that indented text stays whole");
    }
    Ok(table)
}

/// The delimiters of strings, which are the same at both ends.
fn delimiters(args: &Map<String, Value>) -> Result<Vec<String>, String> {
    let pairs = args.get("string_delims").and_then(Value::as_array).into_iter().flatten();
    pairs
        .map(|pair| match (pair.get(0).and_then(Value::as_str), pair.get(1).and_then(Value::as_str)) {
            (Some(open), Some(close)) if open == close && !open.is_empty() => Ok(open.to_owned()),
            _ => Err("`string_delims` that differ at the two ends cannot be expressed".to_owned()),
        })
        .collect()
}

/// `</x>` for `<x>`, `<x=` and `<x name=`.
fn counterpart(open: &str) -> Option<String> {
    let name = open.strip_prefix('<')?.split(['=', ' ', '>']).next()?;
    (!name.is_empty() && !name.starts_with(['|', '/'])).then(|| format!("</{name}>"))
}
