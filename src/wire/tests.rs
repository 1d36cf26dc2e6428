use eventsource_stream::EventStream;
use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

/// All frames of a stream that arrives in these pieces.
fn frames<'a>(framing: Framing, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = Frames::new(framing, LIMIT);
    let mut all = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(frame) = decoder.next().expect("within the limit") {
            all.push(String::from_utf8(frame.to_vec()).expect("text"));
        }
    }
    all.extend(decoder.finish().map(|frame| String::from_utf8(frame.to_vec()).expect("text")));
    all
}

/// The frames of a stream, the same whole, byte by byte, and at every two cuts.
fn at_every_cut(framing: Framing, stream: &[u8]) -> Vec<String> {
    let whole = frames(framing, [stream]);
    assert_eq!(frames(framing, stream.chunks(1)), whole, "byte by byte: {:?}", String::from_utf8_lossy(stream));
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(frames(framing, pieces), whole, "cut at {first} and {second}: {:?}", String::from_utf8_lossy(stream));
        }
    }
    whole
}

#[test]
fn events_are_found_in_every_spelling_of_a_stream() {
    let cases: &[(&str, &[&str])] = &[
        ("data: a\n\ndata: b\n\n", &["a", "b"]),
        ("data:a\r\n\r\ndata:  b\r\n\r\n", &["a", " b"]),
        ("data: a\r\rdata: b\r\r", &["a", "b"]),
        ("\u{feff}data: a\n\n", &["a"]),
        (": ping\n\ndata: a\n\n: ping\n\n", &["a"]),
        ("data: one\ndata: two\ndata\n\n", &["one\ntwo\n"]),
        ("event: message\nid: 7\nretry: 10\ndata: a\n\n", &["a"]),
        ("event: error\ndata: {\"m\":1}\n\ndata: a\n\n", &["{\"error\":{\"m\":1}}", "a"]),
        ("data: a\n\nerror: {\"m\":1}\n\n", &["a", "{\"error\":{\"m\":1}}"]),
        ("event: error\n\ndata: a\n\n", &["a"]),
        ("database: no\n\ndata: a\n\n", &["a"]),
        ("\n\n\ndata: a\n\n\n\n", &["a"]),
        ("data: {\"x\":1}\n\ndata: [DONE]\n\n", &["{\"x\":1}", "[DONE]"]),
        ("data: a\n\ndata: no blank line follows\n", &["a", "no blank line follows"]),
        ("data: a\n\ndata: cut off", &["a", "cut off"]),
        ("data: a\r\n\r\ndata: b\r", &["a", "b"]),
        ("data: ä€😀\n\n", &["ä€😀"]),
        ("", &[]),
        ("\u{feff}", &[]),
        (" \n ", &[]),
        // Not an event stream at all.
        ("{\"choices\": [\n  1\n]}\n", &["{\"choices\": [\n  1\n]}"]),
        ("\r\n [{\"error\": {}}]", &["[{\"error\": {}}]"]),
        ("<html>\n<p>a</p>\n\n</html>\n", &["<html>\n<p>a</p>\n\n</html>"]),
    ];
    for (stream, expected) in cases {
        assert_eq!(at_every_cut(Framing::Sse, stream.as_bytes()), *expected, "{stream:?}");
    }
}

#[test]
fn lines_are_found_whatever_ends_them() {
    let cases: &[(&str, &[&str])] = &[
        ("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]),
        ("{\"a\":1}\r\n\r\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]),
        ("\u{feff}{\"a\":1}\n", &["{\"a\":1}"]),
        ("{\"error\":\"whole body\"}", &["{\"error\":\"whole body\"}"]),
        ("\n \n", &[]),
    ];
    for (stream, expected) in cases {
        assert_eq!(at_every_cut(Framing::Lines, stream.as_bytes()), *expected, "{stream:?}");
    }
}

#[test]
fn what_we_write_is_read_back() {
    let mut out = BytesMut::new();
    write_comment(&mut out, "keep\nalive\r");
    write_sse(&mut out, |out| out.extend_from_slice(b"{\"a\":1}"));
    write_sse(&mut out, |out| out.extend_from_slice(b"[DONE]"));
    assert_eq!(&out[..], b": keep alive \n\ndata: {\"a\":1}\n\ndata: [DONE]\n\n");
    assert_eq!(at_every_cut(Framing::Sse, &out), ["{\"a\":1}", "[DONE]"]);
}

#[test]
fn a_frame_beyond_the_limit_is_an_error_however_it_comes() {
    let long = "x".repeat(100);
    let streams = [
        (Framing::Sse, format!("data: {long}\n\n")),
        (Framing::Sse, format!("data: {long}")),
        (Framing::Sse, format!(": {long}\n\n")),
        (Framing::Sse, format!("data: {0}\ndata: {0}\ndata: {0}\n\n", &long[..30])),
        (Framing::Sse, format!("{{{long}")),
        (Framing::Sse, " ".repeat(100)),
        (Framing::Lines, format!("{long}\n")),
    ];
    for (framing, stream) in streams {
        for size in [1, 7, stream.len()] {
            let mut decoder = Frames::new(framing, 64);
            let failed = stream.as_bytes().chunks(size).any(|piece| {
                decoder.push(piece);
                loop {
                    match decoder.next() {
                        Ok(Some(_)) => {}
                        Ok(None) => break false,
                        Err(error) => break error.code.as_deref() == Some("frame_too_large"),
                    }
                }
            });
            assert!(failed, "{framing:?} in pieces of {size}: {stream}");
        }
    }
    // Many small frames in one read are no large frame.
    let many = "data: small\n\n".repeat(50);
    let mut decoder = Frames::new(Framing::Sse, 64);
    decoder.push(many.as_bytes());
    let mut count = 0;
    while decoder.next().expect("small").is_some() {
        count += 1;
    }
    assert_eq!(count, 50);
}

#[test]
fn one_large_event_in_small_reads_is_linear() {
    // 8 MiB in reads of 1,400 bytes: with a rescan per read this would be 25 billion bytes.
    let mut stream = b"data: ".to_vec();
    stream.resize(8 << 20, b'x');
    stream.extend_from_slice(b"\n\n");
    let started = std::time::Instant::now();
    let mut decoder = Frames::new(Framing::Sse, 16 << 20);
    let mut found = None;
    for piece in stream.chunks(1400) {
        decoder.push(piece);
        found = decoder.next().expect("within the limit").map(<[u8]>::len).or(found);
    }
    assert_eq!(found, Some(stream.len() - 8));
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}

/// The data of all events as `eventsource-stream` reads them.
fn oracle(stream: &[u8]) -> Vec<String> {
    let bytes = futures_util::stream::iter(vec![Ok::<_, std::convert::Infallible>(stream.to_vec())]);
    EventStream::new(bytes).map(|event| event.expect("text").data).collect().now_or_never().expect("nothing to wait for")
}

proptest! {
    /// Streams of whole events, any line ending but a lone CR (which the oracle does not know at the end of a stream).
    #[test]
    fn agrees_with_the_oracle(
        lines in proptest::collection::vec(
            prop_oneof![
                4 => "data:[ ]?[a-zé€{}:\\[\\] ]{0,12}",
                1 => ":[a-z ]{0,5}",
                1 => "(event|id|retry|other): [a-z0-9]{0,4}",
                2 => Just(String::new()),
            ],
            0..20,
        ),
        crlf in any::<bool>(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        // Starting with a comment, because a body that starts with a brace is not an event stream.
        let mut stream = format!(":{end}");
        for line in lines.iter().map(String::as_str).chain(["", ""]) {
            stream.push_str(line);
            stream.push_str(end);
        }
        let stream = stream.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        at.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in at {
            pieces.push(&stream[from..cut]);
            from = cut;
        }
        pieces.push(&stream[from..]);
        // The oracle also yields events whose data is empty; nobody can use them.
        let expected: Vec<String> = oracle(stream).into_iter().filter(|data| !data.is_empty()).collect();
        prop_assert_eq!(frames(Framing::Sse, pieces), expected);
    }
}
