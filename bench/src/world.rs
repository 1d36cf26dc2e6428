//! Files in memory, and an editor's tools that work on them: the environment of tasks with several turns.

use std::collections::BTreeMap;

use serde_json::Value;

const ROOT: &str = "/workspace/demo";
const FENCE: &str = "```";

/// A workspace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) files: BTreeMap<String, String>,
}

impl World {
    /// Runs a tool as the editor would: what the model is shown.
    pub(crate) fn run(&mut self, name: &str, arguments: &Value) -> String {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::trim_end);
        let Some(result) = self.act(name, &text) else { return format!("Error: {name} cannot be run here.") };
        result.unwrap_or_else(|error| format!("Error: {error}"))
    }

    /// `None` for a tool that does nothing here.
    fn act<'a>(&mut self, name: &str, text: &dyn Fn(&str) -> Option<&'a str>) -> Option<Result<String, String>> {
        let needed = |key: &str| text(key).ok_or_else(|| format!("the parameter `{key}` is missing."));
        Some(match name {
            "read_file" => needed("uri").and_then(|uri| {
                let (path, content) = self.file(uri)?;
                Ok(format!("{path}\n{FENCE}\n{content}\n{FENCE}"))
            }),
            "ls_dir" | "get_dir_tree" => {
                let folder = format!("{}/", place(text("uri").unwrap_or_default()).trim_end_matches('/'));
                let inside = self.files.keys().filter_map(|path| path.strip_prefix(&folder));
                let names: Vec<&str> = inside.collect();
                if names.is_empty() { Err(format!("there is nothing in {folder}")) } else { Ok(names.join("\n")) }
            }
            "search_pathnames_only" => needed("query").map(|query| self.found(|path, _| path.contains(query))),
            "search_for_files" => needed("query").map(|query| self.found(|_, content| content.contains(query))),
            "search_in_file" => {
                needed("uri").and_then(|uri| Ok((self.file(uri)?.1, needed("query")?))).map(|(content, query)| {
                    let lines = content.lines().enumerate().filter(|(_, line)| line.contains(query));
                    lines.map(|(at, line)| format!("{}: {line}", at + 1)).collect::<Vec<_>>().join("\n")
                })
            }
            "read_lint_errors" => Ok("No lint errors found.".to_owned()),
            "run_command" => Ok("(the command ended with exit code 0)".to_owned()),
            "create_file_or_folder" => needed("uri").map(|uri| {
                if !uri.ends_with('/') {
                    self.files.entry(place(uri)).or_default();
                }
                format!("{uri} was created.")
            }),
            "delete_file_or_folder" => needed("uri").and_then(|uri| {
                let path = place(uri);
                self.files.remove(&path).map(|_| format!("{path} was deleted.")).ok_or_else(|| format!("there is no {path}"))
            }),
            "rewrite_file" => needed("uri").and_then(|uri| {
                let content = needed("new_content")?;
                self.files.insert(place(uri), format!("{content}\n"));
                Ok(format!("Change made to {uri}. No lint errors found."))
            }),
            "edit_file" => needed("uri").and_then(|uri| {
                let (path, mut content) = self.file(uri)?;
                for (original, updated) in blocks(needed("search_replace_blocks")?)? {
                    match content.matches(original).count() {
                        1 => content = content.replacen(original, updated, 1),
                        0 => return Err("an ORIGINAL block does not occur in the file. Nothing was changed.".to_owned()),
                        _ => return Err("an ORIGINAL block occurs more than once. Nothing was changed.".to_owned()),
                    }
                }
                self.files.insert(path, content);
                Ok(format!("Change made to {uri}. No lint errors found."))
            }),
            _ => return None,
        })
    }

    fn file(&self, uri: &str) -> Result<(String, String), String> {
        let path = place(uri);
        let content = self.files.get(&path).ok_or_else(|| format!("there is no file {path}"))?;
        Ok((path, content.clone()))
    }

    fn found(&self, wanted: impl Fn(&str, &str) -> bool) -> String {
        let found: Vec<&str> =
            self.files.iter().filter(|(path, content)| wanted(path, content)).map(|(path, _)| path.as_str()).collect();
        if found.is_empty() { "Nothing was found.".to_owned() } else { found.join("\n") }
    }
}

/// A path as it is kept: absolute, without a scheme.
fn place(uri: &str) -> String {
    let uri = uri.trim().trim_start_matches("file://").trim_start_matches("./");
    match uri {
        "" | "." => ROOT.to_owned(),
        _ if uri.starts_with('/') => uri.to_owned(),
        _ => format!("{ROOT}/{uri}"),
    }
}

/// The SEARCH/REPLACE blocks of a text.
fn blocks(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let form = || "the blocks are not of the form <<<<<<< ORIGINAL .. ======= .. >>>>>>> UPDATED.".to_owned();
    let blocks = text.split("<<<<<<< ORIGINAL\n").skip(1).map(|block| {
        let (original, rest) = block.split_once("\n=======\n").ok_or_else(form)?;
        let updated = rest.split(">>>>>>> UPDATED").next().filter(|updated| updated.len() < rest.len()).ok_or_else(form)?;
        Ok((original, updated.strip_suffix('\n').unwrap_or(updated)))
    });
    let blocks: Vec<_> = blocks.collect::<Result<_, String>>()?;
    if blocks.is_empty() { Err(form()) } else { Ok(blocks) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tools_change_the_files() {
        let mut world = World { files: BTreeMap::from([(format!("{ROOT}/a.txt"), "one\ntwo\none\n".to_owned())]) };
        let edit = |blocks: &str| json!({"uri": "a.txt", "search_replace_blocks": blocks});
        assert!(world.run("read_file", &json!({"uri": "/workspace/demo/a.txt"})).contains("two"));
        let twice = world.run("edit_file", &edit("<<<<<<< ORIGINAL\none\n=======\nthree\n>>>>>>> UPDATED"));
        assert!(twice.contains("more than once"), "{twice}");
        let done = world.run("edit_file", &edit("<<<<<<< ORIGINAL\ntwo\n=======\nthree\n>>>>>>> UPDATED\n"));
        assert!(done.starts_with("Change made"), "{done}");
        assert_eq!(world.files["/workspace/demo/a.txt"], "one\nthree\none\n");
        assert!(world.run("edit_file", &edit("three -> four")).starts_with("Error"));
        assert!(world.run("read_file", &json!({})).contains("`uri` is missing"));
        assert_eq!(world.run("ls_dir", &json!({})), "a.txt");
        world.run("delete_file_or_folder", &json!({"uri": "a.txt"}));
        assert!(world.files.is_empty());
    }
}
