// SPDX-License-Identifier: GPL-2.0

//! All fuzz targets, by name: for a fuzzer, and for the host tests.

mod command;
mod exchange;
mod json;
mod messenger;
mod stream;
mod wire;

/// The name of each, which the directories of its inputs have as well, and what takes an input.
pub(crate) const TARGETS: [(&str, fn(&[u8])); 6] = [
    ("command", |bytes| command::fuzz(text(bytes))),
    ("exchange", exchange::fuzz),
    ("json", |bytes| json::fuzz(text(bytes))),
    ("messenger", messenger::fuzz),
    ("stream", stream::fuzz),
    ("wire", wire::fuzz),
];

/// Returns what is text at the beginning of `bytes`.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap(),
    }
}
