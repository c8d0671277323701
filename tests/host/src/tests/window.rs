// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::window::{
    warmup,
    Window, //
};
use proptest::{
    collection::vec,
    option,
    prelude::*, //
};
use std::collections::VecDeque;

#[test]
fn the_example_of_its_documentation() {
    let mut window = Window::new(64, 2, 3, Some(8));
    let mut signaled = Vec::new();
    while window.room() > 0 {
        let n = window.room();
        assert_eq!(n, 2);
        let posted = window.posted();
        signaled.extend(
            (0..n)
                .filter(|i| window.signaled(*i))
                .map(|i| posted + u64::from(i) + 1),
        );
        window.post(n);
    }
    assert_eq!((window.posted(), signaled), (8, vec![3, 6, 8]));
    assert_eq!([window.completed(), window.completed()], [3, 3]);
    assert!(!window.finished());
    assert_eq!((window.completed(), window.done()), (2, 8));
    assert!(window.finished());
    assert_eq!((window.completed(), window.done()), (0, 8), "one too many");
}

#[test]
fn there_is_room_for_a_whole_list_or_none() {
    let mut window = Window::new(6, 4, 3, None);
    window.post(window.room());
    // 2 are free, and the list needs 4.
    assert_eq!((window.posted(), window.room()), (4, 0));
    assert_eq!((window.completed(), window.room()), (3, 4));
    assert_eq!(window.completed(), 0, "nothing has asked for it");
    window.post(4);
    assert_eq!((window.room(), window.completed()), (0, 3));
    assert_eq!((window.done(), window.room()), (6, 4));
    // Exactly full: the last list takes what is left.
    let mut window = Window::new(4, 4, 1, Some(5));
    window.post(window.room());
    assert_eq!(window.room(), 0);
    assert_eq!((window.completed(), window.room()), (1, 1));
    assert!(window.signaled(0));
}

#[test]
fn a_completion_is_awaited_from_the_post_that_asks_for_it() {
    let mut window = Window::new(64, 1, 3, Some(7));
    let mut awaited = Vec::new();
    for _ in 0..7 {
        window.post(1);
        awaited.push(window.awaits_completion());
    }
    assert_eq!(awaited, [false, false, true, true, true, true, true]);
    let mut steps = Vec::new();
    while window.completed() > 0 {
        steps.push((window.done(), window.awaits_completion()));
    }
    assert_eq!(steps, [(3, true), (6, true), (7, false)]);
    // Nothing asks for the completion of those that nobody knew to be the last.
    let mut window = Window::new(64, 1, 3, None);
    window.post(4);
    assert!(window.awaits_completion());
    window.completed();
    assert!(!window.awaits_completion());
}

#[test]
fn one_more_request_is_the_last_after_a_stop() {
    let mut window = Window::new(64, 8, 16, None);
    window.post(8);
    assert!(!window.signaled(0));
    window.stop();
    assert_eq!((window.room(), window.signaled(0)), (1, true));
    window.post(1);
    window.stop();
    assert_eq!((window.room(), window.finished()), (0, false));
    assert_eq!((window.completed(), window.finished()), (9, true));
    // Neither can a stop add requests to those that were to come.
    let mut window = Window::new(64, 8, 16, Some(8));
    window.post(8);
    window.stop();
    assert_eq!((window.room(), window.completed()), (0, 8));
    assert!(window.finished());
}

#[test]
fn what_is_held_goes_on_when_it_is_released() {
    let mut window = Window::new(64, 4, 3, Some(20)).holding_at(6);
    assert!(window.holds() && !window.held());
    window.post(window.room());
    assert_eq!((window.posted(), window.held()), (4, false));
    assert_eq!(window.room(), 2, "no list goes beyond");
    window.post(2);
    assert_eq!(
        (window.room(), window.held(), window.holds()),
        (0, true, true)
    );
    assert_eq!(
        [window.completed(), window.completed(), window.completed()],
        [3, 3, 0]
    );
    assert!(!window.all_posted() && !window.finished());
    window.release();
    assert_eq!(
        (window.room(), window.held(), window.holds()),
        (4, false, false)
    );
    // What ends before is not held.
    let mut window = Window::new(64, 8, 3, Some(5)).holding_at(6);
    window.post(window.room());
    assert!(window.all_posted() && !window.held());
}

#[test]
fn nothing_to_do_is_done() {
    let window = Window::new(64, 1, 1, Some(0));
    assert!(window.finished());
    assert_eq!(window.room(), 0);
    assert!(!Window::new(64, 1, 1, None).finished());
}

#[test]
fn numbers_out_of_range_harm_nobody() {
    let mut window = Window::new(u32::MAX, 0, 0, Some(u64::MAX));
    assert_eq!((window.room(), window.signaled(u32::MAX)), (1, true));
    window.post(u32::MAX);
    window.stop();
    assert_eq!(window.completed(), 1);
    assert_eq!(Window::new(0, 1, 1, None).room(), 0);
}

#[test]
fn a_warmup_is_a_mebibyte_within_limits() {
    for (size, every, count) in [
        (1, 1, 100),
        (64, 1, 100),
        (10486, 1, 99),
        (65536, 1, 16),
        (65536, 16, 16),
        (65537, 16, 16),
        (65536, 3, 18),
        (1 << 20, 1, 2),
        (u32::MAX, 1, 2),
        (u32::MAX, 1024, 1024),
        (1, 16, 112),
        (1, 1024, 1024),
        (0, 0, 100),
    ] {
        assert_eq!(warmup(size, every), count, "{size}, {every}");
    }
}

/// A send queue as a device has one: it works off requests in order, and those that ask for it get
/// a completion.
struct Model {
    under_way: VecDeque<(u64, bool)>,
    completions: VecDeque<u64>,
}

impl Model {
    /// Works off so many requests.
    fn work(&mut self, n: usize) {
        let n = n.min(self.under_way.len());
        let done = self.under_way.drain(..n);
        self.completions.extend(
            done.filter(|(_, signaled)| *signaled)
                .map(|(number, _)| number),
        );
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// Against a device that works at any pace, and a caller that polls at any pace.
    #[test]
    fn every_request_is_posted_and_done_once(
        batch in 1u32..20,
        every in 1u32..20,
        spare in 0u32..20,
        total in option::of(0u64..300),
        stop_at in 0u64..320,
        hold in option::of((0u64..20, 0usize..50)),
        pace in vec((0usize..30, any::<bool>()), 1..50),
    ) {
        let depth = batch + every - 1 + spare;
        let mut window = Window::new(depth, batch, every, total);
        // What is held asks for a completion, as its caller wants to know when all is done.
        let mut hold = hold.map(|(lists, patience)| (lists * u64::from(every), patience));
        if let Some((hold, _)) = hold {
            window = window.holding_at(hold);
        }
        let mut model = Model { under_way: VecDeque::new(), completions: VecDeque::new() };
        // It never comes to a rest for good.
        let mut pace = pace.into_iter().chain([(1, true)]).cycle();
        let mut expected = total;
        let (mut posted, mut done, mut asked) = (0u64, 0u64, 0u64);
        let mut stuck = 0;
        while !window.finished() {
            let (work, polls) = pace.next().unwrap();
            stuck += 1;
            prop_assert!(stuck < 3000, "deadlock: {:?}", window);
            if hold.is_some_and(|(_, patience)| stuck > patience) {
                window.release();
                hold = None;
            }
            if posted >= stop_at || (stuck == 1500 && expected.is_none()) {
                window.stop();
                let end = expected.unwrap_or(u64::MAX).min(posted + 1);
                expected = Some(end);
            }
            prop_assert_eq!(window.all_posted(), Some(posted) == expected);
            let n = window.room();
            let last = expected.unwrap_or(u64::MAX);
            let left = last.min(hold.map_or(u64::MAX, |(hold, _)| hold)) - posted;
            prop_assert_eq!(window.held(), hold.is_some() && left == 0 && last > posted
                || hold.is_some_and(|(hold, _)| hold == posted));
            let list = u64::from(batch).min(left);
            let fits = posted - done + list <= u64::from(depth);
            prop_assert_eq!(u64::from(n), if fits { list } else { 0 });
            for ahead in 0..n {
                let number = posted + u64::from(ahead) + 1;
                let signaled = window.signaled(ahead);
                let asks = number % u64::from(every) == 0 || Some(number) == expected;
                prop_assert_eq!(signaled, asks, "{}", number);
                asked += u64::from(signaled);
                model.under_way.push_back((number, signaled));
            }
            window.post(n);
            posted += u64::from(n);
            prop_assert_eq!(window.posted(), posted);
            prop_assert!(posted - done <= u64::from(depth));
            if n == 0 && left > 0 {
                // The wait for room ends: something that was posted will say so.
                let comes = model.under_way.iter().any(|(_, signaled)| *signaled);
                prop_assert!(comes || !model.completions.is_empty(), "{:?}", window);
            }
            model.work(work);
            if polls {
                while let Some(number) = model.completions.pop_front() {
                    done += u64::from(window.completed());
                    prop_assert_eq!(done, number, "a completion is of its request");
                    prop_assert_eq!(window.done(), done);
                    asked -= 1;
                }
            }
        }
        prop_assert_eq!(Some(posted), expected);
        prop_assert!(window.all_posted());
        prop_assert_eq!((done, asked), (posted, 0));
        prop_assert!(model.under_way.is_empty() && model.completions.is_empty());
    }

    #[test]
    fn completions_are_as_many_as_expected(
        batch in 1u32..20,
        every in 1u32..20,
        total in 0u64..300,
    ) {
        let mut window = Window::new(batch + every - 1, batch, every, Some(total));
        let mut completions = 0;
        while !window.finished() {
            match window.room() {
                0 => {
                    prop_assert!(window.completed() > 0);
                    completions += 1;
                }
                n => window.post(n),
            }
        }
        prop_assert_eq!(completions, total.div_ceil(every.into()));
    }
}
