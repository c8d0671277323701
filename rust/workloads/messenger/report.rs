// SPDX-License-Identifier: GPL-2.0

//! The end of a dispatcher's connections, and their result.

#![forbid(unsafe_code)]

use super::{
    dispatcher::Member,
    pool::Pool, //
};
use crate::{
    engine::{
        results::Report,
        session::Session, //
    },
    logic::{
        measure::rate::Rates,
        messenger::figures::MessengerFigures, //
    }, //
};
use kernel::prelude::*;

/// The sum of connections that have ended.
#[derive(Default)]
pub(super) struct Ended {
    connections: u32,
    messages: u64,
    /// The time of the first message and of the last, in nanoseconds.
    times: Option<(u64, u64)>,
    rates: Rates,
}

impl Ended {
    /// Takes the queue pair of a connection down, which has been disconnected, and adds its result.
    /// Completions of the dispatcher's other connections are handled meanwhile. Process context;
    /// sleeps.
    pub(super) fn add(&mut self, member: Member) {
        let Member {
            queue_pair,
            id,
            link,
            ..
        } = member;
        // The peer learns of the end now, and not when its requests fail.
        drop(link);
        // No region is over a block request.
        let connection = queue_pair.end(|_, _| {});
        drop(id);
        let Some(connection) = connection else {
            return;
        };
        let messages = connection.done();
        let (first, last) = connection.times();
        self.connections = self.connections.saturating_add(1);
        self.messages = self.messages.saturating_add(messages);
        self.rates.add(messages, last.saturating_sub(first));
        if first > 0 {
            let (begun, ended) = self.times.unwrap_or((first, last));
            self.times = Some((begun.min(first), ended.max(last)));
        }
    }

    /// [Adds](Self::add) all of `members`, which the device flushes at the same time.
    pub(super) fn add_all(&mut self, members: &mut KVVec<Member>) {
        for member in &*members {
            member.queue_pair.begin_end();
        }
        for member in members.drain_all() {
            self.add(member);
        }
    }

    /// Reports the result of the connections of `pool`, all of which have ended. Process context;
    /// may sleep.
    pub(super) fn conclude(&self, session: &Session, pool: &Pool, report: &Report<'_>) {
        let elapsed_ns = self
            .times
            .map_or(0, |(begun, ended)| ended.saturating_sub(begun));
        let histogram = pool.take_histogram();
        let open_loop = pool.take_open_loop();
        let figures = MessengerFigures {
            connections: self.connections,
            rates: self.rates,
            ..pool.figures()
        };
        session.report(&Report {
            iterations: self.messages,
            elapsed_ns,
            histogram: histogram.as_deref(),
            open_loop: open_loop.as_deref(),
            messenger: Some(&figures),
            ..*report
        });
    }
}
