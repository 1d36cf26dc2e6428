//! Writes calls in a family's own form, from the same data that reads them. This is used for the history of models that are asked
//! in their own form, and for samples that test an adapter against itself.
//!
//! Calls are written in the canonical spelling, the first of every list of markers. `None` means that a form cannot carry a call,
//! for example because a value contains its own closing marker. Nothing is written that would read back differently.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Adapter, Call, JsonKeys, Lax, Named, Parameters, Recipient, Syntax, Tagged, Trim, syntax::entities};

/// A call to write.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Written {
    /// The tool's name.
    pub name: String,
    /// The call's id, if the form carries one.
    pub id: Option<String>,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

impl Adapter {
    /// Writes calls in the family's own form, one after another. `None`: no own form can carry them.
    pub fn write(&self, calls: &[Written]) -> Option<String> {
        // In a family with headers, the other forms are remains of headers, or bodies of messages.
        if let Some(recipient) = &self.framing.recipient {
            return calls.iter().map(|call| self.message(call, recipient)).collect();
        }
        self.own().iter().find_map(|form| form.write(calls))
    }

    /// Writes a message to a tool.
    fn message(&self, call: &Written, recipient: &Recipient) -> Option<String> {
        let body = match &recipient.parameters {
            _ if recipient.forms => self.own().first()?.write(std::slice::from_ref(call))?,
            Some(tags) => parameters(call, tags)?,
            None => object(&call.arguments),
        };
        let (start, to, end) = (first(&recipient.start), first(&recipient.to), first(&recipient.end));
        let assistant = recipient.content.iter().any(|word| word == "assistant");
        let head = if to.is_empty() {
            call.name.clone()
        } else {
            let kind = recipient.constraint.first().map(|kind| format!(" {kind}")).unwrap_or_default();
            let channel = recipient.channel.as_ref().map(|channel| format!("{channel}commentary{kind}")).unwrap_or_default();
            let sender = if assistant { "assistant" } else { "" };
            format!("{sender} {to}{}{}{channel}", first(&recipient.prefix), call.name)
        };
        Some(format!("{start}{head}{}{body}{end}", recipient.message))
    }

    /// Whether the values contain no marker of a form that writes them without escapes.
    pub(super) fn carries(&self, calls: &[Written]) -> bool {
        let markers = |form: &Call| -> Vec<String> {
            let inner = match &form.syntax {
                Syntax::Tagged(Tagged { nested: Some(prefix), .. }) => vec![prefix.clone()],
                Syntax::Tagged(tagged) => [tagged.argument[0].as_slice(), &tagged.value[1]].concat(),
                Syntax::Element(_) => vec!["</".to_owned()],
                _ => return Vec::new(),
            };
            [&form.section, &form.section_close, &form.open, &form.close, &inner].into_iter().flatten().cloned().collect()
        };
        let markers: Vec<String> = self.own().iter().flat_map(|form| markers(form)).filter(|marker| !marker.is_empty()).collect();
        let values = calls.iter().flat_map(|call| call.arguments.values()).map(Value::to_string);
        values.into_iter().all(|value| !markers.iter().any(|marker| value.contains(marker.as_str())))
    }

    /// Whether the family has an own form that [`Call::write`] can write.
    pub(super) fn has_form(&self) -> bool {
        self.framing.recipient.is_none() && self.own_calls > 0
    }

    /// Whether that form has an opening marker.
    pub(super) fn has_marked_form(&self) -> bool {
        self.has_form() && self.own().first().is_some_and(|form| !form.section.is_empty() || !form.open.is_empty())
    }

    /// The family's own forms.
    pub fn own(&self) -> &[Arc<Call>] {
        self.calls.get(..self.own_calls).unwrap_or_default()
    }
}

impl Call {
    /// Writes calls in this form, one after another; `None`: the form needs a header, or cannot express a call.
    pub fn write(&self, calls: &[Written]) -> Option<String> {
        let bodies: Vec<String> = calls.iter().map(|call| self.body(call)).collect::<Option<_>>()?;
        let unmarked = self.open.is_empty() && self.section.is_empty();
        let open = if unmarked { first(&self.stripped) } else { first(&self.open) };
        let close = first(&self.close);
        let is_list = match &self.syntax {
            Syntax::Json(keys) => keys.array,
            syntax => matches!(syntax, Syntax::Python),
        };
        let (section, section_close) = (first(&self.section), first(&self.section_close));
        let marked = || bodies.iter().map(|body| format!("{open}{body}{close}")).collect::<Vec<_>>();
        Some(match self.fence.first() {
            Some(language) if unmarked => format!("```{language}\n{}\n```", bodies.join("\n")),
            _ if is_list => format!("{section}{open}[{}]{close}{section_close}", bodies.join(", ")),
            _ if unmarked => marked().join("\n"),
            _ => format!("{section}{}{section_close}", marked().concat()),
        })
    }

    fn body(&self, call: &Written) -> Option<String> {
        match &self.syntax {
            Syntax::Json(keys) => {
                let header = keys.header.first().map(|header| format!("{}{header}", call.name));
                Some(header.unwrap_or_default() + &json(call, keys))
            }
            Syntax::Named(named) => self::named(call, named),
            Syntax::Tagged(tagged @ Tagged { nested: Some(prefix), .. }) => Some(nested(call, tagged, prefix, self)),
            Syntax::Tagged(tagged) => self::tagged(call, tagged, self),
            Syntax::Python => Some(python(call)),
            Syntax::Lax(lax) => self::lax(call, lax),
            Syntax::Element(_) => element(call),
            // A message needs its header ([`Adapter::write`]).
            Syntax::Recipient(_) => None,
        }
    }
}

fn first(list: &[String]) -> &str {
    list.first().map(String::as_str).unwrap_or_default()
}

/// A value as bare text: a string without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn object(arguments: &Map<String, Value>) -> String {
    Value::Object(arguments.clone()).to_string()
}

fn json(call: &Written, keys: &JsonKeys) -> String {
    let mut out = Map::new();
    if keys.name_is_key {
        out.insert(call.name.clone(), Value::Object(call.arguments.clone()));
        return Value::Object(out).to_string();
    }
    out.insert(first(&keys.name).to_owned(), Value::from(call.name.as_str()));
    out.insert(first(&keys.arguments).to_owned(), Value::Object(call.arguments.clone()));
    if let Some(id) = call.id.as_ref().filter(|_| keys.keep_id) {
        out.insert("id".into(), Value::from(id.as_str()));
    }
    Value::Object(out).to_string()
}

fn named(call: &Written, named: &Named) -> Option<String> {
    let id = call.id.as_deref().unwrap_or_default();
    let name = match named.name_is_id {
        // The id takes the place of the name: `functions.f:0`.
        true if id.contains(&call.name) => id.to_owned(),
        true => format!("{}{}:0", first(&named.prefix), call.name),
        false => call.name.clone(),
    };
    let id = match (&named.id, id.is_empty()) {
        (Some([open, close]), false) => format!("{open}{id}{close}"),
        (Some(_), true) if named.id_first => return None,
        _ => String::new(),
    };
    let (open, close, skip) = (first(&named.open), first(&named.close), first(&named.skip));
    let arguments = object(&call.arguments);
    Some(match (named.id_first, id.is_empty()) {
        (true, _) => format!("{id}{open}{name}{close}{skip}{arguments}"),
        // The id's own marker ends the name; the name's comes before the arguments.
        (false, false) => format!("{open}{name}{id}{}{arguments}", if close.is_empty() { skip } else { close }),
        (false, true) if skip == close => format!("{open}{name}{close}{arguments}"),
        (false, true) => format!("{open}{name}{close}{skip}{arguments}"),
    })
}

/// A name or key in a tag, quoted if the tag has an attribute for it (`<invoke name=`, but `<function=`).
fn attribute(tag: &str, word: &str) -> String {
    if tag.ends_with('=') && tag.contains(' ') { format!("\"{word}\"") } else { word.to_owned() }
}

/// The tag that contains the name.
fn name_tag<'a>(form: &'a Call, open: &'a [String]) -> &'a str {
    if first(open).is_empty() { first(&form.open) } else { first(open) }
}

fn tagged(call: &Written, tagged: &Tagged, form: &Call) -> Option<String> {
    let end = first(&form.close);
    let [[name_open, name_close], [key_open, key_close], [value_open, value_close]] =
        [&tagged.name, &tagged.argument, &tagged.value].map(|[open, close]| [first(open), first(close)]);
    let mut out = format!("{name_open}{}{name_close}", attribute(name_tag(form, &tagged.name[0]), &call.name));
    for (key, value) in &call.arguments {
        let text = plain(value);
        let markers = [value_close, key_open, end].into_iter().chain(tagged.value[1].iter().map(String::as_str));
        if markers.filter(|marker| !marker.is_empty()).any(|marker| text.contains(marker)) {
            return None;
        }
        let newline = match tagged.trim {
            Trim::OneNewline => "\n",
            Trim::None | Trim::All => "",
        };
        if tagged.trim == Trim::All && text.trim() != text {
            return None;
        }
        let key = attribute(key_open, key);
        let said = tagged.type_attribute.as_ref().map(|name| format!(" {name}=\"{}\"", kind(name, value))).unwrap_or_default();
        let typed =
            tagged.type_tag.as_ref().map(|[open, close]| format!("{open}{}{close}", kind("type", value))).unwrap_or_default();
        out.push_str(&format!("{key_open}{key}{said}{key_close}{typed}{value_open}{newline}{text}{newline}{value_close}"));
    }
    Some(out)
}

/// Writes arguments as tags that have no element around them.
fn parameters(call: &Written, tags: &Parameters) -> Option<String> {
    let [[key_open, key_close], [value_open, value_close]] = [&tags.argument, &tags.value];
    let one = |(key, value): (&String, &Value)| {
        let text = plain(value);
        let held = text.contains(value_close.as_str()) || text.contains(key_open.as_str());
        (!held).then(|| format!("{key_open}{key}{key_close}{value_open}{text}{value_close}"))
    };
    call.arguments.iter().map(one).collect()
}

/// The value of a type attribute: `string="true"`, `type="number"`.
fn kind(attribute: &str, value: &Value) -> &'static str {
    match (attribute, value) {
        ("string", Value::String(_)) => "true",
        ("string", _) => "false",
        (_, Value::String(_)) => "string",
        (_, Value::Number(_)) => "number",
        (_, Value::Bool(_)) => "boolean",
        (_, Value::Null) => "null",
        (_, Value::Array(_)) => "array",
        (_, Value::Object(_)) => "object",
    }
}

fn python(call: &Written) -> String {
    let arguments: Vec<String> = call.arguments.iter().map(|(key, value)| format!("{key}={}", python_value(value))).collect();
    format!("{}({})", call.name, arguments.join(", "))
}

fn python_value(value: &Value) -> String {
    let list = |values: Vec<String>, open: char, close: char| format!("{open}{}{close}", values.join(", "));
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Array(values) => list(values.iter().map(python_value).collect(), '[', ']'),
        Value::Object(members) => list(
            members.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), python_value(value))).collect(),
            '{',
            '}',
        ),
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn lax(call: &Written, lax: &Lax) -> Option<String> {
    Some(format!("{}{}{}", first(&lax.open), call.name, lax_value(&Value::Object(call.arguments.clone()), first(&lax.strings))?))
}

pub(super) fn lax_value(value: &Value, quote: &str) -> Option<String> {
    Some(match value {
        Value::String(text) if text.contains(quote) => return None,
        Value::String(text) => format!("{quote}{text}{quote}"),
        Value::Array(values) => {
            let values: Option<Vec<String>> = values.iter().map(|value| lax_value(value, quote)).collect();
            format!("[{}]", values?.join(","))
        }
        Value::Object(members) => {
            let members: Option<Vec<String>> =
                members.iter().map(|(key, value)| Some(format!("{key}:{}", lax_value(value, quote)?))).collect();
            format!("{{{}}}", members?.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    })
}

fn element(call: &Written) -> Option<String> {
    let mut out = format!("<{}>\n", call.name);
    for (key, value) in &call.arguments {
        let text = plain(value);
        if text.contains("</") {
            return None;
        }
        out.push_str(&format!("<{key}>\n{text}\n</{key}>\n"));
    }
    out.push_str(&format!("</{}>", call.name));
    Some(out)
}

fn nested(call: &Written, tagged: &Tagged, prefix: &str, form: &Call) -> String {
    let name = attribute(name_tag(form, &tagged.name[0]), &call.name);
    let [open, close] = [first(&tagged.name[0]), first(&tagged.name[1])];
    let members: String = call.arguments.iter().map(|(key, value)| nested_value(key, value, prefix)).collect();
    format!("{open}{name}{close}{members}")
}

fn nested_value(key: &str, value: &Value, prefix: &str) -> String {
    let inner = match value {
        Value::Array(values) => values.iter().map(|value| nested_value("item", value, prefix)).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| nested_value(key, value, prefix)).collect(),
        Value::String(text) => entities::encoded(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    format!("{prefix}<{key}>{inner}{prefix}</{key}>")
}
