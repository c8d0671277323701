// SPDX-License-Identifier: GPL-2.0

//! All fuzz targets, so that what they fuzz is compiled once. `KRPING_FUZZ` names the one to run.

#![no_main]
#![allow(dead_code)]

#[path = "../../../../rust/logic/mod.rs"]
mod logic;

mod command;
mod exchange;
mod json;
mod messenger;
mod stream;
mod wire;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// The target to run.
static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("KRPING_FUZZ").expect("KRPING_FUZZ names a target");
    match name.as_str() {
        "command" => |bytes| command::fuzz(text(bytes)),
        "exchange" => exchange::fuzz,
        "json" => |bytes| json::fuzz(text(bytes)),
        "messenger" => messenger::fuzz,
        "stream" => stream::fuzz,
        "wire" => wire::fuzz,
        _ => panic!("KRPING_FUZZ={name}: there is no such target"),
    }
});

/// Returns what is text at the beginning of `bytes`.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap(),
    }
}

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
