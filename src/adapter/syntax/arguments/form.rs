//! What the one engine for arguments as tags has to know of a form: its markers, and what is between them.

use crate::adapter::syntax::{Start, ahead::Seen, typing::Hint};

/// An argument's opening tag.
pub(in crate::adapter::syntax) struct Tag {
    pub(in crate::adapter::syntax) key: String,
    pub(in crate::adapter::syntax) hint: Hint,
    /// Length of the tag.
    pub(in crate::adapter::syntax) length: usize,
    /// The value, where it is an attribute: `<parameter name="x" value="1"/>`; empty for `<parameter name="x"/>`.
    pub(in crate::adapter::syntax) value: Option<String>,
}

/// The markers of one form. Every function looks at the beginning of a text, of which there may be more unless `end`.
pub(in crate::adapter::syntax) trait Form {
    /// An argument's tag begins here.
    fn argument_begins(&self, text: &str, end: bool) -> Start;
    /// An argument's whole tag.
    fn argument(&self, text: &str, end: bool) -> Seen<Tag>;
    /// The value opens here, after its key; always `No` where nothing is between the two.
    fn value_open(&self, text: &str, end: bool) -> Start;
    /// Something is between key and value.
    fn opens_values(&self) -> bool;
    /// Markers around the type between key and value.
    fn type_tag(&self) -> Option<&[String; 2]>;
    /// The value of this argument closes.
    fn value_close(&self, text: &str, key: &str, end: bool) -> Start;
    /// The name in the tag that closes the value of this argument; empty where no tag does.
    fn closing_name<'a>(&'a self, key: &'a str) -> &'a str;
    /// The markers that close any value.
    fn closers(&self) -> &[String];
    /// The call closes.
    fn close(&self, text: &str, end: bool) -> Start;
    /// What is around the calls closes.
    fn outer(&self, text: &str, end: bool) -> Start;
    /// Another call begins.
    fn call(&self, text: &str, end: bool) -> Start;
    /// A call begins here with structure after its head: the length of the head.
    fn nested(&self, text: &str, end: bool) -> Seen<usize>;
    /// Nothing closes the call but the end of the text.
    fn open_ended(&self) -> bool;
    /// Whether `<![CDATA[` is markup.
    fn cdata(&self) -> bool;
    /// The value of this argument without what belongs to the form.
    fn value(&self, text: &str, key: &str, between: Between) -> String;
    /// The first bytes of all markers.
    fn leads(&self) -> Vec<u8>;
}

/// What the model puts between the tags of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::adapter::syntax) enum Between {
    Nothing,
    Space,
    #[default]
    Lines,
}
