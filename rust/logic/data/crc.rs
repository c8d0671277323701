// SPDX-License-Identifier: GPL-2.0

//! The CRC-32 of Ethernet, gzip and PNG (polynomial 0x04c11db7, reflected).

/// The number of bytes that one step handles.
const STEP: usize = 8;

/// `TABLES[k][b]` is the contribution of byte `b` to the CRC where `k` more bytes of the same step
/// follow it.
static TABLES: [[u32; 256]; STEP] = tables();

const fn tables() -> [[u32; 256]; STEP] {
    const POLYNOMIAL: u32 = 0xedb8_8320;

    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut k = 0;
        while k < STEP {
            let mut bit = 0;
            while bit < 8 {
                crc = (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg());
                bit += 1;
            }
            tables[k][byte] = crc;
            k += 1;
        }
        byte += 1;
    }
    tables
}

/// Computes a CRC-32 of bytes that arrive piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Crc32 {
    /// The inverse of the CRC so far.
    state: u32,
}

impl Crc32 {
    /// Creates the CRC of no bytes.
    pub(crate) const fn new() -> Self {
        Self { state: !0 }
    }

    /// Continues after bytes whose CRC is `sum`.
    pub(crate) const fn after(sum: u32) -> Self {
        Self { state: !sum }
    }

    /// Adds the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &TABLES;
        let at = |table: &[u32; 256], byte: u8| table[usize::from(byte)];

        let mut crc = self.state;
        let mut rest = bytes;
        while let Some((step, after)) = rest.split_first_chunk::<STEP>() {
            let [a, b, c, d, e, f, g, h] = *step;
            let [s, t, u, v] = crc.to_le_bytes();
            crc = at(t7, a ^ s) ^ at(t6, b ^ t) ^ at(t5, c ^ u) ^ at(t4, d ^ v);
            crc ^= at(t3, e) ^ at(t2, f) ^ at(t1, g) ^ at(t0, h);
            rest = after;
        }
        for byte in rest {
            let [low, ..] = crc.to_le_bytes();
            crc = (crc >> 8) ^ at(t0, low ^ byte);
        }
        self.state = crc;
    }

    /// Returns the CRC of all bytes so far.
    pub(crate) const fn finish(&self) -> u32 {
        !self.state
    }
}
