// SPDX-License-Identifier: GPL-2.0

//! The messages of an unreliable queue pair, by the numbers that they carry.

/// The kind of a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The first with this number.
    New(u64),
    /// One whose number has been seen before, or that comes too late for that to be known.
    Repeated,
}

/// Words of the memory.
const WORDS: usize = 64;

/// Numbers that are remembered, up to the largest: a network that takes several ways delays some
/// messages by as many as fit on the others meanwhile.
const REMEMBERED: u64 = WORDS as u64 * u64::BITS as u64;

/// The numbers that have arrived, of messages whose numbers count from 0 and wrap at 32 bits.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    /// The number after the largest that has arrived.
    next: u64,
    /// Bit N modulo [`REMEMBERED`]: number N has arrived, of the last before `next`.
    recent: [u64; WORDS],
    arrived: u64,
    late: u64,
    repeated: u64,
}

impl Default for Sequence {
    fn default() -> Self {
        Self {
            next: 0,
            recent: [0; WORDS],
            arrived: 0,
            late: 0,
            repeated: 0,
        }
    }
}

impl Sequence {
    /// Counts the message that carries `number`, and returns what it is.
    ///
    /// Of two numbers that may be meant, the one nearer to the last is: a message cannot be more
    /// than 2^31 ahead of the one before, or behind it.
    pub(crate) fn take(&mut self, number: u32) -> Arrival {
        let ahead = number.wrapping_sub(self.next as u32);
        if ahead < 1 << 31 {
            let number = self.next.saturating_add(ahead.into());
            self.advance(number);
            return Arrival::New(number);
        }
        let behind = u64::from(ahead.wrapping_neg());
        let known = behind <= REMEMBERED;
        match self.next.checked_sub(behind).filter(|_| known) {
            Some(number) if self.mark(number, true) => {
                self.arrived = self.arrived.wrapping_add(1);
                self.late = self.late.wrapping_add(1);
                Arrival::New(number)
            }
            _ => {
                self.repeated = self.repeated.wrapping_add(1);
                Arrival::Repeated
            }
        }
    }

    /// Counts the message with the largest `number` so far.
    fn advance(&mut self, number: u64) {
        let missed = self.next.max(number.saturating_sub(REMEMBERED));
        (missed..number).for_each(|number| {
            self.mark(number, false);
        });
        self.mark(number, false);
        self.mark(number, true);
        self.next = number.saturating_add(1);
        self.arrived = self.arrived.wrapping_add(1);
    }

    /// Sets the bit of `number`, and returns true where that changes it.
    fn mark(&mut self, number: u64, has_arrived: bool) -> bool {
        let bit = 1u64 << (number % u64::from(u64::BITS));
        let index = (number / u64::from(u64::BITS)) as usize % WORDS;
        let Some(word) = self.recent.get_mut(index) else {
            return false;
        };
        let before = *word;
        *word = if has_arrived {
            before | bit
        } else {
            before & !bit
        };
        *word != before
    }

    /// Returns how many different messages have arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Returns how many of them have come after one with a larger number.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// Returns how many more messages have arrived, whose numbers were not new.
    pub(crate) fn repeated(&self) -> u64 {
        self.repeated
    }
}
