// SPDX-License-Identifier: GPL-2.0

//! When a client is known to have been told of a failure.

use crate::logic::block::answer_receipt::AnswerReceipt;

#[test]
fn the_tag_is_used_again() {
    let mut telling = AnswerReceipt::new(7, 3);
    for other in [0, 1, 2, 4, 128] {
        assert_eq!(telling.arrived(other, false), None, "{other}");
    }
    assert_eq!(telling.arrived(3, false), Some(7));
}

#[test]
fn the_same_told_again_changes_nothing() {
    let mut first = AnswerReceipt::after(None, 7, 3);
    assert_eq!(first, AnswerReceipt::new(7, 3));
    assert_eq!(first.arrived(128, true), None);
    let mut again = AnswerReceipt::after(Some(first), 7, 4);
    assert_eq!(again, first);
    assert_eq!(again.arrived(128, true), Some(7));
    assert_eq!(
        AnswerReceipt::after(Some(first), 8, 4),
        AnswerReceipt::new(8, 4)
    );
}

#[test]
fn only_the_second_ping_follows_its_answer() {
    let mut telling = AnswerReceipt::new(1, 0);
    assert_eq!(telling.arrived(128, true), None);
    assert_eq!(telling.arrived(5, false), None);
    assert_eq!(telling.arrived(128, true), Some(1));
    // A ping may have any tag that was announced, even that of the answer.
    let mut telling = AnswerReceipt::new(1, 128);
    assert_eq!(telling.arrived(128, true), None);
}
