// SPDX-License-Identifier: GPL-2.0

use crate::logic::block::backoff::Backoff;

#[test]
fn pauses_double_up_to_a_limit() {
    let mut backoff = Backoff::new();
    let pauses: [u32; 10] = std::array::from_fn(|_| backoff.next_ms());
    let expected = [50, 100, 200, 400, 800, 1600, 2000, 2000, 2000, 2000];
    assert_eq!(pauses, expected);
}

#[test]
fn each_loss_begins_anew() {
    let mut backoff = Backoff::new();
    assert_eq!((backoff.next_ms(), backoff.next_ms()), (50, 100));
    assert_eq!(Backoff::new().next_ms(), 50);
}
