// SPDX-License-Identifier: GPL-2.0

use crate::place::Owner;

fn owner(number: u64) -> Owner {
    Owner::of_number(number).unwrap()
}

#[test]
fn a_place_names_an_element_of_its_owner() {
    let owner = owner(7);
    let mut list = [10, 11, 12];
    for index in 0..list.len() {
        let place = owner.place(index).unwrap();
        assert_eq!(owner.get(&list, place), Some(&(10 + index)));
        assert_eq!(owner.get_mut(&mut list, place), Some(&mut (10 + index)));
    }
    assert_eq!(owner.get(&list, owner.place(3).unwrap()), None);
}

#[test]
fn a_place_of_another_owner_names_nothing() {
    let (mine, other) = (owner(7), owner(8));
    let place = other.place(1).unwrap();
    assert_eq!(mine.get(&[10, 11, 12], place), None);
    assert_eq!(mine.get_mut(&mut [10, 11, 12], place), None);
}

#[test]
fn a_place_beyond_what_can_be_named_is_none() {
    assert_eq!(owner(0).place(1 << 32), None);
}

#[test]
fn owners_end_where_their_numbers_do() {
    let last = u64::MAX >> 20;
    let (first, end) = (owner(0).place(1).unwrap(), owner(last).place(1).unwrap());
    assert_eq!(owner(last).index(first), None);
    assert_eq!(owner(last).index(end), Some(1));
    assert_eq!(Owner::of_number(last + 1), None);
}
