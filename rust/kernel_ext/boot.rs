// SPDX-License-Identifier: GPL-2.0

//! Which start of this machine it is.
//!
//! The kernel has a random UUID for it, which is not exported: it is read where everybody can.

use super::{
    file::{
        Mode,
        OpenFile, //
    },
    pages::Contiguous,
    random::random, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Bytes of a UUID in text.
const UUID: usize = 36;

static NUMBER: Atomic<u64> = Atomic::new(0);

/// Finds out the number, when the module is loaded. Sleeps.
pub(crate) fn learn() {
    // Without it each load of the module counts as another start: that forgets no loss of data.
    let number = read().unwrap_or_else(|_| random()).max(1);
    NUMBER.store(number, Relaxed);
}

/// A number of this start of the machine, which no other start has; never 0. Any context.
pub(crate) fn number() -> u64 {
    NUMBER.load(Relaxed)
}

fn read() -> Result<u64> {
    let file = OpenFile::open(c"/proc/sys/kernel/random/boot_id", Mode::Read)?;
    let memory = Contiguous::new(UUID)?;
    if file.read(&memory, 0, UUID, 0)? != UUID {
        return Err(EIO);
    }
    let mut text = [0; UUID];
    memory.read(0, &mut text)?;
    Ok(text
        .iter()
        .filter_map(|digit| char::from(*digit).to_digit(16))
        .fold(0, |number: u64, digit| {
            number.rotate_left(4) ^ u64::from(digit)
        }))
}
