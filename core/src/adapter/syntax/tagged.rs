//! Reads a name, then one tag for each argument: `<function=f><parameter=k>v</parameter></function>`,
//! `<invoke name="f"><parameter name="k">v</parameter></invoke>`, `f<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::{
    Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    assignments::{self, Values, assignments, ends_quoted},
    entities::are_escaped,
    field::{attribute, whole_attribute},
    find_any,
    members::object,
    named::bare,
    starts_with_any, torn_arguments,
    typing::{Hint, Types},
};
use crate::{
    adapter::Tagged,
    fix::name::{is_known, known_tool},
    reader::{
        End,
        tags::{self, Arguments, Body, Cut, Got, State},
    },
};

pub(super) mod head;
mod in_tag;
pub(crate) mod markers;

use head::Head;
use markers::{Keys, Markers, named_closers};

/// Reads one call.
pub(in crate::adapter) fn read(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let form = Markers::new(tagged, context);
    let head = match form.head(text, context.end) {
        Seen::Yes(head) => head,
        Seen::Maybe if context.end => return Step::nameless(),
        Seen::Maybe => return Step::More,
        Seen::No => return Step::Reject,
    };
    let types = Types::new(known_tool(context.tools, &head.name));
    let form = Markers { name: &head.name, types: Some(&types), ..form };
    match read_after(text, &head, form, &types) {
        Step::Done { calls, .. } if tagged.entities && calls.iter().any(|call| are_escaped(&call.arguments)) => {
            read_after(text, &head, Markers { decodes: true, ..form }, &types)
        }
        step => step,
    }
}

/// Reads a call whose head was read.
pub(super) fn read_after(text: &str, head: &Head, form: Markers<'_>, types: &Types) -> Step {
    Call { text, form, types, lone: head.lone, special: false, start: head.body, key: None, given: Vec::new() }
        .read(head)
        .unwrap_or_else(|step| step)
}

/// Reads a call whose name is known. Its arguments begin at `start`, in the form's own tags, and a special token closes it.
pub(in crate::adapter) fn headed(text: &str, name: &str, start: usize, tagged: &Tagged, context: Context<'_>) -> Step {
    let types = Types::new(known_tool(context.tools, name));
    let form = Markers { name, types: Some(&types), ..Markers::new(tagged, context) };
    let call = Call { text, form, types: &types, lone: false, special: true, start, key: None, given: Vec::new() };
    call.finish(call.cut())
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
    /// In tags, or as JSON.
    Tags,
    /// As assignments, from this offset on.
    Lines(usize),
}

impl<'a> Call<'a> {
    fn read(mut self, head: &'a Head) -> Result<Step, Step> {
        self.enter(head)?;
        let written = if head.key.is_some() { Written::Tags } else { self.begin(head.body).ok_or(Step::More)? };
        self.key = head.key.as_deref();
        let got = match written {
            Written::Lines(from) => self.lines(from),
            Written::Tags => self.cut(),
        };
        Ok(self.finish(got))
    }

    /// Whether the tag of the call is an element named after the tool.
    fn is_element(&self) -> bool {
        self.form.keys != Keys::Tags && self.form.tagged.name[1].is_empty()
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
        if arguments == "{}" && !self.is_element() {
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
        let is_fenced = context.call.whole_answer || (self.is_element() && context.close != context.call.close);
        match starts_with_any(&text[at..], context.close, context.end || !self.is_element()) {
            Start::Maybe if is_fenced => Step::More,
            Start::Yes(length) if is_fenced => Step::done(Parsed::new(name, arguments), at + length),
            _ => Step::done(Parsed::new(name, arguments), end),
        }
    }

    /// Reads the arguments up to the ends that have arrived.
    fn cut(&self) -> Result<Got, Unread> {
        let Call { text, form, start, special, types, .. } = *self;
        let Context { end: over, cut, marked, lenient, .. } = form.context;
        let ends = match tags::cut(Body { text, start, end: over, cut, special }, &form, |end| self.read_at(end)) {
            Cut::Read(got) => return Ok(got),
            Cut::More => return Err(Unread::More),
            Cut::Unread(ends) => ends,
        };
        let read = self.read_to(text.len());
        let object = read.object();
        if form.open_ended() && !read.is_empty() {
            match &read.state {
                State::Between if read.has_all(types) => return Ok(Got::Whole { arguments: object, end: text.len() }),
                State::Json { closed: true, .. } => return Ok(Got::Whole { arguments: object, end: text.len() }),
                _ => {}
            }
        }
        let open = || object.strip_suffix('}').unwrap_or(&object);
        let needs_nothing = || self.is_element() && lenient && types.required().next().is_none();
        let (arguments, closed) = match (&read.state, ends.filter(|_| !cut)) {
            // The client may execute what nobody can read.
            (State::Junk, Some([first, _])) if self.is_element() && marked && first.next > first.begin => {
                return Ok(Got::damaged(object, first.next));
            }
            (State::Junk, _) => return Err(Unread::Other),
            (State::Value { .. }, Some(_)) if form.is_nested() => return Err(Unread::Other),
            // What an open value holds is not a call.
            (State::Value { .. } | State::Tag, Some(_)) if self.is_element() => return Ok(Got::damaged(object, text.len())),
            (_, Some([_, last])) => return Ok(Got::damaged(object, last.next)),
            (State::Between, _) if read.is_empty() && !marked => return Err(Unread::Other),
            (State::Between, _) if read.are_closed(types) && marked && !form.is_nested() => (object, true),
            // The space tells the fixer that the last value is complete, because its tag closed.
            (State::Between, _) if (!read.is_empty() || needs_nothing()) && marked => (format!("{} ", open()), false),
            (State::Json { closed: true, .. }, _) => (open().to_owned(), false),
            (State::Json { .. }, _) => (object, false),
            (State::Value { before, .. }, _) => (torn_arguments(before), false),
            _ => (torn_arguments(&object), false),
        };
        Err(Unread::Cut { arguments, closed })
    }

    fn read_to(&self, end: usize) -> Arguments {
        Arguments::read(&self.text[..end], self.start, self.key, &self.given, &self.form, self.types)
    }

    /// Reads the arguments as if they ended there.
    fn read_at(&self, end: End) -> Option<Got> {
        let arguments = self.read_to(end.begin);
        let (object, closes) = (arguments.object(), end.next > end.begin);
        let is_damaged = arguments.is_damaged(self.types);
        match arguments.state {
            State::Between if arguments.is_empty() && !closes && (self.is_element() || !self.form.context.marked) => None,
            State::Between if is_damaged => Some(Got::damaged(object, end.next)),
            State::Between if arguments.is_foreign() && !closes => None,
            // A later end may be that of the value's own closing tag.
            State::Between if arguments.is_foreign() || arguments.is_unbalanced() => {
                Some(Got::Late { arguments: object, end: end.next })
            }
            State::Between | State::Json { closed: true, .. } => Some(Got::Whole { arguments: object, end: end.next }),
            State::Value { plain: true, .. } if closes && !is_damaged => Some(Got::Late { arguments: object, end: end.next }),
            State::Junk if closes && arguments.is_empty() && self.is_element() => {
                self.bare(&self.text[self.start..end.begin]).map(|arguments| Got::Whole { arguments, end: end.next })
            }
            _ => None,
        }
    }

    /// Reads text in the place of the arguments of an element: it is the one parameter that the tool requires. If the client's
    /// prompt asks for elements and nothing is required, one line is the first parameter.
    fn bare(&self, text: &str) -> Option<String> {
        let Call { form: Markers { context, name, .. }, types, .. } = *self;
        let text = text.trim();
        if !self.given.is_empty() || text.starts_with(['"', '\'']) {
            return None;
        }
        let is_line = context.lenient && types.required().next().is_none() && !text.contains(['\n', '<']);
        let first = types.keys().next().filter(|_| is_line);
        let first = first.map(|key| object(&[(key.to_owned(), types.value(key, text, Hint::None))]));
        first.or_else(|| bare::arguments(text, known_tool(context.tools, name)?))
    }

    /// Reads what is in the head. `Err`: the call ends with it.
    fn enter(&mut self, head: &Head) -> Result<(), Step> {
        if let Some(object) = whole_attribute(&head.attributes) {
            return Err(Step::done(Parsed::new(head.name.as_str(), object), head.body));
        }
        let attributes = head.attributes.trim_end_matches('/');
        // Is it a line break, or the two characters?
        if self.is_element() && attributes.contains("\\n") {
            return Err(Step::Reject);
        }
        match assignments(attributes, self.types, Values::Free) {
            Ok(mut pairs) => {
                // Families whose arguments have types in their tags number the calls here.
                pairs.retain(|(key, _)| key != "index" || self.form.tagged.type_attribute.is_none());
                self.given = pairs;
            }
            Err(_) if self.is_element() && !attributes.is_empty() && !self.form.context.lenient => return Err(Step::Reject),
            // There is a parameter that cannot be read.
            Err(_) if self.types.keys().any(|key| attribute(attributes, key).is_some()) => return Err(Step::Reject),
            Err(_) => {}
        }
        if head.closed {
            let call = Parsed::new(&head.name, object(&self.given));
            return Err(if self.is_element() { self.done(call.arguments, head.body) } else { Step::done(call, head.body) });
        }
        Ok(())
    }

    /// Reads assignments, which begin at `from`.
    fn lines(&mut self, from: usize) -> Result<Got, Unread> {
        let is_element = self.is_element();
        let Call { text, types, form, .. } = self;
        let context = form.context;
        let closers: Vec<String> = closers(context).chain(named_closers(form.name, context.call)).collect();
        let Some((begin, end)) = find_any(text, from, &closers) else {
            return if context.end { self.open_lines(from) } else { Err(Unread::More) };
        };
        let values = if context.call.whole_answer || is_element { Values::Lines } else { Values::Free };
        match assignments(&text[from..begin], types, values) {
            Ok(pairs) => self.given.extend(pairs),
            Err(unread) if context.marked && (unread == assignments::Unread::Unclear || is_element) => {
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
        let Markers { tagged, context, .. } = *form;
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
        let elements = Markers { keys: Keys::Elements, ..*form };
        match elements.argument_begins(rest, context.end) {
            _ if form.keys != Keys::Tags => {}
            Start::Maybe => return None,
            Start::Yes(_) => {
                (*form, self.start) = (elements, at);
                return Some(Written::Tags);
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
