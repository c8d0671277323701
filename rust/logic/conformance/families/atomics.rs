// SPDX-License-Identifier: GPL-2.0

//! Atomic operations.

use super::super::{
    observation::Ended::{
        Refused,
        Status, //
    },
    row::{
        Need,
        Row, //
    },
    rule::{
        RestRule,
        Rule,
        StateRule,
        LOC_QP_OP,
        REM_INV_REQ, //
    },
    steps::{
        Memory::{
            Counted,
            Swapped,
            Untouched, //
        },
        Op::{
            CompareOther,
            CompareSwap,
            MaskedSwap, //
        },
        Request,
        Rights::{
            Atomic,
            Both, //
        },
        Step::{
            Do,
            Open, //
        }, //
    }, //
};
use crate::logic::failure::errno;

const SOURCE: &str = "IBA chapter 9 (atomic operations)";
const ALIGNED: &str = "IBA chapter 9: the address of an atomic operation is a multiple of 8";

/// Number of bytes by which an address is made one that no word of 8 bytes may have.
const MISALIGNED: i64 = 4;

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "atomic_misaligned",
        "fetch-and-add at an address that is not a multiple of 8",
        &[Open(Atomic)],
        Request::add().at(MISALIGNED),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(
        // The side that posts it may look at the address as well.
        Rule {
            text: "refused with EINVAL, and the connection goes on; or remote invalid request \
                   error, both queue pairs in error, later requests flushed; memory unchanged",
            first: &[Refused(errno::EINVAL), Status(REM_INV_REQ)],
            rest: RestRule::Follows,
            requester: StateRule::Follows,
            responder: StateRule::Follows,
            ..Rule::REMOTE_ACCESS
        },
        Rule::TERMINATED,
        ALIGNED,
    ),
    Row::steps(
        "unsupported_opcode",
        "an operation that the device does not claim to support",
        &[Open(Both)],
        Request::new(MaskedSwap, 8),
        Untouched,
    )
    .need(Need::NoMaskedAtomics)
    .rule(
        Rule {
            text: "refused with EINVAL or EOPNOTSUPP, and the connection goes on; or an error and \
                   the queue pair in error, later requests flushed",
            first: &[
                Refused(errno::EINVAL),
                Refused(errno::EOPNOTSUPP),
                Status(LOC_QP_OP),
                Status(REM_INV_REQ),
            ],
            ..Rule::LOCAL_ERROR
        },
        "kernel: masked_atomic_cap; IBA chapter 9 (invalid request)",
    ),
    Row::steps(
        "fetch_and_add",
        "fetch-and-add of 1",
        &[Open(Atomic)],
        Request::add(),
        Counted(1, 0),
    )
    .need(Need::Atomics)
    .rule(Rule::HARMLESS, SOURCE),
    Row::steps(
        "fetch_and_add_again",
        "fetch-and-add of 1 behind another one",
        &[Open(Atomic), Do(Request::add())],
        Request::add(),
        Counted(2, 1),
    )
    .need(Need::Atomics)
    .rule(Rule::HARMLESS, SOURCE),
    Row::steps(
        "compare_and_swap",
        "compare-and-swap of the number that is there",
        &[Open(Atomic)],
        Request::new(CompareSwap, 8),
        Swapped,
    )
    .need(Need::Atomics)
    .rule(Rule::HARMLESS, SOURCE),
    Row::steps(
        "compare_and_swap_other",
        "compare-and-swap of a number that is not there",
        &[Open(Atomic)],
        Request::new(CompareOther, 8),
        Counted(0, 0),
    )
    .need(Need::Atomics)
    .rule(Rule::HARMLESS, SOURCE),
];
