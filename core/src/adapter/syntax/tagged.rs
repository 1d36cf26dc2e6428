//! Reads a name, then one tag for each argument: `<function=f><parameter=k>v</parameter></function>`,
//! `<invoke name="f"><parameter name="k">v</parameter></invoke>`, `f<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::{
    Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    assignments::{self, Unread, Values, assignments, ends_quoted},
    entities::are_escaped,
    field::{attribute, whole_attribute},
    find_any,
    members::object,
    named::bare,
    starts_with_any, torn_arguments,
    typing::{Hint, argument, takes},
};
use crate::{
    adapter::Tagged,
    fix::{
        View,
        name::{is_known, known_tool},
    },
    reader::{
        End,
        tags::{self, Arguments, Cut, Fit, State},
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
    let view = View::of(known_tool(context.tools, &head.name));
    let form = Markers { name: &head.name, parameters: view.root(), ..form };
    match read_after(text, &head, form) {
        Step::Done { calls, .. } if tagged.entities && calls.iter().any(|call| are_escaped(&call.arguments)) => {
            read_after(text, &head, Markers { decodes: true, ..form })
        }
        step => step,
    }
}

/// Reads a call whose head was read.
pub(super) fn read_after(text: &str, head: &Head, form: Markers<'_>) -> Step {
    let call = Call { text, form, special: false, start: head.body, key: None, given: Vec::new() };
    match call.read(head).unwrap_or_else(|step| step) {
        // A lone word is a name only if a tool has it.
        Step::Cut { .. } | Step::Torn { .. } if head.lone && !is_known(form.context.tools, form.name) => Step::Reject,
        step => step,
    }
}

/// Reads a call whose name is known. Its arguments begin at `start`, in the form's own tags, and a special token closes it.
pub(in crate::adapter) fn headed(text: &str, name: &str, start: usize, tagged: &Tagged, context: Context<'_>) -> Step {
    let view = View::of(known_tool(context.tools, name));
    let form = Markers { name, parameters: view.root(), ..Markers::new(tagged, context) };
    Call { text, form, special: true, start, key: None, given: Vec::new() }.cut()
}

/// A call whose head was read.
struct Call<'a> {
    text: &'a str,
    form: Markers<'a>,
    /// A special token closes the call.
    special: bool,
    /// Where the arguments begin, the first of them if its tag was read with the head, and those in the head.
    start: usize,
    key: Option<&'a str>,
    given: Vec<(String, String)>,
}

impl<'a> Call<'a> {
    fn read(mut self, head: &'a Head) -> Result<Step, Step> {
        self.enter(head)?;
        let lines = if head.key.is_some() { None } else { self.begin(head.body)? };
        self.key = head.key.as_deref();
        Ok(if let Some(from) = lines { self.lines(from) } else { self.cut() })
    }

    /// Whether the tag of the call is an element named after the tool.
    fn is_element(&self) -> bool {
        self.form.keys != Keys::Tags && self.form.tagged.name[1].is_empty()
    }

    /// The call is closed, but its arguments are not what the model meant.
    fn torn(&self, arguments: String, why: &'static str, end: usize) -> Step {
        Step::Torn { whole: Vec::new(), torn: Parsed::new(self.form.name, arguments), why, end }
    }

    /// The arguments are complete, and the text goes on at `end`.
    fn done(&self, arguments: String, end: usize) -> Step {
        let Call { text, form: Markers { context, name, .. }, .. } = *self;
        // A name alone in a fence is a command or a list item. What opens the call may also open a parameter, and this is one without
        // a value.
        if arguments == "{}" && !self.is_element() && (context.call.whole_answer || self.form.opens_as_argument()) {
            return Step::Reject;
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
    fn cut(&self) -> Step {
        let Call { text, form, start, special, .. } = *self;
        let parameters = form.parameters;
        let Context { cut, marked, lenient, .. } = form.context;
        let ends = match tags::cut(text, start, special, &form, |end| self.read_at(end)) {
            Cut::Whole(arguments, end) => return self.done(arguments, end),
            Cut::Damaged(arguments, why, end) => return self.torn(arguments, why, end),
            Cut::More => return Step::More,
            Cut::Unread(ends) => ends,
        };
        let read = self.read_to(text.len());
        let object = read.object();
        let open = || object.strip_suffix('}').unwrap_or(&object);
        let needs_nothing = || self.is_element() && lenient && parameters.required().next().is_none();
        let (arguments, closed) = match (&read.state, ends.filter(|_| !cut)) {
            (State::Between, _) if form.open_ended() && !read.is_empty() && read.has_all(parameters) => {
                return self.done(object, text.len());
            }
            // The client may execute what nobody can read.
            (State::Junk, Some([first, _])) if self.is_element() && marked && first.next > first.begin => {
                return self.torn(object, tags::DAMAGED, first.next);
            }
            (State::Junk, _) => return Step::Reject,
            (State::Value { .. }, Some(_)) if form.is_nested() => return Step::Reject,
            (_, Some([_, last])) => return self.torn(object, tags::DAMAGED, last.next),
            (State::Between, _) if read.is_empty() && !marked => return Step::Reject,
            (State::Between, _) if read.are_closed(parameters) && marked && !form.is_nested() => (object, true),
            // The space tells the fixer that the last value is complete, because its tag closed.
            (State::Between, _) if (!read.is_empty() || needs_nothing()) && marked => (format!("{} ", open()), false),
            (State::Json { closed: true, .. }, _) => (open().to_owned(), false),
            (State::Json { .. }, _) => (object, false),
            (State::Value { before, .. }, _) => (torn_arguments(before), false),
            _ => (torn_arguments(&object), false),
        };
        Step::Cut { whole: Vec::new(), cut: Parsed::new(form.name, arguments), closed }
    }

    fn read_to(&self, end: usize) -> Arguments {
        Arguments::read(&self.text[..end], self.start, self.key, &self.given, &self.form)
    }

    /// Reads the arguments as if they ended there.
    fn read_at(&self, end: End) -> Option<(Fit, String)> {
        let arguments = self.read_to(end.begin);
        let (object, closes) = (arguments.object(), end.next > end.begin);
        let fit = match arguments.state {
            State::Between if arguments.is_empty() && !closes && (self.is_element() || !self.form.context.marked) => return None,
            State::Between if arguments.is_damaged(self.form.parameters) => Fit::Damaged,
            State::Between if arguments.is_late() && !closes => return None,
            State::Between if arguments.is_late() => Fit::Late,
            State::Between | State::Json { closed: true, .. } => Fit::Whole,
            State::Value { plain: true, .. } if closes && !arguments.is_damaged(self.form.parameters) => Fit::Late,
            State::Junk if closes && arguments.is_empty() && self.is_element() => {
                return Some((Fit::Whole, self.bare(&self.text[self.start..end.begin])?));
            }
            _ => return None,
        };
        Some((fit, object))
    }

    /// Reads text in the place of the arguments of an element: it is the one parameter that the tool requires. If the client's
    /// prompt asks for elements and nothing is required, one line is the first parameter.
    fn bare(&self, text: &str) -> Option<String> {
        let Markers { context, name, parameters, .. } = self.form;
        let text = text.trim();
        if !self.given.is_empty() || text.starts_with(['"', '\'']) {
            return None;
        }
        let is_line = context.lenient && parameters.required().next().is_none() && !text.contains(['\n', '<']);
        let first = parameters.keys().next().filter(|_| is_line);
        let first = first.map(|key| object(&[(key.to_owned(), argument(parameters, key, text, Hint::None))]));
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
        match assignments(attributes, self.form.parameters, Values::Free) {
            Ok(mut pairs) => {
                // Families whose arguments have types in their tags number the calls here.
                pairs.retain(|(key, _)| key != "index" || self.form.tagged.type_attribute.is_none());
                self.given = pairs;
            }
            Err(_) if self.is_element() && !attributes.is_empty() && !self.form.context.lenient => return Err(Step::Reject),
            // There is a parameter that cannot be read.
            Err(_) if self.form.parameters.keys().any(|key| attribute(attributes, key).is_some()) => return Err(Step::Reject),
            Err(_) => {}
        }
        if head.closed {
            let call = Parsed::new(&head.name, object(&self.given));
            return Err(if self.is_element() { self.done(call.arguments, head.body) } else { Step::done(call, head.body) });
        }
        Ok(())
    }

    /// Reads assignments, which begin at `from`. What closes the call ends them, or the end of the answer if nothing can follow.
    fn lines(&mut self, from: usize) -> Step {
        let Call { text, form, .. } = *self;
        let Markers { context, parameters, .. } = form;
        let closers: Vec<String> = closers(context).chain(named_closers(form.name, context.call)).collect();
        let closed = find_any(text, from, &closers);
        if closed.is_none() && !context.end {
            return Step::More;
        }
        let (begin, end) = closed.unwrap_or((text.len(), text.len()));
        let body = &text[from..begin];
        let is_lines = closed.is_none() || context.call.whole_answer || self.is_element();
        match assignments(body, parameters, if is_lines { Values::Lines } else { Values::Free }) {
            Ok(pairs) if closed.is_some() || self.can_end(body, &pairs) => self.given.extend(pairs),
            _ if closed.is_none() => return Step::cut(Parsed::new(form.name, UNFINISHED)),
            Err(unread) if context.marked && (unread == Unread::Unclear || self.is_element()) => {
                let why = "it is not clear where a value of several lines begins and ends";
                return self.torn(object(&self.given), why, end);
            }
            _ => return Step::Reject,
        }
        self.done(object(&self.given), end)
    }

    /// Whether assignments that only the end of the answer closes are complete: the last value has its own end, or no parameter is
    /// missing that could follow. Elsewhere a list of parameters may describe the tool.
    fn can_end(&self, body: &str, pairs: &[(String, String)]) -> bool {
        let (form, parameters) = (&self.form, self.form.parameters);
        let given = || pairs.iter().map(|(key, _)| key.as_str());
        let all = form.context.lenient && parameters.keys().all(|key| given().any(|given| given == key));
        form.open_ended() && takes(parameters, given()) && (all || ends_quoted(body, parameters))
    }

    /// Where assignments begin after the head, which ends at `from`. `None`: the arguments are written in tags, or as JSON.
    fn begin(&mut self, mut from: usize) -> Result<Option<usize>, Step> {
        let Call { text, form, .. } = *self;
        let Markers { tagged, context, parameters, .. } = form;
        let at = loop {
            let at = from + gap(&text[from..]);
            if may_be_gap(&text[at..], context.end) {
                return Err(Step::More);
            }
            match starts_with_any(&text[at..], &tagged.skip, context.end).sure()? {
                Some(length) => from = at + length,
                None => break at,
            }
        };
        self.start = from;
        let rest = &text[at..];
        if form.argument_begins(rest, context.end).sure()?.or(form.close(rest, context.end).sure()?).is_some() {
            return Ok(None);
        }
        let word = rest.find(|c: char| !(c.is_alphanumeric() || "_-. \t".contains(c)));
        match (word, assignments::key(rest, parameters)) {
            (None, _) if !context.end && rest.len() < WORD_BYTES => Err(Step::More),
            // The indentation of the first line belongs to it.
            (_, Some(_)) if context.marked || context.call.whole_answer => Ok(Some(text[..at].trim_end_matches(' ').len())),
            _ => Ok(None),
        }
    }
}

/// What closes a call, or the section around it.
fn closers(context: Context<'_>) -> impl Iterator<Item = String> {
    context.close.iter().chain(&context.call.section_close).cloned()
}

#[cfg(test)]
mod tests;
