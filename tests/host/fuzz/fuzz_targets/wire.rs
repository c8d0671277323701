// SPDX-License-Identifier: GPL-2.0

//! Messages, as any peer may send them: what decodes encodes to the same bytes,
//! and what does not has a sentence.

#![no_main]
#![allow(dead_code)]

#[path = "../../../../rust/logic/mod.rs"]
mod logic;

use libfuzzer_sys::fuzz_target;
use logic::{
    control::Control,
    protocol::check_request,
    wire::{Advertisement, PrivateData, Reject},
};

fuzz_target!(|bytes: &[u8]| {
    match PrivateData::decode(bytes) {
        Ok(Some(data)) => {
            assert_eq!(bytes.get(..PrivateData::LEN), Some(&data.encode()[..]));
            if let Err(violation) = check_request(&data) {
                assert!(violation.to_string().len() > 20, "{violation}");
            }
        }
        Ok(None) => assert!(!bytes.starts_with(b"krpg")),
        Err(error) => assert!(error.to_string().len() > 30, "{error}"),
    }
    if let Some(reject) = Reject::decode(bytes) {
        assert_eq!(Reject::decode(&reject.encode()), Some(reject));
        assert!(reject.to_string().len() > 20, "{reject}");
    }
    if let Some(message) = bytes.first_chunk() {
        if let Some(control) = Control::decode(message) {
            assert_eq!(control.encode(), *message);
        }
    }
    if let Some(message) = bytes.first_chunk() {
        assert_eq!(Advertisement::decode(message).encode(), *message);
    }
});
