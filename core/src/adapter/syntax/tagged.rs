//! Reads a name, then one tag for each argument: `<function=f><parameter=k>v</parameter></function>`,
//! `<invoke name="f"><parameter name="k">v</parameter></invoke>`, `f<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::{
    Closing, Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    arguments::{Arguments, Form, Outcome},
    assignments::{self, Unread, Values, assignments, ends_quoted},
    element::Element,
    entities::are_escaped,
    field::{attribute, whole_attribute},
    json::introduced,
    starts_with_any,
    typing::Types,
};
use crate::{
    adapter::Tagged,
    fix::name::{is_known, known_tool},
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
    arguments: Arguments,
    /// The call was read once, and its values are escaped.
    escaped: bool,
    /// A value is written as in YAML, and nobody knows what belongs to it.
    unclear: bool,
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
    pub(crate) fn headed(name: String, body: usize, tagged: &Tagged, context: Context<'_>) -> TaggedReader {
        let types = Types::new(known_tool(context.tools, &name));
        let arguments = Arguments::new(body, None, &Markers { tagged, context, name: "", types: None, decodes: false });
        TaggedReader { name: Some(name), types, body: Body::Tags, arguments, ..TaggedReader::default() }
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
        if let Body::At(at) = self.body {
            match self.begin(text, at, &name, &form) {
                Some(body) => self.body = body,
                None => return Step::More,
            }
        }
        let outcome = match &mut self.body {
            Body::Lines(start, closing) => {
                let closers: Vec<String> = closers(context).chain(named_closers(&name, context.call)).collect();
                let (body, found) = (*start, closing.find(text, &closers));
                match found {
                    Some((begin, end)) => self.done_lines(&text[body..begin], end, context),
                    None if context.end => self.end_lines(&text[body..], text.len(), &form),
                    None => Outcome::More,
                }
            }
            Body::Elements => {
                let form = Element { name: &name, types: &self.types, tagged, context };
                self.arguments.read(text, &form, &self.types, context)
            }
            _ => self.arguments.read(text, &form, &self.types, context),
        };
        let twin = match &outcome {
            Outcome::Done { arguments, end } if arguments == "{}" => form.twin(&text[*end..], &name),
            _ => Start::No,
        };
        match outcome {
            Outcome::More => Step::More,
            Outcome::Reject => Step::Reject,
            // The head is written twice, and the second one counts.
            Outcome::Done { .. } if twin == Start::Maybe => Step::More,
            Outcome::Done { end, .. } if twin != Start::No => Step::Done { calls: Vec::new(), end },
            // A name alone in a fence is a command or a list item.
            Outcome::Done { arguments, .. } if arguments == "{}" && context.call.whole_answer => Step::Reject,
            // What opens the call also opens a parameter, and this is one without a value.
            Outcome::Done { arguments, .. } if arguments == "{}" && form.opens_as_argument() => Step::Reject,
            Outcome::Done { arguments, .. } if arguments == "{}" && self.lone && !is_known(context.tools, &name) => Step::Reject,
            Outcome::Cut { .. } if self.lone && !is_known(context.tools, &name) => Step::Reject,
            Outcome::Done { arguments, end } => {
                let unclear = self.unclear.then_some("it is not clear where a value of several lines begins and ends");
                if let Some(why) = unclear.or_else(|| self.arguments.damage(&self.types)) {
                    return Step::Torn { whole: Vec::new(), torn: Parsed::new(name, arguments), why, end };
                }
                if tagged.entities && !decodes && are_escaped(&arguments) {
                    return TaggedReader { escaped: true, ..TaggedReader::default() }.read(text, tagged, context);
                }
                // The fence around a call without closing markers ends it.
                let at = end + gap(&text[end..]);
                let around = context.call.whole_answer.then(|| starts_with_any(&text[at..], context.close, true));
                let end = if let Some(Start::Yes(length)) = around { at + length } else { end };
                let calls = introduced(&name, &arguments, context).unwrap_or_else(|| vec![Parsed::new(name, arguments)]);
                Step::Done { calls, end }
            }
            Outcome::Cut { .. } if self.arguments.are_closed() => {
                Step::Cut { whole: Vec::new(), cut: Parsed::new(name, self.arguments.object()), closed: true }
            }
            Outcome::Cut { arguments } => Step::cut(Parsed::new(name, arguments)),
        }
    }

    /// Handles the head. `Err`: the call ends with it.
    fn open(&mut self, head: Head, form: &Markers<'_>) -> Result<String, Step> {
        self.types = Types::new(known_tool(form.context.tools, &head.name));
        self.body = if head.key.is_some() { Body::Tags } else { Body::At(head.body) };
        self.lone = head.lone;
        self.arguments = Arguments::new(head.body, head.key, form);
        if let Some(object) = whole_attribute(&head.attributes) {
            return Err(Step::done(Parsed::new(head.name, object), head.body));
        }
        let attributes = head.attributes.trim_end_matches('/');
        match assignments(attributes, &self.types, Values::Free) {
            Ok(mut pairs) => {
                // Families whose arguments have types in their tags number the calls here.
                pairs.retain(|(key, _)| key != "index" || form.tagged.type_attribute.is_none());
                self.arguments.given(pairs);
            }
            // There is a parameter that cannot be read.
            Err(_) if self.types.keys().any(|key| attribute(attributes, key).is_some()) => return Err(Step::Reject),
            Err(_) => {}
        }
        if head.closed {
            let arguments = self.arguments.object();
            return Err(Step::done(Parsed::new(head.name, arguments), head.body));
        }
        Ok(self.name.insert(head.name).clone())
    }

    /// Reads assignments that a marker closed. The marker ends at `end`.
    fn done_lines(&mut self, body: &str, end: usize, context: Context<'_>) -> Outcome {
        let values = if context.call.whole_answer { Values::Blocks } else { Values::Free };
        match assignments(body, &self.types, values) {
            Ok(pairs) => self.arguments.given(pairs),
            Err(Unread::Unclear) if context.marked => self.unclear = true,
            Err(_) => return Outcome::Reject,
        }
        Outcome::Done { arguments: self.arguments.object(), end }
    }

    /// Reads assignments that only the end of the answer closed: the last value has its own end, or no parameter is missing that
    /// could follow. A block of YAML has no end of its own.
    fn end_lines(&mut self, body: &str, end: usize, form: &Markers<'_>) -> Outcome {
        let pairs = assignments(body, &self.types, Values::Lines).ok().filter(|_| form.open_ended()).unwrap_or_default();
        let given = || pairs.iter().map(|(key, _)| key.as_str());
        // Elsewhere a list of parameters may describe the tool.
        let all = form.context.lenient && self.types.keys().all(|key| given().any(|given| given == key));
        if pairs.is_empty() || !self.types.take(given()) || !(all || ends_quoted(body, &self.types)) {
            return Outcome::Cut { arguments: UNFINISHED.to_owned() };
        }
        self.arguments.given(pairs);
        Outcome::Done { arguments: self.arguments.object(), end }
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
                        self.arguments.enter(at, &element);
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
        self.arguments.enter(from, form);
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
