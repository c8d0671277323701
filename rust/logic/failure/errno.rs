// SPDX-License-Identifier: GPL-2.0

//! Errno numbers and names: those of asm-generic, which every architecture with
//! Rust in the kernel uses.

pub(crate) const EINTR: i32 = 4;
pub(crate) const EIO: i32 = 5;
pub(crate) const ENOMEM: i32 = 12;
pub(crate) const EACCES: i32 = 13;
pub(crate) const EBUSY: i32 = 16;
pub(crate) const ENODEV: i32 = 19;
pub(crate) const EINVAL: i32 = 22;
pub(crate) const EFBIG: i32 = 27;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EROFS: i32 = 30;
pub(crate) const ERANGE: i32 = 34;
pub(crate) const ENOSYS: i32 = 38;
pub(crate) const EBADE: i32 = 52;
pub(crate) const EPROTO: i32 = 71;
pub(crate) const EBADMSG: i32 = 74;
pub(crate) const EOPNOTSUPP: i32 = 95;
pub(crate) const EADDRINUSE: i32 = 98;
pub(crate) const EADDRNOTAVAIL: i32 = 99;
pub(crate) const ENETDOWN: i32 = 100;
pub(crate) const ENETUNREACH: i32 = 101;
pub(crate) const ECONNRESET: i32 = 104;
pub(crate) const ETIMEDOUT: i32 = 110;
pub(crate) const ECONNREFUSED: i32 = 111;
pub(crate) const EHOSTUNREACH: i32 = 113;
pub(crate) const ESTALE: i32 = 116;
pub(crate) const EREMOTEIO: i32 = 121;
pub(crate) const EDQUOT: i32 = 122;
pub(crate) const ECANCELED: i32 = 125;

/// Every errno that a run is known to end with.
pub(crate) const NAMES: [(i32, &str); 46] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (15, "ENOTBLK"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (34, "ERANGE"),
    (36, "ENAMETOOLONG"),
    (38, "ENOSYS"),
    (40, "ELOOP"),
    (52, "EBADE"),
    (71, "EPROTO"),
    (74, "EBADMSG"),
    (95, "EOPNOTSUPP"),
    (97, "EAFNOSUPPORT"),
    (98, "EADDRINUSE"),
    (99, "EADDRNOTAVAIL"),
    (100, "ENETDOWN"),
    (101, "ENETUNREACH"),
    (103, "ECONNABORTED"),
    (104, "ECONNRESET"),
    (105, "ENOBUFS"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (113, "EHOSTUNREACH"),
    (116, "ESTALE"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
    (125, "ECANCELED"),
];

/// Returns the name of errno `number`, where krping knows it.
pub(crate) fn name(number: i32) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(known, _)| *known == number)
        .map(|(_, name)| *name)
}

/// Returns the errno that has this name, where krping knows it.
pub(crate) fn number(name: &str) -> Option<i32> {
    NAMES
        .iter()
        .find(|(_, known)| *known == name)
        .map(|(number, _)| *number)
}
