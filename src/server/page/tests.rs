use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    turns::{Entry, ROWS, Turns},
    *,
};
use crate::{
    backend::{Backend, Kind},
    lock::Hold,
    server::received::Target,
};

/// A turn that begins, and the account of its request.
fn begin(turns: &Arc<Turns>, model: &str, body: &Bytes, keeps: bool) -> (Entry, Account) {
    let account = Account::default();
    account.is_from("void/1.99 (x)");
    (turns.begin(&account, model, body, keeps), account)
}

fn end((entry, account): &(Entry, Account), model: &str) {
    let backend = Arc::new(Backend::open("b", Kind::OpenAi, ""));
    account.is_about(&Target { called: model.into(), model: model.into(), backend });
    {
        let mut facts = account.facts();
        (facts.status, facts.taken) = (Some(200), Some(Duration::from_millis(5)));
    }
    entry.end();
}

#[test]
fn ten_thousand_turns_take_no_more_than_two_hundred() {
    let turns = Arc::new(Turns::default());
    let body = Bytes::from(vec![b'x'; 300_000]);
    for at in 0..10_000 {
        let model = format!("m{at}");
        let turn = begin(&turns, &model, &body, true);
        turn.0.kept.as_ref().unwrap().hold().client(&[b'y'; 1000]);
        end(&turn, &model);
        assert!(turns.held_bytes() <= 8 * 1024 * 1024);
    }
    let rows = turns.rows("");
    let kept = rows.iter().filter(|row| row["kept"] == true).count();
    assert_eq!((rows.len(), &rows[0]["number"], &rows[0]["client"]), (ROWS, &json!(10_000), &json!("void/1.99")));
    assert!((20..=50).contains(&kept), "{kept} kept");
    assert!(rows.iter().take(kept).all(|row| row["kept"] == true), "the latest are kept");
    assert_eq!(turns.counts("").len(), 200);
    // Small ones: fifty.
    let small = Bytes::from_static(b"{}");
    (0..100).for_each(|_| end(&begin(&turns, "m", &small, true), "m"));
    let kept = || turns.rows("").iter().filter(|row| row["kept"] == true).count();
    assert_eq!(kept(), 50);
    // Also of those that are under way at once.
    let under_way: Vec<_> = (0..60).map(|_| begin(&turns, "m", &small, true)).collect();
    assert_eq!((kept(), under_way[49].0.kept.is_some(), under_way[50].0.kept.is_none()), (50, true, true));
    under_way.iter().for_each(|turn| end(turn, "m"));
    assert!(begin(&turns, "m", &small, true).0.kept.is_some());
}

#[test]
fn what_has_no_room_is_cut_and_says_so() {
    let turns = Arc::new(Turns::default());
    let body = Bytes::from(vec![b'x'; 3 * 1024 * 1024]);
    // All under way: nothing of them can be forgotten.
    let entries: Vec<(Entry, Account)> = (0..5).map(|_| begin(&turns, "m", &body, true)).collect();
    let cut = |(entry, _): &(Entry, Account)| entry.kept.as_ref().unwrap().lock().unwrap().cut;
    assert_eq!(entries.iter().map(cut).collect::<Vec<_>>(), [false, false, true, true, true]);
    entries.iter().for_each(|entry| end(entry, "m"));
    drop(entries);
    assert!(!cut(&begin(&turns, "m", &body, true)));
}

#[test]
fn whoever_looks_at_a_turn_counts_for_nothing() {
    let turns = Arc::new(Turns::default());
    let body = Bytes::from(vec![b'x'; 1000]);
    let (entry, _account) = begin(&turns, "m", &body, true);
    let client = |bytes: &[u8]| entry.kept.as_ref().unwrap().hold().client(bytes);
    client(b"yes");
    let before = turns.held_bytes();
    let copy = copied(entry.kept.as_ref().unwrap());
    // The turn goes on while somebody looks.
    client(b"!");
    let after = before + 1;
    assert_eq!((copy.got.clone(), copy.sent.len(), turns.held_bytes()), (b"yes".to_vec(), 1000, after));
    drop(copy);
    assert_eq!(turns.held_bytes(), after);
}

#[test]
fn a_slow_page_loses_events_and_stops_nobody() {
    let turns = Arc::new(Turns::default());
    let mut page = turns.changes.subscribe();
    let body = Bytes::new();
    (0..1000).for_each(|_| end(&begin(&turns, "m", &body, false), "m"));
    assert!(matches!(page.try_recv(), Err(tokio::sync::broadcast::error::TryRecvError::Lagged(_))));
    let Ok((_, row)) = page.try_recv() else { panic!("nothing heard") };
    assert!(row.contains("\"model\":\"m\""), "{row}");
}

#[test]
fn a_turn_that_is_under_way_is_listed_with_its_time() {
    let turns = Arc::new(Turns::default());
    let turn = begin(&turns, "<b>", &Bytes::new(), false);
    let rows = turns.rows("");
    assert_eq!((&rows[0]["result"], rows[0]["ms"].is_u64(), &rows[0]["kept"]), (&json!("running"), true, &json!(false)));
    assert!(turns.rows("somebody").is_empty() && turns.get("somebody", 1).is_none());
    end(&turn, "<b>");
    assert_eq!(turns.rows("")[0]["result"], "passed");
}
