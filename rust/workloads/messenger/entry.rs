// SPDX-License-Identifier: GPL-2.0

//! Entry points of messages, through which the engine starts them.

#![forbid(unsafe_code)]

use super::{
    client::lead,
    server, //
};
use crate::{
    engine::{
        client,
        entry::{
            Client,
            Entry, //
        }, //
    },
    logic::spec::tests::Family, //
};

/// Workload that sends messages.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Messenger],
    client: Client::Threads(|session, addr| client::start(session, addr, lead)),
    listen: Some(server::start),
    serve: None,
    depths: None,
    states: &[],
};
