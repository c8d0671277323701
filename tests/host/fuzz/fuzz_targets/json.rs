// SPDX-License-Identifier: GPL-2.0

//! Text of others in results: a tag, a reason, the name of a device. Whatever it
//! is, the line is one line of JSON, and says that text.

use crate::logic::text::json::Object;

/// What a string of JSON says, up to its closing quote, and what follows.
fn unescape(text: &str) -> (String, &str) {
    let mut said = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (said, &text[at + 1..]),
            '\\' => match letters.next().expect("something is escaped").1 {
                'u' => {
                    let digits: String = letters.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).expect("four digits");
                    said.push(char::from_u32(code).expect("a character"));
                }
                escaped => {
                    assert!("\"\\/".contains(escaped), "\\{escaped}");
                    said.push(escaped);
                }
            },
            _ => said.push(letter),
        }
    }
    panic!("no closing quote: {text}");
}

/// Puts `text` into JSON, and reads it there.
pub(crate) fn fuzz(text: &str) {
    let mut out = String::new();
    let mut object = Object::new(&mut out).unwrap();
    object.str("tag", text).unwrap().num("n", 1).unwrap();
    let mut inner = object.object(text).unwrap();
    inner.bool("b", true).unwrap();
    inner.finish().unwrap();
    object.finish().unwrap();

    assert!(out.chars().all(|c| c >= ' '), "{out:?}");
    let rest = out.strip_prefix("{\"tag\":\"").expect("the tag first");
    let (tag, rest) = unescape(rest);
    let rest = rest.strip_prefix(",\"n\":1,\"").expect("then a number");
    let (key, rest) = unescape(rest);
    assert_eq!((tag.as_str(), key.as_str()), (text, text));
    assert_eq!(rest, ":{\"b\":true}}");
}
