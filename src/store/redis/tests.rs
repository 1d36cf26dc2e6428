//! What needs no server. With one, tests/fleet runs the rest.

use std::time::Duration;

use bytes::Bytes;

use super::{Redis, name, nodes};
use crate::store::{Common, Key, Kind, PATIENCE, Place, Store};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn tenants_have_keys_of_their_own() {
    let key = |tenant: &str, id: &str| name(&Key { tenant: tenant.into(), kind: Kind::Response, id: id.into() });
    assert!(key("ann", "x").starts_with("toolglot:ann:Response:"));
    // No name of a tenant reads as another one's, nor as a hash tag of a cluster.
    let names = ["ann", "", "ann:Response", "{ann}", "%7bann%7d", "an\nn", "Ann"];
    for (at, one) in names.iter().enumerate() {
        assert!(!key(one, "x").contains(['{', '}', '\n']), "{one}");
        assert!(key(one, "x").split(':').count() == 4, "{one}");
        for other in &names[at + 1..] {
            assert_ne!(key(one, "x"), key(other, "x"), "{one} {other}");
        }
    }
    assert_eq!(key("a", &"long".repeat(10_000)).len(), key("a", "s").len());
}

#[test]
fn a_place_has_hosts_a_database_and_a_password_from_elsewhere() {
    let of = |url, password| nodes(&Place { url, password, cluster: false, patience: PATIENCE });
    let node = &of("redis://app@cache.lan:7000/2", Some("s3cret")).unwrap()[0];
    let settings = node.redis_settings();
    assert_eq!((node.addr().to_string().as_str(), settings.db()), ("cache.lan:7000", 2));
    assert_eq!((settings.username(), settings.password()), (Some("app"), Some("s3cret")));
    assert_eq!(of("rediss://a:1,b,c:3", None).unwrap().len(), 3);
    assert!(of("redis://", None).is_err() || of("redis://:x", None).is_err());
}

#[tokio::test]
async fn without_the_server_an_instance_goes_on_with_what_it_has() {
    // Nothing listens on port 1.
    let redis = Redis::open(&Place { url: "redis://127.0.0.1:1", password: None, cluster: false, patience: PATIENCE }).unwrap();
    let key = Key::local(Kind::Learned, "x");
    let begun = std::time::Instant::now();
    assert!(redis.put(key.clone(), Bytes::from_static(b"1"), HOUR).await);
    assert_eq!(redis.get(&key).await.as_deref(), Some(&b"1"[..]));
    assert_eq!(redis.get_all(&[key.clone(), Key::local(Kind::Learned, "y")]).await.len(), 2);
    assert_eq!(redis.take(&key).await.as_deref(), Some(&b"1"[..]));
    assert_eq!(redis.take(&key).await, None);
    let minute = Duration::from_secs(60);
    let requests = Key::local(Kind::Requests, "");
    assert_eq!((redis.count(&requests, minute).await.0, redis.count(&requests, minute).await.0), (1, 2));
    assert!(!redis.link().unwrap().is_present());
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing waits for it");
}
