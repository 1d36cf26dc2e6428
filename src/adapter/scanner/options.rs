//! What a scanner may be told of an answer before it begins.

/// What a scanner may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A candidate whose name is not known is text again beyond so many bytes.
    pub held_bytes: usize,
    /// A call whose arguments are longer than so many bytes is refused.
    pub argument_bytes: usize,
    /// Whether reasoning and control tokens are separated from the text, and others' turns left out.
    pub framing: bool,
    /// Whether the answer begins inside of reasoning (the prompt opened it).
    pub reasoning_open: bool,
    /// Whether calls without a marker are looked for; not where the client asked for JSON as the answer itself.
    pub unmarked: bool,
    /// Whether the prompt asks for elements named after tools, and the client executes them wherever they are: a line that
    /// begins with such a tag is a call, also in a code fence, and its body is read leniently.
    pub elements: bool,
    /// Whether JSON in the form of a call that is the whole answer, or its end, is refused if it names no offered tool or lacks
    /// required parameters: somebody answers it to the model. The same for elements, where they are asked for. Otherwise it is
    /// text.
    pub strays: bool,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Options {
        Options {
            held_bytes: 16 * 1024,
            argument_bytes: 8 * 1024 * 1024,
            framing: true,
            reasoning_open: false,
            unmarked: true,
            elements: false,
            strays: false,
        }
    }
}
