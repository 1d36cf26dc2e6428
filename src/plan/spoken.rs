//! Whose words a message of the user is.

use crate::openai::Message;

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
}
