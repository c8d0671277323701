// SPDX-License-Identifier: GPL-2.0

//! Commands, as anybody may write them: each is taken and means itself again,
//! or is refused with one line of printable ASCII.

use crate::logic::command::{
    order::Order,
    parse_error::ParseError,
    Command,
    Role, //
};

fn read(text: &str) -> Result<Order<Box<Command>>, ParseError<'_>> {
    Order::parse(text, Box::new(Command::new(Role::Client)))
}

/// Reads `text` as a command, and reads again what that shows.
pub(crate) fn fuzz(text: &str) {
    match read(text) {
        Ok(order) => {
            let shown = order.to_string();
            assert_eq!(read(&shown), Ok(order), "{shown}");
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!((10..1000).contains(&sentence.len()), "{sentence}");
            assert!(sentence.bytes().all(|b| matches!(b, b' '..=b'~')));
            // Its usual name where it has another.
            let named = text.replace("tx-depth", "txdepth").contains(error.option);
            assert!(named || text.contains(error.option), "{}", error.option);
        }
    }
}
