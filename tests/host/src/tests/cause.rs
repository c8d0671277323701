// SPDX-License-Identifier: GPL-2.0

//! Orders of events at the end of a connection or a command, and the cause that comes of them.

use crate::logic::{
    failure::{
        cause::{
            ConnectionEnd,
            Known,
            SessionEnd, //
        },
        errno::{
            EINVAL,
            ENOMEM, //
        },
        Failure,
        Operation, //
    },
    pingpong::Violation, //
};

const FLUSHED: Failure = completion(5);
const RETRIES: Failure = completion(12);
const BROKEN: Failure = Failure::Protocol(Violation::Empty, 3);

const fn completion(status: u32) -> Failure {
    Failure::Completion {
        status,
        vendor: 0,
        op: Operation::Send,
        iteration: 1,
    }
}

/// Returns how a connection is known to have ended after `events`.
fn end(events: &[Failure]) -> ConnectionEnd {
    let mut end = ConnectionEnd::default();
    for event in events {
        end.fail(*event);
    }
    end
}

/// A failure as far as tests compare it.
fn name(failure: Failure) -> String {
    failure.to_string()
}

fn is(found: Option<Failure>, expected: Failure) {
    assert_eq!(found.map(name), Some(name(expected)));
}

/// Every order of `events`.
fn orders(events: &[Failure]) -> Vec<Vec<Failure>> {
    if events.is_empty() {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let mut rest = events.to_vec();
        rest.remove(i);
        for mut order in orders(&rest) {
            order.insert(0, *event);
            all.push(order);
        }
    }
    all
}

#[test]
fn a_cause_is_found_in_every_order_of_what_follows_from_it() {
    let causes = [
        RETRIES,
        BROKEN,
        Failure::DeviceRemoved,
        Failure::Interrupted,
        Failure::TimedOut("waiting", 1),
        Failure::PortDown,
    ];
    for cause in causes {
        for order in orders(&[cause, FLUSHED, FLUSHED, Failure::Disconnected]) {
            let end = end(&order);
            is(end.failure(), cause);
            assert_eq!(end.known(), Known::Settled);
        }
    }
}

#[test]
fn the_first_of_two_causes_is_kept() {
    for (first, second) in [
        (RETRIES, BROKEN),
        (BROKEN, RETRIES),
        (Failure::DeviceRemoved, Failure::Interrupted),
        (Failure::Interrupted, Failure::DeviceRemoved),
    ] {
        is(end(&[FLUSHED, first, second]).failure(), first);
    }
}

#[test]
fn a_consequence_alone_may_still_meet_its_cause() {
    assert_eq!(ConnectionEnd::default().known(), Known::Nothing);
    for order in orders(&[FLUSHED, Failure::Disconnected]) {
        let end = end(&order);
        // A disconnect says more than the requests that it flushes.
        is(end.failure(), Failure::Disconnected);
        assert_eq!(end.known(), Known::Consequence);
    }
    assert_eq!(end(&[FLUSHED]).known(), Known::Consequence);
}

#[test]
fn what_comes_after_the_work_is_done_is_no_failure() {
    for event in [
        FLUSHED,
        RETRIES,
        Failure::Disconnected,
        Failure::DeviceRemoved,
    ] {
        let mut end = ConnectionEnd::default();
        end.finish();
        end.fail(event);
        assert!(end.failure().is_none());
        assert_eq!(end.known(), Known::Settled);
    }
    // A failure that was there before stays one.
    let mut end = end(&[FLUSHED]);
    end.finish();
    is(end.failure(), FLUSHED);
    assert_eq!(end.known(), Known::Settled);
}

#[test]
fn a_disconnect_that_overtakes_the_last_completion_is_no_failure() {
    let mut overtaken = end(&[Failure::Disconnected]);
    is(overtaken.failure(), Failure::Disconnected);
    assert_eq!(overtaken.known(), Known::Consequence);
    overtaken.release();
    overtaken.finish();
    assert!(overtaken.failure().is_none());
    assert_eq!(overtaken.known(), Known::Settled);
    assert!(overtaken.is_released());
}

#[test]
fn the_end_waits_for_the_peer_until_it_knows_or_cannot() {
    assert!(!end(&[]).is_released());
    assert!(!end(&[RETRIES]).is_released());
    // A signal that is the cause does not keep the peer from being told; the next one does.
    assert!(!end(&[Failure::Interrupted]).is_released());
    assert!(end(&[Failure::Interrupted, Failure::Interrupted]).is_released());
    assert!(end(&[RETRIES, Failure::Interrupted]).is_released());
    assert!(end(&[Failure::DeviceRemoved]).is_released());
    assert!(end(&[RETRIES, Failure::DeviceRemoved]).is_released());
    let mut told = end(&[]);
    told.release();
    assert!(told.is_released());
    let mut done = end(&[]);
    done.finish();
    done.fail(Failure::Interrupted);
    assert!(done.is_released());
}

#[test]
fn a_call_fails_because_of_what_was_reported() {
    let call = |number: i32| Failure::Kernel("accepting", -number);
    let cause_of =
        |events: &[Failure], failure| end(events).cause_of(failure).map(name).map_err(name);
    assert_eq!(cause_of(&[], call(EINVAL)), Ok(name(call(EINVAL))));
    assert_eq!(
        cause_of(&[Failure::DeviceRemoved], call(EINVAL)),
        Ok(name(Failure::DeviceRemoved))
    );
    // Want of memory is nobody's doing, and what was flushed follows from it.
    assert_eq!(cause_of(&[FLUSHED], call(ENOMEM)), Ok(name(call(ENOMEM))));
    // What a thread says itself is said.
    assert_eq!(cause_of(&[FLUSHED], BROKEN), Ok(name(BROKEN)));
}

#[test]
fn a_disconnect_waits_for_what_it_overtook() {
    let gone = Failure::Disconnected;
    for events in [&[][..], &[FLUSHED], &[gone]] {
        assert_eq!(
            end(events).cause_of(gone).map(name).map_err(name),
            Err(name(gone))
        );
    }
    for cause in [
        RETRIES,
        BROKEN,
        Failure::Interrupted,
        Failure::DeviceRemoved,
    ] {
        for order in orders(&[cause, gone]) {
            assert_eq!(end(&order).cause_of(gone).map(name).ok(), Some(name(cause)));
        }
    }
}

/// Returns the failure of a command whose threads fail so.
fn session(events: &[Failure], both_sides: bool) -> Option<Failure> {
    let mut end = SessionEnd::default();
    for event in events {
        end.fail(*event, both_sides);
    }
    end.failure()
}

#[test]
fn a_loopback_names_what_its_other_side_saw_the_end_of() {
    let rejected = Failure::Rejected(28, "consumer defined", None);
    for seen in [Failure::Disconnected, FLUSHED, rejected] {
        for cause in [BROKEN, RETRIES, Failure::PeerMismatch] {
            for order in orders(&[seen, cause]) {
                is(session(&order, true), cause);
            }
            // Of one side alone it is all that is known.
            is(session(&[seen, cause], false), seen);
        }
        // That all others end is no cause.
        is(session(&[seen, Failure::Cancelled], true), seen);
    }
    is(session(&[BROKEN, RETRIES], true), BROKEN);
}

#[test]
fn after_a_signal_all_that_threads_see_is_the_signal() {
    for event in [
        FLUSHED,
        RETRIES,
        Failure::Disconnected,
        Failure::Cancelled,
        BROKEN,
    ] {
        let mut end = SessionEnd::default();
        assert_eq!(
            name(end.cancel(Failure::Interrupted)),
            name(Failure::Interrupted)
        );
        end.fail(event, false);
        is(end.failure(), Failure::Interrupted);
    }
    // But a run that came to its end has been judged.
    let mut end = SessionEnd::default();
    end.cancel(Failure::Interrupted);
    end.fail(Failure::AboveP99(2, 1), false);
    is(end.failure(), Failure::AboveP99(2, 1));
}

#[test]
fn threads_are_told_what_came_first() {
    let mut end = SessionEnd::default();
    assert!(end.cancelled().is_none());
    assert_eq!(
        name(end.cancel(Failure::Cancelled)),
        name(Failure::Cancelled)
    );
    assert_eq!(
        name(end.cancel(Failure::Interrupted)),
        name(Failure::Cancelled)
    );
    is(end.cancelled(), Failure::Cancelled);
}
