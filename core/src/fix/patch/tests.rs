use proptest::prelude::*;

use super::*;

const PATCH: &str = "*** Begin Patch\n*** Add File: a/hello.txt\n+hi {\n*** Update File: b.rs\n*** Move to: c.rs\n@@ fn x()\n a\n-b\n+c\n\n*** End of File\n*** Delete File: old\n*** End Patch";

fn tool() -> Tool {
    Tool { input: Input::Patch, ..Tool::new("apply_patch", "", "{}") }
}

fn fixed(source: &str) -> Report {
    fix(&tool(), source, super::super::End::Closed).unwrap()
}

#[test]
fn every_way_to_write_it_gives_the_same_patch() {
    let wanted = json!({"input": PATCH});
    let ways = [
        wanted.to_string(),
        json!({"patch": PATCH}).to_string(),
        json!({"command": ["apply_patch", PATCH]}).to_string(),
        json!({"cmd": format!("apply_patch <<'EOF'\n{PATCH}\nEOF")}).to_string(),
        json!(PATCH).to_string(),
        PATCH.to_owned(),
        format!("Here it is:\n```\n{PATCH}\n```\nDone."),
        // Broken JSON: the brace is missing.
        json!({"input": PATCH}).to_string().trim_end_matches('}').to_owned(),
    ];
    for (at, way) in ways.iter().enumerate() {
        let report = fixed(way);
        assert_eq!(report.why, None, "{way}");
        let arguments: Value = serde_json::from_str(report.accepted().unwrap()).unwrap();
        assert_eq!(arguments, wanted, "{way}");
        assert_eq!(report.verdict == Verdict::Clean, at == 0, "{way}");
    }
    assert_eq!(fix(&Tool::new("x", "", "{}"), PATCH, super::super::End::Closed), None);
}

#[test]
fn a_patch_is_shown_only_at_the_end_of_an_answer() {
    let tools = Tools::new([Tool::new("read", "", "{}"), tool()], crate::event::ToolChoice::Auto);
    let arguments = json!({"input": PATCH}).to_string();
    for text in [
        PATCH.to_owned(),
        format!("I add the file.\n{PATCH}\n"),
        format!("```patch\n{PATCH}\n```"),
        format!("apply_patch <<'EOF'\n{PATCH}\nEOF\n"),
        format!("Not this:\n*** Begin Patch\n\nbut this:\n{PATCH}"),
    ] {
        let shown = shown_patch(&text, &tools).map(|(tool, arguments)| (tool.name.as_str(), arguments));
        assert_eq!(shown, Some(("apply_patch", arguments.clone())), "{text}");
    }
    let cut = &PATCH[..PATCH.len() - 4];
    for text in [format!("{PATCH}\nThat is the form."), cut.to_owned(), "*** Begin Patch\n*** End Patch".to_owned()] {
        assert_eq!(shown_patch(&text, &tools), None, "{text}");
    }
    assert_eq!(shown_patch(PATCH, &Tools::new([Tool::new("read", "", "{}")], crate::event::ToolChoice::Auto)), None);
}

#[test]
fn what_is_no_patch_says_which_line() {
    for (patch, why) in [
        ("*** Begin Patch\n*** End Patch", "no file"),
        ("*** Begin Patch\n*** Add File: \n+x\n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Add File: a\n*** End Patch", "without any line"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3"),
        ("*** Begin Patch\n*** Update File: a\n@@\nx = 1\n*** End Patch", "line 4"),
        ("*** Begin Patch\n*** Rename File: a\n*** End Patch", "is no line of a patch"),
        ("*** Begin Patch\n+x\n*** End Patch", "line 2"),
    ] {
        let Some(Why::Malformed(what)) = fixed(&json!({"input": patch}).to_string()).why else { panic!("{patch}") };
        assert!(what.contains(why), "{what}");
    }
    assert!(matches!(fixed("{}").why, Some(Why::Malformed(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A patch that was cut anywhere never leaves, however it was written.
    #[test]
    fn a_cut_patch_is_refused(at in 0..PATCH.len()) {
        let cut = &PATCH[..at];
        for way in [cut.to_owned(), json!({"input": cut}).to_string(), json!(cut).to_string()] {
            prop_assert!(fixed(&way).accepted().is_none(), "{}", way);
        }
        let whole = json!({"input": PATCH}).to_string();
        let end = super::super::End::Cut(FinishReason::Length);
        if let Some(cut) = whole.get(..at) {
            prop_assert!(fix(&tool(), cut, end).unwrap().accepted().is_none(), "{}", cut);
        }
    }
}
