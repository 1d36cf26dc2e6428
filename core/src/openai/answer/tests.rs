use super::*;

fn text(write: impl FnOnce(&mut BytesMut)) -> String {
    let mut out = BytesMut::new();
    write(&mut out);
    String::from_utf8(out.to_vec()).unwrap()
}

#[test]
fn strings_are_json_for_every_reader_and_one_line_for_line_readers() {
    for sample in [
        "",
        "plain",
        "quote \" back \\ slash / tab \t nl \n cr \r bell \u{7} nul \0 esc \u{1b}",
        "é ü 漢字 🙂 \u{85} \u{2028}\u{2029} \u{a0} \u{200b}",
        "\u{c5}\u{2030}\u{20ac}\u{e2}",
    ] {
        let written = text(|out| put_string(sample, out));
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), sample);
        assert!(!written.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "{written:?}");
    }
}

#[test]
fn ids_depend_on_every_part_and_on_nothing_else() {
    let id = call_id(&[b"chatcmpl-1", b"0"]);
    assert_eq!(id, call_id(&[b"chatcmpl-1", b"0"]));
    assert_eq!(id.len(), "call_".len() + 24);
    assert!(id.starts_with("call_") && id.chars().skip(5).all(|c| c.is_ascii_alphanumeric()));
    assert_ne!(id, call_id(&[b"chatcmpl-1", b"1"]));
    assert_ne!(call_id(&[b"ab", b"c"]), call_id(&[b"a", b"bc"]));
}

#[test]
fn errors_say_whom_to_blame() {
    let body = error_body(&Error::client("no such model").with_status(404).with_code("model_not_found"));
    assert_eq!(
        body,
        json!({"error": {"message": "no such model", "type": "not_found_error", "param": null, "code": "model_not_found"}})
    );
    assert_eq!(error_body(&Error::backend("gone"))["error"]["type"], "server_error");
    assert_eq!(error_body(&Error::client("bad"))["error"]["type"], "invalid_request_error");
}
