//! Any bytes, read by any adapter and cut anywhere: see `tests/support/reading.rs` for what must hold.
//!
//! The first bytes choose the adapter, the options and the cuts; the rest is the text: as it is, or with every byte beyond
//! ASCII standing for one of the adapter's markers or of the usual pieces of calls.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use toolglot::{
    adapter::{Adapter, scanner::Options},
    event::FinishReason,
};

#[path = "../../tests/support/pieces.rs"]
mod pieces;
#[path = "../../tests/support/reading.rs"]
mod reading;
#[path = "../../tests/support/seen.rs"]
mod seen;

static ADAPTERS: LazyLock<Vec<(Arc<Adapter>, Vec<String>)>> = LazyLock::new(|| {
    seen::library().iter().map(|adapter| (Arc::clone(adapter), adapter.markers())).collect()
});

fuzz_target!(|data: &[u8]| {
    let [which, flags, marker_page, one, two, three, body @ ..] = data else { return };
    let Some((adapter, markers)) = ADAPTERS.get(usize::from(*which) % ADAPTERS.len()) else { return };
    let text = match flags & 1 {
        0 => String::from_utf8_lossy(body).into_owned(),
        _ => body.iter().map(|&byte| piece(byte, markers, usize::from(*marker_page))).collect(),
    };
    let options = Options {
        framing: flags & 2 == 0,
        reasoning_open: flags & 4 != 0,
        held_bytes: if flags & 8 == 0 { 16 * 1024 } else { 48 },
        argument_bytes: if flags & 16 == 0 { 1024 * 1024 } else { 96 },
        ..Options::default()
    };
    let reason = if flags & 32 == 0 { FinishReason::Stop } else { FinishReason::Length };
    let cuts: Vec<usize> = match flags & 64 {
        0 => [one, two, three].map(|&cut| usize::from(cut) * text.len() / 255).to_vec(),
        _ => (0..text.len()).collect(),
    };
    if let Err(wrong) = reading::check(adapter, &seen::schemas(), &options, reason, &text, &cuts) {
        panic!("adapter {}, {options:?}, {reason:?}, {text:?} cut at {cuts:?}\n {wrong}", adapter.name);
    }
});

/// What a byte stands for.
fn piece(byte: u8, markers: &[String], page: usize) -> String {
    match usize::from(byte) {
        at @ 0..128 => char::from(at as u8).to_string(),
        at @ 128..192 => pieces::PIECES[(at - 128 + page * 64) % pieces::PIECES.len()].to_owned(),
        at => markers.get((at - 192 + page * 64) % markers.len().max(1)).cloned().unwrap_or_default(),
    }
}
