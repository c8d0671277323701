// SPDX-License-Identifier: GPL-2.0

use crate::logic::block::backoff::Backoff;

/// The longest pauses.
const MOST: [u32; 9] = [0, 50, 100, 200, 400, 800, 1600, 2000, 2000];

/// Returns the next pauses, each with the same random number.
fn pauses(backoff: &mut Backoff, random: u64) -> [u32; 9] {
    std::array::from_fn(|_| backoff.next_ms(random))
}

#[test]
fn pauses_double_up_to_a_limit_and_the_first_attempt_has_none() {
    for random in [0, 1, 999, 1000, u64::MAX / 2, u64::MAX] {
        for (pause, most) in pauses(&mut Backoff::new(), random).into_iter().zip(MOST) {
            assert!((most / 2..=most).contains(&pause), "{pause} of {most}");
        }
    }
}

#[test]
fn clients_that_lose_their_connections_together_do_not_return_together() {
    let mut clients = [Backoff::new(); 64];
    let mut seen = std::collections::BTreeSet::new();
    for (client, random) in clients
        .iter_mut()
        .zip((0..).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    {
        seen.insert(pauses(client, random)[6]);
    }
    assert!(seen.len() > 48, "{seen:?}");
}

#[test]
fn only_a_connection_that_has_lasted_begins_anew() {
    let mut backoff = Backoff::new();
    for most in MOST {
        backoff.lost_after(9_999);
        assert!((most / 2..=most).contains(&backoff.next_ms(7)));
    }
    backoff.lost_after(10_000);
    assert_eq!(backoff.next_ms(7), 0);
}
