// SPDX-License-Identifier: GPL-2.0

//! The order in which requests take effect.

use super::super::{
    row::{
        Need,
        Row,
        Wants, //
    },
    rule::Rule,
    special::Special, //
};

const SOURCE: &str = "IBA chapters 9 and 10 (ordering rules)";

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::special(
        "reads_beyond_depth",
        "more READs than the connection allows at a time",
        Special::ReadsBeyondDepth,
    )
    .wants(Wants {
        times: 4,
        ..Wants::LONG
    })
    .rule(
        Rule {
            text:
                "success of all READs, of which no more than the connection allows are under way \
                   at a time; the connection goes on",
            ..Rule::HARMLESS
        },
        "IBA chapters 9 and 11 (initiator depth)",
    ),
    Row::special(
        "read_after_write",
        "READ of memory that a WRITE before it fills",
        Special::ReadAfterWrite,
    )
    .rule(
        Rule {
            text: "success, and the READ brings the WRITE's data; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    Row::special(
        "read_fence",
        "SEND of what a READ before it brings, with a fence between them",
        Special::ReadFence,
    )
    .wants(Wants::LONG)
    .rule(
        Rule {
            text: "success, and the message is what the READ has brought; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    Row::special(
        "write_then_flag",
        "WRITE of a flag behind a WRITE of data, to memory that the responder watches",
        Special::WriteThenFlag,
    )
    .wants(Wants::LONG)
    .need(Need::NotIwarp(
        "iWARP places what arrives in any order until a receive completes",
    ))
    .rule(
        Rule {
            text: "success, and whoever sees the flag sees the data; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
];
