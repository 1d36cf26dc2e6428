//! Refused calls, announced actions, and what the client sees of them.

use super::*;
use crate::{
    client::{shape, workspace::Workspace},
    event::{Input, Tool, ToolChoice},
};

/// The gate of an answer that nothing precedes, without tools.
fn gate(policy: Policy) -> Gate {
    again(policy, None)
}

/// The gate of an answer for which the model was asked again.
fn again(policy: Policy, because: Option<Reask>) -> Gate {
    Gate::new(policy, Carrier::default(), Arc::default(), Before { because, ..Before::default() })
}

/// The model was asked about this call.
fn asked_about(name: &str, raw: &str) -> Option<Reask> {
    Some(Reask::Refused { name: name.into(), why: Why::Quoted, raw: raw.into(), written: raw.into() })
}

fn delivered(policy: Policy, events: &[Event<'_>]) -> (Vec<String>, Option<Reask>) {
    delivered_by(gate(policy), events)
}

fn delivered_by(mut gate: Gate, events: &[Event<'_>]) -> (Vec<String>, Option<Reask>) {
    let mut calls = Vec::new();
    for event in events {
        gate.event(event.clone(), &mut |event: Event<'_>| {
            if let Event::Call(call) = event {
                calls.push(call.arguments.to_owned());
            }
        });
    }
    (calls, gate.outcome().1)
}

#[test]
fn a_doubt_that_was_asked_about_is_delivered_the_second_time() {
    let why = Why::Unsure("a backslash".into());
    let refused = Event::Refused { name: "write", why: &why, raw: r#"{"path":"a"}"#, written: r#"{"path":"a"}"# };
    let (calls, reask) = delivered(Policy { may_reask: true, ..Policy::default() }, std::slice::from_ref(&refused));
    assert_eq!((calls.len(), matches!(reask, Some(Reask::Refused { raw, .. }) if raw == r#"{"path":"a"}"#)), (0, true));
    let (calls, reask) = delivered(Policy::default(), std::slice::from_ref(&refused));
    assert_eq!((calls, reask), (vec![r#"{"path":"a"}"#.to_owned()], None));
    // Nothing that comes after a delivered call is asked for again, and it is not lost.
    let first = [Event::Call(Call::new(0, "read", "{}")), refused];
    let (calls, reask) = delivered(Policy { may_reask: true, ..Policy::default() }, &first);
    assert_eq!((calls, reask), (vec!["{}".to_owned(), r#"{"path":"a"}"#.to_owned()], None));
}

#[test]
fn a_guess_is_delivered_only_if_the_model_writes_it_again() {
    let why = Why::Guess("an unescaped quote".into());
    let refused = Event::Refused { name: "write", why: &why, raw: r#"{"path":"a"}"#, written: r#"{"path":"a}"# };
    let (calls, reask) = delivered(Policy { may_reask: true, ..Policy::default() }, std::slice::from_ref(&refused));
    assert_eq!((calls.len(), matches!(reask, Some(Reask::Refused { .. }))), (0, true));
    let (calls, reask) = delivered(Policy::default(), std::slice::from_ref(&refused));
    assert_eq!((calls, reask), (Vec::<String>::new(), None), "nobody can be asked: a notice");
    for (about, count) in [(r#"{"path":"a"}"#, 1), (r#"{"path":"b"}"#, 0)] {
        let mut gate = again(Policy::default(), asked_about("write", about));
        let mut seen = 0;
        gate.event(
            Event::Refused { name: "write", why: &why, raw: r#"{"path":"a"}"#, written: r#"{"path":"a"}"# },
            &mut |event: Event<'_>| seen += usize::from(matches!(event, Event::Call(_))),
        );
        assert_eq!(seen, count, "{about}");
    }
}

#[test]
fn a_path_out_of_the_workspace_is_asked_about_once() {
    let workspace = Workspace::new("/w/demo", Vec::new(), Vec::new(), "Create the folder docs.".into());
    let tool = crate::event::Tool { name: "create".into(), paths: vec!["uri".into()], ..Default::default() };
    let tools = Arc::new(Tools::new([tool], Default::default()));
    let carrier = shape::Shape::new(shape::Kind::Native, tools, false).within(workspace.map(Arc::new)).carrier();
    let answer_after = |policy: Policy, because: Option<Reask>, uri: &str| {
        let arguments = serde_json::json!({"uri": uri}).to_string();
        // What it was asked about before counts for guesses alone.
        let mut gate = again(policy, because.or(asked_about("create", &arguments)));
        gate.carrier = carrier.clone();
        let mut came = Vec::new();
        gate.event(Event::Call(Call::new(0, "create", &arguments)), &mut |event: Event<'_>| {
            if let Event::Call(call) = event {
                came.push(call.arguments.to_owned());
            }
        });
        (came.concat(), gate.outcome().1)
    };
    let answer = |policy: Policy, uri: &str| answer_after(policy, None, uri);
    let first = Policy { may_reask: true, ..Policy::default() };
    let (came, reask) = answer(first, "/w/docs");
    assert!(came.is_empty() && matches!(reask, Some(Reask::Refused { why: Why::Unsure(what), .. }) if what.contains("/w/demo")));
    // A model that insists may have a reason.
    assert_eq!(answer(Policy::default(), "/w/docs"), (r#"{"uri":"/w/docs"}"#.to_owned(), None));
    assert_eq!(answer(first, "docs"), (r#"{"uri":"/w/demo/docs"}"#.to_owned(), None));
    // Nobody is asked twice for the call alone.
    assert_eq!(answer_after(first, Some(Reask::Announced), "/w/docs").0, r#"{"uri":"/w/docs"}"#);
}

#[test]
fn a_refused_call_beside_a_delivered_one_is_told() {
    let why = Why::Malformed("a quote".into());
    let call = |index, name| [Event::Call(Call::new(index, name, "{}"))];
    let refused = || Event::Refused { name: "write", why: &why, raw: "{", written: "{" };
    let seen = |events: Vec<Event<'_>>| {
        let mut gate = gate(Policy { may_reask: true, ..Policy::default() });
        let mut seen = Vec::new();
        for event in events {
            gate.event(event, &mut |event: Event<'_>| match event {
                Event::Text(text) => seen.push(text.to_owned()),
                Event::Call(call) => seen.push(format!("<{}>", call.name)),
                Event::Finish { reason, .. } => seen.push(format!("{reason:?}")),
                _ => {}
            });
        }
        (seen.concat(), gate.outcome())
    };
    let finish = || Event::Finish { reason: FinishReason::Stop, usage: None };
    let notice = "[toolglot] call of write was not run: its arguments are not valid JSON: a quote\n";
    let (text, outcome) = seen(call(0, "read").into_iter().chain([Event::Text("So"), refused(), finish()]).collect());
    assert_eq!((text, outcome), (format!("<read>{notice}ToolCalls"), (1, None, vec![])));
    let before = [Event::Text("I read.")].into_iter().chain(call(0, "read"));
    let (text, outcome) = seen(before.chain([refused()]).chain(call(1, "list")).chain([finish()]).collect());
    assert_eq!((text, outcome), (format!("I read.<read>\n{notice}<list>ToolCalls"), (2, None, vec![])));
}

#[test]
fn an_announced_action_is_asked_for_and_then_only_a_call_counts() {
    let finish = || Event::Finish { reason: FinishReason::Stop, usage: None };
    let answer_after = |policy: Policy, because: Option<Reask>, events: &[Event<'_>]| {
        let mut gate = again(policy, because);
        let (mut text, mut ended) = (String::new(), false);
        for event in events {
            gate.event(event.clone(), &mut |event: Event<'_>| match event {
                Event::Text(piece) => text.push_str(piece),
                Event::Finish { .. } => ended = true,
                _ => {}
            });
        }
        (text, ended, gate.outcome())
    };
    let answer = |policy: Policy, events: &[Event<'_>]| answer_after(policy, None, events);
    let first = Policy { may_reask: true, nudges: Nudges::Announced, notice_when_empty: true, ..Policy::default() };
    let announced = [Event::Text("I'll search "), Event::Text("the files."), finish()];
    let (text, ended, (_, reask, _)) = answer(first, &announced);
    assert_eq!((text.as_str(), ended, reask), ("I'll search the files.", false, Some(Reask::Announced)));
    let advice = "You can use the following command: rm a";
    let ordered = answer(Policy { nudges: Nudges::Ordered, ..first }, &[Event::Text(advice), finish()]);
    assert_eq!(ordered, (advice.into(), false, (0, Some(Reask::Announced), vec![])));
    for (policy, said) in [
        (first, advice),
        (Policy { nudges: Nudges::Ordered, ..first }, "Do you want me to delete it?"),
        (first, "Hello! How can I help?"),
        (Policy { may_reask: false, ..first }, "I'll search the files."),
        (Policy { nudges: Nudges::Never, ..first }, "I'll search the files."),
    ] {
        let (text, ended, (_, reask, _)) = answer(policy, &[Event::Text(said), finish()]);
        assert_eq!((text.as_str(), ended, reask), (said, true, None));
    }
    let cut = [Event::Text("I'll search"), Event::Finish { reason: FinishReason::Length, usage: None }];
    assert_eq!(answer(first, &cut).2.1, None);

    let second = |events: &[Event<'_>]| {
        let policy = Policy { notice_when_empty: true, ..Policy::default() };
        answer_after(policy, Some(Reask::Announced), events)
    };
    let events = [Event::Text("Here:\n"), Event::Call(Call::new(0, "read", "{}")), finish()];
    let (text, ended, outcome) = second(&events);
    assert_eq!((text.as_str(), ended, outcome), ("", true, (1, None, vec![])));
    let why = Why::Schema("no".into());
    let refused = [Event::Refused { name: "read", why: &why, raw: "{}", written: "{}" }, Event::Text("None."), finish()];
    assert_eq!(second(&refused), (String::new(), true, (0, None, vec![])));
}

#[test]
fn nobody_is_asked_after_a_call_that_was_delivered() {
    let mut repeats = Repeats::default();
    repeats.next_answer();
    repeats.note("read", "{}", true, crate::plan::Ended::Well);
    let mut gate = gate(Policy { may_reask: true, ..Policy::default() });
    gate.tools = Arc::new(Tools::new([Tool::new("write", "", "{}")], ToolChoice::Auto));
    gate.before.repeats = repeats;
    for event in [
        Event::Reasoning("I write it."),
        Event::Call(Call::new(0, "write", "{}")),
        Event::Text("I'm sorry, but I can't help with that."),
        Event::Finish { reason: FinishReason::Stop, usage: None },
    ] {
        gate.event(event, &mut |_: Event<'_>| {});
    }
    let (delivered, reask, _) = gate.outcome();
    assert_eq!((delivered, reask), (1, None));
}

#[test]
fn a_question_about_a_file_is_answered_only_with_a_call_that_reads() {
    let reads = Tool { effect: Effect::Reads, ..Tool::new("read", "", "{}") };
    let tools = Arc::new(Tools::new([reads, Tool::new("write", "", "{}")], ToolChoice::Auto));
    let first = Policy { may_reask: true, nudges: Nudges::Announced, ..Policy::default() };
    let outcome = |policy: Policy, because: Option<Reask>, unread: Option<&str>, events: &[Event<'_>]| {
        let mut gate = again(policy, because);
        let words = unread.map(|file| format!("What does {file} do?")).unwrap_or_default();
        let workspace = Workspace::new("/w", Vec::new(), Vec::new(), words).unwrap().with_listed(vec!["a.rs".into()]);
        gate.tools = Arc::clone(&tools);
        let shape = shape::Shape::new(shape::Kind::Native, Arc::clone(&tools), false);
        gate.carrier = shape.within(Some(Arc::new(workspace))).carrier();
        let mut calls = 0;
        for event in events {
            gate.event(event.clone(), &mut |event: Event<'_>| calls += usize::from(matches!(event, Event::Call(_))));
        }
        (calls, gate.outcome().1)
    };
    let finish = || Event::Finish { reason: FinishReason::Stop, usage: None };
    let said = [Event::Text("It starts a server."), finish()];
    assert_eq!(outcome(first, None, Some("a.rs"), &said), (0, Some(Reask::Unread("a.rs".into()))));
    assert_eq!(outcome(first, None, None, &said), (0, None));
    let second = |name| {
        let call = [Event::Call(Call::new(0, name, "{}")), finish()];
        outcome(Policy::default(), Some(Reask::Unread("a.rs".into())), None, &call)
    };
    assert_eq!((second("read"), second("write")), ((1, None), (0, None)));
}

#[test]
fn a_demanded_call_is_asked_for_once() {
    let demanded = |policy: Policy, because: Option<Reask>, choice: ToolChoice| {
        let mut gate = again(policy, because);
        gate.tools = Arc::new(Tools::new([Tool::new("add", "", "{}")], choice));
        gate
    };
    let outcome = |mut gate: Gate, said: &str, reason| {
        for event in [Event::Text(said), Event::Finish { reason, usage: None }] {
            gate.event(event, &mut |_: Event<'_>| {});
        }
        gate.outcome().1
    };
    let policy = Policy { may_reask: true, ..Policy::default() };
    let first = |policy: Policy| demanded(policy, None, ToolChoice::Required);
    assert_eq!(outcome(first(policy), "Sure.", FinishReason::Stop), Some(Reask::Uncalled));
    assert_eq!(outcome(first(policy), "", FinishReason::ToolCalls), Some(Reask::Uncalled));
    assert_eq!(outcome(first(policy), "Sure.", FinishReason::Length), None);
    assert_eq!(outcome(first(Policy::default()), "Sure.", FinishReason::Stop), None);
    assert_eq!(outcome(demanded(policy, None, ToolChoice::Auto), "Sure.", FinishReason::Stop), None);
    // As often as `retry` allows; a call that does not fit is then delivered, as always.
    let again = |policy: Policy| demanded(policy, Some(Reask::Uncalled), ToolChoice::Required);
    assert_eq!(outcome(again(policy), "Sure.", FinishReason::Stop), Some(Reask::Uncalled));
    let why = Why::Schema("no".into());
    let refused = Event::Refused { name: "add", why: &why, raw: "{}", written: "{}" };
    assert_eq!(delivered_by(again(Policy::default()), &[refused]).0, ["{}"]);
    // A user who has read nothing reads why.
    let mut gate = again(Policy { notice_when_empty: true, ..Policy::default() });
    let mut text = String::new();
    gate.event(Event::Finish { reason: FinishReason::Stop, usage: None }, &mut |event: Event<'_>| {
        if let Event::Text(piece) = event {
            text.push_str(piece);
        }
    });
    assert_eq!(text, "[toolglot] the model's answer was empty\n");
}

#[test]
fn a_patch_in_the_text_is_asked_about_and_delivered_if_the_model_writes_it_again() {
    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+hi\n*** End Patch";
    let patch = Tool { input: Input::Patch, ..Tool::new("apply_patch", "", "{}") };
    let tools = Arc::new(Tools::new([patch], ToolChoice::Auto));
    let after = |may_reask: bool, asked: bool, said: &str| {
        let before = Before { because: asked.then_some(Reask::Silent), ..Before::default() };
        let mut gate = Gate::new(Policy { may_reask, ..Policy::default() }, Carrier::default(), Arc::clone(&tools), before);
        let mut ended = None;
        for event in [Event::Text(said), Event::Finish { reason: FinishReason::Stop, usage: None }] {
            gate.event(event, &mut |event: Event<'_>| {
                if let Event::Finish { reason, .. } = event {
                    ended = Some(reason);
                }
            });
        }
        let (delivered, reask, _) = gate.outcome();
        (delivered, reask.is_some(), ended)
    };
    assert_eq!(after(true, false, PATCH), (0, true, None));
    assert_eq!(after(false, true, PATCH), (1, false, Some(FinishReason::ToolCalls)));
    assert_eq!(after(false, true, &format!("It looks so:\n{PATCH}")), (0, false, Some(FinishReason::Stop)));
    assert_eq!(after(false, false, PATCH), (0, false, Some(FinishReason::Stop)));
    assert_eq!(after(true, false, "Done."), (0, false, Some(FinishReason::Stop)));
}

#[test]
fn a_sentence_of_toolglots_own_question_is_no_command() {
    let mut gate = again(Policy { may_reask: false, ..Policy::default() }, Some(Reask::Silent));
    let arguments = format!("{{\"command\":\"run: {WHOLE_LINE}.\"}}");
    let mut calls = 0;
    let call = [Event::Call(Call::new(0, "run", &arguments)), Event::Finish { reason: FinishReason::Stop, usage: None }];
    for event in call {
        gate.event(event, &mut |event: Event<'_>| calls += usize::from(matches!(event, Event::Call(_))));
    }
    assert_eq!(calls, 0);
}

#[test]
fn a_native_call_without_its_arguments_gives_way_to_the_same_call_in_the_text() {
    let why = Why::Schema("no".into());
    let seen = |arguments: &str, name: &str| {
        let mut gate = gate(Policy { may_reask: true, ..Policy::default() });
        gate.native = true;
        gate.event(Event::Refused { name: "run", why: &why, raw: "{}", written: "{}" }, &mut |_: Event<'_>| {});
        gate.native = false;
        let mut calls = 0;
        let call = Event::Call(Call::new(0, name, arguments));
        gate.event(call, &mut |event: Event<'_>| calls += usize::from(matches!(event, Event::Call(_))));
        (calls, gate.outcome().1.is_some())
    };
    assert_eq!(seen(r#"{"a": 1}"#, "run"), (1, false));
    assert_eq!(seen(r#"{"a": 1}"#, "read"), (0, true));
}

#[cfg(unix)]
#[test]
fn the_time_for_many_calls_of_one_answer_grows_with_their_number() {
    let time = |calls: usize| {
        let now = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        let begun = now();
        let mut written = told::Written::default();
        assert!(!(0..calls).any(|n| written.repeats("read", &format!("{{\"line\":{n}}}"), true)));
        now() - begun
    };
    time(100);
    let (few, many) = (time(2_000), time(20_000));
    assert!(many < 30 * few, "{few} ns for 2,000 calls, {many} ns for 20,000");
}
