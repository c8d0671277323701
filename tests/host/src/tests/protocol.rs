// SPDX-License-Identifier: GPL-2.0

use super::{
    cases,
    private_data::private_data, //
};
use crate::logic::{
    command::{
        Load,
        MemMode,
        PatternKind,
        Test, //
    },
    pingpong::{
        check_answer,
        check_request,
        Client,
        ClientStep,
        Message,
        Server,
        ServerStep,
        Violation, //
    },
    spec::service::Service,
    wire::{
        Advertisement,
        PeerRole,
        PrivateData, //
    }, //
};
use proptest::{
    collection::vec,
    option,
    prelude::*, //
};

fn message(size: u32) -> Message {
    let advertisement = Advertisement {
        addr: 0x1000,
        rkey: 7,
        size,
    };
    Message {
        len: 16,
        bytes: advertisement.encode(),
        invalidated: None,
        has_immediate: false,
    }
}

fn invalidating(key: u32) -> Message {
    Message {
        invalidated: Some(key),
        ..message(0)
    }
}

#[test]
fn iterations_as_they_should_go() {
    let mut client = Client::new(false);
    let mut server = Server::new(64, 2);
    assert!(!server.may_end());
    for _ in 0..2 {
        client.start();
        let read = server.advertisement(&message(64));
        assert!(matches!(read, Ok(ServerStep::Read(a)) if a.rkey == 7));
        assert_eq!(server.read_done(), 64);
        assert_eq!(
            client.go_ahead(&message(0), 1),
            Ok(ClientStep::AdvertiseSink)
        );
        let write = server.advertisement(&message(64));
        assert!(matches!(write, Ok(ServerStep::Write(a)) if a.addr == 0x1000));
        assert_eq!(client.go_ahead(&message(0), 1), Ok(ClientStep::Iterated));
    }
    assert!(server.may_end());
    assert_eq!(server.advertisement(&message(64)), Err(Violation::PastEnd));
}

#[test]
fn a_client_checks_go_aheads() {
    let mut client = Client::new(false);
    assert_eq!(client.go_ahead(&message(0), 1), Err(Violation::Early));
    client.start();
    assert_eq!(
        client.go_ahead(&invalidating(1), 1),
        Err(Violation::Unasked(1))
    );
    let mut client = Client::new(true);
    client.start();
    assert_eq!(
        client.go_ahead(&message(0), 1),
        Err(Violation::NotInvalidated(1))
    );
    assert_eq!(
        client.go_ahead(&invalidating(2), 1),
        Err(Violation::WrongKey(2, 1))
    );
    assert_eq!(
        client.go_ahead(&invalidating(1), 1),
        Ok(ClientStep::AdvertiseSink)
    );
    let short = Message {
        len: 15,
        ..invalidating(1)
    };
    assert_eq!(client.go_ahead(&short, 1), Err(Violation::Length(15)));
    let numbered = Message {
        has_immediate: true,
        ..invalidating(1)
    };
    assert_eq!(client.go_ahead(&numbered, 1), Err(Violation::Immediate));
    assert_eq!(
        client.go_ahead(&invalidating(3), 3),
        Ok(ClientStep::Iterated)
    );
}

#[test]
fn a_server_checks_advertisements() {
    let mut server = Server::new(64, 0);
    assert!(server.may_end());
    assert_eq!(server.advertisement(&message(0)), Err(Violation::Empty));
    assert_eq!(
        server.advertisement(&message(65)),
        Err(Violation::TooLarge(65, 64))
    );
    assert_eq!(
        server.advertisement(&invalidating(1)),
        Err(Violation::Early)
    );
    let numbered = Message {
        has_immediate: true,
        ..message(64)
    };
    assert_eq!(server.advertisement(&numbered), Err(Violation::Immediate));
    assert!(server.advertisement(&message(64)).is_ok());
    assert!(!server.may_end());
    assert_eq!(server.advertisement(&message(64)), Err(Violation::Early));
    assert_eq!(server.read_done(), 64);
    let changed = Err(Violation::SizeChanged(63, 64));
    assert_eq!(server.advertisement(&message(63)), changed);
}

#[test]
fn each_violation_is_a_predicate_of_the_peer() {
    for violation in [
        Violation::Length(1),
        Violation::Immediate,
        Violation::Empty,
        Violation::TooLarge(2, 1),
        Violation::SizeChanged(2, 1),
        Violation::Early,
        Violation::NotInvalidated(1),
        Violation::Unasked(1),
        Violation::WrongKey(1, 2),
        Violation::PastEnd,
        Violation::Control,
        Violation::DataLength(2, 1),
        Violation::Miscounted(1, 2),
    ] {
        let sentence = format!("the peer {violation}");
        assert!(sentence.len() > 25, "{sentence}");
    }
}

#[test]
fn sentences_about_microbenchmarks_have_their_numbers() {
    for (violation, sentence) in [
        (
            Violation::DataLength(7, 64),
            "sent a message of 7 bytes, which is neither data (64) nor control",
        ),
        (
            Violation::Miscounted(7, 64),
            "says that it sent 64 messages, and 7 arrived",
        ),
    ] {
        assert_eq!(violation.to_string(), sentence);
    }
}

/// The request for a test, without any option.
fn request(test: Test) -> PrivateData {
    PrivateData {
        role: PeerRole::Client,
        test,
        mem_mode: MemMode::Dma,
        server_inv: false,
        read_inv: false,
        validate: false,
        pattern: PatternKind::Text,
        size: 64,
        count: 1,
        seed: 0,
        max_size: 64,
        group: None,
        load: Load::new(test),
        index: 0,
        data_queue_pair: 0,
        txdepth: 64,
        duration_ms: 0,
        alive_ms: 1000,
    }
}

#[test]
fn requests_that_go_together_and_those_that_do_not() {
    // In the order of the letters below.
    const TESTS: [Test; 8] = [
        Test::PingPong,
        Test::FastReg,
        Test::WriteLatency,
        Test::ReadLatency,
        Test::SendLatency,
        Test::WriteBandwidth,
        Test::ReadBandwidth,
        Test::SendBandwidth,
    ];
    // For each test, whether it takes this: y or n.
    let full = |data: &mut PrivateData| {
        (data.validate, data.load.full, data.load.signal_every) = (true, true, 8);
    };
    fn paced(data: &mut PrivateData) {
        (data.load.paced, data.load.signal_every) = (true, 1);
    }
    let table: [(&str, fn(&mut PrivateData)); 45] = [
        ("yyyyyyyy", |_| ()),
        ("yyyyyyyy", |data| data.pattern = PatternKind::Binary),
        ("yynnnnnn", |data| data.mem_mode = MemMode::Reg),
        ("nnnnnnnn", |data| data.server_inv = true),
        ("nnnnnnnn", |data| data.read_inv = true),
        ("yynnnnnn", |data| {
            (data.mem_mode, data.server_inv) = (MemMode::Reg, true);
        }),
        ("yynnnnnn", |data| {
            (data.mem_mode, data.read_inv) = (MemMode::Reg, true);
        }),
        ("yynnnyyy", |data| data.validate = true),
        ("nnnnnyyy", |data| data.load.duplex = true),
        ("nnynnynn", |data| data.load.imm = true),
        ("nnynyyny", |data| data.load.inline = true),
        ("nnyyynnn", |data| data.load.untimed = true),
        ("nnnnnyyy", |data| data.load.postlist = 2),
        ("nnynyyyy", |data| data.load.signal_every = 2),
        ("nnyyyyyy", |data| {
            (data.load.qps, data.load.sge, data.size) = (2, 16, 16);
        }),
        ("nnnnnnnn", |data| (data.load.sge, data.size) = (16, 15)),
        ("nnnyyyyy", |data| data.load.buffers = 2),
        ("nnnyyyyy", |data| {
            (data.load.buffers, data.load.mrs) = (4096, 4096)
        }),
        ("nnnynyyy", |data| data.load.mixed = true),
        ("nnnnnnnn", |data| {
            (data.load.mixed, data.validate) = (true, true)
        }),
        ("nnnnnnyy", full),
        ("nnyyyyyy", |data| {
            (data.load.sig_all, data.load.signal_every) = (true, 1);
        }),
        ("nnnynnnn", |data| data.load.sig_all = true),
        // A WRITE without immediate data raises no event.
        ("nnnnynny", |data| data.load.solicited = true),
        ("nnynnynn", |data| {
            (data.load.solicited, data.load.imm) = (true, true);
        }),
        ("nnnnnnnn", |data| {
            (data.load.solicited, data.load.duplex) = (true, true);
        }),
        ("nnnnnynn", |data| {
            (data.validate, data.load.full, data.load.imm) = (true, true, true);
        }),
        // What is due by the clock is one operation, of one side, and completes.
        ("ynyyyyyy", paced),
        ("nnnnnnnn", |data| {
            paced(data);
            data.load.signal_every = 2;
        }),
        ("nnnnnnnn", |data| {
            paced(data);
            data.load.postlist = 2;
        }),
        ("nnnnnnnn", |data| {
            paced(data);
            data.load.duplex = true;
        }),
        ("nnnnnnnn", |data| {
            paced(data);
            data.load.untimed = true;
        }),
        ("nnnnnyny", |data| {
            paced(data);
            data.load.service = Service::Uc;
        }),
        ("nnnnnnnn", |data| data.load.full = true),
        ("nnynyyny", |data| data.load.service = Service::Uc),
        ("nnnnynny", |data| data.load.service = Service::Ud),
        ("nnnnnnny", |data| {
            (data.load.service, data.group) = (Service::Ud, Some(1));
        }),
        ("nnnnnnnn", |data| data.group = Some(1)),
        ("nnnnnnnn", |data| {
            (data.load.service, data.group) = (Service::Uc, Some(1));
        }),
        ("nnnnnnnn", |data| {
            (data.load.service, data.load.duplex) = (Service::Uc, true);
        }),
        // Of a WRITE that may be lost the receiver must know.
        ("nnnnnnny", |data| {
            (data.load.service, data.validate) = (Service::Uc, true);
        }),
        ("nnnnnynn", |data| {
            (data.load.service, data.validate, data.load.imm) = (Service::Uc, true, true);
        }),
        // A sender on an unreliable queue pair does not wait until its WRITE has been compared.
        ("nnnnnnnn", |data| {
            (data.validate, data.load.full, data.load.imm) = (true, true, true);
            data.load.service = Service::Uc;
        }),
        ("nnnnnnnn", |data| {
            (data.validate, data.load.full, data.size) = (true, true, (128 << 10) + 1);
        }),
        ("nnnnnnnn", |data| {
            (data.validate, data.load.full, data.load.postlist) = (true, true, 64);
        }),
    ];
    for (i, (verdicts, change)) in table.into_iter().enumerate() {
        for (test, verdict) in TESTS.into_iter().zip(verdicts.chars()) {
            let mut data = request(test);
            change(&mut data);
            let expected = match verdict {
                'y' => Ok(()),
                _ => Err(Violation::Contradiction),
            };
            assert_eq!(check_request(&data), expected, "{i}: {test:?}");
            data.role = PeerRole::Server;
            assert_eq!(check_request(&data), Err(Violation::Role));
        }
    }
}

#[test]
fn an_answer_that_differs_is_none() {
    let asked = request(Test::WriteBandwidth);
    let answer = PrivateData {
        role: PeerRole::Server,
        ..asked
    };
    assert_eq!(check_answer(&asked, &asked), Err(Violation::Role));
    let same: [fn(&mut PrivateData); 5] = [
        |_| (),
        |data| data.count = 7,
        |data| data.seed = 7,
        |data| data.max_size = 7,
        |data| data.alive_ms = 7,
    ];
    for (i, change) in same.into_iter().enumerate() {
        let mut answer = answer;
        change(&mut answer);
        assert_eq!(check_answer(&asked, &answer), Ok(()), "{i}");
    }
    let other: [fn(&mut PrivateData); 27] = [
        |data| data.test = Test::ReadBandwidth,
        |data| data.mem_mode = MemMode::Reg,
        |data| data.server_inv = true,
        |data| data.read_inv = true,
        |data| data.validate = true,
        |data| data.pattern = PatternKind::Binary,
        |data| data.size = 65,
        |data| data.load.service = Service::Ud,
        |data| data.load.duplex = true,
        |data| data.load.imm = true,
        |data| data.load.inline = true,
        |data| data.load.untimed = true,
        |data| data.load.full = true,
        |data| data.load.sig_all = true,
        |data| data.load.paced = true,
        |data| data.load.solicited = true,
        |data| data.load.qps = 2,
        |data| data.load.postlist = 2,
        |data| data.load.signal_every = 2,
        |data| data.load.sge = 2,
        |data| data.load.mixed = true,
        |data| data.load.buffers = 2,
        |data| data.load.mrs = 2,
        |data| data.group = Some(1),
        |data| data.index = 1,
        |data| data.txdepth = 65,
        |data| data.duration_ms = 1,
    ];
    for (i, change) in other.into_iter().enumerate() {
        let mut answer = answer;
        change(&mut answer);
        assert_eq!(check_answer(&asked, &answer), Err(Violation::Answer), "{i}");
    }
}

#[test]
fn what_only_microbenchmarks_send_is_not_missed_in_other_answers() {
    for test in [Test::PingPong, Test::FastReg] {
        let asked = PrivateData {
            index: 1,
            duration_ms: 1,
            ..request(test)
        };
        let mut answer = PrivateData::decode(&asked.encode()).unwrap().unwrap();
        answer.role = PeerRole::Server;
        assert_eq!(check_answer(&asked, &answer), Ok(()), "{test:?}");
    }
}

fn any_message() -> impl Strategy<Value = Message> {
    let len = prop_oneof![9 => Just(16), 1 => any::<u32>()];
    let size = prop_oneof![8 => Just(64u32), 1 => Just(65), 1 => any::<u32>()];
    let key = option::weighted(0.1, any::<u32>());
    (len, size, key).prop_map(|(len, size, invalidated)| Message {
        len,
        invalidated,
        ..message(size)
    })
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn any_load_that_suits_is_served(data in private_data()) {
        let plain = PrivateData {
            role: PeerRole::Client,
            mem_mode: MemMode::Dma,
            server_inv: false,
            read_inv: false,
            validate: false,
            load: Load { full: false, ..data.load },
            ..data
        };
        prop_assert_eq!(check_request(&plain), Ok(()));
        let answer = PrivateData { role: PeerRole::Server, ..plain };
        prop_assert_eq!(check_answer(&plain, &answer), Ok(()));
    }

    #[test]
    fn no_peer_moves_a_server_beyond_its_buffer(
        messages in vec((any_message(), any::<bool>()), 0..40),
        count in 0u64..8,
    ) {
        let mut server = Server::new(64, count);
        let mut reading = None;
        let mut read = None;
        let mut reads = 0;
        for (message, is_read_done) in messages {
            if is_read_done {
                server.read_done();
                read = reading.take().or(read);
            }
            match server.advertisement(&message) {
                Ok(ServerStep::Read(a)) => {
                    prop_assert!(a.size <= 64 && a.size > 0);
                    prop_assert!(reading.is_none() && read.is_none());
                    reading = Some(a.size);
                    reads += 1;
                }
                Ok(ServerStep::Write(a)) => {
                    prop_assert_eq!(read.take(), Some(a.size), "only what was read is written");
                }
                Err(_) => (),
            }
            prop_assert!(count == 0 || reads <= count);
        }
    }
}
