//! Calls that a value quotes: a file that documents calls, data, a call of a tool that is not offered.

use super::{HERMES_CALL, Tool, ToolChoice, Tools, read, read_with, text, written};
use crate::seen::library;

/// Calls whose text has no character that JSON escapes, so that a string quotes them as they are.
const QUOTED: [&str; 4] = [
    "<tool_call>lamp<arg_key>on</arg_key><arg_value>true</arg_value></tool_call>",
    "<tool_call><function=lamp><parameter=on>true</parameter></function></tool_call>",
    "<function=lamp>{}</function>",
    "<|python_tag|>lamp.call(on=True)",
];

#[test]
fn a_string_of_a_value_that_is_no_call_is_content() {
    for adapter in library().iter() {
        for quoted in QUOTED {
            for answer in [
                format!("{{\"title\": \"lamps\", \"body\": \"first\\n{quoted}\\nlast\"}}"),
                format!("{{\"name\": \"save\", \"arguments\": {{\"text\": \"first\\n{quoted}\\nlast\"}}}}"),
                format!("{{\"name\": \"save\", \"arguments\": {{\"text\": \"first\\n{quoted}\\n"),
                format!("save(text=\"first\\n{quoted}\\n"),
                format!("[save(text='first {quoted} "),
            ] {
                let seen = read(&adapter.name, false, &answer);
                assert!(written(&seen).is_empty(), "{}: {answer:?} became {seen:?}", adapter.name);
            }
        }
    }
}

#[test]
fn a_call_after_a_value_is_one() {
    let call = "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";
    for before in ["{\"title\": \"lamps\"}", "{\"title\": \"a", "[it's", "{it's", "f(x, \"y"] {
        let seen = read("hermes", false, &format!("{before}\n{call}"));
        assert_eq!(written(&seen).len(), 1, "{before:?}: {seen:?}");
    }
}

#[test]
fn lines_of_code_and_of_logs_hold_examples() {
    let call = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    for line in [
        format!("return {call}"),
        format!("data: {call}"),
        format!("$ {call}"),
        format!(">>> {call}"),
        format!("ana@host:~/src$ {call}"),
        format!("C:\\> {call}"),
        format!("10:00:01 {call}"),
        format!("2026-11-22T10:00:01Z INFO {call}"),
        format!("[debug] {call}"),
        format!("// {call}"),
    ] {
        for answer in [line.clone(), format!("It looks like this:\n\n{line}"), format!("One of two:\n{line}\n{line}")] {
            let seen = read("qwen2.5-coder", false, &answer);
            assert!(written(&seen).is_empty(), "{answer:?} became {seen:?}");
        }
    }
    for comment in ["// the form", "# the form", "/* the form */", "<!-- the form -->"] {
        let seen = read("qwen2.5-coder", false, &format!("{call} {comment}"));
        assert!(written(&seen).is_empty(), "{comment:?}: {seen:?}");
    }
    for line in [format!("I call {call}"), format!("Let me return {call}"), format!("1. {call}"), format!("{call}\n# Next")] {
        let seen = read("qwen2.5-coder", false, &line);
        assert_eq!(written(&seen).len(), 1, "{line:?}: {seen:?}");
    }
}

#[test]
fn a_string_quotes_the_markers_of_the_family_itself() {
    for (family, quoted) in [
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        ),
        ("lfm2", "<|tool_call_start|>[lamp(on=True)]<|tool_call_end|>"),
        ("gemma4", "<|tool_call>call:lamp{on:true}<tool_call|>"),
    ] {
        for before in ["[\"", "{\"text\": \"", "{\"text\": \"so: "] {
            let seen = read(family, false, &format!("{before}{quoted}"));
            assert!(written(&seen).is_empty(), "{before}{quoted} became {seen:?}");
        }
    }
}

#[test]
fn a_control_token_in_a_string_is_text_where_the_string_goes_on() {
    let answer = "{\"eos_token\": \"<|im_end|>\", \"pad\": 0}";
    let seen = read("hermes", false, answer);
    assert_eq!(seen, text(answer));
    let seen = read("hermes", false, "{\"title\": \"lamps<|im_end|>");
    assert_eq!(seen, text("{\"title\": \"lamps"));
}

#[test]
fn a_call_in_quotes_or_within_a_sentence_is_spoken_of() {
    let call = "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}</tool_call>";
    for answer in [
        format!("The model wrote \"{call}\" and stopped."),
        format!("The string '{call}' is searched for."),
        format!("It is “{call}”, as documented."),
        format!("The form is `\n{call}`").replace("`\n", "`"),
        format!("s = '''{call}'''\nprint(s)"),
        format!("See [{call}](https://example.org) for the form."),
        format!("The form is <code>{call}</code> and more."),
        format!("Do not write {call} here."),
        format!("I did not call {call}"),
        format!("For example, {call} would do it."),
        format!("| hermes | {call} |\n"),
        format!("// {call}\nfn main() {{}}"),
        format!("10:00:01 {call}\n10:00:02 done"),
        format!("data: {call}\n\ndata: [DONE]"),
        format!("+{call}"),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
    for answer in [
        format!("\"{call}\""),
        format!("Sure.{call}Done."),
        format!("I call it: {call} It is done."),
        format!("It's {call}"),
        format!("I cannot see it, so I call {call}"),
        format!("{call}, {call}").replacen("true", "false", 1),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(!written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
}

#[test]
fn what_introduces_a_call_or_follows_it_may_disown_it() {
    let call = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    for answer in [
        format!("The file contains:\n\n{call}"),
        format!("Here is an example of such a call:\n\n```json\n{call}\n```"),
        format!("## Example\n\n```json\n{call}\n```"),
        format!("Zum Beispiel: {call}"),
        format!("For instance:\n{call}"),
        format!("You can switch it off as well, e.g.:\n{call}"),
        format!("Do not do this:\n{call}"),
        format!("Previously I called this:\n{call}"),
        format!("Last time I tried:\n{call}"),
        format!("The call that caused the error was:\n{call}"),
        format!("These two requests were:\n{call}"),
        format!("Do NOT run this:\n{call}"),
        format!("I could have called {call}"),
        format!("The previous call was {call}"),
        format!("{call}\n\nThis is only an example."),
        format!("```json\n{call}\n```\n\nI have not run it: this is an example."),
        format!("{call}\n\nIf you agree, I will run it."),
        format!("{call}\n\nYou can call it with other values too."),
        format!("Shall I do the following?\n\n```json\n{call}\n```"),
        format!("Möchten Sie, dass ich das tue?\n\n```json\n{call}\n```"),
        format!("Veux-tu que je le fasse ?\n{call}"),
        format!("Une commande, par exemple :\n{call}"),
        format!("예를 들어:\n\n```json\n{call}\n```"),
        format!("例えば、次の通りです:\n{call}"),
        format!("It is dark. Should I switch it on:\n{call}"),
        format!("I did not send this, because the lamp is broken:\n{call}"),
        format!("Earlier today I sent this call, and it worked:\n{call}"),
    ] {
        let seen = read("qwen2.5-coder", false, &answer);
        assert!(written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
    for answer in [
        format!("The example lamp is next:\n{call}"),
        format!("I should have done this before:\n{call}"),
        format!("I do not use the index but call {call}"),
        format!("As you said:\n{call}"),
        format!("Earlier it was dark, so I switch it on:\n{call}"),
        format!("It did not run, but now I call it:\n{call}"),
        format!("I never run it. Because you asked, I do now:\n{call}"),
        format!("Should I? Yes:\n{call}"),
        format!("Ich schalte die Beispiellampe ein:\n{call}"),
        format!("Enciendo la luz de ejemplo:\n{call}"),
        format!("I have not seen it yet, so I call:\n\n```json\n{call}\n```"),
        format!("{call}\nDone."),
        format!("{call}\n{}", call.replace("true", "false")),
    ] {
        let seen = read("qwen2.5-coder", false, &answer);
        assert!(!written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
}

#[test]
fn a_call_that_a_sentence_is_about_is_text() {
    let call = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    let marked = format!("<tool_call>{call}</tool_call>");
    for answer in [
        format!("{call} is what I would write."),
        format!("{call} would do, but you decide."),
        format!("Here are two.\n{marked} means that the lamp goes on."),
        r#"<function=lamp>{"on": true}</function> is dangerous."#.to_owned(),
        format!("Between {marked} and {marked} nothing differs."),
        format!("The driver sees:\n\n    <tool_call>\n    {call}\n    </tool_call>\n\nand obeys."),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
    let other = marked.replace("true", "false");
    for (answer, calls) in [
        (format!("{call} and then text"), 1),
        (format!("{marked} Is that right?"), 1),
        (format!("I'll do it:\n\n    {marked}"), 1),
        (format!("First {marked}, then {other}"), 2),
        (format!("First {marked}, then {other} Done."), 2),
        (format!("First {marked}, second {other}, third {marked}"), 3),
    ] {
        let seen = read("hermes", false, &answer);
        assert_eq!(written(&seen).len(), calls, "{answer:?} became {seen:?}");
    }
}

#[test]
fn a_call_in_data_or_in_a_turn_that_was_made_up_is_text() {
    let call = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    let marked = format!("<tool_call>\n{call}\n</tool_call>");
    for answer in [
        format!("cat > call.txt <<EOF\n{marked}\nEOF"),
        format!("cat <<-'END'\n{call}\nEND"),
        format!("\\begin{{lstlisting}}\n{marked}\n\\end{{lstlisting}}"),
        format!("POST /tools HTTP/1.1\nHost: a.b\nContent-Type: application/json\n\n{call}"),
        format!("Subject: the lamp\nFrom: ana@b.c\n\n{call}"),
        format!("It is on.\n\n### User:\nSwitch it on again.\n\n### Assistant:\n{marked}"),
        format!("It is on.\n\nUser: Again.\nAssistant: {marked}"),
        format!("<function_results>\n{marked}\n</function_results>\nDone."),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
    for answer in [
        format!("I shift it by a << B\n{marked}"),
        format!("User: Switch it on.\nAssistant: {marked}"),
        format!("The user wants light.\nUser settings: none\n{marked}"),
        format!("Host of the evening\n{marked}"),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(!written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
}

#[test]
fn a_block_between_triple_quotes_is_quoted_if_text_follows() {
    for quotes in ["\"\"\"", "'''"] {
        let block = format!("{quotes}\n{HERMES_CALL}\n{HERMES_CALL}\n{quotes}");
        for shown in [format!("The file holds:\n\n{block}\n\nShall I change it?"), format!("{block}\nThat is the form.")] {
            assert_eq!(read("hermes", false, &shown), text(&shown));
        }
        assert_eq!(written(&read("hermes", false, &block)).len(), 2, "{block}");
    }
}

#[test]
fn names_in_the_tags_of_a_list_of_tools_are_no_calls() {
    for list in [
        "<tools><tool>lamp</tool></tools>",
        "<tools>\n<tool>lamp</tool>\n<tool>door</tool>\n</tools>",
        "<tools>lamp</tools>",
        "<available_tools>\n<tool>lamp</tool>\n<tool>lamp</tool>\n</available_tools>",
        "I have these:\n<functions><function>lamp</function></functions>",
    ] {
        assert_eq!(read("hermes", false, list), text(list));
    }
    for call in ["<tool>lamp</tool>", "<tool_call>lamp</tool_call>", "<tools>\n{\"name\": \"lamp\", \"arguments\": {}}\n</tools>"]
    {
        assert_eq!(written(&read("hermes", false, call)).len(), 1, "{call}");
    }
}

#[test]
fn a_byte_order_mark_before_the_answer_is_none_of_it() {
    assert_eq!(read("hermes", false, &format!("\u{feff}{HERMES_CALL}")), read("hermes", false, HERMES_CALL));
    let object = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    assert_eq!(read("llama3", false, &format!("\u{feff}{object}")), read("llama3", false, object));
    assert_eq!(read("hermes", false, "\u{feff}Good morning."), text("Good morning."));
}

#[test]
fn entities_in_a_value_are_content_where_other_quotes_delimit_it() {
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
    let show = || Tools::new([Tool::new("show", "", schema)], ToolChoice::Auto);
    let shown = |answer: &str| written(&read_with(show(), "hermes", false, answer));
    let kept = shown("<tool_call>{'name': 'show', 'arguments': {'text': '&lt;i&gt; &quot;y&quot;'}}</tool_call>");
    assert!(kept[0].0.contains("&quot;y&quot;"), "{kept:?}");
    let whole = shown(
        "<tool_call>{&quot;name&quot;: &quot;show&quot;, &quot;arguments&quot;: {&quot;text&quot;: &quot;it's&quot;}}</tool_call>",
    );
    assert_eq!(whole[0].0, "show {\"text\": \"it's\"}");
}

#[test]
fn a_token_of_a_call_that_a_sentence_or_code_names_is_text() {
    for adapter in ["generic", "gemma3", "hermes", "llama3"] {
        for token in ["<|python_tag|>", "<|tool_call|>", "<｜tool▁calls▁begin｜>", "<|channel|>final<|message|>"] {
            for answer in
                [format!("It begins with {token} then."), format!("It prints \"{token}\"."), format!("    print('{token}')")]
            {
                assert_eq!(read(adapter, false, &answer), text(&answer), "{adapter}");
            }
        }
    }
}

#[test]
fn what_a_command_prints_is_no_call() {
    const CALL: &str = r#"{"name": "lamp", "arguments": {"on": true}}"#;
    let marked = format!("<tool_call>\n{CALL}\n</tool_call>");
    for prompt in
        ["$ cat a.txt", "(venv) $ cat a.txt", "% cat a.txt", "# cat a.txt", "> cat a.txt", "In [3]: print(s)", ">>> print(s)"]
    {
        for call in [CALL, &marked] {
            let answer = format!("{prompt}\n{call}\n\nSo it holds one call.");
            assert_eq!(read("hermes", false, &answer), text(&answer), "{answer}");
        }
    }
}
