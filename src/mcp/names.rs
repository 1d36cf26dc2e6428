//! Unambiguous names for the tools of many servers: `server__tool`, `builtin.server__tool`, `server.tool`, and a spelling of
//! each that OpenAI's clients allow. Also finds the one tool that a model's spelling means.

use std::collections::HashMap;

use super::response::ServiceInfo;
use crate::{
    fix::without_random_prefix,
    openai::{NAME_BYTES, distinct},
};

#[cfg(test)]
mod tests;

/// The wire names of these tools, in their order: their full names spelled in `[A-Za-z0-9_-]{1,64}`. Two tools never share one,
/// and the order of the tools does not matter.
pub fn wire_names(tools: &[ServiceInfo]) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|tool| plain(&tool.full_name())).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *count.entry(name).or_default() += 1;
    }
    let unique = |name: &str| name.len() <= NAME_BYTES && count.get(name) == Some(&1);
    tools.iter().zip(&plain).map(|(tool, plain)| if unique(plain) { plain.clone() } else { hashed(tool, plain) }).collect()
}

/// An offered tool and its wire name.
type Named<'t> = (&'t ServiceInfo, &'t str);

/// The tool that `written` means; `None` also for an ambiguous bare name, one that several servers offer. `context`: the tools of
/// the last results, the latest first, which decide about such a name.
pub fn resolve<'t>(written: &str, offered: &[Named<'t>], context: &[ServiceInfo]) -> Option<&'t ServiceInfo> {
    if let Some(found) = exact(written, offered).or_else(|| qualified(written, offered)) {
        return Some(found);
    }
    // A command of another system (`tauri:open`).
    if written.split_once(':').is_some_and(|(prefix, _)| prefix.chars().all(|c| c.is_ascii_alphanumeric())) {
        return None;
    }
    if offered.iter().any(|(service, _)| service.tool == written) {
        return bare(written, offered, context);
    }
    let rest = without_random_prefix(written)?;
    // A prefix is only believed where it leads to one tool.
    exact(rest, offered).or_else(|| qualified(rest, offered)).or_else(|| bare(rest, offered, &[]))
}

fn exact<'t>(written: &str, offered: &[Named<'t>]) -> Option<&'t ServiceInfo> {
    offered.iter().find(|(service, wire)| *wire == written || service.full_name() == written).map(|(service, _)| *service)
}

/// `server__tool`, `builtin.server__tool`, `server.tool`: split at the first separator after the name of a server that is
/// known, so that a server's name may contain separators.
fn qualified<'t>(written: &str, offered: &[Named<'t>]) -> Option<&'t ServiceInfo> {
    let written = written.strip_prefix("builtin.").unwrap_or(written);
    let fits = |service: &ServiceInfo| {
        let rest = written.strip_prefix(service.server.as_str())?;
        let tool = rest.strip_prefix("__").or_else(|| rest.strip_prefix('.'))?;
        (tool == service.tool).then_some(service.server.len())
    };
    let found = offered.iter().filter_map(|(service, _)| Some((fits(service)?, service)));
    found.max_by_key(|(length, _)| *length).map(|(_, service)| *service)
}

fn bare<'t>(written: &str, offered: &[Named<'t>], context: &[ServiceInfo]) -> Option<&'t ServiceInfo> {
    let named: Vec<&ServiceInfo> =
        offered.iter().map(|(service, _)| *service).filter(|service| service.tool == written).collect();
    let of_last =
        |last: &ServiceInfo| named.iter().find(|service| service.server == last.server && service.external == last.external);
    match (context.iter().find_map(of_last), named.as_slice()) {
        (Some(service), _) | (None, [service]) => Some(service),
        (None, []) => None,
        (None, _) => {
            tracing::warn!(name = written, "several servers offer this tool and nothing says which one is meant");
            None
        }
    }
}

fn plain(full: &str) -> String {
    full.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn hashed(tool: &ServiceInfo, plain: &str) -> String {
    // Server and tool apart: `a` + `b__c` is not `a__b` + `c`.
    distinct(plain, &format!("{}\n{}\n{}", tool.backend(), tool.server, tool.tool))
}
