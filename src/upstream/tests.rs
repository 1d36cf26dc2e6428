use std::time::Instant;

use self::fake::{Fake, Seen, Step, chunk, end, head, whole};
use super::*;

pub(crate) mod fake;

fn client() -> Client {
    Client::new(Timeouts { connect: Duration::from_secs(2), idle: Duration::from_millis(400) }).expect("a client")
}

fn post(url: &str) -> Outgoing {
    let body = Bytes::from_static(b"{}");
    Outgoing::Http(HttpRequest { method: Method::POST, url: format!("{url}/x"), headers: HeaderMap::new(), body })
}

/// All bytes of the body, or how it failed.
async fn all(mut body: Box<dyn Body>) -> (Vec<u8>, Option<Error>) {
    let mut bytes = BytesMut::new();
    loop {
        match body.read(&mut bytes).await {
            Ok(0) => return (bytes.to_vec(), None),
            Ok(_) => {}
            Err(error) => return (bytes.to_vec(), Some(error)),
        }
    }
}

#[tokio::test]
async fn a_stream_arrives_as_it_is_written() {
    let fake = Fake::start(|_| vec![head(), chunk("one"), Step::Pause(Duration::from_millis(100)), chunk("two"), end()]);
    let mut response = client().send(post(&fake.url)).await.expect("an answer");
    assert_eq!(
        (response.status.as_u16(), &response.headers["content-type"]),
        (200, &"text/event-stream".parse().expect("a value"))
    );
    let mut bytes = BytesMut::new();
    assert_eq!(response.body.read(&mut bytes).await, Ok(3), "the first piece does not wait for the second");
    assert_eq!(all(response.body).await, (b"two".to_vec(), None));
    let Ok(Seen::Request(request)) = fake.seen.recv() else { panic!("a request") };
    assert!(request.starts_with("POST /x HTTP/1.1\r\n") && request.contains("content-length: 2"), "{request}");
}

#[tokio::test]
async fn what_has_arrived_is_one_batch() {
    let many: Vec<Step> = (0..50).map(|_| chunk("data: x\n\n")).collect();
    let steps = [
        vec![head()],
        vec![Step::Send(
            many.iter().flat_map(|step| if let Step::Send(bytes) = step { bytes.clone() } else { vec![] }).collect(),
        )],
        vec![end()],
    ];
    let fake = Fake::start(move |_| steps.concat());
    let mut response = client().send(post(&fake.url)).await.expect("an answer");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut bytes = BytesMut::new();
    assert_eq!(response.body.read(&mut bytes).await, Ok(450));
}

#[tokio::test]
async fn a_read_that_is_given_up_loses_nothing() {
    let fake = Fake::start(|_| vec![head(), Step::Pause(Duration::from_millis(100)), chunk("late"), end()]);
    let mut response = client().send(post(&fake.url)).await.expect("an answer");
    let mut bytes = BytesMut::new();
    for _ in 0..5 {
        let _ = tokio::time::timeout(Duration::from_millis(10), response.body.read(&mut bytes)).await;
    }
    assert_eq!(bytes, "");
    assert_eq!(all(response.body).await, (b"late".to_vec(), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_body_or_the_wait_drops_the_connection() {
    let fake = Fake::start(|_| vec![head(), Step::SendForEver(b"1\r\nx\r\n".to_vec())]);
    let response = client().send(post(&fake.url)).await.expect("an answer");
    assert!(matches!(fake.seen.recv(), Ok(Seen::Request(_))));
    drop(response);
    assert_eq!(fake.seen.recv_timeout(Duration::from_secs(5)), Ok(Seen::Gone));

    // The backend has not answered yet: it reads a prompt. What it writes then meets nobody.
    let fake = Fake::start(|_| {
        vec![Step::Pause(Duration::from_millis(250)), Step::SendForEver(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())]
    });
    let client = client();
    let waited = tokio::time::timeout(Duration::from_millis(150), client.send(post(&fake.url))).await;
    assert!(waited.is_err());
    assert!(matches!(fake.seen.recv_timeout(Duration::from_secs(5)), Ok(Seen::Request(_))));
    assert_eq!(fake.seen.recv_timeout(Duration::from_secs(5)), Ok(Seen::Gone));
}

#[tokio::test]
async fn faults_say_what_happened() {
    let code = |error: &Error| error.code.clone().unwrap_or_default();
    // Nobody there.
    let error = client().send(post("http://127.0.0.1:1")).await.expect_err("nobody listens");
    assert_eq!((code(&error).as_str(), error.status), ("backend_unreachable", 502));
    assert!(error.message.contains("http://127.0.0.1:1"), "{error}");
    // Closes at once.
    let fake = Fake::start(|_| Vec::new());
    let error = client().send(post(&fake.url)).await.expect_err("closed");
    assert_eq!(code(&error), "backend_failed");
    // Breaks off in the middle: what came before it is there.
    let fake = Fake::start(|_| vec![head(), chunk("half")]);
    let response = client().send(post(&fake.url)).await.expect("a head");
    let (bytes, error) = all(response.body).await;
    assert_eq!((bytes.as_slice(), error.as_ref().map(code).as_deref()), (&b"half"[..], Some("backend_failed")));
    // Falls silent, before and after the head.
    let fake = Fake::start(|_| vec![Step::Pause(Duration::from_secs(2))]);
    let error = client().send(post(&fake.url)).await.expect_err("silence");
    assert_eq!((code(&error).as_str(), error.status), ("backend_timeout", 504));
    let fake = Fake::start(|_| vec![head(), chunk("x"), Step::Pause(Duration::from_secs(2))]);
    let response = client().send(post(&fake.url)).await.expect("a head");
    let (_, error) = all(response.body).await;
    assert_eq!(error.as_ref().map(code).as_deref(), Some("backend_timeout"));
}

#[tokio::test]
async fn a_slow_answer_outlives_the_idle_timeout_as_long_as_something_comes() {
    let fake = Fake::start(|_| {
        let slow = (0..6).flat_map(|_| [chunk("."), Step::Pause(Duration::from_millis(150))]);
        [head()].into_iter().chain(slow).chain([end()]).collect()
    });
    let response = client().send(post(&fake.url)).await.expect("an answer");
    assert_eq!(all(response.body).await, (b"......".to_vec(), None));
}

#[tokio::test]
async fn an_error_status_is_an_answer_and_redirections_are_not_followed() {
    let fake = Fake::start(|_| vec![whole(400, "{\"error\":\"no\"}")]);
    let mut response = client().send(post(&fake.url)).await.expect("an answer");
    assert_eq!((response.status.as_u16(), response.collect(1000).await), (400, Ok(Bytes::from_static(b"{\"error\":\"no\"}"))));
    let fake = Fake::start(|_| {
        vec![Step::Send(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec())]
    });
    assert_eq!(client().send(post(&fake.url)).await.expect("an answer").status.as_u16(), 302);
}

#[tokio::test]
async fn a_recording_plays_with_its_pauses() {
    let pause = Duration::from_millis(60);
    let reads = [(Duration::ZERO, Bytes::from_static(b"a")), (pause, Bytes::from_static(b"b")), (Duration::ZERO, Bytes::new())];
    let recording = Recording { reads: reads.into(), ..Recording::default() };
    let started = Instant::now();
    let mut response = client().send(Outgoing::Recorded(recording)).await.expect("an answer");
    let mut bytes = BytesMut::new();
    assert_eq!(response.body.read(&mut bytes).await, Ok(1));
    assert!(tokio::time::timeout(Duration::from_millis(20), response.body.read(&mut bytes)).await.is_err());
    assert_eq!(all(response.body).await, (b"b".to_vec(), None));
    assert!(started.elapsed() >= pause);
}

#[test]
fn loopback_is_recognised() {
    for (url, expected) in [
        ("http://localhost:1/", true),
        ("http://127.0.0.1/", true),
        ("http://127.8.9.1/", true),
        ("http://[::1]:8/", true),
        ("http://192.168.0.1/", false),
        ("https://example.org/", false),
        ("http://localhost.example.org/", false),
    ] {
        assert_eq!(is_loopback(&url.parse().expect("a URL")), expected, "{url}");
    }
}
