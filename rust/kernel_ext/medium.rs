// SPDX-License-Identifier: GPL-2.0

//! Identity of a block device's medium, to tell it from others that get the same device number.
//!
//! C header: `include/linux/blkdev.h`

use super::boot;
use crate::bindings;
use kernel::{
    error::from_err_ptr,
    prelude::*,
    str::CString, //
};

/// Length of the longest identifier that a disk reports, in bytes.
const LONGEST: usize = 16;

/// Length of the longest attribute in sysfs, in bytes: that of a path.
const LONGEST_TEXT: usize = 4096;

/// Number of bits of a device number that are the minor number.
const MINOR_BITS: u32 = 20;

/// Identity of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Number made from an identifier that a disk or a partition keeps when it is set up anew and
    /// across reboots, and the start of the device on the disk, in sectors.
    Stable(u64, u64),
    /// Sequence number of the disk during this boot, the number of the boot, and the start of the
    /// device on the disk, in sectors.
    Passing(u64, u64, u64),
}

impl Medium {
    /// Returns the identity of the medium of `bdev`. Process context; may sleep.
    ///
    /// # Safety
    ///
    /// `bdev` points to a block device that is open during the call.
    pub(super) unsafe fn of(bdev: *mut bindings::block_device) -> Self {
        // SAFETY: By the function's requirements; these members do not change while it is open.
        let (disk, start) = unsafe { ((*bdev).bd_disk, (*bdev).bd_start_sect) };
        // SAFETY: A device that is open has a disk, which lives at least as long.
        if let Some(id) = unsafe { disk_id(disk).or_else(|| Attributes::of(disk)?.disk()) } {
            return Self::Stable(id, start);
        }
        // SAFETY: By the function's requirements.
        if let Some(id) = unsafe { partition_id(bdev) } {
            return Self::Stable(id, start);
        }
        // SAFETY: As above; the number is set before the disk can be opened.
        let number = unsafe { (*disk).diskseq };
        Self::Passing(number, boot::number(), start)
    }

    /// Returns what tells the file system on `bdev` from copies of it, which have the same UUID: an
    /// identifier of the disk, of the file behind a loop device, or of the partition; and the start
    /// of the device on the disk, in sectors. `None` if there is no identifier. Process context;
    /// may sleep.
    ///
    /// # Safety
    ///
    /// `bdev` points to a block device that is open during the call.
    pub(super) unsafe fn of_filesystem(bdev: *mut bindings::block_device) -> Option<(u64, u64)> {
        // SAFETY: By the function's requirements; these members do not change while it is open.
        let (disk, start) = unsafe { ((*bdev).bd_disk, (*bdev).bd_start_sect) };
        // SAFETY: A device that is open has a disk, which lives at least as long.
        let id = unsafe {
            disk_id(disk)
                .or_else(|| {
                    let attributes = Attributes::of(disk)?;
                    attributes.disk().or_else(|| attributes.backing_file())
                })
                .or_else(|| partition_id(bdev))
        };
        Some((id?, start))
    }
}

/// Returns the UUID of a partition, if it has one.
///
/// # Safety
///
/// `bdev` points to a block device that is open.
unsafe fn partition_id(bdev: *mut bindings::block_device) -> Option<u64> {
    // SAFETY: By the function's requirements; a partition has it until it is removed, and that
    // waits for its users.
    let info = unsafe { (*bdev).bd_meta_info.as_ref()? };
    let is_set = info.uuid.iter().any(|digit| *digit != 0);
    is_set.then(|| fold(&info.uuid))
}

/// Returns the identifier of a disk, if it has one of its own.
///
/// # Safety
///
/// `disk` is that of a device that is open.
unsafe fn disk_id(disk: *mut bindings::gendisk) -> Option<u64> {
    // SAFETY: By the function's requirements; the name and the operations do not change.
    let (name, operations) = unsafe { ((*disk).disk_name, (*disk).fops.as_ref()?) };
    // A mapped device returns the identifier of the disk below it, to which others may be mapped,
    // too.
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

/// Attributes of a disk in sysfs that hold an identifier: of mapped devices (LVM, multipath,
/// encryption), of RAIDs, of NVMe, and the serial number of others, such as virtio.
const ATTRIBUTES: [&str; 5] = ["dm/uuid", "md/uuid", "wwid", "serial", "device/serial"];

/// A mount of sysfs for the kernel alone.
struct Sysfs(*mut bindings::vfsmount);

impl Sysfs {
    /// Mounts sysfs. May sleep.
    fn mount() -> Result<Self> {
        // SAFETY: No requirements.
        from_err_ptr(unsafe { bindings::rust_helper_sysfs_mount() }).map(Self)
    }

    /// Reads the attribute at `path` below the root. Returns the part of `to` that it has filled.
    /// May sleep.
    fn read<'a>(&self, path: &CStr, to: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: The mount lives as long as `self`; the path ends with a NUL; there is room for so
        // many bytes.
        let len = unsafe {
            bindings::rust_helper_sysfs_read(
                self.0,
                path.as_char_ptr(),
                to.as_mut_ptr().cast(),
                to.len(),
            )
        };
        to.get(..usize::try_from(len).ok()?)
    }
}

impl Drop for Sysfs {
    fn drop(&mut self) {
        // SAFETY: It was mounted by `mount`. A file that `read` has opened holds a reference of its
        // own until it is closed.
        unsafe { bindings::kern_unmount(self.0) };
    }
}

/// The attributes of a disk in sysfs.
struct Attributes {
    sysfs: Sysfs,
    /// Number of the disk's whole device.
    device: u32,
}

impl Attributes {
    /// Returns the attributes of `disk`. May sleep.
    ///
    /// # Safety
    ///
    /// `disk` is that of a device that is open.
    unsafe fn of(disk: *mut bindings::gendisk) -> Option<Self> {
        Some(Self {
            sysfs: Sysfs::mount().ok()?,
            // SAFETY: By the function's requirements; a disk has its whole device as long as it
            // lives, and the number of that does not change.
            device: unsafe { (*(*disk).part0).bd_dev },
        })
    }

    /// Returns a number made from the attribute `name`, if the disk has that. May sleep.
    fn number(&self, name: &str) -> Option<u64> {
        let (major, minor) = (
            self.device >> MINOR_BITS,
            self.device & ((1 << MINOR_BITS) - 1),
        );
        let path = CString::try_from_fmt(fmt!("dev/block/{}:{}/{}", major, minor, name)).ok()?;
        let mut text = KVec::from_elem(0, LONGEST_TEXT, GFP_KERNEL).ok()?;
        let text = self.sysfs.read(&path, &mut text)?.trim_ascii();
        (!text.is_empty()).then(|| fold(text))
    }

    /// Returns the identifier of the disk, if one of them holds it. May sleep.
    fn disk(&self) -> Option<u64> {
        ATTRIBUTES.into_iter().find_map(|name| self.number(name))
    }

    /// Returns a number made from the path of the file behind a loop device and where the device
    /// begins in it; `None` for other disks. Another file may come to that path. May sleep.
    fn backing_file(&self) -> Option<u64> {
        let file = self.number("loop/backing_file")?;
        Some(file.rotate_left(1) ^ self.number("loop/offset")?)
    }
}

/// Hashes `bytes` to a number with FNV-1a.
fn fold(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
