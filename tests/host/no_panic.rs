// SPDX-License-Identifier: GPL-2.0

//! The logic, optimized and with overflow checks as in the kernel, and on its own. `run` looks
//! whether any function of it comes to what panics, or to 128-bit arithmetic that the kernel
//! lacks.
//!
//! All functions are compiled, but generic ones only where somebody calls them. Those that only
//! the kernel calls are called here; `run` says which is missing.

#![no_std]
#![allow(dead_code, missing_docs)]

#[path = "../../rust/logic/mod.rs"]
mod logic;

use core::{
    fmt::{
        self,
        Write, //
    },
    sync::atomic::{
        AtomicU64,
        Ordering::Relaxed, //
    }, //
};
use logic::{
    command::{
        order::Order,
        Command, //
    },
    data::pattern::{
        Cell,
        Cells,
        Data,
        Mismatch, //
    },
    device::preflight::Attempt, //
};

fn order(text: &str, place: &mut Command, out: &mut dyn Write) -> fmt::Result {
    match Order::parse(text, place) {
        Ok(order) => write!(out, "{order}"),
        Err(error) => write!(out, "{error}"),
    }
}

/// Memory, and who knows its CRC.
struct Place<'a>(&'a [AtomicU64], &'a dyn Fn(usize) -> u32);

impl Cell for AtomicU64 {
    fn get(&self) -> u64 {
        self.load(Relaxed)
    }

    fn set(&self, word: u64) {
        self.store(word, Relaxed);
    }
}

impl Cells for Place<'_> {
    type Cell = AtomicU64;

    fn cells(&self) -> &[AtomicU64] {
        self.0
    }

    fn crc(&self, words: usize) -> u32 {
        self.1(words)
    }
}

fn data(data: &Data, sent: &Place<'_>, found: &Place<'_>) -> Result<(), Mismatch> {
    data.fill(sent);
    data.check(sent)?;
    data.check_echo(found, sent)
}

fn attempt(asked: u32, attempt: &mut dyn FnMut(u32) -> Result<i32, i32>) -> Result<Attempt, i32> {
    Attempt::most(asked, attempt)
}
