// SPDX-License-Identifier: GPL-2.0

//! Texts of the sources that reach the log as errors and warnings or as failures, all of which
//! docs/troubleshooting.md must have.

use super::troubleshooting::missing;
use std::{
    fs,
    path::{
        Path,
        PathBuf, //
    }, //
};

/// The code at whose end a text that is said may begin.
const BEFORE: [&str; 11] = [
    "pr_err!(",
    "pr_warn!(",
    "fmt!(",
    "failed(",
    "refused(",
    "Failure::Kernel(",
    "Failure::TimedOut(",
    "Failure::Unsupported(",
    "Failure::Busy(",
    "wait_until(",
    " =",
];

/// The folders of the module whose texts are no sentences of its own.
const OTHERS: [&str; 1] = ["logic"];

/// A step whose timeout is said in other words.
const NEVER_SAID: &str = "waiting for the client's old connections";

/// Collects the Rust sources below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_other = OTHERS.iter().any(|name| path.ends_with(name));
        if path.is_dir() && !is_other {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the string literal that `code` begins with, if it does.
fn literal(code: &str) -> Option<String> {
    let mut chars = code.trim_start().strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => {}
                // The line goes on behind the spaces of the next one.
                '\n' => chars = chars.as_str().trim_start().chars(),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

/// Returns the pieces of a format between its arguments that have at least two words.
fn pieces(format: &str) -> Vec<String> {
    format
        .split('{')
        .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
        .map(|piece| piece.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|piece| piece.contains(' '))
        .map(String::from)
        .collect()
}

#[test]
fn every_text_of_the_sources_is_there() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rust");
    let mut files = Vec::new();
    collect(Path::new(root), &mut files);
    assert!(files.len() > 50, "{files:?}");
    let mut found = Vec::new();
    for file in files {
        // The reasons of attributes are for readers of the code.
        let code = fs::read_to_string(file).unwrap().replace("reason =", "");
        for before in BEFORE {
            let texts = code.split(before).skip(1).filter_map(literal);
            found.extend(texts.flat_map(|text| pieces(&text)));
        }
    }
    assert!(found.len() > 100, "{found:?}");
    found.retain(|text| text != NEVER_SAID);
    found.sort();
    found.dedup();
    let missing = missing(found);
    assert!(missing.is_empty(), "not in the page: {missing:#?}");
}
