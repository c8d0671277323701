// SPDX-License-Identifier: GPL-2.0

//! What a server keeps blocks in, for all of its clients.

#![forbid(unsafe_code)]

mod direct;
mod file;
pub(crate) mod ledger;
pub(super) mod ram;

use crate::{
    kernel_ext::{
        boot,
        file::Identity,
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
        failure::Failure,
        wire::{
            extras::Extras,
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

/// The least that a store without a block size of its own reads or writes, in bytes.
const BLOCK: u32 = limits::SECTOR as u32;

/// The most that is zeroed at a time in memory, in bytes: as a completion does it for a message of
/// 32 bytes, and a peer may send many.
const MAX_ZEROED: u32 = 64 << 10;

/// The most that is zeroed at a time elsewhere, in bytes.
const MAX_DISCARD: u32 = 1 << 30;

/// The same where the zeroes must be written: a piece that is done in a moment by what is not
/// too slow, as one that is interrupted begins anew.
const MAX_WRITTEN: u32 = 32 << 20;

/// The largest logical block of a disk.
const MAX_BLOCK: u32 = 4096;

/// Where the blocks are.
pub(crate) enum Backing {
    /// In memory, where devices can work on them.
    Ram(Ram),
    /// In a file or on a block device, which only threads can work on.
    File(FileStore),
    /// Nowhere: they are only logged.
    Nothing,
}

/// An open store.
pub(crate) struct Store {
    backing: Backing,
    size: u64,
    block: u32,
    read_only: bool,
    /// What it has written may be lost until it is flushed.
    volatile: bool,
    /// Zeroes must be written to it.
    writes_zeroes: bool,
    /// What tells it from others, to a client that comes back.
    id: u64,
    /// Each request gets a line in the log.
    log: bool,
}

impl Store {
    /// Opens the store of a server, whose failures `ledgers` keep. Process context of the
    /// writer; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`] with `ENOMEM`, `ENOENT`, `ENOSPC` for a device that is too
    /// small, `EBUSY` for one that is in use, `EINVAL` for what is no store, and what
    /// else opening says; [`Failure::Unsupported`] for blocks that no disk has.
    pub(crate) fn open(options: &BlockOptions, ledgers: &Arc<Ledgers>) -> Result<Self, Failure> {
        let failed = |what| move |e: Error| Failure::Kernel(what, e.to_errno());
        // Whose usual cause is not for everybody to guess.
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
                let file = FileStore::open(path.as_str(), how, ledgers, number)?;
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
        let writes_zeroes = match &backing {
            Backing::File(file) => !read_only && !file.zeroes_at_once(),
            _ => false,
        };
        Ok(Self {
            backing,
            size,
            block,
            read_only,
            volatile,
            writes_zeroes,
            id,
            log: options.log,
        })
    }

    /// Where the blocks are.
    pub(crate) fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Whether each request gets a line in the log.
    pub(crate) fn logs(&self) -> bool {
        self.log
    }

    /// What it has failed to keep, where it is one that can fail.
    pub(crate) fn ledger(&self) -> Option<&Arc<Ledger>> {
        match &self.backing {
            Backing::File(file) => Some(file.ledger()),
            Backing::Ram(_) | Backing::Nothing => None,
        }
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether requests are worked on by the connection's thread, in their order;
    /// otherwise completions do all.
    pub(super) fn needs_thread(&self) -> bool {
        self.log || !matches!(self.backing, Backing::Ram(_))
    }

    /// What to tell the client that said `hello`, of which `depth` requests are taken
    /// at a time, of up to `max_bytes` bytes and with `inline` bytes in a message, by a
    /// server that is silent for `alive_ms` ms at most.
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
            // A power of two, and no larger than what each client has room for.
            max_bytes: most & !self.block.wrapping_sub(1),
            max_discard: match self.backing {
                Backing::Ram(_) => MAX_ZEROED,
                _ if self.writes_zeroes => MAX_WRITTEN,
                _ => MAX_DISCARD,
            },
            depth,
            inline,
            alive_ms,
            extras: Extras {
                volatile: self.volatile,
                keeps_space: true,
                boot: boot::number(),
            },
        }
    }

    /// Does what `request`, which has been found to be within the limits, asks for, of the
    /// client of `account`. `data` is where its data is or is to go, but for blocks in memory,
    /// which the device works on itself. Asks `go_on` now and then whether to go on.
    ///
    /// In memory it does not sleep, and any context may call it; else it sleeps.
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
                at = at.saturating_add(len);
            }
        }
        (Action::Write, Some((from, mut at))) => {
            for piece in pieces {
                let len = piece.len as usize;
                from.copy_to(at, chunk(piece.chunk)?, piece.offset as usize, len)?;
                at = at.saturating_add(len);
            }
        }
        (Action::Discard | Action::WriteZeroes, _) => {
            for piece in pieces {
                chunk(piece.chunk)?.zero(piece.offset as usize, piece.len as usize)?;
            }
        }
        // The device has done it, or does it with the answer, or nothing is to be done.
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

/// A number that tells a file from others as far as 64 bits can.
pub(crate) fn number(identity: &Identity) -> u64 {
    let parts = match *identity {
        Identity::File(device, inode, generation) => {
            [0, u64::from(device), inode, u64::from(generation)]
        }
        Identity::Device(Medium::Stable(id, start)) => [1, id, start, 0],
        Identity::Device(Medium::Passing(disk, boot, start)) => [2, disk, boot, start],
    };
    parts.into_iter().fold(0x6b72_7069_6e67, mix)
}

/// Stirs `value` into `hash`: each bit of either changes about half of the result's.
fn mix(hash: u64, value: u64) -> u64 {
    let mut mixed = (hash ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// One request for a thread to work on.
pub(crate) struct Work {
    /// Where its answer belongs.
    pub(super) slot: usize,
    /// What it asks for.
    pub(crate) request: Request,
    /// Why not to do it, if so.
    pub(super) status: Status,
    /// Where its data is or is to go.
    pub(super) data: Option<(Arc<Contiguous>, usize)>,
    /// What its client has been told.
    pub(super) account: Option<Arc<Account>>,
}

impl Work {
    /// That of the client of `account`.
    pub(super) fn of_client(mut self, account: Option<&Arc<Account>>) -> Self {
        if self.request.is_durable() {
            self.account = account.cloned();
        }
        self
    }

    /// Does it, unless there is a reason not to. Process context; sleeps, and asks
    /// `go_on` now and then whether to go on.
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
