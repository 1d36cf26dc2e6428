//! Keys of calls in JSON, of their wrappers, and of objects that are not calls.

/// Keys that hold the tool's name in a call, unless the adapter sets `name_keys`. The first one present counts.
pub(super) const NAME_KEYS: [&str; 10] =
    ["name", "tool", "function", "tool_name", "function_name", "action", "recipient_name", "toolName", "functionName", "Name"];
/// Keys that hold the id of a call. The first one present counts.
pub(in crate::adapter::syntax) const IDS: [&str; 3] = ["id", "tool_call_id", "call_id"];

/// Keys of the arguments, if the adapter has no `argument_keys`.
pub(super) const ARGUMENT_KEYS: [&str; 12] = [
    "arguments", "parameters", "args", "input", "action_input", "tool_input", "tool_args", "params", "kwargs", "toolInput",
    "toolArgs", "Arguments",
];
/// Keys of wrappers around calls.
pub(super) const WRAPPERS: [&str; 8] =
    ["tool_calls", "tool_call", "function_call", BUNDLE, "function_calls", "calls", "toolUse", "tool_code"];
/// The parameter of `multi_tool_use.parallel`, a list of calls. Some models believe that it is a tool.
pub(super) const BUNDLE: &str = "tool_uses";
/// Keys that a call may begin with, besides those of name and arguments.
pub(super) const OTHER_KEYS: [&str; 6] = ["type", "id", "call_id", "tool_call_id", "index", "jsonrpc"];
/// Keys of the reasoning before a call.
const THOUGHTS: [&str; 3] = ["thought", "thoughts", "reasoning"];
/// Keys that a message begins with.
pub(super) const MESSAGE: [&str; 3] = ["role", "content", "text"];
/// Keys of the name that are also common parameters. They count only if the value is the name of an offered tool.
pub(super) const UNSURE_NAMES: [&str; 6] = ["command", "call", "method", "func", "tool_call", "function_call"];

/// Whether a key may stand beside the name and the arguments of a call without being a parameter.
pub(super) fn is_usual(key: &str) -> bool {
    OTHER_KEYS.contains(&key) || THOUGHTS.contains(&key)
}
