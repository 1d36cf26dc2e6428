//! The stages for arguments that are not valid as written: envelope, tolerant reading, end of the stream, keys and types,
//! validation.

use std::borrow::Cow;

use super::around::{fixes_around, is_embedded, is_part_of_a_text};
use super::coerce::{Changes, Coercion};
use super::ending::{UNCLOSED, cut, ended};
use super::envelope::{self, Found};
use super::keys;
use super::report::{End, Fix, Report, Verdict};
use crate::event::Why;
use crate::json::Code;
use crate::json::read::{Ending, Repair};
use crate::json::strict;
use crate::json::tree::{Node, Value};
use crate::schema::Schema;

/// How many layers of encoding, or of wrappers, are removed.
const LAYERS: usize = 3;

/// How many empty values are left out. The schema is checked again after each.
const EMPTY: usize = 16;

/// What the stages need to know of a call.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    pub(super) schema: Option<&'c Schema>,
    pub(super) keeps_null: &'c [String],
    pub(super) end: End,
}

/// Arguments after all stages.
struct Settled<'s> {
    root: Node<'s>,
    changes: Changes,
    /// Why they do not satisfy the schema.
    fault: Option<String>,
}

/// Runs the stages over a text that is not valid as written.
pub(super) fn run(text: &str, call: Call<'_>) -> Report {
    let mut text = Cow::Borrowed(text);
    let mut fixes = Vec::new();
    for _ in 0..LAYERS {
        let whole = 0..text.len();
        if let Some(plain) = envelope::unescaped(&text) {
            fixes.push(Fix::whole(Code::S14, whole, Verdict::Lossless, "text that was escaped as a whole"));
            text = Cow::Owned(plain);
        } else if let Some(inner) = envelope::encoded(&text) {
            fixes.push(Fix::whole(Code::E5, whole, Verdict::Coerced, "JSON inside of a JSON string"));
            text = Cow::Owned(inner.trim().to_owned());
        } else {
            break;
        }
    }
    if is_blank(&text) {
        return without_arguments(text.trim(), call, fixes);
    }
    match read(&text, call, fixes.clone()) {
        Ok(report) => report,
        Err(refusal) if matches!(refusal.why, Some(Why::Ambiguous(_))) => refusal,
        Err(refusal) => without_container(&text, call, fixes).unwrap_or(refusal),
    }
}

/// Whether the text says that there are no arguments.
fn is_blank(text: &str) -> bool {
    matches!(text.trim(), "" | "null" | "None" | "[]" | "()")
}

/// C1: reports on a call without arguments.
fn without_arguments(text: &str, call: Call<'_>, mut fixes: Vec<Fix>) -> Report {
    if let Some(why) = cut(call.end).filter(|_| text != "[]") {
        return Report::refused(why);
    }
    let root = Node { value: Value::Object(Vec::new()), start: 0, end: text.len(), exact: false };
    fixes.push(Fix::whole(Code::C1, 0..text.len(), Verdict::Coerced, "no arguments"));
    match fitted(text, root, fixes, call) {
        Ok(settled) if settled.fault.is_none() => passed(settled.root.to_json(text), settled),
        Ok(_) => Report::refused(Why::Malformed("there are none, and the tool needs some".to_owned())),
        Err(why) => Report::refused(why),
    }
}

/// Reads the containers of the text and takes the one that fits. The error is a refusal, unless the text turns out to be
/// arguments without a container.
#[allow(clippy::result_large_err, reason = "a refusal is a whole report too, and is made once for a call")]
fn read(text: &str, call: Call<'_>, fixes: Vec<Fix>) -> Result<Report, Report> {
    let anything = Schema::default();
    let schema = call.schema.unwrap_or(&anything);
    let found = envelope::containers(text, schema).map_err(|error| {
        Report::refused(cut(call.end).unwrap_or_else(|| Why::Malformed(format!("{} at byte {}", error.what, error.at))))
    })?;
    let goes_on = || Report::refused(cut(call.end).unwrap_or(Why::Ambiguous("a text goes on after the object".to_owned())));
    let in_a_row = found.iter().any(|found| found.adjacent);
    let mut settled: Vec<Settled<'_>> = Vec::with_capacity(found.len());
    let mut refusal: Option<Report> = None;
    for Found { reading, reread, start, adjacent } in found {
        let complete = reading.ending == Ending::Complete;
        let around = fixes_around(text, start, reading.end);
        if is_part_of_a_text(text, &reading, &around, schema) {
            if adjacent {
                return Err(goes_on());
            }
            continue;
        }
        let is_embedded = is_embedded(text, &reading, &around, schema);
        let mut fixes = fixes.clone();
        fixes.extend(around);
        let result = ended(text, &reading, call.end, call.schema.is_some()).and_then(|closed| {
            let elided = reading.repairs.iter().any(|repair| repair.rule == Code::S17);
            if elided && call.schema.is_some() && matches!(&reading.root.value, Value::Object(members) if members.is_empty()) {
                return Err(Why::Malformed("three dots are no arguments".to_owned()));
            }
            fixes.extend(reading.repairs.into_iter().map(fix_of));
            fixes.extend(reread);
            fixes.extend(closed);
            let mut result = fitted(text, reading.root, fixes, call)?;
            result.changes.dropped.extend(reading.dangling);
            match &result.fault {
                // What the schema misses may have been truncated.
                Some(_) if !complete && call.end != End::Whole => Err(cut(call.end).unwrap_or(UNCLOSED)),
                // Only an object whose reading is certain may be delivered as written.
                Some(fault) if result.changes.fixes.iter().any(|fix| fix.level == Verdict::Guess) => {
                    Err(Why::Malformed(fault.clone()))
                }
                Some(fault) => {
                    let why = Why::Schema(fault.clone());
                    // The object as the model wrote it: the coercions changed the tree, so it is read once more.
                    let plain = envelope::container(text, start, schema.at(schema.top()), "").ok();
                    let report = Report {
                        arguments: plain.map(|(plain, _)| plain.root.to_json(text)),
                        fixes: result.changes.fixes.clone(),
                        ..Report::refused(why)
                    };
                    refusal.get_or_insert(report);
                    Ok(result)
                }
                None if is_embedded => Err(Why::Ambiguous("the object may be a part of a text".to_owned())),
                None => Ok(result),
            }
        });
        match result {
            Ok(result) => settled.push(result),
            Err(why) if matches!(why, Why::Truncated(_)) || start == 0 || adjacent => return Err(Report::refused(why)),
            Err(why) => {
                refusal.get_or_insert(Report::refused(why));
            }
        }
    }
    let differ = |settled: &[Settled<'_>]| settled.windows(2).any(|pair| !keys::same(&pair[0].root, &pair[1].root));
    if in_a_row && differ(&settled) {
        return Err(Report::refused(Why::Ambiguous("several different objects".to_owned())));
    }
    settled.retain(|settled| settled.fault.is_none());
    if differ(&settled) {
        return Err(Report::refused(Why::Ambiguous("several objects fit".to_owned())));
    }
    let count = settled.len();
    match settled.into_iter().next() {
        Some(mut settled) => {
            if count > 1 {
                let note = "the same object several times";
                settled.changes.fixes.push(Fix::whole(Code::E8, 0..text.len(), Verdict::Lossless, note));
            }
            Ok(passed(settled.root.to_json(text), settled))
        }
        None => Err(refusal.unwrap_or_else(|| Report::refused(Why::NotAnObject))),
    }
}

/// A repair of the reader, as a fix in the report.
fn fix_of(repair: Repair) -> Fix {
    let level = if repair.guess { Verdict::Guess } else { Verdict::Lossless };
    Fix { path: repair.path, ..Fix::whole(repair.rule, repair.start..repair.end, level, repair.note) }
}

/// Coerces and validates one container, without its wrappers if it fits only then.
fn fitted<'s>(source: &str, root: Node<'s>, fixes: Vec<Fix>, call: Call<'_>) -> Result<Settled<'s>, Why> {
    let Some(schema) = call.schema else {
        // Without a schema, only repeated keys are checked.
        if keys::repeat(&root) {
            return coerced(source, root, fixes, &Schema::default(), call);
        }
        return Ok(Settled { root, changes: Changes { fixes, ..Changes::default() }, fault: None });
    };
    let (mut inner, mut inner_fixes) = (root.clone(), fixes.clone());
    let layers = if schema.rule(schema.top()).properties.is_empty() { 0 } else { LAYERS };
    for _ in 0..layers {
        let Some((node, taken_off)) = envelope::unwrapped(&inner, schema) else { break };
        inner = node;
        inner_fixes.extend(taken_off);
        if let Ok(settled) = coerced(source, inner.clone(), inner_fixes.clone(), schema, call)
            && settled.fault.is_none()
        {
            return Ok(settled);
        }
    }
    object_only(coerced(source, root, fixes, schema, call)?, schema)
}

/// Refuses arguments that are not an object, unless the schema expressly allows a list.
fn object_only<'s>(settled: Settled<'s>, schema: &Schema) -> Result<Settled<'s>, Why> {
    match &settled.root.value {
        Value::Object(_) => Ok(settled),
        Value::Array(_) if settled.fault.is_none() && schema.is_list() => Ok(settled),
        _ => Err(Why::NotAnObject),
    }
}

/// Fits keys and types of one container to the schema and validates it.
fn coerced<'s>(source: &str, root: Node<'s>, fixes: Vec<Fix>, schema: &Schema, call: Call<'_>) -> Result<Settled<'s>, Why> {
    let mut coercion = Coercion::new(schema, source, call.keeps_null, fixes);
    let mut root = coercion.value(root, schema.top());
    if let Some(doubt) = coercion.changes.doubt.take() {
        return Err(Why::Ambiguous(doubt));
    }
    let mut fault = schema.fault(&root, call.keeps_null);
    for _ in 0..EMPTY {
        match &fault {
            Some(found) if keys::leave_out_empty(&mut coercion, &mut root, &found.path) => {}
            _ => break,
        }
        fault = schema.fault(&root, call.keeps_null);
    }
    let fault = fault.map(|fault| fault.what);
    Ok(Settled { root, changes: coercion.changes, fault })
}

/// The report on arguments that fit, as this JSON text.
fn passed(json: String, settled: Settled<'_>) -> Report {
    let Changes { fixes, dropped, lost, .. } = settled.changes;
    Report { lost, ..Report::passed(json, fixes, dropped) }
}

/// Reads a text without containers: parameters in another form, or the only parameter itself.
fn without_container(text: &str, call: Call<'_>, fixes: Vec<Fix>) -> Option<Report> {
    let schema = call.schema?;
    if cut(call.end).is_some() {
        return None;
    }
    let text = text.trim();
    let whole = 0..text.len();
    let (node, rule, level, note) = match envelope::members(text, schema) {
        Some((node, note, level)) => (node, Code::N9, level, note),
        None if text.starts_with(['{', '<', '"']) || is_list(text) => return None,
        None => (envelope::bare(text, schema)?, Code::N7, Verdict::Coerced, "the whole text is the one parameter"),
    };
    let mut fixes = fixes;
    fixes.push(Fix::whole(rule, whole, level, note));
    let settled = coerced(text, node, fixes, schema, call).ok()?;
    settled.fault.is_none().then(|| passed(settled.root.to_json(text), settled))
}

/// Whether a text begins with a list of values, not with brackets of another kind: `[ -f x ] && rm y`.
fn is_list(text: &str) -> bool {
    let inside = text.strip_prefix('[').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['"', '\'', '{', ']']) || strict::parse(text).is_some())
}
