// SPDX-License-Identifier: GPL-2.0

//! Runs commands: their sessions, threads, connections and results.
//!
//! The engine knows no workload by name. It looks the [`entry::Entry`] of a command's test up in
//! the table that the module hands to [`begin`], and drives what the entry makes through
//! traits: [`workload::Workload`], [`side::Side`], [`side::Lead`], [`side::Follow`], and
//! [`connect::Initiator`] and [`accept::Responder`] for the steps of a connection.
//!
//! Commands:
//!
//! - [`begin`] - the entrance: finds the entry, and begins the command
//! - [`session`] - a command with its threads, its cancellation and its end; [`start`] starts them
//! - [`worker`] - a thread as others see it: its line in `/proc/krping`, its cancellation
//! - [`registry`] - all threads, all results, all failed commands, what others keep
//! - [`errors`] - the failed commands, for people, with [`advice`]
//! - [`allowance`] - what the peers of a command may take: silence, memory
//! - [`restart`] - commands whose `write()` the kernel restarts
//! - [`destroying`] - destruction with a deadline
//! - [`detached`] - servers that survive their command
//!
//! Connections:
//!
//! - [`outcome`] - how far a connection has come, its first failure, and all waiting for that
//! - [`dial`], [`connect`] - resolving, and connecting, for clients of every kind
//! - [`client`], [`connection`], [`totals`] - the thread of a test's client and its connections
//! - [`server`], [`accept`], [`asked`], [`serving`] - listening, accepting, what a client asked
//!   for, and the thread of a test's server
//! - [`reopening_listener`], [`rejection`], [`peer_log`] - of servers of every kind
//! - [`retransmission`] - when requests of a connection are repeated, and how often
//! - [`drive`], [`polling`] - waiting for workloads, or polling for them
//! - [`spinning`] - the threads of servers that poll without sleeping, which are few
//! - [`pacing`] - having workloads post at moments of the clock
//! - [`start_time`] - waiting for the time of day at which clients begin
//! - [`events`] - sleeping until events of completion queues
//! - [`management`] - asks a device whether its connection management answers
//!
//! Queue pairs:
//!
//! - [`queue_pair`], [`queue`], [`workload`], [`completion`], [`tag`] - queue pairs that drive a
//!   workload
//! - [`device_counters`] - the counters of a device and its port before and after a run
//! - [`usage`] - CPU time and context switches of a run
//! - [`sharing`] - shared receive queues of servers
//! - [`depths`], [`limits`], [`quirks`] - sizes, limits of devices, defects of drivers
//!
//! Results:
//!
//! - [`results`] - finished runs as JSON; [`endpoint`], [`claims`]: what they say of a connection's
//!   end and of a device
//! - [`traffic`], [`histogram`], [`series`] - counters and latencies while a run goes on
//! - [`print`](mod@print): printing of values that know nothing of the kernel

#![forbid(unsafe_code)]

pub(crate) mod accept;
mod advice;
mod allowance;
pub(crate) mod asked;
pub(crate) mod begin;
pub(crate) mod claims;
pub(crate) mod client;
pub(crate) mod completion;
pub(crate) mod connect;
mod connection;
pub(crate) mod depths;
pub(crate) mod destroying;
pub(crate) mod detached;
pub(crate) mod device_counters;
pub(crate) mod dial;
pub(crate) mod drive;
mod endpoint;
pub(crate) mod entry;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod histogram;
pub(crate) mod limits;
pub(crate) mod management;
pub(crate) mod outcome;
mod pacing;
pub(crate) mod peer_log;
pub(crate) mod polling;
pub(crate) mod print;
pub(crate) mod queue;
pub(crate) mod queue_pair;
pub(crate) mod quirks;
pub(crate) mod registry;
pub(crate) mod rejection;
pub(crate) mod reopening_listener;
pub(crate) mod restart;
pub(crate) mod results;
pub(crate) mod retransmission;
pub(crate) mod series;
pub(crate) mod server;
pub(crate) mod serving;
pub(crate) mod session;
pub(crate) mod sharing;
pub(crate) mod side;
pub(crate) mod spinning;
mod start;
mod start_time;
pub(crate) mod tag;
pub(crate) mod totals;
pub(crate) mod traffic;
pub(crate) mod usage;
pub(crate) mod worker;
pub(crate) mod workload;
