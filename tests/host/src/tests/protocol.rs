// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::{
    protocol::{Client, ClientStep, Message, Server, ServerStep, Violation},
    wire::Advertisement,
};
use proptest::{collection::vec, option, prelude::*};

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
        Violation::Empty,
        Violation::TooLarge(2, 1),
        Violation::SizeChanged(2, 1),
        Violation::Early,
        Violation::NotInvalidated(1),
        Violation::Unasked(1),
        Violation::WrongKey(1, 2),
        Violation::PastEnd,
    ] {
        let sentence = format!("the peer {violation}");
        assert!(sentence.len() > 25, "{sentence}");
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
