// SPDX-License-Identifier: GPL-2.0

//! Numbers as people write them.

/// The value of a text that should be a number.
pub(crate) enum Number {
    /// Its value.
    Value(u64),
    /// It has more than 64 bits.
    Huge,
    /// It is no number.
    None,
}

/// Reads digits, decimal or hexadecimal after 0x.
///
/// A decimal number that begins with 0 is none: the C krping took it as octal.
pub(crate) fn integer(text: &str) -> Number {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => return Number::None,
        None => (text, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Number::None;
    }
    u64::from_str_radix(digits, radix).map_or(Number::Huge, Number::Value)
}
