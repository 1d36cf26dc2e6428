use super::*;

const CAP: u64 = 65536;

fn tokens(tokens: u64) -> Size {
    Size { bytes: tokens * 3, images: 0, answer: 0 }
}

fn bounds(set: Option<u64>, most: Option<u64>) -> Bounds {
    Bounds { most, set, cap: CAP }
}

fn loaded(context: u64) -> Loaded {
    Loaded { context: Some(context), size: 100 << 20, vram: 100 << 20 }
}

#[test]
fn the_context_grows_when_it_must_and_then_stays() {
    let mut window = Window::default();
    // A short question to a model that is not loaded: Ollama's own default.
    assert_eq!(window.choose(tokens(1000), None, bounds(None, Some(131_072))).0, None);
    // Loaded with nobody knows what: the same.
    let silent = Loaded { context: None, ..loaded(0) };
    assert_eq!(window.choose(tokens(1000), Some(&silent), bounds(None, Some(131_072))).0, None);
    // Loaded with something: the same again, however much it is.
    assert_eq!(window.choose(tokens(1000), Some(&loaded(4096)), bounds(None, Some(131_072))).0, Some(4096));
    assert_eq!(window.choose(tokens(1000), Some(&loaded(100_000)), bounds(None, Some(131_072))).0, Some(100_000));
    // Longer: the next step, with room.
    assert_eq!(window.choose(tokens(4000), Some(&loaded(4096)), bounds(None, Some(131_072))).0, Some(4096));
    assert_eq!(window.choose(tokens(5000), Some(&loaded(4096)), bounds(None, Some(131_072))).0, Some(8192));
    assert_eq!(window.choose(tokens(7000), Some(&loaded(4096)), bounds(None, Some(131_072))).0, Some(16384));
    // And it does not shrink when the conversation does, also where Ollama does not tell, or has unloaded the model.
    assert_eq!(window.choose(tokens(100), Some(&loaded(16384)), bounds(None, Some(131_072))).0, Some(16384));
    assert_eq!(window.choose(tokens(100), Some(&silent), bounds(None, Some(131_072))).0, Some(16384));
    assert_eq!(window.choose(tokens(100), None, bounds(None, Some(131_072))).0, Some(16384));
}

#[test]
fn what_is_not_to_be_had_is_said() {
    let short = |note: Option<Note>| matches!(note, Some(Note::Warning { code: "context_short", .. }));
    let (asked, note) = Window::default().choose(tokens(200_000), None, bounds(None, Some(131_072)));
    assert!(asked == Some(CAP) && short(note));
    let (asked, note) = Window::default().choose(tokens(20_000), Some(&loaded(4096)), bounds(None, Some(8192)));
    assert!(asked == Some(8192) && short(note));
    // Another client loaded more than our cap: that stays.
    let (asked, note) = Window::default().choose(tokens(120_000), Some(&loaded(100_000)), bounds(None, Some(131_072)));
    assert!(asked == Some(100_000) && short(note));
    let (asked, note) = Window::default().choose(tokens(20_000), Some(&loaded(4096)), bounds(None, None));
    assert!(asked == Some(32768) && note.is_none());
}

#[test]
fn a_context_that_leaves_the_gpu_is_stepped_back_from() {
    let mut window = Window::default();
    let spilled = Loaded { context: Some(32768), size: 200 << 20, vram: 150 << 20 };
    assert_eq!(window.choose(tokens(20_000), Some(&loaded(4096)), bounds(None, None)).0, Some(32768));
    assert!(matches!(window.review(&spilled), Some(Note::Warning { code: "context_stepped_back", .. })));
    assert_eq!(window.review(&spilled), None, "said once");
    let (asked, note) = window.choose(tokens(20_000), None, bounds(None, None));
    assert!(asked == Some(16384) && note.is_some());
    // A model that never was on the GPU as a whole has nothing to leave.
    let mut window = Window::default();
    let cpu = Loaded { vram: 0, ..loaded(4096) };
    window.choose(tokens(20_000), Some(&cpu), bounds(None, None));
    assert_eq!(window.review(&Loaded { vram: 0, ..loaded(32768) }), None);
    // One that fits is left alone.
    let mut window = Window::default();
    window.choose(tokens(20_000), Some(&loaded(4096)), bounds(None, None));
    assert_eq!(window.review(&loaded(32768)), None);
}

#[test]
fn a_cut_prompt_is_noticed_and_a_dense_one_is_not() {
    let size = Size { bytes: 60_000, images: 0, answer: 2048 };
    for (counted, cut) in [(4096, true), (2048, true), (8000, true), (9500, false), (15_000, false), (30_000, false), (0, false)]
    {
        assert_eq!(size.cut(counted).is_some(), cut, "{counted}");
    }
    assert_eq!(Size { images: 1, ..size }.cut(100), None);
}

#[test]
fn what_cannot_fit_is_refused_before_it_is_sent() {
    let size = Size { bytes: 800_000, images: 0, answer: 0 };
    assert_eq!(size.check(Some(32768)).expect_err("too long").code.as_deref(), Some("context_length_exceeded"));
    assert!(size.check(Some(131_072)).is_ok(), "it may fit: the backend decides");
    assert!(size.check(None).is_ok());
}

#[test]
fn the_size_that_the_models_file_sets_is_what_it_has() {
    let asked = |size, set| Window::default().choose(tokens(size), None, bounds(Some(set), Some(32_768))).0;
    assert_eq!(asked(3000, 1024), Some(4096), "below Ollama's own default, which the file replaces");
    assert_eq!(asked(800, 1024), Some(1024));
    assert_eq!(asked(9000, 16_384), Some(16_384), "large enough: a smaller one would take from what the user wants");
    assert_eq!(asked(20_000, 16_384), Some(32_768));
}
