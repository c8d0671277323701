// SPDX-License-Identifier: GPL-2.0

//! The first and the last byte of a region, and those beside it.

use super::super::{
    row::{
        Need,
        Row,
        Wants, //
    },
    rule::Rule,
    steps::{
        LocalKey::Region,
        Memory::{
            Brought,
            OwnUntouched,
            Untouched,
            Written, //
        },
        Request,
        Rights::{
            Atomic,
            Both,
            Write, //
        },
        Side::Requester,
        Step::{
            self,
            Open,
            OpenOwn, //
        },
        FRONT,
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapter 9 (R_Key validation: the range of the region); RFC 5040";

const LARGE_PAGES: &str = "kernel: ib_map_mr_sg(), the size of a region's pages";

/// Length of a region that begins behind the start of its buffer.
const LEN: u32 = SIZE - FRONT;

/// The offset behind its last byte.
const END: i64 = LEN as i64;

/// A region of which both ends are within its buffer.
const OPEN: &[Step] = &[Open(Both)];

/// Makes a case of a WRITE that is outside the region.
const fn outside(name: &'static str, does: &'static str, request: Request) -> Row {
    Row::steps(name, does, OPEN, request, Untouched)
        .wants(Wants::FRONT)
        .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE)
}

/// Makes a case of a READ that is outside the region.
const fn outside_read(name: &'static str, does: &'static str, request: Request) -> Row {
    Row::steps(name, does, OPEN, request, OwnUntouched)
        .wants(Wants::FRONT)
        .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE)
}

/// Makes a case of an atomic operation that is outside the region.
const fn outside_atomic(name: &'static str, does: &'static str, request: Request) -> Row {
    Row::steps(name, does, &[Open(Atomic)], request, Untouched)
        .wants(Wants::FRONT)
        .need(Need::Atomics)
        .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE)
}

/// Makes a case of a WRITE of `len` bytes from `offset` of the region on, which is within it.
const fn inside(name: &'static str, does: &'static str, offset: u32, len: u32) -> Row {
    let request = Request::write(len).at(offset as i64);
    let written = Written {
        to: FRONT.saturating_add(offset),
        from: 0,
        len,
    };
    Row::steps(name, does, OPEN, request, written)
        .wants(Wants::FRONT)
        .rule(Rule::HARMLESS, SOURCE)
}

/// Makes a case of a WRITE of 8000 bytes to an odd address.
const fn write_over_page(name: &'static str, does: &'static str) -> Row {
    let written = Written {
        to: 4001,
        from: 0,
        len: 8000,
    };
    Row::steps(name, does, OPEN, Request::write(8000).at(4001), written)
        .wants(Wants::LONG)
        .rule(Rule::HARMLESS, SOURCE)
}

/// Makes a case of a READ of 8000 bytes from an odd address.
const fn read_over_page(name: &'static str, does: &'static str) -> Row {
    let request = Request::read(8000).at(4001);
    Row::steps(name, does, OPEN, request, Brought(4001, 8000))
        .wants(Wants::LONG)
        .rule(Rule::HARMLESS, SOURCE)
}

/// Returns `row` with a region of large pages.
const fn large_pages(row: Row) -> Row {
    row.wants(Wants::LARGE_PAGES)
        .need(Need::LargePages)
        .rule(Rule::HARMLESS, LARGE_PAGES)
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "length_past_mr",
        "WRITE of one byte more than the region has",
        OPEN,
        Request::write(SIZE + 1),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    outside_read(
        "read_past_mr",
        "READ of one byte more than the region has",
        Request::read(LEN + 1),
    ),
    outside(
        "write_behind_mr",
        "WRITE of one byte behind the last one of the region",
        Request::write(1).at(END),
    ),
    outside_read(
        "read_behind_mr",
        "READ of one byte behind the last one of the region",
        Request::read(1).at(END),
    ),
    outside_atomic(
        "atomic_behind_mr",
        "fetch-and-add behind the last byte of the region",
        Request::add().at(END),
    ),
    outside(
        "write_before_mr",
        "WRITE that begins one byte in front of the region",
        Request::write(LEN).at(-1),
    ),
    outside_read(
        "read_before_mr",
        "READ that begins one byte in front of the region",
        Request::read(LEN).at(-1),
    ),
    outside_atomic(
        "atomic_before_mr",
        "fetch-and-add in front of the region",
        Request::add().at(-8),
    ),
    outside(
        "write_wraps",
        "WRITE whose address and length together exceed 64 bits",
        Request::write(LEN).at_top(8),
    ),
    outside_read(
        "read_wraps",
        "READ whose address and length together exceed 64 bits",
        Request::read(LEN).at_top(8),
    ),
    inside("write_whole_mr", "WRITE of all of the region", 0, LEN),
    inside(
        "write_first_byte",
        "WRITE of the first byte of the region",
        0,
        1,
    ),
    inside(
        "write_last_byte",
        "WRITE of the last byte of the region",
        LEN - 1,
        1,
    ),
    inside(
        "write_odd_bytes",
        "WRITE of 13 bytes to an odd address",
        3,
        13,
    ),
    inside(
        "write_nothing_at_end",
        "WRITE of 0 bytes behind the last one of the region",
        LEN,
        0,
    ),
    Row::steps(
        "read_last_byte",
        "READ of the last byte of the region",
        OPEN,
        Request::read(1).at(END - 1),
        Brought(SIZE - 1, 1),
    )
    .wants(Wants::FRONT)
    .rule(Rule::HARMLESS, SOURCE),
    Row::steps(
        "read_odd_bytes",
        "READ of 13 bytes from an odd address",
        OPEN,
        Request::read(13).at(3),
        Brought(FRONT + 3, 13),
    )
    .wants(Wants::FRONT)
    .rule(Rule::HARMLESS, SOURCE),
    write_over_page(
        "write_over_page",
        "WRITE of 8000 bytes to an odd address, over the end of a page",
    ),
    Row::steps(
        "write_from_two_pages",
        "WRITE of 64 bytes over the end of a page of the requester, from a region",
        &[Open(Both), OpenOwn(Requester, Write)],
        Request::write(64).from(4096 - 32).by(Region),
        Written {
            to: 0,
            from: 4096 - 32,
            len: 64,
        },
    )
    .wants(Wants::LONG)
    .rule(Rule::HARMLESS, SOURCE),
    read_over_page(
        "read_over_page",
        "READ of 8000 bytes from an odd address, over the end of a page",
    ),
    large_pages(write_over_page(
        "write_to_large_pages",
        "WRITE of 8000 bytes to a region of pages of twice the kernel's size",
    )),
    large_pages(read_over_page(
        "read_from_large_pages",
        "READ of 8000 bytes from a region of pages of twice the kernel's size",
    )),
];
