// SPDX-License-Identifier: GPL-2.0

//! What tells the medium of a block device from others that get the same device number.
//!
//! C header: `include/linux/blkdev.h`

use super::boot;
use crate::bindings;
use core::ptr::NonNull;

/// Bytes of the longest identifier that a disk gives.
const LONGEST: usize = 16;

/// What tells a medium from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// An identifier that a disk or a partition keeps over restarts of the machine, as a number,
    /// and where on the disk the device begins, in sectors.
    Stable(u64, u64),
    /// The disk's number among all that this start of the machine has seen, the start of the
    /// machine, and where on the disk the device begins, in sectors.
    Passing(u64, u64, u64),
}

impl Medium {
    /// That of `bdev`. Process context; may sleep.
    ///
    /// # Safety
    ///
    /// `bdev` is open during the call.
    pub(super) unsafe fn of(bdev: NonNull<bindings::block_device>) -> Self {
        let raw = bdev.as_ptr();
        // SAFETY: By the function's requirements; these members do not change while it is open.
        let (disk, start) = unsafe { ((*raw).bd_disk, (*raw).bd_start_sect) };
        // SAFETY: A device that is open has a disk, which lives at least as long.
        if let Some(id) = unsafe { disk_id(disk) } {
            return Self::Stable(id, start);
        }
        // SAFETY: As above; a partition has it until it is removed, and that waits for its users.
        let info = unsafe { (*raw).bd_meta_info.as_ref() };
        let uuid = info.map(|info| info.uuid);
        if let Some(uuid) = uuid.filter(|uuid| uuid.iter().any(|digit| *digit != 0)) {
            return Self::Stable(fold(&uuid), start);
        }
        // SAFETY: As above; the number is set before the disk can be opened.
        let number = unsafe { (*disk).diskseq };
        Self::Passing(number, boot::number(), start)
    }
}

/// The identifier of a disk, where it has one of its own.
///
/// # Safety
///
/// `disk` is that of a device that is open.
unsafe fn disk_id(disk: *mut bindings::gendisk) -> Option<u64> {
    // SAFETY: By the function's requirements; the name and the operations do not change.
    let (name, operations) = unsafe { ((*disk).disk_name, (*disk).fops.as_ref()?) };
    // A mapped device gives that of the disk below it, which others may be mapped to as well.
    if let [b'd', b'm', b'-', ..] = name {
        return None;
    }
    let get = operations.get_unique_id?;
    let kinds = [
        bindings::blk_unique_id_BLK_UID_NAA,
        bindings::blk_unique_id_BLK_UID_EUI64,
        bindings::blk_unique_id_BLK_UID_T10,
    ];
    kinds.into_iter().find_map(|kind| {
        let mut id = [0; LONGEST];
        // SAFETY: By the function's requirements; there is room for the longest identifier.
        let len = unsafe { get(disk, id.as_mut_ptr(), kind) };
        let id = id.get(..usize::try_from(len).ok()?.min(LONGEST))?;
        id.iter().any(|byte| *byte != 0).then(|| fold(id))
    })
}

/// `bytes` as a number: FNV-1a.
fn fold(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
