// SPDX-License-Identifier: GPL-2.0

//! The fuzz targets on the inputs that fuzzers have found, on those written by hand, and on changes
//! of both. `make fuzz` looks for more.

use super::cases;
use proptest::{
    collection::vec,
    prelude::*,
    sample::Index, //
};
use std::{
    fs,
    path::Path, //
};

#[path = "../../fuzz/fuzz_targets/mod.rs"]
mod targets;

/// The bytes that `digits`, two for each, name.
fn bytes(digits: &str) -> Vec<u8> {
    let digit = |place: usize| u8::from_str_radix(&digits[place..place + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

/// Returns all inputs of the target `name`.
fn inputs(name: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let corpus = fs::read_to_string(fuzz.join("corpus").join(name)).unwrap_or_default();
    let mut found: Vec<_> = corpus.lines().map(bytes).collect();
    for seed in fs::read_dir(fuzz.join("seeds").join(name)).unwrap() {
        found.push(fs::read(seed.unwrap().path()).unwrap());
    }
    assert!(!found.is_empty(), "{name} has no inputs");
    found.sort();
    found
}

/// A change of an input.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    /// Goes on with the end of another input.
    Splice(Index, Index),
}

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        // Few bytes are what most protocols have in most places.
        let byte = prop_oneof![any::<u8>(), 0..8u8, Just(255)];
        prop_oneof![
            3 => (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Self::Set(at, byte)),
            1 => (any::<Index>(), byte).prop_map(|(at, byte)| Self::Insert(at, byte)),
            1 => any::<Index>().prop_map(Self::Remove),
            1 => any::<(Index, Index)>().prop_map(|(at, other)| Self::Splice(at, other)),
        ]
    }

    fn of(&self, input: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        match self {
            Self::Set(at, byte) if !input.is_empty() => *at.get_mut(input) = *byte,
            Self::Remove(at) if !input.is_empty() => {
                input.remove(at.index(input.len()));
            }
            Self::Set(..) | Self::Remove(_) => {}
            Self::Insert(at, byte) => input.insert(at.index(input.len() + 1), *byte),
            Self::Splice(at, other) => {
                let other = other.get(inputs);
                let at = at.index(input.len().min(other.len()) + 1);
                input.truncate(at);
                input.extend_from_slice(&other[at..]);
            }
        }
    }
}

/// Runs `target` on the inputs of `name`, and on changes of them.
fn fuzz(name: &str, target: fn(&[u8])) {
    let inputs = inputs(name);
    inputs.iter().for_each(|input| target(input));
    proptest!(cases(100_000), |(from: Index, changes in vec(Change::any(), 1..6))| {
        let mut input = from.get(&inputs).clone();
        changes.iter().for_each(|change| change.of(&mut input, &inputs));
        target(&input);
    });
}

#[test]
fn each_target_stands_what_is_known_and_changes_of_it() {
    for (name, target) in targets::TARGETS {
        // A failure shows it.
        println!("{name}");
        fuzz(name, target);
    }
}
