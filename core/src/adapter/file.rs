//! Parses an adapter file into an [`Adapter`]. Errors name the file, the key and the remedy.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Deserializer};

use super::{
    Adapter, Call, Framing, Inside, JsonKeys, Lax, Lazy, Named, Names, Proof, Reasoning, Recipient, Shown, Signs, Syntax, Tagged,
    Trim, Wrapper,
    asides::THINK,
    quote::Turns,
    triggers::{self, Triggers},
    value_markers,
};
use crate::{error::Error, toml_error};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
/// An adapter file. docs/adapters.md explains the keys.
struct File {
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    templates: Vec<String>,
    proof: Proof,
    #[serde(default)]
    shown_by: Vec<String>,
    #[serde(default)]
    preserve: Vec<String>,
    #[serde(default)]
    drop: Vec<String>,
    #[serde(default)]
    turns: Vec<String>,
    #[serde(default)]
    names: Names,
    #[serde(default)]
    spellings: BTreeMap<String, Vec<String>>,
    reasoning: Option<Reasoning>,
    answer: Option<Wrapper>,
    recipient: Option<Recipient>,
    #[serde(default)]
    prompt: super::render::Prompt,
    #[serde(default)]
    call: Vec<FileCall>,
}

/// A `[[call]]` table, with the union of the keys of all syntaxes. [`FileCall::syntax`] takes the keys of its syntax and rejects
/// the rest.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FileCall {
    #[serde(default, deserialize_with = "strings")]
    section: Vec<String>,
    #[serde(default, deserialize_with = "strings")]
    section_close: Vec<String>,
    #[serde(default, deserialize_with = "strings")]
    open: Vec<String>,
    #[serde(default, deserialize_with = "strings")]
    stripped: Vec<String>,
    #[serde(default)]
    fence: Vec<String>,
    #[serde(default, deserialize_with = "strings")]
    close: Vec<String>,
    #[serde(default)]
    start_only: bool,
    #[serde(default)]
    whole_answer: bool,
    #[serde(default)]
    fallback: bool,
    syntax: String,
    name: Option<[Strings; 2]>,
    argument: Option<[Strings; 2]>,
    value: Option<[Strings; 2]>,
    name_keys: Option<Vec<String>>,
    argument_keys: Option<Vec<String>>,
    name_is_key: Option<bool>,
    array: Option<bool>,
    keep_id: Option<bool>,
    name_is_id: Option<bool>,
    line: Option<bool>,
    name_from_arguments: Option<bool>,
    prefix: Option<Strings>,
    skip: Option<Strings>,
    id: Option<[String; 2]>,
    id_first: Option<bool>,
    header: Option<Strings>,
    type_attribute: Option<String>,
    type_tag: Option<[String; 2]>,
    trim: Option<Trim>,
    cdata: Option<bool>,
    entities: Option<bool>,
    zero_width: Option<bool>,
    strings: Option<Strings>,
    tag_prefix: Option<String>,
}

#[derive(Deserialize, Default)]
struct Strings(#[serde(deserialize_with = "strings")] Vec<String>);

/// Deserializes one string or a list of strings.
pub(super) fn strings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

impl Adapter {
    /// Parses an adapter file. `name`: its name without `.toml`. `generic` are the forms that follow every family's own.
    ///
    /// # Errors
    /// 500, with the file and what is wrong in it.
    pub fn parse(name: &str, text: &str, generic: &[Arc<Call>]) -> Result<Adapter, Error> {
        let fail = |what: String| Error::proxy(format!("adapter {name}.toml: {what}"));
        let mut file: File = toml::from_str(text)
            .map_err(|error| Error::proxy(format!("adapter {name}.toml{}", toml_error::explained(&error, text))))?;
        file.respell();
        let mut calls = Vec::with_capacity(file.call.len() + generic.len());
        for (at, call) in file.call.into_iter().enumerate() {
            let call = call.validate().map_err(|what| fail(format!("[[call]] number {}: {what}", at + 1)))?;
            calls.push(Arc::new(call));
        }
        let own_calls = calls.len();
        let recipient = file.recipient.map(Arc::new);
        calls.extend(recipient.iter().map(Call::headed).map(Arc::new));
        calls.extend_from_slice(generic);
        if let Some(recipient) = &recipient
            && (recipient.message.is_empty()
                || recipient.start.iter().chain(&recipient.end).any(|marker| marker.trim().is_empty()))
        {
            return Err(fail("[recipient]: an empty marker would match everywhere".into()));
        }
        // Fine-tunes of any family reason in these tags. If messages have headers, the headers mark reasoning.
        let usual = || {
            let [open, close] = THINK.map(|marker| vec![marker.to_owned()]);
            Reasoning { open, close, label: Vec::new(), tool_call_inside: Inside::AtEnd, anywhere: false }
        };
        let reasoning = file.reasoning.or_else(|| recipient.is_none().then(usual));
        let framing = Arc::new(Framing { drop: file.drop, reasoning, answer: file.answer, recipient });
        if framing.markers().any(|marker| marker.trim().is_empty()) {
            return Err(fail("an empty marker would match everywhere; remove it".into()));
        }
        triggers::check(&framing, &calls).map_err(fail)?;
        let turns = Arc::new(Turns::of(&framing, file.turns.into_iter().chain(file.preserve.iter().cloned())));
        let triggers = Adapter::triggers(&framing, &calls, own_calls, &[]);
        Ok(Adapter {
            value_markers: value_markers(&calls[..own_calls]),
            name: name.to_owned(),
            signs: Signs { models: file.models, templates: file.templates, markers: file.shown_by },
            families: Vec::new(),
            proof: file.proof,
            preserve: file.preserve,
            names: file.names,
            framing,
            prompt: file.prompt,
            calls,
            own_calls,
            triggers,
            turns,
        })
    }

    /// The same adapter, whose scanner continues with one of `families` once an answer contains the marker that only that family
    /// writes. The adapter's own markers do not count.
    pub(super) fn giving_way(&self, families: &[Arc<Shown>]) -> Adapter {
        let recipient = self.framing.recipient.iter().flat_map(|recipient| recipient.start.iter().chain(&recipient.end));
        let calls = self.own().iter().flat_map(|call| [&call.section, &call.open, &call.stripped]).flatten();
        let own: Vec<&String> = self.framing.markers().chain(recipient).chain(calls).collect();
        let families: Vec<_> = families.iter().filter(|shown| !own.contains(&&shown.marker)).cloned().collect();
        Adapter { triggers: Adapter::triggers(&self.framing, &self.calls, self.own_calls, &families), families, ..self.clone() }
    }

    fn triggers(framing: &Arc<Framing>, calls: &[Arc<Call>], own: usize, families: &[Arc<Shown>]) -> Lazy<Triggers> {
        let (framing, calls, families) = (Arc::clone(framing), calls.to_vec(), families.to_vec());
        lazy(move || Triggers::new(&framing, &calls, own, &families))
    }
}

fn lazy<T>(build: impl FnOnce() -> T + Send + 'static) -> Lazy<T> {
    Arc::new(LazyLock::new(Box::new(build)))
}

impl Call {
    /// The form of messages with headers. It has no marker of its own: the scanner finds the header.
    fn headed(recipient: &Arc<Recipient>) -> Call {
        Call {
            section: Vec::new(),
            section_close: Vec::new(),
            open: Vec::new(),
            stripped: Vec::new(),
            fence: Vec::new(),
            close: recipient.end.clone(),
            element: false,
            start_only: false,
            whole_answer: false,
            fallback: false,
            syntax: Syntax::Recipient(Arc::clone(recipient)),
        }
    }
}

impl File {
    /// Adds the other spellings of all markers.
    fn respell(&mut self) {
        let spellings = &self.spellings;
        let reasoning = self.reasoning.iter_mut().flat_map(|region| [&mut region.open, &mut region.close]);
        for list in reasoning.chain([&mut self.drop]) {
            respell(list, spellings);
        }
        for call in &mut self.call {
            let pairs = [&mut call.name, &mut call.argument, &mut call.value].into_iter().flatten().flatten();
            let lists = pairs.chain([&mut call.prefix, &mut call.skip, &mut call.header].into_iter().flatten());
            let markers = [&mut call.section, &mut call.section_close, &mut call.open, &mut call.stripped, &mut call.close];
            for list in lists.map(|list| &mut list.0).chain(markers) {
                respell(list, spellings);
            }
        }
    }
}

/// Appends the other spellings of each marker. The first marker stays first, because calls are written with it.
fn respell(markers: &mut Vec<String>, spellings: &BTreeMap<String, Vec<String>>) {
    for (piece, others) in spellings {
        let written: Vec<String> = markers.iter().filter(|marker| marker.contains(piece.as_str())).cloned().collect();
        markers.extend(others.iter().flat_map(|other| written.iter().map(move |marker| marker.replace(piece.as_str(), other))));
    }
}

impl FileCall {
    fn validate(mut self) -> Result<Call, String> {
        let syntax = self.syntax()?;
        let element = matches!(syntax, Syntax::Element(_));
        let entered = !(self.open.is_empty() && self.stripped.is_empty() && self.fence.is_empty());
        if !entered && !element && !self.fallback {
            return Err("needs `open`, `stripped`, `fence` or `fallback`: nothing would ever start it".into());
        }
        if self.open.iter().any(|marker| marker.trim().is_empty()) && self.section.is_empty() {
            return Err("an empty `open` needs a `section`; a call without any marker is `stripped = \"\"`".into());
        }
        if self.section.iter().any(|marker| marker.trim().is_empty()) {
            return Err("an empty `section` would match everywhere".into());
        }
        Ok(Call {
            section: self.section,
            section_close: self.section_close,
            open: self.open,
            stripped: self.stripped,
            fence: self.fence,
            close: self.close,
            element,
            start_only: self.start_only,
            whole_answer: self.whole_answer,
            fallback: self.fallback,
            syntax,
        })
    }

    fn syntax(&mut self) -> Result<Syntax, String> {
        let pair = |pair: Option<[Strings; 2]>| pair.map(|[open, close]| [open.0, close.0]);
        let list = |list: Option<Strings>| list.map(|list| list.0).unwrap_or_default();
        let syntax = match self.syntax.as_str() {
            "json" => Syntax::Json(JsonKeys {
                name: self.name_keys.take().unwrap_or_else(|| JsonKeys::usual().name),
                arguments: self.argument_keys.take().unwrap_or_else(|| JsonKeys::usual().arguments),
                name_is_key: self.name_is_key.take().unwrap_or_default(),
                array: self.array.take().unwrap_or_default(),
                keep_id: self.keep_id.take().unwrap_or_default(),
                header: list(self.header.take()),
            }),
            "named" => {
                let [open, close] = pair(self.name.take()).ok_or("syntax `named` needs `name = [before, after]`")?;
                Syntax::Named(Named {
                    open,
                    close,
                    prefix: list(self.prefix.take()),
                    name_is_id: self.name_is_id.take().unwrap_or_default(),
                    id: self.id.take(),
                    id_first: self.id_first.take().unwrap_or_default(),
                    skip: list(self.skip.take()),
                    line: self.line.take().unwrap_or_default(),
                    name_from_arguments: self.name_from_arguments.take().unwrap_or_default(),
                })
            }
            "element" => Syntax::Element(Tagged {
                argument: pair(self.argument.take()).unwrap_or_default(),
                value: pair(self.value.take()).unwrap_or_default(),
                cdata: true,
                ..Tagged::default()
            }),
            "tagged" => Syntax::Tagged(Tagged {
                name: pair(self.name.take()).ok_or("syntax `tagged` needs `name = [before, after]`")?,
                argument: pair(self.argument.take()).ok_or("syntax `tagged` needs `argument = [before, after]`")?,
                value: pair(self.value.take()).ok_or("syntax `tagged` needs `value = [before, after]`")?,
                type_attribute: self.type_attribute.take(),
                trim: self.trim.take().unwrap_or_default(),
                cdata: self.cdata.take().unwrap_or_default(),
                entities: self.entities.take().unwrap_or_default(),
                zero_width: self.zero_width.take().unwrap_or_default(),
                nested: None,
                type_tag: self.type_tag.take(),
                skip: list(self.skip.take()),
            }),
            "python" => Syntax::Python,
            "lax" => Syntax::Lax(Lax {
                open: pair(self.name.take()).map(|[open, _]| open).unwrap_or_default(),
                strings: list(self.strings.take()),
            }),
            "nested" => Syntax::Tagged(Tagged {
                nested: Some(self.tag_prefix.take().ok_or("syntax `nested` needs `tag_prefix`")?),
                name: pair(self.name.take()).ok_or("syntax `nested` needs `name = [before, after]`")?,
                trim: Trim::None,
                ..Tagged::default()
            }),
            other => return Err(format!("unknown syntax `{other}`; known: json, named, tagged, python, lax, element, nested")),
        };
        match self.left_over() {
            Some(key) => Err(format!("`{key}` means nothing in syntax `{}`", self.syntax)),
            None => Ok(syntax),
        }
    }

    /// A key that the file gives and the syntax did not take.
    fn left_over(&self) -> Option<&'static str> {
        macro_rules! given {
            ($($key:ident)*) => { [$((stringify!($key), self.$key.is_some())),*] };
        }
        let keys = given![
            name argument value name_keys argument_keys name_is_key array keep_id name_is_id line name_from_arguments prefix skip
            id id_first header type_attribute type_tag trim cdata entities zero_width strings tag_prefix
        ];
        keys.into_iter().find_map(|(key, given)| given.then_some(key))
    }
}
