//! The name of this process in `Via`, and what a request that is sent on says about its way.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The headers of W3C Trace Context.
const TRACE_CONTEXT: [HeaderName; 2] = [HeaderName::from_static("traceparent"), HeaderName::from_static("tracestate")];

/// The name of this process in `Via`, which tells that a request has come back. A new one per start.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    name: String,
}

impl Instance {
    /// A name that no other start has.
    pub(super) fn new() -> Instance {
        Instance { name: format!("toolglot-{}", uuid::Uuid::new_v4().simple()) }
    }

    /// Whether a request with these headers has passed through this process already.
    pub(super) fn made(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|hop| hop.split_whitespace().nth(1) == Some(self.name.as_str()))
    }

    /// The headers that say, in what we send because of a request with these headers, which way it came and to which trace it
    /// belongs (`traceparent`, `tracestate`: <https://www.w3.org/TR/trace-context/>).
    pub(super) fn onward(&self, headers: &HeaderMap) -> HeaderMap {
        let traced = TRACE_CONTEXT.into_iter().filter_map(|name| headers.get(&name).cloned().map(|value| (name, value)));
        traced.chain(self.via(headers).map(|via| (header::VIA, via))).collect()
    }

    fn via(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let before = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<&str> = before.collect();
        let own = format!("1.1 {}", self.name);
        HeaderValue::from_str(&if hops.is_empty() { own } else { format!("{}, {own}", hops.join(", ")) }).ok()
    }
}
