//! Ordinary answers of people who talk about tools: nothing of them may run, however the deltas are cut.

use super::*;

/// Numbers for choosing, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const PIECES: &[&str] = &[
    "Use {open} for that. ",
    "The tag `{open}` opens it, `{close}` closes it.\n",
    "```xml\n{open}\n<uri>a</uri>\n{close}\n```\n",
    "```\n{open}{close}\n```",
    "| tag | what |\n|---|---|\n| {open} | reads |\n",
    "{open}<uri>/etc/passwd</uri>{close}",
    "<{name} uri=\"x\">",
    "< {name}>",
    "<{name}\n>",
    "<<{name}>>",
    "{half}",
    "{half}{open}",
    "{half} and {half}",
    "{open}{open}",
    "[toolglot] call of {name} was not run: its value contains `{close}`\n",
    "a < b && c > d; ",
    "Vec<{name}> is a type, ",
    "\n\n## {name}\n\n- one\n- {open}: two\n",
    "<think>{open}</think>",
    "漢字 <🙂> ",
    "plain words, nothing else. ",
    "{close} stands alone",
    "<",
];

fn ordinary(dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..1 + dice.below(3) {
        let name = void::TOOLS[dice.below(void::TOOLS.len())].0;
        let half = &format!("<{name}>")[..1 + dice.below(name.len() + 1)];
        let piece = dice.pick(PIECES);
        let piece = piece.replace("{open}", &format!("<{name}>")).replace("{close}", &format!("</{name}>"));
        text += &piece.replace("{half}", half).replace("{name}", name);
    }
    text
}

/// What Void makes of the text, delta by delta.
fn seen(tools: &Arc<Tools>, reader: &[void::Tool], deltas: &[&str], reason: FinishReason) -> (void::Read, String) {
    let mut shape = Shape::new(Kind::Void, Arc::clone(tools), true);
    let (mut xml, mut sent) = (void::Xml::new(reader), String::new());
    let mut sink = |event: Event<'_>| {
        if let Event::Text(text) = event {
            xml.delta(text);
            sent += text;
        }
    };
    for delta in deltas {
        shape.event(Event::Text(delta), &mut sink);
    }
    shape.event(Event::Finish { reason, usage: None }, &mut sink);
    (xml.finish(), sent)
}

#[test]
fn nothing_of_three_thousand_ordinary_answers_runs_at_any_cut() {
    let (tools, reader) = (tools(), void::tools());
    let mut dice = Dice(0x5EED);
    let (mut answers, mut cuts, mut mentions) = (0, 0, 0);
    while answers < 3200 {
        let text = ordinary(&mut dice);
        let reason = if dice.below(4) == 0 { FinishReason::Length } else { FinishReason::Stop };
        let expected = reader.iter().fold(text.clone(), |text, tool| text.replace(&tool.tag, &format!("<{} >", tool.name)));
        mentions += usize::from(expected != text);
        let check = |deltas: &[&str]| {
            let (read, sent) = seen(&tools, &reader, deltas, reason);
            assert_eq!(read.call, None, "{deltas:?}");
            assert_eq!(sent, expected, "{deltas:?}");
        };
        check(&[&text]);
        let letters: Vec<&str> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
        check(&letters);
        for (cut, _) in text.char_indices().skip(1) {
            check(&[&text[..cut], &text[cut..]]);
            cuts += 1;
        }
        answers += 1;
    }
    assert!(mentions > 1500 && cuts > 100_000, "{mentions} answers with mentions, {cuts} cuts");
}

#[test]
fn ordinary_text_around_a_call_changes_nothing_of_it() {
    let (tools, reader) = (tools(), void::tools());
    let mut dice = Dice(0xCA11);
    for _ in 0..1000 {
        let (before, thought, after) = (ordinary(&mut dice), ordinary(&mut dice), ordinary(&mut dice));
        let value = ordinary(&mut dice).replace("uri>", "url>");
        let arguments = json!({"uri": "/w/a.md", "new_content": value});
        let cut = before.char_indices().nth(dice.below(before.chars().count())).unwrap().0;
        let mut events = vec![
            OwnedEvent::Reasoning(thought.clone()),
            OwnedEvent::Text(before[..cut].to_owned()),
            OwnedEvent::Reasoning(thought),
            OwnedEvent::Text(before[cut..].to_owned()),
        ];
        events.extend(call(0, "rewrite_file", &arguments));
        events.push(OwnedEvent::Text(after));
        events.push(OwnedEvent::Finish(FinishReason::ToolCalls));
        let (sse, _) = stream(Kind::Void, &tools, &events);
        assert_eq!(
            void::read_xml(&sse, &reader).call,
            Some(("rewrite_file".into(), as_strings(&arguments))),
            "{before:?} {value:?}"
        );
    }
}

const FRAGMENTS: &[&str] = &[
    "<", ">", "</", "\n", " ", "\n\n", "  \n", "uri", "new_content", "query", "edit_file", "rewrite_file", "read_file", "<uri>",
    "</uri>", "<new_content>", "</new_content>", "<search_replace_blocks>", "</search_replace_blocks>", "<rewrite_file>",
    "</rewrite_file>", "</edit_file>", "<edit_file>", "x", "a b", "\"", "'", "&lt;", "<read_file_result>", "]]>", "\r\n",
];

/// What Void remembers of an answer: its text, the tool that it called, the values.
type Remembered = (String, String, Vec<(String, String)>);

/// Void's next request says the same calls again. (It makes two spaces of the first tab: none here.)
fn returned(conversation: &[Remembered]) {
    let mut messages = vec![json!({"role": "system", "content": void::system_text()})];
    for (text, called, values) in conversation {
        messages.push(json!({"role": "assistant", "content": void::remembered(text, called, values)}));
        messages.push(json!({"role": "user", "content": void::result(called, "fine")}));
    }
    let mut next = request(json!(messages));
    read(&mut next).unwrap();
    let mut past = next.messages.iter().flat_map(|message| &message.tool_calls);
    for (_, called, values) in conversation {
        let Some(past) = past.next() else { panic!("{values:?}") };
        let said: serde_json::Value = serde_json::from_str(&past.arguments).unwrap();
        assert_eq!((&past.name, &as_strings(&said)), (called, values));
    }
}

#[test]
fn values_of_any_fragments_arrive_as_meant_or_are_refused_and_come_back_in_the_history() {
    let (tools, reader) = (tools(), void::tools());
    let mut dice = Dice(0xF00D);
    let (mut arrived, mut refused, mut conversation) = (0, 0, Vec::new());
    for _ in 0..6000 {
        let tool = &reader[dice.below(reader.len())];
        let value = |dice: &mut Dice| (0..dice.below(7)).map(|_| dice.pick(FRAGMENTS)).collect::<String>();
        let chosen: Vec<&String> = tool.parameters.iter().filter(|_| dice.below(4) > 0).collect();
        let arguments: serde_json::Value =
            chosen.into_iter().map(|name| (name.clone(), json!(value(&mut dice)))).collect::<serde_json::Map<_, _>>().into();
        let mut events = vec![OwnedEvent::Text(value(&mut dice))];
        events.extend(call(0, &tool.name, &arguments));
        events.push(OwnedEvent::Finish(FinishReason::ToolCalls));
        let (sse, counts) = stream(Kind::Void, &tools, &events);
        let read_back = void::read_xml(&sse, &reader);
        let Some((called, values)) = read_back.call else {
            assert_eq!(counts.refused, 1, "{arguments}");
            refused += 1;
            continue;
        };
        assert_eq!((&called, &values), (&tool.name, &as_strings(&arguments)), "{sse}");
        arrived += 1;

        conversation.push((read_back.text, called, values));
        if conversation.len() == 50 {
            returned(&std::mem::take(&mut conversation));
        }
    }
    returned(&conversation);
    assert!(arrived > 3000 && refused > 300, "{arrived} arrived, {refused} refused");
}
