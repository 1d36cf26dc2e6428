//! XML and HTML entities that models write.

use std::collections::BTreeSet;

use serde_json::Value;

/// Decodes XML entities if the whole text is escaped. A bare `<` or `&` shows that it is not.
pub(super) fn decoded(text: &str) -> String {
    let escaped = !text.contains('<')
        && text.match_indices('&').all(|(at, _)| ENTITIES.iter().any(|(entity, _)| text[at..].starts_with(entity)));
    if escaped { unescaped(text) } else { text.to_owned() }
}

/// Whether the values of a call show together that their writer escapes: at least three kinds of characters are escaped, `&` among
/// them, in more than one value, and none of these characters is there as itself. One value may be text about markup.
pub(super) fn are_escaped(arguments: &str) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str(arguments) else { return false };
    let (mut kinds, mut escaping) = (BTreeSet::new(), 0);
    for text in members.values().filter_map(Value::as_str) {
        let entity = |at: usize| ENTITIES.iter().find(|(entity, _)| text[at..].starts_with(entity)).map(|(_, c)| *c);
        let escaped: Option<Vec<&str>> = text.match_indices('&').map(|(at, _)| entity(at)).collect();
        let Some(escaped) = escaped.filter(|_| !text.contains(['<', '>', '"'])) else { return false };
        escaping += usize::from(!escaped.is_empty());
        kinds.extend(escaped);
    }
    escaping > 1 && kinds.len() >= 3 && kinds.contains("&")
}

/// Encodes a text such that [`decoded`] returns it: text that only looks escaped is escaped once more.
pub(in crate::adapter) fn encoded(text: &str) -> String {
    if decoded(text) == text { text.to_owned() } else { text.replace('&', "&amp;") }
}

const ENTITIES: [(&str, &str); 8] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&amp;", "&"),
];

/// Decodes all entities, each once.
pub(super) fn unescaped(text: &str) -> String {
    replaced(text, b'&', |rest| {
        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        entity.map_or((1, "&"), |&(entity, character)| (entity.len(), character))
    })
}

/// Replaces what begins with `lead`. `read` says of the text from there on how much of it is replaced, and by what.
pub(super) fn replaced(text: &str, lead: u8, read: impl for<'t> Fn(&'t str) -> (usize, &'t str)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(lead, rest.as_bytes()) {
        let (length, instead) = read(&rest[at..]);
        out.push_str(&rest[..at]);
        out.push_str(instead);
        rest = &rest[at + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_it_was() {
        for text in
            ["", "a & b", "&lt;b&gt;", "&amp;", "&amp;lt;", "<a>&lt;</a>", "&lt; & more", "&copy;", "&&amp;", "&#39;x&#39;"]
        {
            assert_eq!(decoded(&encoded(text)), text);
        }
        assert_eq!(encoded("say &lt;b&gt;"), "say &amp;lt;b&amp;gt;");
    }

    #[test]
    fn only_a_whole_call_proves_that_its_writer_escapes() {
        for (arguments, want) in [
            (r#"{"a": "&lt;div&gt;x&lt;/div&gt;", "b": "Quote: &quot;hello&quot;", "c": "if (a &amp;&amp; b) { }"}"#, true),
            (r#"{"a": "&lt;b&gt; &amp;&amp; x", "b": "&quot;"}"#, true),
            // One value is written as it is.
            (r#"{"a": "Tom & Jerry", "b": "Tom &amp; Jerry"}"#, false),
            (r#"{"a": "&lt;div&gt; &amp;", "b": "<b>"}"#, false),
            // Text about markup.
            (r#"{"a": "if (a &amp;&amp; b) &lt;ok&gt;", "b": "x"}"#, false),
            (r#"{"a": "sed -i 's/&lt;/LT/g' a.html"}"#, false),
            (r#"{"a": "Write &lt;b&gt; for bold."}"#, false),
            (r#"{"a": "a &lt; b", "b": "a &gt; b"}"#, false),
            (r#"{"a": "open "http://x/?a=1&amp;b=2""}"#, false),
            (r#"{"a": "&#39;x&#39; &quot;y&quot;"}"#, false),
            (r#"{"a": 1}"#, false),
        ] {
            assert_eq!(are_escaped(arguments), want, "{arguments}");
        }
    }
}
