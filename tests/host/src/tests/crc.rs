// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::data::crc::Crc32;
use proptest::prelude::*;

/// Straight from the definition, a bit at a time.
pub(super) fn bit_by_bit(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        for bit in 0..8 {
            let top = (crc ^ (u32::from(*byte) >> bit)) & 1;
            crc >>= 1;
            if top == 1 {
                crc ^= 0x04c1_1db7_u32.reverse_bits();
            }
        }
    }
    !crc
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.update(bytes);
    crc.finish()
}

#[test]
fn published_check_values() {
    assert_eq!(crc(b""), 0);
    assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    assert_eq!(crc(&[0; 32]), 0x190a_55ad);
    assert_eq!(crc(&[0xff; 32]), 0xff6c_ab0b);
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn equals_the_definition(bytes: Vec<u8>) {
        prop_assert_eq!(crc(&bytes), bit_by_bit(&bytes));
    }

    #[test]
    fn pieces_make_the_whole(bytes: Vec<u8>, cut: prop::sample::Index) {
        let (head, tail) = bytes.split_at(cut.index(bytes.len() + 1));
        let mut crc = Crc32::new();
        crc.update(head);
        crc.update(tail);
        prop_assert_eq!(crc.finish(), bit_by_bit(&bytes));
    }
}
