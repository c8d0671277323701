// SPDX-License-Identifier: GPL-2.0

//! Requests of disks and taps. `block_inline` has requests whose data is in messages,
//! `block_immediate` messages that are nothing but data, `block_answer` what a server answers, and
//! `block_check` what it checks.

use super::cases;
use crate::logic::{
    block::{
        Action,
        MessageError,
        Request,
        Status, //
    },
    wire::Advertisement, //
};
use proptest::{
    option,
    prelude::*,
    sample::select, //
};

pub(super) const ACTIONS: [Action; 9] = [
    Action::Read,
    Action::Write,
    Action::Flush,
    Action::Discard,
    Action::WriteZeroes,
    Action::Ping,
    Action::Close,
    Action::Note,
    Action::Survey,
];

pub(super) const STATUSES: [Status; 7] = [
    Status::Ok,
    Status::Io,
    Status::NoSpace,
    Status::ReadOnly,
    Status::OutOfRange,
    Status::Unsupported,
    Status::Invalid,
];

#[rustfmt::skip]
const WRITE: [u8; 32] = [
    2, 5, 0x01, 0x02, 0x11, 0x12, 0x13, 0x14,
    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
    0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
    0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54,
];

fn write() -> Request {
    Request {
        action: Action::Write,
        fua: true,
        inline: false,
        keep: true,
        keep_space: false,
        tag: 0x0102,
        seq: 0x1112_1314,
        offset: 0x2122_2324_2526_2728,
        remote: Advertisement {
            addr: 0x3132_3334_3536_3738,
            rkey: 0x4142_4344,
            size: 0x5152_5354,
        },
    }
}

/// A request of that action that decodes, as small as it gets.
pub(super) fn least(action: Action) -> Request {
    let moves = matches!(action, Action::Read | Action::Write);
    Request {
        action,
        fua: false,
        inline: false,
        keep: false,
        keep_space: false,
        tag: 0,
        seq: 0,
        offset: 0,
        remote: Advertisement {
            addr: 0,
            rkey: u32::from(moves),
            size: 0,
        },
    }
}

#[test]
fn layouts() {
    assert_eq!(write().encode(), WRITE);
    assert_eq!(Request::decode(&WRITE, 32), Ok(write()));
    assert_eq!(write().bytes(), 0x5152_5354);
}

#[test]
fn each_action_has_its_number_and_name() {
    let names: Vec<&str> = ACTIONS.iter().map(|action| action.as_str()).collect();
    let expected = [
        "read",
        "write",
        "flush",
        "discard",
        "write-zeroes",
        "ping",
        "close",
        "note",
        "survey",
    ];
    assert_eq!(names, expected);
    for (i, action) in ACTIONS.into_iter().enumerate() {
        let bytes = least(action).encode();
        assert_eq!(usize::from(bytes[0]), i + 1);
        assert_eq!(Request::decode(&bytes, 32), Ok(least(action)));
    }
    for action in (0..=255).filter(|action| !(1..=9).contains(action)) {
        let mut bytes = WRITE;
        bytes[0] = action;
        assert_eq!(
            Request::decode(&bytes, 32),
            Err(MessageError::Action(action))
        );
    }
}

#[test]
fn each_flag_goes_with_some_actions() {
    for action in ACTIONS {
        for flags in 0..=255u8 {
            let known = match action {
                // A key that is not there cannot be kept.
                Action::Read if flags & 2 != 0 => 2,
                Action::Read => 4,
                Action::Write if flags & 2 != 0 => 3,
                Action::Write => 5,
                Action::Discard => 1,
                Action::WriteZeroes => 9,
                _ => 0,
            };
            let mut bytes = least(action).encode();
            bytes[1] = flags;
            if flags & 2 != 0 {
                bytes[24..28].fill(0);
            }
            let decoded = Request::decode(&bytes, 32);
            if flags & !known != 0 {
                assert_eq!(decoded, Err(MessageError::Flags(flags & !known)));
            } else {
                let request = decoded.unwrap();
                let found = [
                    request.fua,
                    request.inline,
                    request.keep,
                    request.keep_space,
                ];
                assert_eq!(found, [1, 2, 4, 8].map(|flag| flags & flag != 0));
                let is_durable = flags & 1 != 0 || action == Action::Flush;
                assert_eq!(request.is_durable(), is_durable);
                for status in STATUSES {
                    let is_loss = match (status, action) {
                        (Status::Ok, _) => false,
                        (_, Action::Flush) => true,
                        (status, _) => is_durable && status == Status::Io,
                    };
                    assert_eq!(
                        status.is_loss_of(&request),
                        is_loss,
                        "{status:?} {request:?}"
                    );
                }
                assert_eq!(request.encode(), bytes);
            }
        }
    }
}

#[test]
fn each_length_is_the_right_one() {
    for len in (0..200).chain([4128, u32::MAX]).filter(|len| *len != 32) {
        for action in ACTIONS {
            let bytes = least(action).encode();
            let error = MessageError::Length(len, 32);
            assert_eq!(Request::decode(&bytes, len), Err(error));
        }
    }
}

#[test]
fn keys_come_with_data_and_only_then() {
    for action in [Action::Read, Action::Write] {
        let mut request = least(action);
        request.remote = Advertisement {
            addr: 5,
            rkey: 0,
            size: 512,
        };
        let error = Err(MessageError::NoKey);
        assert_eq!(Request::decode(&request.encode(), 32), error);
    }
    for action in &ACTIONS[2..] {
        let mut request = least(*action);
        for (addr, rkey) in [(1, 0), (1 << 63, 0), (0, 1), (0, 1 << 31), (1, 1)] {
            (request.remote.addr, request.remote.rkey) = (addr, rkey);
            let error = Err(MessageError::Reserved);
            assert_eq!(Request::decode(&request.encode(), 32), error, "{request:?}");
        }
    }
}

#[test]
fn what_is_about_no_blocks_names_none() {
    for action in ACTIONS {
        let is_placed = action != Action::Flush && !action.is_control();
        for (offset, size) in [(1, 0), (1 << 63, 0), (0, 1), (0, 1 << 31)] {
            let mut request = least(action);
            (request.offset, request.remote.size) = (offset, size);
            let decoded = Request::decode(&request.encode(), 32);
            match is_placed {
                true => assert_eq!(decoded, Ok(request)),
                false => assert_eq!(decoded, Err(MessageError::Reserved)),
            }
        }
    }
}

#[test]
fn each_error_has_a_sentence() {
    for (error, sentence) in [
        (
            MessageError::Length(5, 32),
            "sent a message of 5 bytes instead of 32",
        ),
        (
            MessageError::Action(9),
            "sent a message of an unknown kind (9)",
        ),
        (
            MessageError::Flags(4),
            "sent a request with flags that mean nothing (0x4)",
        ),
        (
            MessageError::Inline(5000, 4096),
            "sent a request for 5000 bytes of data in a message, which takes 4096",
        ),
        (
            MessageError::NoKey,
            "sent a request without a key for its data",
        ),
        (
            MessageError::Status(7),
            "sent a status that does not exist (7)",
        ),
        (
            MessageError::Reserved,
            "sent a message with reserved bytes that are not zero",
        ),
        (
            MessageError::Tag(3),
            "sent a message of tag 3, which is out of turn",
        ),
        (
            MessageError::NotInvalidated,
            "sent an answer that has not invalidated the key of what it answers",
        ),
    ] {
        assert_eq!(error.to_string(), sentence);
    }
}

/// Any request that decodes, with the length of its message.
fn request() -> impl Strategy<Value = (Request, u32)> {
    let size = prop_oneof![0u32..=4096, (0u32..64).prop_map(|n| n * 512), any::<u32>()];
    let rest = (
        any::<u16>(),
        any::<u32>(),
        any::<u64>(),
        any::<u64>(),
        1u32..,
    );
    (select(&ACTIONS), any::<[bool; 4]>(), size, rest).prop_map(
        |(action, [fua, inline, keep, keep_space], size, (tag, seq, offset, addr, rkey))| {
            let moves = matches!(action, Action::Read | Action::Write);
            let is_placed = action != Action::Flush && !action.is_control();
            let changes = moves && action != Action::Read
                || matches!(action, Action::Discard | Action::WriteZeroes);
            let inline = inline && moves && size <= 4096;
            let follows = inline && action == Action::Write;
            let remote = Advertisement {
                addr: if moves && !inline { addr } else { 0 },
                rkey: if moves && !inline { rkey } else { 0 },
                size: if is_placed { size } else { 0 },
            };
            let request = Request {
                action,
                fua: fua && changes,
                inline,
                keep: keep && moves && !inline,
                keep_space: keep_space && action == Action::WriteZeroes,
                tag,
                seq,
                offset: if is_placed { offset } else { 0 },
                remote,
            };
            (request, if follows { 32 + size } else { 32 })
        },
    )
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn requests_come_back((request, len) in request()) {
        prop_assert_eq!(Request::decode(&request.encode(), len), Ok(request));
        prop_assert!(Request::decode(&request.encode(), len + 1).is_err());
        prop_assert!(Request::decode(&request.encode(), len - 1).is_err());
    }

    #[test]
    fn any_request_is_digested(
        (request, len) in request(),
        random: [u8; 32],
        place in 0usize..32,
        byte: u8,
        other in option::of(any::<u32>()),
    ) {
        // Nearly right ones lead further than random ones.
        let mut near = request.encode();
        near[place] = byte;
        for bytes in [random, near] {
            match Request::decode(&bytes, other.unwrap_or(len)) {
                Ok(request) => prop_assert_eq!(request.encode(), bytes),
                Err(error) => prop_assert!(error.to_string().starts_with("sent ")),
            }
        }
    }
}
