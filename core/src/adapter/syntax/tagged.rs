//! Reads a name, then one tag for each argument: `<function=f><parameter=k>v</parameter></function>`,
//! `<invoke name="f"><parameter name="k">v</parameter></invoke>`, `f<arg_key>k</arg_key><arg_value>v</arg_value>`.

use super::{
    Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{gap, may_be_gap},
    assignments::{assignments, key},
    entities::are_escaped,
    field::{attribute, whole_attribute},
    find_any,
    members::object,
    named::bare,
    starts_with_any, torn_arguments,
    typing::takes,
};
use crate::{
    adapter::Tagged,
    fix::{View, name::known_tool},
    reader::{
        End,
        tags::{self, Arguments, Cut, Fit, State},
    },
};

pub(super) mod head;
mod in_tag;
pub(crate) mod markers;

use head::Head;
use markers::{Keys, Markers};

/// Reads one call.
pub(in crate::adapter) fn read(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let form = Markers::new(tagged, context);
    let head = match form.head(text, context.end) {
        Ok(head) => head,
        Err(Step::More) if context.end => return Step::nameless(),
        Err(step) => return step,
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
    call.read(head).unwrap_or_else(|step| step)
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
        if head.key.is_none()
            && let Some(from) = self.begin()?
        {
            return Ok(self.lines(from));
        }
        self.key = head.key.as_deref();
        Ok(self.cut())
    }

    /// Whether the tag of the call is an element named after the tool.
    fn is_element(&self) -> bool {
        self.form.keys != Keys::Tags && self.form.tagged.name[1].is_empty()
    }

    /// The call is closed, but its arguments are not what the model meant.
    fn torn(&self, arguments: String, why: &'static str, end: usize) -> Step {
        Step::Torn { whole: Vec::new(), torn: Parsed::new(self.form.name, arguments), why, end }
    }

    /// The arguments are complete, and the text goes on at `end`, after the fence around an element.
    fn done(&self, arguments: String, end: usize) -> Step {
        let Call { text, form: Markers { context, name, .. }, .. } = *self;
        let at = end + gap(&text[end..]);
        let fence = if context.close == context.call.close { &[][..] } else { context.close };
        match starts_with_any(&text[at..], fence, context.end) {
            Start::Maybe => Step::More,
            Start::Yes(length) => Step::done(Parsed::new(name, arguments), at + length),
            Start::No => Step::done(Parsed::new(name, arguments), end),
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
            (State::Junk, Some([first, _])) if self.is_element() && marked && first.next > first.begin => {
                return self.torn(object, tags::DAMAGED, first.next);
            }
            (State::Junk, _) => return Step::Reject,
            (State::Value { .. }, Some(_)) if form.is_nested() => return Step::Reject,
            (_, Some([_, last])) => return self.torn(object, tags::DAMAGED, last.next),
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
            State::Between if arguments.late => return closes.then_some((Fit::Late, object)),
            State::Between | State::Json { closed: true, .. } => Fit::Whole,
            State::Value { plain: true, .. } if closes && !arguments.is_damaged(self.form.parameters) => Fit::Late,
            // Text in the place of the arguments.
            State::Junk if closes && arguments.is_empty() && self.is_element() => {
                let Markers { context: Context { tools, lenient, .. }, name, .. } = self.form;
                let text = &self.text[self.start..end.begin];
                return Some((Fit::Whole, bare::arguments(text, known_tool(tools, name)?, lenient)?));
            }
            _ => return None,
        };
        Some((fit, object))
    }

    /// Reads what is in the head. `Err`: the call ends with it.
    fn enter(&mut self, head: &Head) -> Result<(), Step> {
        if let Some(object) = whole_attribute(&head.attributes) {
            return Err(Step::done(Parsed::new(head.name.as_str(), object), head.body));
        }
        let attributes = head.attributes.trim_end_matches('/');
        match assignments(attributes, self.form.parameters) {
            Some(mut pairs) => {
                // Families whose arguments have types in their tags number the calls here.
                pairs.retain(|(key, _)| key != "index" || self.form.tagged.type_attribute.is_none());
                self.given = pairs;
            }
            None if self.is_element() && !attributes.is_empty() && !self.form.context.lenient => return Err(Step::Reject),
            // There is a parameter that cannot be read.
            None if self.form.parameters.keys().any(|key| attribute(attributes, key).is_some()) => return Err(Step::Reject),
            None => {}
        }
        if head.closed {
            return Err(self.done(object(&self.given), head.body));
        }
        Ok(())
    }

    /// Reads assignments, which begin at `from`. What closes the call ends them; or the end of the answer, if the last value is quoted
    /// and no parameter is missing. Elsewhere a list of parameters may describe the tool.
    fn lines(&mut self, from: usize) -> Step {
        let Call { text, form: Markers { context, name, parameters, .. }, .. } = *self;
        let closers: Vec<String> =
            context.close.iter().chain(&context.call.section_close).cloned().chain([format!("</{name}>")]).collect();
        let closed = find_any(text, from, &closers);
        if closed.is_none() && !context.end {
            return Step::More;
        }
        let (begin, end) = closed.unwrap_or((text.len(), text.len()));
        let body = text[from..begin].trim_end();
        let can_end = |pairs: &[(String, String)]| {
            let is_quoted = |quote: char| body.ends_with(quote) && body.matches(quote).count() % 2 == 0;
            self.form.open_ended()
                && (is_quoted('"') || is_quoted('\''))
                && takes(parameters, pairs.iter().map(|(key, _)| key.as_str()))
        };
        match assignments(body, parameters) {
            Some(pairs) if closed.is_some() || can_end(&pairs) => {
                self.given.extend(pairs);
                self.done(object(&self.given), end)
            }
            _ if closed.is_none() => Step::cut(Parsed::new(name, UNFINISHED)),
            _ => Step::Reject,
        }
    }

    /// Goes past the words that may precede the arguments. Returns where assignments begin. `None`: the arguments are written in tags, or
    /// as JSON.
    fn begin(&mut self) -> Result<Option<usize>, Step> {
        let Call { text, form, .. } = *self;
        let Markers { tagged, context, parameters, .. } = form;
        let at = loop {
            let at = self.start + gap(&text[self.start..]);
            if may_be_gap(&text[at..], context.end) {
                return Err(Step::More);
            }
            match starts_with_any(&text[at..], &tagged.skip, context.end).sure()? {
                Some(length) => self.start = at + length,
                None => break at,
            }
        };
        let rest = &text[at..];
        if form.argument_begins(rest, context.end).sure()?.or(form.close(rest, context.end).sure()?).is_some() {
            return Ok(None);
        }
        let word = rest.find(|c: char| !(c.is_alphanumeric() || "_-. \t".contains(c)));
        match word {
            None if !context.end && rest.len() < WORD_BYTES => Err(Step::More),
            _ => Ok(key(rest, parameters).filter(|_| context.marked || context.call.whole_answer).map(|_| at)),
        }
    }
}

#[cfg(test)]
mod tests;
