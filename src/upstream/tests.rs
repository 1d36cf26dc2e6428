use std::time::Instant;

use self::fake::{Fake, Seen, Step, chunk, end, head, whole};
use super::*;

pub(crate) mod fake;

/// How a request goes out: what one way does, the other does too.
#[derive(Debug, Clone, Copy)]
enum Way {
    Direct,
    Outside,
}

const WAYS: [Way; 2] = [Way::Direct, Way::Outside];

impl Way {
    fn post(self, url: &str) -> impl Future<Output = Result<Response, Error>> {
        let timeouts = Timeouts { connect: Duration::from_secs(2), idle: Duration::from_millis(400) };
        let client = Client::new(timeouts);
        let url: url::Url = format!("{url}/x").parse().expect("a URL");
        let body = Bytes::from_static(b"{}");
        let request = HttpRequest { method: Method::POST, url: url.to_string(), headers: HeaderMap::new(), body };
        // The client is made before the clock of the request runs.
        client.outside.of(&url).expect("a client");
        async move {
            match self {
                Way::Direct => client.send(&Outgoing::Http(request)).await,
                Way::Outside => outside::send(&client.outside, request, url).await,
            }
        }
    }
}

/// All bytes of the body, or how it failed.
async fn all(mut body: Body) -> (Vec<u8>, Option<Error>) {
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
    for way in WAYS {
        let fake = Fake::start(|_| vec![head(), chunk("one"), Step::Pause(Duration::from_millis(100)), chunk("two"), end()]);
        let mut response = way.post(&fake.url).await.expect("an answer");
        assert_eq!(
            (response.status.as_u16(), &response.headers["content-type"]),
            (200, &"text/event-stream".parse().expect("a value"))
        );
        let mut bytes = BytesMut::new();
        assert_eq!(response.body.read(&mut bytes).await, Ok(3), "the first piece does not wait for the second");
        assert_eq!(all(response.body).await, (b"two".to_vec(), None));
        let Ok(Seen::Request(request)) = fake.seen.recv() else { panic!("a request") };
        assert!(request.starts_with("POST /x HTTP/1.1\r\n") && request.ends_with("\r\n\r\n{}"), "{request}");
        let host = fake.url.trim_start_matches("http://");
        for line in [&format!("host: {host}"), "content-length: 2", "user-agent: toolglot/"] {
            assert!(request.contains(&format!("\r\n{line}")), "{line}: {request}");
        }
    }
}

/// Whoever reads also drives the connection, woken by another thread: no piece may be left lying without a wake-up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_piece_of_a_long_stream_is_left_waiting() {
    for way in WAYS {
        let pieces =
            |from: usize| (from..from + 3_000).map(|at| chunk(&format!("{at}\n"))).chain([Step::Pause(Duration::from_millis(5))]);
        let fake = Fake::start(move |_| {
            [head()].into_iter().chain([0, 3_000, 6_000].into_iter().flat_map(pieces)).chain([end()]).collect()
        });
        let response = way.post(&fake.url).await.expect("an answer");
        let (bytes, error) = all(response.body).await;
        let expected: String = (0..9_000).map(|at| format!("{at}\n")).collect();
        assert_eq!((String::from_utf8(bytes), error), (Ok(expected), None));
    }
}

#[tokio::test]
async fn localhost_is_either_family() {
    let families = ["127.0.0.1:0", "[::1]:0"].map(|address| address.parse::<std::net::SocketAddr>().expect("an address"));
    for (here, other) in [(families[0], families[1]), (families[1], families[0])] {
        // The same port of the other family is taken, so that nobody answers there.
        let bound = (0..20).find_map(|_| {
            let listener = std::net::TcpListener::bind(here).ok()?;
            let other = std::net::SocketAddr::new(other.ip(), listener.local_addr().ok()?.port());
            let silent = if other.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }.ok()?;
            silent.bind(other).is_ok().then_some((listener, silent, other.port()))
        });
        let Some((listener, _silent, port)) = bound else {
            assert!(std::net::TcpListener::bind("[::1]:0").is_err(), "this machine has both families");
            continue;
        };
        let _fake = Fake::on(listener, |_| vec![whole(200, "{}")]);
        let mut response = Way::Direct.post(&format!("http://localhost:{port}")).await.expect("an answer");
        assert_eq!(response.collect(100).await, Ok(Bytes::from_static(b"{}")), "{here}");
    }
}

#[tokio::test]
async fn a_name_and_password_in_the_url_are_sent() {
    let fake = Fake::start(|_| vec![whole(200, "{}")]);
    let url = fake.url.replace("http://", "http://me:secret@");
    assert_eq!(Way::Direct.post(&url).await.expect("an answer").status.as_u16(), 200);
    let Ok(Seen::Request(request)) = fake.seen.recv() else { panic!("a request") };
    assert!(request.contains("authorization: Basic bWU6c2VjcmV0\r\n"), "{request}");
}

#[tokio::test]
async fn what_has_arrived_from_this_machine_is_one_batch() {
    let many: Vec<Step> = (0..50).map(|_| chunk("data: x\n\n")).collect();
    let steps = [
        vec![head()],
        vec![Step::Send(
            many.iter().flat_map(|step| if let Step::Send(bytes) = step { bytes.clone() } else { vec![] }).collect(),
        )],
        vec![end()],
    ];
    let fake = Fake::start(move |_| steps.concat());
    let mut response = Way::Direct.post(&fake.url).await.expect("an answer");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut bytes = BytesMut::new();
    assert_eq!(response.body.read(&mut bytes).await, Ok(450));
}

#[tokio::test]
async fn a_read_that_is_given_up_loses_nothing() {
    for way in WAYS {
        let fake = Fake::start(|_| vec![head(), Step::Pause(Duration::from_millis(100)), chunk("late"), end()]);
        let mut response = way.post(&fake.url).await.expect("an answer");
        let mut bytes = BytesMut::new();
        for _ in 0..5 {
            let _ = tokio::time::timeout(Duration::from_millis(10), response.body.read(&mut bytes)).await;
        }
        assert_eq!(bytes, "");
        assert_eq!(all(response.body).await, (b"late".to_vec(), None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_body_or_the_wait_drops_the_connection() {
    for way in WAYS {
        let fake = Fake::start(|_| vec![head(), Step::SendForEver(b"1\r\nx\r\n".to_vec())]);
        let response = way.post(&fake.url).await.expect("an answer");
        assert!(matches!(fake.seen.recv(), Ok(Seen::Request(_))));
        drop(response);
        assert_eq!(fake.seen.recv_timeout(Duration::from_secs(5)), Ok(Seen::Gone));

        // The backend has not answered yet: it reads a prompt. What it writes then meets nobody.
        let fake = Fake::start(|_| {
            vec![Step::Pause(Duration::from_secs(1)), Step::SendForEver(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())]
        });
        let waited = tokio::time::timeout(Duration::from_millis(150), way.post(&fake.url)).await;
        assert!(waited.is_err());
        assert!(matches!(fake.seen.recv_timeout(Duration::from_secs(5)), Ok(Seen::Request(_))));
        assert_eq!(fake.seen.recv_timeout(Duration::from_secs(5)), Ok(Seen::Gone));
    }
}

#[tokio::test]
async fn faults_say_what_happened() {
    for way in WAYS {
        let code = |error: &Error| error.code.clone().unwrap_or_default();
        // Nobody there.
        let error = way.post("http://127.0.0.1:1").await.expect_err("nobody listens");
        assert_eq!((code(&error).as_str(), error.status), ("backend_unreachable", 502));
        assert!(error.message.contains("http://127.0.0.1:1"), "{error}");
        // Closes at once.
        let fake = Fake::start(|_| Vec::new());
        let error = way.post(&fake.url).await.expect_err("closed");
        assert_eq!(code(&error), "backend_failed");
        // Breaks off in the middle: what came before it is there.
        let fake = Fake::start(|_| vec![head(), chunk("half")]);
        let response = way.post(&fake.url).await.expect("a head");
        let (bytes, error) = all(response.body).await;
        assert_eq!((bytes.as_slice(), error.as_ref().map(code).as_deref()), (&b"half"[..], Some("backend_failed")));
        // Falls silent, before and after the head.
        let fake = Fake::start(|_| vec![Step::Pause(Duration::from_secs(2))]);
        let error = way.post(&fake.url).await.expect_err("silence");
        assert_eq!((code(&error).as_str(), error.status), ("backend_timeout", 504));
        let fake = Fake::start(|_| vec![head(), chunk("x"), Step::Pause(Duration::from_secs(2))]);
        let response = way.post(&fake.url).await.expect("a head");
        let (_, error) = all(response.body).await;
        assert_eq!(error.as_ref().map(code).as_deref(), Some("backend_timeout"));
    }
}

#[tokio::test]
async fn a_slow_answer_outlives_the_idle_timeout_as_long_as_something_comes() {
    for way in WAYS {
        let fake = Fake::start(|_| {
            let slow = (0..6).flat_map(|_| [chunk("."), Step::Pause(Duration::from_millis(150))]);
            [head()].into_iter().chain(slow).chain([end()]).collect()
        });
        let response = way.post(&fake.url).await.expect("an answer");
        assert_eq!(all(response.body).await, (b"......".to_vec(), None));
    }
}

#[tokio::test]
async fn an_error_status_is_an_answer_and_redirections_are_not_followed() {
    for way in WAYS {
        let fake = Fake::start(|_| vec![whole(400, "{\"error\":\"no\"}")]);
        let mut response = way.post(&fake.url).await.expect("an answer");
        assert_eq!(
            (response.status.as_u16(), response.collect(1000).await),
            (400, Ok(Bytes::from_static(b"{\"error\":\"no\"}")))
        );
        let fake = Fake::start(|_| {
            vec![Step::Send(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec())]
        });
        assert_eq!(way.post(&fake.url).await.expect("an answer").status.as_u16(), 302);
    }
}

#[tokio::test]
async fn a_recording_plays_with_its_pauses() {
    let pause = Duration::from_millis(60);
    let reads = [(Duration::ZERO, Bytes::from_static(b"a")), (pause, Bytes::from_static(b"b")), (Duration::ZERO, Bytes::new())];
    let recording = Recording { reads: reads.into(), ..Recording::default() };
    let started = Instant::now();
    let mut response = recording.into_response();
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
        ("HTTP://localhost", true),
        ("http://user:word@localhost/", false),
        ("https://localhost/", false),
        ("localhost:1", false),
        ("http://localhost:99999/", false),
        ("http://localhost/\u{e9}", true),
        ("http://localhost:1/a b", true),
        ("http://192.168.0.1/", false),
        ("https://example.org/", false),
        ("http://localhost.example.org/", false),
    ] {
        assert_eq!(url.parse().ok().as_ref().and_then(direct::addresses).is_some(), expected, "{url}");
    }
}
