//! One example, as a newcomer has it: a folder with a README, and a program that cargo built.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use yesgate_testkit::yesgate_beside;

/// An example by its name, and the program that `cargo run` would start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
}

pub(crate) const HANDSHAKE: Example =
    Example { name: "handshake-billing", program: env!("CARGO_BIN_EXE_handshake-billing") };
pub(crate) const TWO_KEY: Example =
    Example { name: "two-key-moderation", program: env!("CARGO_BIN_EXE_two-key-moderation") };
pub(crate) const SPEND: Example =
    Example { name: "spend-wallet", program: env!("CARGO_BIN_EXE_spend-wallet") };
pub(crate) const MODES: Example =
    Example { name: "modes-deploy", program: env!("CARGO_BIN_EXE_modes-deploy") };
pub(crate) const CUSTOM: Example =
    Example { name: "custom-tool", program: env!("CARGO_BIN_EXE_custom-tool") };

pub(crate) const ALL: [Example; 5] = [HANDSHAKE, TWO_KEY, SPEND, MODES, CUSTOM];

impl Example {
    /// The folder above all examples, from which the README's paths lead.
    pub(crate) fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
    }

    pub(crate) fn readme(self) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(self.name).join("README.md")).unwrap()
    }

    /// The first block of the README in this language.
    #[track_caller]
    pub(crate) fn block(self, language: &str) -> String {
        let readme = self.readme();
        let start = format!("```{language}\n");
        let (_, rest) = readme.split_once(&start).unwrap_or_else(|| panic!("no {language} in {}", self.name));
        rest.split_once("```").unwrap().0.trim_end().to_owned()
    }

    /// Tells the story with the command of the README, but for cargo, which has built all of it already.
    #[track_caller]
    pub(crate) fn tell(self) -> String {
        assert_eq!(self.block("sh"), format!("cargo run -p yesgate-examples --bin {}", self.name));
        yesgate_beside(self.program);
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(self.program);
        // What the user of this machine has set is none of the story's business.
        command
            .env_remove("CARGO")
            .env("TMPDIR", place.path())
            .env("MCP_DRY_RUN", "false")
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stdout}\n{stderr}");
        assert_eq!(stderr, "");
        assert!(!stdout.contains('\u{1b}'), "colour where no terminal is");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it left something behind");
        let story = masked(&stdout);
        let excerpt = masked(&self.block("text"));
        assert!(
            story.contains(&excerpt),
            "the README shows what the story does not tell:\n{excerpt}\n\n{story}"
        );
        story
    }

    /// What a host's configuration in the README starts.
    pub(crate) fn host_entry(self) -> Value {
        let config: Value = serde_json::from_str(&self.block("json")).unwrap();
        let servers = config["mcpServers"].as_object().unwrap();
        assert_eq!(servers.len(), 1);
        servers.values().next().unwrap().clone()
    }
}

/// What the server did, by its own journal, which the story prints at its end.
pub(crate) fn journal(story: &str) -> Vec<&str> {
    let (_, books) = story.split_once("by its own journal").unwrap();
    books.lines().filter_map(|line| line.strip_prefix("  server  ")).collect()
}

/// The codes of all refusals, in their order.
pub(crate) fn refusals(story: &str) -> Vec<&str> {
    let refused = story.split("  gate    refuses: ").skip(1);
    refused.map(|rest| rest.split_once('.').unwrap().0).collect()
}

/// What is the same in every run.
fn masked(text: &str) -> String {
    text.lines().map(masked_line).collect::<Vec<_>>().join("\n")
}

fn masked_line(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(masked_word).collect();
    let masked = words.join(" ");
    if !masked.contains("[time]") {
        return masked;
    }
    // The length of a time decides how a table is laid out.
    let margin = masked.len() - masked.trim_start().len();
    let words: Vec<&str> = masked.split_whitespace().collect();
    format!("{}{}", " ".repeat(margin), words.join(" "))
}

fn masked_word(word: &str) -> String {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    // Codes do without letters that look like digits; `read-only` has two of those.
    let is_code = bare.len() == 9 && bare.find('-') == Some(4) && !bare.contains(['i', 'l', 'o', 'u']);
    let is_digest = bare.len() == 12 && bare.chars().all(|c| c.is_ascii_hexdigit());
    let is_time = bare.len() >= 20 && bare.ends_with('Z') && bare.as_bytes().get(10) == Some(&b'T');
    // An id within a word, such as `intent_id="intent_…")`.
    for prefix in ["intent_", "pbc_"] {
        if let Some((start, rest)) = word.rsplit_once(prefix)
            && rest.len() >= 16
        {
            let end = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            return format!("{start}[{prefix}…]{end}");
        }
    }
    let mask = match (is_code, is_digest, is_time) {
        (true, ..) => "[code]",
        (_, true, _) => "[digest]",
        (.., true) => "[time]",
        _ => return word.to_owned(),
    };
    word.replace(bare, mask)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Every folder here with a program in it is one of the examples above.
#[test]
fn no_example_is_forgotten() {
    let known: HashSet<&str> = ALL.iter().map(|example| example.name).collect();
    for entry in fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap() {
        let path = entry.unwrap().path();
        if path.join("main.rs").exists() {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(known.contains(name), "{name} is run by no test");
            for file in ["README.md", "yesgate.toml"] {
                assert!(path.join(file).exists(), "{name} has no {file}");
            }
        }
    }
}
