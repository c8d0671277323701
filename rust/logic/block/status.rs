// SPDX-License-Identifier: GPL-2.0

//! Results of the requests of disks and taps.

use crate::logic::failure::errno;

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Success.
    Ok,
    /// The store failed.
    Io,
    /// The store has no room left.
    NoSpace,
    /// The store is read-only.
    ReadOnly,
    /// The blocks are beyond the end of the disk.
    OutOfRange,
    /// The store does not support the action.
    Unsupported,
    /// The request is empty, too large, or not about whole blocks.
    Invalid,
}

impl Status {
    /// Returns the corresponding errno, positive; 0 for [`Status::Ok`].
    pub(crate) const fn errno(self) -> i32 {
        match self {
            Self::Ok => 0,
            Self::Io => errno::EIO,
            Self::NoSpace => errno::ENOSPC,
            Self::ReadOnly => errno::EROFS,
            Self::OutOfRange => errno::ERANGE,
            Self::Unsupported => errno::EOPNOTSUPP,
            Self::Invalid => errno::EINVAL,
        }
    }

    /// Converts an errno, positive or negative; [`Status::Io`] where no other status corresponds.
    pub(crate) const fn from_errno(number: i32) -> Self {
        match number.saturating_abs() {
            0 => Self::Ok,
            errno::ENOSPC | errno::EFBIG | errno::EDQUOT => Self::NoSpace,
            errno::EROFS => Self::ReadOnly,
            errno::ERANGE => Self::OutOfRange,
            errno::EOPNOTSUPP => Self::Unsupported,
            errno::EINVAL => Self::Invalid,
            _ => Self::Io,
        }
    }

    /// Returns the name in the log.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Io => "I/O error",
            Self::NoSpace => "no space left",
            Self::ReadOnly => "read-only",
            Self::OutOfRange => "out of range",
            Self::Unsupported => "not supported",
            Self::Invalid => "invalid",
        }
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Io => 1,
            Self::NoSpace => 2,
            Self::ReadOnly => 3,
            Self::OutOfRange => 4,
            Self::Unsupported => 5,
            Self::Invalid => 6,
        }
    }

    pub(crate) const fn of_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Ok,
            1 => Self::Io,
            2 => Self::NoSpace,
            3 => Self::ReadOnly,
            4 => Self::OutOfRange,
            5 => Self::Unsupported,
            6 => Self::Invalid,
            _ => return None,
        })
    }
}
