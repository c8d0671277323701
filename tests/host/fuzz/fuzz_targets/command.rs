// SPDX-License-Identifier: GPL-2.0

//! Commands, as anybody may write them: each is taken and means itself again,
//! or is refused with one line of printable ASCII.

#![no_main]
#![allow(dead_code)]

#[path = "../../../../rust/logic/mod.rs"]
mod logic;

use libfuzzer_sys::fuzz_target;
use logic::command::Command;

fuzz_target!(|text: &str| {
    match Command::parse(text) {
        Ok(command) => {
            let shown = command.to_string();
            assert_eq!(Command::parse(&shown), Ok(command), "{shown}");
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!((10..600).contains(&sentence.len()), "{sentence}");
            assert!(sentence.bytes().all(|b| matches!(b, b' '..=b'~')));
            assert!(text.contains(error.option), "{}", error.option);
        }
    }
});
