// SPDX-License-Identifier: GPL-2.0

//! What a server checks of requests before it does anything, and how it says how they ended.

use super::{
    block::{
        least,
        ACTIONS,
        STATUSES, //
    },
    cases, //
};
use crate::logic::{
    block::{
        check,
        Action,
        Limits,
        Status, //
    },
    failure::errno, //
};
use proptest::{
    prelude::*,
    sample::select, //
};

const LIMITS: Limits = Limits {
    size: 1 << 20,
    block: 512,
    max_bytes: 64 << 10,
    max_discard: 128 << 10,
    read_only: false,
};

fn checked(action: Action, offset: u64, size: u32, limits: &Limits) -> Result<(), Status> {
    let mut request = least(action);
    (request.offset, request.remote.size) = (offset, size);
    check(&request, limits)
}

#[test]
fn requests_are_within_their_limits() {
    let data = [Action::Read, Action::Write];
    let zeroes = [Action::Discard, Action::WriteZeroes];
    for action in data.into_iter().chain(zeroes) {
        let most: u32 = if data.contains(&action) {
            64 << 10
        } else {
            128 << 10
        };
        let end = 1u64 << 20;
        let last = 0u64.wrapping_sub(512);
        for (offset, size, expected) in [
            (0, 512, Ok(())),
            (0, most, Ok(())),
            (end - u64::from(most), most, Ok(())),
            (end - 512, 512, Ok(())),
            (0, 0, Err(Status::Invalid)),
            (0, most + 512, Err(Status::Invalid)),
            (0, u32::MAX - 511, Err(Status::Invalid)),
            (0, 511, Err(Status::Invalid)),
            (0, 513, Err(Status::Invalid)),
            (1, 512, Err(Status::Invalid)),
            (256, 512, Err(Status::Invalid)),
            (end, 512, Err(Status::OutOfRange)),
            (end - 512, 1024, Err(Status::OutOfRange)),
            // These would be on the disk, modulo 2^64.
            (last, 512, Err(Status::OutOfRange)),
            (last, 1024, Err(Status::OutOfRange)),
            (last, most, Err(Status::OutOfRange)),
            (1 << 63, 512, Err(Status::OutOfRange)),
        ] {
            let got = checked(action, offset, size, &LIMITS);
            assert_eq!(got, expected, "{action:?} {offset} {size}");
        }
    }
}

#[test]
fn larger_blocks() {
    let limits = Limits {
        block: 4096,
        ..LIMITS
    };
    for (offset, size, expected) in [
        (0, 4096, Ok(())),
        (4096, 8192, Ok(())),
        (512, 4096, Err(Status::Invalid)),
        (0, 512, Err(Status::Invalid)),
        (0, 4608, Err(Status::Invalid)),
    ] {
        assert_eq!(checked(Action::Write, offset, size, &limits), expected);
    }
    // A store that ends within a block has only those before.
    for (size, expected) in [(1023, Err(Status::OutOfRange)), (1024, Ok(()))] {
        let limits = Limits { size, ..LIMITS };
        assert_eq!(checked(Action::Read, 512, 512, &limits), expected);
    }
    // A store of blocks without bytes has none.
    let none = Limits { block: 0, ..LIMITS };
    assert_eq!(checked(Action::Read, 0, 512, &none), Err(Status::Invalid));
}

#[test]
fn stores_that_are_not_to_be_changed() {
    let limits = Limits {
        read_only: true,
        ..LIMITS
    };
    for action in ACTIONS {
        let changes = matches!(
            action,
            Action::Write | Action::Discard | Action::WriteZeroes
        );
        let expected = if changes {
            Err(Status::ReadOnly)
        } else {
            Ok(())
        };
        assert_eq!(checked(action, 0, 512, &limits), expected, "{action:?}");
    }
}

#[test]
fn stores_that_do_not_discard() {
    let limits = Limits {
        max_discard: 0,
        ..LIMITS
    };
    for action in [Action::Discard, Action::WriteZeroes] {
        for size in [0, 512, u32::MAX] {
            let got = checked(action, 0, size, &limits);
            assert_eq!(got, Err(Status::Unsupported));
        }
    }
    assert_eq!(checked(Action::Write, 0, 512, &limits), Ok(()));
}

#[test]
fn what_touches_no_blocks_is_never_refused() {
    for action in [
        Action::Flush,
        Action::Ping,
        Action::Close,
        Action::Note,
        Action::Survey,
    ] {
        for (offset, size) in [(0, 0), (1, 1), (u64::MAX, u32::MAX)] {
            assert_eq!(checked(action, offset, size, &LIMITS), Ok(()));
        }
    }
}

#[test]
fn statuses_and_errnos() {
    let names = [
        "0",
        "EIO",
        "ENOSPC",
        "EROFS",
        "ERANGE",
        "EOPNOTSUPP",
        "EINVAL",
    ];
    for (status, name) in STATUSES.into_iter().zip(names) {
        assert_eq!(errno::name(status.errno()).unwrap_or("0"), name);
        assert_eq!(Status::from_errno(status.errno()), status);
        assert_eq!(Status::from_errno(-status.errno()), status);
        assert!(!status.as_str().is_empty());
    }
    for (number, status) in [
        (27, Status::NoSpace),
        (-122, Status::NoSpace),
        (12, Status::Io),
        (-71, Status::Io),
        (i32::MIN, Status::Io),
        (i32::MAX, Status::Io),
    ] {
        assert_eq!(Status::from_errno(number), status);
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    let block = select(&[512u32, 1024, 2048, 4096]);
    let blocks = prop_oneof![1u64..300, 1u64..=u64::MAX / 4096];
    (block, blocks, 1u32..100, 0u32..100, any::<bool>()).prop_map(
        |(block, blocks, max_bytes, max_discard, read_only)| Limits {
            size: blocks * u64::from(block),
            block,
            max_bytes: max_bytes * block,
            max_discard: max_discard * block,
            read_only,
        },
    )
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn only_blocks_of_the_disk_are_touched(
        limits in limits(),
        action in select(&ACTIONS),
        offset in prop_oneof![(0u64..400).prop_map(|n| n * 512), any::<u64>()],
        from_end: bool,
        blocks in 0u32..=200,
        odd in prop_oneof![3 => Just(0u32), 1 => any::<u32>()],
    ) {
        let offset = if from_end { limits.size.wrapping_sub(offset) } else { offset };
        let size = (blocks * 512).wrapping_add(odd);
        // As it would be said where numbers have no end.
        let whole = |n: u128| n % u128::from(limits.block) == 0;
        let (start, len) = (u128::from(offset), u128::from(size));
        let fits = |most: u32| len > 0 && whole(start) && whole(len) && size <= most;
        let inside = start + len <= u128::from(limits.size);
        let expected = match action {
            Action::Flush | Action::Note | Action::Ping | Action::Close | Action::Survey => Ok(()),
            Action::Read | Action::Write => match fits(limits.max_bytes) {
                _ if limits.read_only && action == Action::Write => Err(Status::ReadOnly),
                false => Err(Status::Invalid),
                true if inside => Ok(()),
                true => Err(Status::OutOfRange),
            },
            Action::Discard | Action::WriteZeroes => match fits(limits.max_discard) {
                _ if limits.read_only => Err(Status::ReadOnly),
                _ if limits.max_discard == 0 => Err(Status::Unsupported),
                false => Err(Status::Invalid),
                true if inside => Ok(()),
                true => Err(Status::OutOfRange),
            },
        };
        prop_assert_eq!(checked(action, offset, size, &limits), expected);
    }
}
