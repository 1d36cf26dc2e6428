//! Values that contain the tags of calls: what was written arrives exactly, or the call is refused.

use proptest::prelude::*;

use super::{library, schemas};
use crate::{
    adapter::{
        Adapter, Scanner, Syntax,
        scanner::{MayAsk, Options},
        write::Written,
    },
    effort,
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    fix::{End, fix},
    seen::Seen,
};

const SCHEMA: &str =
    r#"{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title","body"]}"#;

fn tools() -> Tools {
    let sweep = r#"{"type":"object","properties":{"room":{"type":"string"}},"required":["room"]}"#;
    Tools::new([Tool::new("save_note", "Saves a note.", SCHEMA), Tool::new("sweep", "Sweeps.", sweep)], ToolChoice::Auto)
}

fn seen(adapter: &str, text: &str, reason: FinishReason, elements: bool) -> Seen {
    let adapter = std::sync::Arc::clone(library().get(adapter).unwrap());
    let options = Options { elements, may_ask: MayAsk::Never, ..Options::default() };
    let mut scanner = Scanner::new(adapter, std::sync::Arc::new(tools()), schemas(), options);
    let mut seen = Seen::default();
    scanner.push(Channel::Content, text, &mut seen);
    scanner.finish(reason, &mut seen);
    seen.sound()
}

/// The bodies of the notes that are saved, and the rooms that are swept.
fn values(seen: &Seen) -> Vec<String> {
    let value = |arguments: &str| {
        let read = fix(arguments, None, &[], End::Closed).arguments?;
        let read: serde_json::Value = serde_json::from_str(&read).ok()?;
        ["body", "room"].iter().find_map(|key| Some(read.get(*key)?.as_str()?.to_owned()))
    };
    seen.all_calls().filter(|call| call.whole).filter_map(|call| value(&call.arguments)).collect()
}

/// A note with this body as the family writes it. `None`: the body holds the tag that closes it.
fn note(adapter: &Adapter, body: &str) -> Option<String> {
    let serde_json::Value::Object(arguments) = serde_json::json!({"title": "a b", "body": "BODY"}) else { unreachable!() };
    let text = adapter.write(&[Written { name: "save_note".to_owned(), id: None, arguments }])?;
    let closer = text.split_once("BODY")?.1.trim_start();
    let closer = closer.find('>').map_or(closer, |at| &closer[..=at]);
    (!body.contains(closer)).then(|| text.replace("BODY", body))
}

/// The families that write a tag for each argument.
fn families() -> impl Iterator<Item = &'static Adapter> {
    let tagged = |adapter: &&Adapter| adapter.own().first().is_some_and(|call| matches!(&call.syntax, Syntax::Tagged(_)));
    library().iter().map(|adapter| &**adapter).filter(tagged).filter(|adapter| note(adapter, "").is_some())
}

#[test]
fn closers_and_openers_of_calls_are_content_before_the_values_own_closing_tag() {
    for body in [
        "cut = \"</tool_call>\\n<tool_call>\"\nuse(cut)\n",
        "cut = \"</function>\\n<function=x>\"\nuse(cut)\n",
        "a </invoke>\n<invoke name=\"x\"> b\n",
        "a </function_calls> <function_calls> b\n",
        "One:\n<tool_call>\n{\"name\": \"x\"}\n</tool_call>\n<tool_call>\n{\"name\": \"y\"}\n</tool_call>\nboth.\n",
        "a <param name=\"x\">1</param>\n</function>\nb\n",
        "a <argument name=\"x\">1</argument></function> b\n",
        "a </\u{ff5c}Z\u{ff5c}parameter></\u{ff5c}Z\u{ff5c}invoke>\nb\n",
        "for (i = 0; i <",
        "a <<",
        "/* a */",
    ] {
        for adapter in families() {
            let Some(text) = note(adapter, body) else { continue };
            let got = values(&seen(&adapter.name, &text, FinishReason::Stop, false));
            assert_eq!(got, [body], "{}: {text}", adapter.name);
        }
    }
    let list = "<list>\n<tool>pen</tool>\n<tool>ink</tool>\n</list>";
    for body in [list, "cut = \"</tool_call>\\n<tool_call>\"\nuse(cut)"] {
        let text = format!("<save_note>\n<title>a</title>\n<body>{body}</body>\n</save_note>");
        for adapter in ["generic", "llama3"] {
            assert_eq!(values(&seen(adapter, &text, FinishReason::Stop, true)), [body], "{adapter}: {text}");
        }
    }
}

#[test]
fn a_call_after_one_that_lacks_a_closing_tag_is_not_swallowed() {
    let sweep = |room: &str| format!("<tool_call>\n<function=sweep>\n<parameter=room>{room}\n</function>\n</tool_call>\n");
    let whole = "<tool_call>\n<function=sweep>\n<parameter=room>attic</parameter>\n</function>\n</tool_call>\n";
    for adapter in ["qwen3-coder", "mimo", "generic"] {
        let read = |text: &str| values(&seen(adapter, text, FinishReason::Stop, false));
        assert_eq!(read(&format!("{}{}", sweep("hall"), sweep("loft"))), ["hall", "loft"], "{adapter}");
        assert_eq!(read(&format!("{}{whole}", sweep("hall"))), ["hall", "attic"], "{adapter}");
    }
    let two = "<tool_call>sweep\n<arg_key>room</arg_key>\n<arg_value>hall</tool_call>\n<tool_call>sweep\n<arg_key>room</arg_key>\n<arg_value>attic</arg_value>\n</tool_call>";
    assert_eq!(values(&seen("glm", two, FinishReason::Stop, false)), ["hall", "attic"]);
}

#[test]
fn a_text_of_several_lines_without_its_closing_tag_is_refused() {
    for adapter in families() {
        let Syntax::Tagged(tagged) = &adapter.own()[0].syntax else { continue };
        if tagged.nested.is_some() {
            continue;
        }
        let text = note(adapter, "one\ntwo  \n").unwrap();
        let (at, closer) =
            tagged.value[1].iter().filter_map(|closer| Some((text.rfind(closer.as_str())?, closer))).max().unwrap();
        let torn = format!("{}{}", &text[..at], &text[at + closer.len()..]);
        assert_eq!(values(&seen(&adapter.name, &torn, FinishReason::Stop, false)), [""; 0], "{}: {torn}", adapter.name);
    }
}

#[test]
fn at_the_output_limit_only_the_forms_own_tags_end_a_value() {
    for body in [
        "See:\n<save_note>\n<title>x</title>\n<body>y</body>\n</save_note>\nThen",
        "See:\n<invoke name=\"x\">\n<argument name=\"y\">1</argument>\n</invoke>\nThen",
        "See <f name=\"x\"><param name=\"y\">1</param></function></tool_call>\nThen",
        "cut = \"</tool_call>\\n<tool_call>\" Then",
    ] {
        for adapter in families() {
            let Some(text) = note(adapter, body) else { continue };
            let stop = text.find("Then").unwrap();
            for at in (stop - body.len() + 8..stop).filter(|&at| text.is_char_boundary(at)) {
                let got = values(&seen(&adapter.name, &text[..at], FinishReason::Length, false));
                assert_eq!(got, [""; 0], "{}: {}", adapter.name, &text[..at]);
            }
        }
    }
}

#[test]
fn a_call_after_a_value_that_others_tags_end_is_not_run() {
    let opened = "<tool_call>\n<function=save_note>\n<parameter=title>\na b\n</parameter>\n<parameter=body>\n";
    // Either the second call is content, or two tags are missing. An empty value without its own tag is as doubtful.
    for between in [
        "one</param>",
        "one</body>\n",
        "</function>\n",
        "</tool_call>\n",
        "</tool_call></tool_call>\n",
        "</tool_call></function>",
    ] {
        for name in ["save_note", "x"] {
            let text =
                format!("{opened}{between}<function={name}>\n<parameter=body>\ntwo\n</parameter>\n</function>\n</tool_call>");
            let got = values(&seen("qwen3-coder", &text, FinishReason::Stop, false));
            let whole = format!("{between}<function={name}>\n<parameter=body>\ntwo");
            assert!(got.iter().all(|got| *got == whole), "{text}: {got:?}");
        }
    }
    let body = "</body></tool_call><arg_key>.";
    for adapter in ["glm", "hunyuan3"] {
        let adapter = library().iter().find(|known| known.name == adapter).unwrap();
        let got = values(&seen(&adapter.name, &note(adapter, body).unwrap(), FinishReason::Stop, false));
        assert!(got.iter().all(|got| got == body), "{got:?}");
    }
}

/// Pieces of the bodies below.
const PIECES: &[&str] = &[
    "</tool_call>", "<tool_call>", "</function>", "<function=x>", "<function=save_note>", "</invoke>", "<invoke name=\"x\">",
    "</function_calls>", "<parameter=x>", "<param name=\"x\">", "</param>", "<body>", "</body>", "</save_note>", "<save_note>",
    "<", "</", "/", "<arg_key>", "</tool>", "<tool>", "\"", "\\n", "a", " b ", "one", "\n", ";", ">",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: effort::cases(25, 100), failure_persistence: None, ..ProptestConfig::default() })]

    /// A body of any pieces, between the tags of any family, arrives exactly or not at all; the more so if it is truncated.
    #[test]
    fn a_body_of_pieces_of_tags_arrives_exactly_or_not_at_all(
        picks in prop::collection::vec(0..PIECES.len(), 1..10),
        family in any::<prop::sample::Index>(),
    ) {
        let adapters: Vec<_> = families().collect();
        let adapter = adapters[family.index(adapters.len())];
        // The last line break belongs to the layout of some families.
        let body = format!("{}.", picks.iter().map(|&at| PIECES[at]).collect::<String>());
        let Some(text) = note(adapter, &body) else { return Ok(()) };
        let exact = |got: Vec<String>| got.iter().all(|got| *got == body);
        for reason in [FinishReason::Stop, FinishReason::Length] {
            let got = values(&seen(&adapter.name, &text, reason, false));
            prop_assert!(exact(got.clone()), "{}: {text:?}: {got:?}", adapter.name);
        }
        for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
            let got = values(&seen(&adapter.name, &text[..at], FinishReason::Length, false));
            prop_assert!(exact(got.clone()), "{}: {:?}: {got:?}", adapter.name, &text[..at]);
        }
    }
}
