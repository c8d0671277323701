// SPDX-License-Identifier: GPL-2.0

//! The store: the blocks that a server keeps for all its clients.
//!
//! - [`ram`] - in memory; completions work on it
//! - [`file`], [`direct`] - in a file or on a device, through the page cache or past it
//! - [`ledger`] - what a store has failed to keep, and who was told

#![forbid(unsafe_code)]

mod direct;
mod file;
pub(crate) mod ledger;
pub(super) mod ram;

use crate::{
    kernel_ext::{
        boot,
        identity::Identity,
        medium::Medium,
        pages::Contiguous,
        random::random, //
    },
    logic::{
        block::{
            Action,
            Request,
            Status, //
        },
        command::{
            block_options::StoreName,
            limits,
            BlockOptions, //
        },
        data::mix::{
            scramble,
            GOLDEN, //
        },
        failure::Failure,
        wire::{
            extras::{
                Extras,
                Topology, //
            },
            hello::{
                Geometry,
                Hello, //
            }, //
        }, //
    }, //
};
use file::{
    FileStore,
    Opening, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};
use ledger::{
    Account,
    Ledger,
    Ledgers, //
};
use ram::{
    pieces,
    Ram, //
};

/// Block size of a store that has none of its own, in bytes.
const BLOCK: u32 = limits::SECTOR as u32;

/// Maximum number of bytes per discard or write-zeroes for a store in memory. It is small because
/// the completion handler zeroes the memory, for a message of 32 bytes, and a peer may send many.
const MAX_ZEROED: u32 = 64 << 10;

/// Maximum number of bytes per discard or write-zeroes for other stores.
const MAX_DISCARD: u32 = 1 << 30;

/// Maximum number of bytes per discard or write-zeroes if the zeroes must be written. A store that
/// is not too slow finishes that in a moment, and an interrupted request starts again from the
/// beginning.
const MAX_WRITTEN: u32 = 32 << 20;

/// Largest logical block size of a disk, in bytes.
const MAX_BLOCK: u32 = 4096;

/// The medium that holds the blocks.
pub(crate) enum Backing {
    /// Memory. Devices can work on it directly.
    Ram(Ram),
    /// A file or a block device. Only threads can work on it.
    File(FileStore),
    /// Nothing: there are no blocks, and requests are only logged.
    Nothing,
}

/// An open store.
pub(crate) struct Store {
    backing: Backing,
    size: u64,
    block: u32,
    read_only: bool,
    /// True if writes may be lost until they are flushed.
    volatile: bool,
    /// True if zeroes must be written to it, because it has no faster way.
    writes_zeroes: bool,
    /// Sizes by which it does its work best.
    topology: Topology,
    /// Identity of the store, by which a client that comes back recognizes it.
    id: u64,
    /// True if each request is logged.
    log: bool,
}

impl Store {
    /// Opens the store of a server. `ledgers` record its failures, and may keep `module`, which is
    /// this one. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`] with `ENOMEM`; `ENOENT`; `ENOSPC` if a device is too small; `EBUSY` if
    /// the store is in use; `EINVAL` if the path cannot be a store; or another error of opening.
    /// [`Failure::Unsupported`] if the block size is too large for a disk.
    pub(crate) fn open(
        options: &BlockOptions,
        ledgers: &Arc<Ledgers>,
        module: &'static ThisModule,
    ) -> Result<Self, Failure> {
        let failed = |what| move |e: Error| Failure::Kernel(what, e.to_errno());
        // For an errno whose usual cause is hard to guess.
        let explained = |usual: Error, why, what| {
            move |e: Error| Failure::Kernel(if e == usual { why } else { what }, e.to_errno())
        };
        let read_only = options.read_only;
        let (backing, size, block, id) = match &options.store {
            Some(StoreName::Ram) => {
                let ram = Ram::new(options.bytes).map_err(failed("allocating the store"))?;
                (Backing::Ram(ram), options.bytes, BLOCK, random())
            }
            Some(StoreName::Path(path)) => {
                let how = Opening {
                    read_only,
                    create: options.bytes > 0,
                    direct: options.direct,
                };
                let file = FileStore::open(path.as_str(), how, ledgers, number, module)?;
                let size = file.provide(options.bytes, read_only).map_err(explained(
                    ENOSPC,
                    "finding size= bytes in the store, which cannot grow,",
                    "giving the store its size",
                ))?;
                let (block, id) = (file.block(), file.number());
                (Backing::File(file), size, block, id)
            }
            None => (Backing::Nothing, limits::MOST_BYTES, BLOCK, random()),
        };
        if block > MAX_BLOCK {
            return Err(Failure::Unsupported(
                "store: blocks of more than 4096 bytes",
            ));
        }
        let volatile = match &backing {
            Backing::Ram(_) => false,
            Backing::File(file) => file.is_volatile(),
            Backing::Nothing => true,
        };
        let topology = match &backing {
            Backing::File(file) => file.topology(),
            Backing::Ram(_) | Backing::Nothing => Topology::default(),
        };
        let writes_zeroes = match &backing {
            Backing::File(file) => !read_only && !file.zeroes_at_once(),
            Backing::Ram(_) | Backing::Nothing => false,
        };
        Ok(Self {
            backing,
            size,
            block,
            read_only,
            volatile,
            writes_zeroes,
            topology,
            id,
            log: options.log,
        })
    }

    /// Returns the medium that holds the blocks.
    pub(crate) fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Returns true if each request is logged.
    pub(crate) fn logs(&self) -> bool {
        self.log
    }

    /// Returns the ledger of the store's failures; `None` for a store that cannot fail.
    pub(crate) fn ledger(&self) -> Option<&Arc<Ledger>> {
        match &self.backing {
            Backing::File(file) => Some(file.ledger()),
            Backing::Ram(_) | Backing::Nothing => None,
        }
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns true if a job thread must work on the requests, in order. Otherwise completion
    /// handlers do all the work.
    pub(super) fn needs_thread(&self) -> bool {
        self.log || !matches!(self.backing, Backing::Ram(_))
    }

    /// Returns the geometry to report to the client that sent `hello`. `depth` is the number of
    /// requests in flight, `max_bytes` the limit of data per request, `inline` that of data in a
    /// message, and `alive_ms` the server's keepalive interval in ms.
    pub(crate) fn geometry(
        &self,
        hello: &Hello,
        depth: u16,
        max_bytes: u32,
        inline: u32,
        alive_ms: u32,
    ) -> Geometry {
        let most = hello.max_bytes.min(max_bytes);
        Geometry {
            test: hello.test,
            read_only: self.read_only,
            log_only: matches!(self.backing, Backing::Nothing),
            size: self.size,
            store: self.id,
            block: self.block,
            // `block` is a power of two, and no larger than the data that each client has room for.
            max_bytes: most & !self.block.wrapping_sub(1),
            max_discard: match self.backing {
                Backing::Ram(_) => MAX_ZEROED,
                Backing::File(_) | Backing::Nothing if self.writes_zeroes => MAX_WRITTEN,
                Backing::File(_) | Backing::Nothing => MAX_DISCARD,
            },
            depth,
            inline,
            alive_ms,
            extras: Extras {
                volatile: self.volatile,
                keeps_space: true,
                boot: boot::number(),
                topology: self.topology,
            },
        }
    }

    /// Executes `request`, which must have been checked against the limits, for the client of
    /// `account`. `data` is the memory that its data is in or goes to. It is not needed where the
    /// device works on the store itself. Calls `go_on` now and then to ask whether to go on.
    ///
    /// For a store in memory it does not sleep, and any context may call it. For others it sleeps.
    pub(crate) fn execute(
        &self,
        request: &Request,
        data: Option<(&Contiguous, usize)>,
        account: Option<&Account>,
        go_on: impl Fn() -> bool,
    ) -> Status {
        let result = match &self.backing {
            Backing::Ram(ram) => in_memory(ram, request, data),
            Backing::File(file) => in_file(file, request, data, account, go_on),
            Backing::Nothing if request.action == Action::Read => return Status::Unsupported,
            Backing::Nothing => Ok(()),
        };
        match result {
            Ok(()) => Status::Ok,
            Err(error) => Status::from_errno(error.to_errno()),
        }
    }
}

fn in_memory(ram: &Ram, request: &Request, data: Option<(&Contiguous, usize)>) -> Result {
    let chunk = |number: usize| ram.chunks().get(number).ok_or(EINVAL);
    let pieces = pieces(request.offset, request.bytes());
    match (request.action, data) {
        (Action::Read, Some((to, mut at))) => {
            for piece in pieces {
                let len = piece.len as usize;
                chunk(piece.chunk)?.copy_to(piece.offset as usize, to, at, len)?;
                at += len;
            }
        }
        (Action::Write, Some((from, mut at))) => {
            for piece in pieces {
                let len = piece.len as usize;
                from.copy_to(at, chunk(piece.chunk)?, piece.offset as usize, len)?;
                at += len;
            }
        }
        (Action::Discard | Action::WriteZeroes, _) => {
            for piece in pieces {
                chunk(piece.chunk)?.zero(piece.offset as usize, piece.len as usize)?;
            }
        }
        // The device has transferred the data, or does so with the answer, or there is nothing to
        // do.
        _ => {}
    }
    Ok(())
}

fn in_file(
    file: &FileStore,
    request: &Request,
    data: Option<(&Contiguous, usize)>,
    account: Option<&Account>,
    go_on: impl Fn() -> bool,
) -> Result {
    let Request {
        offset, keep_space, ..
    } = *request;
    let len = request.bytes();
    match request.action {
        Action::Read => {
            let (memory, at) = data.ok_or(EINVAL)?;
            file.read(memory, at, len as usize, offset)
        }
        Action::Write => {
            let (memory, at) = data.ok_or(EINVAL)?;
            file.write(memory, at, len as usize, offset)
        }
        Action::Flush => return file.flush(account),
        Action::Discard | Action::WriteZeroes => {
            file.zero(offset, u64::from(len), keep_space, go_on)
        }
        Action::Ping | Action::Close | Action::Note | Action::Survey => Ok(()),
    }?;
    match request.fua {
        true => file.flush_range(offset, u64::from(len), account),
        false => Ok(()),
    }
}

/// Returns a number that identifies a file, as uniquely as 64 bits can.
pub(crate) fn number(identity: &Identity) -> u64 {
    let parts = match *identity {
        Identity::File {
            filesystem: [high, low],
            subvolume,
            inode: (number, generation),
            medium,
        } => {
            let (id, start) = medium.unwrap_or((0, 0));
            [
                0,
                high,
                low,
                subvolume,
                number,
                u64::from(generation),
                id,
                start,
            ]
        }
        Identity::Passing(device, boot, (number, generation)) => {
            let generation = u64::from(generation);
            [3, u64::from(device), boot, number, generation, 0, 0, 0]
        }
        Identity::Device(Medium::Stable(id, start)) => [1, id, start, 0, 0, 0, 0, 0],
        Identity::Device(Medium::Passing(disk, boot, start)) => [2, disk, boot, start, 0, 0, 0, 0],
    };
    parts.into_iter().fold(0x6b72_7069_6e67, mixed)
}

/// Mixes `value` into `hash`. Each bit of either changes about half of the bits of the result.
fn mixed(hash: u64, value: u64) -> u64 {
    scramble((hash ^ value).wrapping_add(GOLDEN))
}

/// One request for a thread to work on.
pub(crate) struct Work {
    /// The request.
    pub(super) slot: usize,
    /// The request.
    pub(crate) request: Request,
    /// Result of checking the request: the reason not to execute it, unless [`Status::Ok`].
    pub(super) status: Status,
    /// Memory and offset that its data is at or goes to.
    pub(super) data: Option<(Arc<Contiguous>, usize)>,
    /// The failures that its client has been told of, if its answer depends on them.
    pub(super) account: Option<Arc<Account>>,
}

impl Work {
    /// Attaches the `account` of the client, if the request must reach stable storage.
    pub(super) fn of_client(mut self, account: Option<&Arc<Account>>) -> Self {
        if self.request.is_durable() {
            self.account = account.cloned();
        }
        self
    }

    /// Executes the request, unless there is a reason not to, and returns the status. Calls `go_on`
    /// now and then to ask whether to go on. Process context; sleeps.
    pub(crate) fn execute(&self, store: &Store, go_on: impl Fn() -> bool) -> Status {
        match self.status {
            Status::Ok => {
                let data = self.data.as_ref().map(|(memory, at)| (&**memory, *at));
                store.execute(&self.request, data, self.account.as_deref(), go_on)
            }
            status => status,
        }
    }
}
