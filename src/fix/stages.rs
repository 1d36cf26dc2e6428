//! The stages for whatever is not valid as it stands: envelope, tolerant reading, end, keys and types, validation.

use std::borrow::Cow;

use super::coerce::Coercion;
use super::envelope::{self, Found};
use super::schema::{Schema, Types};
use super::{End, Fix, Report, Verdict, keys};
use crate::event::{FinishReason, Why};
use crate::json::read::{Ending, Reading};
use crate::json::tree::{Member, Node, Value};

/// How often a text may be decoded before it is read.
const LAYERS: usize = 3;

/// What the stages need to know of a call.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    pub(super) schema: Option<&'c Schema>,
    pub(super) keeps_null: &'c [String],
    pub(super) end: End,
}

/// Arguments that came through the stages.
struct Settled {
    json: String,
    value: serde_json::Value,
    fixes: Vec<Fix>,
    dropped: Vec<String>,
    /// What the schema says against them.
    fault: Option<String>,
    /// The object with its syntax repaired and nothing else.
    plain: String,
}

/// Runs the stages over a text that is not valid arguments as it stands.
pub(super) fn run(text: &str, call: Call<'_>) -> Report {
    let mut text = Cow::Borrowed(text);
    let mut fixes = Vec::new();
    for _ in 0..LAYERS {
        let whole = 0..text.len();
        if let Some(plain) = envelope::unescaped(&text) {
            fixes.push(Fix::whole("S14", whole, Verdict::Lossless, "text that was escaped as a whole"));
            text = Cow::Owned(plain);
        } else if let Some(inner) = envelope::encoded(&text) {
            fixes.push(Fix::whole("E5", whole, Verdict::Coerced, "JSON inside of a JSON string"));
            text = Cow::Owned(inner.trim().to_owned());
        } else {
            break;
        }
    }
    if nothing(&text) {
        return blank(&text, call, fixes);
    }
    match read(&text, call, fixes.clone()) {
        Ok(report) => report,
        Err(refusal) => without_container(&text, call, fixes).unwrap_or(refusal),
    }
}

/// Whether the text says that there are no arguments.
fn nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "null" | "None" | "[]" | "{}" | "()")
}

/// C1: no arguments at all.
fn blank(text: &str, call: Call<'_>, mut fixes: Vec<Fix>) -> Report {
    if matches!(call.end, End::Cut(FinishReason::Length | FinishReason::ContentFilter)) && text != "{}" && text != "[]" {
        return Report::refused(Why::Truncated);
    }
    if call.schema.is_none() && text == "[]" {
        return accept("[]".to_owned(), fixes, Vec::new());
    }
    let root = Node { value: Value::Object(Vec::new()), start: 0, end: text.len(), exact: false };
    if text != "{}" {
        fixes.push(Fix::whole("C1", 0..text.len(), Verdict::Coerced, "no arguments"));
    }
    let settled = match settle(text, root, fixes, call) {
        Ok(settled) => settled,
        Err(why) => return Report::refused(why),
    };
    match settled.fault {
        None => accept(settled.json, settled.fixes, settled.dropped),
        Some(fault) if text == "{}" => Report { arguments: Some(settled.plain), ..Report::refused(Why::Schema(fault)) },
        Some(_) => Report::refused(Why::Malformed("there are none, and the tool needs some".to_owned())),
    }
}

/// Reads the containers of the text and takes the one that fits. The error is a refusal that a text without containers
/// might still escape.
fn read(text: &str, call: Call<'_>, fixes: Vec<Fix>) -> Result<Report, Report> {
    let found = envelope::containers(text, call.schema).map_err(|error| {
        Report::refused(cut(call.end).unwrap_or_else(|| Why::Malformed(format!("{} at byte {}", error.what, error.at))))
    })?;
    let adjacent = found.iter().any(|found| found.adjacent);
    let mut fitting: Vec<Settled> = Vec::new();
    let mut first_fault: Option<Report> = None;
    let mut all: Vec<serde_json::Value> = Vec::new();
    for found in found {
        let whole = found.start == 0;
        let dangling = found.reading.dangling.clone();
        let complete = found.reading.ending == Ending::Complete;
        let settled = ended(text, &found, call).and_then(|more| {
            let mut fixes = fixes.clone();
            fixes.extend(around(text, &found));
            fixes.extend(more);
            settle(text, found.reading.root, fixes, call)
        });
        match settled {
            Ok(mut settled) => {
                settled.dropped.extend(dangling);
                all.push(settled.value.clone());
                match &settled.fault {
                    None => fitting.push(settled),
                    // What the schema misses may have been cut off.
                    Some(_) if !complete && call.end != End::Whole => return Err(Report::refused(Why::Truncated)),
                    Some(fault) => {
                        let refusal = Report {
                            arguments: Some(settled.plain.clone()),
                            fixes: settled.fixes.clone(),
                            ..Report::refused(Why::Schema(fault.clone()))
                        };
                        first_fault.get_or_insert(refusal);
                    }
                }
            }
            Err(why @ Why::Truncated) => return Err(Report::refused(why)),
            Err(why) => {
                let refusal = Report::refused(why);
                if whole {
                    return Err(refusal);
                }
                first_fault.get_or_insert(refusal);
            }
        }
    }
    if adjacent && all.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(Report::refused(Why::Ambiguous("several different objects".to_owned())));
    }
    if fitting.windows(2).any(|pair| pair[0].value != pair[1].value) {
        return Err(Report::refused(Why::Ambiguous("several objects fit".to_owned())));
    }
    let count = fitting.len();
    match fitting.into_iter().next() {
        Some(mut settled) => {
            if count > 1 {
                settled.fixes.push(Fix::whole("E8", 0..text.len(), Verdict::Lossless, "the same object several times"));
            }
            Ok(accept(settled.json, settled.fixes, settled.dropped))
        }
        None => Err(first_fault.unwrap_or_else(|| Report::refused(Why::NotAnObject))),
    }
}

/// The fixes for what stands around a container.
fn around(text: &str, found: &Found<'_>) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let before = text[..found.start].trim();
    if before.starts_with("```") && !before.trim_start_matches('`').contains(char::is_whitespace) {
        fixes.push(Fix::whole("E1", 0..found.start, Verdict::Lossless, "code fence around the arguments"));
    } else if !before.is_empty() {
        fixes.push(Fix::whole("E2", 0..found.start, Verdict::Lossless, "text before the arguments"));
    }
    let after = text[found.reading.end..].trim();
    let at = found.reading.end..text.len();
    if !after.is_empty() {
        let fix = match after.bytes().next() {
            Some(b'}' | b']' | b')') => ("S12", "superfluous closing brackets behind the arguments"),
            Some(b',') => ("S1", "superfluous comma behind the arguments"),
            Some(b'`') => ("E1", "code fence behind the arguments"),
            Some(b'<' | b';') => ("E3", "end markers behind the arguments"),
            _ => ("E2", "text behind the arguments"),
        };
        fixes.push(Fix::whole(fix.0, at, Verdict::Lossless, fix.1));
    }
    fixes
}

/// Truncation, if the stream was cut by a limit.
fn cut(end: End) -> Option<Why> {
    matches!(end, End::Cut(FinishReason::Length | FinishReason::ContentFilter)).then_some(Why::Truncated)
}

/// Stage 4: whether a text that ended so may run (X1 to X3), and the repairs of the reading as fixes.
fn ended(text: &str, found: &Found<'_>, call: Call<'_>) -> Result<Vec<Fix>, Why> {
    let reading = &found.reading;
    let guessed = reading.repairs.iter().any(|repair| repair.guess);
    if reading.ending != Ending::Complete || guessed {
        // A cut text may look complete only because of how its quotes were read.
        cut(call.end).map_or(Ok(()), Err)?;
    }
    if let Some(what) = &reading.void {
        return Err(Why::Malformed(what.clone()));
    }
    let (closed, level) = match (call.end, reading.ending) {
        (_, Ending::Complete) => (false, Verdict::Clean),
        (_, Ending::Open) if reading.tagged => (true, Verdict::Lossless),
        (End::Cut(_), Ending::Open) => (true, Verdict::Lossless),
        (End::Cut(_), _) => return Err(Why::Truncated),
        (End::Closed, Ending::Open | Ending::InWord) => (true, Verdict::Lossless),
        (End::Closed, Ending::AfterComma) => (true, Verdict::Guess),
        (End::Closed, _) => return Err(Why::Truncated),
        (End::Whole, Ending::InKey) => return Err(Why::Malformed("the text ends in a key".to_owned())),
        (End::Whole, Ending::AfterColon) if call.schema.is_none() => {
            return Err(Why::Malformed("a value is missing at the end".to_owned()));
        }
        (End::Whole, _) => (true, Verdict::Guess),
    };
    if reading.rival.is_some() {
        return Err(Why::Ambiguous(format!("two readings at {}", path(reading))));
    }
    let mut fixes: Vec<Fix> = Vec::with_capacity(reading.repairs.len() + 1);
    for repair in &reading.repairs {
        let level = if repair.guess { Verdict::Guess } else { Verdict::Lossless };
        // The same repair again and again at one value is one fix.
        if let Some(last) = fixes.last_mut()
            && last.rule == repair.rule
            && last.path == repair.path
        {
            last.at.end = last.at.end.max(repair.end);
            last.level = last.level.max(level);
            continue;
        }
        fixes.push(Fix {
            rule: repair.rule,
            path: repair.path.clone(),
            at: repair.start..repair.end,
            level,
            note: repair.note.to_owned(),
        });
    }
    if closed {
        fixes.push(Fix::whole("X2", text.len()..text.len(), level, "open brackets closed at the end"));
    }
    Ok(fixes)
}

fn path<'r>(reading: &'r Reading<'_>) -> &'r str {
    reading.rival.as_deref().filter(|path| !path.is_empty()).unwrap_or("/")
}

/// Stages 6 to 9 for one container, with its wrappers taken off where that is what fits.
fn settle(source: &str, root: Node<'_>, fixes: Vec<Fix>, call: Call<'_>) -> Result<Settled, Why> {
    let plain = root.to_json(source);
    if let Some(key) = marked_up(&root) {
        return Err(Why::Markup(format!("protocol markup in the key `{key}`")));
    }
    let Some(schema) = call.schema else {
        let value = root.to_serde();
        let anything = Schema::default();
        let mut coercion = Coercion::new(&anything, source, call.keeps_null);
        let root = coercion.value(root, super::schema::ANY);
        if let Some(doubt) = coercion.doubt {
            return Err(Why::Ambiguous(doubt));
        }
        let mut fixes = fixes;
        fixes.extend(coercion.fixes);
        return Ok(Settled { json: root.to_json(source), value, fixes, dropped: Vec::new(), fault: None, plain });
    };
    let own = coerced(source, root.clone(), fixes.clone(), schema, call, &plain);
    let rule = schema.rule(schema.top());
    let known = match &root.value {
        Value::Object(members) => {
            members.is_empty() || rule.properties.is_empty() || members.iter().any(|member| rule.find(&member.key).is_some())
        }
        _ => false,
    };
    if let Ok(own) = &own
        && own.fault.is_none()
        && known
        && !envelope::is_echo(&root, schema)
    {
        return Ok(Settled {
            json: own.json.clone(),
            value: own.value.clone(),
            fixes: own.fixes.clone(),
            dropped: own.dropped.clone(),
            fault: None,
            plain,
        });
    }
    let mut layers = vec![(root, fixes)];
    for _ in 0..3 {
        let mut next = Vec::new();
        for (node, fixes) in layers {
            for (inner, fix) in envelope::unwrapped(&node, schema) {
                let mut fixes = fixes.clone();
                fixes.push(fix);
                let settled = coerced(source, inner.clone(), fixes.clone(), schema, call, &plain);
                if let Ok(settled) = settled
                    && settled.fault.is_none()
                {
                    return Ok(settled);
                }
                next.push((inner, fixes));
            }
        }
        layers = next;
    }
    let own = own?;
    match own.value {
        serde_json::Value::Object(_) => Ok(own),
        _ if own.fault.is_none() && rule.types.allow(Types::ARRAY) && !rule.types.is_all() => Ok(own),
        _ => Err(Why::NotAnObject),
    }
}

/// Keys, types, validation of one object.
fn coerced(source: &str, root: Node<'_>, fixes: Vec<Fix>, schema: &Schema, call: Call<'_>, plain: &str) -> Result<Settled, Why> {
    let mut coercion = Coercion::new(schema, source, call.keeps_null);
    let root = coercion.value(root, schema.top());
    if let Some(doubt) = coercion.doubt {
        return Err(Why::Ambiguous(doubt));
    }
    let value = root.to_serde();
    let fault = schema.fault(&value, call.keeps_null);
    let mut fixes = fixes;
    fixes.extend(coercion.fixes);
    Ok(Settled { json: root.to_json(source), value, fixes, dropped: coercion.dropped, fault, plain: plain.to_owned() })
}

/// The texts that are no container at all: parameters in another form, or the one parameter itself.
fn without_container(text: &str, call: Call<'_>, fixes: Vec<Fix>) -> Option<Report> {
    let schema = call.schema?;
    if matches!(call.end, End::Cut(_)) && cut(call.end).is_some() {
        return None;
    }
    let text = text.trim();
    let whole = 0..text.len();
    let object = |members: Vec<Member<'static>>| Node { value: Value::Object(members), start: 0, end: text.len(), exact: false };
    let written = envelope::members(text, schema).map(|(members, note, level)| (object(members), "N9", level, note));
    let bare = || envelope::bare(text, schema).map(|node| (node, "N7", Verdict::Guess, "the whole text is the one parameter"));
    let (node, rule, level, note) = match written {
        Some(written) => written,
        None if text.starts_with(['{', '[', '<', '"']) => return None,
        None => bare()?,
    };
    let mut fixes = fixes;
    fixes.push(Fix::whole(rule, whole, level, note));
    let settled = coerced(text, node, fixes, schema, call, text).ok()?;
    settled.fault.is_none().then(|| accept(settled.json, settled.fixes, settled.dropped))
}

/// The first key that contains markup of a calling protocol: the body of the call was torn.
pub(super) fn marked_up<'n>(node: &'n Node<'_>) -> Option<&'n str> {
    match &node.value {
        Value::Array(items) => items.iter().find_map(marked_up),
        Value::Object(members) => members
            .iter()
            .find_map(|member| if keys::is_markup(&member.key) { Some(member.key.as_ref()) } else { marked_up(&member.node) }),
        _ => None,
    }
}

/// The report on arguments that may run: the verdict is the level of the boldest fix.
fn accept(json: String, fixes: Vec<Fix>, dropped: Vec<String>) -> Report {
    let verdict = fixes.iter().map(|fix| fix.level).max().unwrap_or(Verdict::Clean);
    Report { verdict, arguments: Some(json), why: None, fixes, dropped }
}
