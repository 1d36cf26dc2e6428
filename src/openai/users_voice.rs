//! Whose words a message of the user is.

use super::Message;

/// Elements that clients add by themselves, often after the results of tools.
const ADDED: [&str; 6] =
    ["system-reminder", "system_reminder", "environment_details", "environment_context", "ide_opened_file", "ide_selection"];

/// Whether the user speaks in this message. If it holds nothing but what the client adds by itself, the turn before it goes on.
pub fn is_spoken(message: &Message) -> bool {
    if message.role != "user" {
        return false;
    }
    let text = message.content.text();
    let (mut rest, mut added) = (text.trim(), false);
    while let Some(after) = ADDED.iter().find_map(|name| after_element(rest, name)) {
        (rest, added) = (after.trim_start(), true);
    }
    !added || !rest.is_empty()
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
