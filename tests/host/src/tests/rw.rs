// SPDX-License-Identifier: GPL-2.0

//! Transfers: the checks of requests and answers, and of what a transfer can be.

use crate::logic::{
    command::{
        Load,
        MemMode,
        Test, //
    },
    pingpong::{
        check_request,
        Message,
        Violation, //
    },
    rw::{
        check_answer,
        Server, //
    },
    wire::{
        Advertisement,
        PeerRole,
        PrivateData, //
    }, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};

const ASKED: Advertisement = Advertisement {
    addr: 0x1000,
    rkey: 7,
    size: 64,
};

fn message(advertisement: &Advertisement) -> Message {
    Message {
        len: 16,
        bytes: advertisement.encode(),
        invalidated: None,
        has_immediate: false,
    }
}

/// Returns messages that are neither a request nor an answer, and what is wrong with each.
fn wrong() -> [(Message, Violation); 4] {
    let good = message(&ASKED);
    [
        (Message { len: 15, ..good }, Violation::Length(15)),
        (Message { len: 64, ..good }, Violation::Length(64)),
        (
            Message {
                has_immediate: true,
                ..good
            },
            Violation::Immediate,
        ),
        (
            Message {
                invalidated: Some(5),
                ..good
            },
            Violation::Unasked(5),
        ),
    ]
}

#[test]
fn requests_are_counted_and_answered() {
    let mut server = Server::new(64, 2);
    assert!(!server.may_end() && !server.served_all());
    for answered in 0..2 {
        assert_eq!(server.request(&message(&ASKED)), Ok(ASKED));
        assert!(!server.may_end());
        assert_eq!(
            (server.arrived(), server.answered()),
            (answered + 1, answered)
        );
        server.answer();
    }
    assert!(server.may_end() && server.served_all());
    assert_eq!(server.request(&message(&ASKED)), Err(Violation::PastEnd));
}

#[test]
fn without_a_number_the_end_is_where_nothing_is_under_way() {
    let mut server = Server::new(64, 0);
    assert!(server.may_end() && !server.served_all());
    server.request(&message(&ASKED)).unwrap();
    server.request(&message(&ASKED)).unwrap();
    server.answer();
    assert!(!server.may_end());
    server.answer();
    assert!(server.may_end() && !server.served_all());
}

#[test]
fn requests_that_are_refused() {
    let sized = |addr, size| {
        message(&Advertisement {
            addr,
            size,
            ..ASKED
        })
    };
    let others = [
        (sized(0x1000, 0), Violation::Empty),
        (sized(0x1000, 63), Violation::TransferSize(63, 64)),
        (
            sized(0x1000, u32::MAX),
            Violation::TransferSize(u32::MAX, 64),
        ),
        (sized(u64::MAX - 63, 64), Violation::Wraps),
    ];
    for (message, violation) in wrong().into_iter().chain(others) {
        let mut server = Server::new(64, 0);
        assert_eq!(server.request(&message), Err(violation));
        assert!(server.may_end(), "it does not count");
    }
    assert!(Server::new(64, 0)
        .request(&sized(u64::MAX - 64, 64))
        .is_ok());
}

#[test]
fn an_answer_repeats_its_request() {
    let good = message(&ASKED);
    assert_eq!(check_answer(&good, Some(&ASKED)), Ok(()));
    assert_eq!(check_answer(&good, None), Err(Violation::Early));
    for (message, violation) in wrong() {
        assert_eq!(check_answer(&message, Some(&ASKED)), Err(violation));
    }
    for other in [
        Advertisement { addr: 1, ..ASKED },
        Advertisement { rkey: 1, ..ASKED },
        Advertisement { size: 1, ..ASKED },
    ] {
        let answer = message(&other);
        assert_eq!(
            check_answer(&answer, Some(&ASKED)),
            Err(Violation::OtherTransfer)
        );
    }
}

#[test]
fn a_client_asks_for_what_there_is_memory_for() {
    let asks = |size, segs, offset| {
        let data = PrivateData {
            role: PeerRole::Client,
            test: Test::RwRead,
            mem_mode: MemMode::Reg,
            server_inv: false,
            read_inv: false,
            validate: false,
            size,
            load: Load {
                segs,
                offset,
                ..Load::new(Test::RwRead)
            },
            ..private_data_of_a_transfer()
        };
        check_request(&data).is_ok()
    };
    assert!(asks(1, 1, 0) && asks(1 << 20, 16, 0) && asks(4096, 2, 1));
    assert!(asks((1 << 20) - 4095, 1, 4095) && asks(2, 2, 4095));
    assert!(!asks((1 << 20) + 1, 1, 0) && !asks(1 << 20, 1, 1) && !asks(u32::MAX, 1, 4095));
    assert!(!asks(4096, 2, 0) && !asks(1, 2, 4095) && asks(65536, 16, 0));
}

fn private_data_of_a_transfer() -> PrivateData {
    PrivateData::decode(&TRANSFER).unwrap().unwrap()
}

#[rustfmt::skip]
const TRANSFER: [u8; 56] = [
    0x6b, 0x72, 0x70, 0x67, 1, 1, 15, 1,
    0, 0, 0, 0, 0, 0, 0, 64,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 64,
    0, 1, 0, 0, 0, 0, 0, 4, 0, 1, 0, 1,
    1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
];

#[test]
fn private_data_that_does_not_decode() {
    // Pieces, offset, flags, and reserved ones of another test.
    for (place, byte) in [(45, 0), (45, 17), (46, 0x10), (11, 1 << 4), (10, 0x20)] {
        let mut bytes = TRANSFER;
        bytes[place] = byte;
        assert!(PrivateData::decode(&bytes).is_err(), "{place}");
    }
}

proptest! {
    /// Whatever comes, the server counts no more answers than requests, and ends at most once.
    #[test]
    fn any_messages(sizes in vec((any::<u64>(), 0u32..4), 0..40), count in 0u64..9) {
        let mut server = Server::new(2, count);
        let mut arrived = 0;
        for (addr, size) in sizes {
            if server.request(&message(&Advertisement { addr, rkey: 1, size })).is_ok() {
                prop_assert!(size == 2 && addr.checked_add(2).is_some());
                arrived += 1;
                server.answer();
            }
            prop_assert!(count == 0 || arrived <= count);
            prop_assert_eq!(server.served_all(), count != 0 && arrived == count);
        }
    }
}
