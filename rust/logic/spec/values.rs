// SPDX-License-Identifier: GPL-2.0

//! The values of options that have a grammar of their own.

use super::{
    limits,
    option::Text,
    role::Role,
    tests::Test, //
};
use crate::logic::{
    command::{
        addr::{
            Addr,
            Source,
            V6Error, //
        },
        allow::AllowList,
        block_options::StoreName,
        cpus::CpuList,
        group::MulticastGroup,
        parse_error::Reason,
        value::{
            Given,
            Result,
            SIZE as BYTES, //
        },
        Comm,
        Command,
        Tag as TagText, //
    },
    conformance::CaseSet,
    failure::errno, //
};

/// An IPv4 address.
pub(super) const ADDR: Text = Text {
    example: "192.0.2.1",
    read: |command, given| {
        let value = given.value(ADDR.example)?;
        let addr = Addr::parse_v4(value);
        command.addr = Some(addr.ok_or(given.invalid(Reason::NotV4 { value }))?);
        Ok(())
    },
    is_set: |command| matches!(command.addr, Some(Addr::V4(_))),
    show: |command, f| {
        command
            .addr
            .as_ref()
            .map_or(Ok(()), |addr| write!(f, "{addr}"))
    },
};

/// An IPv6 address.
pub(super) const ADDR6: Text = Text {
    example: "2001:db8::1",
    read: |command, given| {
        let value = given.value(ADDR6.example)?;
        let addr = Addr::parse_v6(value).map_err(|e| {
            given.invalid(match e {
                V6Error::Address => Reason::NotV6 { value },
                V6Error::Interface => Reason::NotInterface { value },
                V6Error::NoInterface => Reason::NoInterface { value },
            })
        })?;
        command.addr = Some(addr);
        Ok(())
    },
    is_set: |command| matches!(command.addr, Some(Addr::V6 { .. })),
    show: ADDR.show,
};

/// An own address, of either family.
pub(super) const SRC: Text = Text {
    example: "192.0.2.2",
    read: |command, given| {
        let value = given.value(SRC.example)?;
        let addr = match value.contains(':') {
            true => Addr::parse_v6(value).ok(),
            false => Addr::parse_v4(value),
        };
        let addr = addr.ok_or(given.invalid(Reason::NotAddress { value }))?;
        command.source = Some(Source::Address(addr));
        Ok(())
    },
    is_set: |command| matches!(command.source, Some(Source::Address(_))),
    show: |command, f| match &command.source {
        Some(Source::Address(addr)) => write!(f, "{addr}"),
        Some(Source::Device(_)) | None => Ok(()),
    },
};

/// The name of an RDMA device.
pub(super) const DEV: Text = Text {
    example: "mlx5_0",
    read: |command, given| {
        let name = given.text(DEV.example, |value| Reason::NotDevice { value })?;
        command.source = Some(Source::Device(name));
        Ok(())
    },
    is_set: |command| matches!(command.source, Some(Source::Device(_))),
    show: |command, f| match &command.source {
        Some(Source::Device(name)) => write!(f, "{name}"),
        Some(Source::Address(_)) | None => Ok(()),
    },
};

/// Networks of clients.
pub(super) const ALLOW: Text = Text {
    example: "192.0.2.0/24",
    read: |command, given| {
        let value = given.value(ALLOW.example)?;
        let list = AllowList::parse(value);
        command.allow = list.ok_or(given.invalid(Reason::NotNetworks { value }))?;
        Ok(())
    },
    is_set: |command| !command.allow.is_all(),
    show: |command, f| write!(f, "{}", command.allow),
};

/// The sizes of operations.
pub(super) const SIZES: Text = Text {
    example: "64:9+65536:1",
    read: |command, given| {
        let value = given.value(SIZES.example)?;
        for text in value.split('+') {
            let (size, weight) = text.split_once(':').unwrap_or((text, "1"));
            let part = |value| Given {
                value: Some(value),
                ..given
            };
            let size = part(size).scaled(SIZES.example, &limits::SIZE, &BYTES)?;
            let weight = part(weight).number(SIZES.example, &limits::WEIGHT)?;
            let added = command.sizes.push(size, weight);
            added.ok_or(given.invalid(Reason::NotSizes { value }))?;
        }
        command.load.mixed = true;
        Ok(())
    },
    is_set: |command| !command.sizes.is_empty(),
    show: |command, f| write!(f, "{}", command.sizes),
};

/// CPUs.
pub(super) const CPU: Text = Text {
    example: "0-3+6",
    read: |command, given| {
        let value = given.value(CPU.example)?;
        let list = CpuList::parse(value);
        command.cpus = list.ok_or(given.invalid(Reason::NotCpus { value }))?;
        Ok(())
    },
    is_set: |command| !command.cpus.is_empty(),
    show: |command, f| write!(f, "{}", command.cpus),
};

/// A multicast group.
pub(super) const MCAST: Text = Text {
    example: "239.1.2.3",
    read: |command, given| {
        let value = given.value(MCAST.example)?;
        let group = MulticastGroup::parse(value);
        command.mcast = Some(group.ok_or(given.invalid(Reason::NotGroup { value }))?);
        Ok(())
    },
    is_set: |command| command.mcast.is_some(),
    show: |command, f| {
        let group = command.mcast.as_ref();
        group.map_or(Ok(()), |group| write!(f, "{group}"))
    },
};

/// An errno, or `ok`.
pub(super) const EXPECT: Text = Text {
    example: "ETIMEDOUT",
    read: |command, given| {
        let number = match given.value(EXPECT.example)? {
            "ok" => 0,
            value => errno::number(value).ok_or(given.invalid(Reason::NotErrno { value }))?,
        };
        command.expect = Some(number);
        Ok(())
    },
    is_set: |command| command.expect.is_some(),
    show: |command, f| {
        let name = command.expect.and_then(errno::name);
        f.write_str(name.unwrap_or("ok"))
    },
};

/// A text for results.
pub(super) const TAG: Text = Text {
    example: "TEXT",
    read: |command, given| {
        let max = TagText::MAX;
        command.tag = given.text(TAG.example, |_| Reason::NotText { max })?;
        Ok(())
    },
    is_set: |command| !command.tag.is_empty(),
    show: |command, f| write!(f, "{}", command.tag),
};

/// The place of a store.
pub(super) const STORE: Text = Text {
    example: "ram",
    read: |command, given| {
        command.block.store = Some(store(given)?);
        Ok(())
    },
    is_set: |command| command.block.store.is_some(),
    show: |command, f| match &command.block.store {
        Some(StoreName::Ram) => f.write_str("ram"),
        Some(StoreName::Path(path)) => write!(f, "{path}"),
        None => Ok(()),
    },
};

fn store(given: Given<'_>) -> Result<'_, StoreName> {
    if given.value == Some("ram") {
        return Ok(StoreName::Ram);
    }
    let not_store = |value| Reason::NotStore { value };
    let path = given.text(STORE.example, not_store)?;
    match given.value {
        Some(value) if !value.starts_with('/') => Err(given.invalid(not_store(value))),
        _ => Ok(StoreName::Path(path)),
    }
}

/// The name of a program.
pub(super) const COMM: Text = Text {
    example: "dd",
    read: |command, given| {
        let max = Comm::MAX;
        command.block.comm = Some(given.text(COMM.example, |_| Reason::NotText { max })?);
        Ok(())
    },
    is_set: |command| command.block.comm.is_some(),
    show: |command, f| {
        let comm = command.block.comm.as_ref();
        comm.map_or(Ok(()), |comm| write!(f, "{comm}"))
    },
};

/// Conformance tests.
pub(super) const NEG: Text = Text {
    example: "all",
    read: |command, given| {
        command.cases = cases(given)?;
        Ok(())
    },
    is_set: |command| command.test == Test::Conformance,
    show: |command, f| write!(f, "{}", command.cases),
};

fn cases(given: Given<'_>) -> Result<'_, CaseSet> {
    let text = given.value(NEG.example)?;
    if text == "all" {
        return Ok(CaseSet::all());
    }
    let mut set = CaseSet::EMPTY;
    for value in text.split('+') {
        let named = CaseSet::find(value).ok_or(given.invalid(Reason::NotCase { value }))?;
        if !set.join(&named) {
            return Err(given.invalid(Reason::CaseTwice { value }));
        }
    }
    Ok(set)
}

/// The disk of a tap; a server's has no value.
pub(super) const TAP: Text = Text {
    example: "sda",
    read: |command, given| match command.role {
        Role::Server | Role::Loopback => given.flag(),
        Role::Client => {
            let disk = given.text(TAP.example, |value| Reason::NotDisk { value })?;
            command.block.tap = Some(disk);
            Ok(())
        }
    },
    is_set: |command| command.block.tap.is_some(),
    show: |command, f| {
        let disk = command.block.tap.as_ref();
        disk.map_or(Ok(()), |disk| write!(f, "{disk}"))
    },
};

/// Bytes of data, of a store or of a tap's ring.
pub(super) const SIZE: Text = Text {
    example: "4K",
    read: |command, given| {
        if command.test.is_block() {
            return block_size(command, given);
        }
        let range = match command.test.is_rw() {
            true => &limits::RW_SIZE,
            false => &limits::SIZE,
        };
        command.size = given.scaled(SIZE.example, range, &BYTES)?;
        Ok(())
    },
    is_set: |command| match (command.test.is_block(), command.role) {
        (false, _) if command.load.mixed => false,
        (false, _) => command.test.has_size() && command.size != limits::DEFAULT_SIZE,
        (true, Role::Client) => {
            command.test == Test::Tap && command.block.bytes != limits::DEFAULT_RING
        }
        (true, Role::Server | Role::Loopback) => command.block.bytes != 0,
    },
    show: |command, f| match command.test.is_block() {
        true => write!(f, "{}", command.block.bytes),
        false => write!(f, "{}", command.size),
    },
};

fn block_size<'a>(command: &mut Command, given: Given<'a>) -> Result<'a, ()> {
    let range = match (command.role, command.test) {
        (Role::Client, Test::Tap) => &limits::RING,
        (Role::Client, _) => return Err(given.invalid(Reason::SizeOfDisk)),
        (Role::Server | Role::Loopback, _) => &limits::STORE,
    };
    let bytes: u64 = given.scaled("1G", range, &BYTES)?;
    if command.role != Role::Client && bytes % limits::SECTOR != 0 {
        let unit = limits::SECTOR;
        return Err(given.invalid(Reason::NotMultiple { bytes, unit }));
    }
    command.block.bytes = bytes;
    Ok(())
}
