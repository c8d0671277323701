// SPDX-License-Identifier: GPL-2.0

//! What conformance tests demand, and how what was seen is judged and said.

use super::conformance::named;
use crate::logic::{
    conformance::{
        answer::Answer,
        deviation::Deviation,
        observation::{
            Ended,
            Seen,
            State,
            Tally, //
        },
        rule::Fabric,
        trial::{
            Total,
            Trial,
            Tried, //
        },
        Case, //
    },
    failure::{
        errno,
        Failure, //
    }, //
};

const FABRICS: [Fabric; 2] = [Fabric::InfiniBand, Fabric::Iwarp];

fn done(posted: u32) -> Tally {
    Tally {
        posted,
        done: posted,
        ..Tally::default()
    }
}

fn flushed(posted: u32) -> Tally {
    Tally {
        posted,
        flushed: posted,
        ..Tally::default()
    }
}

/// What is seen of a request that did no harm.
fn harmless() -> Seen {
    Seen {
        first: Ended::Status(0),
        after_ms: None,
        rest: done(2),
        receives: done(2),
        receive: None,
        requester: State::RTS,
        responder: State::RTS,
        requester_event: None,
        responder_event: None,
        intact: true,
        ahead: 0,
        works: Some(true),
        destroyed: true,
        tells: true,
    }
}

/// What is seen of a request that failed with `status` at both ends.
fn failed(status: u32) -> Seen {
    Seen {
        first: Ended::Status(status),
        rest: flushed(2),
        receives: flushed(2),
        requester: State::ERROR,
        responder: State::ERROR,
        works: None,
        ..harmless()
    }
}

/// What passes in a case on InfiniBand, as the specification has it.
fn right(case: Case) -> Seen {
    let first = |first| Seen {
        first,
        ..harmless()
    };
    let responder_goes_on = |seen| Seen {
        responder: State::RTS,
        ..seen
    };
    let received = |status, seen| Seen {
        receive: Some(Ended::Status(status)),
        ..seen
    };
    match case.as_str() {
        "srq_drain" | "solicited_error" => Seen {
            requester: State::RTS,
            responder: State::ERROR,
            ..harmless()
        },
        "atomic_misaligned" => failed(9),
        "reg_mr_on_valid" | "reg_mr_of_other_pd" => responder_goes_on(failed(6)),
        "send_too_long" | "send_one_too_long" | "send_imm_too_long" => received(1, failed(9)),
        "send_inv_stale" | "send_inv_closed" => received(9, failed(9)),
        "unsupported_opcode" | "map_over_gap" | "read_without_depth" => {
            first(Ended::Refused(errno::EINVAL))
        }
        "private_data" => first(Ended::Answer(Answer::Came { whole: true })),
        "sq_full" => first(Ended::Refused(errno::ENOMEM)),
        "unanswered" => first(Ended::Answer(Answer::Withdrawn { told: true })),
        "cq_overrun" => Seen {
            first: Ended::Missing,
            rest: Tally {
                posted: 60,
                done: 40,
                ..Tally::default()
            },
            requester_event: Some("CQ error"),
            works: None,
            ..harmless()
        },
        "stale_connection" => Seen {
            first: Ended::Answer(Answer::STALE),
            ..failed(5)
        },
        "port_down" => responder_goes_on(failed(12)),
        "drain" => Seen {
            requester: State::ERROR,
            works: None,
            ..harmless()
        },
        "sends_in_error"
        | "race_requester_error"
        | "race_responder_error"
        | "race_disconnect"
        | "race_bad_key"
        | "race_forbid"
        | "race_invalidate"
        | "race_destroy"
        | "race_atomics" => Seen {
            requester: State::ERROR,
            responder: State::ERROR,
            works: None,
            ..harmless()
        },
        "recv_flushed" | "recv_in_error" => received(5, failed(12)),
        name if name.starts_with("event_of_") => Seen {
            responder_event: Some("QP access error"),
            ..failed(10)
        },
        name if name.starts_with("write_imm_")
            && case.rule(Fabric::InfiniBand).first == [Ended::Status(10)] =>
        {
            received(5, failed(10))
        }
        _ => match (case.family().name, case.rule(Fabric::InfiniBand).first) {
            ("receives", [Ended::Status(11)]) => received(4, failed(11)),
            (_, [Ended::Status(0), ..]) if case.rule(Fabric::InfiniBand).receive.is_empty() => {
                harmless()
            }
            (_, [Ended::Status(0), ..]) => received(0, harmless()),
            ("local_memory" | "unsignaled", [Ended::Status(4)]) => responder_goes_on(failed(4)),
            (_, [Ended::Status(13)]) => responder_goes_on(failed(13)),
            (_, [Ended::Status(12)]) => failed(12),
            ("states", [Ended::Status(5)]) => failed(5),
            ("rights", [Ended::Status(9), ..]) => failed(9),
            (_, [Ended::Status(10)]) => failed(10),
            other => panic!("{case:?}: nothing is right for {other:?}"),
        },
    }
}

#[track_caller]
fn deviates(case: Case, fabric: Fabric, seen: &Seen, expected: &[Deviation]) {
    let found = case.rule(fabric).judge(seen, true);
    assert_eq!(
        found.is_empty(),
        expected.is_empty(),
        "{case:?}: {found} of {seen}"
    );
    for deviation in expected {
        assert!(found.has(*deviation), "{case:?}: {found} of {seen}");
    }
}

#[test]
fn a_race_ends_each_request_as_it_may() {
    let case = named("race_bad_key");
    let good = right(case);
    for (change, expected) in [
        (
            Tally {
                other: 1,
                posted: 3,
                ..done(2)
            },
            Deviation::Rest,
        ),
        (
            Tally {
                posted: 3,
                ..done(2)
            },
            Deviation::Rest,
        ),
        (
            Tally {
                repeated: 1,
                ..done(2)
            },
            Deviation::Repeated,
        ),
    ] {
        let seen = Seen {
            rest: change,
            ..good
        };
        deviates(case, Fabric::InfiniBand, &seen, &[expected]);
    }
    let receives = Tally {
        other: 1,
        posted: 3,
        ..done(2)
    };
    deviates(
        case,
        Fabric::InfiniBand,
        &Seen { receives, ..good },
        &[Deviation::Rest],
    );
    for (status, expected) in [(10, &[][..]), (12, &[]), (13, &[Deviation::First])] {
        let first = Ended::Status(status);
        deviates(case, Fabric::InfiniBand, &Seen { first, ..good }, expected);
    }
}

#[test]
fn sums_of_all_times() {
    let mut total = Total::default();
    total.add(&harmless());
    total.add(&failed(10));
    let sum = Tally {
        posted: 4,
        done: 2,
        flushed: 2,
        ..Tally::default()
    };
    assert_eq!((total.times, total.requests, total.receives), (2, sum, sum));
}

#[test]
fn what_is_specified_passes() {
    for case in Case::all() {
        deviates(case, Fabric::InfiniBand, &right(case), &[]);
    }
}

#[test]
fn every_demand_is_said() {
    for fabric in FABRICS {
        for case in Case::all() {
            let rule = case.rule(fabric);
            assert!(!rule.text.is_empty() && !rule.first.is_empty(), "{case:?}");
            assert!(!rule.text.contains("  "), "{case:?}: {}", rule.text);
        }
    }
}

#[test]
fn an_access_that_was_not_refused_fails_everywhere() {
    for name in ["read_of_write_only", "reg_mr_on_valid", "stale_lkey", "rnr"] {
        let case = named(name);
        for fabric in FABRICS {
            if (name, fabric) == ("rnr", Fabric::Iwarp) {
                continue;
            }
            deviates(case, fabric, &harmless(), &[Deviation::First]);
        }
    }
    // On iWARP such a WRITE may be done here before it is refused there; but then the
    // connection ends.
    for name in [
        "stale_rkey",
        "write_of_read_only",
        "length_past_mr",
        "wrong_pd",
        "invalidated_mr",
        "write_before_mr",
        "write_wraps",
    ] {
        let case = named(name);
        deviates(case, Fabric::InfiniBand, &harmless(), &[Deviation::First]);
        let states = [Deviation::Requester, Deviation::Responder];
        deviates(case, Fabric::Iwarp, &harmless(), &states);
        let ended = Seen {
            rest: done(2),
            ..failed(0)
        };
        deviates(case, Fabric::Iwarp, &ended, &[]);
    }
}

#[test]
fn the_status_is_that_of_the_case() {
    for (case, status) in [
        (named("stale_rkey"), 9),
        (named("stale_rkey"), 5),
        (named("send_too_long"), 10),
        (named("rnr"), 12),
        (named("retry_exhausted"), 13),
        (named("stale_lkey"), 2),
        (named("zero_length"), 10),
    ] {
        let seen = Seen {
            first: Ended::Status(status),
            ..right(case)
        };
        deviates(case, Fabric::InfiniBand, &seen, &[Deviation::First]);
    }
    for first in [
        Ended::Refused(errno::EINVAL),
        Ended::Status(0),
        Ended::Missing,
    ] {
        let seen = Seen {
            first,
            ..harmless()
        };
        deviates(
            named("sq_full"),
            Fabric::InfiniBand,
            &seen,
            &[Deviation::First],
        );
    }
}

#[test]
fn each_part_of_what_was_seen_counts() {
    let case = named("stale_rkey");
    let ok = right(case);
    let tally = |rest| Seen { rest, ..ok };
    for (seen, deviation) in [
        (tally(done(2)), Deviation::Rest),
        (
            tally(Tally {
                posted: 3,
                ..flushed(2)
            }),
            Deviation::Rest,
        ),
        (
            tally(Tally {
                disordered: 1,
                ..flushed(2)
            }),
            Deviation::Order,
        ),
        (
            tally(Tally {
                repeated: 1,
                ..flushed(2)
            }),
            Deviation::Repeated,
        ),
        (
            Seen {
                requester: State::RTS,
                ..ok
            },
            Deviation::Requester,
        ),
        (
            Seen {
                responder: State::RTS,
                ..ok
            },
            Deviation::Responder,
        ),
        (
            Seen {
                intact: false,
                ..ok
            },
            Deviation::Memory,
        ),
        (
            Seen {
                works: Some(false),
                ..ok
            },
            Deviation::Works,
        ),
    ] {
        deviates(case, Fabric::InfiniBand, &seen, &[deviation]);
    }
    // Receives that came in another order count as well.
    let receives = Tally {
        disordered: 1,
        ..flushed(2)
    };
    let seen = Seen { receives, ..ok };
    deviates(case, Fabric::InfiniBand, &seen, &[Deviation::Order]);
    let found = case.rule(Fabric::InfiniBand).judge(&ok, false);
    assert!(found.has(Deviation::Recovery));
}

#[test]
fn receives_count_where_the_case_is_about_them() {
    let lost = Tally {
        posted: 8,
        ..flushed(7)
    };
    for case in [named("flush_order"), named("drain")] {
        for fabric in FABRICS {
            let seen = Seen {
                receives: lost,
                ..right(case)
            };
            deviates(case, fabric, &seen, &[Deviation::Receives]);
        }
    }
    let seen = Seen {
        receives: lost,
        ..right(named("stale_lkey"))
    };
    deviates(named("stale_lkey"), Fabric::InfiniBand, &seen, &[]);
    let seen = Seen {
        receive: Some(Ended::Status(9)),
        ..right(named("send_too_long"))
    };
    let expected = [Deviation::Receive];
    deviates(named("send_too_long"), Fabric::InfiniBand, &seen, &expected);
}

#[test]
fn what_follows_depends_on_how_the_request_ended() {
    let case = named("double_invalidate");
    for status in [2, 4, 6] {
        let seen = Seen {
            responder: State::RTS,
            ..failed(status)
        };
        deviates(case, Fabric::InfiniBand, &seen, &[]);
        let seen = Seen {
            requester: State::RTS,
            ..seen
        };
        let expected = [Deviation::Requester];
        deviates(case, Fabric::InfiniBand, &seen, &expected);
    }
    let seen = Seen {
        rest: flushed(2),
        requester: State::ERROR,
        ..harmless()
    };
    let expected = [Deviation::Rest, Deviation::Requester];
    deviates(case, Fabric::InfiniBand, &seen, &expected);
    let rule = case.rule(Fabric::InfiniBand);
    assert!(rule.goes_on(Ended::Status(0)) && !rule.goes_on(Ended::Status(6)));
    assert!(!named("drain").rule(Fabric::Iwarp).goes_on(Ended::Status(0)));
}

#[test]
fn a_device_may_serve_itself_without_its_port_or_give_up() {
    let case = named("port_down");
    deviates(case, Fabric::InfiniBand, &harmless(), &[]);
    let gone = Seen {
        responder: State::ERROR,
        ..right(case)
    };
    deviates(case, Fabric::InfiniBand, &gone, &[]);
    let unsaid = Seen {
        first: Ended::Status(5),
        ..right(case)
    };
    deviates(case, Fabric::InfiniBand, &unsaid, &[Deviation::First]);
    let silent = Seen {
        first: Ended::Missing,
        rest: Tally {
            posted: 2,
            ..Tally::default()
        },
        requester: State::RTS,
        ..right(case)
    };
    let expected = [Deviation::First, Deviation::Rest, Deviation::Requester];
    deviates(case, Fabric::InfiniBand, &silent, &expected);
    let undone = Seen {
        rest: flushed(2),
        ..harmless()
    };
    deviates(case, Fabric::InfiniBand, &undone, &[Deviation::Rest]);
    let broken = trial(
        case,
        Tried::Done(right(case), Some(Failure::ManagementDead)),
    );
    assert!(broken.failed());
    assert_eq!(broken.reason().to_string(), "no new connection works");
    assert!(broken.seen().to_string().ends_with(
        "; a new connection does not work: the device's connection management does \
                    not answer; recreate it ('rdma link del', 'rdma link add')"
    ));
}

#[test]
fn a_loss_must_be_told() {
    let case = named("cq_overrun");
    let silent = Seen {
        requester_event: None,
        ..right(case)
    };
    deviates(case, Fabric::InfiniBand, &silent, &[Deviation::Rest]);
    let in_error = Seen {
        requester: State::ERROR,
        ..silent
    };
    deviates(case, Fabric::InfiniBand, &in_error, &[]);
    // One that holds more than it says.
    deviates(case, Fabric::InfiniBand, &harmless(), &[]);
    let event = Seen {
        requester_event: Some("CQ error"),
        ..harmless()
    };
    let expected = [Deviation::Event];
    deviates(named("cq_exact"), Fabric::InfiniBand, &event, &expected);
}

fn trial(case: Case, tried: Tried) -> Trial {
    Trial {
        case,
        fabric: Fabric::InfiniBand,
        tried,
        total: Total::default(),
    }
}

#[test]
fn a_pass_in_words() {
    let trial = trial(
        named("stale_rkey"),
        Tried::Done(
            Seen {
                responder_event: Some("local access violation"),
                ..failed(10)
            },
            None,
        ),
    );
    assert_eq!((trial.outcome(), trial.failed()), ("pass", false));
    assert_eq!(
        trial.to_string(),
        "neg stale_rkey: pass: remote access error (10); requester ERR, responder ERR; event at \
         the responder: local access violation; other requests: 2 posted, 2 flushed; receives: 2 \
         posted, 2 flushed; a new connection works"
    );
    assert_eq!(trial.reason().to_string(), "");
}

#[test]
fn a_fail_in_words() {
    let seen = Seen {
        intact: false,
        works: Some(false),
        rest: Tally {
            posted: 5,
            done: 1,
            flushed: 1,
            other: 1,
            disordered: 1,
            repeated: 1,
        },
        receive: Some(Ended::Missing),
        responder: State(9),
        ..harmless()
    };
    let trial = trial(
        named("wrong_pd"),
        Tried::Done(seen, Some(Failure::WrongData("the READ"))),
    );
    assert_eq!((trial.outcome(), trial.failed()), ("fail", true));
    assert_eq!(
        trial.seen().to_string(),
        "success (0); receive: no completion; requester RTS, responder unknown (9); other \
         requests: 5 posted, 1 done, 1 flushed, 1 failed, 2 not completed, 1 out of order, \
         1 twice; receives: 2 posted, 2 done; memory changed; does not go on; a new connection \
         does not work: the READ did not bring the data that was sent"
    );
    assert_eq!(
        trial.reason().to_string(),
        "how the request ended; how the requester's other requests ended; the order of \
         completions; something completed twice; the requester's state; the responder's state; \
         memory is not as it must be; the connection does not go on; no new connection works"
    );
    let line = trial.to_string();
    assert!(line.starts_with("neg wrong_pd: fail: success (0); "));
    assert!(line.ends_with(&format!("; expected: {}", trial.rule().text)));
}

#[test]
fn what_was_not_tried_in_words() {
    let broken = trial(named("rnr"), Tried::Broken(Failure::DeviceRemoved));
    assert_eq!((broken.outcome(), broken.skipped()), ("fail", false));
    assert_eq!(broken.seen().to_string(), "the RDMA device was removed");
    assert_eq!(broken.reason().to_string(), "it could not be tried");
    let skipped = trial(named("cq_overrun"), Tried::Skipped("too large"));
    assert_eq!((skipped.outcome(), skipped.failed()), ("skip", false));
    assert_eq!(skipped.to_string(), "neg cq_overrun: skip: too large");
    assert_eq!(skipped.seen().to_string(), "");
    assert_eq!(skipped.reason().to_string(), "too large");
}

#[test]
fn a_request_that_nobody_answers_can_be_withdrawn_or_times_out() {
    let answers = [
        Answer::Silent,
        Answer::Withdrawn { told: true },
        Answer::Withdrawn { told: false },
        Answer::Accepted,
        Answer::Rejected(28),
        Answer::Unreachable(errno::ETIMEDOUT),
        Answer::Unreachable(errno::ENOMEM),
        Answer::Failed(errno::ETIMEDOUT),
    ];
    for (fabric, right) in [
        (Fabric::InfiniBand, Answer::Withdrawn { told: true }),
        (Fabric::Iwarp, Answer::Unreachable(errno::ETIMEDOUT)),
    ] {
        for answer in answers {
            let seen = Seen {
                first: Ended::Answer(answer),
                ..harmless()
            };
            let expected: &[Deviation] = match answer == right {
                true => &[],
                false => &[Deviation::First],
            };
            deviates(named("unanswered"), fabric, &seen, expected);
        }
    }
    let other_ended = Seen {
        requester: State::ERROR,
        works: None,
        ..right(named("unanswered"))
    };
    let expected = [Deviation::Requester];
    deviates(
        named("unanswered"),
        Fabric::InfiniBand,
        &other_ended,
        &expected,
    );
}

#[test]
fn both_sides_of_a_stale_connection_end() {
    let case = named("stale_connection");
    for (seen, deviation) in [
        (
            Seen {
                first: Ended::Answer(Answer::Rejected(28)),
                ..right(case)
            },
            Deviation::First,
        ),
        (
            Seen {
                requester: State::RTS,
                ..right(case)
            },
            Deviation::Requester,
        ),
        (
            Seen {
                responder: State::RTS,
                ..right(case)
            },
            Deviation::Responder,
        ),
    ] {
        deviates(case, Fabric::InfiniBand, &seen, &[deviation]);
    }
}

#[test]
fn answers_in_words() {
    for (failure, text) in [
        (
            Failure::Rejected(10, "stale conn", None),
            "rejected as a stale connection",
        ),
        (
            Failure::Rejected(28, "consumer defined", None),
            "rejected for reason 28",
        ),
        (
            Failure::Rejected(-errno::ECONNREFUSED, "", None),
            "rejected with ECONNREFUSED",
        ),
        (
            Failure::Unreachable(-errno::ETIMEDOUT),
            "unreachable: ETIMEDOUT",
        ),
        (Failure::Unreachable(-4095), "unreachable: errno 4095"),
        (Failure::DeviceRemoved, "failed with ENODEV"),
    ] {
        let seen = Seen {
            first: Ended::Answer(failure.into()),
            after_ms: Some(12),
            ..harmless()
        };
        let seen = seen.to_string();
        let expected = format!("{text} after 12 ms; requester RTS, responder RTS; ");
        assert!(seen.starts_with(&expected), "{seen}");
    }
    let silent = Ended::Answer(Answer::Silent);
    assert_eq!(silent.to_string(), "no answer");
    assert_eq!(Answer::Accepted.to_string(), "accepted");
}

#[test]
fn the_end_of_a_command_with_deviations() {
    let failure = Failure::Deviates(2, 19);
    assert_eq!(failure.errno(), errno::EBADE);
    assert_eq!(errno::name(failure.errno()), Some("EBADE"));
    assert!(failure.is_verdict());
    assert_eq!(
        failure.to_string(),
        "the device did not do as expected in 2 of 19 conformance tests"
    );
    let refused = Ended::Refused(4095);
    assert_eq!(refused.to_string(), "refused with errno 4095");
}
