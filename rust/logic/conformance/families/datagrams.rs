// SPDX-License-Identifier: GPL-2.0

//! Datagrams.

use super::super::{
    observation::Ended::Status,
    row::{
        Need,
        Row,
        Wants, //
    },
    rule::{
        Rule,
        OK, //
    },
    special::Special, //
};

const TRANSPORT: &str = "IBA chapter 9: a packet of another transport service than its queue \
                         pair's is silently dropped";

/// The rule for datagrams that nobody may receive.
const LOST: Rule = Rule {
    text: "success, and the datagram arrives nowhere; the connection goes on",
    ..Rule::HARMLESS
};

/// Makes a case of a datagram that nobody may receive.
const fn lost(
    name: &'static str,
    does: &'static str,
    special: Special,
    source: &'static str,
) -> Row {
    Row::special(name, does, special)
        .wants(Wants::LONG)
        .need(Need::Datagrams)
        .rule(LOST, source)
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    lost(
        "ud_bad_qkey",
        "a datagram to a queue pair with another Q_Key",
        Special::UdBadQkey,
        "IBA chapters 9 and 10 (Q_Keys)",
    ),
    lost(
        "ud_bad_ah",
        "a datagram to an address that nobody has",
        Special::UdBadAh,
        "IBA annex A17 (RoCEv2: the destination is an IP address)",
    ),
    lost(
        "ud_unknown",
        "a datagram to the number of a queue pair that nobody has",
        Special::UdUnknown,
        "IBA chapter 9: a packet for a queue pair that does not exist is silently dropped",
    ),
    lost(
        "ud_to_connection",
        "a datagram to the queue pair of a connection",
        Special::UdToConnection,
        TRANSPORT,
    ),
    Row::special(
        "connection_to_ud",
        "SEND of a connection to a queue pair for datagrams",
        Special::ConnectionToUd,
    )
    .wants(Wants::DATAGRAMS)
    .need(Need::Datagrams)
    .rule(Rule::NO_ANSWER, TRANSPORT),
    lost(
        "ud_above_mtu",
        "a datagram that is longer than a packet",
        Special::UdAboveMtu,
        "IBA chapter 9: a datagram is one packet",
    ),
    Row::special(
        "ud_short_receive",
        "a datagram that is longer than its receive, and then one that fits",
        Special::UdShortReceive,
    )
    .wants(Wants::LONG)
    .need(Need::Datagrams)
    .rule(
        Rule {
            text: "success; the datagram that is too long is dropped, and the next one arrives in \
                   that receive; the connection goes on",
            receive: &[Status(OK)],
            ..Rule::HARMLESS
        },
        "IBA chapter 9: a datagram of an invalid length is silently dropped",
    ),
    Row::special(
        "ud_multicast",
        "a datagram to a multicast group that two queue pairs are attached to",
        Special::UdMulticast,
    )
    .need(Need::Multicast)
    .rule(
        Rule {
            text: "success, and each of the two receives the datagram; the connection goes on",
            receive: &[Status(OK)],
            ..Rule::HARMLESS
        },
        "IBA chapter 10 (multicast: each queue pair that is attached receives a copy)",
    ),
];
