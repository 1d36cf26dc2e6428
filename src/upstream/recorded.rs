//! An answer from memory: status, headers, and reads with the pauses between them. The `replay` backend serves fixtures with it,
//! and tests use it instead of a backend.

use std::{collections::VecDeque, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use super::{Body, Response, Source};
use crate::error::Error;

/// A recorded answer.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The bytes of each read, and the pause before it.
    pub reads: VecDeque<(Duration, Bytes)>,
}

impl Recording {
    pub(super) fn into_response(self) -> Response {
        Response { status: self.status, headers: self.headers.clone(), body: Body(Source::Recorded(self)) }
    }

    /// See [`super::Body::read`].
    pub(super) async fn read(&mut self, into: &mut BytesMut) -> Result<usize, Error> {
        while let Some((pause, bytes)) = self.reads.front_mut() {
            if !pause.is_zero() {
                tokio::time::sleep(*pause).await;
                *pause = Duration::ZERO; // a read that is given up and repeated does not wait again
            }
            let bytes = std::mem::take(bytes);
            self.reads.pop_front();
            if !bytes.is_empty() {
                into.extend_from_slice(&bytes);
                return Ok(bytes.len());
            }
        }
        Ok(0)
    }
}
