//! What the arguments engine must know about a form: its markers, and what is between them.

use crate::adapter::syntax::{Start, ahead::Seen, typing::Hint};

/// An argument's opening tag.
pub(in crate::adapter::syntax) struct Tag {
    pub(in crate::adapter::syntax) key: String,
    pub(in crate::adapter::syntax) hint: Hint,
    pub(in crate::adapter::syntax) length: usize,
    /// The value if it is an attribute: `<parameter name="x" value="1"/>`. Empty for `<parameter name="x"/>`.
    pub(in crate::adapter::syntax) value: Option<String>,
    /// The tag has text that is neither its key nor an attribute, and was not read.
    pub(in crate::adapter::syntax) torn: bool,
}

impl Tag {
    /// A tag that has nothing but its key.
    pub(in crate::adapter::syntax) fn plain(key: &str, length: usize) -> Tag {
        Tag { key: key.to_owned(), hint: Hint::None, length, value: None, torn: false }
    }
}

/// The markers of one form. Each method tests the beginning of `text`; `end` means that the text is complete.
pub(in crate::adapter::syntax) trait Form {
    /// Whether an argument's tag begins here.
    fn argument_begins(&self, text: &str, end: bool) -> Start;
    /// Reads an argument's whole tag.
    fn argument(&self, text: &str, end: bool) -> Seen<Tag>;
    /// Whether the tag that opens a value is here. Always `No` if the form has none.
    fn value_open(&self, text: &str, end: bool) -> Start;
    /// Whether the form has a tag that opens values.
    fn opens_values(&self) -> bool;
    /// The markers around a type between key and value.
    fn type_tag(&self) -> Option<&[String; 2]>;
    /// Whether the value of argument `key` closes here. `opened`: the tag that opened it.
    fn value_close(&self, text: &str, key: &str, opened: &str, end: bool) -> Start;
    /// The name in the tag that closes the value of argument `key`. Empty if no tag does.
    fn closing_name<'a>(&'a self, key: &'a str) -> &'a str;
    /// The markers that close any value.
    fn closers(&self) -> &[String];
    /// Like [`Form::value_close`], but only the tag that belongs to the one that opened the value. Others close it in its place.
    fn own_value_close(&self, text: &str, key: &str, opened: &str, end: bool) -> Start;
    /// Whether the value of argument `key` is closed by a tag named after it.
    fn closes_by_key(&self, key: &str) -> bool {
        self.closing_name(key) == key
    }
    /// Whether a closing marker of the form is here; its name does not count.
    fn own_close(&self, text: &str, end: bool) -> Start;
    /// Whether the call closes here.
    fn close(&self, text: &str, end: bool) -> Start;
    /// Whether the section or fence around the calls closes here.
    fn outer(&self, text: &str, end: bool) -> Start;
    /// Whether another call begins here.
    fn call(&self, text: &str, end: bool) -> Start;
    /// Whether a call begins here and structure follows its head. `Yes` has the length of the head.
    fn nested(&self, text: &str, end: bool) -> Seen<usize>;
    /// Whether a known argument, or the end of the call, is here in the tags of another form. They count only between arguments: in
    /// a value they are content. `opened`: the tag of the argument before.
    fn other(&self, text: &str, opened: &str, end: bool) -> [Start; 2];
    /// Whether only the end of the text closes the call.
    fn open_ended(&self) -> bool;
    /// Whether `<![CDATA[` is markup.
    fn cdata(&self) -> bool;
    /// The value of argument `key` without what belongs to the form.
    fn value(&self, text: &str, key: &str, between: Between) -> String;
    /// The first bytes of all markers.
    fn leads(&self) -> Vec<u8>;
}

/// What the model writes between the tags of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::adapter::syntax) enum Between {
    Nothing,
    Space,
    #[default]
    Lines,
}

/// The hint of a type's name, or of `string="true"`.
pub(in crate::adapter::syntax) fn hint_of(written: &str) -> Hint {
    match written.to_ascii_lowercase().as_str() {
        "true" | "string" | "str" => Hint::Text,
        "" => Hint::None,
        _ => Hint::Json,
    }
}
