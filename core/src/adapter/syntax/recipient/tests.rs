use super::{super::Seen, *};

fn kinds(model: &str, headers: &[(&str, bool, Seen<Kind>)]) {
    let adapter = crate::seen::library().find(model, None).adapter;
    let data = adapter.framing.recipient.clone().unwrap();
    for (text, inside, want) in headers {
        let got = match header(text, &data, *inside, false) {
            Seen::Yes(Header { kind, .. }) => Seen::Yes(kind),
            Seen::Maybe => Seen::Maybe,
            Seen::No => Seen::No,
        };
        assert_eq!(&got, want, "{text}");
    }
}

fn call(name: &str) -> Seen<Kind> {
    Seen::Yes(Kind::Call(name.to_owned()))
}

#[test]
fn channels_and_recipients_decide_what_a_message_is() {
    kinds(
        "gpt-oss:20b",
        &[
            ("<|channel|>analysis<|message|>", false, Seen::Yes(Kind::Reasoning)),
            ("<|channel|>final<|message|>", false, Seen::Yes(Kind::Content)),
            ("<|channel|>commentary<|message|>", false, Seen::Yes(Kind::Content)),
            ("<|start|>assistant<|message|>", false, Seen::Yes(Kind::Content)),
            ("<|channel|>commentary to=functions.a.b-c <|constrain|>json<|message|>", false, call("a.b-c")),
            ("<|channel|>commentary to=functions.f<|constrain|>json<|message|>", false, call("f")),
            ("<|channel|>analysis to=browser.search code<|message|>", false, call("browser.search")),
            ("<|start|>assistant to=functions.f<|channel|>commentary json<|message|>", false, call("f")),
            (" to=functions.f<|channel|>analysis<|message|>", true, call("f")),
            ("<|channel|>commentary to=assistant<|channel|>final<|message|>", false, Seen::Yes(Kind::Content)),
            ("<|channel|>commentary<|channel|>analysis<|message|>", false, Seen::Yes(Kind::Reasoning)),
            ("<|channel|>commentary to=fun", false, Seen::Maybe),
            ("<|channel|>final<|end|>text<|message|>", false, Seen::No),
        ],
    );
}

#[test]
fn headers_of_plain_text_are_whole_lines() {
    kinds(
        "functionary-medium-v3.2",
        &[
            (">>>f\n", false, call("f")),
            (">>>all\n", false, Seen::Yes(Kind::Content)),
            ("f\n", true, call("f")),
            (">>> f(x)\n", false, Seen::No),
            (">>>f is\n", false, Seen::No),
            (">>>get", false, Seen::Maybe),
        ],
    );
}

#[test]
fn muse_and_functionary_v2_name_the_recipient_with_a_marker_of_their_own() {
    kinds(
        "meta/Muse-Spark",
        &[
            (" to=self<|message|>", true, Seen::Yes(Kind::Reasoning)),
            ("<|start|>assistant to=user<|message|>", false, Seen::Yes(Kind::Content)),
            ("<|start|>assistant to=a.b<|message|>", false, call("a.b")),
        ],
    );
    kinds(
        "functionary-small-v2.5",
        &[
            ("<|from|>assistant\n<|recipient|>f\n<|content|>", false, call("f")),
            ("f\n<|content|>", true, call("f")),
            ("<|recipient|>all\n<|content|>", false, Seen::Yes(Kind::Content)),
        ],
    );
}
