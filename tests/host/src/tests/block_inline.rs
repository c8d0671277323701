// SPDX-License-Identifier: GPL-2.0

//! Requests whose data is in messages: a write's follows it, a read's is its answer.

use super::block::{
    least,
    ACTIONS, //
};
use crate::logic::{
    block::{
        check,
        Action,
        Limits,
        MessageError,
        Request,
        Status, //
    },
    wire::Advertisement, //
};

const MOVES: [Action; 2] = [Action::Read, Action::Write];

/// A request of that action for `size` bytes, which are in a message.
fn inline(action: Action, size: u32) -> Request {
    Request {
        inline: true,
        remote: Advertisement {
            addr: 0,
            rkey: 0,
            size,
        },
        ..least(action)
    }
}

/// The length of its message.
fn whole(request: &Request) -> u32 {
    match request.action {
        Action::Write => 32 + request.bytes(),
        _ => 32,
    }
}

#[test]
fn layout_of_a_read() {
    #[rustfmt::skip]
    let bytes = [
        1, 2, 0x01, 0x02, 0x11, 0x12, 0x13, 0x14,
        0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
        0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0x0e, 0,
    ];
    let request = Request {
        tag: 0x0102,
        seq: 0x1112_1314,
        offset: 0x2122_2324_2526_2728,
        ..inline(Action::Read, 3584)
    };
    assert_eq!(request.encode(), bytes);
    assert_eq!(Request::decode(&bytes, 32), Ok(request));
}

#[test]
fn only_the_data_of_writes_follows() {
    for action in MOVES {
        for size in [0, 1, 512, 4095, 4096] {
            let request = inline(action, size);
            let (bytes, whole) = (request.encode(), whole(&request));
            assert_eq!(Request::decode(&bytes, whole), Ok(request));
            let lengths = [0, 31, 32, 33, 31 + size, 32 + size, 33 + size, u32::MAX];
            for len in lengths.into_iter().filter(|len| *len != whole) {
                let should = if len < 32 { 32 } else { whole };
                let error = MessageError::Length(len, should);
                assert_eq!(
                    Request::decode(&bytes, len),
                    Err(error),
                    "{action:?} {size}"
                );
            }
        }
    }
}

#[test]
fn data_in_messages_is_small() {
    for action in MOVES {
        for size in [4097, 8192, u32::MAX - 31, u32::MAX] {
            let bytes = inline(action, size).encode();
            for len in [32, 4128, size.wrapping_add(32).max(32)] {
                let error = Err(MessageError::Inline(size, 4096));
                assert_eq!(Request::decode(&bytes, len), error);
            }
        }
    }
}

#[test]
fn no_memory_is_named() {
    for action in MOVES {
        for size in [0, 4096] {
            let mut request = inline(action, size);
            for (addr, rkey) in [(1, 0), (1 << 63, 0), (0, 1), (0, 1 << 31), (1, 1)] {
                (request.remote.addr, request.remote.rkey) = (addr, rkey);
                let decoded = Request::decode(&request.encode(), whole(&request));
                assert_eq!(decoded, Err(MessageError::Reserved), "{request:?}");
            }
        }
    }
}

#[test]
fn of_all_that_is_wrong_the_first_is_said() {
    for action in ACTIONS {
        let known = match action {
            Action::Read => 2,
            Action::Write => 3,
            Action::Discard => 1,
            // The space of the blocks is to stay.
            Action::WriteZeroes => 1 | 8,
            _ => 0,
        };
        for flags in (0..=255u8).filter(|flags| flags & 2 != 0) {
            let meaningless = flags & !known;
            for size in [0, 1, 4096, 4097, u32::MAX] {
                for (addr, rkey) in [(0, 0), (1, 0), (0, 1)] {
                    let mut request = inline(action, size);
                    (request.remote.addr, request.remote.rkey) = (addr, rkey);
                    let mut bytes = request.encode();
                    bytes[1] = flags;
                    for len in [0, 31, 32, 33, 4128, u32::MAX] {
                        let error = if len < 32 {
                            Some(MessageError::Length(len, 32))
                        } else if meaningless != 0 {
                            Some(MessageError::Flags(meaningless))
                        } else if size > 4096 {
                            Some(MessageError::Inline(size, 4096))
                        } else if len != whole(&request) {
                            Some(MessageError::Length(len, whole(&request)))
                        } else if (addr, rkey) != (0, 0) {
                            Some(MessageError::Reserved)
                        } else {
                            None
                        };
                        let decoded = Request::decode(&bytes, len);
                        assert_eq!(decoded.err(), error, "{bytes:?} of {len}");
                        if let Ok(request) = decoded {
                            assert_eq!(request.encode(), bytes);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_server_checks_them_as_any_other() {
    let limits = Limits {
        size: 1 << 20,
        block: 512,
        max_bytes: 2048,
        max_discard: 0,
        read_only: false,
    };
    for action in MOVES {
        for (offset, size, expected) in [
            (0, 2048, Ok(())),
            ((1 << 20) - 512, 512, Ok(())),
            (0, 0, Err(Status::Invalid)),
            (0, 4096, Err(Status::Invalid)),
            (0, 513, Err(Status::Invalid)),
            (1, 512, Err(Status::Invalid)),
            (1 << 20, 512, Err(Status::OutOfRange)),
        ] {
            let mut request = inline(action, size);
            request.offset = offset;
            assert_eq!(
                check(&request, &limits),
                expected,
                "{action:?} {offset} {size}"
            );
        }
    }
}
