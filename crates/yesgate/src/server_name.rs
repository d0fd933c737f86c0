//! What a server is called where nobody gave it a name.

use std::ffi::{OsStr, OsString};

use yesgate_core::id::{ParseIdError, ServerName};

use crate::output::Hinted;

/// The server's name: the one given, or one read off its command line.
pub(crate) fn server_name(given: Option<&str>, command: &[OsString]) -> anyhow::Result<ServerName> {
    let guessed = guess(command);
    given.unwrap_or(&guessed).parse().map_err(|error: ParseIdError| {
        Hinted::new(error.to_string(), Some("give the server a name of its own with `--name`")).into()
    })
}

/// The program's name; or, where the program only starts others, the name of what it starts.
fn guess(command: &[OsString]) -> String {
    let mut words = command.iter().map(|word| plain(word));
    let program = words.next().unwrap_or_default();
    if !STARTERS.contains(&program.as_str()) {
        return program;
    }
    let flag = |word: &OsString| word.to_string_lossy().starts_with('-');
    let started = command.iter().skip(1).find(|word| !flag(word)).map(|word| plain(word));
    started.filter(|name| !name.is_empty() && !DULL.contains(&name.as_str())).unwrap_or(program)
}

/// A word without its folder or scope, its version and its ending: `@acme/shop-mcp@1.2.3` is `shop-mcp`.
fn plain(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let last = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = last.split('@').next().unwrap_or_default();
    let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' }).collect()
}

const STARTERS: [&str; 8] = ["npx", "uvx", "bunx", "pipx", "node", "python", "python3", "deno"];
/// Names that half of all servers have.
const DULL: [&str; 6] = ["index", "main", "server", "run", "app", "cli"];
const ENDINGS: [&str; 7] = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".exe"];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::server_name;

    #[test]
    fn a_server_is_called_by_what_is_started() {
        for (words, name) in [
            (&["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv"][..], "server-filesystem"),
            (&["npx", "-y", "@acme/shop-mcp@1.2.3"], "shop-mcp"),
            (&["npx", "shop-mcp@latest"], "shop-mcp"),
            (&["uvx", "mcp-server-git", "--repository", "."], "mcp-server-git"),
            (&["python3", "-m", "mcp_server_git"], "mcp_server_git"),
            (&["python3", "/opt/bank.py"], "bank"),
            (&["node", "/opt/dist/index.js", "stdio"], "node"),
            (&["/usr/local/bin/github-mcp-server", "stdio"], "github-mcp-server"),
            (&["./my server"], "my-server"),
        ] {
            let command: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(server_name(None, &command).unwrap().as_str(), name, "{words:?}");
        }
    }

    #[test]
    fn a_given_name_is_taken_or_refused_as_it_is() {
        let command = [OsString::from("npx")];
        assert_eq!(server_name(Some("github"), &command).unwrap().as_str(), "github");
        assert!(server_name(Some("git hub"), &command).is_err());
        assert!(server_name(None, &[]).is_err());
    }
}
