//! Estimates of tokens from bytes, before any tokenizer has seen the text. Which ratio is right depends on what a wrong estimate
//! would do.

/// What stands around name, description and schema of a tool in a prompt, in bytes.
const FRAME: usize = 60;

/// A usual ratio: for what people read, and for limits that need not be exact. Four bytes per token.
pub fn usual(bytes: u64) -> u64 {
    bytes / 4
}

/// The estimate of a whole prompt: 3.6 bytes per token, because it has much markup and JSON.
pub fn of_prompt(bytes: u64) -> u64 {
    bytes * 10 / 36
}

/// An upper bound, where too little room would cut the conversation: three bytes per token.
pub fn at_most(bytes: u64) -> u64 {
    bytes / 3
}

/// A lower bound, where a conversation that would fit must not be refused: eight bytes per token, which not even indented code
/// reaches.
pub fn at_least(bytes: u64) -> u64 {
    bytes / 8
}

/// The bytes of a tool in a prompt.
pub fn tool_bytes(name: &str, description: &str, schema: &str) -> u64 {
    (name.len() + description.len() + schema.len() + FRAME) as u64
}
