// SPDX-License-Identifier: GPL-2.0

//! Which options go with disks, taps and their servers.

use super::options::{
    Opt,
    OptSet, //
};
use crate::logic::command::{
    block_options::StoreName,
    limits,
    parse_error::Reason,
    value::{
        invalid,
        Given,
        Result,
        SIZE, //
    },
    Command,
    Role,
    Test, //
};

/// What a tap's option says: of a client which disk, of a server nothing.
pub(crate) fn take_tap<'a>(command: &mut Command, given: Given<'a>) -> Result<'a, ()> {
    match command.role {
        Role::Server => given.flag(),
        Role::Client => {
            command.block.bytes = limits::DEFAULT_RING;
            let disk = given.text("sda", |value| Reason::NotDisk { value })?;
            command.block.tap = Some(disk);
            Ok(())
        }
        Role::Loopback => Err(given.invalid(Reason::TapLoopback)),
    }
}

/// What a size says in a command of a disk or tap: how large the store or the ring is.
pub(crate) fn take_size<'a>(command: &mut Command, given: Given<'a>) -> Result<'a, ()> {
    let range = match (command.role, command.test) {
        (Role::Client, Test::Tap) => limits::RING,
        (Role::Client, _) => return Err(given.invalid(Reason::SizeOfDisk)),
        (Role::Server | Role::Loopback, _) => limits::STORE,
    };
    let bytes: u64 = given.scaled("1G", range, &SIZE)?;
    if command.role != Role::Client && bytes % limits::SECTOR != 0 {
        let unit = limits::SECTOR;
        return Err(given.invalid(Reason::NotMultiple { bytes, unit }));
    }
    command.block.bytes = bytes;
    Ok(())
}

/// Checks that options of disks, taps and their servers are given to one of these.
pub(crate) fn are_placed(command: &Command, given: OptSet) -> Result<'static, ()> {
    let (role, test) = (command.role, command.test);
    let has_disk = test == Test::Block && role != Role::Server;
    let has_store = test == Test::Block && role != Role::Client;
    let taps = test == Test::Tap && role == Role::Client;
    let copies = test == Test::Tap && role == Role::Server;
    let in_file = matches!(command.block.store, Some(StoreName::Path(_)));
    let disk = "client,blk or loopback,blk";
    let rules = [
        (
            Opt::Store,
            has_store || copies,
            "server,blk, loopback,blk or server,tap",
        ),
        (Opt::Ro, has_store, "server,blk or loopback,blk"),
        (Opt::Direct, in_file, "store=PATH"),
        (Opt::Log, copies, "server,tap"),
        (Opt::Queues, has_disk, disk),
        (Opt::Depth, has_disk, disk),
        (Opt::Reconnect, has_disk, disk),
        (Opt::RequestTimeout, has_disk, disk),
        (
            Opt::Detach,
            has_disk || role == Role::Server,
            "server, client,blk or loopback,blk",
        ),
        (Opt::Comm, taps, "client,tap=DISK"),
    ];
    for (opt, holds, valid) in rules {
        if given.has(opt) && !holds {
            return Err(invalid(opt.name(), Reason::IsFor { valid }));
        }
    }
    Ok(())
}

/// Options that a disk or tap has no use for, which others have.
const OTHERS: [Opt; 9] = [
    Opt::Verbose,
    Opt::MemMode,
    Opt::LocalDmaLkey,
    Opt::UnsafeGlobalRkey,
    Opt::Duration,
    Opt::Poll,
    Opt::TxDepth,
    Opt::Pattern,
    Opt::Count,
];

/// Checks what is given with a disk or tap, or the server of one.
pub(crate) fn fits(command: &Command, given: OptSet) -> Result<'static, ()> {
    let (role, test) = (command.role, command.test);
    for opt in OTHERS {
        let counts = opt == Opt::Count && test == Test::Tap;
        if given.has(opt) && !counts {
            let valid = "the other tests";
            return Err(invalid(opt.name(), Reason::WrongTest { test, valid }));
        }
    }
    if given.has(Opt::Count) && role == Role::Server {
        return Err(invalid(Opt::Count.name(), Reason::FollowsClient));
    }
    if role != Role::Server && command.threads != 1 {
        return Err(invalid(Opt::Threads.name(), Reason::OneThread));
    }
    if role == Role::Client {
        return Ok(());
    }
    let block = &command.block;
    match block.store {
        Some(StoreName::Ram) if block.bytes == 0 => {
            Err(invalid(Opt::Store.name(), Reason::RamNeedsSize))
        }
        Some(_) => Ok(()),
        None if !block.log => {
            let or_log = test == Test::Tap;
            Err(invalid(test.as_str(), Reason::NoStore { or_log }))
        }
        None if given.has(Opt::Size) => Err(invalid(Opt::Size.name(), Reason::SizeOfNothing)),
        None => Ok(()),
    }
}
