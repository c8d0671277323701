// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::text::json::Object;
use core::fmt::{
    self,
    Write, //
};
use proptest::prelude::*;
use serde_json::{
    json,
    Value, //
};

fn write(f: impl FnOnce(&mut Object<'_>) -> fmt::Result) -> String {
    let mut out = String::new();
    let mut object = Object::new(&mut out).unwrap();
    f(&mut object).unwrap();
    object.finish().unwrap();
    out
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn every_kind_of_member() {
    let text = write(|o| {
        o.num("id", 7)?.str("role", "client")?.bool("ok", true)?;
        o.raw("null", "null")?;
        let mut latency = o.object("latency")?;
        latency.num("p99_ns", u64::MAX)?.num("less", -1)?;
        let mut buckets = latency.array("buckets")?;
        for i in 0..2 {
            let mut bucket = buckets.array()?;
            bucket.num(i)?.num(10)?;
            bucket.finish()?;
        }
        buckets.num(3)?;
        buckets.finish()?;
        latency.finish()?;
        o.bool("last", false)?;
        Ok(())
    });
    assert_eq!(
        text,
        r#"{"id":7,"role":"client","ok":true,"null":null,"latency":{"p99_ns":18446744073709551615,"#
            .to_string() + r#""less":-1,"buckets":[[0,10],[1,10],3]},"last":false}"#
    );
    read(&text);
}

#[test]
fn empty_ones() {
    assert_eq!(write(|_| Ok(())), "{}");
    let text = write(|o| {
        o.array("a")?.finish()?;
        o.object("o")?.finish()
    });
    assert_eq!(text, r#"{"a":[],"o":{}}"#);
}

#[test]
fn errors_of_the_writer_come_back() {
    /// Takes so many characters and no more.
    struct Full(usize);
    impl Write for Full {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let attempt = |room| {
        let mut out = Full(room);
        let mut object = Object::new(&mut out)?;
        object.str("a\"", "\u{1}")?.num("b", 1)?;
        let mut array = object.array("c")?;
        array.num(1)?.num(2)?;
        array.finish()?;
        object.finish()
    };
    let needed = r#"{"a\"":"\u0001","b":1,"c":[1,2]}"#.len();
    for room in 0..needed {
        assert_eq!(attempt(room), Err(fmt::Error), "{room}");
    }
    assert_eq!(attempt(needed), Ok(()));
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn any_text_reads_back(key: String, value in ".*|[\\x00-\\x7f]*") {
        let text = write(|o| o.str(&key, &value).map(|_| ()));
        prop_assert!(!text.contains('\n'), "one line");
        prop_assert_eq!(read(&text), json!({ key: value }));
    }
}
