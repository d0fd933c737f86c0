//! What the documents say is what the program does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use yesgate_core::policy::Config;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The references of the command line and of the REST front are the program's own.
#[test]
fn the_generated_references_are_up_to_date() {
    for (page, command) in [("docs/cli.md", "markdown-help"), ("docs/api.json", "openapi")] {
        let printed = Command::new(env!("CARGO_BIN_EXE_yesgate")).arg(command).output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let written = std::fs::read_to_string(root().join(page)).unwrap();
        assert!(printed == written, "{page} is out of date: run `cargo xtask docs`");
    }
}

/// Every example configuration loads, and lint has nothing to say about it.
#[test]
fn every_example_configuration_is_sound() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        // A file of its own, or the policy of an example that has a folder.
        let path = if path.is_dir() { path.join("yesgate.toml") } else { path };
        let is_config = path.extension().is_some_and(|extension| extension == "toml");
        if is_config && path.exists() && !path.ends_with("Cargo.toml") {
            let config = Config::parse(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(config.lint().is_empty(), "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 7, "one example per profile, for a team and for a library: found {count}");
}

/// X8: the file with all defaults is read by the parser, and changes nothing.
#[test]
fn the_default_configuration_is_what_holds_without_one() {
    let text = std::fs::read_to_string(root().join("yesgate.default.toml")).unwrap();
    assert_eq!(Config::parse(&text).unwrap().policy, Config::default().policy);
}

/// Every relative link in the documents leads somewhere.
#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .iter()
            .map(|name| root().join(name))
            .collect();
    for folder in ["docs", "docs/decisions", "examples"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let page = |path: PathBuf| if path.is_dir() { path.join("README.md") } else { path };
        documents.extend(
            entries
                .map(|entry| page(entry.unwrap().path()))
                .filter(|path| path.extension().is_some_and(|e| e == "md") && path.exists()),
        );
    }
    for document in documents {
        let text = std::fs::read_to_string(&document)
            .unwrap_or_else(|error| panic!("{}: {error}", document.display()));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(
                document.parent().unwrap().join(target).exists(),
                "{} links to {link}",
                document.display()
            );
        }
    }
}

/// Every test that docs/attacks.md names exists.
#[test]
fn every_attack_names_tests_that_exist() {
    let code = code();
    let mut count = 0;
    for row in rows("docs/attacks.md") {
        count += tests_named_in(&row, &code);
    }
    assert!(count > 100, "only {count} tests are named");
}

/// Every row of docs/fail-closed.md names tests that exist, and every row that a test says it shows is there.
#[test]
fn every_failure_has_a_row_and_tests_that_exist() {
    let code = code();
    let mut numbers = BTreeSet::new();
    for row in rows("docs/fail-closed.md") {
        let Ok(number) = row.split('|').nth(1).unwrap_or_default().trim().parse::<u32>() else { continue };
        assert!(tests_named_in(&row, &code) > 0, "row {number} names no test");
        assert!(numbers.insert(number), "there are two rows {number}");
    }
    assert!(numbers.iter().copied().eq(1..=35), "{numbers:?}");
    for said in code.split("FC-").skip(1) {
        let digits: String = said.chars().take_while(char::is_ascii_digit).collect();
        let is_row = digits.parse().is_ok_and(|number| numbers.contains(&number));
        assert!(is_row || digits.is_empty(), "a test shows FC-{digits}, which is no row");
    }
}

/// The rows of the tables of a page.
fn rows(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    text.lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect()
}

/// How many tests the last cell of a row names.
fn tests_named_in(row: &str, code: &str) -> usize {
    let cell = row.rsplit('|').nth(1).unwrap_or_default();
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    for name in &names {
        assert!(code.contains(&format!("fn {name}(")), "`{name}` is no test: {row}");
    }
    names.len()
}

/// All code of the house.
fn code() -> String {
    let mut code = String::new();
    gather(&root().join("crates"), &mut code);
    code
}

fn gather(folder: &Path, code: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}
