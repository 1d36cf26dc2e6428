//! The older form of tools in OpenAI's chat API: `functions`, `function_call` and messages of the role `function`. It is read as
//! tools, and the answer is written in it: one call, in `function_call`.

use serde_json::{Value, json};

use crate::{
    client::front::conversation::name_calls,
    error::Error,
    openai::{ChatRequest, ToolCall},
};

/// Turns the older form in a request into tools. Returns whether the client reads its answer in that form.
///
/// # Errors
/// 400 if `functions` is no list.
pub fn read(chat: &mut ChatRequest) -> Result<bool, Error> {
    read_history(chat);
    let (functions, choice) = (chat.rest.shift_remove("functions"), chat.rest.shift_remove("function_call"));
    let functions = match functions {
        None | Some(Value::Null) => return Ok(false),
        Some(Value::Array(functions)) => functions,
        Some(_) => return Err(Error::client("`functions` must be an array")),
    };
    if functions.is_empty() || !chat.tools.is_empty() {
        return Ok(false);
    }
    chat.tools = functions.into_iter().map(|function| json!({"type": "function", "function": function})).collect();
    chat.tool_choice = choice.filter(|choice| !choice.is_null());
    // There is room for one call.
    chat.rest.insert("parallel_tool_calls".into(), json!(false));
    Ok(true)
}

/// The calls and results of the history, connected by ids.
fn read_history(chat: &mut ChatRequest) {
    let mut any = false;
    for message in &mut chat.messages {
        if message.role == "function" {
            (message.role, any) = ("tool".into(), true);
        }
        let Some(call) = message.rest.shift_remove("function_call") else { continue };
        if call.is_object() && message.tool_calls.is_empty() {
            message.tool_calls.push(ToolCall::from_value(&json!({"function": call})));
            any = true;
        }
    }
    if any {
        name_calls(chat);
    }
}
