// SPDX-License-Identifier: GPL-2.0

//! Makes one command of its options: finds the role and the test, sets the defaults that depend on
//! other options, and checks which options go together.

use super::{
    limits,
    load::Load,
    mem_mode::MemMode,
    opt_set::OptSet,
    option::{
        Asks,
        Elsewhere,
        Group,
        Needs,
        OptionSpec, //
    },
    options::Opt,
    places::Places,
    role::Role,
    service::Service,
    test_set::TestSet,
    tests::Test, //
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
        MulticastGroup, //
    },
    measure::slots::{
        self,
        Slots, //
    }, //
};

/// Sets the role and the test of `command`, and the defaults that depend on them.
pub(crate) fn begin(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let test = test(given);
    let role = role(test, given)?;
    (command.role, command.test) = (role, test);
    one_of_each_group(given)?;
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
    go_together(command, given)
}

/// Checks `command`, whose options are all read.
pub(crate) fn finish(command: &mut Command, given: OptSet) -> Result<'static, ()> {
    let (role, test) = (command.role, command.test);
    if command.addr.is_none() && role != Role::Server {
        return Err(no_address(role, test));
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
    if command.mcast.is_some_and(|group| !reaches(command, group)) {
        return Err(wrong(Opt::Mcast, Reason::GroupOfOtherFamily));
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

/// Returns the pages of the server's memory of a transfer; `None` for more than one can have.
fn rw_pages(load: &Load, size: u32) -> Option<u32> {
    let end = size.checked_add(load.offset.into())?;
    (end <= limits::MOST_RW).then_some(end.div_ceil(limits::RW_PAGE))
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

/// Returns true where the client of a `test` with data of `size` bytes can have this load, and
/// `validate` or not.
pub(crate) fn suits(load: &Load, validate: bool, test: Test, size: u32) -> bool {
    let goes = |opt: Opt| opt.spec().goes_with(Role::Client, test);
    suits_service(load, validate, test)
        && (!load.duplex || goes(Opt::Duplex))
        && (!load.imm || goes(Opt::Imm))
        && (!load.inline || goes(Opt::Inline))
        && (!load.untimed || goes(Opt::Untimed))
        && (!load.solicited || goes(Opt::Solicited) && raises_events(load, test))
        && (!load.sig_all || goes(Opt::SigAll) && load.signal_every == 1)
        && (!load.paced || goes(Opt::Rate) && can_follow_clock(load, test))
        && (load.qps == 1 || goes(Opt::Qps))
        && (load.postlist == 1 || goes(Opt::PostList))
        && (load.signal_every == 1 || goes(Opt::SignalEvery))
        && (load.sge == 1 || goes(Opt::Sge))
        && (load.segs == 1 || goes(Opt::Segs))
        && (load.offset == 0 || goes(Opt::Offset))
        && (!load.biovec || goes(Opt::BioVec))
        && (!test.is_rw() || rw_pages(load, size).is_some_and(|n| n >= load.segs.into()))
        && u32::from(load.sge) <= size
        && test.only_size().is_none_or(|only| size == only)
        && (!validate || goes(Opt::Validate))
        && (!load.full || validate && compared(load, test, size))
}

/// Returns true where a client of `test` with this load can post operations when they are due.
fn can_follow_clock(load: &Load, test: Test) -> bool {
    hinders_clock(load).is_none() && !may_lose_turns(load, test) && !load.untimed
}

/// Returns the option of this load with which operations cannot be posted when they are due.
fn hinders_clock(load: &Load) -> Option<Opt> {
    match load {
        _ if load.duplex => Some(Opt::Duplex),
        _ if load.solicited => Some(Opt::Solicited),
        _ if load.postlist != 1 => Some(Opt::PostList),
        _ if load.signal_every != 1 => Some(Opt::SignalEvery),
        _ => None,
    }
}

/// Returns true where the sides of `test` take turns, and what gives the turn may be lost.
fn may_lose_turns(load: &Load, test: Test) -> bool {
    load.service.is_unreliable() && test.is_latency()
}

/// Returns true where the operations of a client of `test` with this load raise events at a peer
/// that waits for these only.
fn raises_events(load: &Load, test: Test) -> bool {
    !load.duplex && (load.imm || !test.takes_imm())
}

/// Returns true where a client of `test` with this load, and `validate` or not, can have the
/// service.
fn suits_service(load: &Load, validate: bool, test: Test) -> bool {
    let sends = test.takes_datagrams();
    match load.service {
        Service::Rc => true,
        Service::Uc | Service::Ud if load.duplex => false,
        Service::Uc => {
            let compares = !validate || load.imm || sends;
            test.takes_unreliable() && compares && (!load.full || sends)
        }
        Service::Ud => sends,
    }
}

/// Returns true where all messages of a client of `test` with this load can be compared.
fn compared(load: &Load, test: Test, size: u32) -> bool {
    test.takes_full()
        && size <= slots::LARGEST
        && load.depth() <= Slots::of(size).under_way()
        // Otherwise nothing says that a message has arrived.
        && (load.imm || !test.takes_imm())
}

/// Returns the test that is asked for. Where there is more than one, another check says so.
fn test(given: OptSet) -> Test {
    let mut asked = given.iter().filter_map(|opt| match opt.spec().asks {
        Asks::Test(test) => Some(test),
        Asks::Role(_) | Asks::Nothing => None,
    });
    let conformance = given.has(Opt::Neg).then_some(Test::Conformance);
    conformance
        .or_else(|| asked.next())
        .unwrap_or(Test::PingPong)
}

/// Returns the one role that is given or that the test implies.
fn role(test: Test, given: OptSet) -> Result<'static, Role> {
    // This one says itself what is wrong with a role.
    if test == Test::Conformance {
        return Ok(Role::Loopback);
    }
    let mut roles = given.iter().filter_map(|opt| match opt.spec().asks {
        Asks::Role(role) => Some(role),
        Asks::Test(_) | Asks::Nothing => None,
    });
    match (roles.next(), roles.next()) {
        (None, _) => test.implied_role().ok_or(invalid("", Reason::NoRole)),
        (Some(role), None) => Ok(role),
        (Some(role), Some(other)) => {
            let other = other.as_str();
            Err(invalid(role.as_str(), Reason::TwoRoles { other }))
        }
    }
}

/// Checks that of options that stand for each other's place only one is given.
fn one_of_each_group(given: OptSet) -> Result<'static, ()> {
    for group in Group::ALL {
        let mut members = given
            .iter()
            .map(Opt::spec)
            .filter(|opt| opt.group == Some(group));
        if let (Some(one), Some(other)) = (members.next(), members.next()) {
            let other = other.name();
            return Err(invalid(one.name(), Reason::Both { other }));
        }
    }
    Ok(())
}

/// Checks each option against the role, the test, and what it needs.
fn go_together(command: &Command, given: OptSet) -> Result<'static, ()> {
    for opt in given.iter().map(Opt::spec) {
        if !opt.goes_with(command.role, command.test) {
            return Err(invalid(
                opt.name(),
                elsewhere(opt, command.role, command.test),
            ));
        }
        let reason = match opt.needs {
            Needs::Reg if command.mem_mode != MemMode::Reg => Reason::NeedsReg,
            Needs::Dma if command.mem_mode != MemMode::Dma => Reason::NeedsDma,
            Needs::Path if !matches!(command.block.store, Some(StoreName::Path(_))) => {
                Reason::NeedsPath
            }
            Needs::Latencies if command.load.untimed => {
                let other = Opt::Untimed.spec().name();
                Reason::Both { other }
            }
            Needs::Series if command.interval_ms.is_none() => {
                let other = Opt::Interval.spec().name();
                Reason::NeedsToo { other }
            }
            Needs::Series if !given.has(Opt::MaxP99) && !given.has(Opt::MinBw) => {
                Reason::NeedsToo {
                    other: "max_p99 or min_bw",
                }
            }
            Needs::Datagrams
                if command.role != Role::Server && command.load.service != Service::Ud =>
            {
                Reason::NeedsToo { other: "qp=ud" }
            }
            Needs::Nothing
            | Needs::Reg
            | Needs::Dma
            | Needs::Path
            | Needs::Latencies
            | Needs::Series
            | Needs::Datagrams => continue,
        };
        return Err(invalid(opt.name(), reason));
    }
    Ok(())
}

/// Returns why an option does not go with a command's role and test.
fn elsewhere(opt: &OptionSpec, role: Role, test: Test) -> Reason<'static> {
    let for_test = Role::ALL.iter().any(|role| opt.fits(*role, test));
    match (test, &opt.elsewhere) {
        (Test::Conformance, _) => match opt.asks {
            Asks::Role(_) => Reason::NegIsLoopback,
            Asks::Test(_) | Asks::Nothing => Reason::NotWithNeg,
        },
        (Test::Caps, _) => {
            let valid = TestSet::of(Test::iterates);
            Reason::WrongTest { test, valid }
        }
        (Test::Tap, _) if matches!(opt.asks, Asks::Test(_)) => Reason::TapLoopback,
        (_, Elsewhere::Places) => {
            let valid = Places::of(|role, test| opt.fits(role, test));
            Reason::IsFor { valid }
        }
        (_, Elsewhere::Tests) if for_test && role == Role::Server => Reason::FollowsClient,
        (_, Elsewhere::Tests) if for_test => Reason::NeedsServer,
        (_, Elsewhere::Tests) => {
            let valid = TestSet::of(|test| Role::ALL.iter().any(|role| opt.fits(*role, test)));
            Reason::WrongTest { test, valid }
        }
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
