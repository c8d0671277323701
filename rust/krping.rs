// SPDX-License-Identifier: GPL-2.0

//! krping: RDMA ping/pong from kernel context.
//!
//! Commands written to `/proc/krping` run between this host and another, or within this one, over
//! the RDMA CM and the kernel verbs. Data flows through the rooms in one direction, and results
//! flow back:
//!
//! | room | modules |
//! |---|---|
//! | interface | [`proc_iface`] |
//! | workloads | [`workloads`], [`block`] |
//! | engine | [`engine`] |
//! | connections, memory | [`cm`], [`mr`] |
//! | tracepoints | [`trace`] |
//! | RDMA | [`rdma`] |
//! | kernel | [`kernel_ext`] |
//! | raw | [`bindings`] |
//!
//! [`logic`] is pure; all but the last three rooms use it. `scripts/rooms` has the table of which
//! room may know which, `docs/architecture.md` describes them, and each room's own documentation
//! lists its files.

use kernel::{
    fmt,
    prelude::*,
    sync::Arc, //
};

mod bindings;
mod block;
mod cm;
mod engine;
mod kernel_ext;
mod logic;
mod mr;
mod proc_iface;
mod rdma;
mod trace;
mod workloads;

use cm::departures::Departures;
use engine::{
    begin,
    entry::Entry,
    errors::Errors,
    results::Results, //
};
use kernel_ext::{
    debugfs,
    procfs::ProcEntry, //
};
use proc_iface::Interface;

module! {
    type: Krping,
    name: "krping",
    authors: ["The krping developers"],
    description: "RDMA ping/pong from kernel context",
    license: "GPL",
}

/// Workloads that commands can ask for. A new workload is a folder and a row here.
static WORKLOADS: &[&Entry] = &[
    &workloads::pingpong::entry::ENTRY,
    &workloads::fastreg::ENTRY,
    &workloads::microbench::entry::ENTRY,
    &workloads::rw::entry::ENTRY,
    &workloads::messenger::entry::ENTRY,
    &workloads::stream::entry::ENTRY,
    &workloads::caps::ENTRY,
    &workloads::conformance::runner::ENTRY,
    &block::disk::command::ENTRY,
    &block::tap::client::ENTRY,
];

/// The loaded module. Fields are in drop order: no command runs once the first field is dropped.
struct Krping {
    _proc: ProcEntry<Arc<Interface>>,
    _results: debugfs::File<Results>,
    _errors: debugfs::File<Errors>,
    _options: debugfs::File<Options>,
    _directory: debugfs::Dir,
    /// Dropped last: commands hand identifiers over to it.
    _departures: Departures,
}

impl debugfs::Contents for Results {
    fn show(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(out)
    }
}

impl debugfs::Contents for Errors {
    fn show(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(out)
    }
}

/// The table of options, for programs.
struct Options;

impl debugfs::Contents for Options {
    fn show(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        logic::spec::json::write(out)?;
        out.write_str("\n")
    }
}

impl kernel::Module for Krping {
    fn init(module: &'static ThisModule) -> Result<Self> {
        kernel_ext::boot::learn();
        // SAFETY: Called once, and no command runs yet.
        let departures = unsafe { Departures::start()? };
        let registry = begin::new_registry(module, WORKLOADS)?;
        let results = debugfs::File::new(registry.results().clone())?;
        let errors = debugfs::File::new(registry.errors().clone())?;
        let options = debugfs::File::new(Arc::new(Options, GFP_KERNEL)?)?;
        // Commands can come from here on, and nothing fails any more.
        let proc = Interface::register(registry)?;
        let directory = debugfs::Dir::new(c"krping");
        Ok(Self {
            _proc: proc,
            _results: results.publish(&directory, c"results"),
            _errors: errors.publish(&directory, c"errors"),
            _options: options.publish(&directory, c"options"),
            _directory: directory,
            _departures: departures,
        })
    }
}
