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
fn read(tools: &Arc<Tools>, reader: &[void::Tool], deltas: &[&str], reason: FinishReason) -> (void::Read, String) {
    let mut shape = Shape::new(Kind::VoidXml, Arc::clone(tools), true);
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
            let (read, sent) = read(&tools, &reader, deltas, reason);
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
        let (sse, _) = stream(Kind::VoidXml, &tools, &events);
        assert_eq!(
            void::read_xml(&sse, &reader).call,
            Some(("rewrite_file".into(), as_strings(&arguments))),
            "{before:?} {value:?}"
        );
    }
}
