// SPDX-License-Identifier: GPL-2.0

use crate::logic::{
    block::MessageError,
    data::pattern::Mismatch,
    failure::{
        errno,
        Failure,
        Operation, //
    },
    pingpong::Violation,
    wire::{
        PrivateDataError,
        Reject,
        RejectReason, //
    }, //
};

const MISMATCH: Mismatch = Mismatch {
    offset: 1,
    expected: 2,
    found: 3,
    iteration: 4,
    wrong: 5,
};

fn completion(status: u32, op: Operation) -> Failure {
    Failure::Completion {
        status,
        vendor: 0x81,
        op,
        iteration: 17,
    }
}

#[test]
fn each_failure_has_its_errno() {
    let busy = Reject {
        reason: RejectReason::Busy,
        value: 0,
    };
    let table = [
        (Failure::Protocol(Violation::Early, 1), "EPROTO"),
        (Failure::PrivateData(PrivateDataError::Size), "EPROTO"),
        (Failure::Mismatch(MISMATCH), "EBADMSG"),
        (Failure::Message(MessageError::Reserved), "EPROTO"),
        (Failure::Disconnected, "ECONNRESET"),
        (Failure::Replaced, "ECONNRESET"),
        (Failure::OtherStore("the reason"), "ESTALE"),
        (Failure::Busy("the reason"), "EBUSY"),
        (Failure::Kernel("opening the store", -30), "EROFS"),
        (Failure::DeviceRemoved, "ENODEV"),
        (Failure::TimedOut("connecting", 5), "ETIMEDOUT"),
        (Failure::Interrupted, "EINTR"),
        (
            Failure::Rejected(8, "invalid service ID", None),
            "ECONNREFUSED",
        ),
        (
            Failure::Rejected(28, "consumer defined", Some(busy)),
            "ECONNREFUSED",
        ),
        (Failure::Unreachable(-110), "ETIMEDOUT"),
        (Failure::Unreachable(-113), "EHOSTUNREACH"),
        (Failure::Unreachable(0), "ETIMEDOUT"),
        (Failure::Unsupported("the reason"), "EOPNOTSUPP"),
        (Failure::TooLarge(5), "ERANGE"),
        (Failure::AboveReceives(5), "ERANGE"),
        (Failure::Silent(70000, 60000), "ERANGE"),
        (Failure::PeerMismatch, "EBADMSG"),
        (Failure::AboveP99(6, 5), "ERANGE"),
        (Failure::BelowBandwidth(4, 5), "ERANGE"),
        (Failure::StartsLate(6, 5), "ERANGE"),
        (Failure::IntervalAboveP99(6, 5, 100), "ERANGE"),
        (Failure::IntervalBelowBandwidth(4, 5, 100), "ERANGE"),
        (Failure::Unexpected(104), "ERANGE"),
        (completion(10, Operation::Control), "EREMOTEIO"),
        (Failure::Kernel("allocating", -12), "ENOMEM"),
        (Failure::Kernel("allocating", i32::MIN), "unknown"),
        (completion(10, Operation::Read), "EREMOTEIO"),
        (completion(12, Operation::Send), "ETIMEDOUT"),
        (completion(5, Operation::Receive), "ECONNRESET"),
        (completion(1, Operation::Receive), "EPROTO"),
        (completion(4, Operation::Write), "EIO"),
    ];
    for (failure, name) in table {
        let number = failure.errno();
        assert!(number > 0, "{failure:?}");
        assert_eq!(
            errno::name(number).unwrap_or("unknown"),
            name,
            "{failure:?}"
        );
        assert!(failure.to_string().len() > 9, "{failure:?}");
    }
}

#[test]
fn what_disks_meet_is_said() {
    for (failure, sentence) in [
        (
            Failure::Message(MessageError::Tag(7)),
            "the peer sent a message of tag 7, which is out of turn",
        ),
        (Failure::Replaced, "the client has connected anew"),
        (
            Failure::OtherStore("its size is another one"),
            "the disk cannot go on with what the server has now: its size is another one",
        ),
        (Failure::Busy("krping0 is open"), "krping0 is open"),
    ] {
        assert_eq!(failure.to_string(), sentence);
        assert_eq!(failure.rank(), Failure::CAUSE);
        assert!(!failure.is_verdict());
    }
}

#[test]
fn a_completion_error_says_all() {
    let failure = completion(10, Operation::Read).to_string();
    for part in [
        "RDMA READ",
        "iteration 17",
        "remote access error",
        "(10,",
        "0x81",
        "key",
    ] {
        assert!(failure.contains(part), "{failure}: {part}");
    }
}

#[test]
fn an_address_without_a_device_is_said() {
    use crate::logic::failure::{
        BINDING,
        RESOLVING_ADDRESS,
        RESOLVING_ROUTE, //
    };

    for step in [RESOLVING_ADDRESS, RESOLVING_ROUTE, BINDING] {
        let failure = Failure::Kernel(step, -errno::ENODEV);
        let sentence =
            format!("{step} failed with ENODEV: no RDMA device has the address or leads to it");
        assert!(
            failure.needs_another_address() && failure.to_string() == sentence,
            "{failure}"
        );
        let failure = Failure::Kernel(step, -errno::EADDRNOTAVAIL);
        let sentence =
            format!("{step} failed with EADDRNOTAVAIL: this host does not have the address");
        assert!(
            failure.needs_another_address() && failure.to_string() == sentence,
            "{failure}"
        );
        assert!(!Failure::Kernel(step, -errno::ENETUNREACH).needs_another_address());
    }
    let other = Failure::Kernel("finding the device", -errno::ENODEV);
    assert!(!other.needs_another_address() && other.to_string().ends_with("failed with ENODEV"));
    assert!(!Failure::DeviceRemoved.needs_another_address());
    assert!(Failure::NoAddressOfDevice.needs_another_address());
}

#[test]
fn a_step_with_a_usual_cause_says_what_to_do() {
    use crate::logic::failure::{
        BINDING,
        FINDING_INTERFACE,
        LISTENING,
        RESOLVING_ADDRESS, //
    };

    for (step, errno, hint) in [
        (FINDING_INTERFACE, errno::ENODEV, ": see 'ip link'"),
        (
            RESOLVING_ADDRESS,
            errno::ENETUNREACH,
            ": see 'ip route get'",
        ),
        (
            RESOLVING_ADDRESS,
            errno::EHOSTUNREACH,
            ": see 'ip route get'",
        ),
        (BINDING, errno::EADDRINUSE, ": another server has the port;"),
        (
            LISTENING,
            errno::EADDRINUSE,
            ": another server has the port;",
        ),
    ] {
        let text = Failure::Kernel(step, -errno).to_string();
        assert!(text.contains(hint), "{text}");
    }
    let text = Failure::Completion {
        status: 12,
        vendor: 0,
        op: Operation::Write,
        iteration: 0,
    };
    assert!(text.to_string().contains("mtu=1024"), "{text}");
}

#[test]
fn packets_that_are_too_long_for_a_port_explain_what_ends_without_a_cause() {
    use crate::logic::failure::{
        packets::Packets,
        CONNECTING, //
    };

    for path in [256, 1024] {
        assert_eq!(Packets::too_long(path, 1024, false), None);
    }
    for (is_own, whose) in [(false, "the server's port"), (true, "this port")] {
        let packets = Packets::too_long(4096, 1024, is_own).unwrap();
        assert_eq!(
            packets.to_string(),
            format!(
                "packets of 4096 bytes are too long for {whose}, which takes 1024: give the client \
                 mtu=1024, or all interfaces the same MTU"
            )
        );
    }
    for (failure, explained) in [
        (Failure::TimedOut("waiting for the peer", 10), true),
        (Failure::TimedOut(CONNECTING, 10), false),
        (Failure::Disconnected, true),
        (Failure::LegacyDisconnected, true),
        (completion(5, Operation::Write), true),
        (completion(12, Operation::Write), true),
        (completion(10, Operation::Write), false),
        (Failure::Mismatch(MISMATCH), false),
        (Failure::PortDown, false),
        (Failure::Interrupted, false),
    ] {
        assert_eq!(Packets::explain(&failure), explained, "{failure}");
    }
}

#[test]
fn a_start_that_no_peer_waits_for_is_no_verdict() {
    let failure = Failure::StartsLate(6, 5);
    assert!(!failure.is_verdict());
    let sentence = "start_at is 6 ms ahead, and no peer waits longer than the 5 ms of timeout";
    assert_eq!(failure.to_string(), sentence);
}

#[test]
fn what_a_run_should_have_been_is_said() {
    for (failure, sentence) in [
        (
            Failure::AboveP99(6, 5),
            "the 99th percentile is 6 ns, above the 5 ns of max_p99",
        ),
        (
            Failure::BelowBandwidth(4, 5),
            "the bandwidth is 4 bytes per second, below the 5 of min_bw",
        ),
        (
            Failure::IntervalAboveP99(6, 5, 100),
            "the 99th percentile of the interval at 100 ms is 6 ns, above the 5 ns of max_p99",
        ),
        (
            Failure::IntervalBelowBandwidth(4, 5, 100),
            "the bandwidth of the interval at 100 ms is 4 bytes per second, below the 5 of min_bw",
        ),
        (
            Failure::Unexpected(errno::ECONNRESET),
            "the run succeeded, though ECONNRESET was expected",
        ),
        (
            Failure::Unexpected(200),
            "the run succeeded, though errno 200 was expected",
        ),
    ] {
        assert_eq!(failure.to_string(), sentence);
        assert_eq!(failure.rank(), Failure::CAUSE);
        // A run that was to fail has no result of its own.
        assert_eq!(
            failure.is_verdict(),
            !matches!(failure, Failure::Unexpected(_))
        );
    }
}

#[test]
fn errnos_are_found_by_name() {
    assert_eq!(errno::number("ETIMEDOUT"), Some(110));
    assert_eq!((errno::number("ok"), errno::number("")), (None, None));
    for number in 0..200 {
        if let Some(name) = errno::name(number) {
            assert_eq!(errno::number(name), Some(number));
        }
    }
}

#[test]
fn any_status_has_words() {
    for status in (0..30).chain([u32::MAX]) {
        let failure = completion(status, Operation::Register);
        assert!(failure.errno() > 0);
        assert!(failure.to_string().len() > 40, "{failure}");
        assert_eq!(failure.is_consequence(), status == 5);
        assert!(!failure.is_verdict());
    }
}

#[test]
fn what_is_seen_of_the_peer_is_no_cause() {
    for failure in [
        completion(5, Operation::Send),
        Failure::Disconnected,
        Failure::Rejected(28, "consumer defined", None),
    ] {
        assert!(failure.is_of_the_peer(), "{failure}");
    }
    for failure in [
        completion(10, Operation::Send),
        Failure::Kernel("starting a thread", -12),
        Failure::TimedOut("connecting", 5),
        Failure::Interrupted,
        Failure::Cancelled,
    ] {
        assert!(!failure.is_of_the_peer(), "{failure}");
    }
}
