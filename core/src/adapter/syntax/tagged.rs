//! Reads a name, then one tag for each argument: `<function=f><parameter=k>v</parameter></function>`,
//! `<invoke name="f"><parameter name="k">v</parameter></invoke>`, `f<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::{
    Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    assignments::{self, Values, assignments, ends_quoted},
    element::Element,
    entities::are_escaped,
    field::{attribute, whole_attribute},
    find_any,
    members::object,
    starts_with_any, torn_arguments,
    typing::Types,
};
use crate::{
    adapter::Tagged,
    fix::name::{is_known, known_tool},
    reader::{
        End,
        tags::{self, Arguments, Body, Cut, Form, Got, State},
    },
};

mod in_tag;
pub(super) mod markers;

use markers::{Head, Markers, named_closers};

/// Reads one call.
pub(crate) fn read(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let step = read_as(text, tagged, false, context);
    match &step {
        Step::Done { calls, .. } if tagged.entities && calls.iter().any(|call| are_escaped(&call.arguments)) => {
            read_as(text, tagged, true, context)
        }
        _ => step,
    }
}

/// Reads one call. `decodes`: its values are escaped.
fn read_as(text: &str, tagged: &Tagged, decodes: bool, context: Context<'_>) -> Step {
    let form = Markers { tagged, context, name: "", types: None, decodes };
    match form.head(text, context.end) {
        Seen::Yes(head) => {
            let types = Types::new(known_tool(context.tools, &head.name));
            let form = Markers { name: &head.name, types: Some(&types), ..form };
            Call { text, form, types: &types, lone: head.lone, special: false, start: head.body, key: None, given: Vec::new() }
                .read(&head)
                .unwrap_or_else(|step| step)
        }
        Seen::Maybe if context.end => Step::nameless(),
        Seen::Maybe => Step::More,
        Seen::No => Step::Reject,
    }
}

/// Reads a call whose name is known. Its arguments begin at `start`, in the form's own tags, and a special token closes it.
pub(crate) fn headed(text: &str, name: &str, start: usize, tagged: &Tagged, context: Context<'_>) -> Step {
    let types = Types::new(known_tool(context.tools, name));
    let form = Markers { tagged, context, name, types: Some(&types), decodes: false };
    let call = Call { text, form, types: &types, lone: false, special: true, start, key: None, given: Vec::new() };
    call.finish(call.cut(&call.form))
}

/// The name, if it is there.
pub(crate) fn name(text: &str, tagged: &Tagged, context: Context<'_>) -> Option<String> {
    let form = Markers { tagged, context, name: "", types: None, decodes: false };
    if let Seen::Yes(head) = form.head(text, context.end) { Some(head.name) } else { None }
}

/// A call whose head was read.
struct Call<'a> {
    text: &'a str,
    form: Markers<'a>,
    types: &'a Types,
    /// The name is a lone word.
    lone: bool,
    /// A special token closes the call.
    special: bool,
    /// Where the arguments begin, the first of them if its tag was read with the head, and those in the head.
    start: usize,
    key: Option<&'a str>,
    given: Vec<(String, String)>,
}

/// Why the arguments are not read.
enum Unread {
    /// More text decides.
    More,
    /// They are none.
    Other,
    /// The text ended in them. `closed`: only what surrounds them is open.
    Cut { arguments: String, closed: bool },
}

/// How the arguments are written.
enum Written {
    /// In the form's own tags, or as JSON.
    Tags,
    /// As elements named after the parameters.
    Elements,
    /// As assignments, from this offset on.
    Lines(usize),
}

impl<'a> Call<'a> {
    fn read(mut self, head: &'a Head) -> Result<Step, Step> {
        self.enter(head)?;
        let written = if head.key.is_some() { Written::Tags } else { self.begin(head.body).ok_or(Step::More)? };
        self.key = head.key.as_deref();
        let Markers { tagged, context, name, .. } = self.form;
        let element = Element { name, types: self.types, tagged, context };
        let got = match written {
            Written::Lines(from) => self.lines(from),
            Written::Elements => self.cut(&element),
            Written::Tags => self.cut(&self.form),
        };
        Ok(self.finish(got))
    }

    /// What was read, as a step.
    fn finish(&self, got: Result<Got, Unread>) -> Step {
        let Markers { context, name, .. } = self.form;
        match got {
            Err(Unread::More) => Step::More,
            Err(Unread::Cut { .. }) | Ok(Got::Damaged { .. }) if self.lone && !is_known(context.tools, name) => Step::Reject,
            Err(Unread::Cut { arguments, closed }) => Step::Cut { whole: Vec::new(), cut: Parsed::new(name, arguments), closed },
            Err(Unread::Other) => Step::Reject,
            Ok(Got::Damaged { arguments, why, end }) => {
                Step::Torn { whole: Vec::new(), torn: Parsed::new(name, arguments), why, end }
            }
            Ok(Got::Whole { arguments, end } | Got::Late { arguments, end }) => self.done(arguments, end),
        }
    }

    /// The arguments are complete, and the text goes on at `end`.
    fn done(&self, arguments: String, end: usize) -> Step {
        let Call { text, form, .. } = self;
        let Markers { context, name, .. } = *form;
        if arguments == "{}" {
            match form.twin(&text[end..], name) {
                Start::Maybe => return Step::More,
                // The head is written twice, and the second one counts.
                Start::Yes(_) => return Step::Done { calls: Vec::new(), end },
                Start::No => {}
            }
            // A name alone in a fence is a command or a list item. What opens the call may also open a parameter, and this is one
            // without a value.
            if context.call.whole_answer || form.opens_as_argument() {
                return Step::Reject;
            }
        }
        // The fence around a call without closing markers ends it.
        let at = end + gap(&text[end..]);
        let around = context.call.whole_answer.then(|| starts_with_any(&text[at..], context.close, true));
        let end = if let Some(Start::Yes(length)) = around { at + length } else { end };
        Step::done(Parsed::new(name, arguments), end)
    }

    /// Reads the arguments up to the ends that have arrived.
    fn cut(&self, form: &dyn Form) -> Result<Got, Unread> {
        let Call { text, types, start, key, .. } = *self;
        let Context { end: over, cut, marked, .. } = self.form.context;
        let read_to = |end: usize| Arguments::read(&text[..end], start, key, &self.given, form, types);
        let read = |end: End| {
            let arguments = read_to(end.begin);
            let object = arguments.object();
            let closes = end.next > end.begin;
            match arguments.state {
                State::Between if arguments.is_empty() && !closes && !marked => None,
                State::Between if arguments.is_damaged(types) => Some(Got::damaged(object, end.next)),
                State::Between if arguments.is_foreign() && !closes => None,
                // A later end may be that of the value's own closing tag.
                State::Between if arguments.is_foreign() || arguments.is_unbalanced() => {
                    Some(Got::Late { arguments: object, end: end.next })
                }
                State::Between | State::Json { closed: true, .. } => Some(Got::Whole { arguments: object, end: end.next }),
                State::Value { plain: true, .. } if closes && !arguments.is_damaged(types) => {
                    Some(Got::Late { arguments: object, end: end.next })
                }
                _ => None,
            }
        };
        let ends = match tags::cut(Body { text, start, end: over, cut, special: self.special }, form, read) {
            Cut::Read(got) => return Ok(got),
            Cut::More => return Err(Unread::More),
            Cut::Unread(ends) => ends,
        };
        let read = read_to(text.len());
        let object = read.object();
        if form.open_ended() && !read.is_empty() {
            match &read.state {
                State::Between if read.has_all(types) => return Ok(Got::Whole { arguments: object, end: text.len() }),
                State::Json { closed: true, .. } => return Ok(Got::Whole { arguments: object, end: text.len() }),
                _ => {}
            }
        }
        let open = || object.strip_suffix('}').unwrap_or(&object);
        let (arguments, closed) = match (&read.state, ends.filter(|_| !cut)) {
            (State::Junk, _) => return Err(Unread::Other),
            (_, Some([_, last])) => return Ok(Got::damaged(object, last.next)),
            (State::Between, _) if read.is_empty() && !marked => return Err(Unread::Other),
            (State::Between, _) if read.are_closed(types) && marked => (object, true),
            // The space tells the fixer that the last value is complete, because its tag closed.
            (State::Between, _) if !read.is_empty() && marked => (format!("{} ", open()), false),
            (State::Json { closed: true, .. }, _) => (open().to_owned(), false),
            (State::Json { .. }, _) => (object, false),
            (State::Value { before, .. }, _) => (torn_arguments(before), false),
            _ => (torn_arguments(&object), false),
        };
        Err(Unread::Cut { arguments, closed })
    }

    /// Reads what is in the head. `Err`: the call ends with it.
    fn enter(&mut self, head: &Head) -> Result<(), Step> {
        if let Some(object) = whole_attribute(&head.attributes) {
            return Err(Step::done(Parsed::new(head.name.as_str(), object), head.body));
        }
        let attributes = head.attributes.trim_end_matches('/');
        match assignments(attributes, self.types, Values::Free) {
            Ok(mut pairs) => {
                // Families whose arguments have types in their tags number the calls here.
                pairs.retain(|(key, _)| key != "index" || self.form.tagged.type_attribute.is_none());
                self.given = pairs;
            }
            // There is a parameter that cannot be read.
            Err(_) if self.types.keys().any(|key| attribute(attributes, key).is_some()) => return Err(Step::Reject),
            Err(_) => {}
        }
        if head.closed {
            return Err(Step::done(Parsed::new(head.name.as_str(), object(&self.given)), head.body));
        }
        Ok(())
    }

    /// Reads assignments, which begin at `from`.
    fn lines(&mut self, from: usize) -> Result<Got, Unread> {
        let Call { text, types, form, .. } = self;
        let context = form.context;
        let closers: Vec<String> = closers(context).chain(named_closers(form.name, context.call)).collect();
        let Some((begin, end)) = find_any(text, from, &closers) else {
            return if context.end { self.open_lines(from) } else { Err(Unread::More) };
        };
        let values = if context.call.whole_answer { Values::Lines } else { Values::Free };
        match assignments(&text[from..begin], types, values) {
            Ok(pairs) => self.given.extend(pairs),
            Err(assignments::Unread::Unclear) if context.marked => {
                let why = "it is not clear where a value of several lines begins and ends";
                return Ok(Got::Damaged { arguments: object(&self.given), why, end });
            }
            Err(_) => return Err(Unread::Other),
        }
        Ok(Got::Whole { arguments: object(&self.given), end })
    }

    /// Reads assignments that only the end of the answer closed: the last value has its own end, or no parameter is missing that
    /// could follow.
    fn open_lines(&mut self, from: usize) -> Result<Got, Unread> {
        let Call { text, types, form, .. } = self;
        let body = &text[from..];
        let pairs = assignments(body, types, Values::Lines).ok().filter(|_| form.open_ended()).unwrap_or_default();
        let given = || pairs.iter().map(|(key, _)| key.as_str());
        // Elsewhere a list of parameters may describe the tool.
        let all = form.context.lenient && types.keys().all(|key| given().any(|given| given == key));
        if pairs.is_empty() || !types.take(given()) || !(all || ends_quoted(body, types)) {
            return Err(Unread::Cut { arguments: UNFINISHED.to_owned(), closed: false });
        }
        self.given.extend(pairs);
        Ok(Got::Whole { arguments: object(&self.given), end: text.len() })
    }

    /// How the arguments after the head, which ends at `from`, are written. `None`: more text is needed.
    fn begin(&mut self, mut from: usize) -> Option<Written> {
        let Call { text, types, form, .. } = self;
        let Markers { tagged, context, name, .. } = *form;
        let at = loop {
            let at = from + gap(&text[from..]);
            if may_be_gap(&text[at..], context.end) {
                return None;
            }
            match starts_with_any(&text[at..], &tagged.skip, context.end) {
                Start::Yes(length) => from = at + length,
                Start::Maybe => return None,
                Start::No => break at,
            }
        };
        self.start = from;
        let rest = &text[at..];
        match [form.argument_begins(rest, context.end), form.close(rest, context.end)] {
            [Start::Maybe, _] | [_, Start::Maybe] => return None,
            [Start::Yes(_), _] | [_, Start::Yes(_)] => return Some(Written::Tags),
            [Start::No, Start::No] => {}
        }
        match (Element { name, types, tagged, context }.argument_begins(rest, context.end)) {
            Start::Maybe => return None,
            Start::Yes(_) => {
                self.start = at;
                return Some(Written::Elements);
            }
            Start::No => {}
        }
        let word = rest.find(|c: char| !(c.is_alphanumeric() || "_-. \t".contains(c)));
        match (word, assignments::key(rest, types)) {
            (None, _) if !context.end && rest.len() < WORD_BYTES => None,
            // The indentation of the first line belongs to it.
            (_, Some(_)) if context.marked || context.call.whole_answer => {
                Some(Written::Lines(text[..at].trim_end_matches(' ').len()))
            }
            _ => Some(Written::Tags),
        }
    }
}

/// What closes a call, or the section around it.
fn closers(context: Context<'_>) -> impl Iterator<Item = String> {
    context.close.iter().chain(&context.call.section_close).cloned()
}

#[cfg(test)]
mod tests;
