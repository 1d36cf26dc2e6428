//! Which written names mean which tool.

use super::*;
use crate::event::ToolChoice;

fn tools(names: &[&str]) -> Tools {
    Tools::new(names.iter().map(|name| Tool::new(*name, "", "{}")), ToolChoice::Auto)
}

fn resolved<'t>(tools: &'t Tools, written: &str) -> Option<&'t str> {
    known_tool(tools, written).map(|tool| tool.name.as_str())
}

#[test]
fn spellings_of_one_tool() {
    let tools = tools(&[
        "move_card", "list_cards", "mcp--board--sync", "board.archive", "notes__tag", "k3x9ab_make_chart", "OpenDoor",
        "mcp__notes__tag_note", "read-graph",
    ]);
    for (written, meant) in [
        ("move_card", "move_card"),
        ("moveCard", "move_card"),
        ("MoveCard", "move_card"),
        ("move-card", "move_card"),
        ("MOVE CARD", "move_card"),
        ("  move_card\n", "move_card"),
        ("\"move_card\"", "move_card"),
        ("`move_card`", "move_card"),
        ("move_card()", "move_card"),
        ("move_card:", "move_card"),
        ("move_card:3", "move_card"),
        ("functions.move_card", "move_card"),
        ("functions.move_card:0", "move_card"),
        ("default_api.moveCard", "move_card"),
        ("tool:move_card", "move_card"),
        ("tools.list_cards", "list_cards"),
        ("move_card<|channel|>commentary", "move_card"),
        ("move_card</arg_key>", "move_card"),
        ("move_cardmove_card", "move_card"),
        ("MoveCardTool", "move_card"),
        ("move_card_tool", "move_card"),
        ("mcp__board__sync", "mcp--board--sync"),
        ("board__sync", "mcp--board--sync"),
        ("board:archive", "board.archive"),
        ("mcp__notes__tag", "notes__tag"),
        ("make_chart", "k3x9ab_make_chart"),
        ("zz81qq_make_chart", "k3x9ab_make_chart"),
        ("open_door", "OpenDoor"),
        ("tag_note", "mcp__notes__tag_note"),
        ("tagNote", "mcp__notes__tag_note"),
        ("notes_tag_note", "mcp__notes__tag_note"),
        ("notes-tag-note", "mcp__notes__tag_note"),
        ("read:graph", "read-graph"),
        ("builtin_move_card", "move_card"),
        ("mcp__cards__list_cards", "list_cards"),
        ("cards__move_card", "move_card"),
        ("functions/move_card", "move_card"),
        ("tool.move_card", "move_card"),
        ("tool_move_card", "move_card"),
        ("functions_move_card", "move_card"),
        ("functions_move_card_3", "move_card"),
        ("mcp_notes_tag_note", "mcp__notes__tag_note"),
    ] {
        assert_eq!(resolved(&tools, written), Some(meant), "{written:?}");
    }
}

#[test]
fn what_only_looks_alike_is_not_executed() {
    let tools = tools(&["read_page", "write_page", "shut_down", "mcp--board--sync", "alpha_run", "alphaRun"]);
    for written in [
        "", "  ", "()", "page", "delete_page", "read_pages", "reed_page", "bash", "mcp__board__wipe", "board", "sync", "tool",
        "ALPHA_RUN", "run", "readpagewrite_page",
    ] {
        assert_eq!(resolved(&tools, written), None, "{written:?}");
    }
    // Two servers have one of this name.
    let twice = self::tools(&["mcp__one__read_page", "mcp__two__read_page", "one__BigStep", "fs__READ"]);
    for written in ["read_page", "ReadPage", "big", "READ", "read"] {
        assert_eq!(resolved(&twice, written), None, "{written:?}");
    }
    // A verb of six letters is no random prefix.
    assert_eq!(resolved(&self::tools(&["delete_card"]), "card"), None);
    assert_eq!(resolved(&self::tools(&["card"]), "delete_card"), None);
    // Beside a prefix that is certain, six letters before a tool's name are one too. In the written name they may be a word.
    let tools = self::tools(&["k3x9ab_list_cards", "gozkpf_move_card", "search_for_files"]);
    assert_eq!(resolved(&tools, "move_card"), Some("gozkpf_move_card"));
    assert_eq!(resolved(&tools, "p01kpf_move_card"), Some("gozkpf_move_card"));
    assert_eq!(resolved(&tools, "remove_move_card"), None);
    let tools = self::tools(&["read_file", "file"]);
    assert_eq!(resolved(&tools, "read_file"), Some("read_file"));
    assert_eq!(resolved(&tools, "file"), Some("file"));
    assert_eq!(resolved(&self::tools(&["open_file"]), "file"), None, "four letters are no random prefix");
}

#[test]
fn suggestions_are_near_and_few() {
    let tools = tools(&["read_page", "write_page", "list_pages", "read_pages", "reboot_the_machine"]);
    assert_eq!(near(&tools, "reed_page")[..2], ["read_page", "read_pages"]);
    assert_eq!(unknown(&tools, "qqqqqqqqqqqqqqqqqq"), Some(Why::UnknownTool(String::new())));
}

#[test]
fn wire_names_count() {
    let mut tools = tools(&["board/sync"]);
    for tool in tools.iter_mut() {
        tool.wire_name = "board_sync".to_owned();
    }
    assert_eq!(resolved(&tools, "board_sync"), Some("board/sync"));
    assert_eq!(resolved(&tools, "boardSync"), Some("board/sync"));
}
