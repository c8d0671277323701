// SPDX-License-Identifier: GPL-2.0

//! Short strings in fixed memory.
//!
//! - [`json`] - objects and arrays, written member by member
//! - [`alternatives`], [`number`] - lists and numbers in sentences
//! - [`ratelimit`] - how many lines peers can cause

pub(crate) mod alternatives;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod ratelimit;

use core::fmt;

/// The name of a network interface, with the kernel's limit (without the NUL).
pub(crate) type IfName = Text<15>;

/// The name of an RDMA device, with the kernel's limit (without the NUL).
pub(crate) type DeviceName = Text<63>;

/// The text of `tag=`, which is copied to the result.
pub(crate) type Tag = Text<64>;

/// The path of a file or the name of a disk.
pub(crate) type PathName = Text<255>;

/// The name of a program, with the kernel's limit (without the NUL).
pub(crate) type Comm = Text<15>;

/// A string of at most `N` printable ASCII characters, kept in place.
///
/// # Invariants
///
/// The first `len` bytes are printable ASCII, `len` is at most `N`, and the bytes after them are 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// The maximum number of characters.
    pub(crate) const MAX: usize = N;

    /// The empty string.
    pub(crate) const EMPTY: Self = Self {
        bytes: [0; N],
        len: 0,
    };

    /// Copies `text`; `None` where it is too long or has anything but printable ASCII.
    pub(crate) fn new(text: &str) -> Option<Self> {
        if !is_printable(text) {
            return None;
        }
        let mut new = Self::EMPTY;
        new.bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        new.len = text.len();
        // INVARIANT: `text` is printable ASCII and fits, and the bytes after it are still 0.
        Some(new)
    }

    /// Returns the characters.
    pub(crate) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Returns true where the string is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Returns true where `text` is only printable ASCII, including the space.
pub(crate) fn is_printable(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// Formats a text with everything but printable ASCII escaped, cut to a length that suits a log
/// line.
pub(crate) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        EscapedTo::<64>(self.0).fmt(f)
    }
}

/// Formats a text with everything but printable ASCII escaped, cut to `N` bytes.
pub(crate) struct EscapedTo<'a, const N: usize>(pub(crate) &'a str);

impl<const N: usize> fmt::Display for EscapedTo<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for b in self.0.bytes().take(N) {
            match b {
                b' '..=b'~' => fmt::Write::write_char(f, char::from(b))?,
                _ => write!(f, "\\x{b:02x}")?,
            }
        }
        if self.0.len() > N {
            f.write_str("...")?;
        }
        Ok(())
    }
}
