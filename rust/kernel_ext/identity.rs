// SPDX-License-Identifier: GPL-2.0

//! Identity of files and block devices, by which they are recognized when they are opened again.
//!
//! An identity names the thing, not the place where the kernel has it at the moment: device numbers
//! are given anew at each boot, and to each file system without a device of its own at each mount.

use super::{
    boot,
    file::{
        Kind,
        OpenFile, //
    },
    medium::Medium, //
};
use crate::bindings;

/// Identity of a file, unique on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A regular file on a file system with a UUID.
    File {
        /// UUID of the file system.
        filesystem: [u64; 2],
        /// Number of the subvolume; 0 on file systems without.
        subvolume: u64,
        /// Inode number and generation.
        inode: (u64, u32),
        /// Identifier that tells the file system from its copies, which have the same UUID; `None`
        /// without one: see [`Medium::of_filesystem`].
        medium: Option<(u64, u64)>,
    },
    /// A regular file on a file system without a UUID: device number of the file system, number of
    /// the boot, inode number and generation.
    Passing(u32, u64, (u64, u32)),
    /// A block device: the medium that it has at present.
    Device(Medium),
}

impl Identity {
    /// Returns true if the identity survives a reboot, and that the device is set up anew.
    pub(crate) fn is_lasting(&self) -> bool {
        !matches!(self, Self::Passing(..) | Self::Device(Medium::Passing(..)))
    }
}

impl OpenFile {
    /// Returns the identity of the file. It changes if a file is removed and created again, on file
    /// systems that count generations, and if a device gets another medium. Of a file of an overlay
    /// it is that of the file which has the data. Process context; may sleep.
    pub(crate) fn identity(&self) -> Identity {
        match self.kind() {
            // SAFETY: By the type invariant the file is open, and is a block device, which is open
            // as long.
            Kind::Block => Identity::Device(unsafe {
                Medium::of(bindings::rust_helper_file_bdev(self.as_ptr()))
            }),
            Kind::Regular => self.file_identity(),
        }
    }

    fn file_identity(&self) -> Identity {
        // SAFETY: By the type invariant the file is open, so its inode, the one below it that has
        // the data, and the file system of that are there; these members of theirs never change.
        let (inode, superblock) = unsafe {
            let inode = bindings::rust_helper_file_real_inode(self.as_ptr());
            (inode, (*inode).i_sb)
        };
        // SAFETY: As above.
        let (number, uuid, device, bdev) = unsafe {
            (
                (
                    bindings::rust_helper_inode_number(inode),
                    (*inode).i_generation,
                ),
                (*superblock).s_uuid.b,
                (*superblock).s_dev,
                (*superblock).s_bdev,
            )
        };
        let uuid = u128::from_be_bytes(uuid);
        if uuid == 0 {
            return Identity::Passing(device, boot::number(), number);
        }
        // SAFETY: The file system has its device open.
        let medium = (!bdev.is_null()).then(|| unsafe { Medium::of_filesystem(bdev) });
        Identity::File {
            filesystem: [(uuid >> 64) as u64, uuid as u64],
            // SAFETY: The file is open.
            subvolume: unsafe { bindings::rust_helper_file_subvolume(self.as_ptr()) },
            inode: number,
            medium: medium.flatten(),
        }
    }
}
