//! Whose words a message of the user is.

use super::Message;

/// The element for words of the system.
const REMINDER: &str = "system-reminder";
/// Elements that clients add by themselves, often after the results of tools.
const ADDED: [&str; 6] =
    [REMINDER, "system_reminder", "environment_details", "environment_context", "ide_opened_file", "ide_selection"];

/// Whether the user speaks in this message. If it holds nothing but what the client adds by itself, the turn before it goes on.
pub fn is_spoken(message: &Message) -> bool {
    if message.role != "user" {
        return false;
    }
    let text = message.content.text();
    let text = text.trim();
    text.is_empty() || !own_words(text).is_empty()
}

/// A text of the user without what the client adds before and after it.
pub fn own_words(text: &str) -> &str {
    let mut own = text.trim();
    while let Some(rest) = ADDED.iter().find_map(|name| after_element(own, name)) {
        own = rest.trim_start();
    }
    while let Some(rest) = ADDED.iter().find_map(|name| before_element(own, name)) {
        own = rest.trim_end();
    }
    own
}

/// System text as an element that a client adds to a message. A text that is such an element stays as it is.
pub fn added(text: &str) -> String {
    let text = text.trim();
    if own_words(text).is_empty() { text.to_owned() } else { format!("<{REMINDER}>\n{text}\n</{REMINDER}>") }
}

/// The message in which the user says what to do next; `None` if calls or results follow it.
pub fn asked(messages: &[Message]) -> Option<&Message> {
    let mut latest = messages.iter().rev().take_while(|message| !matches!(message.role.as_str(), "assistant" | "tool"));
    latest.find(|message| is_spoken(message))
}

/// What follows the element with this name at the start of a text.
fn after_element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let inside = text.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    inside.split_once(&format!("</{name}>")).map(|(_, after)| after)
}

/// What is before the element with this name at the end of a text.
fn before_element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let open = text.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
    open.rfind(&format!("<{name}>")).map(|at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_adds_is_not_spoken_by_the_user() {
        let spoken = |text: &str| is_spoken(&Message::text("user", text));
        assert!(!spoken("<system-reminder>\nYour list is empty.\n</system-reminder>"));
        assert!(!spoken("<system-reminder>a</system-reminder>\n\n<environment_details>b</environment_details>\n"));
        for text in [
            "Run it again.",
            "",
            "<system-reminder>a</system-reminder>\nRun it again.",
            "<task>Run it.</task>",
            "<system-reminder>",
        ] {
            assert!(spoken(text), "{text}");
        }
        assert!(!is_spoken(&Message::text("tool", "ok")));
    }

    #[test]
    fn the_users_own_words_are_without_what_the_client_adds() {
        for (text, own) in [
            (" Run it. ", "Run it."),
            ("<system-reminder>a</system-reminder>\nRun it.\n\n<system-reminder>\nb\n</system-reminder>", "Run it."),
            ("Run it.<system-reminder>a</system-reminder><ide_selection>b</ide_selection>", "Run it."),
            ("What is <system-reminder>a</system-reminder> for?", "What is <system-reminder>a</system-reminder> for?"),
            ("Close it with </system-reminder>", "Close it with </system-reminder>"),
            ("<system-reminder>a</system-reminder>", ""),
        ] {
            assert_eq!(own_words(text), own, "{text}");
        }
        assert_eq!(added(" Be brief."), "<system-reminder>\nBe brief.\n</system-reminder>");
        assert_eq!(added("<ide_selection>x</ide_selection>\n"), "<ide_selection>x</ide_selection>");
    }

    #[test]
    fn what_a_client_adds_does_not_hide_what_the_user_asked() {
        let of = |roles: &[(&str, &str)]| {
            let messages: Vec<Message> = roles.iter().map(|(role, text)| Message::text(*role, *text)).collect();
            asked(&messages).map(|message| message.content.to_text())
        };
        let added = ("user", "<system-reminder>Your list is empty.</system-reminder>");
        assert_eq!(of(&[("user", "Run it."), added]).as_deref(), Some("Run it."));
        assert_eq!(of(&[("user", "Run it."), ("system", "Be brief."), added]).as_deref(), Some("Run it."));
        assert_eq!(of(&[("user", "Run it."), ("assistant", ""), ("tool", "ok"), added]), None);
        assert_eq!(of(&[added]), None);
    }
}
