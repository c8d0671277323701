// SPDX-License-Identifier: GPL-2.0

//! Whatever is written: it is taken and means itself again, or it is refused
//! with one line.

use super::{
    any_command::command,
    cases, //
};
use crate::logic::{
    command::order::Order,
    spec::names, //
};
use proptest::{
    prelude::*,
    sample::select, //
};

/// Texts that look like commands, so that more than their first letter is read.
fn like_command() -> impl Strategy<Value = String> {
    let all: Vec<_> = names::all().collect();
    let name = prop_oneof![select(&["client", "server", "loopback"][..]), select(all)];
    let value = prop_oneof![
        Just(String::new()),
        "=[0-9a-fxKM.:%]{0,12}",
        "=[1-9][-+0-9]{0,8}(ns|us|ms|s|G)?",
        "=.{0,80}",
        "=(ram|/[a-z]{0,3})",
        ".{0,3}"
    ];
    let option = (name, value).prop_map(|(name, value)| format!("{name}{value}"));
    prop::collection::vec(option, 0..6).prop_map(|options| options.join(","))
}

fn is_one_clean_line(sentence: &str) -> bool {
    (10..1000).contains(&sentence.len()) && sentence.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// Whatever it is, it is taken and means itself again, or refused with a line.
fn digest(text: &str) -> Result<(), TestCaseError> {
    match Order::read(text) {
        Ok(order) => {
            let shown = order.to_string();
            prop_assert_eq!(Order::read(&shown), Ok(order), "{}", shown);
        }
        Err(error) => {
            prop_assert!(is_one_clean_line(&error.to_string()), "{}", error);
            // Its usual name where it has another.
            let named = text.replace("tx-depth", "txdepth").contains(error.option);
            prop_assert!(named || text.contains(error.option), "{}", error.option);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn any_text_is_digested(text: String) {
        digest(&text)?;
    }

    #[test]
    fn any_likely_text_is_digested(text in like_command()) {
        digest(&text)?;
    }

    #[test]
    fn a_command_with_one_byte_changed_is_digested(
        command in command(),
        place: prop::sample::Index,
        by in 1u8..128,
    ) {
        let mut bytes = command.to_string().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] ^= by;
        digest(&String::from_utf8_lossy(&bytes))?;
    }
}
