// SPDX-License-Identifier: GPL-2.0

//! Misuse of `rust/rdma` and `rust/kernel_ext` by safe code, which must be refused.
//!
//! What is written to `/proc/rdma_probes` names a probe, which runs at once. Reading the file gives
//! a line for each step of it, with what came of it. A probe that is refused where it should be
//! leaves nothing behind, and harms nobody. `refused.rs` has those that must not compile.

// Both folders are whole; the probes need a part of them.
#![allow(dead_code, unused_imports)]

use kernel::{
    fmt::{
        self,
        Display, //
    },
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    str::CString,
    sync::{
        Arc,
        Mutex, //
    },
    uaccess::UserSliceReader, //
};

#[path = "../../rust/bindings/mod.rs"]
mod bindings;
mod ends;
mod foreign;
#[path = "../../rust/kernel_ext/mod.rs"]
mod kernel_ext;
mod keys;
mod objects;
mod queues;
#[path = "../../rust/rdma/mod.rs"]
mod rdma;
mod transfers;

use kernel_ext::procfs::{
    FileId,
    ProcEntry,
    ProcFile, //
};

module! {
    type: Probes,
    name: "rdma_probes",
    authors: ["The krping developers"],
    description: "Misuse of the RDMA abstractions that must be refused",
    license: "GPL",
}

/// Bytes of the longest name of a probe.
const NAME: usize = 32;

/// The steps of a probe.
pub(crate) struct Steps(KVec<CString>);

impl Steps {
    /// Notes what came of a step.
    pub(crate) fn note(&mut self, step: &str, what: impl Display) -> Result {
        let line = CString::try_from_fmt(fmt!("{}: {}", step, what))?;
        Ok(self.0.push(line, GFP_KERNEL)?)
    }

    /// Notes whether a step was refused, and with what error.
    pub(crate) fn tried<T>(&mut self, step: &str, result: &Result<T>) -> Result {
        match result {
            Ok(_) => self.note(step, "ok"),
            Err(error) => self.note(step, fmt!("errno {}", -error.to_errno())),
        }
    }
}

type Probe = fn(&mut Steps) -> Result;

/// All probes, by their names.
const PROBES: &[(&str, Probe)] = &[
    ("chunk", objects::chunk),
    ("credentials", objects::credentials),
    ("datagrams", queues::datagrams),
    ("direction", keys::direction),
    ("disk", objects::disk),
    ("drains", queues::drains),
    ("full", queues::full),
    ("hasty", transfers::hasty),
    ("inline", queues::inline),
    ("lists", queues::lists),
    ("one_proof", keys::one_proof),
    ("own_entry", transfers::own_entry),
    ("port_in_use", objects::port_in_use),
    ("sizes", queues::sizes),
    ("unposted", keys::unposted),
];

#[pin_data]
struct File {
    #[pin]
    steps: Mutex<Steps>,
}

impl ProcFile for File {
    fn show(&self, out: &SeqFile) {
        for line in &self.steps.lock().0 {
            seq_print!(out, "{}\n", &**line);
        }
    }

    fn write(&self, _: FileId, data: &mut UserSliceReader) -> Result<usize> {
        let len = data.len();
        let mut bytes = [0; NAME];
        let name = bytes.get_mut(..len).ok_or(EINVAL)?;
        data.read_slice(name)?;
        let name = core::str::from_utf8(name).map_err(|_| EINVAL)?;
        let probe = PROBES.iter().find(|(each, _)| *each == name.trim());
        let (_, probe) = probe.ok_or(ENOENT)?;
        let mut steps = self.steps.lock();
        *steps = Steps(KVec::new());
        probe(&mut steps)?;
        Ok(len)
    }

    fn released(&self, _: FileId) {}
}

/// The loaded module.
struct Probes {
    _entry: ProcEntry<Arc<File>>,
}

impl kernel::Module for Probes {
    fn init(_: &'static ThisModule) -> Result<Self> {
        let file = Arc::pin_init(
            pin_init!(File {
                steps <- new_mutex!(Steps(KVec::new())),
            }),
            GFP_KERNEL,
        )?;
        Ok(Self {
            _entry: ProcEntry::new(c"rdma_probes", 0o600, file)?,
        })
    }
}
