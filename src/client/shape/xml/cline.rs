//! The tool prompt of Cline and its forks (Roo, Kilo) before they used native calls: a chapter `# Tools` with one section per
//! tool, calls as elements, results as user text that begins with `[NAME for '...'] Result:`.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{culprit, inexpressible, tags};
use crate::event::{Tool, Tools, Why};

const FORMATTING: &str = "# Tool Use Formatting";
const TOOLS: &str = "# Tools";
const EXAMPLES: &str = "# Tool Use Examples";
const DETAILS: &str = "<environment_details>";
/// The media type that marks a parameter whose value is itself made of elements.
const MARKUP: &str = "application/xml";

/// The tools in `text`, and `text` without the chapters that explain how to write them.
pub(super) fn cut(text: &str) -> Option<(Tools, String)> {
    let (start, end) = chapter(text, TOOLS)?;
    let formatting = chapter(text, FORMATTING).filter(|(_, end)| *end <= start)?;
    let tools = read_tools(text.get(start..end)?)?;
    let mut text = text.to_owned();
    let examples = chapter(&text, EXAMPLES).filter(|(examples, _)| *examples >= end);
    for (start, end) in examples.into_iter().chain([(start, end), formatting]) {
        text = tags::without(&text, start, end)?;
    }
    Some((tools, text))
}

/// The parameters of a call. The client takes a value up to the first closing tag, or up to the last one ([`to_the_last`]), and
/// cuts white space or line breaks at its ends.
pub(super) fn body(tool: &str, declared: &[&str], values: &[(&str, String)]) -> Result<String, Why> {
    let tags = |name: &str| match to_the_last(tool) {
        Some(last) if last == name => Vec::new(),
        Some(last) => vec![format!("</{name}>"), format!("<{last}>"), format!("</{last}>")],
        None => vec![format!("</{name}>")],
    };
    let obstructed = |(name, value): &(&str, String)| {
        (to_the_last(tool) == Some(name)).then_some(())?;
        obstacle(tool, declared, name, value).map(|tag| inexpressible(name, &tag))
    };
    if let Some(why) = culprit(values, tags).or_else(|| values.iter().find_map(obstructed)) {
        return Err(why);
    }
    let lines = values.iter().map(|(name, value)| {
        let gap = if value.contains('\n') { "\n" } else { "" };
        format!("<{name}>{gap}{value}{gap}</{name}>\n")
    });
    Ok(lines.collect())
}

/// The parameter of this tool whose value reaches up to its last closing tag, because the text of a file may contain that tag.
pub(super) fn to_the_last(tool: &str) -> Option<&'static str> {
    (tool == "write_to_file").then_some("content")
}

/// The tag in a value that keeps the client from reading up to the last closing tag.
///
/// After the first closing tag, the client looks for the end of the call, and for parameters of all its tools, whatever it offers:
/// the value of such a parameter reaches up to its own closing tag. So any element is harmless if it is closed and not a
/// parameter of this tool.
fn obstacle(tool: &str, declared: &[&str], name: &str, value: &str) -> Option<String> {
    let (_, after) = value.split_once(&format!("</{name}>"))?;
    let mut closed = HashSet::new();
    after.rmatch_indices('<').find_map(|(at, _)| {
        let rest = after.get(at + 1..)?;
        let (tag, closes) = rest.strip_prefix('/').map_or((rest, false), |rest| (rest, true));
        let (tag, end) = tag.split_at(tag.find(['<', '>'])?);
        if !end.starts_with('>') || !tags::is_name(tag) {
            return None;
        }
        if closes {
            closed.insert(tag);
            return (tag == tool).then(|| format!("</{tag}>"));
        }
        let is_own = tag != name && declared.contains(&tag);
        (is_own || !closed.contains(tag)).then(|| format!("<{tag}>"))
    })
}

/// The result at the beginning of a user message: the tool's name, its text, and the rest of the message.
pub(super) fn result(texts: &[&str]) -> Option<(String, String, Vec<String>)> {
    let (first, more) = texts.split_first()?;
    let (name, content) = result_head(first)?;
    // What the client adds about the editor is not the tool's.
    let (content, details) = match content.rfind(DETAILS) {
        Some(at) => content.split_at(at),
        None => (content, ""),
    };
    let said = more.iter().position(|text| text.trim_start().starts_with(DETAILS)).unwrap_or(more.len());
    let content: Vec<&str> = std::iter::once(content.trim()).chain(more.iter().take(said).copied()).collect();
    let details = (!details.is_empty()).then_some(details);
    let rest = details.into_iter().chain(more.iter().skip(said).copied()).map(str::to_owned).collect();
    Some((name.to_owned(), content.join("\n").trim_start_matches('\n').to_owned(), rest))
}

/// The name of the tool in the first line of a result, and the text after `Result:`.
pub(super) fn result_head(text: &str) -> Option<(&str, &str)> {
    let head = text.strip_prefix('[')?;
    let name = head.get(..head.find([' ', ']'])?)?;
    let (_, content) = head.split_once("] Result:")?;
    tags::is_name(name).then_some((name, content))
}

/// Whether this parameter's value is made of elements.
pub(super) fn is_markup(property: &Value) -> bool {
    property.get("contentMediaType").and_then(Value::as_str) == Some(MARKUP)
}

/// A value as elements: one element for each key of an object, and the same element once for each item of a list.
pub(super) fn elements(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let elements = members.iter().flat_map(|(name, value)| {
                let all = value.as_array().map_or_else(|| vec![value], |list| list.iter().collect());
                all.into_iter().map(move |value| format!("<{name}>{}</{name}>", elements(value)))
            });
            elements.collect::<Vec<_>>().join("\n")
        }
        Value::Array(list) => list.iter().map(elements).collect::<Vec<_>>().join("\n"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value without the line break after its opening tag and the one before its closing tag.
pub(super) fn without_line_breaks(value: &str) -> &str {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value)
}

/// Where the chapter with this heading begins and ends: at the next heading of its rank, or at a line of `====`.
fn chapter(text: &str, heading: &str) -> Option<(usize, usize)> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = line.starts_with("# ") || line.starts_with("====");
        match start {
            None if line.trim_end() == heading => start = Some(at),
            Some(start) if end => return Some((start, at)),
            _ => {}
        }
        at += line.len();
    }
    start.map(|start| (start, text.len()))
}

fn read_tools(chapter: &str) -> Option<Tools> {
    let mut tools = Tools::default();
    for section in chapter.split("\n## ").skip(1) {
        let (name, section) = section.split_once('\n')?;
        if tags::is_name(name.trim()) {
            tools.add(read_tool(name.trim(), section));
        }
    }
    (!tools.is_empty()).then_some(tools)
}

/// The description up to the parameters; the parameters from the first example of a call, which shows their order, with what
/// the list says about each.
fn read_tool(name: &str, section: &str) -> Tool {
    let list = Listed::read(section);
    let example = section.split_once(&format!("<{name}>")).and_then(|(_, after)| after.split_once(&format!("</{name}>")));
    let example = example.and_then(|(body, _)| tags::split(body, None)).unwrap_or_default();
    let shown = example.iter().map(|(name, value)| (*name, value.trim()));
    let unshown =
        list.iter().filter(|listed| !example.iter().any(|(name, _)| *name == listed.name)).map(|listed| (listed.name, ""));

    let (mut properties, mut typed, mut required) = (Map::new(), Map::new(), Vec::new());
    for (name, shown) in shown.chain(unshown) {
        let listed = list.iter().find(|listed| listed.name == name);
        let text = listed.map_or(String::new(), |listed| listed.text.join("\n"));
        if listed.is_some_and(|listed| listed.required) {
            required.push(name);
        }
        let property = if shown.starts_with('<') {
            json!({"description": format!("{text}\nAs elements:\n{shown}").trim(), "contentMediaType": MARKUP})
        } else {
            json!({"description": text})
        };
        // What is shown neither as elements nor as JSON is text, whatever it looks like: `null` is a word in a file.
        let is_text = !shown.starts_with(['<', '{', '[']);
        typed.insert(name.to_owned(), if is_text { json!({"type": "string"}) } else { property.clone() });
        properties.insert(name.to_owned(), property);
    }
    let opening = format!("<{name}>");
    let description: Vec<&str> = section.lines().take_while(|line| !line.starts_with(&opening) && !is_heading(line)).collect();
    let description = description.join("\n");
    let description = description.trim().trim_start_matches('*').strip_prefix("Description:").unwrap_or(&description);
    let description = description.trim_matches(|c: char| c == '*' || c.is_whitespace());
    let schema =
        |properties: Map<String, Value>| json!({"type": "object", "properties": properties, "required": required}).to_string();
    Tool { fixing_schema: Some(schema(typed).into()), ..Tool::new(name, description, schema(properties)) }
}

/// Whether this line begins a part of a section that is not its description.
fn is_heading(line: &str) -> bool {
    let line = line.trim_start_matches('*');
    line.starts_with("Usage") || line.starts_with("Example") || line.trim_end_matches('*').trim_end().ends_with("Parameters:")
}

/// A parameter in the list of a section: `- name: (required) description`.
struct Listed<'a> {
    name: &'a str,
    required: bool,
    text: Vec<&'a str>,
}

impl Listed<'_> {
    fn read(section: &str) -> Vec<Listed<'_>> {
        let mut list: Vec<Listed<'_>> = Vec::new();
        let (mut inside, mut all_required) = (false, false);
        for line in section.lines() {
            let heading = line.trim_end().trim_matches('*');
            if heading.ends_with("Parameters:") {
                (inside, all_required) = (true, heading.starts_with("Required"));
            } else if !inside || line.starts_with('<') || heading.starts_with("Usage") || heading.starts_with("Example") {
                inside = false;
            } else if let Some((name, text)) = line.strip_prefix("- ").and_then(|line| line.split_once(':'))
                && tags::is_name(name)
            {
                let text = text.trim();
                let required = all_required || text.starts_with("(required)");
                let text = text.strip_prefix("(required)").or_else(|| text.strip_prefix("(optional)")).unwrap_or(text);
                list.push(Listed { name, required, text: vec![text.trim()] });
            } else if let (Some(last), false) = (list.last_mut(), line.trim().is_empty()) {
                last.text.push(line.trim_end());
            }
        }
        list
    }
}
