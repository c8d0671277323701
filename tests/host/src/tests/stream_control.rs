// SPDX-License-Identifier: GPL-2.0

use crate::logic::stream::{
    control::Control,
    immediate::Message,
    violation::Violation,
    Carrier, //
};

fn new() -> Control {
    Control::new(Carrier::Immediate)
}

#[test]
fn each_direction_ends_by_itself() {
    let mut control = new();
    assert!(control.sends() && control.receives() && !control.is_over());
    assert_eq!(control.shut_down(), Some(Message::Shutdown));
    assert_eq!(control.shut_down(), None, "it has been told");
    assert!(!control.sends() && control.receives() && !control.is_over());
    assert!(control.grants(), "the peer still sends");
    assert_eq!(control.check_data(), Ok(()));
    control.peer_shuts_down();
    assert!(control.is_over() && !control.receives());
    assert_eq!(control.disconnect(), None, "there is nobody to tell");

    let mut control = new();
    control.peer_shuts_down();
    assert!(control.sends() && !control.receives() && !control.is_over());
    assert!(!control.grants());
    // The second of the two says so.
    assert_eq!(control.shut_down(), Some(Message::Disconnect));
    assert!(control.is_over() && !control.sends());
}

#[test]
fn a_disconnect_ends_both() {
    for peer in [true, false] {
        let mut control = new();
        if peer {
            control.peer_disconnects();
        } else {
            assert_eq!(control.disconnect(), Some(Message::Disconnect));
        }
        assert!(control.is_over());
        assert!(!control.sends() && !control.receives() && !control.grants());
        assert_eq!((control.shut_down(), control.disconnect()), (None, None));
    }
    // Of a direction that has ended, too.
    let mut control = new();
    assert_eq!(control.shut_down(), Some(Message::Shutdown));
    assert_eq!(control.disconnect(), Some(Message::Disconnect));
}

#[test]
fn a_repeated_end_says_nothing_new() {
    let mut control = new();
    control.peer_shuts_down();
    control.peer_shuts_down();
    assert!(!control.is_over());
    control.peer_disconnects();
    control.peer_shuts_down();
    assert!(control.is_over());
}

#[test]
fn data_behind_the_end_is_refused() {
    let mut control = new();
    control.peer_shuts_down();
    assert_eq!(control.check_data(), Err(Violation::AfterEnd));
    let mut control = new();
    control.peer_disconnects();
    assert_eq!(control.check_data(), Err(Violation::AfterEnd));
    // What is under way when this side ends is not the peer's fault.
    let mut control = new();
    assert!(control.disconnect().is_some());
    assert_eq!(control.check_data(), Ok(()));
}

#[test]
fn messages_have_requests_of_their_own() {
    for (carrier, each) in [(Carrier::Immediate, 1), (Carrier::Send, 2)] {
        let mut control = Control::new(carrier);
        assert!(control.is_idle());
        let mut messages = 0;
        while control.has_room() {
            control.posted(each);
            messages += 1;
        }
        assert_eq!((messages, Control::requests(carrier)), (4, 4 * each));
        assert!(!control.is_idle());
        (0..each).for_each(|_| control.completed());
        assert!(control.has_room());
        (0..100).for_each(|_| control.completed());
        assert!(control.is_idle());
    }
}
