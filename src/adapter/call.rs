//! One form in which a family writes calls: its markers, and how the body is written.

use std::sync::Arc;

use serde::Deserialize;

use super::Recipient;

/// One form in which a family writes calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Markers around a group of calls; may be missing.
    pub section: Vec<String>,
    /// Their closing counterparts; may be missing.
    pub section_close: Vec<String>,
    /// Opening markers that count anywhere outside of code. An empty one means "directly after the section's".
    pub open: Vec<String>,
    /// What is left of the opening markers when a backend removed special tokens; an empty one means the body alone.
    /// Such a call is unmarked.
    pub stripped: Vec<String>,
    /// Languages of a code fence whose whole content is the call. Such a call is unmarked.
    pub fence: Vec<String>,
    /// Closing markers; may be missing.
    pub close: Vec<String>,
    /// The tag is the tool's name (`<read_file>`). Such a call is unmarked.
    pub element: bool,
    /// Whether an unmarked call of this form is looked for only at the start of the answer, not at its end.
    pub start_only: bool,
    /// Whether it counts only as the whole of an answer, because it is also written where nothing is called: as code, as a list.
    pub whole_answer: bool,
    /// Whether it is also tried after the opening marker of any other form, where what that form wants does not follow. Only
    /// offered tools are called so.
    pub fallback: bool,
    /// Beginnings of an answer that is a transcript: an unmarked call of this form counts anywhere in it.
    pub transcript: Vec<String>,
    /// How the body is written.
    pub syntax: Syntax,
}

/// How the body of a call is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Syntax {
    /// JSON with name and arguments in one object, an array of such, or one of the wrappers.
    Json(JsonKeys),
    /// The name, then JSON.
    Named(Named),
    /// The name, then one tag for each argument.
    Tagged(Tagged),
    /// Python: `f(a=1)`, `[f(a=1), g()]`.
    Python,
    /// A brace dictionary with bare keys and special string delimiters: `f{k:<|"|>v<|"|>}`.
    Lax(Lax),
    /// Child elements named after the parameters, or JSON, inside an element named after the tool.
    Element,
    /// A message whose header names the tool; its body is the arguments.
    Recipient(Arc<Recipient>),
    /// Elements named after parameters, nested, with a prefix before every tag.
    Nested(Nested),
}

/// The keys of [`Syntax::Json`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonKeys {
    /// Keys that hold the tool's name.
    pub name: Vec<String>,
    /// Keys that hold the arguments.
    pub arguments: Vec<String>,
    /// Whether the object has one member: the tool's name with the arguments.
    pub name_is_key: bool,
    /// Whether several calls are in one array; read is either form.
    pub array: bool,
    /// Whether the object's id is the call's: elsewhere it is a counter that starts anew in every turn.
    pub keep_id: bool,
    /// What ends a header (a single word) that comes before the value and carries nothing.
    pub header: Vec<String>,
}

/// The locators of [`Syntax::Named`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// What comes before the name.
    pub open: Vec<String>,
    /// What ends the name; an empty one means the brace that opens the arguments.
    pub close: Vec<String>,
    /// Prefixes that are not part of the name (`functions.`).
    pub prefix: Vec<String>,
    /// The text of the name is the call's id as well (`functions.f:0`) and must be kept.
    pub name_is_id: bool,
    /// Markers around an id; the opening one may be empty.
    pub id: Option<[String; 2]>,
    /// The id comes before the name, else after it.
    pub id_first: bool,
    /// Markers between name (or id) and arguments that carry nothing.
    pub skip: Vec<String>,
    /// After one of the markers in `skip`, the arguments may be a line of text.
    pub line: bool,
    /// Where only a number takes the place of the name, the arguments tell it: the one offered tool that they fit.
    pub name_from_arguments: bool,
}

/// The locators of [`Syntax::Tagged`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// Around the name.
    pub name: [Vec<String>; 2],
    /// Around an argument's key; attributes may be between the key and the end of the tag.
    pub argument: [Vec<String>; 2],
    /// Around an argument's value.
    pub value: [Vec<String>; 2],
    /// An attribute in the argument's tag that says its type: `string="true"`, `type="number"`.
    pub type_attribute: Option<String>,
    /// How many newlines at the ends of a value belong to the form.
    pub trim: Trim,
    /// Whether `<![CDATA[...]]>` around a value is removed.
    pub cdata: bool,
    /// Whether XML entities in a value are decoded.
    pub entities: bool,
    /// Markers around an argument's type, between its key and its value.
    pub type_tag: Option<[String; 2]>,
    /// Markers between name and arguments that carry nothing.
    pub skip: Vec<String>,
}

/// What is cut from the ends of a tagged value.
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
    /// What comes before the name inside the body.
    pub open: Vec<String>,
    /// Delimiters of strings besides `"` and `'`, the same at both ends.
    pub strings: Vec<String>,
}

/// The prefix of [`Syntax::Nested`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nested {
    /// What comes before every tag.
    pub prefix: String,
    /// Around the name.
    pub name: [Vec<String>; 2],
}
