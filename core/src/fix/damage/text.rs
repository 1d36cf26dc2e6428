//! What the quotes in a string show: whether it may be several values, or has swallowed a member.

/// Longest key that is recognised, in bytes.
const KEY_BYTES: usize = 64;

/// Whether a text begins or ends with one of these quotes, punctuation aside, and contains an odd number of them: `Oslo":`.
pub(crate) fn has_odd_quote(text: &str, quotes: &[char]) -> bool {
    let framing = |c: char| c.is_whitespace() || ",:;{}[]".contains(c);
    let (first, last) = (text.trim_start(), text.trim_end_matches(framing));
    let odd = |quote: char| (first.starts_with(quote) || last.ends_with(quote)) && is_odd(text, &[quote]);
    quotes.iter().any(|&quote| odd(quote) && !closes_escaped(text, quote))
}

/// Whether the only unescaped quote ends the text and closes a pair whose first quote is escaped: `say \"hi"`.
fn closes_escaped(text: &str, quote: char) -> bool {
    let (mut escaped, mut chars) = (0, text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => escaped += usize::from(chars.next() == Some(quote)),
            _ if c == quote => return chars.as_str().is_empty() && escaped % 2 == 1,
            _ => {}
        }
    }
    false
}

/// Whether a text has an odd number of double quotes, escaped or not, and the last one opens a string: `echo "a" > "b`. A single
/// quote does so only in a command (`echo "hi`).
pub(super) fn opens_last(text: &str, is_command: &dyn Fn() -> bool) -> bool {
    let Some((before, after)) = text.rsplit_once('"') else { return false };
    let before = before.trim_end_matches('\\');
    let opens =
        before.ends_with(|c: char| c.is_whitespace() || "([{=,:>".contains(c)) && after.starts_with(|c: char| !c.is_whitespace());
    let quotes = text.matches('"').count();
    opens && quotes % 2 == 1 && (quotes > 1 || is_command())
}

/// Whether an element of a list ends inside a text, and the next one lacks its opening quote: `a", b`.
pub(crate) fn ends_inside(text: &str) -> bool {
    let followed = |quote: char| text.match_indices(quote).any(|(at, _)| text[at + 1..].trim_start().starts_with(','));
    ['"', '\''].into_iter().any(|quote| followed(quote) && is_odd(text, &[quote]))
}

/// Whether a text has an odd number of these quotes, not counting escaped ones.
pub(super) fn is_odd(text: &str, quotes: &[char]) -> bool {
    let (mut count, mut chars) = (0, text.chars());
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if quotes.contains(&c) {
            count += 1;
        }
    }
    count % 2 == 1
}

/// Whether a text that contains unescaped quotes may be several values.
pub(crate) fn holds_structure(text: &str) -> bool {
    let quotes = &['"', '\''];
    separates(text, quotes) || swallowed(text, quotes).any(|(_, sure)| sure)
}

/// Whether a text begins like the rest of a member: `: "x"`, or `host": "x"` after the opening quote.
pub(crate) fn begins_as_member(text: &str, quotes: &[char]) -> bool {
    let after = text.trim_start().strip_prefix([':', '=']);
    if after.is_some_and(|rest| rest.trim_start().starts_with(quotes)) {
        return true;
    }
    let word = text.find(|c: char| !is_key(c)).unwrap_or(text.len());
    let rest = text[word..].trim_start();
    word > 0 && word <= KEY_BYTES && rest.strip_prefix(quotes).is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
}

/// Whether a text may be several values: every second piece between its quotes is structure. In code, words are there.
pub(super) fn separates(text: &str, quotes: &[char]) -> bool {
    let mut escaped = false;
    let mut pieces = text.split(|c| {
        let quote = quotes.contains(&c) && !escaped;
        escaped = c == '\\' && !escaped;
        quote
    });
    let first = pieces.next().unwrap_or_default().trim_end();
    let rest: Vec<&str> = pieces.collect();
    // Either the first quote closes a value, or it opens the second value and the quote before it is missing.
    let closes = rest.iter().step_by(2).all(|piece| is_structure(piece));
    let opens = rest.len() % 2 == 1
        && first.ends_with([',', ':', '{', '['])
        && rest.iter().skip(1).step_by(2).all(|piece| is_structure(piece));
    !rest.is_empty() && (closes || opens)
}

/// Whether a text is JSON without strings.
fn is_structure(text: &str) -> bool {
    let tokens = text.split(|c: char| c.is_whitespace() || ",:{}[]".contains(c));
    tokens.filter(|token| !token.is_empty()).all(|token| {
        matches!(token, "true" | "false" | "null") || token.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
    })
}

/// Whether a text has this name after a comma and before an equals sign.
pub(super) fn assigns(text: &str, name: &str) -> bool {
    let assigns = |at: usize| text[..at].trim_end().ends_with(',') && text[at + name.len()..].trim_start().starts_with('=');
    !name.is_empty() && text.match_indices(name).any(|(at, _)| assigns(at))
}

/// The words of a text, outside brackets, that are written like keys.
pub(super) fn keys(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut inside) = (0_i32, false);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'{' | b'[' if !inside => depth += 1,
            b'}' | b']' if !inside => depth = (depth - 1).max(0),
            b'"' => inside = !inside,
            _ => {}
        }
        if !matches!(byte, b'"' | b'\'') || depth > 0 {
            return None;
        }
        let key = word_before(text, at);
        let opens = text[..at - key.len()].ends_with(['"', '\'']);
        (opens && !key.is_empty() && separated(&text[at + 1..])).then_some(key)
    })
}

/// What a string may have swallowed of the next member: words next to its quotes that may be keys. The flag is set if a word can
/// only be a key. Words inside brackets of the string are content.
pub(super) fn swallowed<'t>(text: &'t str, quotes: &'static [char]) -> impl Iterator<Item = (&'t str, bool)> {
    let (mut depth, mut inside, mut escaped) = (0_i32, true, false);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        let quoted = quotes.contains(&char::from(byte)) && !escaped;
        escaped = byte == b'\\' && !escaped;
        match byte {
            b'{' | b'[' if inside => depth += 1,
            b'}' | b']' if inside => depth = (depth - 1).max(0),
            _ if quoted && char::from(byte) == quotes[0] => inside = !inside,
            _ => {}
        }
        if !quoted || depth > 0 {
            return None;
        }
        let (before, after) = (&text[..at], &text[at + 1..]);
        let key = word_before(text, at);
        if !key.is_empty() && separated(after) {
            // `"x", "key": 1`, `"x", key": 1`: a value, and a member after it.
            let outer = before[..before.len() - key.len()].trim_end_matches(['"', '\'']).trim_end();
            let follows = outer.strip_suffix(',').map(str::trim_end);
            return Some((key, follows.is_some_and(|value| value.ends_with(['"', '\'']))));
        }
        // `"x", key="`: an equals sign in the place of the colon.
        if let Some(before) = before.trim_end().strip_suffix('=') {
            let key = word_before(before, before.len());
            let outer = before[..before.len() - key.len()].trim_end().strip_suffix(',').map(str::trim_end);
            return outer.filter(|outer| outer.ends_with(['"', '\'']) && !key.is_empty()).map(|_| (key, false));
        }
        let leading = |text: &'t str| &text[..text.find(|c: char| !is_key(c)).unwrap_or(text.len())];
        // `"x"` and `key: 1` in the next line: the comma is lost.
        let next = after.trim_start();
        let key = leading(next);
        if after[..after.len() - next.len()].contains('\n') && !key.is_empty() && next[key.len()..].starts_with(':') {
            return Some((key, false));
        }
        // `", "key"true`, `", "key 1`: the colon is lost, or a quote.
        let word = leading(after);
        let key = if after[word.len()..].starts_with(['"', '\'', ' ']) {
            word
        } else {
            word.trim_end_matches(|c: char| c.is_ascii_digit())
        };
        let opens = !key.is_empty() && word.len() <= KEY_BYTES && before.trim_end().ends_with(',');
        opens.then_some((key, false))
    })
}

/// Whether a text closes a bracket that it does not open.
pub(super) fn has_surplus(text: &str) -> bool {
    surplus(text).any(|(_, surplus)| surplus)
}

/// The first words of objects that begin after a bracket which the text does not open: `x"}, {"key": "y`.
pub(super) fn after_surplus(text: &str) -> impl Iterator<Item = &str> {
    let begins = |(at, surplus): (usize, bool)| {
        let rest = text[at..].strip_prefix('{').filter(|_| surplus)?.trim_start();
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let word = &rest[..rest.find(|c: char| !is_key(c)).unwrap_or(rest.len())];
        (!word.is_empty() && rest[word.len()..].starts_with(['"', '\'', ':'])).then_some(word)
    };
    surplus(text).filter_map(begins)
}

/// The first words of objects that follow another one in a text: `..}, {"key": "y`.
pub(super) fn after_object(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('}').filter_map(|(at, _)| {
        let next = text[at + 1..].trim_start().strip_prefix(',')?.trim_start().strip_prefix('{')?.trim_start();
        let word = next.strip_prefix(['"', '\''])?;
        let key = &word[..word.find(|c: char| !is_key(c)).unwrap_or(word.len())];
        (!key.is_empty() && separated(word[key.len()..].strip_prefix(['"', '\''])?)).then_some(key)
    })
}

/// Whether a text holds the end of an element of a list and the beginning of the next one: `a", "b`.
pub(super) fn holds_elements(text: &str) -> bool {
    let next = |at: usize| text[at + 1..].trim_start().strip_prefix(',').map(str::trim_start);
    text.match_indices('"').any(|(at, _)| next(at).is_some_and(|next| next.starts_with('"')))
}

/// The brackets of a text. The flag is set once one of them closes what the text does not open.
fn surplus(text: &str) -> impl Iterator<Item = (usize, bool)> {
    let (mut depth, mut surplus) = (0_u32, false);
    let brackets = text.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'{' | b'[' | b'}' | b']'));
    brackets.map(move |(at, byte)| {
        match byte {
            b'{' | b'[' => depth += 1,
            _ => {
                surplus |= depth == 0;
                depth = depth.saturating_sub(1);
            }
        }
        (at, surplus)
    })
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || "_-.$".contains(c)
}

/// The word that ends at `at`, if it is short enough for a key.
fn word_before(text: &str, at: usize) -> &str {
    let before = &text[text.ceil_char_boundary(at.saturating_sub(KEY_BYTES))..at];
    &before[before.trim_end_matches(is_key).len()..]
}

/// Whether a colon follows, perhaps after the punctuation that damaged the text: `"days",: 3`.
fn separated(after: &str) -> bool {
    after.trim_start_matches(|c: char| c.is_whitespace() || ",;{}[]()".contains(c)).starts_with([':', '='])
}

/// The bytes that show whether code is complete.
const TELLING: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 8 {
        table[b"\\\"()[]{}"[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether a string with unescaped quotes looks like truncated code: an odd number of quotes and open brackets.
pub(in crate::fix) fn is_torn(text: &str) -> bool {
    let (mut quotes, mut open) = (0, [0_i32; 3]);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.find(|byte| TELLING[usize::from(*byte)]) {
        match byte {
            b'\\' => _ = bytes.next(),
            b'"' => quotes += 1,
            b'(' => open[0] += 1,
            b')' => open[0] -= 1,
            b'[' => open[1] += 1,
            b']' => open[1] -= 1,
            b'{' => open[2] += 1,
            b'}' => open[2] -= 1,
            _ => {}
        }
    }
    quotes % 2 == 1 && open.iter().any(|open| *open > 0)
}
