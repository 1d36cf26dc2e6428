//! Adds the tools of the registry to a request in mode `react`: they join the client's own, with their servers' descriptions,
//! if the model's context has room.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use crate::{
    adapter::{
        Adapter,
        quote::{self, Turns},
        render,
    },
    backend::each_schema,
    client::Incoming,
    config::{self, RESULT_BYTES_AT_LEAST},
    error::Error,
    event::{Note, Origin, ToolChoice},
    mcp::catalogue::{Catalogue, Offered},
    redact,
};

/// How a turn of mode `react` runs tools.
#[derive(Debug, Clone)]
pub struct React {
    /// Limits, and what the user sees.
    pub limits: config::React,
    /// The tools of the selected servers.
    pub catalogue: Arc<Catalogue>,
    /// Headers of the request that tool policies may read, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The registry's file, for messages that say what to change there.
    pub registry: PathBuf,
}

/// Maximum length of a server's own description in the prompt, in bytes.
const INSTRUCTIONS_BYTES: usize = 2000;

impl React {
    /// Adds the tools to the request. A name that the client uses stays the client's.
    ///
    /// # Errors
    /// The tools take more of the context (in tokens) than permitted.
    pub(super) fn offer(&mut self, incoming: &mut Incoming, adapter: &Adapter, context: u64) -> Result<(), Error> {
        // A result of as many bytes takes about a quarter of the context.
        let most = usize::try_from(context).unwrap_or(usize::MAX).max(RESULT_BYTES_AT_LEAST);
        self.limits.result_bytes = self.limits.result_bytes.min(most);
        for problem in &self.catalogue.problems {
            let text = format!("the tools of `{}`: {}", problem.server, problem.message);
            incoming.warnings.push(Note::Warning { code: "mcp_server", text });
        }
        // A request can name its own tools alone: where it names some, it excludes these.
        if incoming.tools.choice == ToolChoice::None || incoming.tools.is_limited {
            return Ok(());
        }
        self.check_cost(context)?;
        offer(incoming, &self.catalogue.tools, adapter.turns());
        let offers = |server: &str| {
            incoming.tools.iter().any(|tool| matches!(&tool.origin, Origin::Registry { server: own, .. } if own == server))
        };
        let about = self.catalogue.instructions.iter().filter(|(server, _)| offers(server));
        let about: Vec<String> = about
            .map(|(server, text)| {
                // Written by the server, and read in the voice of the system.
                let text = quote::defused(redact::head(text.trim(), INSTRUCTIONS_BYTES), adapter, &incoming.tools);
                format!("About the tools of {server}:\n{text}")
            })
            .collect();
        if !about.is_empty() {
            render::instruct(&mut incoming.request.messages, about.join("\n\n"));
        }
        Ok(())
    }

    fn check_cost(&self, context: u64) -> Result<(), Error> {
        let most = context.saturating_mul(self.limits.tools_percent) / 100;
        let mut servers: Vec<(&str, usize, u64)> = Vec::new();
        for tool in &self.catalogue.tools {
            let tokens = tool.tokens();
            match servers.iter_mut().find(|(name, ..)| *name == tool.service.server) {
                Some((_, tools, sum)) => (*tools, *sum) = (*tools + 1, *sum + tokens),
                None => servers.push((&tool.service.server, 1, tokens)),
            }
        }
        let sum: u64 = servers.iter().map(|(.., tokens)| tokens).sum();
        if sum <= most {
            return Ok(());
        }
        servers.sort_by_key(|(.., tokens)| std::cmp::Reverse(*tokens));
        let list = servers.iter().map(|(name, tools, tokens)| format!("{name}: {tools} tools, {tokens} tokens"));
        Err(Error::client(format!(
            "the tools of the registry take about {sum} tokens, more than {} percent of the model's context of {context} \
             (`react.tools_percent`): {}. Select servers (`react.servers`), or tools with an `allow` list in {}",
            self.limits.tools_percent,
            list.collect::<Vec<_>>().join("; "),
            self.registry.display()
        ))
        .with_code("context_length_exceeded"))
    }
}

/// Offers these tools of the registry. What their servers say about them is data, in which control tokens are broken. A tool that
/// has one where the model has to write it back (in a name, in a value) is left out.
pub fn offer(incoming: &mut Incoming, tools: &[Offered], turns: &Turns) {
    for tool in tools {
        let mut tool = tool.to_tool();
        tool.description = turns.broken(&tool.description).into_owned();
        let is_clean = |text: &str| turns.broken(text) == text;
        if !is_clean(&tool.schema)
            && let Ok(mut schema) = serde_json::from_str(&tool.schema)
        {
            break_prose(&mut schema, turns);
            tool.schema = schema.to_string().into();
        }
        if is_clean(&tool.name) && is_clean(&tool.schema) {
            incoming.tools.add(tool);
        } else {
            let text = format!(
                "the tool {} is left out: its name or its schema holds control tokens of this model",
                redact::line(&tool.name)
            );
            incoming.warnings.push(Note::Warning { code: "mcp_server", text });
        }
    }
}

fn break_prose(schema: &mut Value, turns: &Turns) {
    each_schema(schema, &mut |object| {
        for (key, value) in object {
            if let ("description" | "title" | "$comment", Value::String(text)) = (key.as_str(), value) {
                *text = turns.broken(text).into_owned();
            }
        }
    });
}
