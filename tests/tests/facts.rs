//! Every fact of docs/facts.md has a test that names it, and every test that names a fact names one that is there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A function of a test source: what its comment names, and whether it is a test or the body of some.
#[derive(Debug, Clone, Default, PartialEq)]
struct Function {
    facts: BTreeSet<String>,
    runs: bool,
}

/// The ids in a text: `F-`, a word, `-`, a number.
fn ids(text: &str) -> BTreeSet<String> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = text.match_indices("F-").map(|(at, begin)| at + begin.len());
    let rest = begins.map(|at| text[at..].chars().take_while(|c| part(*c)).collect::<String>());
    let known = rest.filter(|rest| {
        rest.split_once('-').is_some_and(|(word, number)| {
            word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty() && number.parse::<u32>().is_ok()
        })
    });
    known.map(|rest| format!("F-{rest}")).collect()
}

/// The facts of the page, each with the tests that it says to be shown by.
fn facts(page: &str) -> BTreeMap<String, Vec<String>> {
    let rows = page.lines().filter(|line| line.starts_with("| F-"));
    let fact = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let tests = cells.last().unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (cells[0].to_owned(), tests)
    };
    let found: Vec<_> = rows.map(fact).collect();
    let count = found.len();
    let facts: BTreeMap<_, _> = found.into_iter().collect();
    assert_eq!(facts.len(), count, "two facts have one id");
    facts
}

/// The functions of a source whose comment names facts, or that run as tests.
fn functions(source: &str) -> Vec<(String, Function)> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("fn ") else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let above =
            lines[..at].iter().rev().take_while(|line| line.starts_with("//") || line.starts_with("#["));
        let above: Vec<&str> = above.copied().collect();
        let called = source.matches(&format!("{name}(")).count() > 1 && source.contains("#[test]");
        let runs = above.contains(&"#[test]") || called;
        found.push((name.to_owned(), Function { facts: ids(&above.join(" ")), runs }));
    }
    found
}

/// What is wrong between a page and sources, in sentences.
fn complaints(page: &str, sources: &[String]) -> Vec<String> {
    let facts = facts(page);
    let functions: Vec<(String, Function)> = sources.iter().flat_map(|source| functions(source)).collect();
    let mut wrong = Vec::new();
    for (id, tests) in &facts {
        if tests.is_empty() {
            wrong.push(format!("{id} names no test"));
        }
        for test in tests {
            let names_it = |(name, function): &&(String, Function)| {
                name == test && function.runs && function.facts.contains(id)
            };
            if !functions.iter().any(|function| names_it(&function)) {
                wrong.push(format!("{id}: no test {test} has it in its comment"));
            }
        }
    }
    for (name, function) in &functions {
        for id in &function.facts {
            match facts.get(id) {
                None => wrong.push(format!("{name} names {id}, which is no fact")),
                Some(tests) if !tests.contains(name) => {
                    wrong.push(format!("{name} names {id}, whose line does not name it"));
                }
                Some(_) => {}
            }
        }
    }
    let named: BTreeSet<String> = functions.iter().flat_map(|(_, function)| function.facts.clone()).collect();
    let loose = sources.iter().flat_map(|source| ids(source)).filter(|id| !named.contains(id));
    wrong.extend(loose.map(|id| format!("{id} stands in a source, but not in the comment of a function")));
    wrong
}

/// Every Rust source below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests/tests/facts.rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_fact_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/facts.md")).unwrap();
    let mut paths = Vec::new();
    for folder in ["crates", "tests", "xtask"] {
        sources(&root.join(folder), &mut paths);
    }
    let texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(facts(&page).len() > 50, "the page is not read as it is written");
    let wrong = complaints(&page, &texts);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_does_not_fit_is_noticed() {
    let page = "| id | x |\n| F-a-1 | is so | does | `one`, `two` |\n| F-a-2 | is so | does | |\n";
    let fine = "/// F-a-1\n#[test]\nfn one() {}\n/// Words. F-a-1\nfn two(version: &str) {}\n#[test]\nfn x() { two(1) }\n";
    assert_eq!(complaints(page, &[fine.to_owned()]), ["F-a-2 names no test"]);
    let page = page.replace("| F-a-2 | is so | does | |\n", "");
    let check = |source: &str, says: &str| {
        let wrong = complaints(&page, &[source.to_owned()]);
        assert!(wrong.iter().any(|wrong| wrong.contains(says)), "{says}: {wrong:?}");
    };
    check(&fine.replace("/// F-a-1\n", ""), "no test one");
    check(&fine.replace("fn x() { two(1) }", "fn x() {}"), "no test two");
    check(&fine.replace("F-a-1", "F-a-7"), "which is no fact");
    check(&format!("{fine}/// F-a-1\n#[test]\nfn three() {{}}\n"), "three names F-a-1");
    check(&format!("{fine}// F-b-1\n"), "not in the comment of a function");
}
