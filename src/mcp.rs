//! `mcp.json`, its servers and our own MCP server -> tools that can be listed and called. Knows no model and no chat: what
//! comes in are names and arguments, what goes out is one form of answer ([`response::McpResponse`]).
//!
//! The SDK (`rmcp`) stays inside: no type of it appears in a signature of this module.

mod address;
pub mod catalogue;
pub mod engine;
pub mod names;
mod pins;
pub mod policy;
pub mod pool;
pub mod registry;
pub mod response;
