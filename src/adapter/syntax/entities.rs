//! XML and HTML entities that models write.

/// Decodes XML entities if the whole text is escaped. A bare `<` or `&` shows that it is not.
pub(super) fn decoded(text: &str) -> String {
    let escaped = !text.contains('<')
        && text.match_indices('&').all(|(at, _)| ENTITIES.iter().any(|(entity, _)| text[at..].starts_with(entity)));
    if escaped { unescaped(text) } else { text.to_owned() }
}

/// Encodes a text such that [`decoded`] returns it: text that only looks escaped is escaped once more.
pub(in crate::adapter) fn encoded(text: &str) -> String {
    if decoded(text) == text { text.to_owned() } else { text.replace('&', "&amp;") }
}

const ENTITIES: [(&str, char); 8] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&apos;", '\''),
    ("&#39;", '\''),
    ("&#x27;", '\''),
    ("&amp;", '&'),
];

/// Decodes all entities, each once.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, c) =
            ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity)).map_or((1, '&'), |&(entity, c)| (entity.len(), c));
        out.push(c);
        rest = &rest[length..];
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
}
