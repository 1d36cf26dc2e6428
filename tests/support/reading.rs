//! What holds for every text, however it was cut, and every adapter: reading it gives the same events, no index has a hole, a
//! delivered call is an object, and what is neither call nor refused call comes out again byte for byte (whitespace beside a
//! removed call aside). One property for the proptest twin in `tests/it` and the fuzz target.

use std::sync::Arc;

use toolglot::{
    adapter::{Adapter, Scanner, scanner::Options},
    event::{Channel, Event, FinishReason, Sink, Tool, ToolChoice, Tools},
    fix::{Fixer, Schemas},
};

/// What texts are made of beside the adapter's own markers.
pub(crate) const PIECES: &[&str] = &[
    "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}",
    "{\"name\": \"",
    "get_weather",
    "\"",
    "\", \"arguments\": ",
    "{",
    "}",
    "[",
    "]",
    ":",
    "{\"city\": \"Oslo\"}",
    "```json\n",
    "```\n",
    "```",
    "`",
    "~~~\n",
    "\n",
    "\n\n",
    " ",
    "Hello",
    "the file",
    "<",
    ">",
    "</",
    "<get_weather>",
    "</get_weather>",
    "<city>",
    "</city>",
    "city",
    "=",
    "(",
    ")",
    "get_weather(city=\"Oslo\")",
    ";",
    ",",
    "é",
    "東",
    "🌍",
    "\\",
    "'",
    "\\\"",
    "true",
    "3",
    "functions.",
    ":0",
    "<parameter=city>",
    "</parameter>",
    "<function=get_weather>",
    "</function>",
    " name=\"",
    "call:",
    "json",
    "\r\n",
    "````json\n",
    "}\n```\n",
    "]}}\n```",
    "get_weather\r\n{\"city\": \"Oslo\"}",
    "<response>",
    "</response>",
    "```xml\n",
    "&lt;function=get_weather&gt;",
    "print(",
    "``",
    LONG_NAME,
    LONG_GAP,
];

/// Longer than any name, id, language or header may be.
const LONG_NAME: &str = "a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_x";
/// More whitespace than may be between markers.
const LONG_GAP: &str = "                                                                                                                                                                                                                                                                                ";

/// The tools that are offered.
pub(crate) fn tools() -> Tools {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}"#;
    let time = r#"{"type":"object","properties":{}}"#;
    Tools::new([Tool::new("get_weather", "", schema), Tool::new("get_time", "", time)], ToolChoice::Auto)
}

/// What came out, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Text(String),
    Reasoning(String),
    Call { name: String, id: Option<String>, arguments: String },
    Refused,
}

#[derive(Debug, Default)]
struct Seen {
    items: Vec<Item>,
    calls: u32,
    wrong: Option<String>,
}

impl Sink for Seen {
    fn event(&mut self, event: Event<'_>) {
        match (event, self.items.last_mut()) {
            (Event::Text(text), Some(Item::Text(before))) => before.push_str(text),
            (Event::Reasoning(text), Some(Item::Reasoning(before))) => before.push_str(text),
            (Event::Text(text), _) => self.items.push(Item::Text(text.to_owned())),
            (Event::Reasoning(text), _) => self.items.push(Item::Reasoning(text.to_owned())),
            (Event::CallStart { index, id, name }, _) => {
                if index != self.calls {
                    self.wrong = Some(format!("call {} has the index {index}", self.calls));
                }
                self.calls += 1;
                let (name, id) = (name.to_owned(), id.map(str::to_owned));
                self.items.push(Item::Call { name, id, arguments: String::new() });
            }
            (Event::CallArguments { json, .. }, Some(Item::Call { arguments, .. })) => arguments.push_str(json),
            (Event::CallEnd { .. }, Some(Item::Call { arguments, name, .. })) => {
                if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_err() {
                    self.wrong = Some(format!("the arguments of {name} are no object: {arguments}"));
                }
            }
            (Event::Refused { .. }, _) => self.items.push(Item::Refused),
            (Event::CallArguments { .. } | Event::CallEnd { .. }, _) => self.wrong = Some("a call has no beginning".to_owned()),
            (Event::Note(_) | Event::Finish { .. }, _) => {}
        }
    }
}

/// Checks one text, cut at these offsets (those that are none of its boundaries are left out).
pub(crate) fn check(
    adapter: &Arc<Adapter>,
    schemas: &Arc<Schemas>,
    options: &Options,
    reason: FinishReason,
    text: &str,
    cuts: &[usize],
) -> Result<(), String> {
    let mut points: Vec<usize> = cuts.iter().copied().filter(|&at| text.is_char_boundary(at)).chain([0, text.len()]).collect();
    points.sort_unstable();
    let pieces = points.windows(2).filter_map(|pair| text.get(pair[0]..pair[1]));
    let whole = read(adapter, schemas, options, reason, [text])?;
    let parts = read(adapter, schemas, options, reason, pieces)?;
    if whole != parts {
        return Err(format!("whole: {whole:?}\n in pieces: {parts:?}"));
    }
    if options.framing { Ok(()) } else { nothing_is_lost(text, &whole) }
}

fn read<'t>(
    adapter: &Arc<Adapter>,
    schemas: &Arc<Schemas>,
    options: &Options,
    reason: FinishReason,
    pieces: impl IntoIterator<Item = &'t str>,
) -> Result<Vec<Item>, String> {
    let tools = Arc::new(tools());
    let mut seen = Seen::default();
    let mut fixer = Fixer::new(Arc::clone(&tools), Arc::clone(schemas));
    let mut scanner = Scanner::new(Arc::clone(adapter), tools, Arc::clone(schemas), options.clone());
    let mut stage = |event: Event<'_>| fixer.event(event, &mut seen);
    for piece in pieces {
        scanner.push(Channel::Content, piece, &mut stage);
    }
    scanner.finish(reason, &mut stage);
    stage(Event::Finish { reason, usage: None });
    match seen.wrong {
        Some(wrong) => Err(wrong),
        None => Ok(seen.items),
    }
}

/// Without framing, text before the first call is the beginning of the answer, text after the last one its end, and text
/// between calls is between them.
fn nothing_is_lost(text: &str, items: &[Item]) -> Result<(), String> {
    let lost = |what: &str| Err(format!("{what} is not as it was written; seen: {items:?}"));
    let mut rest = text;
    for (index, item) in items.iter().enumerate() {
        let Item::Text(said) = item else { continue };
        let (first, last) = (index == 0, index + 1 == items.len());
        rest = match (first, last) {
            (true, true) if said != text => return lost("the text"),
            (true, _) => match rest.strip_prefix(said.as_str()) {
                Some(rest) => rest,
                None => return lost("the text before the first call"),
            },
            (false, true) if rest.trim_end().ends_with(said.trim_end()) => "",
            (false, true) => return lost("the text behind the last call"),
            (false, false) => match rest.find(said.as_str()) {
                Some(at) => &rest[at + said.len()..],
                None => return lost("the text between two calls"),
            },
        };
    }
    if items.is_empty() && !text.is_empty() { lost("the text") } else { Ok(()) }
}
