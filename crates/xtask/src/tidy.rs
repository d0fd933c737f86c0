//! House rules as tests: what a reviewer would otherwise have to say twice.
//!
//! Each rule is a function from a file to its complaints, with a test that applies it to every
//! file that git tracks or would track, and a test that it bites. The words a rule looks for are
//! put together from parts here, so that this file needs no exception from its own rules.

mod dependencies;

use std::fs;

use crate::shell::Shell;

/// A text file of the repository.
struct Source {
    /// Where it is, from the workspace root, with `/` on every system.
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    fn has_extension(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, end)| end == extension)
    }

    /// Complains about each line that has the fault.
    fn lines_with(&self, fault: impl Fn(&str) -> bool, complaint: &str) -> Vec<String> {
        let lines = self.text.lines().enumerate();
        lines
            .filter(|(_, line)| fault(line))
            .map(|(index, _)| format!("{}:{}: {complaint}", self.path, index + 1))
            .collect()
    }
}

/// Reads every text file that is tracked, or neither tracked nor ignored.
fn sources() -> Vec<Source> {
    let shell = Shell::at_workspace_root();
    // A checkout may belong to another user, as in a container; to list its files is harmless.
    let list = shell
        .program("git")
        .args(&["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .read()
        .unwrap();
    let read = |path: &str| {
        // A file that was deleted and not yet committed is still listed; a picture is no text.
        let text = String::from_utf8(fs::read(shell.path(path)).ok()?).ok()?;
        Some(Source { path: path.to_owned(), text })
    };
    let sources: Vec<Source> = list.split('\0').filter(|path| !path.is_empty()).filter_map(read).collect();
    assert!(sources.iter().any(Source::is_rust), "git lists no Rust file");
    sources
}

/// Applies a rule to every file of the repository.
#[track_caller]
fn uphold(rule: impl Fn(&Source) -> Vec<String>) {
    let complaints: Vec<String> = sources().iter().flat_map(rule).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Applies a rule to one made-up file and counts its complaints.
#[track_caller]
fn check(rule: impl Fn(&Source) -> Vec<String>, path: &str, text: &str, expected: usize) {
    let complaints = rule(&Source { path: path.to_owned(), text: text.to_owned() });
    assert_eq!(complaints.len(), expected, "{path}: {text:?}: {complaints:?}");
}

/// What stands before and after each place where `part` is found in `line`.
fn surroundings<'a>(line: &'a str, part: &'a str) -> impl Iterator<Item = (Option<char>, Option<char>)> + 'a {
    line.match_indices(part).map(move |(start, _)| {
        let (before, rest) = line.split_at(start);
        (before.chars().next_back(), rest.strip_prefix(part).and_then(|after| after.chars().next()))
    })
}

fn continues_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// Tells whether `word` stands in `line` as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    surroundings(line, word).any(|(before, after)| !continues_word(before) && !continues_word(after))
}

fn opening(source: &Source) -> Vec<String> {
    if !source.is_rust() || source.text.starts_with("//!") {
        return vec![];
    }
    vec![format!("{}: starts without `//!`: say in a sentence what the file is for", source.path)]
}

#[test]
fn every_file_says_first_what_it_is_for() {
    uphold(opening);
}

#[test]
fn a_file_without_an_opening_sentence_is_found() {
    check(opening, "crates/a/src/lib.rs", "//! It is for this.\n", 0);
    check(opening, "crates/a/src/lib.rs", "// It is for this.\n", 1);
    check(opening, "crates/a/tests/it/main.rs", "mod a;\n", 1);
    check(opening, "Cargo.toml", "[package]\n", 0);
}

fn length(source: &Source) -> Vec<String> {
    let in_src = source.path.strip_prefix("crates/").is_some_and(|path| path.contains("/src/"));
    let lines = source.text.lines().count();
    if !in_src || lines <= LONGEST_FILE {
        return vec![];
    }
    vec![format!("{}: has {lines} lines, more than {LONGEST_FILE}: split it by subject", source.path)]
}

/// A file should have 100 to 400 lines; beyond this many it is certainly about two things.
const LONGEST_FILE: usize = 600;

#[test]
fn no_file_is_too_long_to_read_at_a_sitting() {
    uphold(length);
}

#[test]
fn a_file_that_is_too_long_is_found() {
    check(length, "crates/a/src/lib.rs", &"\n".repeat(LONGEST_FILE), 0);
    check(length, "crates/a/src/b/c.rs", &"\n".repeat(LONGEST_FILE + 1), 1);
    check(length, "crates/a/tests/it/b.rs", &"\n".repeat(LONGEST_FILE + 1), 0);
}

fn unfinished(source: &Source) -> Vec<String> {
    // Prose may speak about the words; code may not use them.
    if source.has_extension("md") {
        return vec![];
    }
    let fault = |line: &str| {
        UNFINISHED_WORDS.iter().any(|word| has_word(line, word))
            || UNFINISHED_CALLS.iter().any(|call| line.contains(call))
    };
    source.lines_with(fault, "unfinished: finish it, or open an issue and leave it out")
}

const UNFINISHED_WORDS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const UNFINISHED_CALLS: [&str; 2] = [concat!("to", "do!("), concat!("unimple", "mented!(")];

#[test]
fn nothing_is_left_unfinished() {
    uphold(unfinished);
}

#[test]
fn something_unfinished_is_found() {
    for word in UNFINISHED_WORDS {
        check(unfinished, "a.rs", &format!("let a = 1; // {word}: two\n"), 1);
        check(unfinished, "a.toml", &format!("# ({word})\n"), 1);
        check(unfinished, "a.md", &format!("No {word}.\n"), 0);
        check(unfinished, "a.rs", &format!("let {word}S = 1;\n"), 0);
    }
    for call in UNFINISHED_CALLS {
        check(unfinished, "a.rs", &format!("    {call})\n"), 1);
    }
}

fn silenced_lint(source: &Source) -> Vec<String> {
    let attributes = [concat!("#[al", "low("), concat!("#![al", "low(")];
    let fault = |line: &str| source.is_rust() && attributes.iter().any(|attribute| line.contains(attribute));
    source.lines_with(fault, "silences a lint for ever: `#[expect(…, reason = \"…\")]` expires")
}

#[test]
fn no_lint_is_silenced_for_ever() {
    uphold(silenced_lint);
}

#[test]
fn a_silenced_lint_is_found() {
    check(silenced_lint, "a.rs", concat!("#[al", "low(dead_code)]\nfn a() {}\n"), 1);
    check(silenced_lint, "a.rs", concat!("#![al", "low(dead_code)]\n"), 1);
    check(silenced_lint, "a.rs", "#[expect(dead_code, reason = \"…\")]\n", 0);
}

fn forgotten_test_file(source: &Source, all: &[Source]) -> Vec<String> {
    let Some((folder, file)) = source.path.rsplit_once('/') else { return vec![] };
    let name = file.strip_suffix(".rs").unwrap_or("main");
    if name == "main" || !folder.ends_with("tests/it") {
        return vec![];
    }
    let root = format!("{folder}/main.rs");
    let declaration = format!("mod {name};");
    let is_declared = all
        .iter()
        .filter(|other| other.path == root)
        .any(|other| other.text.lines().any(|line| line.trim().trim_start_matches("pub ") == declaration));
    if is_declared {
        vec![]
    } else {
        vec![format!("{}: never runs: `{root}` has no `{declaration}`", source.path)]
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let all = sources();
    uphold(|source| forgotten_test_file(source, &all));
}

#[test]
fn a_forgotten_test_file_is_found() {
    let main =
        Source { path: "crates/a/tests/it/main.rs".to_owned(), text: "//! Tests.\nmod known;\n".to_owned() };
    let all = [main];
    let rule = |source: &Source| forgotten_test_file(source, &all);
    check(rule, "crates/a/tests/it/known.rs", "", 0);
    check(rule, "crates/a/tests/it/unknown.rs", "", 1);
    check(rule, "crates/b/tests/it/known.rs", "", 1);
    check(rule, "crates/a/tests/it/known/part.rs", "", 0);
    check(rule, "crates/a/src/known.rs", "", 0);
}

fn mod_file(source: &Source) -> Vec<String> {
    if source.path != "mod.rs" && !source.path.ends_with("/mod.rs") {
        return vec![];
    }
    vec![format!("{}: name it after its folder, beside the folder", source.path)]
}

#[test]
fn modules_are_named_in_the_editor_tab() {
    uphold(mod_file);
}

#[test]
fn a_mod_file_is_found() {
    check(mod_file, "crates/a/src/b/mod.rs", "", 1);
    check(mod_file, "crates/a/src/b.rs", "", 0);
    check(mod_file, "crates/a/src/cmod.rs", "", 0);
}

fn machine_path(source: &Source) -> Vec<String> {
    let folders = ["home", "root", "work"].map(|folder| format!("/{folder}/"));
    // Part of a longer path or of a URL is no folder of a machine.
    let continues_path = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "._-~}".contains(c));
    let fault = |line: &str| {
        folders.iter().any(|folder| surroundings(line, folder).any(|(before, _)| !continues_path(before)))
    };
    source.lines_with(fault, "names a folder of somebody's machine")
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    uphold(machine_path);
}

#[test]
fn a_path_of_a_machine_is_found() {
    for folder in ["home", "root", "work"] {
        check(machine_path, "a.toml", &format!("path = \"/{folder}/a\"\n"), 1);
        check(machine_path, "a.md", &format!("/{folder}/a\n"), 1);
        check(machine_path, "a.md", &format!("https://example.com/{folder}/a\n"), 0);
        check(machine_path, "a.rs", &format!("format!(\"{{base}}/{folder}/\")\n"), 0);
    }
    check(machine_path, "a.md", "/srv/data/a\n", 0);
}

fn own_lints(source: &Source) -> Vec<String> {
    if source.path != "Cargo.toml" && !source.path.ends_with("/Cargo.toml") {
        return vec![];
    }
    let manifest: toml::Table = source.text.parse().unwrap();
    // Another workspace, such as one for fuzzing, has nothing to inherit from.
    let is_member = manifest.contains_key("package") && !manifest.contains_key("workspace");
    let inherits = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"))
        .and_then(toml::Value::as_bool)
        .unwrap_or(false);
    if !is_member || inherits {
        return vec![];
    }
    vec![format!("{}: add `[lints] workspace = true`", source.path)]
}

#[test]
fn every_crate_has_the_lints_of_the_workspace() {
    uphold(own_lints);
}

#[test]
fn a_crate_with_lints_of_its_own_is_found() {
    check(own_lints, "crates/a/Cargo.toml", "[package]\nname = \"a\"\n[lints]\nworkspace = true\n", 0);
    check(own_lints, "crates/a/Cargo.toml", "[package]\nname = \"a\"\nlints.workspace = true\n", 1);
    check(own_lints, "crates/a/Cargo.toml", "[package]\nname = \"a\"\n", 1);
    check(own_lints, "crates/a/Cargo.toml", "[package]\nname = \"a\"\n[lints]\nworkspace = false\n", 1);
    check(own_lints, "Cargo.toml", "[workspace]\n", 0);
}

fn survived_panic(source: &Source) -> Vec<String> {
    if source.path != "Cargo.toml" {
        return vec![];
    }
    let manifest: toml::Table = source.text.parse().unwrap();
    let release = manifest.get("profile").and_then(|profiles| profiles.get("release"));
    let says = |key: &str, value: toml::Value| release.and_then(|release| release.get(key)) == Some(&value);
    if says("panic", "abort".into()) && says("overflow-checks", true.into()) {
        return vec![];
    }
    vec![format!("{}: what ships must end at a panic, and panic at an overflow", source.path)]
}

/// FC-35: nothing goes on in a state that nobody thought of.
#[test]
fn what_ships_ends_at_a_panic() {
    uphold(survived_panic);
}

#[test]
fn a_release_that_survives_a_panic_is_found() {
    let profile = |lines: &str| format!("[profile.release]\n{lines}\n");
    check(survived_panic, "Cargo.toml", &profile("panic = \"abort\"\noverflow-checks = true"), 0);
    check(survived_panic, "Cargo.toml", &profile("panic = \"unwind\"\noverflow-checks = true"), 1);
    check(survived_panic, "Cargo.toml", &profile("panic = \"abort\""), 1);
    check(survived_panic, "Cargo.toml", "[workspace]\n", 1);
    check(survived_panic, "crates/a/Cargo.toml", "[package]\n", 0);
}

fn unchecked_code(source: &Source) -> Vec<String> {
    let keyword = concat!("un", "safe");
    let attribute = format!("#[{keyword}(");
    let openings =
        ["{", "fn ", "impl ", "impl<", "trait ", "extern "].map(|next| format!("{keyword} {next}"));
    let fault = |line: &str| {
        let opens = |phrase: &String| surroundings(line, phrase).any(|(before, _)| !continues_word(before));
        let is_comment = line.trim_start().starts_with("//");
        source.is_rust() && !is_comment && (line.contains(&attribute) || openings.iter().any(opens))
    };
    source.lines_with(fault, "goes around the compiler's checks, which no crate here may do")
}

#[test]
fn nothing_goes_around_the_compiler() {
    uphold(unchecked_code);
}

#[test]
fn code_that_goes_around_the_compiler_is_found() {
    let keyword = concat!("un", "safe");
    check(unchecked_code, "a.rs", &format!("let a = {keyword} {{ b() }};\n"), 1);
    check(unchecked_code, "a.rs", &format!("pub {keyword} fn a() {{}}\n"), 1);
    check(unchecked_code, "a.rs", &format!("{keyword} impl<T> Send for A<T> {{}}\n"), 1);
    check(unchecked_code, "a.rs", &format!("#[{keyword}(no_mangle)]\n"), 1);
    check(unchecked_code, "a.rs", &format!("// {keyword} {{ is forbidden }}\n"), 0);
    check(unchecked_code, "a.rs", &format!("let {keyword}_words = \"{keyword}\";\n"), 0);
    check(unchecked_code, "a.md", &format!("{keyword} {{ }}\n"), 0);
}
