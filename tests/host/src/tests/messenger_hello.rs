// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::{
    messenger::hello::{
        Hello,
        QueuePairAddress, //
    },
    wire::{
        PeerRole,
        PrivateData,
        PrivateDataError as Error, //
    }, //
};
use proptest::prelude::*;

fn hello() -> Hello {
    Hello {
        role: PeerRole::Client,
        chunk: 16384,
        size: 4096,
        conns: 64,
        index: 5,
        inflight: 8,
        silence_ms: 1_200_000,
        queue_pair: QueuePairAddress {
            number: 0x123456,
            psn: 0x654321,
            lid: 0x789a,
            gid: [7; 16],
            mtu: 1024,
        },
    }
}

#[test]
fn it_is_these_bytes() {
    let bytes = hello().encode();
    assert_eq!(
        bytes[..32],
        [
            b'k', b'r', b'p', b'g', 1, 1, 17, 0, 0, 0, 64, 0, 0, 0, 16, 0, 0, 64, 0, 5, 0, 0x12,
            0x34, 0x56, 0, 0x65, 0x43, 0x21, 0x78, 0x9a, 0, 0
        ]
    );
    assert_eq!(bytes[32..48], [7; 16]);
    assert_eq!(bytes[48..], [0, 8, 4, 0, 0, 0x12, 0x4f, 0x80]);
    assert_eq!(Hello::decode(&bytes, PeerRole::Client), Ok(hello()));
    assert_eq!(Hello::decode(&bytes, PeerRole::Server), Err(Error::Side));
    assert!(matches!(
        PrivateData::decode(&bytes),
        Err(Error::OtherTest(_))
    ));
}

#[test]
fn what_is_out_of_range_is_named() {
    let queue_pair = hello().queue_pair;
    for (wrong, name) in [
        (
            Hello {
                chunk: 63,
                ..hello()
            },
            "chunk",
        ),
        (
            Hello {
                chunk: (1 << 20) + 1,
                ..hello()
            },
            "chunk",
        ),
        (Hello { size: 0, ..hello() }, "size"),
        (
            Hello {
                conns: 0,
                index: 0,
                ..hello()
            },
            "conns",
        ),
        (
            Hello {
                conns: 257,
                ..hello()
            },
            "conns",
        ),
        (
            Hello {
                index: 64,
                ..hello()
            },
            "index",
        ),
        (
            Hello {
                inflight: 0,
                ..hello()
            },
            "inflight",
        ),
        (
            Hello {
                inflight: 1025,
                ..hello()
            },
            "inflight",
        ),
        (
            Hello {
                silence_ms: 1_200_001,
                ..hello()
            },
            "silence",
        ),
        (
            Hello {
                queue_pair: QueuePairAddress {
                    number: 1 << 24,
                    ..queue_pair
                },
                ..hello()
            },
            "queue pair",
        ),
        (
            Hello {
                queue_pair: QueuePairAddress {
                    psn: 1 << 24,
                    ..queue_pair
                },
                ..hello()
            },
            "psn",
        ),
        (
            Hello {
                queue_pair: QueuePairAddress {
                    mtu: 1500,
                    ..queue_pair
                },
                ..hello()
            },
            "mtu",
        ),
    ] {
        let decoded = Hello::decode(&wrong.encode(), PeerRole::Client);
        assert_eq!(decoded, Err(Error::Range(name)), "{wrong:?}");
    }
}

#[test]
fn a_server_repeats_what_it_was_told() {
    let answer = Hello {
        role: PeerRole::Server,
        chunk: 64,
        ..hello()
    };
    assert_eq!(answer.repeats(&hello()), Ok(()));
    for (wrong, name) in [
        (Hello { size: 1, ..answer }, "size"),
        (
            Hello {
                conns: 65,
                ..answer
            },
            "conns",
        ),
        (Hello { index: 4, ..answer }, "index"),
        (
            Hello {
                inflight: 9,
                ..answer
            },
            "inflight",
        ),
        (
            Hello {
                silence_ms: 0,
                ..answer
            },
            "silence",
        ),
    ] {
        assert_eq!(wrong.repeats(&hello()), Err(Error::Range(name)));
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn any_bytes_decode_or_are_refused(at in 0usize..Hello::LEN, byte: u8, len in 0usize..80) {
        let mut bytes = hello().encode().to_vec();
        bytes[at] = byte;
        bytes.resize(len, 0xee);
        if let Ok(decoded) = Hello::decode(&bytes, PeerRole::Client) {
            prop_assert_eq!(&decoded.encode()[..], &bytes[..Hello::LEN]);
        }
    }
}
