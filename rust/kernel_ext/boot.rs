// SPDX-License-Identifier: GPL-2.0

//! Number that identifies the current boot of this machine.
//!
//! The kernel has a random UUID for each boot, but does not export it to modules: it is read from
//! `/proc/sys/kernel/random/boot_id`.

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

/// Length of a UUID in text form, in bytes.
const UUID: usize = 36;

static NUMBER: Atomic<u64> = Atomic::new(0);

/// Reads the boot number, when the module is loaded. Sleeps.
pub(crate) fn learn() {
    // Without it each load of the module counts as another boot: no loss of data goes unnoticed.
    let number = read().unwrap_or_else(|_| random()).max(1);
    NUMBER.store(number, Relaxed);
}

/// Returns the number of the current boot, which differs from that of other boots and is never 0.
/// Any context.
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
