// SPDX-License-Identifier: GPL-2.0

//! Chunks that break the protocol of messages.

use core::fmt;

/// A chunk that breaks the protocol. Reported as `EPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// The first chunk of a message has so many bytes, fewer than a header.
    Short(u32),
    /// A header begins so, which is no kind of message, or of one that this side does not get.
    Kind(u32),
    /// A message has so many bytes instead of those that were agreed on: (bytes, agreed on).
    Length(u32, u32),
    /// A message has another number than the next: (number, next).
    Number(u64, u64),
    /// A chunk has more bytes than its message has left: (bytes, left).
    Beyond(u32, u32),
    /// The direction ended inside a message, of which so many bytes are missing.
    EndInside(u32),
    /// A chunk came behind the end of the direction.
    AfterEnd,
    /// The reply with this number came before its request was sent.
    Unasked(u64),
    /// The direction ended before so many replies had come.
    Unanswered(u64),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short(bytes) => {
                write!(f, "began a message with {bytes} bytes, less than a header")
            }
            Self::Kind(kind) => write!(f, "sent a message of a wrong kind ({kind:#010x})"),
            Self::Length(bytes, agreed) => {
                write!(f, "sent a message of {bytes} bytes instead of {agreed}")
            }
            Self::Number(number, next) => {
                write!(f, "sent message number {number} where {next} is the next")
            }
            Self::Beyond(bytes, left) => write!(
                f,
                "sent a chunk of {bytes} bytes for a message that has {left} left"
            ),
            Self::EndInside(left) => {
                write!(
                    f,
                    "ended its direction {left} bytes before the end of a message"
                )
            }
            Self::AfterEnd => f.write_str("sent a chunk after it had ended its direction"),
            Self::Unasked(number) => write!(f, "replied to message number {number}, which is none"),
            Self::Unanswered(count) => {
                write!(f, "ended its direction with {count} replies missing")
            }
        }
    }
}
