// SPDX-License-Identifier: GPL-2.0

//! Makes one command of its options: sets the role, the test and the defaults that depend on other
//! options, and checks what goes together beyond the row of each option, which is for [`given`].

use super::{
    given,
    limits,
    load::Load,
    mem_mode::MemMode,
    opt_set::OptSet,
    options::Opt,
    role::Role,
    service::Service,
    suits::{
        hinders_clock,
        may_lose_turns,
        rw_pages, //
    },
    test_set::TestSet,
    tests::{
        Test,
        Verb, //
    }, //
};
use crate::logic::{
    command::{
        block_options::StoreName,
        parse_error::{
            Kind,
            ParseError,
            Reason, //
        },
        value::{
            invalid,
            Result, //
        },
        Addr,
        Command,
        MulticastGroup,
        Source, //
    },
    measure::slots::{
        self,
        Slots, //
    },
    wire::control::Control, //
};

/// Sets the role and the test of `command`, and the defaults that depend on them.
pub(crate) fn begin(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let test = given::test(given);
    let role = given::role(test, given)?;
    (command.role, command.test) = (role, test);
    given::one_of_each_group(given)?;
    if !given.has(Opt::Port) {
        command.port = Command::new(role).port;
    }
    // Only a registered key can be invalidated. C krping has no `mem_mode`, so its lines
    // name none.
    let invalidates = given.has(Opt::ServerInv) || given.has(Opt::ReadInv);
    if invalidates && !given.has(Opt::MemMode) {
        command.mem_mode = MemMode::Reg;
    }
    if let Some(size) = test.only_size() {
        command.size = size;
    }
    if test == Test::Tap && role == Role::Client {
        command.block.bytes = limits::DEFAULT_RING;
    }
    if !given.has(Opt::SignalEvery) {
        command.load.signal_every = Load::usual_signal_every(test, command.load.completes_each());
    }
    given::go_together(command, given)
}

/// Checks `command`, whose options are all read.
pub(crate) fn finish(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let (role, test) = (command.role, command.test);
    if command.addr.is_none() && role != Role::Server {
        return Err(no_address(role, test));
    }
    if let (Some(Source::Address(src)), Some(addr)) = (&command.source, &command.addr) {
        if !src.is_of_family_of(addr) {
            return Err(wrong(Opt::Src, Reason::OtherFamily));
        }
    }
    // A server without a test serves any, with the client's load.
    if role == Role::Server && test == Test::PingPong {
        command.load = Load::new(test);
    }
    if test.is_microbench() && command.mem_mode == MemMode::Reg {
        return Err(wrong(Opt::MemMode, Reason::RegWithTest { test }));
    }
    if let (true, Some(other)) = (command.pool, needs_own_queues(command)) {
        let other = other.spec().name();
        return Err(wrong(Opt::Cq, Reason::PoolWith { other }));
    }
    let (sge, size) = (command.load.sge, command.size);
    if u32::from(sge) > size && test.has_size() {
        return Err(wrong(Opt::Sge, Reason::SgeAboveSize { sge, size }));
    }
    if command.load.service.is_unreliable() {
        may_lose(command)?;
    }
    if let (true, Some(other)) = (command.load.solicited, wakes_at_all(command)) {
        let other = other.spec().name();
        return Err(wrong(Opt::Solicited, Reason::Both { other }));
    }
    if command.load.paced {
        follows_clock(command)?;
    }
    if command.load.mixed {
        mixes(command, given)?;
    }
    if command.load.buffers > 1 || command.load.mrs > 1 {
        takes_turns(command, given)?;
    }
    if command.mcast.is_some_and(|group| !reaches(command, group)) {
        return Err(wrong(Opt::Mcast, Reason::OtherFamily));
    }
    if command.load.full {
        compares_all(command, given)?;
    }
    if test.is_rw() {
        is_covered(command)?;
    }
    if test.is_block() {
        has_store(command, given)?;
    }
    if test.is_stream() {
        flows(command, given)?;
    }
    command.load.imm |= command.needs_imm();
    // INVARIANT: each line of `Command`'s was checked here and in `begin`.
    Ok(())
}

/// Returns the option that a command gives for which completion queues of the pool do not do: they
/// cannot be polled, raise events of any completion, and do not tell which queue pair has taken a
/// shared receive.
fn needs_own_queues(command: &Command) -> Option<Opt> {
    match (command.spin_us, command.srq) {
        _ if command.poll => Some(Opt::Poll),
        _ if command.load.solicited => Some(Opt::Solicited),
        (Some(_), _) => Some(Opt::Spin),
        (None, Some(_)) => Some(Opt::Srq),
        (None, None) => None,
    }
}

/// Returns the option that a command gives with which other completions than those of solicited
/// messages are waited for: a side that sends waits for its own, and shared receives are taken by
/// messages that wake nobody.
fn wakes_at_all(command: &Command) -> Option<Opt> {
    match command {
        _ if command.load.duplex => Some(Opt::Duplex),
        Command { srq: Some(_), .. } => Some(Opt::Srq),
        _ => None,
    }
}

/// Checks a command whose messages may be lost.
fn may_lose(command: &Command) -> Result<'static, ()> {
    let (test, load) = (command.test, &command.load);
    let wrong_test = |fits: fn(Test) -> bool| {
        let valid = TestSet::of(fits);
        Reason::WrongTest { test, valid }
    };
    if load.service == Service::Ud && !test.takes_datagrams() && command.role != Role::Server {
        return Err(invalid("qp=ud", wrong_test(Test::takes_datagrams)));
    }
    let clash = match command {
        _ if load.duplex => Some(Opt::Duplex),
        Command { srq: Some(_), .. } => Some(Opt::Srq),
        _ => None,
    };
    if let Some(other) = clash {
        let other = other.spec().name();
        return Err(wrong(Opt::Qp, Reason::UnreliableWith { other }));
    }
    if load.full && !test.takes_datagrams() && command.role != Role::Server {
        // The peer would write over what has not been compared yet.
        let sends = |test: Test| test.takes_full() && test.takes_datagrams();
        let reason = wrong_test(sends);
        return Err(invalid("validate=full with qp=uc", reason));
    }
    Ok(())
}

/// Checks a command whose operations are posted when they are due: one by one, each with a
/// completion, and by one side.
fn follows_clock(command: &Command) -> Result<'static, ()> {
    let (test, load) = (command.test, &command.load);
    // The server of a stream that it sends itself knows of no rate.
    let reverse = command.stream.reverse.then_some(Opt::Reverse);
    // What is due is to go when it is due.
    let coalesce = command.stream.coalesce.then_some(Opt::Coalesce);
    if let Some(other) = hinders_clock(load).or(reverse).or(coalesce) {
        let other = other.spec().name();
        return Err(wrong(Opt::Rate, Reason::Both { other }));
    }
    if may_lose_turns(load, test) {
        // A side that has nothing to do sends again what may be lost.
        let valid = TestSet::of(|test| test.is_bandwidth() && test.takes_unreliable());
        let reason = Reason::WrongTest { test, valid };
        return Err(invalid("rate with qp=uc or ud", reason));
    }
    let queue_pairs = command.queue_pairs();
    match command.rate {
        Some(rate) if u64::from(rate) * u64::from(limits::MOST_PERIOD_S) < queue_pairs => {
            Err(ParseError {
                kind: Kind::Range,
                option: Opt::Rate.spec().name(),
                reason: Reason::RateBelow { rate, queue_pairs },
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks a command whose operations have several sizes, and takes the largest for that of the
/// data.
fn mixes(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let name = Opt::Sizes.spec().name();
    let both = |opt| Err(wrong(opt, Reason::Both { other: name }));
    let sends = command.test.spec().verb == Some(Verb::Send);
    let smallest = command.sizes.sizes().min().unwrap_or(0);
    command.size = command.sizes.sizes().max().unwrap_or(0);
    match command.load.sge {
        _ if given.has(Opt::Size) => both(Opt::Size),
        _ if command.load.duplex => both(Opt::Duplex),
        _ if command.validate => both(Opt::Validate),
        _ if command.load.service.is_unreliable() => {
            Err(wrong(Opt::Qp, Reason::UnreliableWith { other: name }))
        }
        _ if sends
            && command
                .sizes
                .sizes()
                .any(|size| size == Control::MAX_LEN as u32) =>
        {
            Err(wrong(Opt::Sizes, Reason::SizeOfControl))
        }
        sge if u32::from(sge) > smallest => {
            let size = smallest;
            Err(wrong(Opt::Sge, Reason::SgeAboveSize { sge, size }))
        }
        _ => Ok(()),
    }
}

/// Checks a command whose operations take several buffers in turn, in regions of which each has
/// one.
fn takes_turns(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let load = &mut command.load;
    if !given.has(Opt::Buffers) {
        load.buffers = load.mrs;
    }
    if load.mrs > load.buffers {
        let (mrs, buffers) = (load.mrs, load.buffers);
        return Err(wrong(Opt::Mrs, Reason::MrsAboveBuffers { mrs, buffers }));
    }
    let first = if given.has(Opt::Buffers) {
        Opt::Buffers
    } else {
        Opt::Mrs
    };
    if load.service.is_unreliable() {
        let other = first.spec().name();
        return Err(wrong(Opt::Qp, Reason::UnreliableWith { other }));
    }
    if load.full {
        let other = first.spec().name();
        return Err(invalid("validate=full", Reason::Both { other }));
    }
    if command.unsafe_global_rkey && load.mrs > 1 {
        let other = Opt::Mrs.spec().name();
        return Err(wrong(Opt::UnsafeGlobalRkey, Reason::Both { other }));
    }
    Ok(())
}

/// Returns true where `group` is of the family of the command's address.
fn reaches(command: &Command, group: MulticastGroup) -> bool {
    matches!(
        (&command.addr, group),
        (None | Some(Addr::V4(_)), MulticastGroup::V4(_))
            | (Some(Addr::V6 { .. }), MulticastGroup::V6(_))
    )
}

/// Checks a command whose messages are all compared, and has a completion come often enough for the
/// places that there are.
fn compares_all(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let (test, size) = (command.test, command.size);
    let invalid = |reason| invalid("validate=full", reason);
    if !test.takes_full() && command.role != Role::Server {
        let valid = TestSet::of(Test::takes_full);
        return Err(invalid(Reason::WrongTest { test, valid }));
    }
    if size > slots::LARGEST {
        return Err(size_above(slots::LARGEST, "with validate=full"));
    }
    let slots = Slots::of(size);
    if !given.has(Opt::SignalEvery) {
        let most = slots.signal_every();
        command.load.signal_every = command.load.signal_every.min(most);
    }
    if command.load.depth() > slots.under_way() {
        let most = slots.under_way();
        return Err(invalid(Reason::TooManyUnderWay { size, most }));
    }
    Ok(())
}

/// Checks that the memory of a transfer has a page for each of its pieces, and not too many.
fn is_covered(command: &Command) -> Result<'static, ()> {
    let Load { segs, offset, .. } = command.load;
    match rw_pages(&command.load, command.size) {
        None => {
            let max = limits::MOST_RW.saturating_sub(offset.into());
            let what = "that one transfer moves from this offset=";
            Err(size_above(max, what))
        }
        Some(pages) if pages < segs.into() => {
            Err(wrong(Opt::Segs, Reason::SegsAbovePages { segs, pages }))
        }
        Some(_) => Ok(()),
    }
}

fn no_address(role: Role, test: Test) -> ParseError<'static> {
    let reason = match test.implied_role() {
        Some(Role::Client) => Reason::NoDevice,
        Some(Role::Loopback | Role::Server) | None => Reason::NoAddr,
    };
    match test.implied_role() {
        Some(_) => invalid(test.as_str(), reason),
        None => invalid(role.as_str(), reason),
    }
}

/// Checks the place of the blocks of a disk's or tap's server.
fn has_store(command: &Command, given: OptSet) -> Result<'static, ()> {
    let (role, test, block) = (command.role, command.test, &command.block);
    if role != Role::Server && command.threads != 1 {
        return Err(wrong(Opt::Threads, Reason::OneThread));
    }
    if role == Role::Client {
        return Ok(());
    }
    match block.store {
        Some(StoreName::Ram) if block.bytes == 0 => Err(wrong(Opt::Store, Reason::RamNeedsSize)),
        Some(_) => Ok(()),
        None if !block.log => {
            let or_log = test == Test::Tap;
            Err(invalid(test.as_str(), Reason::NoStore { or_log }))
        }
        None if given.has(Opt::Size) => Err(wrong(Opt::Size, Reason::SizeOfNothing)),
        None => Ok(()),
    }
}

/// Checks which side of a stream sends, and what goes with memory that is written to directly.
fn flows(command: &Command, given: OptSet) -> Result<'static, ()> {
    let options = &command.stream;
    // Nothing but the memory says that a direct write has come.
    if options.iomap && options.echo && !command.poll {
        let other = Opt::Poll.spec().name();
        return Err(invalid("iomap with echo", Reason::NeedsToo { other }));
    }
    if options.iomap && command.size > limits::MOST_DIRECT {
        return Err(size_above(limits::MOST_DIRECT, "with iomap"));
    }
    let alone = [(options.echo, Opt::Echo), (options.iomap, Opt::IoMap)];
    if let Some((_, other)) = alone.iter().find(|(on, _)| *on && options.coalesce) {
        // One write is under way, or none takes room.
        let other = other.spec().name();
        return Err(wrong(Opt::Coalesce, Reason::Both { other }));
    }
    let needs = |opt, other: Opt| {
        let other = other.spec().name();
        Err(wrong(opt, Reason::NeedsToo { other }))
    };
    let first = |opts: &[Opt]| opts.iter().copied().find(|opt| given.has(*opt));
    if command.role == Role::Server && !options.reverse {
        return match first(&[Opt::Count, Opt::Duration]) {
            Some(opt) => needs(opt, Opt::Reverse),
            None if given.has(Opt::Size) && !options.iomap => needs(Opt::Size, Opt::IoMap),
            None => Ok(()),
        };
    }
    let sent = match command.role {
        Role::Client => &[Opt::Count, Opt::Duration, Opt::Size][..],
        Role::Server | Role::Loopback => &[],
    };
    let clash = first(&[Opt::Echo, Opt::IoMap, Opt::Interval, Opt::Coalesce]).or(first(sent));
    match clash.filter(|_| options.reverse) {
        Some(opt) => {
            let other = Opt::Reverse.spec().name();
            Err(wrong(opt, Reason::Both { other }))
        }
        None => Ok(()),
    }
}

/// Returns the error of data that is larger than `max`, the most of `what`.
fn size_above(max: u32, what: &'static str) -> ParseError<'static> {
    ParseError {
        kind: Kind::Range,
        option: Opt::Size.spec().name(),
        reason: Reason::SizeAbove { max, what },
    }
}

fn wrong(opt: Opt, reason: Reason<'static>) -> ParseError<'static> {
    invalid(opt.spec().name(), reason)
}
