//! Expands `${VAR}` in texts of the configuration and the registry. A missing variable is an error: a literal `${TOKEN}` must
//! never reach a server. What comes from a variable may be a secret, and is masked from then on.

use super::Environment;
use crate::redact;

/// Expands `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${env://VAR:-default}` and `${userHome}`.
///
/// # Errors
/// The name of a variable that is not set and has no default.
pub fn expand(text: &str, environment: &Environment) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let (inside, after) = after.split_once('}').ok_or_else(|| format!("`${{` is not closed in `{text}`"))?;
        out.push_str(&value(inside, environment)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn value(inside: &str, environment: &Environment) -> Result<String, String> {
    let name = inside.strip_prefix("env://").or_else(|| inside.strip_prefix("env:")).unwrap_or(inside);
    if name == "userHome" {
        let home = environment.home().map(|home| home.to_string_lossy().into_owned());
        return home.ok_or_else(|| "there is no home directory for `${userHome}`".into());
    }
    let (name, default) = match name.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (name, None),
    };
    if name.contains(':') || name == "workspaceFolder" {
        return Err(format!("`${{{inside}}}` is known to an editor only; write the value or `${{VARIABLE}}`"));
    }
    match (environment.get(name), default) {
        (Some(value), _) => {
            redact::learn_reference(value);
            Ok(value.to_owned())
        }
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!("the environment variable `{name}` is not set")),
    }
}
