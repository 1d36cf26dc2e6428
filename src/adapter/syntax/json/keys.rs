//! The keys of calls in JSON, of what is around calls, and of what is no call.

pub(super) use crate::fix::NAME_KEYS;

/// Keys that hold the arguments, where the adapter has no `argument_keys`.
pub(super) const ARGUMENT_KEYS: [&str; 10] =
    ["arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs", "toolInput", "Arguments"];
/// Keys of what calls may be wrapped in.
pub(super) const WRAPPERS: [&str; 7] = ["tool_calls", "tool_call", "function_call", BUNDLE, "function_calls", "calls", "toolUse"];
/// The parameter of `multi_tool_use.parallel`, which some models believe to be a tool: a list of calls.
pub(super) const BUNDLE: &str = "tool_uses";
/// Keys that a call may begin with besides those of name and arguments.
pub(super) const OTHER_KEYS: [&str; 6] = ["type", "id", "call_id", "tool_call_id", "index", "jsonrpc"];
/// The method of a request of the Model Context Protocol whose parameters are a call.
pub(super) const CALLS_A_TOOL: &str = "tools/call";
/// Keys of what a model thinks before its calls.
pub(super) const THOUGHTS: [&str; 3] = ["thought", "thoughts", "reasoning"];
/// What a whole message of the model begins with, around its calls.
pub(super) const MESSAGE: [&str; 2] = ["role", WHOLE_MESSAGE];
/// The only key of an object around a whole message.
pub(super) const WHOLE_MESSAGE: &str = "message";
/// Keys of the record of a call that was made, or that was judged.
pub(super) const RECORD: [&str; 29] = [
    "result", "results", "output", "status", "response", "observation", "error", "exit_code", "stdout", "stderr", "success",
    "executed", "started_at", "call_count", "latency_ms", "duration_ms", "allowed", "approved", "valid", "denied", "blocked",
    "skip", "skipped", "execute", "timestamp", "duration", "expected", "level", "decision",
];
/// Keys of the description of a tool.
pub(super) const DESCRIPTION: [&str; 8] =
    ["description", "summary", "version", "enabled", "installed", "inputSchema", "input_schema", "annotations"];
/// Keys that hold the tool's name only where their value is one: they are common parameters too.
pub(super) const UNSURE_NAMES: [&str; 6] = ["command", "call", "method", "func", "tool_call", "function_call"];
