//! The position of a request in a trace: W3C Trace Context, level 1 (<https://www.w3.org/TR/trace-context/>).

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// A span and the trace it belongs to; ids in hexadecimal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// 32 digits.
    pub(super) trace: String,
    /// 16 digits.
    pub(super) span: String,
    /// The id of the caller's span.
    pub(super) parent: Option<String>,
}

/// A `traceparent` that is valid.
struct Parent<'a> {
    trace: &'a str,
    span: &'a str,
    sampled: bool,
}

impl Context {
    /// A new span in the trace that `headers` name, or in a new one. From now on they name this span. `None`, and the headers
    /// stay: the caller does not sample its trace.
    pub(super) fn enter(headers: &mut HeaderMap) -> Option<Context> {
        let mut given = headers.get_all(PARENT).iter();
        let parent = match (given.next(), given.next()) {
            (Some(only), None) => only.to_str().ok().and_then(Parent::read),
            _ => None,
        };
        let span = span_id();
        let context = match parent {
            Some(Parent { sampled: false, .. }) => return None,
            Some(Parent { trace, span: parent, .. }) => {
                Context { trace: trace.to_owned(), span, parent: Some(parent.to_owned()) }
            }
            None => Context { trace: Uuid::new_v4().simple().to_string(), span, parent: None },
        };
        if context.parent.is_none() {
            // It belongs to a trace that cannot be read.
            headers.remove(STATE);
        }
        if let Ok(value) = HeaderValue::from_str(&format!("00-{}-{}-01", context.trace, context.span)) {
            headers.insert(PARENT, value);
        }
        Some(context)
    }
}

/// A new id of a span.
pub(super) fn span_id() -> String {
    // The second half of a random UUID: its first two bits are fixed, so it is never zero.
    Uuid::new_v4().simple().to_string().split_off(16)
}

impl Parent<'_> {
    fn read(text: &str) -> Option<Parent<'_>> {
        let mut fields = text.trim().split('-');
        let [version, trace, span, flags] = [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        let is_id = |id: &str, digits| hexadecimal(id, digits) && id.bytes().any(|digit| digit != b'0');
        // Later versions may have more fields.
        let fits = hexadecimal(version, 2) && version != "ff" && (version != "00" || fields.next().is_none());
        let valid = fits && is_id(trace, 32) && is_id(span, 16) && hexadecimal(flags, 2);
        let flags = u8::from_str_radix(flags, 16).ok().filter(|_| valid)?;
        Some(Parent { trace, span, sampled: flags & 1 == 1 })
    }
}

fn hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn headers(parents: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(STATE, HeaderValue::from_static("vendor=1"))]);
        parents.iter().for_each(|parent| _ = headers.append(PARENT, parent.parse().unwrap()));
        headers
    }

    #[test]
    fn a_trace_goes_on_with_a_span_of_our_own() {
        for parent in [format!("00-{TRACE}-00f067aa0ba902b7-01"), format!("01-{TRACE}-00f067aa0ba902b7-03-more")] {
            let mut headers = headers(&[&parent]);
            let context = Context::enter(&mut headers).unwrap();
            assert_eq!((context.trace.as_str(), context.parent.as_deref()), (TRACE, Some("00f067aa0ba902b7")));
            assert_eq!(headers[PARENT], format!("00-{TRACE}-{}-01", context.span));
            assert!(headers.contains_key(STATE) && context.span.len() == 16 && context.span != "00f067aa0ba902b7");
        }
    }

    #[test]
    fn what_is_not_sampled_passes_as_it_is() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-00");
        let mut headers = headers(&[&parent]);
        assert_eq!(Context::enter(&mut headers), None);
        assert_eq!(headers[PARENT], parent);
    }

    #[test]
    fn a_parent_that_cannot_be_read_begins_a_new_trace() {
        let valid = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let wrong = [
            String::new(),
            "x".into(),
            valid.to_uppercase(),
            valid.replace("00-4", "ff-4"),
            format!("{valid}-more"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}-00f067aa0ba902b7-1"),
            format!("00-{TRACE}-00f067aa0ba902b7"),
        ];
        for parents in wrong.iter().map(|wrong| vec![wrong.as_str()]).chain([vec![&*valid, &*valid], vec![]]) {
            let mut headers = headers(&parents);
            let context = Context::enter(&mut headers).unwrap();
            assert!(context.parent.is_none() && context.trace != TRACE && context.trace.len() == 32, "{parents:?}");
            assert_eq!(headers.get_all(PARENT).iter().count(), 1);
            assert!(!headers.contains_key(STATE), "{parents:?}");
        }
    }
}
