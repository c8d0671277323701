// SPDX-License-Identifier: GPL-2.0

//! When answers wait for each other, and that none waits for ever.

use super::cases;
use crate::logic::block::joining::Joining;
use proptest::{
    collection::vec,
    prelude::*, //
};

/// The most answers in a message.
const MOST: usize = 8;

/// A server's answers, and what it sends.
#[derive(Default)]
struct Server {
    joining: Joining,
    waiting: usize,
    /// How many SENDs have been posted.
    number: u64,
    /// Those that asked for a completion, and have not completed.
    asked: Vec<u64>,
    /// Answers in each message.
    sent: Vec<usize>,
}

impl Server {
    /// An answer becomes due.
    fn due(&mut self) {
        self.joining.due();
        self.waiting += 1;
        self.go_on();
    }

    fn go_on(&mut self) {
        while self.joining.sends(self.waiting) {
            let count = self.waiting.min(MOST);
            let asked = self.joining.must_ask();
            self.number += 1;
            self.joining.posted(self.number, asked);
            if asked {
                self.asked.push(self.number);
            }
            self.sent.push(count);
            self.waiting -= count;
        }
    }

    /// The first SEND that has asked for its completion completes; whether there was one.
    fn done(&mut self) -> bool {
        let some = !self.asked.is_empty();
        if some {
            let number = self.asked.remove(0);
            self.joining.done(number);
            self.go_on();
        }
        some
    }

    /// So many become due, and what was sent completes.
    fn turn(&mut self, count: usize) -> Vec<usize> {
        self.sent.clear();
        (0..count).for_each(|_| self.due());
        while self.done() {}
        std::mem::take(&mut self.sent)
    }

    /// A server that joins.
    fn busy() -> Self {
        let mut server = Self::default();
        server.turn(24);
        server
    }
}

#[test]
fn one_at_a_time_never_waits_and_seldom_asks() {
    let mut server = Server::default();
    let asked = (0..1000)
        .filter(|_| {
            server.due();
            assert_eq!(server.waiting, 0);
            server.done()
        })
        .count();
    assert_eq!(server.sent, [1; 1000]);
    assert_eq!(asked, 1000 / 16);
}

#[test]
fn two_or_three_at_a_time_do_not_wait_either() {
    for few in 2..=3 {
        let mut server = Server::default();
        for _ in 0..100 {
            assert_eq!(server.turn(few), vec![1; few]);
        }
    }
}

#[test]
fn many_at_a_time_share_messages() {
    for (count, messages) in [
        (4, &[1, 3][..]),
        (5, &[1, 4]),
        (9, &[1, 8]),
        (10, &[1, 8, 1]),
        (16, &[1, 8, 7]),
        (17, &[1, 8, 8]),
        (40, &[1, 8, 8, 8, 8, 7]),
    ] {
        assert_eq!(Server::busy().turn(count), messages, "{count}");
    }
}

#[test]
fn what_is_due_on_the_way_of_one_is_the_next_message() {
    let mut server = Server::busy();
    server.sent.clear();
    server.due();
    for _ in 0..100 {
        for _ in 0..5 {
            server.due();
        }
        assert_eq!(server.waiting, 5);
        assert!(server.done());
        assert_eq!(server.waiting, 0);
    }
    assert_eq!(server.sent[0], 1);
    assert_eq!(server.sent[1..], [5; 100]);
}

#[test]
fn it_ends_when_few_are_due_again_and_again() {
    for few in 1..=3 {
        let mut server = Server::busy();
        let turns: Vec<_> = (0..20).map(|_| server.turn(few)).collect();
        assert!(few < 3 || turns[0] == [1, 2], "{turns:?}");
        assert_eq!(turns[8..], vec![vec![1; few]; 12]);
    }
}

#[test]
fn the_end_of_a_wave_does_not_end_it() {
    let mut server = Server::busy();
    for _ in 0..100 {
        assert_eq!(server.turn(16), [1, 8, 7]);
    }
}

#[test]
fn a_message_that_is_lost_holds_back_no_more_than_one() {
    let mut server = Server::busy();
    server.sent.clear();
    server.due();
    // Its completion does not come.
    for due in 1..100 {
        server.due();
        assert_eq!(server.waiting, due % MOST);
    }
}

#[test]
fn others_that_complete_say_nothing() {
    let mut joining = Joining::default();
    for _ in 0..16 {
        joining.due();
    }
    assert!(joining.must_ask());
    joining.posted(7, true);
    assert!(!joining.must_ask());
    for _ in 0..5 {
        joining.due();
    }
    joining.done(6);
    assert!(joining.sends(1));
    joining.done(8);
    // Now they would wait, for one that is watched.
    assert!(joining.must_ask());
    joining.posted(9, true);
    assert!(!joining.sends(1));
    assert!(joining.sends(MOST));
    joining.done(8);
    assert!(!joining.sends(1));
    joining.done(9);
    assert!(joining.sends(1) && !joining.sends(0));
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn none_waits_without_something_on_its_way(events in vec(any::<bool>(), 0..400)) {
        let mut server = Server::default();
        let mut due = 0;
        for event in events {
            if event {
                due += 1;
                server.due();
            } else {
                server.done();
            }
            prop_assert!(server.waiting < MOST);
            prop_assert!(server.waiting == 0 || !server.asked.is_empty());
            let sent: usize = server.sent.iter().sum();
            prop_assert_eq!(sent + server.waiting, due);
        }
        while server.done() {}
        prop_assert_eq!(server.waiting, 0);
        prop_assert!(server.sent.iter().all(|count| (1..=MOST).contains(count)));
    }
}
