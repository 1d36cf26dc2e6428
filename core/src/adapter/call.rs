//! A call form: its markers, and the syntax of its body.

use std::sync::Arc;

use serde::Deserialize;

use super::Recipient;

/// One form in which a family writes calls. A call is *marked* if one of `section` and `open` precedes it, and *unmarked*
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Markers before a group of calls. May be empty.
    pub section: Vec<String>,
    /// The closing counterparts of `section`. May be empty.
    pub section_close: Vec<String>,
    /// Opening markers. They count anywhere outside code. An empty string means "directly after `section`".
    pub open: Vec<String>,
    /// What remains of the opening markers if a backend strips special tokens. An empty string means that nothing precedes the
    /// body. The call is unmarked.
    pub stripped: Vec<String>,
    /// Languages of a code fence whose whole content is the call. The call is unmarked.
    pub fence: Vec<String>,
    /// Closing markers. May be empty.
    pub close: Vec<String>,
    /// Whether the tag is the tool's name (`<read_file>`). The call is unmarked.
    pub element: bool,
    /// Whether an unmarked call counts only at the start of the answer, not at its end.
    pub start_only: bool,
    /// Whether a call counts only as the whole answer, because the form also occurs where nothing is called, as code or as a
    /// list.
    pub whole_answer: bool,
    /// Whether the form is also tried after the opening marker of another form, if that form's body does not follow. Such a call
    /// counts only if its tool is offered.
    pub fallback: bool,
    /// The syntax of the body.
    pub syntax: Syntax,
}

/// The syntax of a call's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Syntax {
    /// JSON with name and arguments in one object, a list of such objects, or a wrapper around them.
    Json(JsonKeys),
    /// The name, then JSON.
    Named(Named),
    /// The name, then one tag for each argument.
    Tagged(Tagged),
    /// Python: `f(a=1)`, `[f(a=1), g()]`.
    Python,
    /// A brace dictionary with bare keys and special string delimiters: `f{k:<|"|>v<|"|>}`.
    Lax(Lax),
    /// Child elements named after the parameters, or JSON, inside an element named after the tool. Arguments may also have these
    /// tags.
    Element(Tagged),
    /// A message whose header names the tool and whose body is the arguments.
    Recipient(Arc<Recipient>),
}

/// The keys of [`Syntax::Json`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonKeys {
    /// Keys that hold the tool's name.
    pub name: Vec<String>,
    /// Keys that hold the arguments.
    pub arguments: Vec<String>,
    /// Whether the object has one member: the tool's name as the key, the arguments as the value.
    pub name_is_key: bool,
    /// Whether several calls are written as one array. Both forms are read.
    pub array: bool,
    /// Whether the object's id is the call's id. In other forms it is a counter that restarts in every turn.
    pub keep_id: bool,
    /// What ends a header, a single word before the value that carries no information.
    pub header: Vec<String>,
}

/// The markers of [`Syntax::Named`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// What precedes the name.
    pub open: Vec<String>,
    /// What ends the name. An empty string means the brace that opens the arguments.
    pub close: Vec<String>,
    /// Prefixes that are not part of the name (`functions.`).
    pub prefix: Vec<String>,
    /// Whether the text of the name is also the call's id (`functions.f:0`) and must be kept.
    pub name_is_id: bool,
    /// Markers around an id. The opening one may be empty.
    pub id: Option<[String; 2]>,
    /// Whether the id precedes the name. Otherwise it follows it.
    pub id_first: bool,
    /// Markers between name (or id) and arguments that carry no information.
    pub skip: Vec<String>,
    /// Whether the arguments may be a line of text after one of the markers in `skip`.
    pub line: bool,
    /// Whether a number may take the place of the name. The tool is then the only offered one that the arguments fit.
    pub name_from_arguments: bool,
}

/// The markers of [`Syntax::Tagged`], each as `[before, after]`. Both are lists of alternatives, which are not paired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tagged {
    /// Around the name.
    pub name: [Vec<String>; 2],
    /// Around an argument's key. Attributes may precede the end of the tag.
    pub argument: [Vec<String>; 2],
    /// Around an argument's value.
    pub value: [Vec<String>; 2],
    /// An attribute of the argument's tag that tells its type: `string="true"`, `type="number"`.
    pub type_attribute: Option<String>,
    /// Which whitespace around a value belongs to the form.
    pub trim: Trim,
    /// Whether `<![CDATA[...]]>` around a value is removed.
    pub cdata: bool,
    /// Whether XML entities in values are decoded if the whole call shows that the model escapes.
    pub entities: bool,
    /// Whether the model writes a space of no width after each `<` of a value that looks like markup.
    pub zero_width: bool,
    /// Whether the arguments are nested elements named after the parameters, and what precedes each of their tags.
    pub nested: Option<String>,
    /// Markers around an argument's type, between its key and its value.
    pub type_tag: Option<[String; 2]>,
    /// Markers between name and arguments that carry no information.
    pub skip: Vec<String>,
}

/// The whitespace that is removed from both ends of a tagged value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trim {
    /// Nothing.
    None,
    /// One newline at each end.
    #[default]
    OneNewline,
    /// All whitespace.
    All,
}

/// The delimiters of [`Syntax::Lax`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lax {
    /// What precedes the name inside the body.
    pub open: Vec<String>,
    /// Delimiters of strings besides `"` and `'`, the same on both sides.
    pub strings: Vec<String>,
}
