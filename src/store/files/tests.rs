use std::time::Duration;

use bytes::Bytes;

use super::Files;
use crate::store::{Key, Kind, Store};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn values_outlive_the_process_and_go_to_one_taker() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path().join("store"));
    let key = Key::local(Kind::SpooledCall, "call_1");
    assert!(files.put(key.clone(), Bytes::from_static(b"a\nb\xff"), HOUR).await);
    let again = Files::new(folder.path().join("store"));
    assert_eq!(again.get(&key).await.as_deref(), Some(&b"a\nb\xff"[..]));
    assert_eq!(again.get(&Key::local(Kind::ToolPin, "call_1")).await, None);
    assert!(again.take(&key).await.is_some());
    assert_eq!(files.take(&key).await, None);
    assert_eq!(std::fs::read_dir(folder.path().join("store")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_has_expired_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path());
    let key = Key::local(Kind::Learned, "x");
    let path = files.path(&key);
    std::fs::write(&path, "1\nold").unwrap();
    assert_eq!(files.get(&key).await, None);
    assert!(!path.exists());
    std::fs::write(&path, "1\nold").unwrap();
    drop(Files::new(folder.path()));
    assert!(!path.exists(), "opening sweeps");
    assert!(files.put(key.clone(), Bytes::from_static(b"new"), Duration::MAX).await);
    assert_eq!(files.get(&key).await.as_deref(), Some(&b"new"[..]));
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path().join("s"));
    let key = Key::local(Kind::SpooledCall, "secret");
    assert!(files.put(key.clone(), Bytes::from_static(b"x"), HOUR).await);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.path().join("s")), mode(&files.path(&key))), (0o700, 0o600));
    assert!(!files.put(key, Bytes::from(vec![0; 9 * 1024 * 1024]), HOUR).await, "too large");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_folder_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    let (sender, opened) = std::sync::mpsc::channel();
    let path = folder.path().to_owned();
    std::thread::spawn(move || {
        Files::new(path);
        sender.send(())
    });
    opened.recv_timeout(Duration::from_secs(5)).unwrap();
}
