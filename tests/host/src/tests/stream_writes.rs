// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::stream::writes::Writes;
use proptest::prelude::*;

#[test]
fn one_after_the_other() {
    let mut writes = Writes::new(100, 2);
    assert_eq!(writes.left(), 0);
    writes.begin();
    assert_eq!(writes.sent(30), 0);
    assert_eq!(writes.left(), 70);
    assert!(!writes.has_begun_all());
    assert_eq!(writes.sent(70), 1);
    writes.begin();
    assert!(writes.has_begun_all());
    assert_eq!(writes.sent(100), 1);
    assert_eq!(writes.left(), 0);
}

#[test]
fn those_that_fit_go_together() {
    let mut writes = Writes::new(100, 5);
    writes.begin();
    writes.sent(40);
    for (room, together) in [(0, 60), (159, 60), (160, 160), (359, 260), (100_000, 460)] {
        assert_eq!(writes.together(room), together, "{room}");
    }
    // The one under way, two more, and a part of the next one.
    assert_eq!(writes.sent(285), 3);
    assert_eq!(writes.left(), 75);
    assert!(!writes.has_begun_all());
    assert_eq!(writes.sent(175), 2);
    assert!(writes.has_begun_all());
    assert_eq!(writes.left(), 0);
    // Without an end.
    let mut writes = Writes::new(1, 0);
    writes.begin();
    assert_eq!(writes.together(u32::MAX), u32::MAX);
    assert_eq!(writes.sent(u32::MAX), u64::from(u32::MAX));
    assert!(!writes.has_begun_all());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn each_byte_is_sent_once(
        size in 1u32..5000,
        count in 1u64..300,
        steps in prop::collection::vec((any::<bool>(), any::<u32>(), 1u32..100_000), 1..100),
    ) {
        let mut writes = Writes::new(size, count);
        let (mut sent, mut done) = (0u64, 0);
        let mut steps = steps.iter().cycle();
        while done < count {
            if writes.left() == 0 {
                prop_assert!(!writes.has_begun_all());
                writes.begin();
            }
            let &(waits, room, most) = steps.next().unwrap();
            let ready = match waits {
                true => writes.together(room),
                false => writes.left(),
            };
            prop_assert!(ready >= writes.left() && ready <= writes.left().max(room));
            let part = ready.min(most);
            done += writes.sent(part);
            sent += u64::from(part);
            prop_assert_eq!(done, sent / u64::from(size));
            let part = sent % u64::from(size);
            let left = (u64::from(size) - part) % u64::from(size);
            prop_assert_eq!(u64::from(writes.left()), left);
        }
        prop_assert_eq!(sent, count * u64::from(size));
        prop_assert!(writes.has_begun_all());
    }
}
