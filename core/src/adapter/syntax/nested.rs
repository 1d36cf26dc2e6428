//! Reads nested elements named after the parameters, with a prefix before every tag:
//! `P<invoke name="f">P<point>P<x>1P</x>P</point>P</invoke>`. Children form an object, `item`s an array, and the schema types
//! bare text. Tags are read with a stack. Tags inside a parameter that is text by its schema are content.

use super::{
    Context, Parsed, Start, Step, WORD_BYTES,
    ahead::Seen,
    blank,
    entities::decoded,
    field::field,
    starts_with_any,
    typing::{Hint, Type, Types, verbatim},
};
use crate::{adapter::Nested, fix::name::known_tool};

/// Maximum depth of elements.
const DEPTH: usize = 64;
/// The name of an array's element.
const ITEM: &str = "item";
/// The key of text beside children.
const TEXT: &str = "$text";

/// Reads one call.
pub(crate) fn read(text: &str, nested: &Nested, context: Context<'_>) -> Step {
    let (name, at) = match head(text, nested, context) {
        Seen::Yes(head) => head,
        Seen::Maybe if !context.end => return Step::More,
        Seen::Maybe | Seen::No => return Step::Reject,
    };
    let types = Types::new(known_tool(context.tools, &name));
    let call = Element { name: close_name(context), start: at, ..Element::default() };
    let mut tree = Tree { text, nested, types: &types, end: context.end, at, open: vec![call] };
    let parsed = |arguments: String| Parsed::new(&name, arguments);
    let (lead, mut seen) = (lead(nested), at);
    while let Some(at) = text[seen..].find(lead).map(|at| seen + at) {
        let tag = match tag(text, at + nested.prefix.len(), context.end) {
            Seen::Yes(tag) => tag,
            Seen::Maybe => return Step::More,
            Seen::No => {
                seen = at + lead.len();
                continue;
            }
        };
        seen = tag.end;
        match tree.follow(at, &tag) {
            Progress::On => {}
            Progress::More => return Step::More,
            Progress::Reject => return Step::Reject,
            Progress::Done(arguments) => return Step::done(parsed(arguments), tag.end),
        }
    }
    if context.end { Step::cut(parsed(tree.cut(context.marked))) } else { Step::More }
}

/// The name, if it is there.
pub(crate) fn name(text: &str, nested: &Nested, context: Context<'_>) -> Option<String> {
    if let Seen::Yes((name, _)) = head(text, nested, context) { Some(name) } else { None }
}

/// The name of the call, and where its elements begin.
fn head(text: &str, nested: &Nested, context: Context<'_>) -> Seen<(String, usize)> {
    let [open, close] = &nested.name;
    let blank = blank(text);
    let at = match starts_with_any(&text[blank..], open, context.end) {
        Start::Yes(length) => blank + length,
        Start::No if open.iter().any(String::is_empty) => blank,
        Start::Maybe => return Seen::Maybe,
        Start::No => return Seen::No,
    };
    match field(text, at, close, &[], false) {
        Seen::Yes(head) if head.is_name(context.tools) => Seen::Yes((head.text, head.next)),
        Seen::Maybe => Seen::Maybe,
        Seen::Yes(_) | Seen::No => Seen::No,
    }
}

/// The name of the tag that closes the call.
fn close_name(context: Context<'_>) -> String {
    let close = context.call.close.first().map(String::as_str).unwrap_or_default();
    close.rsplit('/').next().unwrap_or_default().trim_end_matches('>').to_owned()
}

/// The elements of one call, as far as they were read.
struct Tree<'a> {
    text: &'a str,
    nested: &'a Nested,
    types: &'a Types,
    /// Whether the text is complete.
    end: bool,
    /// The offset after the last tag.
    at: usize,
    /// The open elements. The first one is the call itself.
    open: Vec<Element>,
}

/// An open element.
#[derive(Debug, Default)]
struct Element {
    name: String,
    start: usize,
    children: Vec<(String, String)>,
    /// Its text outside its children.
    text: String,
    /// Number of open elements of the same name that are content.
    depth: usize,
}

/// A tag. `closes`: it is a closing tag.
struct Tag<'t> {
    name: &'t str,
    closes: bool,
    end: usize,
}

impl Tree<'_> {
    /// Reads the tag at `at`.
    fn follow(&mut self, at: usize, tag: &Tag<'_>) -> Progress {
        let Tree { text, nested, types, end, .. } = *self;
        let path: Vec<&str> = self.open.iter().skip(1).map(|element| element.name.as_str()).collect();
        let (kind, depth) = (kind(types, &path), self.open.len());
        let encloses = self.open.iter().rev().skip(1).any(|element| element.name == tag.name);
        let Some(top) = self.open.last_mut() else { return Progress::Reject };
        let inside = depth > 1;
        if inside && kind.is_some_and(flat) {
            // The parameter is text by its schema: tags are content, except its own closing tag and those that can only be
            // markup.
            if tag.name != top.name {
                return if tag.closes && encloses { Progress::Reject } else { Progress::On };
            }
            if !tag.closes {
                top.depth += 1;
                return Progress::On;
            }
            if top.depth > 0 {
                top.depth -= 1;
                return Progress::On;
            }
            // Without a prefix, a tag closes only if another one or the end follows.
            let rest = text[tag.end..].trim_start();
            return match nested.prefix.is_empty() && !rest.starts_with('<') {
                true if rest.is_empty() && !end => Progress::More,
                true if !rest.is_empty() => Progress::On,
                _ => self.close(at, tag.end, kind),
            };
        }
        if !tag.closes {
            if depth > DEPTH || (!inside && tag.name == top.name) {
                return Progress::Reject;
            }
            top.text.push_str(&text[self.at..at]);
            self.at = tag.end;
            self.open.push(Element { name: tag.name.to_owned(), start: tag.end, ..Element::default() });
            return Progress::On;
        }
        if tag.name == top.name {
            return self.close(at, tag.end, kind);
        }
        // An empty container without a closing tag ends at the closing tag of its parent.
        let empty = top.children.is_empty() && top.text.is_empty() && text[self.at..at].trim().is_empty();
        let container = kind.is_some_and(|kind| !kind.allows(&serde_json::Value::from("")) && !flat(kind));
        let parent = depth.checked_sub(2).and_then(|at| self.open.get(at));
        if inside && empty && container && parent.is_some_and(|parent| parent.name == tag.name) {
            return match self.close(at, at, kind) {
                Progress::On => self.follow(at, tag),
                other => other,
            };
        }
        Progress::Reject
    }

    /// Closes the innermost element, whose content ends at `at` and whose tag ends at `end`.
    fn close(&mut self, at: usize, end: usize, kind: Option<Type<'_>>) -> Progress {
        let Tree { text, types, .. } = *self;
        let Some(mut element) = self.open.pop() else { return Progress::Reject };
        element.text.push_str(&text[self.at.max(element.start)..at]);
        self.at = end;
        let Some(parent) = self.open.last_mut() else { return Progress::Done(arguments(element, types)) };
        let value = element.value(&text[element.start..at], kind);
        parent.children.push((element.name, value));
        Progress::On
    }

    /// The arguments of a truncated call. They lack the brace between two parameters, and more inside one.
    fn cut(&self, marked: bool) -> String {
        let members = self.open.first().map(|call| members(&call.children, in_call(self.types))).unwrap_or_default();
        match self.open.len() == 1 && !members.is_empty() && marked {
            // The space tells the fixer that the last value is complete.
            true => format!("{{{members} "),
            false => format!("{{{members}{}\"", if members.is_empty() { "" } else { "," }),
        }
    }
}

/// The result of reading a tag.
enum Progress {
    On,
    More,
    Reject,
    Done(String),
}

impl Element {
    /// Its value as JSON text. `source` is the text between its tags.
    fn value(&self, source: &str, kind: Option<Type<'_>>) -> String {
        let plain = |text: &str| match kind {
            Some(kind) => kind.value(&decoded(text), Hint::None),
            None => Types::default().value("", &decoded(text), Hint::None),
        };
        let allows = |json: serde_json::Value| kind.is_none_or(|kind| kind.allows(&json));
        let (array, object, string) = (allows(serde_json::json!([])), allows(serde_json::json!({})), allows("".into()));
        if self.children.is_empty() {
            return match self.text.trim().is_empty() && !string {
                true if array => "[]".into(),
                true if object => "{}".into(),
                _ => plain(&self.text),
            };
        }
        if !array && !object {
            return plain(source);
        }
        let items = self.children.iter().all(|(name, _)| name == ITEM);
        if array && (items || !object) {
            let values: Vec<&str> = self.children.iter().map(|(_, value)| value.as_str()).collect();
            return format!("[{}]", values.join(","));
        }
        let mut children = self.children.clone();
        if !self.text.trim().is_empty() {
            let mut key = TEXT.to_owned();
            while children.iter().any(|(name, _)| *name == key) {
                key.insert(0, '$');
            }
            let kind = kind.map(|kind| kind.member(&key));
            let text = decoded(self.text.trim());
            children.push((key, kind.map_or_else(|| verbatim(&text), |kind| kind.value(&text, Hint::None))));
        }
        format!("{{{}}}", members(&children, |name| kind.is_none_or(|kind| kind.member(name).allows(&serde_json::json!([])))))
    }
}

/// Whether a parameter may be a list.
fn in_call(types: &Types) -> impl Fn(&str) -> bool {
    |name| types.parameter(name).allows(&serde_json::json!([]))
}

/// What every tag begins with.
fn lead(nested: &Nested) -> &str {
    if nested.prefix.is_empty() { "<" } else { &nested.prefix }
}

/// The arguments of a complete call.
fn arguments(call: Element, types: &Types) -> String {
    if call.children.is_empty() && call.text.trim().starts_with('{') {
        call.text.trim().to_owned()
    } else {
        format!("{{{}}}", members(&call.children, in_call(types)))
    }
}

/// The members of an object. A repeated name makes an array of its values where that is allowed. Elsewhere it is a key with two
/// values, about which the fixer decides.
fn members(children: &[(String, String)], may_be_list: impl Fn(&str) -> bool) -> String {
    let mut out: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in children {
        match out.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if may_be_list(name) => values.push(value),
            _ => out.push((name, vec![value])),
        }
    }
    let member = |(name, values): &(&str, Vec<&str>)| {
        let value = if let [one] = values.as_slice() { (*one).to_owned() } else { format!("[{}]", values.join(",")) };
        format!("{}:{value}", serde_json::Value::from(*name))
    };
    out.iter().map(member).collect::<Vec<_>>().join(",")
}

/// The type of the element at this path. `None` for the call itself.
fn kind<'a>(types: &'a Types, path: &[&str]) -> Option<Type<'a>> {
    let (first, rest) = path.split_first()?;
    let step =
        |kind: Type<'a>, name: &&str| if *name == ITEM && kind.element().known() { kind.element() } else { kind.member(name) };
    Some(rest.iter().fold(types.parameter(first), step))
}

/// Whether the schema allows neither an object nor an array here.
fn flat(kind: Type<'_>) -> bool {
    !kind.allows(&serde_json::json!({})) && !kind.allows(&serde_json::json!([]))
}

/// The tag at `at` after a prefix. Whitespace may precede it.
fn tag(text: &str, at: usize, end: bool) -> Seen<Tag<'_>> {
    let undecided = if end { Seen::No } else { Seen::Maybe };
    let rest = text[at..].trim_start_matches([' ', '\t', '\n', '\r']);
    let begin = text.len() - rest.len();
    let Some(inner) = rest.strip_prefix('<') else { return if rest.is_empty() { undecided } else { Seen::No } };
    let (closes, name) = match inner.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, inner),
    };
    let fits = |c: char| c.is_alphanumeric() || "_-.$:".contains(c);
    match name.find(|c| !fits(c)) {
        Some(stop) if stop > 0 && stop <= WORD_BYTES && name[stop..].starts_with('>') => {
            let end = begin + (rest.len() - name.len()) + stop + 1;
            Seen::Yes(Tag { name: &name[..stop], closes, end })
        }
        Some(_) => Seen::No,
        None if name.len() > WORD_BYTES => Seen::No,
        None => undecided,
    }
}
