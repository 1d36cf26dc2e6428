//! Headers whose special tokens a backend stripped: `analysisThe user ..assistantfinalHere it is.`

use super::{
    super::Seen,
    header::{ASSISTANT, Header, Kind},
};
use crate::adapter::Recipient;

/// The headers that remain, with and without their beginning: `assistantfinal`, `final`.
pub(crate) fn stripped(data: &Recipient) -> impl Iterator<Item = [String; 2]> {
    let channels = data.channel.iter().flat_map(|_| data.reasoning.iter().chain(&data.content));
    channels.filter(|channel| *channel != ASSISTANT).map(|channel| [format!("{ASSISTANT}{channel}"), channel.clone()])
}

/// Reads such a header. The first one in an answer also lacks its beginning: `analysisThe user ..`.
pub(super) fn stripped_header(text: &str, data: &Recipient, first: bool, end: bool) -> Seen<Header> {
    let mut maybe = false;
    for [header, channel] in stripped(data) {
        let thinks = data.reasoning.contains(&channel);
        for written in [&header, &channel].into_iter().take(1 + usize::from(first && thinks)) {
            let Some(rest) = text.strip_prefix(written.as_str()) else {
                maybe |= written.starts_with(text);
                continue;
            };
            // A call has its own form.
            let calls = data.to.iter().any(|to| !to.is_empty() && rest.trim_start().starts_with(to.as_str()));
            let may_call = data.to.iter().any(|to| to.starts_with(rest.trim_start()));
            let glued = !first || rest.starts_with(|c: char| c.is_uppercase() || (c.is_alphabetic() && !c.is_ascii()));
            maybe |= may_call && (!first || rest.is_empty());
            if glued && !calls && (end || !may_call) {
                let kind = if thinks { Kind::Reasoning } else { Kind::Content };
                return Seen::Yes(Header { length: written.len(), kind });
            }
        }
    }
    if maybe && !end { Seen::Maybe } else { Seen::No }
}
