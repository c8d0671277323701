// SPDX-License-Identifier: GPL-2.0

use super::{
    any_command::cpus,
    cases, //
};
use crate::logic::command::cpus::CpuList;
use proptest::prelude::*;

fn list(text: &str) -> Vec<u32> {
    let list = CpuList::parse(text).unwrap_or_else(|| panic!("{text}"));
    (0..12).map(|i| list.nth(i).unwrap()).collect()
}

#[test]
fn threads_go_round_the_list() {
    assert_eq!(list("5"), [5; 12]);
    assert_eq!(list("0-3+6"), [0, 1, 2, 3, 6, 0, 1, 2, 3, 6, 0, 1]);
    assert_eq!(list("8191+1-2"), [8191, 1, 2].repeat(4));
    assert_eq!(list("7-7+7"), [7; 12]);
    let list = CpuList::parse("0-8191").unwrap();
    assert_eq!((list.nth(8191), list.nth(8192)), (Some(8191), Some(0)));
    assert_eq!(
        CpuList::parse("0-2").unwrap().nth(usize::MAX),
        Some((usize::MAX % 3) as u32)
    );
}

#[test]
fn the_empty_list_names_no_cpu() {
    assert!(CpuList::EMPTY.is_empty());
    assert_eq!((CpuList::EMPTY.nth(0), CpuList::EMPTY.nth(5)), (None, None));
    assert_eq!(CpuList::EMPTY.to_string(), "");
    assert!(!CpuList::parse("0").unwrap().is_empty());
}

#[test]
fn ranges_that_continue_each_other_are_one() {
    let joined = CpuList::parse("0-5").unwrap();
    for text in ["0+1+2+3+4+5", "0-2+3-5", "0-4+5"] {
        assert_eq!(CpuList::parse(text), Some(joined), "{text}");
    }
    assert_eq!(joined.to_string(), "0-5");
    assert_eq!(CpuList::parse("3+2+2").unwrap().to_string(), "3+2+2");
    // Nine, of which two are one.
    assert!(CpuList::parse("0+2+4+6+8+10+12+14+15").is_some());
}

#[test]
fn what_is_no_list() {
    for text in [
        "",
        "+",
        "1+",
        "+1",
        "1++2",
        "-",
        "1-",
        "-1",
        "1-2-3",
        "3-2",
        "8192",
        "0-8192",
        "99999999999999999999",
        "01",
        "a",
        "1 ",
        "0:3",
        "0+2+4+6+8+10+12+14+16",
    ] {
        assert_eq!(CpuList::parse(text), None, "{text}");
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn any_list_is_what_it_says((text, cpus) in cpus()) {
        let list = CpuList::parse(&text).unwrap();
        for (i, cpu) in cpus.iter().chain(&cpus).enumerate() {
            prop_assert_eq!(list.nth(i), Some(*cpu), "{}: {}", text, i);
        }
        let shown = list.to_string();
        prop_assert!(shown.len() <= text.len(), "{} for {}", shown, text);
        prop_assert_eq!(CpuList::parse(&shown), Some(list));
    }

    #[test]
    fn any_text_is_digested(text in "[-+0-9a-fx ]{0,40}", index: usize) {
        if let Some(list) = CpuList::parse(&text) {
            prop_assert!(list.nth(index).unwrap() <= 8191);
            prop_assert_eq!(CpuList::parse(&list.to_string()), Some(list));
        }
    }
}
