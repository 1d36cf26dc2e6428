//! What random texts are made of, and the tools that are offered for them: one list for unit tests and
//! integration tests.

use std::sync::{Arc, OnceLock};

use toolglot::event::{Tool, ToolChoice, Tools};

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
    // Alone it would be the name of a call that is meant to be none.
    ": [null, 1]",
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
    "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"a } \\\" ] b\"}}",
    "[{\"name\": \"get_weather\", \"arguments\": {}}, ",
    "{\"get_weather\": {\"city\": \"Oslo\"}}",
    "{\"city\": \"say \"hi\" now\"}",
    "{'name': 'get_weather', 'arguments': {'city': True}}",
    "<city>Oslo</city>",
    "functions.get_weather:0",
    "~~~",
    "Some prose. ",
    "Grüße 🙂 ",
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<invoke name=\"get_weather\">",
    "</invoke>",
    "<parameter name='days'>",
    "]<]minimax[>[",
    "<item>",
    "\\n",
    "<![CDATA[",
    "]]>",
    "/>",
    LONG_NAME,
    LONG_GAP,
];

/// Longer than any name, id, language or header may be.
const LONG_NAME: &str = "a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_a_name_of_sixty_four_bytes_that_nobody_offers_but_that_looks_so_x";
/// More whitespace than may be between markers.
const LONG_GAP: &str = "                                                                                                                                                                                                                                                                                ";

/// The tools that are offered.
pub(crate) fn tools() -> Arc<Tools> {
    static TOOLS: OnceLock<Arc<Tools>> = OnceLock::new();
    Arc::clone(TOOLS.get_or_init(|| Arc::new(offered())))
}

fn offered() -> Tools {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}"#;
    let time = r#"{"type":"object","properties":{}}"#;
    Tools::new([Tool::new("get_weather", "", schema), Tool::new("get_time", "", time)], ToolChoice::Auto)
}
