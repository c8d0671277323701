// SPDX-License-Identifier: GPL-2.0

//! `/proc/krping`: a write runs a command, a read prints the running threads, and comments.

#![forbid(unsafe_code)]

use crate::{
    block::disk,
    engine::{
        begin,
        detached,
        errors::Errors,
        print::Plain,
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
            capable_sys_rawio,
            memory_is_locked_down,
            FileId,
            ProcEntry,
            ProcFile, //
        }, //
    },
    logic::{
        command::{
            order::{
                Order,
                Target, //
            },
            parse_error::Kind,
            Command,
            Role, //
        },
        spec::help::{
            Introduction,
            Topic, //
        },
        text::EscapedTo, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        Arc,
        Mutex, //
    },
    uaccess::UserSliceReader, //
};

/// Maximum length of a command, in bytes.
const MAX_COMMAND: usize = 4096;

/// Data of the `/proc/krping` file.
#[pin_data]
pub(crate) struct Interface {
    registry: Arc<Registry>,
    restarts: Arc<Restarts>,
    /// The last write, if that asked for help.
    #[pin]
    topic: Mutex<Option<Topic>>,
}

impl Interface {
    /// Creates `/proc/krping`, accessible to its owner only.
    pub(crate) fn register(registry: Arc<Registry>) -> Result<ProcEntry<Arc<Self>>> {
        let restarts = Restarts::new()?;
        let this = Arc::pin_init(
            pin_init!(Self {
                registry,
                restarts,
                topic <- new_mutex!(None, "krping_topic"),
            }),
            GFP_KERNEL,
        )?;
        ProcEntry::new(c"krping", 0o600, this)
    }
}

impl ProcFile for Interface {
    fn show(&self, out: &SeqFile) {
        let running = self.registry.show(out);
        let topic = *self.topic.lock();
        match topic {
            Some(topic) => seq_print!(out, "{}", topic),
            None if running => (),
            None => seq_print!(out, "{}", Introduction),
        }
    }

    fn write(&self, file: FileId, data: &mut UserSliceReader) -> Result<usize> {
        let errors = self.registry.errors();
        if !capable_net_admin() {
            let why = "a command needs CAP_NET_ADMIN";
            return Err(errors.refused("a command", EPERM, why));
        }
        // Makes rmmod report that the module is in use while a command runs.
        let in_use = ModuleRef::get(self.registry.module())?;
        let len = data.len();
        if len > MAX_COMMAND {
            return Err(errors.refused(
                "a command",
                EINVAL,
                fmt!("a command of {} bytes: at most {}", len, MAX_COMMAND),
            ));
        }
        let mut bytes = KVec::from_elem(0u8, len, GFP_KERNEL).inspect_err(|_| {
            pr_err!("a command of {} bytes: ENOMEM\n", len);
        })?;
        data.read_slice(&mut bytes).map_err(|error| {
            errors.refused(
                "a command",
                error,
                fmt!(
                    "a command of {} bytes: its memory cannot be read: EFAULT",
                    len
                ),
            )
        })?;
        let waiting = match self.restarts.take(file, &bytes) {
            left @ Some(_) => left,
            None => {
                let order = parse(errors, &bytes)?;
                check_rights(errors, &order)?;
                *self.topic.lock() = match order {
                    Order::Help(topic) => Some(topic),
                    Order::Run(_) | Order::Stop { .. } => None,
                };
                match order {
                    Order::Help(_) => None,
                    Order::Run(command) => begin::begin(&self.registry, command, &in_use)?,
                    Order::Stop { target, force } => match target {
                        Target::Disk(number) => disk::command::stop(&self.registry, number, force)?,
                        Target::Server(_) | Target::Command(_) => {
                            detached::stop(&self.registry, target, force)?
                        }
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
/// belong to the host; for access to all memory `CAP_SYS_RAWIO`, as for `/dev/mem`, and a kernel
/// without lockdown.
fn check_rights(errors: &Errors, order: &Order<KBox<Command>>) -> Result {
    let has_disk = match order {
        Order::Run(command) => command.test.is_block(),
        Order::Stop { target, .. } => matches!(target, Target::Disk(_)),
        Order::Help(_) => false,
    };
    let opens_memory = match order {
        Order::Run(command) => command.unsafe_global_rkey,
        Order::Stop { .. } | Order::Help(_) => false,
    };
    let why = if has_disk && !capable_sys_admin() {
        "disks, taps, their servers and the end of a disk need CAP_SYS_ADMIN"
    } else if opens_memory && !capable_sys_rawio() {
        "unsafe_global_rkey opens all memory, and needs CAP_SYS_RAWIO"
    } else if opens_memory && memory_is_locked_down() {
        "unsafe_global_rkey opens all memory, and this kernel is locked down"
    } else {
        return Ok(());
    };
    Err(errors.refused(Plain(order), EPERM, why))
}

/// Allocates a command, which is too large for the stack.
#[inline(never)]
fn new_command() -> Result<KBox<Command>> {
    let place = KBox::new(Command::new(Role::Client), GFP_KERNEL);
    Ok(place.inspect_err(|_| pr_err!("a command: ENOMEM\n"))?)
}

fn parse(errors: &Errors, bytes: &[u8]) -> Result<Order<KBox<Command>>> {
    let Ok(text) = core::str::from_utf8(bytes) else {
        return Err(errors.refused("a command", EINVAL, "a command that is not text"));
    };
    Order::parse(text, new_command()?).map_err(|error| {
        let errno = match error.kind {
            Kind::Invalid => EINVAL,
            Kind::Range => ERANGE,
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        errors.refused(EscapedTo::<512>(text), errno, error)
    })
}
