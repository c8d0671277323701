// SPDX-License-Identifier: GPL-2.0

//! Finds the role and the test that the given options ask for, and checks each option by its row in
//! the table.

use super::{
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
use crate::logic::command::{
    block_options::StoreName,
    parse_error::Reason,
    value::{
        invalid,
        Result, //
    },
    Command, //
};

/// Returns the test that is asked for. Where there is more than one, another check says so.
pub(super) fn test(given: OptSet) -> Test {
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
pub(super) fn role(test: Test, given: OptSet) -> Result<'static, Role> {
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
pub(super) fn one_of_each_group(given: OptSet) -> Result<'static, ()> {
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
pub(super) fn go_together(command: &Command, given: OptSet) -> Result<'static, ()> {
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
            Needs::Handshake if command.messenger.tcp => {
                let other = Opt::Tcp.spec().name();
                Reason::Both { other }
            }
            Needs::Nothing
            | Needs::Reg
            | Needs::Dma
            | Needs::Path
            | Needs::Latencies
            | Needs::Series
            | Needs::Datagrams
            | Needs::Handshake => continue,
        };
        return Err(invalid(opt.name(), reason));
    }
    Ok(())
}

/// Returns why an option does not go with a command's role and test.
fn elsewhere(opt: &OptionSpec, role: Role, test: Test) -> Reason<'static> {
    let fits = |role| opt.fits(role, test);
    let for_test = Role::ALL.into_iter().any(fits);
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
        (_, Elsewhere::Tests) if for_test => match (fits(Role::Client), fits(Role::Loopback)) {
            (true, false) => Reason::NeedsClient,
            (true, true) => Reason::FollowsClient,
            (false, true) if role == Role::Client => Reason::ServesHere,
            (false, _) => Reason::NeedsServer,
        },
        (_, Elsewhere::Tests) => {
            let valid = TestSet::of(|test| Role::ALL.iter().any(|role| opt.fits(*role, test)));
            Reason::WrongTest { test, valid }
        }
    }
}
