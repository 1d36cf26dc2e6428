//! Void's calls as text: `<tool>` with one element per parameter and no escapes. There are two readers of a body: a lenient
//! one for what Void itself wrote (prompts and histories), and one that reads exactly as Void does when it executes a call.

/// Cuts a body that Void wrote, `<a>...</a>\n<b>...</b>`, into its parameters. A value ends at the first closing tag that
/// is followed by another parameter or by the end; `None` if the body is not of this form.
pub(super) fn split(body: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = body.trim();
    let mut parameters = Vec::new();
    while !rest.is_empty() {
        let (name, after) = opening(rest)?;
        let close = format!("</{name}>");
        let mut ends = after.match_indices(&close).map(|(at, _)| at);
        let end = ends.find(|at| {
            let next = after.get(at + close.len()..).unwrap_or_default();
            next.trim().is_empty() || next.strip_prefix('\n').is_some_and(|next| opening(next).is_some())
        })?;
        parameters.push((name, after.get(..end)?));
        rest = after.get(end + close.len()..)?.trim_start();
    }
    Some(parameters)
}

/// The name of the tag at the beginning of `text`, and the rest of the text.
pub(super) fn opening(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('<')?.split_once('>')?;
    is_name(name).then_some((name, after))
}

/// Whether this can be the name of a tool or a parameter. (MCP allows a slash in names; at the ends it belongs to the tag.)
pub(super) fn is_name(name: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '$' | '/');
    !name.is_empty() && !name.starts_with('/') && !name.ends_with('/') && name.chars().all(inside)
}

/// Reads the body of a call exactly as Void does: `declared` are the tool's parameters in Void's order, `body` is what
/// is between the tool's tags. The order of the result is the order of reading.
///
/// Void looks for the opening tag of each declared parameter in turn, anywhere ahead, then for the closing tag of each
/// declared parameter in turn; it gives up after ten, and what is left over belongs to the last value.
pub fn read_as_void<'a>(declared: &[&'a str], body: &str) -> Vec<(&'a str, String)> {
    const MOST: usize = 10;
    let mut values: Vec<(&str, String)> = Vec::new();
    let mut at = 0;
    let find = |at: usize, tag: &dyn Fn(&str) -> String| {
        declared.iter().find_map(|name| {
            let tag = tag(name);
            body.get(at..)?.find(&tag).map(|found| (*name, at + found, at + found + tag.len()))
        })
    };
    for _ in 0..MOST {
        let left_over = body.get(at..).unwrap_or_default();
        let Some((name, _, start)) = find(at, &|name| format!("<{name}>")) else {
            if let Some((_, last)) = values.last_mut() {
                last.push_str(left_over);
            }
            break;
        };
        values.retain(|(earlier, _)| *earlier != name);
        let Some((_, end, next)) = find(start, &|name| format!("</{name}>")) else {
            values.push((name, body.get(start..).unwrap_or_default().to_owned()));
            break;
        };
        values.push((name, body.get(start..end).unwrap_or_default().to_owned()));
        at = next;
    }
    for (_, value) in &mut values {
        *value = without_blank_ends(value).to_owned();
    }
    values
}

/// Void cuts one blank first line and one blank last line off every value.
fn without_blank_ends(value: &str) -> &str {
    let value = match value.split_once('\n') {
        Some((first, rest)) if first.trim().is_empty() => rest,
        _ => value,
    };
    match value.rsplit_once('\n') {
        Some((rest, last)) if last.trim().is_empty() => rest,
        _ => value,
    }
}
