//! Headers as text.

use http::{HeaderMap, header::AsHeaderName};

/// The first value of a header. `None`: there is none, or it is not printable ASCII.
pub(super) fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
