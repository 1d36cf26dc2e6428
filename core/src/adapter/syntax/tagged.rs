//! Reads a name, then one tag for each argument: `<function=f><parameter=k>v</parameter></function>`,
//! `<invoke name="f"><parameter name="k">v</parameter></invoke>`, `f<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::{
    Closing, Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    assignments::{self, Values, assignments, ends_quoted},
    element::Element,
    entities::are_escaped,
    field::{attribute, whole_attribute},
    json::introduced,
    members::object,
    starts_with_any, torn_arguments,
    typing::Types,
};
use crate::{
    adapter::Tagged,
    fix::name::{is_known, known_tool},
    reader::{
        End,
        tags::{Arguments, Cutter, Form, Got, State},
    },
};

mod in_tag;
pub(super) mod markers;

use markers::{Head, Markers, named_closers};

/// Reads one call.
#[derive(Debug, Default)]
pub(crate) struct TaggedReader {
    name: Option<String>,
    lone: bool,
    types: Types,
    body: Body,
    cutter: Cutter,
    /// Where the arguments begin, the first of them if its tag was read with the head, and those in the head.
    start: usize,
    key: Option<String>,
    given: Vec<(String, String)>,
    /// The call was read once, and its values are escaped.
    escaped: bool,
}

/// Why the arguments are not read.
enum Unread {
    /// They are none, or more text decides.
    Other,
    /// The text ended in them. `closed`: only what surrounds them is open.
    Cut { arguments: String, closed: bool },
}

/// What follows the head.
#[derive(Debug, Default)]
enum Body {
    /// The head was not read yet.
    #[default]
    Unknown,
    /// It begins at this offset, and its form is not known yet.
    At(usize),
    /// The form's own tags, or JSON.
    Tags,
    /// Elements named after the parameters.
    Elements,
    /// Assignments, which begin there.
    Lines(usize, Closing),
}

impl TaggedReader {
    /// Reads a call whose name is known. Its arguments begin at `body`.
    pub(crate) fn headed(name: String, body: usize, context: Context<'_>) -> TaggedReader {
        let types = Types::new(known_tool(context.tools, &name));
        let cutter = Cutter::special(body);
        TaggedReader { name: Some(name), types, body: Body::Tags, start: body, cutter, ..TaggedReader::default() }
    }

    pub(crate) fn read(&mut self, text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
        let decodes = self.escaped || tagged.entities && tagged.has_escaped_tags();
        let form = Markers { tagged, context, name: "", types: None, decodes };
        let name = match &self.name {
            Some(name) => name.clone(),
            None => match form.head(text, context.end) {
                Seen::Maybe if context.end => return Step::nameless(),
                Seen::Maybe => return Step::More,
                Seen::No => return Step::Reject,
                Seen::Yes(head) => match self.open(head, &form) {
                    Ok(name) => name,
                    Err(done) => return done,
                },
            },
        };
        let types = self.types.clone();
        let form = Markers { name: &name, types: Some(&types), ..form };
        let named = || name.clone();
        if let Body::At(at) = self.body {
            match self.begin(text, at, &name, &form) {
                Some(body) => self.body = body,
                None => return Step::More,
            }
        }
        let element = Element { name: &name, types: &types, tagged, context };
        let got = match &mut self.body {
            Body::Lines(start, closing) => {
                let closers: Vec<String> = closers(context).chain(named_closers(&name, context.call)).collect();
                let (body, found) = (*start, closing.find(text, &closers));
                match found {
                    Some((begin, end)) => self.done_lines(&text[body..begin], end, context),
                    None if context.end => self.end_lines(&text[body..], text.len(), &form),
                    None => return Step::More,
                }
            }
            Body::Elements => self.cut(text, &element, context),
            _ => self.cut(text, &form, context),
        };
        match got {
            Err(_) if !context.end => Step::More,
            Err(Unread::Cut { .. }) | Ok(Got::Damaged { .. }) if self.lone && !is_known(context.tools, &name) => Step::Reject,
            Err(Unread::Cut { arguments, closed }) => {
                Step::Cut { whole: Vec::new(), cut: Parsed::new(named(), arguments), closed }
            }
            Err(Unread::Other) => Step::Reject,
            Ok(Got::Damaged { arguments, why, end }) => {
                Step::Torn { whole: Vec::new(), torn: Parsed::new(named(), arguments), why, end }
            }
            Ok(Got::Whole { arguments, end } | Got::Late { arguments, end }) => self.done(text, named(), arguments, end, &form),
        }
    }

    /// The arguments are complete, and the text goes on at `end`.
    fn done(&self, text: &str, name: String, arguments: String, end: usize, form: &Markers<'_>) -> Step {
        let Markers { tagged, context, .. } = *form;
        if arguments == "{}" {
            match form.twin(&text[end..], &name) {
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
        if tagged.entities && !form.decodes && are_escaped(&arguments) {
            return TaggedReader { escaped: true, ..TaggedReader::default() }.read(text, tagged, context);
        }
        // The fence around a call without closing markers ends it.
        let at = end + gap(&text[end..]);
        let around = context.call.whole_answer.then(|| starts_with_any(&text[at..], context.close, true));
        let end = if let Some(Start::Yes(length)) = around { at + length } else { end };
        let calls = introduced(&name, &arguments, context).unwrap_or_else(|| vec![Parsed::new(name, arguments)]);
        Step::Done { calls, end }
    }

    /// Reads the arguments up to the ends that have arrived.
    fn cut(&mut self, text: &str, form: &dyn Form, context: Context<'_>) -> Result<Got, Unread> {
        let (types, start, key, given) = (&self.types, self.start, self.key.as_deref(), &self.given);
        let read_to = |end: usize| Arguments::read(&text[..end], start, key, given, form, types);
        let read = |end: End| {
            let arguments = read_to(end.begin);
            let object = arguments.object();
            let closes = end.next > end.begin;
            match arguments.state {
                State::Between if arguments.is_empty() && !closes && !context.marked => None,
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
        if let Some(got) = self.cutter.next(text, form, (context.end, context.cut), read) {
            return Ok(got);
        }
        if !context.end {
            return Err(Unread::Other);
        }
        let read = read_to(text.len());
        let object = read.object();
        if form.open_ended() && !read.is_empty() {
            match &read.state {
                State::Between if read.has_all(types) => return Ok(Got::Whole { arguments: object, end: text.len() }),
                State::Json { closed: true, .. } => return Ok(Got::Whole { arguments: object, end: text.len() }),
                _ => {}
            }
        }
        match (&read.state, self.cutter.last().filter(|_| !context.cut)) {
            (State::Junk, _) => Err(Unread::Other),
            (_, Some(end)) => Ok(Got::damaged(object, end.next)),
            (State::Between, _) if read.is_empty() && !context.marked => Err(Unread::Other),
            (State::Between, _) if read.are_closed(types) && context.marked => {
                Err(Unread::Cut { arguments: object, closed: true })
            }
            // The space tells the fixer that the last value is complete, because its tag closed.
            (State::Between, _) if !read.is_empty() && context.marked => {
                let open = object.strip_suffix('}').unwrap_or(&object);
                Err(Unread::Cut { arguments: format!("{open} "), closed: false })
            }
            (State::Json { closed, .. }, _) => {
                let open = object.strip_suffix('}').filter(|_| *closed).unwrap_or(&object);
                Err(Unread::Cut { arguments: open.to_owned(), closed: false })
            }
            (State::Value { before, .. }, _) => Err(Unread::Cut { arguments: torn_arguments(before), closed: false }),
            _ => Err(Unread::Cut { arguments: torn_arguments(&object), closed: false }),
        }
    }

    /// Handles the head. `Err`: the call ends with it.
    fn open(&mut self, head: Head, form: &Markers<'_>) -> Result<String, Step> {
        self.types = Types::new(known_tool(form.context.tools, &head.name));
        self.body = if head.key.is_some() { Body::Tags } else { Body::At(head.body) };
        self.lone = head.lone;
        (self.start, self.key, self.cutter) = (head.body, head.key, Cutter::after(head.body));
        if let Some(object) = whole_attribute(&head.attributes) {
            return Err(Step::done(Parsed::new(head.name, object), head.body));
        }
        let attributes = head.attributes.trim_end_matches('/');
        match assignments(attributes, &self.types, Values::Free) {
            Ok(mut pairs) => {
                // Families whose arguments have types in their tags number the calls here.
                pairs.retain(|(key, _)| key != "index" || form.tagged.type_attribute.is_none());
                self.given.extend(pairs);
            }
            // There is a parameter that cannot be read.
            Err(_) if self.types.keys().any(|key| attribute(attributes, key).is_some()) => return Err(Step::Reject),
            Err(_) => {}
        }
        if head.closed {
            return Err(Step::done(Parsed::new(head.name, object(&self.given)), head.body));
        }
        Ok(self.name.insert(head.name).clone())
    }

    /// Reads assignments that a marker closed. The marker ends at `end`.
    fn done_lines(&mut self, body: &str, end: usize, context: Context<'_>) -> Result<Got, Unread> {
        let values = if context.call.whole_answer { Values::Lines } else { Values::Free };
        match assignments(body, &self.types, values) {
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
    fn end_lines(&mut self, body: &str, end: usize, form: &Markers<'_>) -> Result<Got, Unread> {
        let pairs = assignments(body, &self.types, Values::Lines).ok().filter(|_| form.open_ended()).unwrap_or_default();
        let given = || pairs.iter().map(|(key, _)| key.as_str());
        // Elsewhere a list of parameters may describe the tool.
        let all = form.context.lenient && self.types.keys().all(|key| given().any(|given| given == key));
        if pairs.is_empty() || !self.types.take(given()) || !(all || ends_quoted(body, &self.types)) {
            return Err(Unread::Cut { arguments: UNFINISHED.to_owned(), closed: false });
        }
        self.given.extend(pairs);
        Ok(Got::Whole { arguments: object(&self.given), end })
    }

    /// How the arguments from `at` on are written. `None`: more text is needed.
    fn begin(&mut self, text: &str, at: usize, name: &str, form: &Markers<'_>) -> Option<Body> {
        let Markers { tagged, context, .. } = form;
        let mut from = at;
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
        let rest = &text[at..];
        match [form.argument_begins(rest, context.end), form.close(rest, context.end)] {
            [Start::Maybe, _] | [_, Start::Maybe] => return None,
            [Start::Yes(_), _] | [_, Start::Yes(_)] => {}
            [Start::No, Start::No] => {
                let element = Element { name, types: &self.types, tagged, context: *context };
                match element.argument_begins(rest, context.end) {
                    Start::Maybe => return None,
                    Start::Yes(_) => {
                        (self.start, self.cutter) = (at, Cutter::after(at));
                        return Some(Body::Elements);
                    }
                    Start::No => {}
                }
                let word = rest.find(|c: char| !(c.is_alphanumeric() || "_-. \t".contains(c)));
                match (word, assignments::key(rest, &self.types)) {
                    (None, _) if !context.end && rest.len() < WORD_BYTES => return None,
                    (_, Some(_)) if context.marked || context.call.whole_answer => {
                        // The indentation of the first line belongs to it.
                        let line = text[..at].trim_end_matches(' ').len();
                        return Some(Body::Lines(line, Closing::after(at)));
                    }
                    _ => {}
                }
            }
        }
        (self.start, self.cutter) = (from, Cutter::after(from));
        Some(Body::Tags)
    }

    /// The name, or `None` if it was not read yet.
    pub(crate) fn name(&self) -> Option<String> {
        self.name.clone()
    }
}

/// What closes a call, or the section around it.
fn closers(context: Context<'_>) -> impl Iterator<Item = String> {
    context.close.iter().chain(&context.call.section_close).cloned()
}

#[cfg(test)]
mod tests;
