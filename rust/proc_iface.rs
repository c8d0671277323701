// SPDX-License-Identifier: GPL-2.0

//! `/proc/krping`: a write runs a command, a read prints the running threads.

#![forbid(unsafe_code)]

use crate::{
    block::disk,
    engine::{
        begin,
        detached,
        registry::Registry,
        restart::{
            Restarts,
            Write, //
        }, //
    },
    kernel_ext::{
        module::ModuleRef,
        procfs::{
            capable_net_admin,
            capable_sys_admin,
            memory_is_locked_down,
            FileId,
            ProcEntry,
            ProcFile, //
        }, //
    },
    logic::command::{
        order::{
            Order,
            Target, //
        },
        parse_error::Kind,
        Command,
        Role, //
    }, //
};
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    sync::Arc,
    uaccess::UserSliceReader, //
};

/// Maximum length of a command, in bytes.
const MAX_COMMAND: usize = 4096;

/// Data of the `/proc/krping` file.
pub(crate) struct Interface {
    registry: Arc<Registry>,
    restarts: Arc<Restarts>,
    module: &'static ThisModule,
}

impl Interface {
    /// Creates `/proc/krping`, accessible to its owner only.
    pub(crate) fn register(
        registry: Arc<Registry>,
        module: &'static ThisModule,
    ) -> Result<ProcEntry<Arc<Self>>> {
        let restarts = Restarts::new()?;
        let this = Arc::new(
            Self {
                registry,
                restarts,
                module,
            },
            GFP_KERNEL,
        )?;
        ProcEntry::new(c"krping", 0o600, this)
    }
}

impl ProcFile for Interface {
    fn show(&self, out: &SeqFile) {
        self.registry.show(out);
    }

    fn write(&self, file: FileId, data: &mut UserSliceReader) -> Result<usize> {
        if !capable_net_admin() {
            pr_err!("a command needs CAP_NET_ADMIN\n");
            return Err(EPERM);
        }
        // Makes rmmod report that the module is in use while a command runs.
        let in_use = ModuleRef::get(self.module)?;
        let len = data.len();
        if len > MAX_COMMAND {
            pr_err!("a command of {} bytes: at most {}\n", len, MAX_COMMAND);
            return Err(EINVAL);
        }
        let mut bytes = KVec::from_elem(0u8, len, GFP_KERNEL).inspect_err(|_| {
            pr_err!("a command of {} bytes: ENOMEM\n", len);
        })?;
        data.read_slice(&mut bytes).inspect_err(|_| {
            pr_err!(
                "a command of {} bytes: its memory cannot be read: EFAULT\n",
                len
            );
        })?;
        let waiting = match self.restarts.take(file, &bytes) {
            left @ Some(_) => left,
            None => {
                let order = parse(&bytes)?;
                check_rights(&order)?;
                match order {
                    Order::Run(command) => begin::begin(&self.registry, command, &in_use)?,
                    Order::Stop { target, force } => match target {
                        Target::Disk(number) => disk::command::stop(&self.registry, number, force)?,
                        Target::Server(port) => detached::stop(&self.registry, port, force)?,
                    },
                }
            }
        };
        if let Some(awaited) = waiting {
            let write = Write {
                file,
                text: bytes,
                in_use,
            };
            self.restarts.wait(awaited, write)?;
        }
        Ok(len)
    }

    fn released(&self, file: FileId) {
        self.restarts.released(file);
    }
}

/// Checks the rights that a command needs beyond `CAP_NET_ADMIN`: `CAP_SYS_ADMIN` for disks, which
/// belong to the host, and a kernel without lockdown for access to all memory.
fn check_rights(order: &Order<KBox<Command>>) -> Result {
    let has_disk = match order {
        Order::Run(command) => command.test.is_block(),
        Order::Stop { target, .. } => matches!(target, Target::Disk(_)),
    };
    if has_disk && !capable_sys_admin() {
        pr_err!("disks, taps, their servers and the end of a disk need CAP_SYS_ADMIN\n");
        return Err(EPERM);
    }
    match order {
        Order::Run(command) if command.unsafe_global_rkey && memory_is_locked_down() => {
            pr_err!("unsafe_global_rkey opens all memory, and this kernel is locked down\n");
            Err(EPERM)
        }
        Order::Run(_) | Order::Stop { .. } => Ok(()),
    }
}

/// Allocates a command, which is too large for the stack.
#[inline(never)]
fn new_command() -> Result<KBox<Command>> {
    let place = KBox::new(Command::new(Role::Client), GFP_KERNEL);
    Ok(place.inspect_err(|_| pr_err!("a command: ENOMEM\n"))?)
}

fn parse(bytes: &[u8]) -> Result<Order<KBox<Command>>> {
    let Ok(text) = core::str::from_utf8(bytes) else {
        pr_err!("a command that is not text\n");
        return Err(EINVAL);
    };
    Order::parse(text, new_command()?).map_err(|error| {
        pr_err!("{}\n", error);
        match error.kind {
            Kind::Invalid => EINVAL,
            Kind::Range => ERANGE,
        }
    })
}
