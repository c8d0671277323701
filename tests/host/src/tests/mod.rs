// SPDX-License-Identifier: GPL-2.0

//! The tests, a file for each concept.

mod allow;
mod answer_receipt;
mod any_command;
mod backoff;
mod block;
mod block_answer;
mod block_check;
mod block_immediate;
mod block_inline;
mod block_survey;
mod caps;
mod cause;
mod command;
mod command_any;
mod command_block;
mod command_block_rules;
mod command_caps;
mod command_errors;
mod command_rules;
mod conformance;
mod control;
mod cpus;
mod crc;
mod data_bytes;
mod docs;
mod expectation;
mod failure;
mod fuzz_targets;
mod hello;
mod hello_any;
mod histogram;
mod joining;
mod json;
mod load;
mod loss;
mod messenger;
mod messenger_hello;
mod moments;
mod numbered;
mod option_rows;
mod order;
mod pace;
mod pattern;
mod place;
mod places;
mod port_counters;
mod preflight;
mod private_data;
mod protocol;
mod ratelimit;
mod rw;
mod schedule;
mod segments;
mod sentences;
mod sequence;
mod series;
mod served;
mod sides;
mod sizes;
mod stats;
mod stream_control;
mod stream_hello;
mod stream_hostile;
mod stream_immediate;
mod stream_iomap;
mod stream_pair;
mod stream_receiver;
mod stream_rsocket;
mod stream_sender;
mod stream_turns;
mod stream_writes;
mod tables;
mod troubleshooting;
mod troubleshooting_log;
mod window;
mod wire;

use crate::logic::command::{
    order::Order,
    parse_error::ParseError,
    Command,
    Role, //
};
use proptest::prelude::ProptestConfig;

impl Order<Box<Command>> {
    /// Reads an order, with a place for its command.
    fn read(text: &str) -> Result<Self, ParseError<'_>> {
        Self::parse(text, Box::new(Command::new(Role::Server)))
    }
}

impl Command {
    /// Reads a command that runs something.
    fn parse(text: &str) -> Result<Self, ParseError<'_>> {
        match Order::read(text)? {
            Order::Run(command) => Ok(*command),
            stop => panic!("{text} was taken as {stop}"),
        }
    }
}

/// Property tests with `cases` cases. What fails is printed and not kept: the
/// checkout may be read-only.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
